// Splitting a command line. One walk over its bytes knows which of them are quoted; splitting and
// the search for shell syntax both use it.

#include "code/command/words.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"

enum quote { QUOTE_NONE, QUOTE_SINGLE, QUOTE_DOUBLE };

struct walk {
    const char *at;
    enum quote quote;
    // of the byte that was taken
    char byte;
    bool is_quoted;
};

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n';
}

enum step { STEP_END, STEP_BYTE, STEP_QUOTE };

// Takes the next byte. STEP_QUOTE: a quote began or ended, so that there is a word, be it empty.
static enum step walk_next(struct walk *walk)
{
    const char byte = *walk->at;
    if (byte == 0)
        return STEP_END;
    walk->at++;
    walk->is_quoted = walk->quote != QUOTE_NONE;
    walk->byte = byte;
    const enum quote kind = byte == '\'' ? QUOTE_SINGLE : byte == '"' ? QUOTE_DOUBLE : QUOTE_NONE;
    if (kind != QUOTE_NONE && (walk->quote == QUOTE_NONE || walk->quote == kind)) {
        walk->quote = walk->quote == kind ? QUOTE_NONE : kind;
        return STEP_QUOTE;
    }
    const bool may_escape =
        walk->quote == QUOTE_NONE ||
        (walk->quote == QUOTE_DOUBLE && *walk->at && strchr("$`\"\\\n", *walk->at));
    if (byte == '\\' && may_escape && *walk->at) {
        walk->is_quoted = true;
        walk->byte = *walk->at++;
        if (walk->byte == '\n')
            return STEP_QUOTE;  // the line continues
    }
    return STEP_BYTE;
}

// ---- Words ------------------------------------------------------------------------------------------

static bool is_operator(const char *word)
{
    static const char *const operators[] = {"|",  "||",   "|&",  "&",   "&&",   ";",  ";;", ">",
                                            ">>", "<",    "<<",  "2>",  "2>>",  "1>", "&>", "(",
                                            ")",  "2>&1", "<<<", ">&2", "1>&2", NULL};
    for (const char *const *sign = operators; *sign; sign++)
        if (strcmp(word, *sign) == 0)
            return true;
    return strncmp(word, "$(", 2) == 0 || strncmp(word, "<(", 2) == 0;
}

struct splitting {
    VEC(const char *) words;
    char *to;              // where the next byte goes
    const char *word;      // begun and not ended; NULL: none
    bool has_quote;        // some of the word was quoted
    const char *operator;  // the first word that only a shell understands
    bool has_memory;
};

static void end_word(struct splitting *splitting)
{
    if (!splitting->word)
        return;
    *splitting->to++ = 0;
    splitting->has_memory &= VEC_PUSH(&splitting->words, splitting->word);
    if (!splitting->has_quote && !splitting->operator&& is_operator(splitting->word))
        splitting->operator= splitting->word;
    splitting->word = NULL;
    splitting->has_quote = false;
}

static bool split(struct splitting *splitting, const char *line)
{
    struct walk walk = {.at = line};
    for (enum step step; (step = walk_next(&walk)) != STEP_END;) {
        if (step == STEP_BYTE && !walk.is_quoted && is_blank(walk.byte)) {
            end_word(splitting);
            continue;
        }
        if (step == STEP_QUOTE && walk.byte == '\n')
            continue;
        if (!splitting->word)
            splitting->word = splitting->to;
        splitting->has_quote |= walk.is_quoted || step == STEP_QUOTE;
        if (step == STEP_BYTE)
            *splitting->to++ = walk.byte;
    }
    end_word(splitting);
    return walk.quote == QUOTE_NONE;
}

static weft_err finish(struct splitting *splitting, struct command_words *words)
{
    splitting->has_memory = splitting->has_memory && VEC_NEXT(&splitting->words);
    if (splitting->has_memory)
        splitting->words.items[splitting->words.count] = NULL;
    words->words = splitting->words.items;
    words->count = splitting->words.count;
    if (!splitting->has_memory)
        return err_no_memory("for a command line");
    if (words->count == 0)
        return err_set(WEFT_INVALID_ARGUMENT, "the command is empty");
    return WEFT_OK;
}

weft_err command_words_init(struct command_words *words, const char *line)
{
    *words = (struct command_words){.room = malloc(strlen(line) + 1)};
    struct splitting splitting = {.to = words->room, .has_memory = words->room != NULL};
    const bool is_closed = !words->room || split(&splitting, line);
    const weft_err code = finish(&splitting, words);
    if (!code && !is_closed)
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "the command %s has a quote that does not end\n  try: close it, or \\ in front of it",
            line);
    if (!code && splitting.operator)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the command %s has %s, which only a shell understands\n  try: --shell, or "
                       "quotes around it to pass it to the command",
                       line, splitting.operator);
    return code;
}

weft_err command_words_init_hadoop(struct command_words *words, const char *line)
{
    *words = (struct command_words){.room = malloc(strlen(line) + 1)};
    struct splitting splitting = {.to = words->room, .has_memory = words->room != NULL};
    char quote = 0;
    for (; words->room && *line; line++) {
        const bool is_quote = *line == '\'' || *line == '"';
        if (is_quote && (!quote || quote == *line)) {
            quote = quote ? 0 : *line;
            end_word(&splitting);
        } else if (*line == ' ' && !quote) {
            end_word(&splitting);
        } else {
            if (!splitting.word)
                splitting.word = splitting.to;
            *splitting.to++ = *line;
        }
    }
    if (words->room)
        end_word(&splitting);
    return finish(&splitting, words);
}

void command_words_fini(struct command_words *words)
{
    free(words->words);
    free(words->room);
    *words = (struct command_words){0};
}

// ---- What a shell would expand --------------------------------------------------------------------------

static bool begins_expansion(const struct walk *walk)
{
    const char next = *walk->at;
    const bool is_name =
        (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') || next == '_';
    switch (walk->byte) {
    case '$':
        return is_name || next == '(' || next == '{';
    case '`':
    case '*':
    case '?':
    case '|':
    case '>':
    case '<':
    case ';':
    case '&':
        return true;
    default:
        return false;
    }
}

void command_words_find_expansion(const char *line, char *found, size_t found_size)
{
    struct walk walk = {.at = line};
    found[0] = 0;
    for (enum step step; (step = walk_next(&walk)) != STEP_END;) {
        if (step != STEP_BYTE || walk.is_quoted || !begins_expansion(&walk))
            continue;
        const char *from = walk.at - 1;
        const size_t length = walk.byte == '$' || walk.byte == '`' ? strcspn(from, " \t\n'\"") : 1;
        snprintf(found, found_size, "%.*s", (int)length, from);
        return;
    }
}
