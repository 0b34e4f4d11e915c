// Files of workers, kept open by the driver.

#include "run/driver/answer/shelves.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sys/file/file.h"

enum { THIS = 0, BEFORE = 1 };  // of the arrays by stage

static weft_err no_memory(void)
{
    return err_no_memory("for the files that workers share");
}

// ---- Files --------------------------------------------------------------------------------------

static bool is_same(const struct shelf_name *a, const struct shelf_name *b)
{
    return a->worker == b->worker && a->stage == b->stage && a->descriptor == b->descriptor;
}

weft_err shelves_hold(struct shelves *shelves, const struct agent *agent,
                      const struct shelf_name *name, uint32_t *file)
{
    for (size_t i = shelves->files.count; i-- > 0;)
        if (is_same(&shelves->files.items[i].name, name)) {
            *file = (uint32_t)i;
            return WEFT_OK;
        }
    struct shelf_file *held = VEC_NEXT(&shelves->files);
    if (!held)
        return no_memory();
    *held = (struct shelf_file){.name = *name};
    const weft_err code = agent_open_file(agent, name->descriptor, &held->fd);
    if (code != WEFT_OK)
        return code;
    snprintf(held->path, sizeof held->path, "/proc/%d/fd/%d", (int)getpid(), held->fd);
    *file = (uint32_t)shelves->files.count++;
    return WEFT_OK;
}

int shelves_fd(const struct shelves *shelves, uint32_t file)
{
    return shelves->files.items[file].fd;
}

static void let_go(struct shelf_file *file)
{
    if (file->fd >= 0)
        file_close(file->fd);
    file->fd = -1;
}

// ---- Stages -------------------------------------------------------------------------------------

static bool is_needed(const struct shelves *shelves, const struct shelf_file *file, uint32_t stage)
{
    bool is_source = false;
    for (uint32_t i = 0; i < shelves->segment_counts[BEFORE]; i++)
        is_source |= shelves->is_known[BEFORE][i] &&
                     &shelves->files.items[shelves->segments[BEFORE][i].file] == file;
    return file->name.stage == stage || is_source;
}

weft_err shelves_begin_stage(struct shelves *shelves, uint32_t stage, uint32_t segment_count)
{
    if (shelves->segments[THIS] && shelves->stage == stage)
        return WEFT_OK;  // it begins at one more worker
    free(shelves->segments[BEFORE]);
    free(shelves->is_known[BEFORE]);
    shelves->segments[BEFORE] = shelves->segments[THIS];
    shelves->is_known[BEFORE] = shelves->is_known[THIS];
    shelves->segment_counts[BEFORE] = shelves->segment_counts[THIS];
    shelves->segments[THIS] = calloc(segment_count + (size_t)1, sizeof *shelves->segments[THIS]);
    shelves->is_known[THIS] = calloc(segment_count + (size_t)1, sizeof *shelves->is_known[THIS]);
    shelves->segment_counts[THIS] = segment_count;
    shelves->seals.count = 0;
    shelves->stage = stage;
    if (!shelves->segments[THIS] || !shelves->is_known[THIS])
        return no_memory();
    for (size_t i = 0; i < shelves->files.count; i++)
        if (!is_needed(shelves, &shelves->files.items[i], stage))
            let_go(&shelves->files.items[i]);
    return WEFT_OK;
}

struct seal *shelves_find_seal(struct shelves *shelves, uint32_t stage, uint32_t number)
{
    if (stage != shelves->stage || number < 1 || number > shelves->seals.count)
        return NULL;
    struct seal *seal = &shelves->seals.items[number - 1];
    return seal->is_lost ? NULL : seal;
}

weft_err shelves_note_seal(struct shelves *shelves, const struct seal *seal, uint32_t *number)
{
    for (size_t i = 0; i < shelves->seals.count; i++) {
        struct seal *at = &shelves->seals.items[i];
        if (at->worker != seal->worker || at->slot != seal->slot)
            continue;
        *number = at->is_lost ? 0 : (uint32_t)i + 1;
        if (*number)
            *at = *seal;
        return WEFT_OK;
    }
    *number = (uint32_t)shelves->seals.count + 1;
    return VEC_PUSH(&shelves->seals, *seal) ? WEFT_OK : no_memory();
}

void shelves_note_segment(struct shelves *shelves, uint32_t piece, const struct shelved *at)
{
    shelves->segments[THIS][piece] = *at;
    shelves->is_known[THIS][piece] = true;
}

// ---- Messages -----------------------------------------------------------------------------------

static char *path_of(const struct shelves *shelves, uint32_t file)
{
    return shelves->files.items[file].path;
}

weft_err shelves_fill_seals(const struct shelves *shelves, Weft__Seals *seals)
{
    Weft__AdoptedRuns *runs = calloc(shelves->seals.count + 1, sizeof *runs);
    seals->seals = calloc(shelves->seals.count + 1, sizeof *seals->seals);
    if (!runs || !seals->seals) {
        free(runs);
        return no_memory();
    }
    seals->seals[0] = runs;
    for (size_t i = 0; i < shelves->seals.count; i++) {
        const struct shelved *index = &shelves->seals.items[i].index;
        Weft__AdoptedRuns *message = &runs[seals->n_seals];
        if (shelves->seals.items[i].is_lost)
            continue;
        weft__adopted_runs__init(message);
        message->path = path_of(shelves, index->file);
        message->offset = index->offset;
        message->number = (uint32_t)i + 1;
        seals->seals[seals->n_seals++] = message;
    }
    return WEFT_OK;
}

void shelves_free_seals(Weft__Seals *seals)
{
    if (seals->seals)
        free(seals->seals[0]);
    free(seals->seals);
}

weft_err shelves_fill_source(const struct shelves *shelves, uint32_t segment, Weft__Source *source)
{
    if (segment >= shelves->segment_counts[BEFORE] || !shelves->is_known[BEFORE][segment])
        return err_set(WEFT_INTERNAL, "segment %u of the stage before is not known", segment);
    const struct shelved *at = &shelves->segments[BEFORE][segment];
    source->path = path_of(shelves, at->file);
    source->offset = at->offset;
    source->size = at->size;
    source->crc = at->crc32c;
    return WEFT_OK;
}

void shelves_fini(struct shelves *shelves)
{
    for (size_t i = 0; i < shelves->files.count; i++)
        let_go(&shelves->files.items[i]);
    for (int i = THIS; i <= BEFORE; i++) {
        free(shelves->segments[i]);
        free(shelves->is_known[i]);
    }
    VEC_FINI(&shelves->seals);
    VEC_FINI(&shelves->files);
    *shelves = (struct shelves){0};
}
