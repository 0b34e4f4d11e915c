// Tests of numbers, months and versions as bytes: lists in ascending order, as GNU sort 9.1 has
// them. Values on one line of a list are equal. test/oracle/gnu_cases.py compares with GNU sort
// itself.

#include "mapreduce/order/sort_value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"

// A word of a list, and whether it begins a line.
static bool next_word(const char **at, weft_bytes *word, bool *is_new)
{
    *is_new = **at == '\n';
    *at += **at != 0;
    word->data = *at;
    word->size = strcspn(*at, "|\n");
    *at += word->size;
    return **at || word->size;
}

// Words are separated by | and lines by line ends; the list begins with one.
static void assert_order(enum sort_kind kind, bool folds_case, const char *list)
{
    struct buf before = {0}, key = {0};
    bool is_new;
    weft_bytes word;
    for (bool is_first = true; next_word(&list, &word, &is_new); is_first = false) {
        key.size = 0;
        sort_encode_value(&key, word, kind, folds_case);
        assert_false(key.has_failed);
        const int result = is_first ? -1 : bytes_compare(buf_bytes(&before), buf_bytes(&key));
        if (is_new ? result >= 0 : result != 0)
            fail_msg("'%.*s' is not where it belongs", (int)word.size, word.data);
        before.size = 0;
        buf_append(&before, key.data, key.size);
    }
    buf_fini(&before);
    buf_fini(&key);
}

static void general_numbers(void **state)
{
    (void)state;
    assert_order(
        SORT_GENERAL, false,
        "\nx||-|+|.|e5\n+nan\n-nan\n-inf|-infinity\n-1e4000\n-1e400\n-2\n-0x1|-1\n-1e-4940\n"
        "0|-0|+0|0x|.0x|0e9\n1e-4940\n1e-4000\n.5\n1|1.|1x|0x1p0| 1\n1.0000000000000000001\n"
        "0x1F|31|3.1e1\n1e400\n1e4932\ninf|INFINITY");
}

static void human_numbers(void **state)
{
    (void)state;
    assert_order(
        SORT_HUMAN, false,
        "\n-1Y\n-2K|-2k\n-1K\n-5000\n-1\n0|x|0G|-0K|.|\n1|1m|1x\n9999\n1K|1k\n2K\n1M\n1G\n1T\n"
        "1P\n1E\n1Z\n1Y");
    assert_order(SORT_HUMAN, true, "\n1x\n1m|1M\n1e|1E400");
}

static void months(void **state)
{
    (void)state;
    assert_order(
        SORT_MONTH, false,
        "\n|ja|x|JA\njan|JANUARY| Jan\nfeb\nmar\napr\nmay\njun\njul\naug\nsep\noct\nnov\ndec");
}

static void versions(void **state)
{
    (void)state;
    assert_order(SORT_VERSION, false,
                 "\n\n.\n..\n.A\n.a~\n.a\n.b0\n.0\n.9\n~\n0~|00~\n0|00\n1\n9\n10\nA\na~\na0~\n"
                 "a|a0\na0b\na1\na9.c\na10.b1\na10.c\na+\na-");
    assert_order(SORT_VERSION, false, "\na.b|a.b0\na.tar\na.tar.gz");
    assert_order(SORT_VERSION, true, "\na|A\nb1\nB2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(general_numbers),
        cmocka_unit_test(human_numbers),
        cmocka_unit_test(months),
        cmocka_unit_test(versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
