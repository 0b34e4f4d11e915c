// Runs a fuzzer's function over the files of its corpus, as an ordinary test.
//
// A libFuzzer build brings its own main(); every other build links this one, so that each input
// that ever broke a parser is tried again on every change, with and without sanitizers.
// Usage: fuzz_NAME FILE_OR_DIRECTORY...
#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat status;
    if (!file || fstat(fileno(file), &status) != 0) {
        fprintf(stderr, "replay: cannot open %s: %s\n", path, strerror(errno));
        return -1;
    }
    // A block of exactly the input's size, so that AddressSanitizer sees one byte too many.
    size_t size = (size_t)status.st_size;
    uint8_t *data = malloc(size);
    size_t got = size && data ? fread(data, 1, size, file) : 0;
    fclose(file);
    if (got != size) {
        fprintf(stderr, "replay: cannot read %s\n", path);
        free(data);
        return -1;
    }
    // The name first: when the call crashes, the last line tells which input did it.
    fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

static int replay_is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int replay_folder(const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, replay_is_visible, alphasort);
    if (count < 0) {
        fprintf(stderr, "replay: cannot list %s: %s\n", path, strerror(errno));
        return -1;
    }
    int done = 0;
    for (int i = 0; i < count; i++) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        if (done >= 0)
            done = replay_file(name) < 0 ? -1 : done + 1;
        free(entries[i]);
    }
    free(entries);
    return done;
}

int main(int argc, char **argv)
{
    int total = 0;
    for (int i = 1; i < argc; i++) {
        struct stat status;
        int is_folder = stat(argv[i], &status) == 0 && S_ISDIR(status.st_mode);
        int done = is_folder ? replay_folder(argv[i]) : replay_file(argv[i]);
        if (done < 0)
            return 1;
        total += done;
    }
    printf("%d inputs\n", total);
    // A fuzzer without a corpus tests nothing and must not look as if it did.
    return total > 0 ? 0 : 1;
}
