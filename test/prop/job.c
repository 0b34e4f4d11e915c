// What a seed draws, and the sequential twin of the engine.

#include "prop/job.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"

enum { LINES_MAX = 6000, WORDS_MAX = 2 * LINES_MAX };

static uint64_t random_state;

void draw_begin(uint64_t seed)
{
    random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

uint32_t draw(uint32_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % limit;
}

// ---- the jobs

static bool split_line(weft_bytes line, weft_bytes *key, int64_t *value)
{
    const char *space = memchr(line.data, ' ', line.size);
    *key = (weft_bytes){line.data, (size_t)(space - line.data)};
    return number_read_int((weft_bytes){space + 1, line.size - key->size - 1}, value);
}

static void map_number(weft_task *task, weft_bytes line)
{
    weft_bytes key;
    int64_t value;
    if (!split_line(line, &key, &value))
        weft_fail(task, "bad line");
    weft_emit_int(task, key, value);
}

static void map_double(weft_task *task, weft_bytes line)
{
    weft_bytes key;
    int64_t value;
    if (!split_line(line, &key, &value))
        weft_fail(task, "bad line");
    weft_emit_double(task, key, (double)value / 8);
}

static void map_bytes(weft_task *task, weft_bytes line)
{
    const char *space = memchr(line.data, ' ', line.size);
    const size_t key_size = (size_t)(space - line.data);
    weft_emit(task, (weft_bytes){line.data, key_size},
              (weft_bytes){space + 1, line.size - key_size - 1});
}

static void map_line(weft_task *task, weft_bytes line)
{
    weft_emit(task, line, weft_none());
}

static void map_words(weft_task *task, weft_bytes block)
{
    weft_emit_words(task, block);
}

static void own_sum(weft_task *task, weft_bytes key, weft_values *values)
{
    int64_t total = 0;
    for (int64_t value; weft_next_int(values, &value);)
        total += value;
    weft_emit_int(task, key, total);
}

static int backwards(weft_bytes a, weft_bytes b)
{
    return -bytes_compare(a, b);
}

static uint32_t by_size(weft_bytes key, uint32_t part_count)
{
    return (uint32_t)(key.size % part_count);
}

static weft_job job_of_kind(enum kind kind)
{
    weft_job job = {.name = "prop", .map = map_bytes};
    weft_reduce_fn *const reducers[KINDS] = {weft_sum,   weft_min,      weft_max,      weft_collect,
                                             weft_first, weft_distinct, weft_identity, weft_mean,
                                             own_sum,    weft_count,    weft_sum};
    job.reduce = reducers[kind];
    if (kind <= MAX || kind == OWN)
        job.map = map_number;
    if (kind == MEAN)
        job.map = map_double;
    if (kind == IDENTITY && draw(2))
        job.map = map_line;
    if (kind == OWN)
        job.combine = draw(2) ? own_sum : NULL;
    if (kind == WORDS) {
        job.map = NULL;
        job.map_block = map_words;
    }
    return job;
}

// ---- input

static char text[1 << 20];
static size_t text_size;

static void draw_key(char *key, uint32_t style)
{
    size_t size = 0;
    uint32_t number = draw(style == 0 ? 40 : style == 1 ? 4000 : 100000000);
    if (style == 3)
        size = (size_t)sprintf(key, "https://www.example.org/");
    const uint32_t longest = draw(12) == 0 ? 40 : draw(3) ? 8 : 17;
    do
        key[size++] = (char)(33 + number % 90);
    while ((number /= 90) || (size < longest && draw(3) == 0));
    if (draw(40) == 0)
        key[size++] = 0;  // keys that end in NUL take another way
    if (draw(300) == 0)
        size = 0;
    key[size] = ' ';
}

// Four large values in a row have one key: the first two leave 64 bits, the others come back.
static int64_t draw_large(char *key, char *last_key, uint32_t number)
{
    if (number % 4 == 0)
        memcpy(last_key, key, 128);
    memcpy(key, last_key, 128);
    return number % 4 < 2 ? INT64_MAX / 3 * 2 : INT64_MIN / 3 * 2;
}

static void draw_text(enum kind kind, bool has_large_values)
{
    char last_key[128];
    const uint32_t count = draw(LINES_MAX), style = draw(4);
    uint32_t large = 0;
    text_size = 0;
    for (uint32_t i = 0; i < count; i++) {
        char *key = text + text_size;
        memset(key, 1, 128);
        draw_key(key, style);
        int64_t value = (int64_t)draw(1000) - (draw(4) ? 0 : 500);
        if (has_large_values && draw(10) == 0)
            value = draw_large(key, last_key, large++);
        else if (kind == COUNT || (kind == SUM && draw(2)))
            value = 1;
        text_size = (size_t)((char *)memchr(key, ' ', 128) - text) + 1;
        text_size = (size_t)(number_write_int(text + text_size, value) - text);
        text[text_size++] = '\n';
    }
    if (text_size && draw(4) == 0)
        text_size--;  // a last line without an end
}

void prop_draw(struct prop *prop, uint64_t seed)
{
    draw_begin(seed);
    *prop = (struct prop){.seed = seed, .kind = (enum kind)draw(KINDS)};
    const bool is_number = prop->kind == SUM || prop->kind == MIN || prop->kind == MAX;
    draw_text(prop->kind, draw(6) == 0 && is_number);
    prop->text = (weft_bytes){text, text_size};
    prop->job = job_of_kind(prop->kind);
    if (draw(5) == 0)
        prop->job.compare = backwards;
    if (draw(5) == 0)
        prop->job.partition = by_size;
    prop->is_line = prop->job.map == map_line;
    prop->part_count = 1 + draw(4);
}

// ---- the sequential twin

struct line {
    weft_bytes whole, key;
    int64_t value;
    size_t number;
};

static struct line lines[WORDS_MAX];
static const struct prop *current;

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    if (current->job.partition) {
        const uint32_t part_a = current->job.partition(a->key, current->part_count);
        const uint32_t part_b = current->job.partition(b->key, current->part_count);
        if (part_a != part_b)
            return part_a < part_b ? -1 : 1;
    }
    const int order =
        current->job.compare ? current->job.compare(a->key, b->key) : bytes_compare(a->key, b->key);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

static int compare_values(const void *left, const void *right)
{
    return bytes_compare(*(const weft_bytes *)left, *(const weft_bytes *)right);
}

static weft_bytes value_text(const struct line *line)
{
    return (weft_bytes){line->whole.data + line->key.size + 1,
                        line->whole.size - line->key.size - 1};
}

static void write_joined(struct buf *out, const struct line *group, size_t count, bool is_distinct)
{
    static weft_bytes values[WORDS_MAX];
    for (size_t i = 0; i < count; i++)
        values[i] = value_text(&group[i]);
    if (is_distinct)
        qsort(values, count, sizeof *values, compare_values);
    for (size_t i = 0; i < count; i++) {
        if (is_distinct && i && bytes_equal(values[i], values[i - 1]))
            continue;
        buf_append(out, "\t", 1);
        buf_append(out, values[i].data, values[i].size);
    }
}

// False: the sum does not fit 64 bits, so the job has to fail.
static bool write_number(struct buf *out, enum kind kind, const struct line *group, size_t count)
{
    __int128 total = group[0].value;
    for (size_t i = 1; i < count; i++) {
        const int64_t value = group[i].value;
        if (kind == SUM || kind == OWN || kind == MEAN || kind == WORDS)
            total += value;
        else if (kind == MIN ? value < total : value > total)
            total = value;
    }
    char number[NUMBER_TEXT_MAX], *end = number;
    if (kind == MEAN)  // small whole numbers: the division by 8 is exact
        end = number_write_double(number, (double)total / 8 / (double)count);
    else if (total > INT64_MAX || total < INT64_MIN)
        return false;
    else
        end = number_write_int(number, kind == COUNT ? (int64_t)count : (int64_t)total);
    buf_append(out, "\t", 1);
    buf_append(out, number, (size_t)(end - number));
    return true;
}

static bool write_group(struct buf *out, enum kind kind, bool is_line, const struct line *group,
                        size_t count)
{
    if (kind == IDENTITY) {
        for (size_t i = 0; i < count; i++) {
            buf_append(out, group[i].key.data, group[i].key.size);
            if (!is_line) {
                buf_append(out, "\t", 1);
                buf_append(out, value_text(&group[i]).data, value_text(&group[i]).size);
            }
            buf_append(out, "\n", 1);
        }
        return true;
    }
    bool fits = true;
    buf_append(out, group[0].key.data, group[0].key.size);
    if (kind == COLLECT || kind == DISTINCT)
        write_joined(out, group, count, kind == DISTINCT);
    else if (kind == FIRST)
        write_joined(out, group, 1, false);
    else
        fits = write_number(out, kind, group, count);
    buf_append(out, "\n", 1);
    return fits;
}

// Words as lines of their own, by hand: any byte up to space that C calls space is one.
static size_t list_words(weft_bytes rest)
{
    size_t count = 0;
    for (size_t at = 0, begin = 0; at <= rest.size; at++) {
        const bool is_blank =
            at == rest.size || rest.data[at] == ' ' || (rest.data[at] >= 9 && rest.data[at] <= 13);
        if (!is_blank)
            continue;
        if (at > begin) {
            const weft_bytes word = {rest.data + begin, at - begin};
            lines[count++] = (struct line){.whole = word, .key = word, .value = 1};
        }
        begin = at + 1;
    }
    return count;
}

static size_t list_lines(const struct prop *prop)
{
    size_t count = 0;
    for (weft_bytes rest = prop->text, line; weft_next_line(&rest, &line); count++) {
        lines[count] = (struct line){.whole = line, .number = count};
        split_line(line, &lines[count].key, &lines[count].value);
        if (prop->is_line)
            lines[count].key = line;
    }
    return count;
}

bool prop_twin(const struct prop *prop, struct buf *out)
{
    current = prop;
    const size_t count = prop->kind == WORDS ? list_words(prop->text) : list_lines(prop);
    qsort(lines, count, sizeof *lines, compare_lines);
    bool fits = true;
    for (size_t begin = 0; begin < count;) {
        size_t end = begin + 1;
        while (end < count && bytes_equal(lines[end].key, lines[begin].key))
            end++;
        fits = write_group(out, prop->kind, prop->is_line, lines + begin, end - begin) && fits;
        begin = end;
    }
    return fits;
}

// ---- a second stage

static void map_again(weft_task *task, weft_bytes value)
{
    weft_emit(task, weft_input_key(task), value);
}

const weft_job prop_second_job = {.name = "again", .map = map_again, .reduce = weft_identity};

static int compare_second(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    const int order = bytes_compare(a->key, b->key);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

// Keys hold no TAB. A pair without a value has an empty one in the second stage.
void prop_second_twin(const struct buf *first, struct buf *out)
{
    size_t count = 0;
    for (weft_bytes rest = buf_bytes(first), line; weft_next_line(&rest, &line); count++) {
        const char *tab = line.size ? memchr(line.data, '\t', line.size) : NULL;
        lines[count] = (struct line){.whole = line, .key = line, .number = count};
        if (tab)
            lines[count].key.size = (size_t)(tab - line.data);
    }
    qsort(lines, count, sizeof *lines, compare_second);
    for (size_t i = 0; i < count; i++) {
        buf_append(out, lines[i].whole.data, lines[i].whole.size);
        if (lines[i].key.size == lines[i].whole.size)
            buf_append(out, "\t", 1);
        buf_append(out, "\n", 1);
    }
}
