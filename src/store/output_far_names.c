// output: the names of an answer that goes to another store, and what killed runs have left under such names.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/crc32c.h"
#include "base/sha256.h"
#include "base/vec.h"
#include "store/output_far_state.h"
#include "sys/file/find.h"
#include "sys/machine/kin.h"
#include "sys/machine/machine.h"
#include "sys/secure/secret.h"

enum {
    HASH_BYTES = 8,
    LEFT_MAX = 1000,  // of what killed runs have left; the next run takes the others
};

static weft_err keep(struct buf *text, char **kept)
{
    *kept = text->has_failed ? NULL : strdup(buf_text(text));
    buf_fini(text);
    return *kept ? WEFT_OK : err_no_memory("for the output");
}

// ---- Names ---------------------------------------------------------------------------------------------

const char *output_far_last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// Where process numbers mean the same processes: a machine since it was started, and in it a container.
void output_far_name_machine(char machine[FAR_MACHINE_BYTES])
{
    char text[200] = "", space[100] = "", host[MACHINE_NAME_BYTES_MAX];
    size_t got = 0;
    int fd = -1;
    if (file_open("/proc/sys/kernel/random/boot_id", &fd) != WEFT_OK ||
        file_read_at(fd, "boot_id", text, sizeof text - 1, 0, &got) != WEFT_OK)
        err_clear();
    file_close(fd);
    if (!find_link_target("/proc/self/ns/pid", space, sizeof space))
        space[0] = 0;
    machine_host_name(host);
    uint32_t crc = crc32c(0, text, got);
    crc = crc32c(crc, space, strlen(space));
    crc = crc32c(crc, host, strlen(host));
    snprintf(machine, FAR_MACHINE_BYTES, "%08" PRIx32, crc);
}

// ".NAME.weft-MACHINE-", and then the process and a random number: the names of the runs of this machine.
void output_far_append_hidden(const struct output_far *far, struct buf *text)
{
    buf_format(text, ".%.*s.weft-%s-", FAR_NAME_BYTES_MAX, output_far_last_name(far->place->path),
               far->machine);
}

weft_err output_far_name_there(struct output_far *far)
{
    const char *path = far->place->path;
    struct buf text = {0}, aside = {0};
    uint32_t random;
    secret_random(&random, sizeof random);
    buf_append(&text, path, (size_t)(output_far_last_name(path) - path));
    output_far_append_hidden(far, &text);
    buf_format(&text, "%ld-%08" PRIx32, (long)getpid(), random);
    weft_err err = keep(&text, &far->temporary);
    if (!err) {
        buf_format(&aside, "%s-old", far->temporary);
        err = keep(&aside, &far->aside);
    }
    return err;
}

// The name here: the same for every run of the user's that writes there, so that the next one continues this one.
weft_err output_far_name_here(struct output *output, const struct output_options *options)
{
    char user[MACHINE_NAME_BYTES_MAX];
    uint8_t digest[SHA256_BYTES];
    struct sha256 sha;
    struct buf text = {0};
    const char *path = output->far->place->path;
    // hdfs://HOST of hdfs://HOST/path/
    const size_t origin = strlen("hdfs://") + strcspn(output->shown + strlen("hdfs://"), "/");
    machine_user_name(user);
    sha256_init(&sha);
    sha256_add(&sha, user, strlen(user) + 1);
    sha256_add(&sha, output->shown, origin);
    sha256_add(&sha, path, strlen(path));
    sha256_end(&sha, digest);
    buf_format(&text, "%s/weft-", options->tmp);
    for (size_t i = 0; i < HASH_BYTES; i++)
        buf_format(&text, "%02x", digest[i]);
    buf_format(&text, "-%.*s", FAR_NAME_BYTES_MAX, output_far_last_name(path));
    return keep(&text, &output->target);
}

// ---- What killed runs have left ------------------------------------------------------------------------

struct left {
    const struct output_far *far;
    struct buf prefix;
    bool has_target;
    VEC(char *) names;
};

// An earlier answer that was moved aside, by a run that was killed before it had put its own in the place: it is all there is.
static bool is_precious(const struct left *left, const char *name)
{
    const size_t size = strlen(name);
    return !left->has_target && size > 4 && strcmp(name + size - 4, "-old") == 0;
}

// Another run has a process of its own, and several of one process have random numbers of their own.
static bool is_left(const char *rest)
{
    struct kin_stat ignored;
    char *end;
    const long pid = strtol(rest, &end, 10);
    return pid > 0 && *end == '-' && pid != (long)getpid() && !kin_read_stat((pid_t)pid, &ignored);
}

static weft_err note_left(void *owner, const char *name, const struct store_entry *entry)
{
    struct left *left = owner;
    const size_t size = left->prefix.size;
    (void)entry;
    if (strncmp(name, buf_text(&left->prefix), size) != 0 || !is_left(name + size) ||
        is_precious(left, name) || left->names.count == LEFT_MAX)
        return WEFT_OK;
    char *copy = strdup(name);
    if (copy && VEC_PUSH(&left->names, copy))
        return WEFT_OK;
    free(copy);
    return err_no_memory("for the output");
}

void output_far_tidy(const struct output *output)
{
    const struct output_far *far = output->far;
    struct store_place *place = far->place;
    struct left left = {.far = far};
    const size_t parent = (size_t)(output_far_last_name(place->path) - place->path);
    char *above = strndup(place->path, parent > 1 ? parent - 1 : 1);
    struct store_entry found = {.kind = FILE_MISSING};
    output_far_append_hidden(far, &left.prefix);
    if (place->calls->look(place, place->path, &found) != WEFT_OK)
        err_clear();
    left.has_target = found.kind != FILE_MISSING;
    if (above && !left.prefix.has_failed &&
        place->calls->list(place, above, note_left, &left) != WEFT_OK)
        err_clear();
    for (size_t i = 0; i < left.names.count; i++) {
        struct buf path = {0};
        buf_format(&path, "%.*s%s", (int)parent, place->path, left.names.items[i]);
        if (!path.has_failed && place->calls->remove(place, buf_text(&path)) != WEFT_OK)
            err_clear();
        buf_fini(&path);
        free(left.names.items[i]);
    }
    VEC_FINI(&left.names);
    buf_fini(&left.prefix);
    free(above);
}
