// Numbers the visits of each user in order of time, by a secondary sort: ./visits visits.tsv
//
// A line is USER TAB TIME TAB PAGE, with times that sort as text. Prints USER TAB NUMBER TAB PAGE. The key is
// user and time, so that values come in order of time; all keys of a user are one group. Nothing is kept in
// memory for that, however many visits a user has. A page is cut after 500 bytes.
#include <stdio.h>
#include <weft/weft.h>

static weft_bytes until_tab(const char *text, size_t size)
{
    const char *tab = memchr(text, '\t', size);
    return (weft_bytes){text, tab ? (size_t)(tab - text) : size};
}

static void map(weft_task *task, weft_bytes line)
{
    const size_t user = until_tab(line.data, line.size).size;
    const size_t rest = user < line.size ? user + 1 : user;
    const size_t both = rest + until_tab(line.data + rest, line.size - rest).size;
    if (both < line.size)
        weft_emit(task, (weft_bytes){line.data, both},
                  (weft_bytes){line.data + both + 1, line.size - both - 1});
}

static int by_user(weft_bytes a, weft_bytes b)
{
    const weft_bytes x = until_tab(a.data, a.size), y = until_tab(b.data, b.size);
    return x.size != y.size || memcmp(x.data, y.data, x.size) != 0;
}

static void reduce(weft_task *task, weft_bytes key, weft_values *values)
{
    char text[512];
    int number = 0;
    for (weft_bytes page; weft_next(values, &page);) {
        const int size =
            snprintf(text, sizeof text, "%d\t%.*s", ++number, (int)page.size, page.data);
        weft_emit(task, until_tab(key.data, key.size),
                  (weft_bytes){text, strnlen(text, (size_t)size)});
    }
}

int main(int argc, char **argv)
{
    const weft_job visits = {.name = "visits", .map = map, .reduce = reduce, .group = by_user};
    return weft_main(argc, argv, &visits);
}
