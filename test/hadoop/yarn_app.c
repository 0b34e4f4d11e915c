// yarn_app: what clients do with applications of YARN. For tests.
//
//   test_yarn_app URL submit COMMAND [NAME=VALUE...]   COMMAND of bash is the master's; prints the id
//     attempts, keep, memory (MB), label, queue, user, lifetime (s), tag, env=NAME=VALUE, file=URL,SIZE,MTIME_MS,NAME (each once)
//   test_yarn_app URL wait|report|kill ID
//   test_yarn_app URL list | nodes | queue NAME
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hadoop/words.h"
#include "launch/yarn/application.h"
#include "sys/time/clock.h"

static struct yarn_file read_file(const char *text)
{
    static char url[500], name[100];
    struct yarn_file file = {
        .name = name, .url = url, .kind = YARN_FILE, .share = YARN_FOR_APPLICATION};
    if (sscanf(text, "%499[^,],%" SCNd64 ",%" SCNd64 ",%99s", url, &file.size, &file.mtime_ms,
               name) != 4)
        exit(2);
    return file;
}

static weft_err submit(struct yarn_client *client, const char *command, char **words)
{
    const char *const tags[] = {setting(words, "tag", NULL), NULL};
    const char *const environment[] = {setting(words, "env", NULL), NULL};
    const char *file_text = setting(words, "file", NULL);
    struct yarn_file file;
    struct yarn_submission submission = {
        .application = {.name = "yarn_app",
                        .queue = setting(words, "queue", NULL),
                        .tags = tags,
                        .lifetime_s = number(words, "lifetime", 0)},
        .want = {.memory_bytes = (uint64_t)number(words, "memory", 128) << 20,
                 .label = setting(words, "label", NULL)},
        .program = {.command = command, .environment = environment},
        .attempts = number(words, "attempts", 1),
        .keeps_containers = number(words, "keep", 0) != 0};
    struct yarn_new made;
    if (file_text) {
        file = read_file(file_text);
        submission.program.files = &file;
        submission.program.file_count = 1;
    }
    weft_err err = yarn_client_name(client, &made);
    if (!err)
        err = yarn_client_submit(client, made.id, &submission);
    if (!err)
        puts(made.id);
    return err;
}

static weft_err print(void *owner, const struct yarn_report *report)
{
    static const char *const states[] = {"waiting", "running", "succeeded", "failed", "killed"};
    (void)owner;
    printf(
        "%s %s user=%s queue=%s type=%s name=%s host=%s:%u attempt=%u containers=%u memory=%" PRIu64
        " tags=%s started=%d finished=%d url=%s diagnostics=%s\n",
        report->id, states[report->state], report->user, report->queue, report->type, report->name,
        report->host, report->port, report->attempt, report->containers, report->memory_bytes >> 20,
        report->tags[0] ? report->tags[0] : "", report->start_ms != 0, report->finish_ms != 0,
        report->tracking_url, report->diagnostics);
    return WEFT_OK;
}

static weft_err look(struct yarn_client *client, const char *id, bool waits)
{
    struct yarn_report report;
    weft_err err = yarn_client_report(client, id, &report);
    while (!err && waits && report.state < YARN_STATE_SUCCEEDED) {
        yarn_report_fini(&report);
        clock_sleep_ms(100);
        err = yarn_client_report(client, id, &report);
    }
    if (!err)
        err = print(NULL, &report);
    yarn_report_fini(&report);
    return err;
}

static weft_err print_queue(struct yarn_client *client, const char *name)
{
    struct yarn_queue queue;
    const weft_err err = yarn_client_queue(client, name, &queue);
    if (!err)
        printf("%s running=%d share=%g max=%g used=%g available=%" PRIu64 " MB used=%" PRIu64
               " MB applications=%u labels=%s\n",
               queue.name, queue.is_running, queue.share, queue.share_max, queue.used,
               queue.available_bytes >> 20, queue.used_bytes >> 20, queue.running, queue.labels);
    return err;
}

static weft_err print_node(void *owner, const struct yarn_node *node)
{
    (void)owner;
    printf("%s:%u %s %s %" PRIu64 " MB %u cores labels=%s", node->host, node->port, node->web,
           node->rack, node->memory_bytes >> 20, node->cores, node->labels);
    for (size_t i = 0; i < node->amount_count; i++)
        printf(" %s=%" PRId64, node->amounts[i].name, node->amounts[i].count);
    puts("");
    return WEFT_OK;
}

static weft_err run(struct yarn_client *client, char **words)
{
    const struct yarn_filter filter = {.type = "weft", .has_ended_ones = true};
    const char *verb = words[0], *argument = words[1] ? words[1] : "";
    if (strcmp(verb, "submit") == 0)
        return submit(client, argument, words + 1);
    if (strcmp(verb, "kill") == 0)
        return yarn_client_kill(client, argument, "killed by yarn_app");
    if (strcmp(verb, "list") == 0)
        return yarn_client_list(client, &filter, print, NULL);
    if (strcmp(verb, "queue") == 0)
        return print_queue(client, argument);
    if (strcmp(verb, "nodes") == 0)
        return yarn_client_nodes(client, print_node, NULL);
    return look(client, argument, strcmp(verb, "wait") == 0);
}

int main(int argc, char **argv)
{
    struct yarn_site site;
    struct yarn_client *client = NULL;
    if (argc < 3)
        return 2;
    const struct yarn_client_options options = {.site = &site,
                                                .user = setting(argv + 3, "user", NULL)};
    weft_err err = yarn_site_find(argv[1], &site);
    if (!err)
        err = yarn_client_open(&options, &client);
    if (!err)
        err = run(client, argv + 2);
    if (err)
        fprintf(stderr, "yarn_app: %s\n", err_text());
    yarn_client_close(client);
    return err ? err_exit_code(err) : 0;
}
