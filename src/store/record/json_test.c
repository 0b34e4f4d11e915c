// Tests of JSON: values and the strict check against jansson, on documents drawn at random.

#include "store/record/record_testing.h"

#include <jansson.h>
#include <stdio.h>

// ---- documents

static void append_blanks(struct buf *out)
{
    static const char *const blanks[] = {"",  "", "", "", " ", "\t", "\r\n", "                    ",
                                         NULL};
    testing_append_word(out, blanks);
}

static void append_number(struct buf *out)
{
    static const char *const numbers[] = {"0",   "-0",      "7",    "-12",  "123456789012",
                                          "0.5", "-1.25e3", "1E-2", "2e+5", NULL};
    testing_append_word(out, numbers);
}

static void append_string(struct buf *out)
{
    static const char *const parts[] = {"a",
                                        "word ",
                                        "\\n",
                                        "\\\"",
                                        "\\\\",
                                        "\\/",
                                        "\\u00e9",
                                        "\xc3\xa9",
                                        "\\ud83d\\ude00",
                                        "\xf0\x9f\x98\x80",
                                        "{",
                                        "]",
                                        ",",
                                        ":",
                                        "\\b\\f\\r\\t",
                                        "a text of more than sixteen bytes",
                                        "\\u20AC",
                                        "\\u0001",
                                        "\x7f",
                                        NULL};
    buf_append_text(out, "\"");
    for (size_t left = testing_below(6); left; left--)
        testing_append_word(out, parts);
    buf_append_text(out, "\"");
}

static void append_value(struct buf *out, int depth);

static void append_nested(struct buf *out, int depth, bool is_object)
{
    static const char *const names[] = {
        "\"a\"",     "\"b\"",        "\"\"",
        "\"0\"",     "\"a b\"",      "\"\\u0061\\u0062\"",
        "\"q\\\"\"", "\"\xc3\xa9\"", "\"a name of more than sixteen bytes\""};
    size_t count = testing_below(6), name = testing_below(4);
    buf_append_text(out, is_object ? "{" : "[");
    for (size_t i = 0; i < count; i++) {
        append_blanks(out);
        if (is_object) {
            buf_append_text(out, names[name + i]);
            append_blanks(out);
            buf_append_text(out, ":");
            append_blanks(out);
        }
        append_value(out, depth - 1);
        append_blanks(out);
        buf_append_text(out, i + 1 < count ? "," : "");
    }
    append_blanks(out);
    buf_append_text(out, is_object ? "}" : "]");
}

static void append_value(struct buf *out, int depth)
{
    static const char *const words[] = {"true", "false", "null", NULL};
    switch (testing_below(depth > 0 ? 5 : 3)) {
    case 0:
        append_string(out);
        break;
    case 1:
        append_number(out);
        break;
    case 2:
        testing_append_word(out, words);
        break;
    default:
        append_nested(out, depth, testing_below(2));
    }
}

// In memory of exactly its size, so that AddressSanitizer sees one byte too many.
static weft_bytes exact_copy(weft_bytes text)
{
    char *copy = malloc(text.size ? text.size : 1);
    if (text.size)
        memcpy(copy, text.data, text.size);
    return (weft_bytes){copy, text.size};
}

// ---- values

static enum record_json kind_of(const json_t *value)
{
    static const enum record_json kinds[] = {
        [JSON_OBJECT] = RECORD_JSON_OBJECT, [JSON_ARRAY] = RECORD_JSON_ARRAY,
        [JSON_STRING] = RECORD_JSON_STRING, [JSON_INTEGER] = RECORD_JSON_NUMBER,
        [JSON_REAL] = RECORD_JSON_NUMBER,   [JSON_TRUE] = RECORD_JSON_TRUE,
        [JSON_FALSE] = RECORD_JSON_FALSE,   [JSON_NULL] = RECORD_JSON_NULL,
    };
    return kinds[json_typeof(value)];
}

// Whatever stands there must be the same when jansson reads only that.
static void assert_value(weft_bytes text, const char *path, const json_t *expected)
{
    struct buf room = {0};
    weft_bytes value;
    assert_int_equal(record_json_get(text, path, &value, &room), kind_of(expected));
    if (json_is_string(expected)) {
        assert_bytes_equal(value,
                           (weft_bytes){json_string_value(expected), json_string_length(expected)});
    } else {
        json_t *found = json_loadb(value.data, value.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_true(json_equal(found, (json_t *)expected));
        json_decref(found);
    }
    buf_fini(&room);
}

static void assert_missing(weft_bytes text, const char *path, const char *step)
{
    char longer[256];
    struct buf room = {0};
    weft_bytes value;
    snprintf(longer, sizeof longer, "%s%s%s", path, *path ? "." : "", step);
    assert_int_equal(record_json_get(text, longer, &value, &room), RECORD_JSON_MISSING);
    buf_fini(&room);
}

// A value and all values inside it.
static void assert_values(weft_bytes text, const char *path, json_t *expected)
{
    const char *const dot = *path ? "." : "";
    char inner[256], end[24];
    const char *name;
    json_t *value;
    size_t i;
    assert_value(text, path, expected);
    json_object_foreach(expected, name, value)
    {
        if (!*name)
            continue;  // no path leads there
        snprintf(inner, sizeof inner, "%s%s%s", path, dot, name);
        assert_values(text, inner, value);
    }
    json_array_foreach(expected, i, value)
    {
        snprintf(inner, sizeof inner, "%s%s%zu", path, dot, i);
        assert_values(text, inner, value);
    }
    snprintf(end, sizeof end, "%zu", json_array_size(expected));
    assert_missing(text, path, json_is_array(expected) ? end : "nobody");
    assert_missing(text, path, "no such name in here");
}

static void every_value_is_found_by_its_path(void **state)
{
    (void)state;
    struct buf out = {0};
    for (int round = 0; round < 20000; round++) {
        out.size = 0;
        append_blanks(&out);
        append_nested(&out, 3, testing_below(4));
        append_blanks(&out);
        const weft_bytes text = exact_copy(buf_bytes(&out));
        json_t *expected = json_loadb(text.data, text.size, JSON_ALLOW_NUL, NULL);
        assert_non_null(expected);
        weft_bytes value;
        struct buf room = {0};
        if (json_is_object(expected) || json_is_array(expected)) {
            // The outermost value may have blanks around it.
            assert_int_equal(record_json_get(text, "", &value, &room), kind_of(expected));
            assert_values(value, "", expected);
        }
        json_decref(expected);
        free((char *)text.data);
        buf_fini(&room);
    }
    buf_fini(&out);
}

static enum record_json get(const char *text, const char *path)
{
    struct buf room = {0};
    weft_bytes value;
    const weft_bytes copy = exact_copy(weft_text(text));
    const enum record_json kind = record_json_get(copy, path, &value, &room);
    free((char *)copy.data);
    buf_fini(&room);
    return kind;
}

static void broken_texts_are_told_from_missing_values(void **state)
{
    (void)state;
    static const struct {
        const char *text, *path;
        enum record_json kind;
    } cases[] = {
        {"{}", "a", RECORD_JSON_MISSING},
        {"{\"a\":1}", "a.b", RECORD_JSON_MISSING},
        {"[1]", "a", RECORD_JSON_MISSING},
        {"[1,2]", "01", RECORD_JSON_MISSING},
        {"[1,2]", "1", RECORD_JSON_NUMBER},
        {"[1,2]", "99999999999999999999999", RECORD_JSON_MISSING},
        {"{\"a\":1,\"a\":\"\"}", "a", RECORD_JSON_NUMBER},
        {"{\"a\":1 garbage", "a", RECORD_JSON_NUMBER},
        {"", "", RECORD_JSON_BROKEN},
        {"", "a", RECORD_JSON_BROKEN},
        {"{", "a", RECORD_JSON_BROKEN},
        {"{\"a", "a", RECORD_JSON_BROKEN},
        {"{\"a\\", "a", RECORD_JSON_BROKEN},
        {"{\"a\"", "a", RECORD_JSON_BROKEN},
        {"{\"a\":", "a", RECORD_JSON_BROKEN},
        {"{\"b\":", "a", RECORD_JSON_BROKEN},
        {"{\"b\":1", "a", RECORD_JSON_BROKEN},
        {"{\"b\":1,}", "a", RECORD_JSON_BROKEN},
        {"{\"b\":,\"a\":1}", "a", RECORD_JSON_BROKEN},
        {"{\"b\":[}],\"a\":1}", "a", RECORD_JSON_BROKEN},
        {"{\"b\":[1,\"x],\"a\":1}", "a", RECORD_JSON_BROKEN},
        {"{b:1}", "a", RECORD_JSON_BROKEN},
        {"{\"a\":01}", "a", RECORD_JSON_BROKEN},
        {"{\"a\":1.}", "a", RECORD_JSON_BROKEN},
        {"{\"a\":-}", "a", RECORD_JSON_BROKEN},
        {"{\"a\":nul}", "a", RECORD_JSON_BROKEN},
        {"{\"a\":trues}", "a", RECORD_JSON_BROKEN},
        {"{\"a\":\"\\q\"}", "a", RECORD_JSON_BROKEN},
        {"{\"a\":\"\\u12g4\"}", "a", RECORD_JSON_BROKEN},
        {"{\"a\":\"\\u12\"}", "a", RECORD_JSON_BROKEN},
        {"{\"a\":[1,{]}", "a", RECORD_JSON_BROKEN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(get(cases[i].text, cases[i].path), cases[i].kind);
}

static void halves_of_pairs_become_bytes_or_the_mark_of_what_is_no_character(void **state)
{
    (void)state;
    struct buf room = {0};
    weft_bytes value;
    const char text[] =
        "[\"\\udc80\\udcff|\\ud83d|\\ude00|\\ud83d\\udc80|\\udbff\\udfff|\\ud83d\\u0041\"]";
    assert_int_equal(record_json_get(weft_text(text), "0", &value, &room), RECORD_JSON_STRING);
    assert_bytes_equal(
        value,
        weft_text(
            "\x80\xff|\xef\xbf\xbd|\xef\xbf\xbd|\xf0\x9f\x92\x80|\xf4\x8f\xbf\xbf|\xef\xbf\xbd"
            "A"));
    buf_fini(&room);
}

// {"b":[[[...]]],"a":1} and the like.
static void append_deep(struct buf *out, const char *before, int depth, const char *behind)
{
    out->size = 0;
    buf_append_text(out, before);
    for (int i = 0; i < depth; i++)
        buf_append_text(out, i % 3 ? "[" : "{\"d\":");
    buf_append_text(out, "0");
    for (int i = depth - 1; i >= 0; i--)
        buf_append_text(out, i % 3 ? "]" : "}");
    buf_append_text(out, behind);
}

static void nesting_has_a_limit(void **state)
{
    (void)state;
    struct buf out = {0}, room = {0}, path = {0};
    weft_bytes value;
    append_deep(&out, "{\"b\":", 255, ",\"a\":1}");
    assert_int_equal(record_json_get(buf_bytes(&out), "a", &value, &room), RECORD_JSON_NUMBER);
    assert_int_equal(record_json_check(buf_bytes(&out)), SIZE_MAX);
    append_deep(&out, "{\"b\":", 256, ",\"a\":1}");
    assert_int_equal(record_json_get(buf_bytes(&out), "a", &value, &room), RECORD_JSON_BROKEN);
    assert_true(record_json_check(buf_bytes(&out)) < out.size);
    append_deep(&out, "", 300, "");
    assert_int_equal(record_json_get(buf_bytes(&out), "", &value, &room), RECORD_JSON_BROKEN);
    assert_true(record_json_check(buf_bytes(&out)) < out.size);
    for (int i = 0; i < 300; i++)
        buf_append_text(&path, i % 3 ? "0." : "d.");
    assert_int_equal(record_json_get(buf_bytes(&out), buf_text(&path), &value, &room),
                     RECORD_JSON_BROKEN);
    buf_fini(&out);
    buf_fini(&room);
    buf_fini(&path);
}

// ---- the check

// jansson knows only numbers that it can hold, no halves of pairs and no names with zero bytes.
static bool is_beyond_jansson(weft_bytes text)
{
    size_t digits = 0;
    bool is_exponent = false;
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.data[i];
        if (c == '\\' && text.size - i >= 6 && text.data[i + 1] == 'u' &&
            (strchr("dD", text.data[i + 2]) || memcmp(text.data + i + 2, "0000", 4) == 0))
            return true;
        digits = c >= '0' && c <= '9' ? digits + 1 : 0;
        is_exponent = c == 'e' || c == 'E' || (is_exponent && (digits || c == '+' || c == '-'));
        if (digits > (is_exponent ? 2 : 17))
            return true;
    }
    return false;
}

static void change_at_random(struct buf *text)
{
    static const char bytes[] = "{}[],:\"\\u0123eE+-. \n\t\x01\x7f\x80\xc3\xa9\xf0truefalsn";
    for (size_t left = testing_below(4); left && text->size; left--) {
        const size_t at = testing_below(text->size);
        if (testing_below(3) == 0) {
            memmove(text->data + at, text->data + at + 1, text->size - at - 1);
            text->size--;
        } else {
            text->data[at] = bytes[testing_below(sizeof bytes - 1)];
        }
    }
}

static void the_check_agrees_with_jansson(void **state)
{
    (void)state;
    struct buf out = {0};
    size_t valid = 0, invalid = 0;
    for (int round = 0; round < 100000; round++) {
        out.size = 0;
        append_blanks(&out);
        append_value(&out, 3);
        append_blanks(&out);
        if (round % 4)
            change_at_random(&out);
        const weft_bytes text = exact_copy(buf_bytes(&out));
        if (!is_beyond_jansson(text)) {
            json_t *found =
                json_loadb(text.data, text.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
            const size_t wrong = record_json_check(text);
            assert_int_equal(wrong == SIZE_MAX, found != NULL);
            assert_true(wrong == SIZE_MAX || wrong <= text.size);
            *(found ? &valid : &invalid) += 1;
            json_decref(found);
        }
        free((char *)text.data);
    }
    assert_true(valid > 10000 && invalid > 10000);
    buf_fini(&out);
}

static void the_check_tells_where(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t wrong;
    } cases[] = {
        {"{\"a\":1}", SIZE_MAX},
        {" [ ] ", SIZE_MAX},
        {"", 0},
        {"  ", 2},
        {"{\"a\":1}x", 7},
        {"{\"a\" 1}", 5},
        {"{\"a\":1,}", 7},
        {"[1,]", 3},
        {"[1}", 2},
        {"{a:1}", 1},
        {"\"a\nb\"", 2},
        {"\"\\x\"", 1},
        {"\"\xc3(\"", 1},
        {"\"\xed\xa0\x80\"", 1},
        {"[1,02]", 4},
        {"tru", 0},
        {"\"\\ud800\"", SIZE_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(record_json_check(weft_text(cases[i].text)), cases[i].wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_is_found_by_its_path),
        cmocka_unit_test(broken_texts_are_told_from_missing_values),
        cmocka_unit_test(halves_of_pairs_become_bytes_or_the_mark_of_what_is_no_character),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(the_check_agrees_with_jansson),
        cmocka_unit_test(the_check_tells_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
