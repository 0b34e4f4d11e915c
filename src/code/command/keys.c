// Splitting lines, ordering keys, choosing parts.

#include "code/command/keys.h"

#include "base/args.h"
#include "code/command/words.h"

enum { TRAILER_BYTES = 4 };

// ---- Lines ------------------------------------------------------------------------------------------------

bool command_separator_init(struct command_separator *separator, const char *text)
{
    *separator = (struct command_separator){0};
    for (; *text; text++) {
        char byte = *text;
        if (byte == '\\' && text[1] && strchr("tn0\\", text[1])) {
            text++;
            byte = *text == 't' ? '\t' : *text == 'n' ? '\n' : *text == '0' ? 0 : '\\';
        }
        if (separator->size == COMMAND_SEPARATOR_BYTES_MAX)
            return false;
        separator->text[separator->size++] = byte;
    }
    return separator->size > 0;
}

static const char *find_separator(const struct command_separator *separator, const char *from,
                                  const char *end)
{
    const size_t size = (size_t)(end - from);
    if (size == 0)
        return NULL;
    return separator->size == 1 ? memchr(from, separator->text[0], size)
                                : memmem(from, size, separator->text, separator->size);
}

void command_split_line(const struct command_separator *separator, uint32_t fields, weft_bytes line,
                        weft_bytes *key, weft_bytes *value)
{
    const char *end = line.data + line.size, *from = line.data, *at = NULL;
    for (uint32_t i = 0; i < fields; i++) {
        at = find_separator(separator, from, end);
        if (!at)
            break;
        from = at + separator->size;
    }
    *key = line;
    *value = weft_none();
    if (!at)
        return;
    key->size = (size_t)(at - line.data);
    *value = (weft_bytes){from, (size_t)(end - from)};
}

// ---- Orders -------------------------------------------------------------------------------------------------

// Reads "-k1,1 -k2,2nr" with the code of `sort`.
static weft_err read_order(struct sort_order *order, const char *text,
                           const struct command_separator *separator)
{
    static const weft_job letters = {.name = "keys", .options = "k:nrbf"};
    struct command_words words = {0};
    struct weft_args args = {0};
    const char one[] = {separator->text[0], 0};
    const char *const separator_text = separator->text[0] ? one : "\\0";
    bool has_key = false;
    weft_err code = WEFT_OK;
    if (separator->size != 1)
        code = err_set(
            WEFT_INVALID_ARGUMENT,
            "keys can only be ordered by fields that one byte separates\n  try: --separator with one character");
    if (!code)
        code = command_words_init(&words, text);
    if (!code && words.words[0][0] != '-')
        code = err_set(WEFT_INVALID_ARGUMENT,
                       "it does not begin with '-'\n  write it like '-k1,1 -k2,2nr'");
    if (!code)
        code = args_parse_job(&letters, (char *const *)words.words, words.count, &args);
    has_key = !code && weft_option(&args, 'k', 0);
    if (!code && !has_key)  // only letters: they are about the whole key
        code = args_add_option(&args, 'k', "1");
    if (!code)
        code = args_add_option(&args, 't', separator_text);
    if (!code)
        code = sort_order_init(order, &args);
    // Keys that are equal by their fields come in the order of their bytes, whatever the letters say.
    order->is_reversed = false;
    command_words_fini(&words);
    args_fini(&args);
    return code;
}

weft_err command_keys_init(struct command_keys *keys, const char *order, const char *partition,
                           const struct command_separator *separator)
{
    *keys = (struct command_keys){0};
    weft_err code = WEFT_OK;
    if (order && *order) {
        keys->has_order = true;
        code =
            err_wrap(read_order(&keys->order, order, separator), "the order of keys '%s'", order);
    }
    if (code || !partition || !*partition)
        return code;
    if (strcmp(partition, "hash") == 0) {
        keys->partition = COMMAND_BY_HASH;
    } else if (strncmp(partition, "fields:", 7) == 0) {
        keys->partition = partition[7] ? COMMAND_BY_FIELDS : COMMAND_BY_TEXT;
        if (partition[7])
            code = err_wrap(read_order(&keys->fields, partition + 7, separator),
                            "the fields to partition by '%s'", partition + 7);
    } else {
        code = err_set(WEFT_INVALID_ARGUMENT,
                       "there is no way to partition by '%s'; there are hash and fields:-k1,2",
                       partition);
    }
    return code;
}

void command_keys_fini(struct command_keys *keys)
{
    sort_order_fini(&keys->order);
    sort_order_fini(&keys->fields);
}

weft_bytes command_keys_encode(const struct command_keys *keys, weft_bytes key, struct buf *room)
{
    if (!keys->has_order)
        return key;
    size_t offset;
    sort_order_encode(&keys->order, key, room, &offset);
    const uint32_t where = (uint32_t)offset;
    const char trailer[TRAILER_BYTES] = {(char)(where >> 24), (char)(where >> 16),
                                         (char)(where >> 8), (char)where};
    buf_append(room, trailer, sizeof trailer);
    return buf_bytes(room);
}

weft_bytes command_keys_decode(const struct command_keys *keys, weft_bytes encoded)
{
    if (!keys->has_order)
        return encoded;
    ASSERT(encoded.size >= TRAILER_BYTES);
    const unsigned char *trailer =
        (const unsigned char *)encoded.data + encoded.size - TRAILER_BYTES;
    const size_t offset =
        (size_t)trailer[0] << 24 | (size_t)trailer[1] << 16 | (size_t)trailer[2] << 8 | trailer[3];
    ASSERT(offset <= encoded.size - TRAILER_BYTES);
    return (weft_bytes){encoded.data + offset, encoded.size - TRAILER_BYTES - offset};
}

// ---- Parts ----------------------------------------------------------------------------------------------------

// Java's arithmetic: bytes are signed, integers wrap.
static uint32_t hash_bytes(uint32_t hash, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const int byte = (signed char)bytes[i];
        hash = 31 * hash + (uint32_t)byte;
    }
    return hash;
}

// Where field `index` begins; NULL: there are fewer fields.
static const char *find_field(weft_bytes key, char separator, size_t index)
{
    const char *at = key.data, *end = key.data + key.size;
    for (; index > 0; index--) {
        at = at < end ? memchr(at, separator, (size_t)(end - at)) : NULL;
        if (!at)
            return NULL;
        at++;
    }
    return at;
}

// The bytes of a key that one -k names, as Hadoop's KeyFieldHelper finds them; false: none.
static bool find_range(const struct sort_key *range, char separator, weft_bytes key,
                       weft_bytes *found)
{
    const char *end = key.data + key.size;
    const char *from = find_field(key, separator, range->start_field);
    if (!from || range->start_char >= (size_t)(end - from))
        return false;
    from += range->start_char;
    const char *last =
        range->end_field == SORT_TO_END ? NULL : find_field(key, separator, range->end_field);
    const char *until = end;
    if (last && range->end_char == 0) {
        until = memchr(last, separator, (size_t)(end - last));
        until = until ? until : end;
    } else if (last && range->end_char <= (size_t)(end - last)) {
        until = last + range->end_char;
    }
    *found = (weft_bytes){from, until > from ? (size_t)(until - from) : 0};
    return true;
}

static uint32_t hash_fields(const struct sort_order *fields, weft_bytes key)
{
    uint32_t hash = 0;
    for (size_t i = 0; i < fields->key_count; i++) {
        weft_bytes range;
        if (find_range(&fields->keys[i], fields->separator, key, &range))
            hash = hash_bytes(hash, range.data, range.size);
    }
    return hash;
}

// The next character of UTF-8, at least one byte of it; invalid bytes become U+FFFD, as in Java.
static uint32_t take_character(const unsigned char **at, const unsigned char *end)
{
    const unsigned char first = *(*at)++;
    const int more = first < 0x80 ? 0 : first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (more == 0)
        return first;
    uint32_t character = first & (0x3fu >> more);
    if (first < 0xc2 || first > 0xf4 || end - *at < more)
        return 0xfffd;
    for (int i = 0; i < more; i++) {
        if (((*at)[i] & 0xc0) != 0x80)
            return 0xfffd;
        character = character << 6 | ((*at)[i] & 0x3f);
    }
    *at += more;
    return character;
}

// Of a Java String: over units of UTF-16.
static uint32_t hash_text(weft_bytes key)
{
    const unsigned char *at = (const unsigned char *)key.data, *const end = at + key.size;
    uint32_t hash = 0;
    while (at < end) {
        const uint32_t character = take_character(&at, end);
        if (character >= 0x10000)
            hash = 31 * hash + (0xd800 + ((character - 0x10000) >> 10));
        hash = 31 * hash +
               (character >= 0x10000 ? 0xdc00 + ((character - 0x10000) & 0x3ff) : character);
    }
    return hash;
}

uint32_t command_keys_partition(const struct command_keys *keys, weft_bytes encoded,
                                uint32_t part_count)
{
    const weft_bytes key = command_keys_decode(keys, encoded);
    uint32_t hash = 0;
    if (keys->partition == COMMAND_BY_HASH)
        hash = hash_bytes(1, key.data, key.size);
    else if (keys->partition == COMMAND_BY_TEXT)
        hash = hash_text(key);
    else if (key.size > 0)
        hash = hash_fields(&keys->fields, key);
    return (hash & INT32_MAX) % part_count;
}
