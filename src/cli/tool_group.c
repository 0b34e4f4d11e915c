// Finds verbs in a table, explains them from it, and runs them.

#include "cli/tool_group.h"

#include <stdlib.h>
#include <strings.h>

enum { VERBS_MAX = 16 };

static const struct tool_group *const groups[] = {&queue_group, &var_group, &kv_group,
                                                  &barrier_group};

static const struct tool_verb *find_verb(const struct tool_group *group, const char *name)
{
    const struct tool_verb *verb = group->verbs;
    while (verb->name && strcmp(verb->name, name) != 0)
        verb++;
    return verb->name ? verb : NULL;
}

static const struct {
    const char *group, *word, *answer;
} foreign_verbs[] = {
#define FOREIGN(group, word, answer) {#group, word, answer},
#include "cli/foreign_verbs.def"
#undef FOREIGN
};

const char *tool_group_translate(const char *group, const char *word)
{
    for (size_t i = 0; i < sizeof foreign_verbs / sizeof *foreign_verbs; i++)
        if (strcmp(foreign_verbs[i].group, group) == 0 &&
            strcasecmp(foreign_verbs[i].word, word) == 0)
            return foreign_verbs[i].answer;
    return NULL;
}

bool tool_group_guess(const char *word, const char **group, const char **verb)
{
    enum { GROUP_COUNT = sizeof groups / sizeof *groups };
    *verb = NULL;
    for (size_t i = 0; i < 2 * GROUP_COUNT && !*verb; i++) {  // first all verbs of our own
        const struct tool_group *one = groups[i % GROUP_COUNT];
        const struct tool_verb *own = find_verb(one, word);
        *group = one->name;
        *verb = i < GROUP_COUNT ? (own ? own->name : NULL) : tool_group_translate(one->name, word);
    }
    return *verb;
}

static weft_err unknown_verb(const struct tool_group *group, const char *name)
{
    const char *answer = tool_group_translate(group->name, name);
    if (answer)
        return err_set(WEFT_INVALID_ARGUMENT, "there is no weft %s %s\n  try: weft %s %s",
                       group->name, name, group->name, answer);
    const char *names[VERBS_MAX + 1] = {0};
    for (size_t i = 0; i < VERBS_MAX && group->verbs[i].name; i++)
        names[i] = group->verbs[i].name;
    const char *guess = args_guess(name, names);
    if (guess)
        return err_set(WEFT_INVALID_ARGUMENT, "there is no weft %s %s\n  did you mean: weft %s %s",
                       group->name, name, group->name, guess);
    return err_set(WEFT_INVALID_ARGUMENT, "there is no weft %s %s\n  try: weft help %s",
                   group->name, name, group->name);
}

void tool_group_format_help(const struct tool_group *group, struct buf *buf)
{
    buf_append_text(buf, group->introduction);
    buf_format(buf, "\nUsage: weft %s VERB ...\n\nVerbs:\n", group->name);
    for (const struct tool_verb *verb = group->verbs; verb->name; verb++)
        buf_format(buf, "  %-9s %s\n", verb->name, verb->summary);
    buf_format(buf, "\n%sweft %s VERB -h explains a verb.\n", group->end, group->name);
}

static void format_verb_help(const struct tool_group *group, const struct tool_verb *verb,
                             struct buf *buf)
{
    if (verb->format_help) {
        verb->format_help(buf);
        return;
    }
    buf_format(buf, "%s\n\n  %s\n\nUsage: weft %s %s [options] %s\n\nOptions:\n", verb->what,
               verb->examples, group->name, verb->name, verb->arguments);
    args_format_help(buf, verb->options, NULL);
    buf_format(buf, "\nExit: %s\n", verb->exits ? verb->exits : group->exits);
}

bool tool_group_format_topic(struct buf *buf, const char *name, const char *verb_name,
                             weft_err *err)
{
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (strcmp(groups[i]->name, name) != 0)
            continue;
        const struct tool_verb *verb = find_verb(groups[i], verb_name);
        if (verb)
            format_verb_help(groups[i], verb, buf);
        else
            *err = unknown_verb(groups[i], verb_name);
        return true;
    }
    return false;
}

// ---- Doing -----------------------------------------------------------------------------------------------------

static weft_err act(const struct tool_group *group, const struct tool_verb *verb,
                    struct tool_request *request, struct buf *out)
{
    struct buf attributes = {0};
    weft_err err = group->prepare ? group->prepare(request, &attributes) : WEFT_OK;
    if (!err && !verb->is_list && request->words.words.count)
        err = tool_words_open(&request->words, group->kind, buf_bytes(&attributes),
                              verb->must_exist, &request->remote);
    if (!err)
        err = verb->act(request, out);
    buf_fini(&attributes);
    return err;
}

static int run_verb(const struct tool_group *group, const struct tool_verb *verb,
                    char *const *words, size_t count)
{
    struct buf usage = {0}, out = {0};
    struct tool_request *request = calloc(1, group->request_bytes);
    if (!request)
        return cli_fail(err_no_memory("for the options"), false);
    request->words = (struct tool_words){.options = verb->options,
                                         .read_option = group->read_option,
                                         .owner = request,
                                         .takes_negatives = group->takes_negatives};
    buf_format(&usage, "weft %s %s %s", group->name, verb->name, verb->arguments);
    weft_err err =
        tool_words_read(&request->words, words, count, verb->fewest, verb->most, buf_text(&usage));
    buf_fini(&usage);
    if (!err && request->words.wants_help)
        format_verb_help(group, verb, &out);
    else if (!err)
        err = act(group, verb, request, &out);
    const int exit_code = tool_words_print(&request->words, &request->remote, err, &out);
    free(request);
    return exit_code;
}

// Options of a verb may stand before it: the verb is the first word that is neither an option nor
// the value of --at or a similar option.
static size_t find_verb_word(char *const *words, size_t count)
{
    static const char *const with_value[] = {"--at", "--token-file", "--wait"};
    size_t at = 0;
    for (; at < count && words[at][0] == '-'; at++)
        for (size_t i = 0; i < sizeof with_value / sizeof *with_value; i++)
            if (strcmp(words[at], with_value[i]) == 0 && at + 1 < count) {
                at++;
                break;
            }
    return at;
}

int tool_group_run(const struct tool_group *group, char *const *words, size_t count)
{
    const size_t at = find_verb_word(words, count);
    if (at == count) {
        struct buf text = {0};
        tool_group_format_help(group, &text);
        return cli_print(&text);
    }
    const struct tool_verb *verb = find_verb(group, words[at]);
    if (!verb && strcmp(words[at], "help") == 0)
        return cli_help_in_group(group->name, words + at + 1, count - at - 1);
    if (!verb)
        return cli_fail(unknown_verb(group, words[at]), false);
    char **rest = calloc(count, sizeof *rest);
    if (!rest)
        return cli_fail(err_no_memory("for the arguments"), false);
    memcpy(rest, words, at * sizeof *rest);
    memcpy(rest + at, words + at + 1, (count - at - 1) * sizeof *rest);
    const int exit_code =
        verb->run ? verb->run(rest, count - 1) : run_verb(group, verb, rest, count - 1);
    free(rest);
    return exit_code;
}
