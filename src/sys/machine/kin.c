// Children are listed by the thread that started them, so all threads of a process are asked.

#include "sys/machine/kin.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool kin_read_stat(pid_t pid, struct kin_stat *found)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    text[size > 0 ? size : 0] = 0;
    // The name may hold anything, also a closing bracket: the last one ends it.
    const char *behind_name = strrchr(text, ')');
    int parent, group, session;
    char state;
    if (!behind_name ||
        sscanf(behind_name, ") %c %d %d %d", &state, &parent, &group, &session) != 4)
        return false;
    *found = (struct kin_stat){parent, session, state == 'R'};
    return true;
}

// Where the kernel does not list children: ask every process for its parent.
static void list_children_slowly(pid_t parent, struct kin *list)
{
    DIR *all = opendir("/proc");
    for (struct dirent *entry; all && (entry = readdir(all));) {
        struct kin_stat stat;
        const pid_t pid = atoi(entry->d_name);
        if (pid > 0 && kin_read_stat(pid, &stat) && stat.parent == parent)
            (void)VEC_PUSH(&list->pids, pid);
    }
    if (all)
        closedir(all);
}

static void list_children_of_thread(pid_t process, const char *thread, struct kin *list)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", (int)process, thread);
    FILE *file = fopen(path, "re");
    for (int pid; file && fscanf(file, "%d", &pid) == 1;)
        (void)VEC_PUSH(&list->pids, pid);
    if (file)
        fclose(file);
}

void kin_list_children(pid_t parent, struct kin *list)
{
    if (access("/proc/thread-self/children", F_OK) != 0) {
        list_children_slowly(parent, list);
        return;
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)parent);
    DIR *threads = opendir(path);
    for (struct dirent *entry; threads && (entry = readdir(threads));)
        if (entry->d_name[0] != '.')
            list_children_of_thread(parent, entry->d_name, list);
    if (threads)
        closedir(threads);
}

void kin_list_descendants(pid_t top, struct kin *list)
{
    (void)VEC_PUSH(&list->pids, top);
    for (size_t i = 0; i < list->pids.count; i++)
        kin_list_children(list->pids.items[i], list);
}
