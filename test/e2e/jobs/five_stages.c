// Five stages, each of which adds 1 to the number of each line modulo 100. In the third one the agent or the worker of a client whose DIES says so is
// killed, once. With HOLDS=DIR its tasks make a file DIR/inside.PID, and wait for a file DIR/go.
#include <weft/weft.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void count(weft_task *task, weft_bytes text)
{
    char number[32], next[32];
    snprintf(number, sizeof number, "%.*s", (int)(text.size < 20 ? text.size : 20), text.data);
    snprintf(next, sizeof next, "%ld", (atol(number) + 1) % 100);
    weft_emit(task, weft_text(next), weft_text(next));
}

static void die(void)
{
    const char *dies = getenv("DIES"), *once = getenv("ONCE");
    if (!dies || !once || open(once, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666) < 0)
        return;
    kill(strcmp(dies, "agent") == 0 ? getppid() : getpid(), SIGKILL);
}

static void wait_for_gate(void)
{
    const char *folder = getenv("HOLDS");
    char inside[512], gate[512];
    if (!folder)
        return;
    snprintf(inside, sizeof inside, "%s/inside.%d", folder, (int)getpid());
    snprintf(gate, sizeof gate, "%s/go", folder);
    const int fd = open(inside, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
    if (fd >= 0)
        close(fd);
    while (access(gate, F_OK) != 0)
        usleep(20000);
}

static void third(weft_task *task, weft_bytes text)
{
    die();
    wait_for_gate();
    count(task, text);
}

int main(int argc, char **argv)
{
    const weft_job e = {.name = "five", .map = count, .reduce = weft_identity};
    const weft_job d = {.name = "four", .map = count, .reduce = weft_identity, .next = &e};
    const weft_job c = {.name = "three", .map = third, .reduce = weft_identity, .next = &d};
    const weft_job b = {.name = "two", .map = count, .reduce = weft_identity, .next = &c};
    const weft_job a = {.name = "one", .map = count, .reduce = weft_identity, .next = &b};
    return weft_main(argc, argv, &a);
}
