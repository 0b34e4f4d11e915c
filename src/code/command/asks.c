// Whether a mapper wants to know the file it reads: then it has a process for each. Found by looking, not by
// running: the name of the variables in the command itself, or in the scripts and programs that it names.

#include "code/command/command.h"

#include <stdlib.h>

#include "sys/file/file.h"
#include "sys/process/command.h"

enum { LOOKED_AT_BYTES_MAX = 1 << 20 };  // larger files are interpreters and data

static const char mark[] = "map_input_";

static bool mentions(const char *path, char *room)
{
    struct file_stat status;
    int fd;
    size_t got = 0;
    if (file_stat(path, &status) || status.kind != FILE_REGULAR || status.size == 0 ||
        status.size > LOOKED_AT_BYTES_MAX || file_open(path, &fd))
        return false;
    const bool has_mark = file_read_at(fd, path, room, LOOKED_AT_BYTES_MAX, 0, &got) == WEFT_OK &&
                          memmem(room, got, mark, sizeof mark - 1);
    file_close(fd);
    return has_mark;
}

// A word is looked at as the name of a file; the first one also as that of a program in PATH.
static bool word_mentions(const char *word, bool is_first, char *room)
{
    char *path = NULL;
    if (mentions(word, room))
        return true;
    const bool is_found = is_first && command_find(word, &path) == WEFT_OK;
    const bool has_mark = is_found && mentions(path, room);
    free(path);
    return has_mark;
}

bool command_asks_for_file(const char *line)
{
    static const char between[] = " \t\n\"'=;|&()<>";
    if (strstr(line, mark))
        return true;
    char *room = malloc(LOOKED_AT_BYTES_MAX);
    bool asks = false;
    for (bool is_first = true; room && !asks && *(line += strspn(line, between));) {
        const size_t length = strcspn(line, between);
        char *word = strndup(line, length);
        asks = word && word_mentions(word, is_first, room);
        free(word);
        line += length;
        is_first = false;
    }
    free(room);
    err_clear();
    return asks;
}
