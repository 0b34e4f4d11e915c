// count: the words of many files, by a cluster of the roles files, map and reduce; docs/clusters.md.
#include <ctype.h>
#include <stdio.h>
#include <weft/weft.h>

static int64_t count_words(const char *path)
{
    FILE *file = fopen(path, "r");
    int64_t words = 0;
    for (int c, was_space = 1; file && (c = getc(file)) != EOF; was_space = isspace(c))
        words += was_space && !isspace(c);
    return file && !ferror(file) && fclose(file) == 0 ? words : -1;
}

int main(int argc, char **argv)
{
    weft_cluster *cluster = weft_join(NULL);
    weft_queue *files = weft_queue_open(cluster, "/files/0/filename_queue",
                                        &(weft_queue_options){.capacity = 10, .deliveries_max = 3});
    weft_var *total = weft_var_open(cluster, "/reduce/0/total");
    FILE *names =
        weft_member_is(cluster, "files") ? fopen(argc > 1 ? argv[1] : "filenames.txt", "r") : 0;
    for (char line[4096]; names && fscanf(names, " %4095[^\n]", line) == 1;)
        weft_push(files, weft_text(line), weft_text(line));  // once, though this is started again
    if (weft_member_is(cluster, "files"))
        weft_queue_close(files);
    for (weft_item file; weft_member_is(cluster, "map") && weft_take(files, &file);
         weft_done(files, &file)) {
        const int64_t words = count_words(file.data);
        if (words < 0) {
            perror(file.data);
            weft_item_fail(&file);  // others may try; the third time it goes to filename_queue.dead
            continue;
        }
        printf("%lld words in %s\n", (long long)words, file.data);
        weft_var_add(total, words, &file, NULL);  // once, however often the file is handed out
    }
    for (int64_t words; weft_member_is(cluster, "reduce") && weft_var_next(total, &words);)
        printf("%lld words so far\n", (long long)words);
    return weft_leave(cluster);
}
