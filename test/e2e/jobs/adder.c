// A member that adds one to a variable of another member for every line it is given, and says how that went:
// "add", or "leave" for its end, which needs no line.
#include <stdio.h>
#include <weft/weft.h>

int main(void)
{
    char line[16];
    weft_cluster *cluster = weft_join(NULL);
    weft_var *total = weft_var_open(cluster, "/host/0/total");
    while (fgets(line, sizeof line, stdin)) {
        const weft_err err = weft_var_add(total, 1, NULL, NULL);
        printf("%s\n", err ? weft_err_name(err) : "OK");
        fflush(stdout);
    }
    return weft_leave(cluster);
}
