// Fuzzes JSON: the first line is a path, the rest a text. A text that the strict check accepts is never
// broken for the reader, what it finds lies inside, and any bytes written as JSON are read back.

#include "base/bytes.h"
#include "store/record/record.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_value(weft_bytes text, const char *path, bool is_valid)
{
    struct buf room = {0};
    weft_bytes value = {0};
    const enum record_json kind = record_json_get(text, path, &value, &room);
    ASSERT(kind <= RECORD_JSON_BROKEN);
    if (is_valid)
        ASSERT(kind != RECORD_JSON_BROKEN);
    if (kind != RECORD_JSON_MISSING && kind != RECORD_JSON_BROKEN && room.size == 0)
        ASSERT(value.size == 0 ||
               (value.data >= text.data && value.data + value.size <= text.data + text.size));
    if (is_valid && kind != RECORD_JSON_MISSING && kind != RECORD_JSON_STRING)
        ASSERT(record_json_check(value) == SIZE_MAX);
    buf_fini(&room);
}

static void check_writing(weft_bytes bytes)
{
    const struct record_pair pair = {bytes, bytes, true, false};
    const size_t max = record_write_max(OUTPUT_JSONL, &pair);
    char *text = malloc(max);
    struct buf room = {0};
    weft_bytes value;
    ASSERT(text);
    const size_t size = (size_t)(record_write(OUTPUT_JSONL, &pair, text) - text);
    ASSERT(size <= max);
    ASSERT(record_json_check((weft_bytes){text, size}) == SIZE_MAX);
    ASSERT(record_json_get((weft_bytes){text, size}, "value", &value, &room) == RECORD_JSON_STRING);
    ASSERT(bytes_equal(value, bytes));
    free(text);
    buf_fini(&room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    const size_t path_size = end ? (size_t)(end - data) : 0;
    char *path = calloc(1, path_size + 1);
    ASSERT(path);
    if (path_size)
        memcpy(path, data, path_size);
    const size_t taken = end ? path_size + 1 : 0;
    const weft_bytes text = {(const char *)data + taken, size - taken};
    const size_t wrong = record_json_check(text);
    ASSERT(wrong == SIZE_MAX || wrong <= text.size);
    check_value(text, path, wrong == SIZE_MAX);
    check_value(text, "", wrong == SIZE_MAX);
    check_writing(text);
    free(path);
    return 0;
}
