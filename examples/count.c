// count: the words of many files, counted by a cluster of the roles files, map and reduce. Started once
// for each member, by `weft cluster run` or by hand with TF_CONFIG set; see docs/clusters.md.
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <weft/weft.h>

static int64_t count_words(const char *path)
{
    FILE *file = fopen(path, "r");
    int64_t words = 0;
    for (int c, was_space = 1; file && (c = getc(file)) != EOF; was_space = isspace(c))
        words += was_space && !isspace(c);
    return file && fclose(file) == 0 ? words : -1;
}

int main(int argc, char **argv)
{
    char line[4096];
    weft_cluster *cluster = weft_join(NULL);
    weft_queue *files = weft_queue_open(cluster, "/files/0/filename_queue",
                                        &(weft_queue_options){.capacity = 10, .deliveries_max = 3});
    weft_var *total = weft_var_open(cluster, "/reduce/0/total");
    FILE *names =
        weft_is(cluster, "files") ? fopen(argc > 1 ? argv[1] : "filenames.txt", "r") : NULL;
    while (names && fscanf(names, "%4095[^\n]%*c", line) == 1)
        weft_push(files, weft_text(line), weft_text(line));  // once, though this is started again
    if (names)
        weft_queue_close(files);
    for (weft_item file; weft_is(cluster, "map") && weft_take(files, &file);
         weft_done(files, &file)) {
        const int64_t words = count_words(file.data);
        printf("%" PRId64 " words in %s\n", words, file.data);
        weft_var_add(total, words, &file, NULL);  // once, however often the file is handed out
    }
    for (int64_t words; weft_is(cluster, "reduce") && weft_watch(total, &words);)
        printf("%" PRId64 " words so far\n", words);
    return weft_leave(cluster);
}
