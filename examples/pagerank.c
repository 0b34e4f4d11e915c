// PageRank, 20 rounds: ./pagerank links.txt
//
// A line is a page and the pages it links to, separated by blanks. Prints every page and its rank; the mean
// rank is at most 1. Three stages: read the links, spread the ranks twenty times, print.
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

enum { ROUNDS = 20, NUMBER_BYTES = 32 };
static const double DAMPING = 0.85;

// Between the rounds a page travels as "rank TAB links".
static void emit_page(weft_task *task, weft_bytes page, double rank, weft_bytes links)
{
    char *value = malloc(NUMBER_BYTES + links.size);
    if (!value) {
        weft_fail(task, "no memory for a page with %zu bytes of links", links.size);
        return;
    }
    // 17 digits: the same double comes back.
    const size_t size = (size_t)snprintf(value, NUMBER_BYTES, "%.17g\t", rank);
    if (links.size > 0)
        memcpy(value + size, links.data, links.size);
    weft_emit(task, page, (weft_bytes){value, size + links.size});
    free(value);
}

// The number at the start of a text, which has no terminating zero.
static double read_number(weft_bytes text)
{
    char copy[NUMBER_BYTES + 1] = {0};
    memcpy(copy, text.data, text.size < NUMBER_BYTES ? text.size : NUMBER_BYTES);
    return strtod(copy, NULL);
}

static weft_bytes links_of(weft_bytes page)
{
    const char *tab = memchr(page.data, '\t', page.size);
    return (weft_bytes){tab + 1, (size_t)(page.data + page.size - tab - 1)};
}

// ---- Stage 1: the links of every page, in case they stand on several lines

static void read_links(weft_task *task, weft_bytes line)
{
    weft_words words;
    weft_bytes page;
    weft_words_init(&words, line);
    if (!weft_next_word(&words, &page))
        return;
    const char *rest = page.data + page.size;
    weft_emit(task, page, (weft_bytes){rest, (size_t)(line.data + line.size - rest)});
}

static void begin_page(weft_task *task, weft_bytes page, weft_values *values)
{
    char *links = NULL;
    size_t size = 0;
    for (weft_bytes more; weft_next(values, &more);) {
        char *grown = realloc(links, size + more.size + 1);
        if (!grown) {
            weft_fail(task, "no memory for the links of a page");
            break;
        }
        links = grown;
        links[size] = ' ';
        memcpy(links + size + 1, more.data, more.size);
        size += 1 + more.size;
    }
    emit_page(task, page, 1, (weft_bytes){links, size});
    free(links);
}

// ---- Stage 2: every page gives its rank to the pages it links to, in equal parts

static void spread_rank(weft_task *task, weft_bytes page)
{
    const weft_bytes links = links_of(page);
    weft_words words;
    weft_bytes target;
    size_t count = 0;
    weft_words_init(&words, links);
    while (weft_next_word(&words, &target))
        count++;
    const double share = count > 0 ? read_number(page) / (double)count : 0;
    weft_words_init(&words, links);
    while (weft_next_word(&words, &target))
        weft_emit_double(task, target, share);
    weft_emit(task, weft_input_key(task), page);  // the page itself, for its links
}

// Shares are numbers; the page is the one value with a TAB. They come in the same order on any number of
// slots, so adding them up one by one gives the same bits every time.
static void gather_rank(weft_task *task, weft_bytes page, weft_values *values)
{
    double sum = 0;
    char *links = NULL;
    size_t size = 0;
    for (weft_bytes value; weft_next(values, &value);) {
        if (!memchr(value.data, '\t', value.size)) {
            sum += read_number(value);
            continue;
        }
        const weft_bytes found = links_of(value);
        links = malloc(found.size + 1);
        if (!links) {
            weft_fail(task, "no memory for the links of a page");
            return;
        }
        size = found.size;
        memcpy(links, found.data, size);
    }
    emit_page(task, page, 1 - DAMPING + DAMPING * sum, (weft_bytes){links, size});
    free(links);
}

// ---- Stage 3: the rank alone

static void print_rank(weft_task *task, weft_bytes page)
{
    weft_emit_double(task, weft_input_key(task), read_number(page));
}

int main(int argc, char **argv)
{
    const weft_job print = {.name = "print", .map = print_rank};
    const weft_job spread = {.name = "spread",
                             .map = spread_rank,
                             .reduce = gather_rank,
                             .rounds = ROUNDS,
                             .next = &print};
    const weft_job job = {
        .name = "pagerank", .map = read_links, .reduce = begin_page, .next = &spread};
    return weft_main(argc, argv, &job);
}
