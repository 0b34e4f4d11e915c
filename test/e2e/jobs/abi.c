// A program for the library of another version: abi FOLDER. It is built with the first header, and with headers whose
// structs are shorter or longer. Every struct that it hands to the library ends where its memory ends, so that a
// byte too many is a crash.

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <weft/weft.h>

static int failed_count;
#define CLAIM(claim)                                                                               \
    ((claim) ? (void)0                                                                             \
             : (void)(failed_count++, fprintf(stderr, "line %d: not so: %s (%s)\n", __LINE__,      \
                                              #claim, weft_error())))

static void *at_the_end(const void *bytes, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0)
        exit(99);
    char *place = pages + page - size;
    memset(pages, 0xff, page);
    if (bytes)
        memcpy(place, bytes, size);
    return place;
}
#define AT_THE_END(value) at_the_end(&(value), sizeof(value))
#define ROOM_FOR(type, count) ((type *)at_the_end(NULL, (count) * sizeof(type)))

// ---- Jobs ---------------------------------------------------------------------------------------------------

static void map_words(weft_task *task, weft_bytes line)
{
    weft_words words;
    weft_bytes word;
    weft_words_init(&words, line);
    while (weft_next_word(&words, &word))
        weft_emit_int(task, word, 1);
}

static void map_swap(weft_task *task, weft_bytes value)
{
    weft_emit(task, value, weft_input_key(task));
}

static weft_err configure(weft_job *job, const weft_args *args)
{
    if (weft_option(args, 'n', 0))
        job->next = NULL;
    return WEFT_OK;
}

static weft_job *make_job(void)
{
    weft_job last, first;
    memset(&last, 0, sizeof last);
    memset(&first, 0, sizeof first);
    last.name = "swap";
    last.map = map_swap;
    last.reduce = weft_collect;
    first.name = "words";
    first.map = map_words;
    first.combine = weft_sum;
    first.reduce = weft_sum;
    first.options = "n";
    first.configure = configure;
    first.next = (const weft_job *)AT_THE_END(last);
    return (weft_job *)AT_THE_END(first);
}

static void expect_output(const char *path, const char *expected)
{
    char text[100] = "";
    FILE *file = fopen(path, "r");
    CLAIM(file && fread(text, 1, sizeof text - 1, file) == strlen(expected) &&
          strcmp(text, expected) == 0);
    if (file)
        fclose(file);
}

static void run_jobs(const weft_job *job, const char *folder)
{
    char input[200], output[200];
    snprintf(input, sizeof input, "%s/input", folder);
    snprintf(output, sizeof output, "%s/output", folder);
    FILE *file = fopen(input, "w");
    CLAIM(file && fputs("a rose is a rose\n", file) > 0 && fclose(file) == 0);
    const char *const inputs[] = {input, NULL}, *const arguments[] = {"-n", NULL};
    weft_options options;
    memset(&options, 0, sizeof options);
    options.inputs = inputs;
    options.output = output;
    options.force = true;
    weft_run *run = weft_submit(job, (weft_options *)AT_THE_END(options));
    CLAIM(weft_run_wait(run, 0) == WEFT_OK);
    expect_output(output, "1\tis\n2\ta\trose\n");
    weft_run_free(run);
    options.arguments = arguments;
    run = weft_submit(job, &options);
    CLAIM(weft_run_wait(run, 0) == WEFT_OK && weft_run_counter(run, "weft.records_out") == 3);
    expect_output(output, "a\t2\nis\t1\nrose\t2\n");
    weft_run_free(run);
}

// ---- A host -------------------------------------------------------------------------------------------------

static void use_queue(weft_cluster *host)
{
    weft_queue_options options;
    memset(&options, 0, sizeof options);
    options.lease_ms = 60000;
    weft_queue *queue = weft_queue_open(host, "jobs", (weft_queue_options *)AT_THE_END(options));
    weft_item *items = ROOM_FOR(weft_item, 3);
    weft_queue_state *state = ROOM_FOR(weft_queue_state, 1);
    uint32_t count = 0;
    for (int i = 0; i < 6; i++) {
        const char text[] = {(char)('a' + i), 0};
        CLAIM(weft_push(queue, weft_text(text), weft_none()) == WEFT_OK);
    }
    CLAIM(weft_queue_look(queue, state) == WEFT_OK && state->size == 6 && state->pushed_count == 6);
    CLAIM(weft_queue_peek(queue, items, 3, &count) == WEFT_OK && count == 3);
    CLAIM(items[0].data[0] == 'a' && items[2].data[0] == 'c');
    for (int i = 0; i < 3; i++)
        weft_item_free(&items[i]);
    CLAIM(weft_take(queue, &items[2]) && items[2].data[0] == 'a' && items[2].delivery == 1);
    weft_item_fail(&items[2]);
    CLAIM(weft_done(queue, &items[2]) == WEFT_ABORTED);
    CLAIM(weft_pop(queue, &items[2]) == WEFT_OK && items[2].size == 1);
    weft_item_free(&items[2]);
    CLAIM(weft_pop_many(queue, items, 3, false, &count) == WEFT_OK && count == 3);
    for (int i = 0; i < 3; i++)
        weft_item_free(&items[i]);
    weft_call *call = weft_take_start(queue);
    CLAIM(weft_call_item(call, 0, &items[2]) == WEFT_OK);
    CLAIM(weft_call_wait(weft_done_start(queue, &items[2]), 0) == WEFT_OK);
    CLAIM(weft_queue_look(queue, state) == WEFT_OK && state->size == 1 && state->leased_count == 0);
    CLAIM(weft_queue_remove(queue) == WEFT_OK);
    weft_queue_free(queue);
}

static void use_kv(weft_cluster *host)
{
    weft_kv *kv = weft_kv_open(host, "conf");
    weft_kv_options options;
    weft_kv_entry *entry = ROOM_FOR(weft_kv_entry, 1);
    memset(&options, 0, sizeof options);
    options.is_owned = true;
    CLAIM(weft_kv_put(kv, weft_text("a"), weft_text("1"), (weft_kv_options *)AT_THE_END(options),
                      NULL) == WEFT_OK);
    CLAIM(weft_kv_get(kv, weft_text("a"), entry) == WEFT_OK && entry->value.data[0] == '1');
    weft_kv_entry_free(entry);
    weft_kv_walk *walk = weft_kv_range(kv, weft_none(), weft_none());
    CLAIM(weft_kv_next(walk, entry) && entry->key.data[0] == 'a' && entry->is_owned);
    CLAIM(!weft_kv_next(walk, entry));
    weft_kv_walk_free(walk);
    weft_kv_free(kv);
}

static void use_host(void)
{
    weft_join_options options;
    weft_var_options var_options;
    const double half = 0.5;
    double value = 0;
    memset(&options, 0, sizeof options);
    memset(&var_options, 0, sizeof var_options);
    options.at = getenv("WEFT_AT");
    weft_cluster *host = weft_join((weft_join_options *)AT_THE_END(options));
    use_queue(host);
    use_kv(host);
    var_options.type.dtype = (weft_dtype)2;  // a double
    var_options.type.data = &half;
    var_options.type.size = sizeof half;
    weft_var *var = weft_var_open_as(host, "half", (weft_var_options *)AT_THE_END(var_options));
    CLAIM(weft_var_read(var, &value, sizeof value, NULL) == WEFT_OK && value == half);
    weft_var_free(var);
    CLAIM(weft_leave(host) == 0);
}

int main(int argc, char **argv)
{
    const weft_job *const jobs[] = {make_job(), NULL};
    weft_start(argc, argv, jobs);
    if (argc < 2)
        return 2;
    run_jobs(jobs[0], argv[1]);
    use_host();
    return failed_count ? 1 : 0;
}
