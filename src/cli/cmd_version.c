// weft version

#include "cli/cli.h"

int cmd_version(char *const *words, size_t count)
{
    struct buf text = {0};
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], "-h") == 0 || strcmp(words[i], "--help") == 0)
            return cmd_help((char *const[]){"version"}, 1);
    buf_format(&text, "weft %s\n", weft_version());
    return cli_print(&text);
}
