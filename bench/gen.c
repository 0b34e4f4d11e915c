// gen: the data of the benchmarks, the same bytes for the same arguments on every machine.
//
//   gen zipf BYTES SEED VOCAB S        text: Zipf words, capitals, punctuation, ~80-column lines
//   gen card BYTES SEED SPACE          words of 9 or 10 bytes out of SPACE: mostly distinct
//   gen keys BYTES SEED SPACE LENGTH   words of exactly LENGTH bytes, SPACE different ones
//   gen tera RECORDS SEED              lines of 100 bytes that start with 10 random printable bytes
//   gen csv BYTES SEED                 sales with 10 columns and a header; 1 note in 20 is quoted
//   gen jsonl BYTES SEED               the same as JSON lines
//   gen files DIR COUNT BYTES SEED     COUNT files of BYTES of Zipf text, 100 to a folder
//   gen word RANK                      the word of that rank in `zipf`, rank 0 being the commonest
//
// All but `files` write to standard output. Every text ends with a newline, even where that
// replaces the last byte of a word. Why our own: nothing to download, any size, and what makes
// word count hard (how many keys, how long, how skewed) is an argument.
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    LINE_COLUMNS = 80,
    WORD_BYTES_MAX = 24,
    TERA_BYTES = 100,
    FILES_PER_FOLDER = 100,
};

static const char DIGITS36[] = "0123456789abcdefghijklmnopqrstuvwxyz";

// One stream of bytes of known length, written in lines.
struct text {
    FILE *file;
    uint64_t left;  // bytes still to write
    unsigned column;
};

// Walker's alias table: entry i stands for word i with probability keep[i] / 2^32, else alias[i].
struct zipf {
    uint32_t vocab;
    uint32_t *keep, *alias;
    char (*words)[WORD_BYTES_MAX];  // byte 0 is the length
};

static _Noreturn void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("gen: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\n", stderr);
    va_end(args);
    exit(2);
}

static void *grab(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        die("out of memory for %zu entries of %zu bytes", count, size);
    return memory;
}

static uint64_t number(const char *text)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno || end == text || *end)
        die("'%s' is not a number", text);
    return value;
}

static uint64_t mix(uint64_t x)  // the finaliser of splitmix64
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t draw(uint64_t *state)
{
    return mix(*state += 0x9e3779b97f4a7c15u);
}

// A number below `limit`; the bias of one part in 2^64/limit does not matter here.
static uint64_t draw_below(uint64_t *state, uint64_t limit)
{
    return (uint64_t)(((unsigned __int128)draw(state) * limit) >> 64);
}

// Writes one word and the blank or newline after it; false when the text is full.
static int text_put(struct text *text, const char *word, unsigned length)
{
    char piece[512];
    memcpy(piece, word, length);
    int is_line_full = text->column + length + 1 >= LINE_COLUMNS;
    piece[length++] = is_line_full ? '\n' : ' ';
    text->column = is_line_full ? 0 : text->column + length;
    if (length >= text->left) {
        length = (unsigned)text->left;
        piece[length - 1] = '\n';
    }
    fwrite_unlocked(piece, 1, length, text->file);
    text->left -= length;
    return text->left > 0;
}

// Ranks count through the forms V, CV, CVC, CVCV, ... in that order, so that common words are
// short as in a language. The lists hold more than one letter here and there: lengths vary.
static unsigned make_word(uint64_t rank, char *out)
{
    static const char *const onset[] = {"t", "n", "s", "r", "l", "d",  "m",  "k",  "p",  "b",
                                        "f", "g", "v", "w", "z", "st", "tr", "kl", "sh", "pr"};
    static const char *const vowel[] = {"e", "a", "ou", "i", "o", "ei"};
    static const char *const *const lists[] = {vowel, onset};
    static const uint64_t sizes[] = {6, 20};
    unsigned parts = 1;
    uint64_t forms = sizes[0];
    while (rank >= forms) {
        rank -= forms;
        parts++;
        forms = 1;
        for (unsigned i = 0; i < parts; i++)
            forms *= sizes[parts == 1 ? 0 : (i + 1) % 2];
    }
    unsigned length = 0;
    for (unsigned i = 0; i < parts; i++) {
        unsigned which = parts == 1 ? 0 : (i + 1) % 2;
        const char *part = lists[which][rank % sizes[which]];
        rank /= sizes[which];
        size_t size = strlen(part);
        if (length + size < WORD_BYTES_MAX)
            memcpy(out + length, part, size), length += (unsigned)size;
    }
    return length;
}

// Zipf-Mandelbrot: weight (rank + 2.7)^-s, the shift as found in natural text.
static struct zipf zipf_new(uint32_t vocab, double exponent)
{
    struct zipf zipf = {.vocab = vocab,
                        .keep = grab(vocab, sizeof *zipf.keep),
                        .alias = grab(vocab, sizeof *zipf.alias),
                        .words = grab(vocab, sizeof *zipf.words)};
    double *share = grab(vocab, sizeof *share), total = 0;
    uint32_t *queue = grab(vocab, sizeof *queue), poor = 0, rich = vocab;
    for (uint32_t i = 0; i < vocab; i++)
        total += share[i] = pow((double)i + 2.7, -exponent);
    for (uint32_t i = 0; i < vocab; i++) {
        share[i] *= (double)vocab / total;  // 1 is a fair share
        queue[share[i] < 1 ? poor++ : --rich] = i;
        zipf.alias[i] = i;
        zipf.words[i][0] = (char)make_word(i, zipf.words[i] + 1);
    }
    while (poor > 0 && rich < vocab) {  // a rich word fills up a poor one, and may turn poor itself
        uint32_t small = queue[--poor], big = queue[rich];
        zipf.keep[small] = (uint32_t)(share[small] * 0x1p32);
        zipf.alias[small] = big;
        share[big] -= 1 - share[small];
        if (share[big] < 1)
            rich++, queue[poor++] = big;
    }
    free(share);
    free(queue);
    return zipf;
}

static void zipf_free(struct zipf *zipf)
{
    free(zipf->keep);
    free(zipf->alias);
    free(zipf->words);
}

// Dresses a word: of 1000, 60 end a sentence, 50 a clause, 30 are names, 2 are odd.
static unsigned dress_word(char *word, unsigned length, unsigned dice, int *starts_sentence)
{
    if (*starts_sentence || dice < 30)
        word[0] = (char)(word[0] - 'a' + 'A');
    *starts_sentence = 0;
    if (dice >= 30 && dice < 90) {
        word[length++] = dice == 30 ? '!' : '.';
        *starts_sentence = 1;
    } else if (dice >= 90 && dice < 140) {
        word[length++] = dice == 90 ? ';' : ',';
    } else if (dice == 140 || dice == 141) {
        memmove(word + 1, word, length);
        word[0] = dice == 140 ? '"' : '(';
        word[length + 1] = dice == 140 ? '"' : ')';
        length += 2;
    }
    return length;
}

static void write_zipf(struct text *text, const struct zipf *zipf, uint64_t seed)
{
    uint64_t state = mix(seed);
    int starts_sentence = 1;
    for (int has_room = text->left > 0; has_room;) {
        uint64_t place = draw(&state), dice = draw(&state);
        uint32_t i = (uint32_t)(((place >> 32) * zipf->vocab) >> 32);
        if ((uint32_t)place >= zipf->keep[i])
            i = zipf->alias[i];
        char word[WORD_BYTES_MAX + 4];
        unsigned length = (unsigned char)zipf->words[i][0];
        memcpy(word, zipf->words[i] + 1, WORD_BYTES_MAX - 1);
        unsigned per_mille = (unsigned)(((dice >> 32) * 1000) >> 32);
        length = dress_word(word, length, per_mille, &starts_sentence);
        has_room = text_put(text, word, length);
    }
}

// Key `index` in base 36: multiplying by a number prime to 36 shuffles the keys without making
// two of them equal; digits past the twelfth carry no more choice and follow from the index.
static void spell_key(uint64_t index, unsigned length, char *out)
{
    unsigned digits = length < 12 ? length : 12;
    uint64_t modulus = 1;
    for (unsigned i = 0; i < digits; i++)
        modulus *= 36;
    uint64_t place = (uint64_t)((unsigned __int128)index * 2862933555777941759u % modulus);
    for (unsigned i = digits; i-- > 0; place /= 36)
        out[i] = DIGITS36[place % 36];
    uint64_t state = index;
    for (unsigned i = digits; i < length; i++)
        out[i] = DIGITS36[draw_below(&state, 36)];
}

static void write_card(struct text *text, uint64_t seed, uint64_t space)
{
    uint64_t state = mix(seed);
    for (int has_room = text->left > 0; has_room;) {
        uint64_t index = draw_below(&state, space);
        char word[10];
        spell_key(index, 9, word);
        word[9] = DIGITS36[mix(index) % 36];
        has_room = text_put(text, word, mix(index) >> 62 ? 9 : 10);
    }
}

static void write_keys(struct text *text, uint64_t seed, uint64_t space, unsigned length)
{
    uint64_t state = mix(seed);
    for (int has_room = text->left > 0; has_room;) {
        char word[256];
        spell_key(draw_below(&state, space), length, word);
        has_room = text_put(text, word, length);
    }
}

// The record's number follows its key, so that equal keys are in order by line and by number.
static void write_tera(uint64_t records, uint64_t seed)
{
    uint64_t state = mix(seed);
    for (uint64_t record = 0; record < records; record++) {
        char line[TERA_BYTES + 1];
        for (int i = 0; i < 10; i++)
            line[i] = (char)(' ' + draw_below(&state, 95));
        snprintf(line + 10, sizeof line - 10, " %020llu ", (unsigned long long)record);
        for (int i = 32; i < TERA_BYTES - 1; i++)
            line[i] = (char)('a' + (record + (uint64_t)i / 8) % 26);
        line[TERA_BYTES - 1] = '\n';
        fwrite_unlocked(line, 1, TERA_BYTES, stdout);
    }
}

static void write_files(const char *folder, uint64_t count, uint64_t bytes, uint64_t seed)
{
    struct zipf zipf = zipf_new(50000, 1.05);
    for (uint64_t i = 0; i < count; i++) {
        char path[4096];
        int length = snprintf(path, sizeof path, "%s/%03llu", folder,
                              (unsigned long long)(i / FILES_PER_FOLDER));
        if (length < 0 || (size_t)length + 32 > sizeof path)
            die("the name of folder %s is too long", folder);
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            die("cannot make folder %s: %s", path, strerror(errno));
        snprintf(path + length, sizeof path - (size_t)length, "/%06llu.txt", (unsigned long long)i);
        struct text text = {.file = fopen(path, "w"), .left = bytes};
        if (!text.file)
            die("cannot write %s: %s", path, strerror(errno));
        write_zipf(&text, &zipf, seed + i);
        if (fclose(text.file) != 0)
            die("cannot write %s: %s", path, strerror(errno));
    }
    zipf_free(&zipf);
}

// One sale as a row or as an object: about 95 and 200 bytes. Both forms hold the same values.
static void write_sale(bool is_csv, uint64_t i, uint64_t *random)
{
    static const char *const colors[] = {"red", "green", "blue", "black", "white", "amber"};
    const uint64_t r = mix(*random += 0x9e3779b97f4a7c15u), s = mix(r);
    const unsigned long long id = i, shop = r % 1000, product = (r >> 10) % 20000;
    const unsigned long long customer = s % 5000000, city = (s >> 32) % 3000;
    const unsigned quantity = 1 + (unsigned)(r >> 40) % 20, cents = (unsigned)(s >> 24) % 100000;
    const unsigned day = 1 + (unsigned)(r >> 50) % 28, month = 1 + (unsigned)(r >> 56) % 12;
    const char *color = colors[(r >> 34) % 6];
    const bool has_quotes = (s >> 44) % 20 == 0;
    if (is_csv)
        printf("%llu,2025-%02u-%02u,shop-%03llu,product-%05llu,%s,%u,%u.%02u,customer-%07llu,"
               "city-%04llu,%s\n",
               id, month, day, shop, product, color, quantity, cents / 100, cents % 100, customer,
               city, has_quotes ? "\"said \"\"yes, please\"\"\"" : "no note");
    else
        printf("{\"id\":%llu,\"day\":\"2025-%02u-%02u\",\"shop\":\"shop-%03llu\","
               "\"product\":\"product-%05llu\",\"color\":\"%s\",\"quantity\":%u,"
               "\"price\":%u.%02u,\"customer\":\"customer-%07llu\",\"city\":\"city-%04llu\","
               "\"note\":\"%s\"}\n",
               id, month, day, shop, product, color, quantity, cents / 100, cents % 100, customer,
               city, has_quotes ? "said \\\"yes, please\\\"" : "no note");
}

static void write_sales(bool is_csv, uint64_t bytes, uint64_t seed)
{
    uint64_t random = mix(seed);
    if (is_csv)
        puts("id,day,shop,product,color,quantity,price,customer,city,note");
    for (uint64_t i = 0; (uint64_t)ftello(stdout) + 256 < bytes; i++)
        write_sale(is_csv, i, &random);
}

static int is_command(int argc, char **argv, const char *name, int argument_count)
{
    return argc == argument_count + 2 && strcmp(argv[1], name) == 0;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOFBF, 1 << 20);
    struct text text = {.file = stdout};
    if (is_command(argc, argv, "zipf", 4)) {
        text.left = number(argv[2]);
        struct zipf zipf = zipf_new((uint32_t)number(argv[4]), strtod(argv[5], NULL));
        write_zipf(&text, &zipf, number(argv[3]));
        zipf_free(&zipf);
    } else if (is_command(argc, argv, "card", 3)) {
        text.left = number(argv[2]);
        write_card(&text, number(argv[3]), number(argv[4]));
    } else if (is_command(argc, argv, "keys", 4)) {
        text.left = number(argv[2]);
        uint64_t length = number(argv[5]);
        if (length < 1 || length > 256)
            die("keys have 1 to 256 bytes, not %s", argv[5]);
        write_keys(&text, number(argv[3]), number(argv[4]), (unsigned)length);
    } else if (is_command(argc, argv, "tera", 2)) {
        write_tera(number(argv[2]), number(argv[3]));
    } else if (is_command(argc, argv, "csv", 2) || is_command(argc, argv, "jsonl", 2)) {
        write_sales(strcmp(argv[1], "csv") == 0, number(argv[2]), number(argv[3]));
    } else if (is_command(argc, argv, "files", 4)) {
        write_files(argv[2], number(argv[3]), number(argv[4]), number(argv[5]));
    } else if (is_command(argc, argv, "word", 1)) {
        char word[WORD_BYTES_MAX];
        printf("%.*s\n", (int)make_word(number(argv[2]), word), word);
    } else {
        die("usage: zipf|card|keys|tera|files|word ..., see the top of gen.c");
    }
    if (fflush(stdout) != 0 || ferror(stdout))
        die("cannot write: %s", strerror(errno));
    return 0;
}
