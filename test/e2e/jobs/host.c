// A member that hosts until a line comes on standard input, for the tests of hosts.
#include <stdio.h>
#include <weft/weft.h>

int main(void)
{
    char line[16];
    weft_cluster *cluster = weft_join(NULL);
    if (cluster) {
        puts("ready");
        fflush(stdout);
        if (!fgets(line, sizeof line, stdin))
            return 0;
    }
    return weft_leave(cluster);
}
