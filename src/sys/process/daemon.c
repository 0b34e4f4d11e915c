// daemon: the report is a pipe with a code and a sentence in it. Its end without either says that the new
// process died, whatever the reason.

#include "sys/process/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sys/file/file.h"

enum { STOP_PAUSE_NS = 20 * 1000 * 1000 };

struct report {
    weft_err code;
    char text[ERR_TEXT_BYTES_MAX];
};

static bool settle_inside(void)
{
    const int null = open("/dev/null", O_RDONLY);
    const bool is_well = setsid() >= 0 && null >= 0 && dup2(null, STDIN_FILENO) >= 0;
    if (null > STDERR_FILENO)
        close(null);
    return is_well;
}

weft_err daemon_fork(struct daemon *daemon)
{
    int ends[2];
    *daemon = (struct daemon){.report = -1};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_errno("cannot make a pipe");
    const pid_t pid = fork();
    if (pid < 0) {
        const weft_err err = err_errno("cannot start a process in the background");
        close(ends[0]);
        close(ends[1]);
        return err;
    }
    daemon->is_inside = pid == 0;
    daemon->report = ends[daemon->is_inside ? 1 : 0];
    close(ends[daemon->is_inside ? 0 : 1]);
    if (daemon->is_inside && !settle_inside())
        _exit(1);
    return WEFT_OK;
}

weft_err daemon_write_to(const char *path)
{
    int fd;
    const weft_err err = file_create_private(path, &fd);
    if (err)
        return err;
    const bool is_set = dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0;
    file_close(fd);
    return is_set ? WEFT_OK : err_errno("cannot write to %s", path);
}

void daemon_report(struct daemon *daemon, weft_err code)
{
    struct report report = {.code = code};
    if (daemon->report < 0)
        return;
    snprintf(report.text, sizeof report.text, "%s", code ? err_text() : "");
    (void)!write(daemon->report, &report, sizeof report);
    close(daemon->report);
    daemon->report = -1;
}

weft_err daemon_await(struct daemon *daemon)
{
    struct report report = {0};
    ssize_t got;
    do {
        got = read(daemon->report, &report, sizeof report);
    } while (got < 0 && errno == EINTR);
    close(daemon->report);
    daemon->report = -1;
    if (got != sizeof report)
        return err_set(WEFT_UNAVAILABLE, "the process in the background has ended at once");
    return report.code ? err_set(report.code, "%s", report.text) : WEFT_OK;
}

bool daemon_is_alive(const char *lock, pid_t *pid)
{
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    char text[32] = "";
    const int fd = open(lock, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const bool is_held = fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
    if (pread(fd, text, sizeof text - 1, 0) <= 0 || sscanf(text, "%d", pid) != 1)
        *pid = 0;
    close(fd);
    return is_held && *pid > 0;
}

weft_err daemon_stop(const char *lock)
{
    pid_t pid, first = 0;
    while (daemon_is_alive(lock, &pid) && (first == 0 || pid == first)) {
        if (first == 0 && kill(pid, SIGTERM) != 0 && errno != ESRCH)
            return err_errno("cannot end process %d", (int)pid);
        first = pid;
        nanosleep(&(struct timespec){.tv_nsec = STOP_PAUSE_NS}, NULL);
    }
    return WEFT_OK;
}
