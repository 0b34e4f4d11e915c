// Joins two files on their first field: ./join customers.txt orders.txt
//
// Fields are separated by TABs. For every pair of a line of the first file and a line of the others with
// the same first field it prints that field, the rest of the one and the rest of the other.
#include <stdlib.h>
#include <weft/weft.h>

static void map(weft_task *task, weft_bytes line)
{
    const char *tab = memchr(line.data, '\t', line.size);
    const size_t key_size = tab ? (size_t)(tab - line.data) : line.size;
    const weft_bytes key = {line.data, key_size};

    // The side stands in front of the value: the reducer sees all values of a key, whichever file
    // they come from.
    const size_t rest_size = line.size - key_size;  // the TAB included
    char *value = malloc(1 + rest_size);
    if (!value) {
        weft_fail(task, "no memory for a line of %zu bytes", line.size);
        return;
    }
    value[0] = weft_input_index(task) == 0 ? 'L' : 'R';
    memcpy(value + 1, line.data + key_size, rest_size);
    weft_emit(task, key, (weft_bytes){value, 1 + rest_size});
    free(value);
}

// The left lines of one key, one after the other.
struct left {
    char *bytes;
    size_t size, capacity;
};

static bool left_add(struct left *left, weft_bytes value)
{
    const uint32_t size = (uint32_t)value.size;
    const size_t needed = left->size + sizeof size + value.size;
    if (needed > left->capacity) {
        char *bytes = realloc(left->bytes, 2 * needed);
        if (!bytes)
            return false;
        left->bytes = bytes;
        left->capacity = 2 * needed;
    }
    memcpy(left->bytes + left->size, &size, sizeof size);
    memcpy(left->bytes + left->size + sizeof size, value.data, value.size);
    left->size = needed;
    return true;
}

// Prints the right line beside every left one.
static void emit_pairs(weft_task *task, weft_bytes key, const struct left *left, weft_bytes right)
{
    uint32_t size;
    char *value = malloc(left->size + right.size + 1);
    for (size_t at = 0; value && at < left->size; at += sizeof size + size) {
        memcpy(&size, left->bytes + at, sizeof size);
        memcpy(value, left->bytes + at + sizeof size, size);
        memcpy(value + size, right.data, right.size);
        // The value begins with the TAB of its own that is printed anyway.
        const size_t skip = size + right.size > 0;
        weft_emit(task, key, (weft_bytes){value + skip, size + right.size - skip});
    }
    if (!value)
        weft_fail(task, "no memory for a line of %zu bytes", right.size);
    free(value);
}

// Values come in input order, and the left file was given first: when the first right line comes, all
// left ones are known.
static void reduce(weft_task *task, weft_bytes key, weft_values *values)
{
    struct left left = {0};
    for (weft_bytes value; weft_next(values, &value);) {
        const weft_bytes rest = {value.data + 1, value.size - 1};
        if (value.data[0] == 'R')
            emit_pairs(task, key, &left, rest);
        else if (!left_add(&left, rest))
            weft_fail(task, "no memory for the lines of one key");
    }
    free(left.bytes);
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "join", .map = map, .reduce = reduce};
    return weft_main(argc, argv, &job);
}
