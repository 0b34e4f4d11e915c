// Hadoop's own numbers of variable length: a byte from -112 on is the number; one below it says how many bytes follow, the
// largest first, and whether the number is negative, which no size is.

#include "wire/hadoop/token_file.h"

#include "wire/hadoop.pb-c.h"
#include "wire/hadoop/delimited.h"

enum { MAGIC_BYTES = 5, INLINE_MIN = -112, POSITIVE_MIN = -120 };

static weft_err refuse(void)
{
    return err_set(
        WEFT_DATA_LOSS,
        "the tokens of Hadoop cannot be read: the file is of another kind, or it is cut off");
}

static bool read_size(weft_bytes *from, size_t *size)
{
    if (from->size == 0)
        return false;
    const int8_t first = (int8_t)from->data[0];
    const size_t count = first >= INLINE_MIN ? 0 : (size_t)(INLINE_MIN - first);
    uint64_t value = first >= 0 ? (uint64_t)first : 0;
    if ((first < 0 && first >= INLINE_MIN) || first < POSITIVE_MIN || from->size - 1 < count)
        return false;
    for (size_t i = 0; i < count; i++)
        value = value << 8 | (uint8_t)from->data[1 + i];
    from->data += 1 + count;
    from->size -= 1 + count;
    *size = (size_t)value;
    return value <= SIZE_MAX / 2;
}

static bool read_bytes(weft_bytes *from, weft_bytes *bytes)
{
    size_t size;
    if (!read_size(from, &size) || size > from->size)
        return false;
    *bytes = (weft_bytes){from->data, size};
    from->data += size;
    from->size -= size;
    return true;
}

// Version 0. An entry has some bytes, so a count that lies ends with them.
static weft_err read_plain(weft_bytes from, struct token_file *file)
{
    size_t count = 0;
    if (!read_size(&from, &count))
        return refuse();
    for (size_t i = 0; i < count; i++) {
        struct hadoop_token token;
        if (!read_bytes(&from, &token.alias) || !read_bytes(&from, &token.identifier) ||
            !read_bytes(&from, &token.password) || !read_bytes(&from, &token.kind) ||
            !read_bytes(&from, &token.service))
            return refuse();
        if (!VEC_PUSH(&file->tokens, token))
            return err_no_memory("for tokens");
    }
    if (!read_size(&from, &count))
        return refuse();
    for (size_t i = 0; i < count; i++) {
        struct hadoop_secret secret;
        if (!read_bytes(&from, &secret.alias) || !read_bytes(&from, &secret.value))
            return refuse();
        if (!VEC_PUSH(&file->secrets, secret))
            return err_no_memory("for tokens");
    }
    return WEFT_OK;
}

static weft_bytes text_bytes(const char *text)
{
    return (weft_bytes){text ? text : "", text ? strlen(text) : 0};
}

static weft_bytes data_bytes(ProtobufCBinaryData data)
{
    return (weft_bytes){(const char *)data.data, data.len};
}

static weft_err read_message(weft_bytes from, struct token_file *file)
{
    if (delimited_read(&from, &hadoop__credentials__descriptor, &file->message))
        return refuse();
    const Hadoop__Credentials *all = (const Hadoop__Credentials *)file->message;
    for (size_t i = 0; i < all->n_tokens; i++) {
        const Hadoop__Token *token = all->tokens[i]->token;
        if (!token)
            return refuse();
        const struct hadoop_token one = {text_bytes(all->tokens[i]->alias),
                                         data_bytes(token->identifier), data_bytes(token->password),
                                         text_bytes(token->kind), text_bytes(token->service)};
        if (!VEC_PUSH(&file->tokens, one))
            return err_no_memory("for tokens");
    }
    for (size_t i = 0; i < all->n_secrets; i++) {
        const struct hadoop_secret one = {text_bytes(all->secrets[i]->alias),
                                          data_bytes(all->secrets[i]->secret)};
        if (!VEC_PUSH(&file->secrets, one))
            return err_no_memory("for tokens");
    }
    return WEFT_OK;
}

weft_err token_file_read(weft_bytes bytes, struct token_file *file)
{
    *file = (struct token_file){0};
    if (bytes.size < MAGIC_BYTES || memcmp(bytes.data, "HDTS", 4) != 0)
        return refuse();
    const char version = bytes.data[4];
    const weft_bytes rest = {bytes.data + MAGIC_BYTES, bytes.size - MAGIC_BYTES};
    if (version == 0)
        return read_plain(rest, file);
    if (version == 1)
        return read_message(rest, file);
    return err_set(WEFT_DATA_LOSS, "tokens of Hadoop in a form that Weft does not know (%d)",
                   version);
}

void token_file_fini(struct token_file *file)
{
    VEC_FINI(&file->tokens);
    VEC_FINI(&file->secrets);
    if (file->message)
        protobuf_c_message_free_unpacked(file->message, NULL);
    file->message = NULL;
}

static bool is_text(weft_bytes bytes, const char *text)
{
    return bytes.size == strlen(text) &&
           memcmp(bytes.data ? bytes.data : "", text, bytes.size) == 0;
}

const struct hadoop_token *token_file_find(const struct token_file *file, const char *kind)
{
    for (size_t i = 0; i < file->tokens.count; i++)
        if (is_text(file->tokens.items[i].kind, kind))
            return &file->tokens.items[i];
    return NULL;
}

const struct hadoop_secret *token_file_find_secret(const struct token_file *file, const char *name)
{
    for (size_t i = 0; i < file->secrets.count; i++)
        if (is_text(file->secrets.items[i].alias, name))
            return &file->secrets.items[i];
    return NULL;
}

// ---- Writing -------------------------------------------------------------------------------------------------

static void write_size(struct buf *out, size_t size)
{
    char bytes[9];
    size_t count = 0;
    if (size > 127)
        for (size_t left = size; left > 0; left >>= 8)
            count++;
    bytes[0] = (char)(count ? INLINE_MIN - (int)count : (int)size);
    for (size_t i = 0; i < count; i++)
        bytes[1 + i] = (char)(size >> (8 * (count - 1 - i)));
    buf_append(out, bytes, 1 + count);
}

static void write_bytes(struct buf *out, weft_bytes bytes)
{
    write_size(out, bytes.size);
    buf_append(out, bytes.data, bytes.size);
}

void token_file_write(struct buf *out, const struct token_file *file)
{
    buf_append(out, "HDTS\0", MAGIC_BYTES);
    write_size(out, file->tokens.count);
    for (size_t i = 0; i < file->tokens.count; i++) {
        const struct hadoop_token *token = &file->tokens.items[i];
        const weft_bytes parts[] = {token->alias, token->identifier, token->password, token->kind,
                                    token->service};
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            write_bytes(out, parts[k]);
    }
    write_size(out, file->secrets.count);
    for (size_t i = 0; i < file->secrets.count; i++) {
        write_bytes(out, file->secrets.items[i].alias);
        write_bytes(out, file->secrets.items[i].value);
    }
}
