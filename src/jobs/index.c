// index: for every word the files it is in. A word occurs in a file again and again, so each slot remembers the
// most recent words and does not emit them again.
//
// That is right though attempts fail and their pairs are forgotten: a word is left out only where
// it was seen before, in the same file at a smaller offset. Its first place in the file is never
// left out, whichever attempt at that place counts in the end.

#include "jobs/builtin.h"
#include "jobs/lines.h"

#include "base/err.h"

#include <stdlib.h>

enum {
    SEEN_BITS = 15,
    SEEN_WORD_BYTES_MAX = 27,  // longer words are rare, and simply emitted
};

// 32 bytes, half a line of the cache; all of them a megabyte.
struct seen {
    uint32_t block;  // the block it was seen in, as index counts them
    uint8_t size;
    char word[SEEN_WORD_BYTES_MAX];
};

struct index {
    uint32_t block;        // counts calls from 1
    uint32_t first_block;  // since then the blocks were of one file, each after the one before
    uint32_t file;
    uint64_t offset;
    struct seen seen[1 << SEEN_BITS];
};

// Of the first and last bytes and the size: words that agree in these take turns.
static size_t place_of(weft_bytes word)
{
    uint64_t first = 0, last = 0;
    const size_t part = word.size < 8 ? word.size : 8;
    memcpy(&first, word.data, part);
    memcpy(&last, word.data + word.size - part, part);
    const uint64_t mixed = (first ^ last * 0x9e3779b97f4a7c15u ^ word.size) * 0xbf58476d1ce4e5b9u;
    return mixed >> (64 - SEEN_BITS);
}

// Whether the word was seen before in this file; now it is.
static bool see(struct index *index, weft_bytes word)
{
    if (word.size > SEEN_WORD_BYTES_MAX)
        return false;
    struct seen *seen = &index->seen[place_of(word)];
    if (seen->block >= index->first_block && seen->size == word.size &&
        memcmp(seen->word, word.data, word.size) == 0)
        return true;
    seen->block = index->block;
    seen->size = (uint8_t)word.size;
    memcpy(seen->word, word.data, word.size);
    return false;
}

static void begin_block(struct index *index, uint32_t file, uint64_t offset)
{
    if (++index->block == 0) {  // after four thousand million blocks
        memset(index->seen, 0, sizeof index->seen);
        index->block = index->first_block = 1;
    }
    if (index->block == 1 || file != index->file || offset <= index->offset)
        index->first_block = index->block;
    index->file = file;
    index->offset = offset;
}

static void emit_words_of(weft_task *task, weft_bytes text)
{
    struct index *index = weft_task_state(task);
    const weft_bytes file = weft_text(weft_input_name(task));
    weft_words words;
    weft_words_init(&words, text);
    for (weft_bytes word; weft_next_word(&words, &word);)
        if (!see(index, word))
            weft_emit(task, word, file);
}

static void emit_words(weft_task *task, weft_bytes block)
{
    struct lines lines;
    begin_block(weft_task_state(task), weft_input_index(task), weft_input_offset(task));
    if (lines_keep_words_apart(task)) {
        emit_words_of(task, block);
        return;
    }
    lines_init(&lines, task, block);
    for (weft_bytes record; lines_next(&lines, &record);)
        emit_words_of(task, record);
}

static weft_err setup(weft_task *task)
{
    struct index *index = calloc(1, sizeof *index);
    if (!index)
        return err_no_memory("for the table of recent words");
    weft_task_set_state(task, index);
    return WEFT_OK;
}

static void teardown(weft_task *task)
{
    free(weft_task_state(task));
}

const weft_job builtin_index = {
    .name = "index",
    .map_block = emit_words,
    .combine = weft_distinct,
    .reduce = weft_distinct,
    .setup = setup,
    .teardown = teardown,
    .options = "",
    .usage = "Lists for each word, after a TAB, the files it is in, with TABs between them.\n"
             "Sorted by the word; the files of a word are sorted and each is listed once.\n",
};
