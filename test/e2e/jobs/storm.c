// storm: many members who add to one variable, each with a session of its own, and the member that hosts it.
//   storm host              hosts /host/0/total until somebody has asked for the total
//   storm MEMBERS ADDS PORT
//   storm total PORT        prints it
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

enum { MEMBERS_MAX = 1000 };

static long adds;
static const char *port;

static void *add_alone(void *argument)
{
    char config[256];
    snprintf(config, sizeof config,
             "{\"cluster\": {\"host\": [\"localhost:%s\"]}, "
             "\"task\": {\"type\": \"evaluator\", \"index\": %d}}",
             port, (int)(size_t)argument);
    weft_cluster *cluster = weft_join(&(weft_join_options){.config = config});
    weft_var *total = weft_var_open(cluster, "/host/0/total");
    for (long i = 0; i < adds; i++)
        weft_var_add(total, 1, NULL, NULL);
    return (void *)(size_t)weft_leave(cluster);
}

static void meet(weft_cluster *cluster)
{
    weft_barrier_wait(weft_barrier_open(cluster, "/host/0/finish", 2), 0, NULL);
}

static int print_total(void)
{
    char config[256];
    int64_t value = -1;
    snprintf(config, sizeof config,
             "{\"cluster\": {\"host\": [\"localhost:%s\"]}, "
             "\"task\": {\"type\": \"evaluator\", \"index\": %d}}",
             port, MEMBERS_MAX);
    weft_cluster *cluster = weft_join(&(weft_join_options){.config = config});
    weft_var_get(weft_var_open(cluster, "/host/0/total"), &value);
    printf("%lld\n", (long long)value);
    meet(cluster);
    return weft_leave(cluster);
}

int main(int argc, char **argv)
{
    static pthread_t threads[MEMBERS_MAX];
    if (argc == 2 && strcmp(argv[1], "host") == 0) {
        weft_cluster *cluster = weft_join(NULL);
        weft_var_open(cluster, "/host/0/total");
        meet(cluster);
        return weft_leave(cluster);
    }
    port = argv[argc - 1];
    if (argc == 3 && strcmp(argv[1], "total") == 0)
        return print_total();
    if (argc != 4 || atoi(argv[1]) > MEMBERS_MAX)
        return 2;
    const int members = atoi(argv[1]);
    int failures = 0;
    adds = atol(argv[2]);
    for (int i = 0; i < members; i++)
        if (pthread_create(&threads[i], NULL, add_alone, (void *)(size_t)i))
            return 3;
    for (int i = 0; i < members; i++) {
        void *code = NULL;
        pthread_join(threads[i], &code);
        failures += code != NULL;
    }
    return failures != 0;
}
