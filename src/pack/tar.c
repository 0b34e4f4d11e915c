// tar: blocks of 512 bytes.
//
//     0 name[100]  100 mode[8]  108 uid[8]  116 gid[8]  124 size[12]  136 mtime[12]  148 checksum[8]  156 type
//     157 link[100]  257 "ustar" 0  263 "00"  265 owner[32]  297 group[32]  329 major[8]  337 minor[8]  345 prefix[155]
//
// Numbers are octal digits; GNU tar writes large ones in binary, the first byte being 0x80. An entry of type x has records
// "LENGTH name=value\n" for the entry after it; L and K are GNU's for its name and its link.

#include "pack/tar.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    NAME_BYTES = 100,
    PREFIX_AT = 345,
    PREFIX_BYTES = 155,
    CHECKSUM_AT = 148,
    CHECKSUM_BYTES = 8,
    EXTRA_BYTES_MAX = 64 << 10,  // of a pax header or a long name
    EXTRAS_MAX = 16,             // before one entry
};
#define OCTAL_SIZE_MAX (UINT64_C(1) << 33)

// ---- Writing -------------------------------------------------------------------------------------------------------

uint64_t tar_pad(uint64_t size)
{
    return -size & (TAR_BLOCK_BYTES - 1);
}

static void set_octal(char *field, size_t size, uint64_t value)
{
    for (size_t i = size - 1; i-- > 0; value >>= 3)
        field[i] = (char)('0' + (value & 7));
}

// What the checksum of a block is: the sum of its bytes, those of the checksum being blanks.
static unsigned sum_block(const char *block)
{
    unsigned sum = 0;
    for (size_t i = 0; i < TAR_BLOCK_BYTES; i++)
        sum += i - CHECKSUM_AT < CHECKSUM_BYTES ? ' ' : (unsigned char)block[i];
    return sum;
}

static void write_block(struct buf *buf, char type, const char *path, const char *link,
                        uint64_t size, unsigned mode)
{
    char block[TAR_BLOCK_BYTES] = {0};
    memcpy(block, path, strnlen(path, NAME_BYTES));
    set_octal(block + 100, 8, mode);
    set_octal(block + 108, 8, 0);
    set_octal(block + 116, 8, 0);
    set_octal(block + 124, 12, size < OCTAL_SIZE_MAX ? size : 0);
    set_octal(block + 136, 12, (uint64_t)TAR_TIME_S);
    block[156] = type;
    if (link)
        memcpy(block + 157, link, strnlen(link, NAME_BYTES));
    memcpy(block + 257,
           "ustar\0"
           "00",
           8);
    set_octal(block + 329, 8, 0);
    set_octal(block + 337, 8, 0);
    set_octal(block + CHECKSUM_AT, CHECKSUM_BYTES - 1, sum_block(block));
    block[CHECKSUM_AT + CHECKSUM_BYTES - 1] = ' ';
    buf_append(buf, block, sizeof block);
}

// The length of a record counts its own digits.
static void append_record(struct buf *records, const char *name, const char *value)
{
    const size_t rest = 1 + strlen(name) + 1 + strlen(value) + 1;
    size_t length = rest + 1;
    char digits[24];
    while ((size_t)snprintf(digits, sizeof digits, "%zu", length) + rest != length)
        length++;
    buf_format(records, "%zu %s=%s\n", length, name, value);
}

void tar_write_entry(const struct tar_entry *entry, struct buf *buf)
{
    struct buf records = {0};
    const size_t begin = buf->size;
    char number[24];
    if (strlen(entry->path) > NAME_BYTES)
        append_record(&records, "path", entry->path);
    if (entry->link && strlen(entry->link) > NAME_BYTES)
        append_record(&records, "linkpath", entry->link);
    if (entry->kind == TAR_FILE && entry->size >= OCTAL_SIZE_MAX) {
        snprintf(number, sizeof number, "%llu", (unsigned long long)entry->size);
        append_record(&records, "size", number);
    }
    if (records.size > 0) {
        write_block(buf, 'x', "././@PaxHeader", NULL, records.size, 0644);
        buf_append(buf, records.data, records.size);
        static const char zeros[TAR_BLOCK_BYTES];
        buf_append(buf, zeros, tar_pad(buf->size - begin));
    }
    const bool is_file = entry->kind == TAR_FILE;
    const char type = is_file ? '0' : entry->kind == TAR_DIRECTORY ? '5' : '2';
    const unsigned mode = entry->kind == TAR_LINK            ? 0777
                          : is_file && !entry->is_executable ? 0644
                                                             : 0755;
    write_block(buf, type, entry->path, entry->link, is_file ? entry->size : 0, mode);
    buf->has_failed |= records.has_failed;
    buf_fini(&records);
}

// ---- Reading -------------------------------------------------------------------------------------------------------

struct tar_reader {
    tar_read_fn *read;
    void *owner;
    const char *name;
    uint64_t offset;         // in the archive
    uint64_t left, padding;  // of the content of this entry
    char path[TAR_PATH_BYTES_MAX + 1], link[TAR_PATH_BYTES_MAX + 1];
    // Of the headers before an entry:
    bool has_path, has_link, has_size;
    uint64_t size;
    weft_err failed;
};

struct tar_reader *tar_reader_new(tar_read_fn *read, void *owner, const char *name)
{
    struct tar_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        err_no_memory("to read an archive");
    else
        *reader = (struct tar_reader){.read = read, .owner = owner, .name = name};
    return reader;
}

void tar_reader_free(struct tar_reader *reader)
{
    free(reader);
}

uint64_t tar_reader_offset(const struct tar_reader *reader)
{
    return reader->offset;
}

static weft_err refuse(const struct tar_reader *reader, const char *why)
{
    return err_set(WEFT_DATA_LOSS, "%s is damaged, or not a tar archive: %s at byte %llu",
                   reader->name, why, (unsigned long long)reader->offset);
}

static weft_err read_exactly(struct tar_reader *reader, void *data, size_t size)
{
    size_t got = 0;
    const weft_err code = reader->read(reader->owner, data, size, &got);
    reader->offset += got;
    if (code != WEFT_OK || got == size)
        return code;
    return refuse(reader, "it ends");
}

static weft_err skip(struct tar_reader *reader, uint64_t size)
{
    char block[16 << 10];
    weft_err code = WEFT_OK;
    while (code == WEFT_OK && size > 0) {
        const size_t step = size < sizeof block ? (size_t)size : sizeof block;
        code = read_exactly(reader, block, step);
        size -= step;
    }
    return code;
}

// Octal digits between blanks, ended by a blank, a zero or the field's end; or GNU's binary form.
static bool read_number(const char *field, size_t size, uint64_t *number)
{
    size_t i = 0;
    *number = 0;
    if ((unsigned char)field[0] == 0x80) {
        for (i = 1; i < size; i++) {
            if (*number >> 55)
                return false;
            *number = *number << 8 | (unsigned char)field[i];
        }
        return true;
    }
    while (i < size && field[i] == ' ')
        i++;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
        *number = *number << 3 | (uint64_t)(field[i] - '0');
    return i == size || field[i] == ' ' || field[i] == 0;
}

static bool read_decimal(const char *text, size_t size, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || *number > UINT64_MAX / 20)
            return false;
        *number = *number * 10 + (uint64_t)(text[i] - '0');
    }
    return size > 0;
}

static bool is_empty(const char *block)
{
    for (size_t i = 0; i < TAR_BLOCK_BYTES; i++)
        if (block[i])
            return false;
    return true;
}

static weft_err set_text(struct tar_reader *reader, char *to, const char *text, size_t size)
{
    if (size > TAR_PATH_BYTES_MAX)
        return refuse(reader, "a name is too long");
    if (memchr(text, 0, size))
        return refuse(reader, "a name has a zero");
    memcpy(to, text, size);
    to[size] = 0;
    return WEFT_OK;
}

static weft_err use_record(struct tar_reader *reader, const char *name, size_t name_size,
                           const char *value, size_t value_size)
{
    weft_err code = WEFT_OK;
    if (name_size == 4 && memcmp(name, "path", 4) == 0) {
        reader->has_path = true;
        code = set_text(reader, reader->path, value, value_size);
    } else if (name_size == 8 && memcmp(name, "linkpath", 8) == 0) {
        reader->has_link = true;
        code = set_text(reader, reader->link, value, value_size);
    } else if (name_size == 4 && memcmp(name, "size", 4) == 0) {
        reader->has_size = true;
        if (!read_decimal(value, value_size, &reader->size))
            code = refuse(reader, "a size is not a number");
    } else if (name_size > 10 && memcmp(name, "GNU.sparse", 10) == 0) {
        code = err_set(WEFT_UNIMPLEMENTED, "%s has a sparse file\n  try: tar without --sparse",
                       reader->name);
    }
    return code;
}

static weft_err read_records(struct tar_reader *reader, const char *at, const char *end)
{
    weft_err code = WEFT_OK;
    while (code == WEFT_OK && at < end) {
        uint64_t length;
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        if (!blank || !read_decimal(at, (size_t)(blank - at), &length) ||
            length > (uint64_t)(end - at) || at + length <= blank + 1 || at[length - 1] != '\n')
            return refuse(reader, "a record of a header is wrong");
        const char *last = at + length - 1, *equals = memchr(blank, '=', (size_t)(last - blank));
        if (!equals)
            return refuse(reader, "a record of a header is wrong");
        code = use_record(reader, blank + 1, (size_t)(equals - blank - 1), equals + 1,
                          (size_t)(last - equals - 1));
        at += length;
    }
    return code;
}

// The content of a header that says something of the entry after it.
static weft_err read_extra(struct tar_reader *reader, char type, uint64_t size)
{
    if (size > EXTRA_BYTES_MAX)
        return refuse(reader, "a header is too large");
    char *text = malloc((size_t)size + 1);
    weft_err code =
        text ? read_exactly(reader, text, (size_t)size) : err_no_memory("to read an archive");
    if (code == WEFT_OK)
        code = skip(reader, tar_pad(size));
    if (code == WEFT_OK && type == 'x') {
        code = read_records(reader, text, text + size);
    } else if (code == WEFT_OK && type == 'L') {
        reader->has_path = true;
        code = set_text(reader, reader->path, text, strnlen(text, (size_t)size));
    } else if (code == WEFT_OK && type == 'K') {
        reader->has_link = true;
        code = set_text(reader, reader->link, text, strnlen(text, (size_t)size));
    }
    free(text);
    return code;
}

static weft_err set_names(struct tar_reader *reader, const char *block)
{
    weft_err code = WEFT_OK;
    const bool is_ustar = memcmp(block + 257, "ustar\0", 6) == 0;
    const size_t prefix = is_ustar ? strnlen(block + PREFIX_AT, PREFIX_BYTES) : 0;
    const size_t name = strnlen(block, NAME_BYTES);
    if (!reader->has_path) {
        memcpy(reader->path, block + PREFIX_AT, prefix);
        if (prefix > 0)
            reader->path[prefix] = '/';
        code = set_text(reader, reader->path + prefix + (prefix > 0), block, name);
    }
    if (code == WEFT_OK && !reader->has_link)
        code = set_text(reader, reader->link, block + 157, strnlen(block + 157, NAME_BYTES));
    return code;
}

static enum tar_kind kind_of(char type)
{
    switch (type) {
    case 0:
    case '0':
    case '7':
        return TAR_FILE;
    case '1':
        return TAR_HARD_LINK;
    case '2':
        return TAR_LINK;
    case '5':
        return TAR_DIRECTORY;
    default:
        return TAR_OTHER;
    }
}

static weft_err set_entry(struct tar_reader *reader, const char *block, uint64_t size,
                          struct tar_entry *entry)
{
    uint64_t mode;
    const weft_err code = set_names(reader, block);
    if (code != WEFT_OK)
        return code;
    if (!read_number(block + 100, 8, &mode))
        return refuse(reader, "a mode is not a number");
    *entry = (struct tar_entry){.path = reader->path, .kind = kind_of(block[156])};
    size_t length = strlen(reader->path);
    // Old programs marked directories by a slash only.
    if (entry->kind == TAR_FILE && length > 0 && reader->path[length - 1] == '/')
        entry->kind = TAR_DIRECTORY;
    while (length > 1 && reader->path[length - 1] == '/')
        reader->path[--length] = 0;
    entry->is_executable = mode & 0100;
    if (entry->kind == TAR_LINK || entry->kind == TAR_HARD_LINK)
        entry->link = reader->link;
    reader->left = reader->has_size ? reader->size : size;
    // Links and directories may have a size that is not that of any content.
    if (entry->kind != TAR_FILE && entry->kind != TAR_OTHER)
        reader->left = 0;
    if (reader->left > INT64_MAX)
        return refuse(reader, "a size is too large");
    reader->padding = tar_pad(reader->left);
    entry->size = reader->left;
    return WEFT_OK;
}

static weft_err read_header(struct tar_reader *reader, char block[TAR_BLOCK_BYTES], uint64_t *size,
                            bool *is_end)
{
    uint64_t sum;
    weft_err code = read_exactly(reader, block, TAR_BLOCK_BYTES);
    if (code != WEFT_OK)
        return code;
    *is_end = is_empty(block);
    if (*is_end)
        return WEFT_OK;
    if (!read_number(block + CHECKSUM_AT, CHECKSUM_BYTES, &sum) || sum != sum_block(block))
        return refuse(reader, "a checksum is wrong");
    if (!read_number(block + 124, 12, size))
        return refuse(reader, "a size is not a number");
    return WEFT_OK;
}

static weft_err next(struct tar_reader *reader, struct tar_entry *entry, bool *is_end)
{
    char block[TAR_BLOCK_BYTES];
    weft_err code = skip(reader, reader->left + reader->padding);
    reader->left = reader->padding = 0;
    reader->has_path = reader->has_link = reader->has_size = false;
    for (int extras = 0; code == WEFT_OK; extras++) {
        uint64_t size = 0;
        code = read_header(reader, block, &size, is_end);
        if (code != WEFT_OK || *is_end)
            return code;
        const char type = block[156];
        if (type != 'x' && type != 'g' && type != 'L' && type != 'K')
            return set_entry(reader, block, size, entry);
        if (extras == EXTRAS_MAX)
            return refuse(reader, "too many headers");
        code = read_extra(reader, type, size);
    }
    return code;
}

weft_err tar_reader_next(struct tar_reader *reader, struct tar_entry *entry, bool *is_end)
{
    *is_end = false;
    if (reader->failed == WEFT_OK)
        reader->failed = next(reader, entry, is_end);
    return reader->failed;
}

weft_err tar_reader_read(struct tar_reader *reader, void *data, size_t size, size_t *got)
{
    *got = reader->left < size ? (size_t)reader->left : size;
    if (reader->failed == WEFT_OK)
        reader->failed = read_exactly(reader, data, *got);
    if (reader->failed != WEFT_OK)
        *got = 0;
    reader->left -= *got;
    return reader->failed;
}
