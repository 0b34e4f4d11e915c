// Fuzzes the reader of job.json: it refuses with a sentence or understands, and what it understood is written and read
// back the same. Bytes after a line "--" are flags, one on each line.
#include "crew/spec/spec.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const enum crew_field fields[] = {CREW_MEMORY,  CREW_CPUS,     CREW_GPUS,
                                         CREW_ENV,     CREW_FILES,    CREW_CONSTRAINT,
                                         CREW_COMMAND, CREW_PROCESSES};

static weft_err read_flag(struct crew_spec *spec, struct crew_flags *flags, char *line)
{
    const size_t which = (unsigned char)*line % (sizeof fields / sizeof *fields + 3);
    if ((unsigned char)*line > 127)  // the rest would begin inside of a character
        return WEFT_OK;
    if (which == 0)
        return crew_spec_add_role_flag(spec, line + 1);
    if (which == 1)
        return crew_spec_set_preset(spec, line + 1);
    if (which == 2)
        return VEC_PUSH(&flags->until, line + 1) ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
    return crew_flags_add(flags, fields[which - 3], line + 1);
}

static weft_err read_flags(struct crew_spec *spec, struct crew_flags *flags, char *text)
{
    weft_err err = WEFT_OK;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); !err && line; line = strtok_r(NULL, "\n", &rest))
        err = read_flag(spec, flags, line);
    return err;
}

static void check_members(const struct crew_spec *spec)
{
    const size_t count = crew_spec_count_members(spec);
    ASSERT(count > 0 && count <= CLUSTER_MEMBERS_MAX);
    const struct crew_seat last = crew_spec_seat(spec, count - 1);
    ASSERT(last.number == count - 1 && last.role->command.count > 0);
    ASSERT(!last.role->command.items[last.role->command.count]);
}

static bool is_utf8(weft_bytes text)
{
    const char *at = text.data, *end = text.data + text.size;
    while (at < end) {
        const size_t length = text_utf8_length(at, end);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

// Texts of flags need not be UTF-8, and JSON is: those are written, but another text comes back.
static void check_round_trip(const struct crew_spec *spec, bool is_exact)
{
    struct buf first = {0}, second = {0}, plan = {0};
    struct crew_spec again = {0};
    const struct crew_flags none = {0};
    crew_spec_write(&first, spec);
    crew_spec_write_plan(&plan, spec);
    if (is_exact) {
        if (crew_spec_read(&again, buf_bytes(&first), "again") || crew_spec_resolve(&again, &none))
            err_assert_failed(err_text(), buf_text(&first), 0);
        crew_spec_write(&second, &again);
        ASSERT(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
    }
    buf_fini(&first);
    buf_fini(&second);
    buf_fini(&plan);
    crew_spec_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char program[] = "p";
    char *text = strndup(size ? (const char *)data : "", size);
    char *marker = text ? strstr(text, "\n--\n") : NULL;
    struct crew_spec spec = {0};
    struct crew_flags flags = {.program = (const char *const[]){program, NULL}};
    weft_err err = WEFT_OK;
    if (!text)
        return 0;
    const bool is_exact = is_utf8(weft_text(text));  // reading flags cuts the text up
    const weft_bytes file = marker ? (weft_bytes){text, (size_t)(marker - text)}
                                   : (weft_bytes){(const char *)data, size};
    if (file.size > 0)
        err = crew_spec_read(&spec, file, "job.json");
    ASSERT(err != WEFT_INVALID_ARGUMENT || strncmp(err_text(), "job.json: ", 10) == 0);
    ASSERT(!err || (spec.roles.count == 0 && !spec.name && !spec.all.given));
    if (!err && marker)
        err = read_flags(&spec, &flags, marker + 4);
    if (!err)
        err = crew_spec_resolve(&spec, &flags);
    ASSERT(!err || *err_text());
    if (!err) {
        check_members(&spec);
        check_round_trip(&spec, is_exact);
    }
    crew_flags_fini(&flags);
    crew_spec_fini(&spec);
    free(text);
    return 0;
}
