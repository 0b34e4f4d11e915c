// weft server [options] JOB [job options] INPUT...: weft run, with the work done by clients that join.

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char default_listen[] = ":18125";

void help_format_server(struct buf *buf)
{
    buf_append_text(
        buf,
        "Runs a job on the machines that join it, and writes its answer here.\n"
        "\n"
        "  weft server wordcount books/ -o counts/     prints the line by which others join\n"
        "  weft client HOST:18125#TOKEN                that line, on every machine\n"
        "  weft server --listen localhost:0 --port-file p wordcount book.txt    for this machine alone\n"
        "\n"
        "Usage: weft server [options] JOB [job options] INPUT...\n"
        "\n"
        "Options and jobs are those of weft run (weft help run), and these matter most:\n"
        "  --listen ADDR[:PORT]  where clients join (default :18125, all interfaces)\n"
        "  --port-file FILE      write HOST:PORT there when they can; removed at the end\n"
        "  --token-file FILE     the file with the secret that they must have\n"
        "  --timeout TIME        give up after this time, also when no client joins\n"
        "  --shared              with -o DIR/ that all see under the same path (NFS): clients write the parts\n"
        "\n"
        "The server hands out tasks and collects the answer; it maps and reduces nothing itself. A client\n"
        "reads the inputs that it has under the same path, and gets the others from the server.\n"
        "Everyone with the token can run code on the clients: keep it secret.\n"
        "Exit: as weft run; 3 the port is taken, or the address is not of this machine.\n");
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0;
}

int cmd_server(char *const *words, size_t count)
{
    char **all = calloc(count + 3, sizeof *all);
    if (!all)
        return cli_fail(err_no_memory("to run a job"), false);
    if (count == 1 && asks_for_help(words[0])) {
        free(all);
        return cmd_help((char *const[]){"server"}, 1);
    }
    all[0] = "--listen";
    all[1] = (char *)default_listen;
    for (size_t i = 0; i < count; i++)
        all[i + 2] = words[i];
    const int exit_code = cmd_run(all, count + 2);
    free(all);
    return exit_code;
}
