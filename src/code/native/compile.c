// compile: a source becomes a program in the cache.
//
// A program is named by the checksum of everything that it is made of: the preprocessed source with
// all its headers (cc -E, with the definitions of macros, among which is the compiler's version),
// the compiler, its flags and libweft. Preprocessing on every run takes some ten milliseconds, and
// nothing can become stale: a header that is new, gone, changed or found elsewhere (CPATH, -I)
// gives another text.
//
// That text does not show what is linked: libraries and objects that $CFLAGS names, places that
// LIBRARY_PATH and the like name, files that the assembler reads (.incbin, .include). Then the
// source is built on every run: any asm that is not from a header of the system counts, because a
// directive can be spelled in many ways.
//
// An entry that is not a program of ours (it was cut off, it lost its x bit) is built again.
//
// An entry never changes once it is there, so that runs at the same time cannot disturb each other:
// a program is built under a name of its own and renamed.

#include "code/native/compile.h"

#include <ctype.h>
#include <elf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/buf.h"
#include "base/vec.h"
#include "sys/file/file.h"
#include "sys/file/find.h"
#include "sys/file/own.h"
#include "sys/file/place.h"
#include "sys/process/command.h"

enum { READ_BYTES = 256 << 10, SOURCE_BYTES_MAX = 256 << 20 };

struct compile {
    const struct compile_spec *spec;
    char *compiler;  // path
    char *include;   // the directory of weft/weft.h
    char *library;   // libweft.so
    char *cache;     // directory
    VEC(char *) arguments;
    VEC(char *) owned;  // words of $CC and $CFLAGS
    bool is_cpp;        // C++
    bool is_reusable;   // nothing but the text and the flags has a say
    XXH128_hash_t key;
    char *program_path;
};

// What differs between C and C++.
struct dialect {
    const char *variable, *usual;  // of the compiler
    const char *flags_variable, *flags;
    const char *language, *install;
};

static const struct dialect dialects[] = {
    {"CC", "cc", "CFLAGS", "-std=gnu17 -O2", "C", "gcc libc6-dev, or CC=clang"},
    {"CXX", "c++", "CXXFLAGS", "-std=gnu++20 -O2", "C++", "g++, or CXX=clang++"},
};

static const struct dialect *dialect_of(const struct compile *compile)
{
    return &dialects[compile->is_cpp];
}

static weft_err no_memory(void)
{
    return err_no_memory("to build the job");
}

static weft_err format_text(char **text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static weft_err format_text(char **text, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const int length = vasprintf(text, format, values);
    va_end(values);
    if (length < 0)
        *text = NULL;
    return *text ? WEFT_OK : no_memory();
}

// ---- Sources ---------------------------------------------------------------------------------------------

static bool is_cpp(const char *name)
{
    static const char *const ends[] = {".cpp", ".cc", ".cxx", ".c++", ".C"};
    const char *point = strrchr(name, '.');
    bool is = false;
    for (size_t i = 0; point && i < sizeof ends / sizeof *ends; i++)
        is |= strcmp(point, ends[i]) == 0;
    return is && point > name;
}

bool compile_is_source(const char *name)
{
    const size_t length = strlen(name);
    return is_cpp(name) || (length > 2 && strcmp(name + length - 2, ".c") == 0);
}

// ---- Checksums -----------------------------------------------------------------------------------------

static weft_err read_whole(const char *path, struct buf *text)
{
    int fd;
    weft_err err = file_open(path, &fd);
    for (size_t got = READ_BYTES; !err && got == READ_BYTES;) {
        char *to = buf_reserve(text, READ_BYTES);
        if (!to || text->size > SOURCE_BYTES_MAX)
            err = err_set(WEFT_RESOURCE_EXHAUSTED, "%s is too large", path);
        else
            err = file_read_at(fd, path, to, READ_BYTES, text->size, &got);
        text->size += err ? 0 : got;
    }
    if (fd >= 0)
        file_close(fd);
    return err;
}

// Texts are hashed with their length, so that "ab","c" and "a","bc" differ.
static void hash_text(XXH3_state_t *state, weft_bytes text)
{
    const uint64_t size = text.size;
    XXH3_128bits_update(state, &size, sizeof size);
    XXH3_128bits_update(state, text.data ? text.data : "", text.size);
}

static weft_err hash_content(XXH3_state_t *state, const char *path)
{
    struct buf text = {0};
    const weft_err err = read_whole(path, &text);
    if (!err)
        hash_text(state, buf_bytes(&text));
    buf_fini(&text);
    return err;
}

// A large file that is replaced, never changed: its size and time are enough to notice that.
static weft_err hash_identity(XXH3_state_t *state, const char *path)
{
    struct file_stat status;
    const weft_err err = file_stat(path, &status);
    hash_text(state, weft_text(path));
    XXH3_128bits_update(state, &status.size, sizeof status.size);
    XXH3_128bits_update(state, &status.mtime_ns, sizeof status.mtime_ns);
    return err;
}

// ---- The compiler and the library ---------------------------------------------------------------

// Adds the words of a text, split at blanks.
static weft_err add_words(struct compile *compile, const char *text)
{
    while (*(text += strspn(text, " \t\n"))) {
        const size_t length = strcspn(text, " \t\n");
        char *word = strndup(text, length);
        if (!word || !VEC_PUSH(&compile->owned, word)) {
            free(word);
            return no_memory();
        }
        if (!VEC_PUSH(&compile->arguments, word))
            return no_memory();
        text += length;
    }
    return WEFT_OK;
}

static weft_err find_compiler(struct compile *compile)
{
    const struct dialect *dialect = dialect_of(compile);
    const char *asked = getenv(dialect->variable);
    const char *words = asked && asked[strspn(asked, " \t")] ? asked : dialect->usual;
    weft_err err = add_words(compile, words);
    if (err)
        return err;
    err = command_find(compile->arguments.items[0], &compile->compiler);
    if (err)
        return err_set(WEFT_UNIMPLEMENTED,
                       "cannot build %s\n  there is no %s compiler %s here\n  try: apt-get install "
                       "%s",
                       compile->spec->source, dialect->language, compile->arguments.items[0],
                       dialect->install);
    return WEFT_OK;
}

// The first of the candidates below `base` that exists; patterns are allowed. NULL: none.
static char *find_below(const char *base, const char *const *candidates)
{
    char *found = NULL;
    for (; *candidates && !found; candidates++) {
        struct find_matches matches = {0};
        char *pattern;
        if (format_text(&pattern, "%s/%s", base, *candidates) == WEFT_OK &&
            find_match(pattern, &matches) == WEFT_OK && matches.count)
            found = strdup(matches.paths[0]);
        find_free_matches(&matches);
        free(pattern);
    }
    return found;
}

// In a build tree header and library are beside the program (or above a test), once installed in
// include/ and lib/.
static weft_err find_library(struct compile *compile)
{
    static const char *const headers[] = {"include/weft/weft.h", "../include/weft/weft.h",
                                          "../../include/weft/weft.h", NULL};
    static const char *const libraries[] = {"libweft.so",          "../libweft.so",
                                            "../lib/libweft.so",   "../lib/*-linux-*/libweft.so",
                                            "../lib64/libweft.so", NULL};
    char *own, *folder = NULL;
    weft_err err = command_own_path(&own);
    if (!err)
        err = place_parent(own, &folder);
    char *header = err ? NULL : find_below(folder, headers);
    compile->library = err ? NULL : find_below(folder, libraries);
    if (header) {
        header[strlen(header) - strlen("/weft/weft.h")] = 0;
        compile->include = header;
    }
    if (!err && (!compile->include || !compile->library))
        err = err_set(WEFT_UNIMPLEMENTED,
                      "cannot build %s\n  there is no %s beside %s\n  try: make install, or build "
                      "the job yourself and run the program",
                      compile->spec->source, compile->include ? "libweft.so" : "weft/weft.h", own);
    free(own);
    free(folder);
    return err;
}

static weft_err find_cache(struct compile *compile)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    weft_err err = WEFT_OK;
    if (base && base[0] == '/')
        err = format_text(&compile->cache, "%s/weft/jobs", base);
    else if (home && *home)
        err = format_text(&compile->cache, "%s/.cache/weft/jobs", home);
    else
        err = err_set(WEFT_FAILED_PRECONDITION,
                      "there is no place for built jobs\n  neither XDG_CACHE_HOME nor HOME is set\n"
                      "  try: XDG_CACHE_HOME=DIR weft run ...");
    return err;
}

// ---- Looking up --------------------------------------------------------------------------------------------

// Whether a flag does not change the linked files, and names no file that the preprocessor does not
// read.
static bool is_harmless(const char *flag)
{
    static const char *const beginnings[] = {"-O", "-g",    "-D",       "-U",       "-I",
                                             "-m", "-std=", "-pipe",    "-pthread", "-W",
                                             "-f", "-w",    "-pedantic"};
    static const char *const others[] = {"-Wl",      "-Wa",       "-fuse-ld",
                                         "-fplugin", "-fprofile", "-fauto-profile",
                                         "-flto",    "-specs",    "-fsanitize-"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(flag, others[i], strlen(others[i])) == 0)
            return false;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(flag, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

// Whether the flags from `first` on, and the environment, leave linking as it always is.
static bool links_as_usual(const struct compile *compile, size_t first)
{
    static const char *const names[] = {"LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX",
                                        "LD_RUN_PATH", "CCC_OVERRIDE_OPTIONS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]) && *getenv(names[i]))
            return false;
    for (size_t i = first; i < compile->arguments.count; i++)
        if (!is_harmless(compile->arguments.items[i]))
            return false;
    return true;
}

// Runs the compiler with its flags and these words after them.
static weft_err run_compiler(struct compile *compile, const char *const *rest)
{
    const size_t before = compile->arguments.count;
    int exit_code = 0;
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && (i == 0 || rest[i - 1]); i++)
        if (!VEC_PUSH(&compile->arguments, (char *)rest[i]))
            err = no_memory();
    if (!err)
        err = command_run(compile->compiler, compile->arguments.items, compile->spec->messages,
                          &exit_code);
    compile->arguments.count = before;
    if (!err && exit_code != 0)
        err = err_set(WEFT_FAILED_PRECONDITION,
                      "cannot build %s\n  the messages of the compiler are above",
                      compile->spec->source);
    return err;
}

static bool is_word_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

static bool has_asm_word(weft_bytes line)
{
    const char *at = line.data, *const end = line.data + line.size;
    for (; at < end && (at = memmem(at, (size_t)(end - at), "asm", 3)); at += 3) {
        const char *from = at, *to = at + 3;
        while (from > line.data && from[-1] == '_')
            from--;
        while (to < end && *to == '_')
            to++;
        const bool is_empty = end - to >= 5 && memcmp(to, "(\"\" :", 5) == 0;  // as in weft.h
        const bool is_word =
            (from == line.data || !is_word_byte(from[-1])) && (to == end || !is_word_byte(*to));
        if (is_word && !is_empty)
            return true;
    }
    return false;
}

// Whether preprocessed text has asm that is not of a header of the system: lines `# 12 "file" 1 3`
// say where the ones after them are from, 3 that it is such a header. Definitions (-dD) of macros
// are looked at, too.
static bool has_own_asm(weft_bytes text)
{
    bool is_system = false;
    for (weft_bytes line; weft_next_line(&text, &line);) {
        if (line.size > 2 && line.data[0] == '#' && line.data[1] == ' ') {
            const char *quote = memrchr(line.data, '"', line.size);
            const size_t rest = quote ? line.size - (size_t)(quote - line.data) : 0;
            is_system = rest && memchr(quote, '3', rest);
        } else if (!is_system && has_asm_word(line)) {
            return true;
        }
    }
    return false;
}

// Hashes what the compiler makes of the source and its headers.
static weft_err hash_preprocessed(struct compile *compile, XXH3_state_t *state)
{
    const char *folder = own_make_directory(compile->cache) ? "/tmp" : compile->cache;
    char *target = NULL, *text = NULL, *include = NULL;
    struct buf content = {0};
    err_clear();
    weft_err err = format_text(&target, "%s/text", folder);
    if (!err)
        err = place_make_name(target, &text);
    if (!err)
        err = format_text(&include, "-I%s", compile->include);
    if (!err)
        err = run_compiler(compile, (const char *const[]){"-E", "-dD", "-o", text, include,
                                                          compile->spec->source, NULL});
    if (!err)
        err = read_whole(text, &content);
    if (!err) {
        hash_text(state, buf_bytes(&content));
        compile->is_reusable &= !has_own_asm(buf_bytes(&content));
    }
    if (text)
        place_remove_file(text);
    buf_fini(&content);
    free(target);
    free(text);
    free(include);
    return err;
}

static weft_err name_program(struct compile *compile, const XXH128_hash_t *own)
{
    free(compile->program_path);
    compile->program_path = NULL;
    if (!own)
        return format_text(&compile->program_path, "%s/%016" PRIx64 "%016" PRIx64, compile->cache,
                           compile->key.high64, compile->key.low64);
    return format_text(&compile->program_path,
                       "%s/%016" PRIx64 "%016" PRIx64 "-%016" PRIx64 "%016" PRIx64, compile->cache,
                       compile->key.high64, compile->key.low64, own->high64, own->low64);
}

static weft_err compute_key(struct compile *compile)
{
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    weft_err err = compile->is_reusable ? hash_preprocessed(compile, &state)
                                        : hash_content(&state, compile->spec->source);
    if (!err)
        err = hash_identity(&state, compile->compiler);
    if (!err)
        err = hash_identity(&state, compile->library);
    hash_text(&state, weft_text(compile->include));
    for (size_t i = 0; i < compile->arguments.count; i++)
        hash_text(&state, weft_text(compile->arguments.items[i]));
    compile->key = XXH3_128bits_digest(&state);
    return err ? err : name_program(compile, NULL);
}

// Whether a program was not emptied or cut off: the table of its sections is at its end.
static bool is_whole(const char *path)
{
    Elf64_Ehdr head = {0};
    struct file_stat status = {0};
    size_t got = 0;
    int fd = -1;
    const bool is_read = file_stat(path, &status) == WEFT_OK && file_open(path, &fd) == WEFT_OK &&
                         file_read_at(fd, path, &head, sizeof head, 0, &got) == WEFT_OK;
    file_close(fd);
    if (!is_read || got == 0 || head.e_ident[0] == 0)
        return false;
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return true;  // of a compiler that makes something else
    return got == sizeof head &&
           head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize <= status.size;
}

// Whether the program is in the cache. No trouble with the cache is a failure here: it is built then.
static bool is_cached(struct compile *compile)
{
    const bool is_found = compile->is_reusable &&
                          own_check_program(compile->program_path) == WEFT_OK &&
                          is_whole(compile->program_path);
    err_clear();
    return is_found;
}

// ---- Building ------------------------------------------------------------------------------------------------

static weft_err make_program(struct compile *compile, const char *made)
{
    char *rpath = NULL, *include = NULL, *folder;
    weft_err err = place_parent(compile->library, &folder);
    if (err)
        return err;
    // By the new tag LD_LIBRARY_PATH comes first: on another machine a job brings its library along.
    err = format_text(&rpath, "-Wl,--enable-new-dtags,-rpath,%s", folder);
    if (!err)
        err = format_text(&include, "-I%s", compile->include);
    if (!err)
        err =
            run_compiler(compile, (const char *const[]){"-o", made, include, compile->spec->source,
                                                        compile->library, rpath, "-lm", NULL});
    free(folder);
    free(rpath);
    free(include);
    return err;
}

static weft_err close_to_others(const char *made)
{
    int fd = -1;
    weft_err err = file_open(made, &fd);
    if (!err)
        err = file_set_mode(fd, made, 0700);
    file_close(fd);
    return err;
}

// One that is built every time is named by its own bytes as well: it must not take the place of another
// that runs.
static weft_err keep_program(struct compile *compile, const char *made)
{
    weft_err err = WEFT_OK;
    if (!compile->is_reusable) {
        XXH3_state_t state;
        XXH3_128bits_reset(&state);
        err = hash_content(&state, made);
        const XXH128_hash_t own = XXH3_128bits_digest(&state);
        if (!err)
            err = name_program(compile, &own);
    }
    if (err)
        return err;
    // A directory is there: nothing of ours ever is one.
    err = file_rename(made, compile->program_path);
    if (err && own_check_directory(compile->program_path) == WEFT_OK)
        err = file_remove_tree(compile->program_path);
    else
        return err;
    return err ? err : file_rename(made, compile->program_path);
}

static weft_err build(struct compile *compile)
{
    char *made = NULL;
    weft_err err = own_make_directory(compile->cache);
    if (err)
        return err_wrap(err, "cannot keep built jobs in %s (XDG_CACHE_HOME chooses another place)",
                        compile->cache);
    err = place_make_name(compile->program_path, &made);
    if (!err)
        err = make_program(compile, made);
    if (!err)
        err = close_to_others(made);
    if (!err)
        err = keep_program(compile, made);
    if (made)
        place_remove_file(made);
    free(made);
    return err;
}

static void compile_fini(struct compile *compile)
{
    for (size_t i = 0; i < compile->owned.count; i++)
        free(compile->owned.items[i]);
    VEC_FINI(&compile->owned);
    VEC_FINI(&compile->arguments);
    free(compile->compiler);
    free(compile->include);
    free(compile->library);
    free(compile->cache);
    free(compile->program_path);
}

static weft_err prepare(struct compile *compile)
{
    const struct dialect *dialect = dialect_of(compile);
    const char *flags = getenv(dialect->flags_variable);
    weft_err err = find_compiler(compile);
    const size_t first_flag = compile->arguments.count;
    if (!err)
        err = find_library(compile);
    if (!err)
        err = find_cache(compile);
    if (!err)
        err = add_words(compile, dialect->flags);
    if (!err && flags)
        err = add_words(compile, flags);
    compile->is_reusable = links_as_usual(compile, first_flag);
    return err ? err : compute_key(compile);
}

weft_err compile_source(const struct compile_spec *spec, char **program)
{
    struct compile compile = {.spec = spec, .is_cpp = is_cpp(spec->source)};
    struct found found;
    *program = NULL;
    weft_err err = find_look(spec->source, &found);
    if (!err && found.kind != FILE_REGULAR)
        err = err_set(WEFT_NOT_FOUND, "cannot find the source %s\n  try: ls -l %s", spec->source,
                      spec->source);
    if (!err)
        err = prepare(&compile);
    // Also before the cache is read: a user who can write in it could make us run any program.
    if (!err && (err = own_make_directory(compile.cache)))
        err = err_set(err,
                      "cannot keep built jobs in %s: %s\n  try: export XDG_CACHE_HOME=DIR, a "
                      "directory that you may write to",
                      compile.cache, err_text());
    if (!err && !is_cached(&compile))
        err = build(&compile);
    if (!err) {
        *program = compile.program_path;
        compile.program_path = NULL;
    }
    compile_fini(&compile);
    return err;
}

// ---- Programs ----------------------------------------------------------------------------------------------

weft_err compile_check_program(const char *path, const char *name)
{
    // The name that the macro weft_main calls stands in every program that does, unless it is linked
    // statically and stripped.
    static const char mark[] = "weft_main_sized";
    enum { OVERLAP = sizeof mark - 1 };
    char *data = malloc(READ_BYTES);
    int fd = -1;
    bool is_job = false;
    weft_err err = data ? file_open(path, &fd) : no_memory();
    size_t got = READ_BYTES;
    for (uint64_t at = 0; !err && !is_job && got == READ_BYTES; at += READ_BYTES - OVERLAP) {
        err = file_read_at(fd, path, data, READ_BYTES, at, &got);
        is_job = !err && memmem(data, got, mark, OVERLAP) != NULL;
    }
    file_close(fd);
    free(data);
    if (err || is_job)
        return err;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "%s is not a job\n  a job is a program that calls weft_main(argc, argv, &job)",
                   name);
}
