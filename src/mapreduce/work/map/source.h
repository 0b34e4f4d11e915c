// A source: the plain bytes of one input from some offset on, whatever the input is compressed with.
//
// The driver gives the compression of inputs that it cuts into pieces; for the others a slot finds
// it when it reads their first bytes. Thread: a source belongs to one slot; facts about an input
// are shared (input_* below).
#ifndef MAPREDUCE_WORK_MAP_SOURCE_H
#define MAPREDUCE_WORK_MAP_SOURCE_H

#include "mapreduce/work/stage.h"

#define SOURCE_SIZE_UNKNOWN UINT64_MAX

struct source {
    const struct stage *stage;
    struct input *input;
    struct store_file file;
    struct codec_reader *codec;  // NULL: plain
    uint64_t at;                 // plain offset of the next read
    uint64_t size;               // of the plain data; SOURCE_SIZE_UNKNOWN until it has ended
    uint64_t until;              // where the caller means to stop
};

// Opens the input at `from`. One that can only be read from its front is opened there: look at `at`. Lent bytes are asked for
// ahead as far as `until`, where the caller means to stop, more or less.
MUST_CHECK weft_err source_open(struct source *source, const struct stage *stage,
                                uint32_t input_index, uint64_t from, uint64_t until);

// The input will be opened at `from` soon: if it is lent, the bytes there are asked for already.
void source_prepare(const struct stage *stage, uint32_t input_index, uint64_t from);
void source_close(struct source *source);

// The next up to `size` bytes, fewer only at the end; *got says how many. An input that became shorter is
// DATA_LOSS.
MUST_CHECK weft_err source_read(struct source *source, void *data, size_t size, size_t *got);

// Whether the bytes so far are of the file that the job began with. DATA_LOSS: another file has its name, or the file
// was written to and has not grown. source_open checks it, too; this call is for the end of a piece.
MUST_CHECK weft_err source_check(struct source *source);
MUST_CHECK weft_err
source_check_mapped(const struct input *input);  // the same of one that is mapped
MUST_CHECK weft_err
source_check_all_mapped(const struct stage *stage);  // and of every mapped input

static inline bool source_is_at_end(const struct source *source)
{
    return source->at == source->size;
}

// What decompressing it takes of memory.
uint64_t source_memory(const struct source *source);

// How much of the file itself it has taken, for progress.
uint64_t source_taken(const struct source *source);

#endif
