// weft help [VERB | JOB] [--all], weft help cluster VERB, weft help queue VERB

#include "cli/cli.h"

#include "cli/tool_group.h"

int cmd_help(char *const *words, size_t count)
{
    struct buf text = {0};
    weft_err err = WEFT_OK;
    bool has_all = false;
    const char *topic = NULL, *second = NULL;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], "--all") == 0)
            has_all = true;
        else if (strcmp(words[i], "-h") == 0 || strcmp(words[i], "--help") == 0)
            topic = "help";
        else if (!topic)
            topic = words[i];
        else if (!second)
            second = words[i];
    }
    if (has_all) {
        buf_append_text(&text, "Verbs:\n");
        help_format_verbs(&text, true);
    } else if (topic && second && strcmp(topic, "cluster") == 0) {
        err = help_format_cluster_topic(&text, second);
    } else if (topic && second && tool_group_format_topic(&text, topic, second, &err)) {
        // The verb was found, or err has the message.
    } else if (topic) {
        err = help_format_topic(&text, topic);
    } else {
        help_format_overview(&text);
    }
    if (!err)
        return cli_print(&text);
    buf_fini(&text);
    return cli_fail(err, false);
}

int cli_help_in_group(const char *group, char *const *words, size_t count)
{
    char *const topic[] = {(char *)group, count ? words[0] : NULL};
    return cmd_help(topic, count ? 2 : 1);
}
