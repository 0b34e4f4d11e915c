// A challenge is a list of NAME=VALUE, the values of some in quotes.

#include "wire/hadoop/digest.h"

#include <stdio.h>

#include "base/md5.h"

enum { VALUE_BYTES = 512 };

struct challenge {
    char realm[VALUE_BYTES], nonce[VALUE_BYTES], qop[VALUE_BYTES], algorithm[VALUE_BYTES];
    bool has_realm, has_nonce, has_qop, has_algorithm;
};

// ---- The challenge -------------------------------------------------------------------------------------------

static weft_err refuse(void)
{
    return err_set(WEFT_DATA_LOSS, "what should be a challenge of DIGEST-MD5 is none");
}

static bool skip(weft_bytes *from, const char *set)
{
    const size_t before = from->size;
    while (from->size > 0 && from->data[0] && strchr(set, from->data[0]))
        from->data++, from->size--;
    return from->size < before;
}

// A word up to one of the given characters.
static weft_bytes take_word(weft_bytes *from, const char *ends)
{
    weft_bytes word = {from->data, 0};
    while (from->size > 0 && !(from->data[0] && strchr(ends, from->data[0]))) {
        from->data++, from->size--;
        word.size++;
    }
    return word;
}

static bool take_value(weft_bytes *from, weft_bytes *value)
{
    if (from->size == 0 || from->data[0] != '"') {
        *value = take_word(from, ", \t\r\n");
        return true;
    }
    from->data++, from->size--;
    *value = take_word(from, "\"");
    if (from->size == 0)
        return false;
    from->data++, from->size--;
    return true;
}

// False: it is longer than any of Hadoop's, or has what would end a quoted text of ours.
static bool keep(weft_bytes value, char text[VALUE_BYTES])
{
    if (value.size >= VALUE_BYTES)
        return false;
    for (size_t i = 0; i < value.size; i++)
        if ((unsigned char)value.data[i] < ' ' || value.data[i] == '\\' || value.data[i] == '"')
            return false;
    memcpy(text, value.data ? value.data : "", value.size);
    text[value.size] = 0;
    return true;
}

static weft_err read_pair(struct challenge *challenge, weft_bytes *from)
{
    const struct {
        const char *name;
        char *value;
        bool *is_there;
    } wanted[] = {{"realm", challenge->realm, &challenge->has_realm},
                  {"nonce", challenge->nonce, &challenge->has_nonce},
                  {"qop", challenge->qop, &challenge->has_qop},
                  {"algorithm", challenge->algorithm, &challenge->has_algorithm}};
    weft_bytes value;
    const weft_bytes name = take_word(from, "= \t\r\n,");
    skip(from, " \t\r\n");
    if (name.size == 0 || from->size == 0 || from->data[0] != '=')
        return refuse();
    from->data++, from->size--;
    skip(from, " \t\r\n");
    if (!take_value(from, &value))
        return refuse();
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (strlen(wanted[i].name) != name.size ||
            memcmp(wanted[i].name, name.data, name.size) != 0)
            continue;
        // A realm may be offered several times: the first one is as good as any.
        if (!*wanted[i].is_there && !keep(value, wanted[i].value))
            return refuse();
        *wanted[i].is_there = true;
    }
    return WEFT_OK;
}

// "auth,auth-int": whether one of the words is "auth". Without the list only that is meant.
static bool has_auth(const struct challenge *challenge)
{
    const char *at = challenge->qop;
    while (*at) {
        at += strspn(at, ", \t");
        const size_t size = strcspn(at, ", \t");
        if (size == 4 && memcmp(at, "auth", 4) == 0)
            return true;
        at += size;
    }
    return !challenge->has_qop;
}

static weft_err read_challenge(weft_bytes from, struct challenge *challenge)
{
    *challenge = (struct challenge){0};
    skip(&from, ", \t\r\n");
    while (from.size > 0) {
        const weft_err err = read_pair(challenge, &from);
        if (err)
            return err;
        if (!skip(&from, ", \t\r\n") && from.size > 0)
            return refuse();
    }
    if (!challenge->has_nonce || !challenge->has_algorithm ||
        strcmp(challenge->algorithm, "md5-sess") != 0)
        return refuse();
    if (!has_auth(challenge))
        return err_set(WEFT_UNIMPLEMENTED,
                       "the service wants its remote calls signed or encrypted "
                       "(hadoop.rpc.protection is %s), which Weft cannot do",
                       challenge->qop);
    return WEFT_OK;
}

// ---- The answer ------------------------------------------------------------------------------------------------

static void write_hex(const uint8_t digest[MD5_BYTES], char hex[DIGEST_TEXT_BYTES])
{
    for (size_t i = 0; i < MD5_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

// The hash of texts with a colon between each two, after `head`.
static void hash(const uint8_t *head, const char *const *texts, size_t count,
                 uint8_t digest[MD5_BYTES])
{
    struct md5 md5;
    md5_init(&md5);
    if (head)
        md5_add(&md5, head, MD5_BYTES);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 || head)
            md5_add(&md5, ":", 1);
        md5_add(&md5, texts[i], strlen(texts[i]));
    }
    md5_end(&md5, digest);
}

static void respond(const struct digest_login *login, const struct challenge *challenge,
                    const char *method, char response[DIGEST_TEXT_BYTES])
{
    uint8_t digest[MD5_BYTES];
    char first[DIGEST_TEXT_BYTES], second[DIGEST_TEXT_BYTES];
    hash(NULL, (const char *const[]){login->user, challenge->realm, login->password}, 3, digest);
    hash(digest, (const char *const[]){challenge->nonce, login->nonce}, 2, digest);
    write_hex(digest, first);
    hash(NULL, (const char *const[]){method, login->uri}, 2, digest);
    write_hex(digest, second);
    hash(NULL,
         (const char *const[]){first, challenge->nonce, "00000001", login->nonce, "auth", second},
         6, digest);
    write_hex(digest, response);
}

weft_err digest_answer(const struct digest_login *login, weft_bytes challenge_bytes,
                       struct buf *answer, char expected[DIGEST_TEXT_BYTES])
{
    struct challenge challenge;
    char response[DIGEST_TEXT_BYTES];
    const weft_err err = read_challenge(challenge_bytes, &challenge);
    if (err)
        return err;
    respond(login, &challenge, "AUTHENTICATE", response);
    respond(login, &challenge, "", expected);
    buf_format(answer,
               "charset=utf-8,username=\"%s\",realm=\"%s\",nonce=\"%s\",nc=00000001,cnonce=\"%s\","
               "digest-uri=\"%s\",maxbuf=65536,response=%s,qop=auth",
               login->user, challenge.realm, challenge.nonce, login->nonce, login->uri, response);
    return answer->has_failed ? err_no_memory("for a login") : WEFT_OK;
}

void digest_append_base64(struct buf *out, weft_bytes bytes)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.size; i += 3) {
        const size_t left = bytes.size - i < 3 ? bytes.size - i : 3;
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < left ? (uint8_t)bytes.data[i + k] : 0);
        char four[4];
        for (size_t k = 0; k < 4; k++)
            four[k] = k <= left ? letters[bits >> (18 - 6 * k) & 63] : '=';
        buf_append(out, four, sizeof four);
    }
}
