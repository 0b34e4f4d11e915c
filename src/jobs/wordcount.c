// wordcount: the words of the input and how often each occurs. The engine's own word loop does the work;
// -i folds the case of a piece that fits in the first cache, then hands it to the same loop.

#include "jobs/builtin.h"
#include "jobs/lines.h"

#include <stdlib.h>

enum { PIECE_BYTES = 16384 };

static bool is_blank(char byte)
{
    return byte == ' ' || (unsigned char)(byte - 9) < 5;
}

static void count_words(weft_task *task, weft_bytes block)
{
    struct lines lines;
    if (lines_keep_words_apart(task)) {
        weft_emit_words(task, block);
        return;
    }
    lines_init(&lines, task, block);
    for (weft_bytes record; lines_next(&lines, &record);)
        weft_emit_words(task, record);
}

// Without a branch, so that the compiler makes vectors of it.
static void fold_case(char *restrict to, const char *restrict from, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const unsigned char is_upper = (unsigned char)(from[i] - 'A') < 26;
        to[i] = (char)(from[i] | is_upper << 5);
    }
}

// As much of the text as ends with a blank and fits in a piece; a longer word is not cut.
static size_t piece_of(weft_bytes text)
{
    if (text.size <= PIECE_BYTES)
        return text.size;
    size_t size = PIECE_BYTES;
    while (size > 0 && !is_blank(text.data[size - 1]))
        size--;
    if (size > 0)
        return size;
    for (size = PIECE_BYTES; size < text.size && !is_blank(text.data[size]);)
        size++;
    return size;
}

static void count_folded_giant(weft_task *task, weft_bytes piece)
{
    char *folded = malloc(piece.size);
    if (!folded) {
        weft_fail(task, "no memory for a word of %zu bytes", piece.size);
        return;
    }
    fold_case(folded, piece.data, piece.size);
    weft_emit_words(task, (weft_bytes){folded, piece.size});
    free(folded);
}

static void count_folded_text(weft_task *task, weft_bytes block)
{
    char folded[PIECE_BYTES];
    while (block.size > 0) {
        const weft_bytes piece = {block.data, piece_of(block)};
        if (piece.size <= sizeof folded) {
            fold_case(folded, piece.data, piece.size);
            weft_emit_words(task, (weft_bytes){folded, piece.size});
        } else {
            count_folded_giant(task, piece);
        }
        block.data += piece.size;
        block.size -= piece.size;
    }
}

static void count_folded_words(weft_task *task, weft_bytes block)
{
    struct lines lines;
    if (lines_keep_words_apart(task)) {
        count_folded_text(task, block);
        return;
    }
    lines_init(&lines, task, block);
    for (weft_bytes record; lines_next(&lines, &record);)
        count_folded_text(task, record);
}

static weft_err configure(weft_job *job, const weft_args *args)
{
    if (weft_option(args, 'i', 0))
        job->map_block = count_folded_words;
    return WEFT_OK;
}

const weft_job builtin_wordcount = {
    .name = "wordcount",
    .map_block = count_words,
    .combine = weft_sum,
    .reduce = weft_sum,
    .options = "i",
    .usage = "Counts words: prints each word, a TAB and how often it occurs, sorted by the word.\n"
             "A word is a run of bytes that are not ASCII white space.\n"
             "  -i    upper and lower case ASCII letters are the same\n",
    .configure = configure,
};
