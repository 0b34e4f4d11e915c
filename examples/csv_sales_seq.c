// The sequential twin of csv_sales.
#include "seq.h"

enum { FIELDS_MAX = 16 };

// Takes a field off the text and returns whether it is the row's last. Quotes are removed, doubled ones become one: the
// field is written over its own text, which is never shorter.
static bool next_field(struct text *rest, struct text *field)
{
    const char *at = rest->data, *const end = at + rest->size;
    char *to = (char *)at;
    field->data = at;
    bool is_quoted = false;
    for (; at < end && (is_quoted || (*at != ',' && *at != '\n')); at++) {
        if (*at != '"') {
            *to++ = *at;
        } else if (is_quoted && at + 1 < end && at[1] == '"') {
            *to++ = *at++;
        } else {
            is_quoted = !is_quoted;
        }
    }
    const bool is_last = at == end || *at == '\n';
    field->size = (size_t)(to - field->data);
    if (is_last && at < end && field->size > 0 && to[-1] == '\r' && at[-1] == '\r')
        field->size--;
    at += at < end;
    *rest = (struct text){at, (size_t)(end - at)};
    return !is_last;
}

static size_t next_row(struct text *rest, struct text *fields)
{
    size_t count = 0;
    do {
        if (count == FIELDS_MAX) {
            fputs("too many fields\n", stderr);
            exit(1);
        }
    } while (next_field(rest, &fields[count++]));
    return count;
}

static size_t column(const struct text *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (seq_compare(names[i], (struct text){name, strlen(name)}) == 0)
            return i;
    fprintf(stderr, "no column %s\n", name);
    exit(1);
}

static long long number(struct text field)
{
    char digits[32] = "";
    memcpy(digits, field.data, field.size < 31 ? field.size : 31);
    return atoll(digits);
}

static void add_rows(struct entries *sales, const char *path)
{
    struct text rest = seq_read_file(path), names[FIELDS_MAX], fields[FIELDS_MAX];
    const size_t width = next_row(&rest, names);
    const size_t region = column(names, width, "region");
    const size_t quantity = column(names, width, "quantity"), cents = column(names, width, "cents");
    while (rest.size > 0) {
        const size_t count = next_row(&rest, fields);
        if (count == 1 && fields[0].size == 0)
            continue;
        const double total = (double)(number(fields[quantity]) * number(fields[cents]));
        seq_add(sales, fields[region], (struct text){NULL, 0}, total);
    }
}

int main(int argc, char **argv)
{
    struct entries sales = {0};
    for (int i = 1; i < argc; i++)
        add_rows(&sales, argv[i]);
    seq_sort(&sales);
    for (size_t i = 0; i < sales.count;) {
        const size_t end = seq_group_end(&sales, i);
        double total = 0;
        seq_print(sales.items[i].key);
        for (; i < end; i++)
            total += sales.items[i].number;
        printf("\t%.0f\n", total);
    }
    return 0;
}
