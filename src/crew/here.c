// GPUs are counted by the device files of NVIDIA's driver, which are there whether its library is installed or not.

#include "crew/here.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "sys/file/file.h"
#include "sys/machine/machine.h"

static weft_err no_memory(void)
{
    return err_no_memory("for the GPUs of this machine");
}

static weft_err add_gpu(struct here *here, const char *name, size_t length)
{
    char *copy = strndup(name, length);
    char **to = copy ? (char **)vec_next((void **)&here->gpus, here->gpu_count, &here->gpu_capacity,
                                         sizeof *here->gpus)
                     : NULL;
    if (!to) {
        free(copy);
        return no_memory();
    }
    *to = copy;
    here->gpu_count++;
    return WEFT_OK;
}

// "nvidia3", and not "nvidiactl".
static weft_err note_device(void *owner, const char *name)
{
    static const char start[] = "nvidia";
    const size_t length = sizeof start - 1;
    const bool is_gpu = strncmp(name, start, length) == 0 && name[length] &&
                        !name[length + strspn(name + length, "0123456789")];
    return is_gpu ? add_gpu(owner, name + length, strlen(name + length)) : WEFT_OK;
}

static int compare_numbers(const void *a, const void *b)
{
    const int left = atoi(*(char *const *)a), right = atoi(*(char *const *)b);
    return (left > right) - (left < right);
}

// As CUDA reads it: the list ends at the first item that is not a device, such as -1.
static weft_err read_visible(struct here *here, const char *visible)
{
    weft_err err = WEFT_OK;
    while (!err && *visible && *visible != '-') {
        const size_t length = strcspn(visible, ",");
        if (length > 0)
            err = add_gpu(here, visible, length);
        visible += length + (visible[length] == ',');
    }
    return err;
}

weft_err here_look(struct here *here, const char *visible, const char *devices)
{
    *here = (struct here){.cores = machine_core_count(), .memory_bytes = machine_memory_free()};
    weft_err err = visible ? read_visible(here, visible) : file_list(devices, note_device, here);
    if (!visible && here->gpu_count > 1)
        qsort(here->gpus, here->gpu_count, sizeof *here->gpus, compare_numbers);
    if (err)
        here_fini(here);
    return err;
}

void here_fini(struct here *here)
{
    for (size_t i = 0; i < here->gpu_count; i++)
        free(here->gpus[i]);
    free(here->gpus);
    *here = (struct here){0};
}

// ---- Checks ----------------------------------------------------------------------------------------------------

static weft_err check_memory(const struct here *here, uint64_t asked_bytes)
{
    struct buf asked = {0}, there = {0};
    weft_err err = WEFT_OK;
    if (here->memory_bytes == 0 || asked_bytes <= here->memory_bytes)
        return WEFT_OK;
    text_append_size(&asked, asked_bytes);
    text_append_bytes(&there, here->memory_bytes);
    err = err_set(WEFT_INVALID_ARGUMENT,
                  "the roles ask for %s of memory, and this machine has %s free\n"
                  "  try: less --memory, or fewer instances",
                  buf_text(&asked), buf_text(&there));
    buf_fini(&asked);
    buf_fini(&there);
    return err;
}

static weft_err check_role(const struct here *here, const struct crew_role *role)
{
    if (role->amounts.count)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "roles.%s: this machine has no resource %s\n"
                       "  try: --on yarn://HOST, where a cluster knows it",
                       role->name, role_quote(weft_text(role->amounts.items[0].name)).text);
    if (role->constraint)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "roles.%s: this machine has no label to match the constraint %s\n"
                       "  leave it out, or use --on for machines that have labels",
                       role->name, role_quote(weft_text(role->constraint)).text);
    if (role->cpus > here->cores)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "roles.%s: an instance asks for %" PRIu32
                       " cpus, and this machine has %" PRIu32 "\n  try: --cpus %s=%" PRIu32,
                       role->name, role->cpus, here->cores, role->name, here->cores);
    return WEFT_OK;
}

weft_err here_check(const struct here *here, const struct crew_spec *spec)
{
    uint64_t memory_bytes = 0, gpus = 0;
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < spec->roles.count; i++) {
        const struct crew_role *role = &spec->roles.items[i];
        uint64_t bytes;
        if (role->instances == 0)
            continue;
        if (__builtin_mul_overflow(role->memory_bytes, (uint64_t)role->instances, &bytes) ||
            __builtin_add_overflow(memory_bytes, bytes, &memory_bytes))
            memory_bytes = UINT64_MAX;
        gpus += (uint64_t)role->gpus * role->instances;
        err = check_role(here, role);
    }
    if (!err)
        err = check_memory(here, memory_bytes);
    if (!err && gpus > here->gpu_count)
        err = err_set(WEFT_INVALID_ARGUMENT,
                      "the roles ask for %" PRIu64 " GPU%s, and this machine has %zu\n"
                      "  try: fewer --gpus, or fewer instances",
                      gpus, gpus == 1 ? "" : "s", here->gpu_count);
    return err;
}

char *here_list_gpus(const struct here *here, const struct crew_spec *spec, size_t member,
                     weft_err *err)
{
    const struct crew_seat seat = crew_spec_seat(spec, member);
    size_t first = (size_t)seat.instance * seat.role->gpus;
    for (const struct crew_role *role = spec->roles.items; role < seat.role; role++)
        first += (size_t)role->instances * role->gpus;
    struct buf list = {0};
    if (seat.role->gpus == 0)
        return NULL;
    ASSERT(first + seat.role->gpus <= here->gpu_count);
    for (size_t i = first; i < first + seat.role->gpus; i++)
        buf_format(&list, "%s%s", i > first ? "," : "", here->gpus[i]);
    char *text = list.has_failed ? NULL : strdup(buf_text(&list));
    if (!text)
        *err = no_memory();
    buf_fini(&list);
    return text;
}
