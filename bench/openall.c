// openall DIR: opens, reads and closes every file below DIR, and does nothing with the bytes.
// The floor for any program that must look into many small files; prints how many there were.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char buffer[1 << 16];
static unsigned long file_count, byte_count;

static int read_folder(int folder);

static int read_entry(int folder, const char *name, int type)
{
    int flags = type == DT_DIR ? O_DIRECTORY : 0;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0)
        return -1;
    if (type == DT_DIR)
        return read_folder(fd);
    file_count++;
    ssize_t got;
    while ((got = read(fd, buffer, sizeof buffer)) > 0)
        byte_count += (unsigned long)got;
    return close(fd) == 0 && got == 0 ? 0 : -1;
}

static int read_folder(int folder)
{
    DIR *entries = fdopendir(folder);
    if (!entries)
        return -1;
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (entry->d_name[0] != '.' && read_entry(folder, entry->d_name, entry->d_type) != 0)
            return -1;
    }
    return closedir(entries);
}

int main(int argc, char **argv)
{
    if (argc != 2 || read_entry(AT_FDCWD, argv[1], DT_DIR) != 0) {
        fprintf(stderr, "openall: %s: %s\n", argc == 2 ? argv[1] : "usage", strerror(errno));
        return 1;
    }
    printf("%lu files, %lu bytes\n", file_count, byte_count);
    return 0;
}
