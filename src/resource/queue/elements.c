// The chain of chunks, and the heap of elements that came back.

#include "resource/queue/elements.h"

#include <string.h>

#include "sys/machine/mem.h"

enum {
    CHUNK_BYTES_MIN = 4 << 10,  // a queue that holds little costs little
    CHUNK_BYTES_MAX = 1 << 20,
    TOUCH_BYTES = 128 << 10,  // of a large chunk, that are brought in at once
};

struct chunk {
    struct chunk *next, *previous;  // in the chain or among the held
    size_t capacity, used;
    size_t touched;  // its memory is there up to here
    size_t live;     // elements that are not dropped
    bool is_passed;  // the reader is beyond it: it goes with its last element
    bool is_held;    // not in the chain
    _Alignas(8) char bytes[];
};

static size_t room_for(size_t size)
{
    return (sizeof(struct element) + size + 7) & ~(size_t)7;
}

static struct chunk *chunk_of(struct element *element)
{
    return (struct chunk *)(void *)((char *)element - element->chunk_offset);
}

static struct element *element_at(const struct chunk *chunk, size_t at)
{
    return (struct element *)(void *)((char *)chunk->bytes + at);
}

static struct chunk *make_chunk(struct elements *elements, size_t needed)
{
    struct chunk *spare = elements->spare;
    if (spare && spare->capacity >= needed) {
        elements->spare = NULL;
        *spare = (struct chunk){.capacity = spare->capacity, .touched = spare->touched};
        return spare;
    }
    size_t capacity = elements->last ? elements->last->capacity * 2 : CHUNK_BYTES_MIN;
    if (capacity > CHUNK_BYTES_MAX)
        capacity = CHUNK_BYTES_MAX;
    if (capacity < needed)
        capacity = needed;
    struct chunk *chunk = malloc(sizeof *chunk + capacity);
    if (chunk)
        *chunk = (struct chunk){.capacity = capacity,
                                .touched = capacity < CHUNK_BYTES_MAX ? capacity : 0};
    return chunk;
}

// A long queue lives in fresh memory. A fault for every page of it would be a sixth of a push.
static void touch(struct chunk *chunk, size_t needed)
{
    const size_t left = chunk->capacity - chunk->touched;
    const size_t missing = chunk->used + needed - chunk->touched;
    const size_t wanted = missing < TOUCH_BYTES ? TOUCH_BYTES : missing;
    const size_t size = wanted < left ? wanted : left;
    mem_touch(chunk->bytes + chunk->touched, size);
    chunk->touched += size;
}

static void free_chunk(struct elements *elements, struct chunk *chunk)
{
    if (chunk->capacity > CHUNK_BYTES_MAX ||
        (elements->spare && elements->spare->capacity >= chunk->capacity)) {
        free(chunk);
        return;
    }
    free(elements->spare);
    elements->spare = chunk;
}

static void free_chain(struct chunk *chunk)
{
    while (chunk) {
        struct chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
}

// ---- The heap -----------------------------------------------------------------------------------------

static void heap_up(struct element **heap, size_t at)
{
    for (size_t parent; at > 0 && heap[parent = (at - 1) / 2]->id > heap[at]->id; at = parent) {
        struct element *swap = heap[parent];
        heap[parent] = heap[at];
        heap[at] = swap;
    }
}

static void heap_down(struct element **heap, size_t count)
{
    for (size_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1]->id < heap[child]->id)
            child++;
        if (heap[at]->id < heap[child]->id)
            return;
        struct element *swap = heap[child];
        heap[child] = heap[at];
        heap[at] = swap;
    }
}

// Room in the heap for all taken elements: a return must not fail.
static bool can_return_one_more(struct elements *elements)
{
    const size_t needed = elements->returned.count + elements->taken_count + 1;
    if (needed <= elements->returned.capacity)
        return true;
    const size_t capacity = needed * 2;
    struct element **items = realloc(elements->returned.items, capacity * sizeof *items);
    if (!items)
        return false;
    elements->returned.items = items;
    elements->returned.capacity = capacity;
    return true;
}

static struct element *take_returned(struct elements *elements)
{
    struct element **heap = elements->returned.items;
    struct element *first = heap[0];
    heap[0] = heap[--elements->returned.count];
    heap_down(heap, elements->returned.count);
    return first;
}

// ---- Adding ----------------------------------------------------------------------------------------------

void elements_fini(struct elements *elements)
{
    free_chain(elements->held);
    free_chain(elements->first);
    free(elements->spare);
    VEC_FINI(&elements->returned);
    *elements = (struct elements){0};
}

static struct element *place(struct chunk *chunk, uint64_t id, uint32_t deliveries,
                             weft_bytes bytes, bool is_tuple)
{
    struct element *element = element_at(chunk, chunk->used);
    element->id = id;
    element->size = (uint32_t)bytes.size;
    element->chunk_offset = (uint32_t)((char *)element - (char *)chunk);
    element->deliveries = deliveries;
    element->is_tuple = is_tuple;
    if (bytes.size)
        memcpy(element->bytes, bytes.data, bytes.size);
    chunk->used += room_for(bytes.size);
    chunk->live++;
    return element;
}

static struct chunk *chunk_with_room(struct elements *elements, size_t needed)
{
    struct chunk *last = elements->last;
    if (last && last->capacity - last->used >= needed)
        return last;
    struct chunk *chunk = make_chunk(elements, needed);
    if (!chunk)
        return NULL;
    chunk->previous = last;
    if (last)
        last->next = chunk;
    else
        elements->first = elements->reading = chunk;
    elements->last = chunk;
    return chunk;
}

struct element *elements_restore(struct elements *elements, uint64_t id, uint32_t deliveries,
                                 weft_bytes bytes, bool is_tuple)
{
    const size_t needed = room_for(bytes.size);
    struct chunk *chunk = chunk_with_room(elements, needed);
    if (!chunk)
        return NULL;
    if (chunk->used + needed > chunk->touched)
        touch(chunk, needed);
    struct element *element = place(chunk, id, deliveries, bytes, is_tuple);
    if (elements->last_id < id)
        elements->last_id = id;
    elements->count++;
    elements->bytes += bytes.size;
    return element;
}

struct element *elements_add(struct elements *elements, weft_bytes bytes, bool is_tuple)
{
    return elements_restore(elements, elements->last_id + 1, 0, bytes, is_tuple);
}

struct element *elements_restore_taken(struct elements *elements, uint64_t id, uint32_t deliveries,
                                       weft_bytes bytes, bool is_tuple)
{
    const size_t needed = room_for(bytes.size);
    struct chunk *chunk = can_return_one_more(elements) ? malloc(sizeof *chunk + needed) : NULL;
    if (!chunk)
        return NULL;
    *chunk = (struct chunk){.capacity = needed, .next = elements->held, .is_held = true};
    if (chunk->next)
        chunk->next->previous = chunk;
    elements->held = chunk;
    elements->taken_count++;
    return place(chunk, id, deliveries, bytes, is_tuple);
}

// ---- Taking ----------------------------------------------------------------------------------------------

static void unchain(struct elements *elements, struct chunk *chunk)
{
    if (chunk->next)
        chunk->next->previous = chunk->previous;
    else if (!chunk->is_held)
        elements->last = chunk->previous;
    if (chunk->previous)
        chunk->previous->next = chunk->next;
    else if (chunk->is_held)
        elements->held = chunk->next;
    else
        elements->first = chunk->next;
}

// Frees the chunk if the reader has passed it, lets it start again if the reader is at its end.
static void retire_if_dead(struct elements *elements, struct chunk *chunk)
{
    if (chunk->live > 0)
        return;
    if (chunk->is_passed || chunk->is_held) {
        unchain(elements, chunk);
        free_chunk(elements, chunk);
    } else if (chunk == elements->reading && elements->read_at == chunk->used) {
        chunk->used = elements->read_at = 0;
    }
}

// The next of the chain, which is not read to its end.
static struct element *first_of_chain(struct elements *elements)
{
    struct chunk *chunk = elements->reading;
    while (elements->read_at == chunk->used) {
        chunk->is_passed = true;
        elements->reading = chunk->next;
        elements->read_at = 0;
        retire_if_dead(elements, chunk);
        chunk = elements->reading;
    }
    return element_at(chunk, elements->read_at);
}

// An element that came back was read before every element still in the chain, except after a snapshot: a snapshot puts
// the elements that had come back by then into the chain.
static bool has_returned_first(struct elements *elements)
{
    const size_t returned = elements->returned.count;
    return returned == elements->count ||
           (returned && elements->returned.items[0]->id < first_of_chain(elements)->id);
}

static struct element *take_next_of_chain(struct elements *elements)
{
    struct element *element = first_of_chain(elements);
    elements->read_at += room_for(element->size);
    return element;
}

struct element *elements_take(struct elements *elements)
{
    if (elements->count == 0 || !can_return_one_more(elements))
        return NULL;
    struct element *element =
        has_returned_first(elements) ? take_returned(elements) : take_next_of_chain(elements);
    elements->count--;
    elements->taken_count++;
    elements->bytes -= element->size;
    return element;
}

void elements_return(struct elements *elements, struct element *element)
{
    elements->taken_count--;
    elements->count++;
    elements->bytes += element->size;
    elements->returned.items[elements->returned.count] = element;
    heap_up(elements->returned.items, elements->returned.count++);
}

void elements_drop(struct elements *elements, struct element *element)
{
    struct chunk *chunk = chunk_of(element);
    elements->taken_count--;
    chunk->live--;
    retire_if_dead(elements, chunk);
}

// ---- Walking ---------------------------------------------------------------------------------------------

static int compare_ids(const void *a, const void *b)
{
    const struct element *x = *(struct element *const *)a, *y = *(struct element *const *)b;
    return (x->id > y->id) - (x->id < y->id);
}

static void start_walk(const struct elements *elements, struct elements_walk *walk)
{
    walk->has_started = true;
    walk->chunk = elements->reading;
    walk->at = elements->read_at;
    const size_t count = elements->returned.count;
    walk->sorted = count ? malloc(count * sizeof *walk->sorted) : NULL;
    if (!walk->sorted)
        return;
    memcpy(walk->sorted, elements->returned.items, count * sizeof *walk->sorted);
    qsort(walk->sorted, count, sizeof *walk->sorted, compare_ids);
}

struct element *elements_next(const struct elements *elements, struct elements_walk *walk)
{
    if (!walk->has_started)
        start_walk(elements, walk);
    while (walk->chunk && walk->at == walk->chunk->used) {
        walk->chunk = walk->chunk->next;
        walk->at = 0;
    }
    struct element *next = walk->chunk ? element_at(walk->chunk, walk->at) : NULL;
    if (walk->returned_at < elements->returned.count) {
        struct element **from = walk->sorted ? walk->sorted : elements->returned.items;
        if (!next || from[walk->returned_at]->id < next->id)
            return from[walk->returned_at++];
    }
    if (next)
        walk->at += room_for(next->size);
    return next;
}

void elements_end_walk(struct elements_walk *walk)
{
    free(walk->sorted);
    walk->sorted = NULL;
}
