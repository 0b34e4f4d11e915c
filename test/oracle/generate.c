// generate KIND SIZE SEED: writes test input to stdout, the same bytes for the same arguments.
//
//   words BYTES SEED   text whose words follow a steep distribution, about ten to a line
//   lines COUNT SEED   lines of 32 hexadecimal digits, nearly all of them distinct
//   bytes BYTES SEED   any byte: NUL, bad UTF-8, all the blanks, about 40 bytes to a line
//   table COUNT SEED   lines with fields, numbers of many spellings, blanks and ties, for sort
//   spots COUNT SEED   like `lines` but each line occurs about eight times, far apart
//
// The tests must not depend on how a system library makes random numbers, hence splitmix64.

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

static uint64_t next(void)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t below(uint64_t bound)
{
    return next() % bound;
}

// A word's rank is drawn with a probability that falls like 1/rank: pick a power of two, then
// a number below it. Its spelling is the rank in letters, so that equal ranks are equal words.
static size_t put_word(FILE *out)
{
    uint64_t rank = below((uint64_t)1 << (1 + below(17)));
    size_t length = 0;
    do {
        fputc((int)('a' + rank % 26), out);
        length++;
        rank /= 26;
    } while (rank > 0);
    return length;
}

static void put_words(FILE *out, uint64_t size)
{
    uint64_t done = 0;
    while (done < size) {
        done += put_word(out) + 1;
        fputc(below(10) == 0 ? '\n' : ' ', out);
    }
    fputc('\n', out);
}

static void put_lines(FILE *out, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t first = next(), second = next();  // as arguments their order would be open
        fprintf(out, "%016" PRIx64 "%016" PRIx64 "\n", first, second);
    }
}

static void put_spots(FILE *out, uint64_t count)
{
    uint64_t distinct = count / 8 + 1;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t which = below(distinct);
        fprintf(out, "%016" PRIx64 "-%" PRIu64 "\n", which * 0x9e3779b97f4a7c15u, which);
    }
}

static void put_bytes(FILE *out, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++) {
        uint64_t r = next();
        if (r % 40 == 0)
            fputc('\n', out);
        else if (r % 4 == 0)  // few letters, so that words and lines repeat
            fputc("ab \t\v\f\r\0"[(r >> 32) % 8], out);
        else
            fputc((int)((r >> 40) % 256), out);
    }
}

static void put_number(FILE *out)
{
    static const char *const odd[] = {"",
                                      "-",
                                      "-0",
                                      "0",
                                      "00",
                                      "+5",
                                      ".5",
                                      "-.5",
                                      "5.",
                                      "1e3",
                                      "0x1",
                                      "1,000",
                                      "1.50",
                                      "1.5",
                                      "007",
                                      " 12",
                                      "99999999999999999999999",
                                      "-99999999999999999999999"};
    uint64_t kind = below(4);
    if (kind == 0)
        fputs(odd[below(sizeof odd / sizeof *odd)], out);
    else if (kind == 1)
        fprintf(out, "%" PRId64 ".%" PRIu64, (int64_t)below(40) - 20, below(100));
    else
        fprintf(out, "%" PRId64, (int64_t)below(200) - 100);
}

static void put_table(FILE *out, uint64_t count)
{
    static const char *const words[] = {"ash", "Ash",        "birch", "b",
                                        "",    "cedar tree", "z",     "\xc3\xa4"};
    static const char *const gaps[] = {" ", "  ", "\t", " \t", ",", ":"};
    for (uint64_t i = 0; i < count; i++) {
        uint64_t fields = below(5);
        if (below(8) == 0)
            fputs(gaps[below(4)], out);
        for (uint64_t f = 0; f < fields; f++) {
            if (f > 0)
                fputs(gaps[below(sizeof gaps / sizeof *gaps)], out);
            if (below(2) == 0)
                put_number(out);
            else
                fputs(words[below(sizeof words / sizeof *words)], out);
        }
        fputc('\n', out);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fputs("usage: generate words|lines|bytes|table|spots SIZE SEED\n", stderr);
        return 2;
    }
    uint64_t size = strtoull(argv[2], NULL, 10);
    state = strtoull(argv[3], NULL, 10);
    if (strcmp(argv[1], "words") == 0)
        put_words(stdout, size);
    else if (strcmp(argv[1], "lines") == 0)
        put_lines(stdout, size);
    else if (strcmp(argv[1], "bytes") == 0)
        put_bytes(stdout, size);
    else if (strcmp(argv[1], "table") == 0)
        put_table(stdout, size);
    else if (strcmp(argv[1], "spots") == 0)
        put_spots(stdout, size);
    else
        return 2;
    return fflush(stdout) == 0 ? 0 : 1;
}
