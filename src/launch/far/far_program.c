// The program that becomes an agent elsewhere: one that needs no library there.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "launch/far/far_state.h"
#include "sys/file/file.h"
#include "sys/process/command.h"

enum { READ_BYTES = 256 << 10, HEAD_BYTES = 4096 };

weft_err far_hash_file(int fd, const char *path, uint8_t hash[FAR_HASH_BYTES], uint64_t *size)
{
    struct sha256 sha;
    char *block = malloc(READ_BYTES);
    size_t got = 1;
    weft_err err = block ? WEFT_OK : err_no_memory("to read %s", path);
    sha256_init(&sha);
    *size = 0;
    while (!err && got > 0) {
        err = file_read_at(fd, path, block, READ_BYTES, *size, &got);
        if (!err)
            sha256_add(&sha, block, got);
        *size += err ? 0 : got;
    }
    free(block);
    sha256_end(&sha, hash);
    return err;
}

static uint64_t read_little(const uint8_t *at, size_t size)
{
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

// Whether it is a program of 64 bits that names no loader for libraries (PT_INTERP).
static bool is_static(int fd, const char *path)
{
    uint8_t head[HEAD_BYTES];
    size_t got = 0;
    if (file_read_at(fd, path, head, sizeof head, 0, &got)) {
        err_clear();
        return false;
    }
    if (got < 64 || memcmp(head, "\177ELF\2\1", 6) != 0)
        return false;
    const uint64_t at = read_little(head + 32, 8), size = read_little(head + 54, 2),
                   count = read_little(head + 56, 2);
    if (size < 56 || count == 0 || at > got || size * count > got - at)
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (read_little(head + at + i * size, 4) == 3)
            return false;
    return true;
}

// Where the static program is, relative to the command: in a build beside it, installed below lib.
static const char *const places[] = {"weft-lean", "../lib/weft/weft-lean",
                                     "../libexec/weft/weft-lean"};

static weft_err try_program(struct far *far, const char *path, bool must_be_static, bool *is_found)
{
    struct file_stat stat;
    weft_err err = file_stat(path, &stat);
    *is_found = false;
    if (err || stat.kind != FILE_REGULAR)
        return err;
    err = file_open(path, &far->program_fd);
    if (err)
        return err;
    if (must_be_static && !is_static(far->program_fd, path)) {
        file_close(far->program_fd);
        far->program_fd = -1;
        return WEFT_OK;
    }
    *is_found = true;
    far->program = strdup(path);
    return far->program ? WEFT_OK : err_no_memory("for a path");
}

static weft_err look_beside(struct far *far, const char *own, bool *is_found)
{
    const char *slash = strrchr(own, '/');
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && !*is_found && slash && i < sizeof places / sizeof *places; i++) {
        struct buf path = {0};
        buf_format(&path, "%.*s/%s", (int)(slash - own), own, places[i]);
        err = path.has_failed ? err_no_memory("for a path")
                              : try_program(far, buf_text(&path), true, is_found);
        buf_fini(&path);
    }
    return err;
}

static weft_err choose_program(struct far *far)
{
    const char *given = getenv("WEFT_AGENT");
    char *own = NULL;
    bool is_found = false;
    if (given && *given) {
        const weft_err err = try_program(far, given, false, &is_found);
        if (err || is_found)
            return err;
        return err_set(WEFT_NOT_FOUND, "WEFT_AGENT is %s, and there is no such program", given);
    }
    weft_err err = command_own_path(&own);
    if (!err)
        err = look_beside(far, own, &is_found);
    if (!err && !is_found)
        err = try_program(far, own, true, &is_found);
    if (!err && !is_found)
        err = err_set(
            WEFT_NOT_FOUND,
            "there is no program that could run on another machine: weft-lean is not beside %s\n"
            "  try: make, or make install; or name a static weft by WEFT_AGENT=PATH",
            own);
    free(own);
    return err;
}

weft_err far_find_program(struct far *far)
{
    uint8_t hash[FAR_HASH_BYTES];
    weft_err err = choose_program(far);
    if (!err)
        err = far_hash_file(far->program_fd, far->program, hash, &far->program_bytes);
    for (size_t i = 0; !err && i < sizeof hash; i++)
        snprintf(far->program_hash + 2 * i, 3, "%02x", hash[i]);
    snprintf(far->program_size, sizeof far->program_size, "%" PRIu64, far->program_bytes);
    return err;
}

weft_err far_look_for_program(struct far_found_program *found)
{
    struct far *far = calloc(1, sizeof *far);
    *found = (struct far_found_program){0};
    if (!far)
        return err_no_memory("for a program");
    far->program_fd = -1;
    const weft_err err = far_find_program(far);
    if (far->program_fd >= 0)
        file_close(far->program_fd);
    if (err) {
        free(far->program);
    } else {
        found->path = far->program;
        found->bytes = far->program_bytes;
        memcpy(found->hash, far->program_hash, sizeof found->hash);
    }
    free(far);
    return err;
}
