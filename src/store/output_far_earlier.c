// output: an answer that another process has begun in another store, perhaps on a machine that is gone.
//
// Each process has a hidden directory of its own there, with its complete parts and a copy of its journal (journal_copy.h). One that ends
// without its answer is continued in three steps: it is found (output_find_earlier), its journal comes here (output_bring_earlier), and its directory gets
// the name of this run's (output_far_take_earlier). Only that last step changes anything there, and of several processes only one succeeds with it. A
// process that works is left alone: on this machine its number says so, elsewhere the file that it makes anew every two seconds. One that was
// taken for dead, because none of its beats came through, finds its directory gone and ends; its work is continued.

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"
#include "store/output_far_state.h"
#include "sys/file/own.h"
#include "sys/machine/kin.h"
#include "sys/thread/interrupt.h"
#include "sys/time/clock.h"

enum {
    WATCH_MS = 6000,  // three times as long as a process that works is silent
    LOOK_MS = 500,
    CANDIDATES_MAX = 100,
    NS_PER_MS = 1000000,
};

static weft_err no_memory(void)
{
    return err_no_memory("to continue an answer");
}

static weft_err name_journal(const char *directory, struct buf *path)
{
    buf_format(path, "%s/" OUTPUT_JOURNAL, directory);
    return path->has_failed ? no_memory() : WEFT_OK;
}

void output_far_forget_earlier(struct output_far *far)
{
    free(far->earlier);
    far->earlier = NULL;
    far->next_number = 1;
}

// ---- Finding it ------------------------------------------------------------------------------------------

struct search {
    const struct output_far *far;
    struct buf prefix;  // of the names of all machines
    VEC(char *) names;
};

// MACHINE-PROCESS-RANDOM, after the prefix. *process: 0 where it is one of another machine.
static bool parse_rest(const struct output_far *far, const char *rest, long *process)
{
    static const char hexadecimal[] = "0123456789abcdef";
    char *end;
    if (strspn(rest, hexadecimal) != FAR_MACHINE_BYTES - 1 || rest[FAR_MACHINE_BYTES - 1] != '-')
        return false;
    *process = strtol(rest + FAR_MACHINE_BYTES, &end, 10);
    if (*process <= 0 || *end != '-' || strspn(end + 1, hexadecimal) != 8 || end[9])
        return false;
    if (strncmp(rest, far->machine, FAR_MACHINE_BYTES - 1) != 0)
        *process = 0;
    return true;
}

static weft_err note_candidate(void *owner, const char *name, const struct store_entry *entry)
{
    struct search *search = owner;
    long process;
    if (entry->kind != FILE_DIRECTORY || search->names.count == CANDIDATES_MAX ||
        strncmp(name, buf_text(&search->prefix), search->prefix.size) != 0 ||
        !parse_rest(search->far, name + search->prefix.size, &process))
        return WEFT_OK;
    char *copy = strdup(name);
    if (copy && VEC_PUSH(&search->names, copy))
        return WEFT_OK;
    free(copy);
    return no_memory();
}

static bool is_of_same_job(const struct output *output, weft_bytes text)
{
    struct manifest manifest = {0};
    struct buf why = {0};
    const bool is = manifest_parse(&manifest, text) == WEFT_OK &&
                    manifest_is_same(&manifest, output->origin, &why);
    err_clear();
    manifest_fini(&manifest);
    buf_fini(&why);
    return is;
}

// The number of a process may be another one's by now, so also here only one that is free says something at once.
static bool has_ended(const struct output_far *far, const char *name, const char *journal,
                      const struct journal_copy_found *found)
{
    const uint64_t until_ns = clock_now_ns() + (uint64_t)WATCH_MS * NS_PER_MS;
    struct journal_copy_found now = *found;
    struct kin_stat ignored;
    long process = 0;
    const char *rest = strstr(name, ".weft-") + strlen(".weft-");
    if (parse_rest(far, rest, &process) && process && !kin_read_stat((pid_t)process, &ignored))
        return true;
    while (!found->has_ended && clock_now_ns() < until_ns) {
        interrupt_sleep_ms(LOOK_MS);
        if (interrupt_ends(UINT64_MAX) || journal_copy_look(far->place, journal, &now) != WEFT_OK ||
            now.pulse != found->pulse)
            return false;
    }
    return true;
}

// Whether the directory can be continued: then it is the earlier one.
static weft_err look_at_candidate(struct output *output, const char *path, const char *name)
{
    struct output_far *far = output->far;
    struct journal_copy_found found;
    struct buf journal = {0}, origin = {0};
    weft_err err = name_journal(path, &journal);
    if (!err)
        err = journal_copy_look(far->place, buf_text(&journal), &found);
    if (!err && found.number)
        err = journal_copy_read_origin(far->place, buf_text(&journal), found.number, &origin);
    if (!err && found.number && is_of_same_job(output, buf_bytes(&origin)) &&
        has_ended(far, name, buf_text(&journal), &found)) {
        far->earlier = strdup(path);
        far->earlier_number = found.number;
        far->next_number = found.highest + 1;
        err = far->earlier ? WEFT_OK : no_memory();
    }
    buf_fini(&journal);
    buf_fini(&origin);
    return err;
}

static weft_err list_candidates(struct search *search, char **above)
{
    struct store_place *place = search->far->place;
    const char *last = output_far_last_name(place->path);
    const size_t parent = (size_t)(last - place->path);
    *above = strndup(place->path, parent > 1 ? parent - 1 : 1);
    buf_format(&search->prefix, ".%.*s.weft-", FAR_NAME_BYTES_MAX, last);
    if (!*above || search->prefix.has_failed)
        return no_memory();
    const weft_err err = place->calls->list(place, *above, note_candidate, search);
    if (err != WEFT_NOT_FOUND)
        return err;
    err_clear();
    return WEFT_OK;
}

weft_err output_find_earlier(struct output *output)
{
    struct output_far *far = output->far;
    struct search search = {.far = far};
    char *above = NULL;
    if (!far || !output->may_resume || !output->origin)
        return WEFT_OK;
    weft_err err = list_candidates(&search, &above);
    for (size_t i = 0; i < search.names.count; i++) {
        struct buf path = {0};
        buf_format(&path, "%s/%s", strcmp(above, "/") == 0 ? "" : above, search.names.items[i]);
        // One that cannot be read is another user's, or goes just now.
        if (!far->earlier && !path.has_failed &&
            look_at_candidate(output, buf_text(&path), search.names.items[i]) != WEFT_OK)
            err_clear();
        buf_fini(&path);
        free(search.names.items[i]);
    }
    VEC_FINI(&search.names);
    buf_fini(&search.prefix);
    free(above);
    return err;
}

// ---- Its journal comes here ------------------------------------------------------------------------------

struct bringing {
    const char *directory;  // of the journal here
    bool differs;
};

static weft_err name_file(const struct bringing *bringing, const char *name, struct buf *path)
{
    buf_format(path, "%s/%s", bringing->directory, name);
    return path->has_failed ? no_memory() : WEFT_OK;
}

static weft_err compare_bytes(void *owner, const char *name, uint64_t offset, weft_bytes bytes)
{
    struct bringing *bringing = owner;
    struct buf path = {0};
    char *here = malloc(bytes.size + 1);
    size_t got = 0;
    int fd = -1;
    weft_err err = here ? name_file(bringing, name, &path) : no_memory();
    if (!err && file_open(buf_text(&path), &fd) == WEFT_OK)
        err = file_read_at(fd, buf_text(&path), here, bytes.size, offset, &got);
    bringing->differs |= !err && (got != bytes.size || memcmp(here, bytes.data, bytes.size) != 0);
    err_clear();
    file_close(fd);
    free(here);
    buf_fini(&path);
    return err;
}

static weft_err write_bytes(void *owner, const char *name, uint64_t offset, weft_bytes bytes)
{
    struct buf path = {0};
    int fd = -1;
    weft_err err = name_file(owner, name, &path);
    if (!err)
        err = file_open_private(buf_text(&path), &fd);
    if (!err)
        err = file_write_at(fd, buf_text(&path), bytes.data, bytes.size, offset);
    file_close(fd);
    buf_fini(&path);
    return err;
}

static weft_err read_copy(const struct output_far *far, journal_copy_visit_fn *visit,
                          struct bringing *bringing)
{
    struct buf path = {0};
    weft_err err = name_journal(far->earlier, &path);
    if (!err)
        err = journal_copy_read(far->place, buf_text(&path), far->earlier_number, visit, bringing);
    buf_fini(&path);
    return err;
}

// A journal that is here has an origin beside it, from the moment on when parts can be there.
static bool is_ours_here(const struct output *output, const char *directory)
{
    struct buf path = {0}, text = {0};
    int fd = -1;
    buf_format(&path, "%s/%s", directory, JOURNAL_COPY_ORIGIN);
    const bool is = !path.has_failed && file_open(buf_text(&path), &fd) == WEFT_OK &&
                    file_read_all(fd, buf_text(&path), MANIFEST_BYTES_MAX, &text) == WEFT_OK &&
                    is_of_same_job(output, buf_bytes(&text));
    err_clear();
    file_close(fd);
    buf_fini(&path);
    buf_fini(&text);
    return is;
}

static weft_err note_any(void *owner, const char *name)
{
    *(bool *)owner |= strncmp(name, "journal-0", 9) == 0;
    return WEFT_OK;
}

// Makes the directory of the journal here, and locks it as its owner does. *lock is -1 where another run of this machine has it.
static weft_err lock_here(struct output *output, const char *directory, int *lock)
{
    struct buf path = {0};
    *lock = -1;
    buf_format(&path, "%s/journal-lock", directory);
    weft_err err = path.has_failed ? no_memory() : output_make_unfinished(output);
    if (!err)
        err = own_make_directory(directory);
    if (!err)
        err = file_lock(buf_text(&path), lock);
    buf_fini(&path);
    if (err != WEFT_UNAVAILABLE && err != WEFT_NOT_FOUND)
        return err;
    err_clear();
    *lock = -1;
    return WEFT_OK;
}

// Under the lock. The journal here is continued if that there is the beginning of it: the same run has written both. Otherwise that there counts, since the
// parts there are of it: work of other cuts does not fit.
static weft_err bring(struct output *output, const char *directory, int *lock)
{
    struct output_far *far = output->far;
    struct bringing bringing = {.directory = directory};
    bool has_any = false;
    weft_err err = file_list(directory, note_any, &has_any);
    if (!err && has_any)
        err = read_copy(far, compare_bytes, &bringing);
    if (err || (has_any && !bringing.differs))
        return err;
    if (has_any && !is_ours_here(output, directory)) {
        output_far_forget_earlier(far);  // opening the journal says what is in the way
        return WEFT_OK;
    }
    if (has_any) {
        err = output_discard_unfinished(output);
        file_close(*lock);
        *lock = -1;
        if (!err)
            err = lock_here(output, directory, lock);
    }
    return err || *lock < 0 ? err : read_copy(far, write_bytes, &bringing);
}

weft_err output_bring_earlier(struct output *output)
{
    struct output_far *far = output->far;
    struct buf directory = {0};
    int lock = -1;
    if (!far || !far->earlier || !output->may_resume || output->force)
        return WEFT_OK;
    weft_err err = name_journal(output->temporary, &directory);
    if (!err)
        err = lock_here(output, buf_text(&directory), &lock);
    if (!err && lock >= 0)
        err = bring(output, buf_text(&directory), &lock);
    if (!err && lock < 0)
        output_far_forget_earlier(far);
    file_close(lock);
    buf_fini(&directory);
    // The process that was taken for dead may have its answer now, or another one was faster here.
    if (err == WEFT_NOT_FOUND) {
        err_clear();
        output_far_forget_earlier(far);
        return WEFT_OK;
    }
    return err;
}

// ---- Its directory becomes this run's --------------------------------------------------------------------

struct parts {
    const struct output *output;
    VEC(char *) others;
};

static weft_err note_part(void *owner, const char *name, const struct store_entry *entry)
{
    struct parts *parts = owner;
    const struct output *output = parts->output;
    const bool is_part = entry->kind == FILE_REGULAR && strncmp(name, "part-", 5) == 0;
    const unsigned long part = is_part ? strtoul(name + 5, NULL, 10) : output->part_count;
    char expected[PART_NAME_BYTES] = "";
    if (part < output->part_count)
        part_format_name(expected, (uint32_t)part, output->suffix);
    if (*expected && strcmp(name, expected) == 0) {
        output->far->sizes[part] = entry->size;
        return WEFT_OK;
    }
    char *copy = strcmp(name, OUTPUT_JOURNAL) == 0 ? NULL : strdup(name);
    if (copy && !VEC_PUSH(&parts->others, copy))
        free(copy);
    return WEFT_OK;
}

static weft_err remove_there(const struct output_far *far, const char *name)
{
    struct buf path = {0};
    buf_format(&path, "%s/%s", far->temporary, name);
    const weft_err err =
        path.has_failed ? no_memory() : far->place->calls->remove(far->place, buf_text(&path));
    buf_fini(&path);
    return err;
}

// Parts that were being written, and what makes an answer whole.
static weft_err look_at_parts(struct output *output)
{
    struct output_far *far = output->far;
    struct parts parts = {.output = output};
    far->sizes = malloc((output->part_count + (size_t)1) * sizeof *far->sizes);
    if (!far->sizes)
        return no_memory();
    for (uint32_t i = 0; i < output->part_count; i++)
        far->sizes[i] = UINT64_MAX;
    weft_err err = far->place->calls->list(far->place, far->temporary, note_part, &parts);
    for (size_t i = 0; i < parts.others.count; i++) {
        if (!err)
            err = remove_there(far, parts.others.items[i]);
        free(parts.others.items[i]);
    }
    VEC_FINI(&parts.others);
    return err;
}

weft_err output_far_take_earlier(struct output *output, bool *is_taken)
{
    struct output_far *far = output->far;
    *is_taken = false;
    if (!far->earlier || !output->may_resume)
        return WEFT_OK;
    if (output->force) {
        const weft_err err = far->place->calls->remove(far->place, far->earlier);
        output_far_forget_earlier(far);
        return err;
    }
    const weft_err err = far->place->calls->rename(far->place, far->earlier, far->temporary);
    if (err == WEFT_NOT_FOUND) {
        err_clear();
        output_far_forget_earlier(far);
        return WEFT_OK;
    }
    *is_taken = !err;
    return err ? err : look_at_parts(output);
}

bool output_far_has_part(const struct output *output, uint32_t part, uint64_t bytes)
{
    struct output_far *far = output->far;
    if (!far || !far->sizes || far->sizes[part] != bytes)
        return false;
    far->is_there[part] = true;
    return true;
}

bool output_far_is_there(const struct output *output, uint32_t part)
{
    return output->far && output->far->is_there && output->far->is_there[part];
}

// A part of which the journal does not know all pieces is made again. It must not stay where the new one is empty, and left out.
weft_err output_far_remove_rest(const struct output *output)
{
    const struct output_far *far = output->far;
    weft_err err = WEFT_OK;
    for (uint32_t part = 0; far && far->sizes && !err && part < output->part_count; part++) {
        char name[PART_NAME_BYTES];
        if (far->sizes[part] == UINT64_MAX || far->is_there[part])
            continue;
        part_format_name(name, part, output->suffix);
        err = remove_there(far, name);
    }
    return err;
}
