// Reading the options of `sort` into an order, by GNU sort's rules.

#include "mapreduce/order/sort_key.h"

#include <stdio.h>
#include <stdlib.h>

enum blanks_of { BLANKS_OF_START = 1, BLANKS_OF_END = 2 };

static weft_err refuse_key(const char *text, const char *why)
{
    return err_set(
        WEFT_INVALID_ARGUMENT,
        "sort -k %s: %s; a key is FIELD[.CHARACTER][LETTERS][,FIELD[.CHARACTER][LETTERS]], "
        "letters are of bdfghiMnrV",
        text, why);
}

// A count of at least one digit; one too large is as good as the largest. NULL: there is none.
static const char *read_count(const char *at, size_t *count)
{
    if (*at < '0' || *at > '9')
        return NULL;
    for (*count = 0; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*count, 10, count) ||
            __builtin_add_overflow(*count, (size_t)(*at - '0'), count))
            *count = SIZE_MAX - 9;
    return at;
}

// Which kind of comparison a letter asks for; SORT_TEXT: none.
static enum sort_kind kind_of(char letter)
{
    static const char letters[] = {
        [SORT_NUMBER] = 'n', [SORT_GENERAL] = 'g', [SORT_HUMAN] = 'h',
        [SORT_MONTH] = 'M',  [SORT_VERSION] = 'V',
    };
    for (int kind = SORT_TEXT + 1; letter && kind < (int)sizeof letters; kind++)
        if (letters[kind] == letter)
            return (enum sort_kind)kind;
    return SORT_TEXT;
}

static bool read_letter(char letter, enum blanks_of blanks, struct sort_key *key)
{
    switch (letter) {
    case 'b':
        key->skips_start_blanks |= (blanks & BLANKS_OF_START) != 0;
        key->skips_end_blanks |= (blanks & BLANKS_OF_END) != 0;
        return true;
    case 'd':
        key->ignored = SORT_IGNORES_PUNCTUATION;
        return true;
    case 'i':
        if (!key->ignored)
            key->ignored = SORT_IGNORES_UNPRINTED;
        return true;
    case 'f':
        return key->folds_case = true;
    case 'r':
        return key->is_reversed = true;
    default:
        break;
    }
    const enum sort_kind kind = kind_of(letter);
    key->has_conflict |= kind && key->kind && key->kind != kind;
    key->kind = kind ? kind : key->kind;
    return kind != SORT_TEXT;
}

static const char *read_letters(const char *at, enum blanks_of blanks, struct sort_key *key)
{
    while (read_letter(*at, blanks, key))
        at++;
    return at;
}

// FIELD[.CHARACTER][letters]; the character of an end may be 0, that of a start may not.
static weft_err read_place(const char *text, const char **at, enum blanks_of blanks,
                           struct sort_key *key)
{
    const bool is_start = blanks == BLANKS_OF_START;
    size_t field, character = 0;
    if (!(*at = read_count(*at, &field)))
        return refuse_key(text, "a field is a number");
    if (field == 0)
        return refuse_key(text, "fields are counted from 1");
    if (**at == '.') {
        if (!(*at = read_count(*at + 1, &character)))
            return refuse_key(text, "after the point a number is expected");
        if (is_start && character-- == 0)
            return refuse_key(text, "characters are counted from 1");
    }
    *(is_start ? &key->start_field : &key->end_field) = field - 1;
    *(is_start ? &key->start_char : &key->end_char) = character;
    *at = read_letters(*at, blanks, key);
    return WEFT_OK;
}

static weft_err read_key(const char *text, struct sort_key *key)
{
    *key = (struct sort_key){.end_field = SORT_TO_END};
    const char *at = text;
    weft_err err = read_place(text, &at, BLANKS_OF_START, key);
    if (!err && *at == ',') {
        at++;
        err = read_place(text, &at, BLANKS_OF_END, key);
    }
    if (err || *at == 0)
        return err;
    char why[64];
    snprintf(why, sizeof why,
             *at == 'R' ? "the letter %c is not supported" : "'%c' has no meaning here", *at);
    return refuse_key(text, why);
}

static weft_err read_separators(struct sort_order *order, const weft_args *args)
{
    for (int i = 0; weft_option(args, 't', i); i++) {
        const char *text = weft_option(args, 't', i);
        char separator = text[0];
        if (strcmp(text, "\\0") == 0)
            separator = 0;
        else if (strcmp(text, "\\t") == 0)
            separator = '\t';
        else if (strlen(text) != 1)
            return err_set(
                WEFT_INVALID_ARGUMENT,
                "sort -t '%s': the separator of fields is one byte; \\t and \\0 stand for "
                "TAB and NUL",
                text);
        if (order->has_separator && order->separator != separator)
            return err_set(WEFT_INVALID_ARGUMENT,
                           "sort -t: only one separator can be given\n  try: one -t");
        order->has_separator = true;
        order->separator = separator;
    }
    return WEFT_OK;
}

static bool has_order(const struct sort_key *key)
{
    return key->skips_start_blanks || key->skips_end_blanks || key->kind || key->ignored ||
           key->folds_case;
}

// The options outside of -k: a key without letters of its own takes all of them.
static struct sort_key read_common(const weft_args *args)
{
    struct sort_key common = {.end_field = SORT_TO_END};
    for (const char *letter = "bdfghiMnrV"; *letter; letter++)
        if (weft_option(args, *letter, 0))
            read_letter(*letter, BLANKS_OF_START | BLANKS_OF_END, &common);
    return common;
}

static void inherit(struct sort_key *key, const struct sort_key *common)
{
    if (has_order(key) || key->is_reversed)
        return;
    key->skips_start_blanks = common->skips_start_blanks;
    key->skips_end_blanks = common->skips_end_blanks;
    key->kind = common->kind;
    key->ignored = common->ignored;
    key->has_conflict = common->has_conflict;
    key->folds_case = common->folds_case;
    key->is_reversed = common->is_reversed;
}

// A key is compared in one way; bytes can be left out of texts and versions.
static weft_err check_key(const struct sort_key *key)
{
    const bool leaves_out = key->ignored && key->kind != SORT_TEXT && key->kind != SORT_VERSION;
    if (!key->has_conflict && !leaves_out)
        return WEFT_OK;
    return err_set(
        WEFT_INVALID_ARGUMENT,
        "sort: of -n -g -h -M -V a key can have only one, and -d or -i go with -V alone");
}

weft_err sort_order_init(struct sort_order *order, const weft_args *args)
{
    const struct sort_key common = read_common(args);
    *order = (struct sort_order){
        .is_reversed = common.is_reversed,
        .is_unique = weft_option(args, 'u', 0) != NULL,
        .is_stable = weft_option(args, 's', 0) != NULL,
    };
    size_t count = 0;
    while (weft_option(args, 'k', (int)count))
        count++;
    order->keys = calloc(count + 1, sizeof *order->keys);
    if (!order->keys)
        return err_no_memory("for the keys of sort");
    weft_err err = read_separators(order, args);
    for (size_t i = 0; i < count && !err; i++) {
        err = read_key(weft_option(args, 'k', (int)i), &order->keys[i]);
        inherit(&order->keys[i], &common);
    }
    order->key_count = count;
    // Without -k, letters that say how to compare make the whole line a key.
    if (count == 0 && has_order(&common))
        order->keys[order->key_count++] = common;
    for (size_t i = 0; i < order->key_count && !err; i++)
        err = check_key(&order->keys[i]);
    if (err)
        sort_order_fini(order);
    return err;
}

void sort_order_fini(struct sort_order *order)
{
    free(order->keys);
    *order = (struct sort_order){0};
}
