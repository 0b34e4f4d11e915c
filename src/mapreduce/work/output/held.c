// Held text, in blocks: a long text fills block after block, and a block that is no longer needed
// waits in a list for the next text. A short text has memory of its own size.

#include "mapreduce/work/output/held.h"

#include <stdlib.h>
#include <string.h>

#include "sys/file/file.h"

enum {
    BLOCK_BYTES = 1 << 20,
    BLOCK_BYTES_FILLED = BLOCK_BYTES / 4,  // less than that gets no block
    BLOCKS_MIN = 8,                        // a store with less room has none
    COPY_BYTES = 256 << 10,
    BYTES_PER_MB = 1000000,
};

// An unused block: a link at its front.
struct held_block {
    struct held_block *next;
};

void held_store_init(struct held_store *store, const char *tmp, size_t bytes_max)
{
    *store = (struct held_store){.tmp = tmp, .bytes_max = bytes_max, .spool_fd = -1};
    mutex_init(&store->mutex);
}

// Called under the lock, or when no other thread is left.
static void free_unused(struct held_store *store, size_t bytes_wanted)
{
    while (store->unused && store->bytes > bytes_wanted) {
        struct held_block *block = store->unused;
        store->unused = block->next;
        store->bytes -= BLOCK_BYTES;
        free(block);
    }
}

void held_store_fini(struct held_store *store)
{
    free_unused(store, 0);
    file_close(store->spool_fd);
    mutex_fini(&store->mutex);
}

// ---- Memory -----------------------------------------------------------------------------------------

bool held_has_room(struct held_store *store, size_t size)
{
    mutex_lock(&store->mutex);
    size_t room = store->bytes < store->bytes_max ? store->bytes_max - store->bytes : 0;
    for (const struct held_block *at = store->unused; at && room < size; at = at->next)
        room += BLOCK_BYTES;
    mutex_unlock(&store->mutex);
    return size <= room;
}

// NULL: there is no room.
static char *get_memory(struct held_store *store, size_t capacity)
{
    mutex_lock(&store->mutex);
    struct held_block *block = capacity == BLOCK_BYTES ? store->unused : NULL;
    bool has_room = block;
    if (block) {
        store->unused = block->next;
    } else if (capacity <= store->bytes_max) {
        free_unused(store, store->bytes_max - capacity);
        has_room = store->bytes <= store->bytes_max - capacity;
        store->bytes += has_room ? capacity : 0;
    }
    mutex_unlock(&store->mutex);
    if (block || !has_room)
        return (char *)block;
    char *memory = malloc(capacity);
    if (memory)
        return memory;
    mutex_lock(&store->mutex);
    store->bytes -= capacity;
    mutex_unlock(&store->mutex);
    return NULL;
}

static void put_memory(struct held_store *store, char *memory, size_t capacity)
{
    if (!memory)
        return;
    if (capacity != BLOCK_BYTES)
        free(memory);
    mutex_lock(&store->mutex);
    if (capacity == BLOCK_BYTES) {
        struct held_block *block = (void *)memory;
        block->next = store->unused;
        store->unused = block;
    } else {
        store->bytes -= capacity;
    }
    mutex_unlock(&store->mutex);
}

// ---- Adding -----------------------------------------------------------------------------------------

static weft_err spool(struct held_store *store, struct held_chunk *chunk, weft_bytes text)
{
    mutex_lock(&store->mutex);
    weft_err err = WEFT_OK;
    if (store->spool_fd < 0)
        err = file_create_nameless(store->tmp, &store->spool_fd);
    const int fd = store->spool_fd;
    chunk->spool_offset = store->spool_size;
    store->spool_size += err ? 0 : text.size;
    mutex_unlock(&store->mutex);
    if (!err)
        err = file_write_at(fd, store->tmp, text.data, text.size, chunk->spool_offset);
    if (err == WEFT_RESOURCE_EXHAUSTED)
        return err_set(err,
                       "no room in %s for output that waits (%llu MB so far); free some or give "
                       "--tmp another directory",
                       store->tmp, (unsigned long long)(chunk->spool_offset / BYTES_PER_MB));
    return err_wrap(err, "output that waits");
}

// Fills the rest of the last chunk, and cuts that off the text.
static void fill_last(struct held *held, weft_bytes *text)
{
    if (held->chunks.count == 0 || text->size == 0)
        return;
    struct held_chunk *last = &held->chunks.items[held->chunks.count - 1];
    const size_t room = last->memory ? last->capacity - last->size : 0;
    const size_t size = text->size < room ? text->size : room;
    if (size == 0)
        return;
    memcpy(last->memory + last->size, text->data, size);
    last->size += size;
    *text = (weft_bytes){text->data + size, text->size - size};
}

static bool has_blocks(const struct held_store *store)
{
    return store->bytes_max >= (size_t)BLOCKS_MIN * BLOCK_BYTES;
}

weft_err held_add(struct held_store *store, struct held *held, weft_bytes text)
{
    while (fill_last(held, &text), text.size > 0) {
        struct held_chunk *chunk = VEC_NEXT(&held->chunks);
        if (!chunk)
            return err_no_memory("for output that waits");
        const bool is_block = text.size >= BLOCK_BYTES_FILLED && has_blocks(store);
        const size_t capacity = is_block ? BLOCK_BYTES : text.size;
        *chunk = (struct held_chunk){.capacity = capacity, .memory = get_memory(store, capacity)};
        if (!chunk->memory) {
            const weft_err err = spool(store, chunk, text);
            if (err)
                return err;
            chunk->size = text.size;
            text.size = 0;
        }
        held->chunks.count++;
    }
    return WEFT_OK;
}

char *held_room(struct held_store *store, struct held *held, size_t *size)
{
    struct held_chunk *last =
        held->chunks.count ? &held->chunks.items[held->chunks.count - 1] : NULL;
    if (!last || !last->memory || last->capacity - last->size < *size) {
        last = *size <= BLOCK_BYTES && has_blocks(store) ? VEC_NEXT(&held->chunks) : NULL;
        char *memory = last ? get_memory(store, BLOCK_BYTES) : NULL;
        if (!memory)
            return NULL;
        *last = (struct held_chunk){.memory = memory, .capacity = BLOCK_BYTES};
        held->chunks.count++;
    }
    *size = last->capacity - last->size;
    return last->memory + last->size;
}

void held_fill(struct held *held, size_t size)
{
    held->chunks.items[held->chunks.count - 1].size += size;
}

// ---- Writing ----------------------------------------------------------------------------------------

static weft_err copy_from_spool(struct held_store *store, int fd, const char *path,
                                const struct held_chunk *chunk, uint64_t offset)
{
    char *buffer = malloc(COPY_BYTES);
    weft_err err = buffer ? WEFT_OK : err_no_memory("for the output");
    for (size_t done = 0; done < chunk->size && !err;) {
        const size_t left = chunk->size - done;
        size_t got;
        err = file_read_at(store->spool_fd, store->tmp, buffer,
                           left < COPY_BYTES ? left : COPY_BYTES, chunk->spool_offset + done, &got);
        if (!err && got == 0)
            err = err_set(WEFT_DATA_LOSS, "output that waited in %s is gone", store->tmp);
        if (!err)
            err = file_write_at(fd, path, buffer, got, offset + done);
        done += got;
    }
    free(buffer);
    return err;
}

weft_err held_write(struct held_store *store, struct held *held, int fd, const char *path,
                    uint64_t *offset)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; i < held->chunks.count && !err; i++) {
        struct held_chunk *chunk = &held->chunks.items[i];
        err = chunk->memory ? file_write_at(fd, path, chunk->memory, chunk->size, *offset)
                            : copy_from_spool(store, fd, path, chunk, *offset);
        *offset += chunk->size;
        put_memory(store, chunk->memory, chunk->capacity);
        chunk->memory = NULL;
    }
    held_drop(store, held);
    return err;
}

void held_drop(struct held_store *store, struct held *held)
{
    for (size_t i = 0; i < held->chunks.count; i++)
        put_memory(store, held->chunks.items[i].memory, held->chunks.items[i].capacity);
    VEC_FINI(&held->chunks);
}
