// check: one line that says what an answer is, to compare the answers of different programs.
//
//   check pairs FILE    lines `key TAB count`, as weft prints them
//   check counts FILE   lines `count SPACE key`, blanks before the count, as uniq -c prints them
//   check bytes FILE    any file: equal only when every byte is
//   check words FILE    an input: how many words it has, counted byte by byte
//
// pairs and counts print lines, the sum of the counts, a 128-bit sum of a hash of each (key, count)
// and `sorted` or `unsorted`. The sum does not depend on the order of the lines: that compares
// 100 million lines of a program that does not sort in two seconds instead of a minute's sorting.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct text {
    const char *data;
    size_t size;
};

struct pair {
    struct text key;
    uint64_t count;
};

static _Noreturn void die(const char *path, const char *why, size_t offset)
{
    fprintf(stderr, "check: %s: %s at byte %zu\n", path, why, offset);
    exit(1);
}

static struct text map_file(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        die(path, strerror(errno), 0);
    struct text text = {"", (size_t)status.st_size};
    if (text.size > 0) {
        text.data = mmap(NULL, text.size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
        if (text.data == MAP_FAILED)
            die(path, strerror(errno), 0);
    }
    close(fd);
    return text;
}

static uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash(struct text text, uint64_t seed)
{
    uint64_t state = fold(seed ^ text.size, 0x9e3779b97f4a7c15u);
    while (text.size > 0) {
        uint64_t word = 0;
        size_t step = text.size < 8 ? text.size : 8;
        memcpy(&word, text.data, step);
        state = fold(state ^ word, 0xd6e8feb86659fd93u) + 0xa0761d6478bd642fu;
        text.data += step;
        text.size -= step;
    }
    return fold(state, 0xe7037ed1a0b428dbu);
}

static int compare(struct text a, struct text b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size > 0 ? memcmp(a.data, b.data, size) : 0;
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

// Reads the decimal number that fills `text`; false when it is none.
static int parse_count(struct text text, uint64_t *count)
{
    *count = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return 0;
        *count = *count * 10 + (uint64_t)(text.data[i] - '0');
    }
    return text.size > 0;
}

static int parse_key_count(struct text line, struct pair *pair)
{
    size_t tab = line.size;
    while (tab > 0 && line.data[tab - 1] != '\t')
        tab--;
    if (tab == 0)
        return 0;
    pair->key = (struct text){line.data, tab - 1};
    return parse_count((struct text){line.data + tab, line.size - tab}, &pair->count);
}

static int parse_count_key(struct text line, struct pair *pair)
{
    while (line.size > 0 && *line.data == ' ')
        line.data++, line.size--;
    size_t digits = 0;
    while (digits < line.size && line.data[digits] != ' ')
        digits++;
    if (digits == line.size || !parse_count((struct text){line.data, digits}, &pair->count))
        return 0;
    pair->key = (struct text){line.data + digits + 1, line.size - digits - 1};
    return 1;
}

static void check_lines(const char *path, int (*parse)(struct text, struct pair *))
{
    struct text text = map_file(path);
    uint64_t lines = 0, total = 0, high = 0, low = 0;
    struct pair pair, last = {{"", 0}, 0};
    int is_sorted = 1;
    for (size_t at = 0; at < text.size; lines++) {
        const char *end = memchr(text.data + at, '\n', text.size - at);
        if (!end)
            die(path, "the last line has no end", at);
        struct text line = {text.data + at, (size_t)(end - text.data) - at};
        if (!parse(line, &pair))
            die(path, "no key and count", at);
        if (lines > 0 && compare(last.key, pair.key) >= 0)
            is_sorted = 0;
        total += pair.count;
        high += hash(pair.key, pair.count);
        low += hash(pair.key, ~pair.count);
        last = pair;
        at += line.size + 1;
    }
    printf("lines=%" PRIu64 " total=%" PRIu64 " sum=%016" PRIx64 "%016" PRIx64 " %s\n", lines,
           total, high, low, is_sorted ? "sorted" : "unsorted");
}

static void check_bytes(const char *path)
{
    struct text text = map_file(path);
    printf("bytes=%zu hash=%016" PRIx64 "%016" PRIx64 "\n", text.size, hash(text, 1),
           hash(text, 2));
}

static void check_words(const char *path)
{
    struct text text = map_file(path);
    uint64_t words = 0;
    int was_blank = 1;
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        int is_blank = byte == ' ' || (byte >= '\t' && byte <= '\r');
        words += (uint64_t)(was_blank & !is_blank);
        was_blank = is_blank;
    }
    printf("words=%" PRIu64 "\n", words);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "pairs") == 0) {
        check_lines(argv[2], parse_key_count);
    } else if (argc == 3 && strcmp(argv[1], "counts") == 0) {
        check_lines(argv[2], parse_count_key);
    } else if (argc == 3 && strcmp(argv[1], "bytes") == 0) {
        check_bytes(argv[2]);
    } else if (argc == 3 && strcmp(argv[1], "words") == 0) {
        check_words(argv[2]);
    } else {
        fputs("usage: check pairs|counts|bytes|words FILE\n", stderr);
        return 2;
    }
    return 0;
}
