// Tests of sort keys: the bytes of two keys must order as GNU sort's rules, written down here once more as
// a comparison of lines, order the lines.

#include "mapreduce/order/sort_key.h"

#include "base/args.h"
#include "base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { LINE_MAX_BYTES = 40, LINES_MAX = 24 };

static uint64_t seed = 5;

static uint64_t next_random(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// The order of options given as "n", "k2,2nr", "t,".
static weft_err order_of(struct sort_order *order, const char *const *options)
{
    struct weft_args args = {0};
    weft_err err = WEFT_OK;
    for (; *options && !err; options++)
        err = args_add_option(&args, (*options)[0], *options + 1);
    if (!err)
        err = sort_order_init(order, &args);
    args_fini(&args);
    return err;
}

#define ORDER_OF(order, ...) order_of(order, (const char *const[]){__VA_ARGS__, NULL})

// ---- The comparison that the keys must agree with ---------------------------------------------------

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

// The place of field `field` and character `character` in the line, counted from 0, by going through it.
static size_t place(const struct sort_order *order, weft_bytes line, size_t field,
                    bool skips_blanks, size_t character)
{
    size_t at = 0;
    for (; field > 0 && at < line.size; field--) {
        if (order->has_separator) {
            while (at < line.size && line.data[at] != order->separator)
                at++;
            if (at < line.size)
                at++;
        } else {
            while (at < line.size && is_blank(line.data[at]))
                at++;
            while (at < line.size && !is_blank(line.data[at]))
                at++;
        }
    }
    while (skips_blanks && at < line.size && is_blank(line.data[at]))
        at++;
    return character < line.size - at ? at + character : line.size;
}

static weft_bytes field_text(const struct sort_order *order, const struct sort_key *key,
                             weft_bytes line)
{
    const size_t from =
        place(order, line, key->start_field, key->skips_start_blanks, key->start_char);
    size_t until = line.size;
    if (key->end_field != SORT_TO_END && key->end_char > 0) {
        until = place(order, line, key->end_field, key->skips_end_blanks, key->end_char);
    } else if (key->end_field != SORT_TO_END) {
        until = place(order, line, key->end_field, false, 0);
        if (!order->has_separator)
            while (until < line.size && is_blank(line.data[until]))
                until++;
        while (until < line.size && (order->has_separator ? line.data[until] != order->separator
                                                          : !is_blank(line.data[until])))
            until++;
    }
    return (weft_bytes){line.data + from, until > from ? until - from : 0};
}

// A decimal number of up to 30 digits on each side of the point, as an integer of 10^-30.
struct wide {
    int sign;
    char digits[61];
};

static struct wide wide_of(weft_bytes text)
{
    struct wide wide = {.sign = 1};
    memset(wide.digits, '0', 60);
    size_t at = 0;
    while (at < text.size && is_blank(text.data[at]))
        at++;
    if (at < text.size && text.data[at] == '-') {
        wide.sign = -1;
        at++;
    }
    size_t end = at;
    while (end < text.size && text.data[end] >= '0' && text.data[end] <= '9')
        end++;
    assert_true(end - at <= 30);
    memcpy(wide.digits + 30 - (end - at), text.data + at, end - at);
    if (end < text.size && text.data[end] == '.')
        for (size_t i = 30; ++end < text.size && text.data[end] >= '0' && text.data[end] <= '9';
             i++)
            wide.digits[i] = text.data[end];
    if (strspn(wide.digits, "0") == 60)
        wide.sign = 0;
    return wide;
}

static int compare_numbers(weft_bytes a, weft_bytes b)
{
    const struct wide x = wide_of(a), y = wide_of(b);
    if (x.sign != y.sign)
        return x.sign - y.sign;
    return x.sign * strcmp(x.digits, y.digits);
}

static int compare_folded(weft_bytes a, weft_bytes b)
{
    for (size_t i = 0; i < a.size && i < b.size; i++) {
        int x = (unsigned char)a.data[i], y = (unsigned char)b.data[i];
        x = x >= 'a' && x <= 'z' ? x - 32 : x;
        y = y >= 'a' && y <= 'z' ? y - 32 : y;
        if (x != y)
            return x - y;
    }
    return (a.size > b.size) - (a.size < b.size);
}

static int compare_lines(const struct sort_order *order, weft_bytes a, weft_bytes b)
{
    for (size_t i = 0; i < order->key_count; i++) {
        const struct sort_key *key = &order->keys[i];
        const weft_bytes x = field_text(order, key, a), y = field_text(order, key, b);
        const int result = key->kind == SORT_NUMBER ? compare_numbers(x, y)
                           : key->folds_case        ? compare_folded(x, y)
                                                    : bytes_compare(x, y);
        if (result)
            return key->is_reversed ? -result : result;
    }
    if (order->key_count > 0 && (order->is_unique || order->is_stable))
        return 0;
    return order->is_reversed ? bytes_compare(b, a) : bytes_compare(a, b);
}

// ---- Tests ------------------------------------------------------------------------------------------

static weft_bytes random_line(char *room)
{
    static const char *const numbers[] = {"0",  "-0",     "007", "-7",
                                          ".5", "-.50",   "1.5", "10",
                                          "9",  "1.4999", "-10", "12345678901234567890"};
    size_t size = 0;
    while (size < LINE_MAX_BYTES - 22 && next_random() % 8) {
        if (next_random() % 3 == 0)
            size += (size_t)sprintf(room + size, "%s", numbers[next_random() % 12]);
        else
            room[size++] = "aAbB \t,,\0\1\xff-.zZ19"[next_random() % 17];
    }
    return (weft_bytes){room, size};
}

static void random_place(char *text, size_t *at)
{
    *at += (size_t)sprintf(text + *at, "%d", 1 + (int)(next_random() % 4));
    if (next_random() % 3 == 0)
        *at += (size_t)sprintf(text + *at, ".%d", 1 + (int)(next_random() % 3));
    while (next_random() % 3 == 0)
        text[(*at)++] = "bfnr"[next_random() % 4];
    text[*at] = 0;
}

static void random_order(struct sort_order *order)
{
    char keys[3][64];
    const char *options[12];
    size_t count = 0;
    for (size_t key = next_random() % 4; key-- > 0;) {
        size_t at = (size_t)sprintf(keys[key], "k");
        random_place(keys[key], &at);
        if (next_random() % 2) {
            keys[key][at++] = ',';
            random_place(keys[key], &at);
        }
        options[count++] = keys[key];
    }
    for (const char *letter = "bfnrus"; *letter; letter++)
        if (next_random() % 5 == 0)
            options[count++] = letter;  // the letters after it are its value, which is not read
    if (next_random() % 2)
        options[count++] = "t,";
    options[count] = NULL;
    assert_int_equal(order_of(order, options), WEFT_OK);
}

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

static void keys_order_as_the_lines_do(void **unused)
{
    (void)unused;
    static char rooms[LINES_MAX][LINE_MAX_BYTES];
    for (int round = 0; round < 3000; round++) {
        struct sort_order order;
        random_order(&order);
        weft_bytes lines[LINES_MAX];
        struct buf keys[LINES_MAX] = {{0}}, room = {0};
        size_t offset;
        for (int i = 0; i < LINES_MAX; i++) {
            lines[i] = random_line(rooms[i]);
            sort_order_encode(&order, lines[i], &keys[i], &offset);
            if (sort_order_has_last_resort(&order))
                assert_true(bytes_equal(
                    sort_order_decode(&order, buf_bytes(&keys[i]), offset, &room), lines[i]));
            for (int j = 0; j <= i; j++) {
                const int by_keys = bytes_compare(buf_bytes(&keys[i]), buf_bytes(&keys[j]));
                assert_int_equal(sign(by_keys), sign(compare_lines(&order, lines[i], lines[j])));
            }
        }
        for (int i = 0; i < LINES_MAX; i++)
            buf_fini(&keys[i]);
        buf_fini(&room);
        sort_order_fini(&order);
    }
}

// Lines given in order, for one order of theirs.
static void assert_ascending(const struct sort_order *order, const weft_bytes *lines, size_t count)
{
    struct buf before = {0}, key = {0};
    size_t offset;
    for (size_t i = 0; i < count; i++) {
        sort_order_encode(order, lines[i], &key, &offset);
        if (i > 0)
            assert_true(bytes_compare(buf_bytes(&before), buf_bytes(&key)) < 0);
        before.size = 0;
        buf_append(&before, key.data, key.size);
    }
    buf_fini(&before);
    buf_fini(&key);
}

static void numbers_have_any_number_of_digits(void **unused)
{
    (void)unused;
    char digits[400];
    memset(digits, '9', sizeof digits);
    const weft_bytes lines[] = {
        weft_text("-10"),  weft_text("-9.5"),  weft_text("-9.49"), weft_text("-0.001"),
        weft_text("zero"), weft_text("0.001"), weft_text(".01"),   weft_text(" 3e5"),
        {digits, 125},     {digits, 126},      {digits, 127},      {digits, 255},
        {digits, 256},     {digits, 400},
    };
    struct sort_order order;
    assert_int_equal(ORDER_OF(&order, "n"), WEFT_OK);
    assert_ascending(&order, lines, sizeof lines / sizeof *lines);
    sort_order_fini(&order);
}

static void reversed_text_puts_the_longer_line_first(void **unused)
{
    (void)unused;
    const weft_bytes lines[] = {{"b", 1},   {"a\xff", 2}, {"a\1", 2}, {"a\0\xff", 3}, {"a\0\0", 3},
                                {"a\0", 2}, {"a", 1},     {"\0", 1},  {"", 0}};
    struct sort_order order;
    assert_int_equal(ORDER_OF(&order, "r"), WEFT_OK);
    assert_ascending(&order, lines, sizeof lines / sizeof *lines);
    sort_order_fini(&order);
}

static void keys_without_letters_take_the_common_ones(void **unused)
{
    (void)unused;
    struct sort_order order;
    assert_int_equal(ORDER_OF(&order, "k2", "k3b", "k4r", "n", "r"), WEFT_OK);
    assert_true(order.keys[0].kind == SORT_NUMBER && order.keys[0].is_reversed);
    assert_true(order.keys[1].kind != SORT_NUMBER && !order.keys[1].is_reversed);
    assert_true(order.keys[2].kind != SORT_NUMBER && order.keys[2].is_reversed);
    assert_true(order.is_reversed);
    sort_order_fini(&order);
}

static void a_b_counts_for_the_side_it_stands_on(void **unused)
{
    (void)unused;
    struct sort_order order;
    assert_int_equal(ORDER_OF(&order, "k2b,3", "k2,3.1b", "k2n,3r"), WEFT_OK);
    assert_true(order.keys[0].skips_start_blanks && !order.keys[0].skips_end_blanks);
    assert_true(!order.keys[1].skips_start_blanks && order.keys[1].skips_end_blanks);
    assert_true(order.keys[2].kind == SORT_NUMBER && order.keys[2].is_reversed);
    sort_order_fini(&order);
}

static void wrong_keys_and_separators_are_refused_by_name(void **unused)
{
    (void)unused;
    const char *const wrong[] = {"k",     "k0",   "kx",    "k1.",   "k1.0", "k1,",
                                 "k1,0",  "k1,x", "k1,2.", "k1,2x", "k-1",  "k1R",
                                 "k1,1z", "k1 ",  "t",     "tab",   "t\\n"};
    struct sort_order order;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(ORDER_OF(&order, wrong[i]), WEFT_INVALID_ARGUMENT);
        char named[16];
        snprintf(named, sizeof named, wrong[i][0] == 't' ? "-t '%s'" : "-k %s:", wrong[i] + 1);
        assert_non_null(strstr(err_text(), named));
    }
    assert_int_equal(ORDER_OF(&order, "t,", "t:"), WEFT_INVALID_ARGUMENT);
    assert_int_equal(ORDER_OF(&order, "t,", "t,"), WEFT_OK);
    sort_order_fini(&order);
    assert_int_equal(ORDER_OF(&order, "t\\0", "k1,2.0"), WEFT_OK);
    assert_true(order.has_separator && order.separator == 0);
    sort_order_fini(&order);
    assert_int_equal(
        ORDER_OF(&order, "k99999999999999999999,99999999999999999999.99999999999999999999"),
        WEFT_OK);
    sort_order_fini(&order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_order_as_the_lines_do),
        cmocka_unit_test(numbers_have_any_number_of_digits),
        cmocka_unit_test(reversed_text_puts_the_longer_line_first),
        cmocka_unit_test(keys_without_letters_take_the_common_ones),
        cmocka_unit_test(a_b_counts_for_the_side_it_stands_on),
        cmocka_unit_test(wrong_keys_and_separators_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
