// A member that fills its own queue. Its disk fails before the second push; when it is started again it says
// what is there. $WHEN is the file by which tools/ioerror.c makes the disk fail.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <weft/weft.h>

int main(void)
{
    const char *when = getenv("WHEN");
    unlink(when);
    weft_cluster *cluster = weft_join(NULL);
    weft_queue *queue = weft_queue_open(cluster, "/w/0/q", NULL);
    weft_queue_state state = {0};
    weft_queue_look(queue, &state);
    printf("%llu there\n", (unsigned long long)state.size);
    fflush(stdout);
    if (cluster && state.size == 0) {
        weft_push(queue, weft_text("first"), weft_none());
        fclose(fopen(when, "w"));
        const weft_err err = weft_push(queue, weft_text("second"), weft_none());
        printf("second: %s\n", weft_err_name(err));
        printf("third: %s\n", weft_err_name(weft_push(queue, weft_text("third"), weft_none())));
        fflush(stdout);
        unlink(when);
    }
    return weft_leave(cluster);
}
