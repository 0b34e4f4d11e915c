// digest: a small table of files that were hashed, the oldest of which goes.

#include "store/cache/digest.h"

#include <stdio.h>
#include <stdlib.h>

#include "sys/file/find.h"
#include "sys/thread/thread.h"
#include "sys/time/clock.h"

enum {
    READ_BYTES = 256 << 10,
    REMEMBERED_MAX = 64,  // a program with its libraries has a dozen files
    SETTLED_S =
        2,  // a file that was changed later may change once more within one tick of its clock
};

struct remembered {
    uint64_t device, inode, size;
    int64_t mtime_ns;
    struct digest digest;
};

static struct {
    struct mutex lock;  // guards all of it
    struct remembered list[REMEMBERED_MAX];
    size_t count;  // so far; the next one goes to its rest
} memory = {.lock = MUTEX_INITIALIZER};

static bool is_same(const struct found *a, const struct found *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->mtime_ns == b->mtime_ns;
}

static weft_err read_bytes(int fd, const char *path, struct digest *digest)
{
    char *block = malloc(READ_BYTES);
    struct sha256 sha;
    weft_err code = block ? WEFT_OK : err_no_memory("to read %s", path);
    size_t got = READ_BYTES;
    sha256_init(&sha);
    digest->size = 0;
    while (code == WEFT_OK && got == READ_BYTES) {
        code = file_read_at(fd, path, block, READ_BYTES, digest->size, &got);
        if (code == WEFT_OK)
            sha256_add(&sha, block, got);
        digest->size += got;
    }
    sha256_end(&sha, digest->sha256);
    free(block);
    return code;
}

static weft_err read_settled(int fd, const char *path, struct digest *digest, struct found *found)
{
    struct found after;
    weft_err code = find_look_fd(fd, path, found);
    if (code == WEFT_OK)
        code = read_bytes(fd, path, digest);
    if (code == WEFT_OK)
        code = find_look_fd(fd, path, &after);
    if (code == WEFT_OK && (!is_same(found, &after) || digest->size != after.size))
        code = err_set(WEFT_DATA_LOSS, "%s was changed while it was read", path);
    return code;
}

weft_err digest_read(int fd, const char *path, struct digest *digest)
{
    struct found found;
    return read_settled(fd, path, digest, &found);
}

static bool recall(const struct found *found, struct digest *digest)
{
    bool is_found = false;
    mutex_lock(&memory.lock);
    const size_t count = memory.count < REMEMBERED_MAX ? memory.count : REMEMBERED_MAX;
    for (size_t i = 0; i < count && !is_found; i++) {
        const struct remembered *at = &memory.list[i];
        is_found = at->device == found->device && at->inode == found->inode &&
                   at->size == found->size && at->mtime_ns == found->mtime_ns;
        if (is_found)
            *digest = at->digest;
    }
    mutex_unlock(&memory.lock);
    return is_found;
}

static void remember(const struct found *found, const struct digest *digest)
{
    if (found->mtime_ns / 1000000000 > clock_calendar_s() - SETTLED_S)
        return;
    mutex_lock(&memory.lock);
    memory.list[memory.count++ % REMEMBERED_MAX] =
        (struct remembered){found->device, found->inode, found->size, found->mtime_ns, *digest};
    mutex_unlock(&memory.lock);
}

weft_err digest_recall(int fd, const char *path, struct digest *digest)
{
    struct found found;
    weft_err code = find_look_fd(fd, path, &found);
    if (code != WEFT_OK || recall(&found, digest))
        return code;
    code = read_settled(fd, path, digest, &found);
    if (code == WEFT_OK)
        remember(&found, digest);
    return code;
}

bool digest_is(const struct digest *digest, uint64_t size, const uint8_t sha256[SHA256_BYTES])
{
    return digest->size == size && memcmp(digest->sha256, sha256, SHA256_BYTES) == 0;
}

void digest_write(const uint8_t sha256[SHA256_BYTES], char text[DIGEST_TEXT_BYTES])
{
    for (size_t i = 0; i < SHA256_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", sha256[i]);
}

bool digest_is_text(const char *text)
{
    const size_t length = DIGEST_TEXT_BYTES - 1;
    return strlen(text) == length && strspn(text, "0123456789abcdef") == length;
}

static unsigned digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

bool digest_read_text(const char *text, uint8_t sha256[SHA256_BYTES])
{
    if (!digest_is_text(text))
        return false;
    for (size_t i = 0; i < SHA256_BYTES; i++)
        sha256[i] = (uint8_t)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
    return true;
}
