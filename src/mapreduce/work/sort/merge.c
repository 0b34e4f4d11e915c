// Merging by a loser tree: the leaves are the streams, every inner node remembers who lost there, and
// the winner of all stands above. Taking the winner's next pair replays only its way to the top.
//
//            [0] winner             nodes 1 .. k-1 hold losers, stream i enters at (k + i) / 2;
//             |                     it works for any k, the tree is then a little crooked
//            [1]
//           /   \.
//        [2]     [3]                node = {prefix, stream}: the loser mostly follows from the
//        / \     / \.               prefix alone, without touching the pair
//      s0   s1 s2   s3
//
// A stream that has ended keeps losing: it has the largest prefix, and a tie looks at `has_pair`.

#include "mapreduce/work/sort/merge.h"

#include <stdlib.h>

#include "base/vec.h"
#include "mapreduce/work/run/run_file.h"

struct node {
    uint64_t prefix;
    uint32_t stream;
};

struct source {
    struct pair_stream *stream;
    struct pair pair;
    bool has_pair;
};

struct merge {
    struct key_order order;
    VEC(struct source) sources;
    struct node *nodes;  // NULL until the first merge_next
};

struct merge *merge_new(const struct key_order *order)
{
    struct merge *merge = calloc(1, sizeof *merge);
    if (!merge) {
        err_no_memory("to merge");
        return NULL;
    }
    merge->order = *order;
    return merge;
}

static void close_stream(struct pair_stream *stream)
{
    if (stream->close)
        stream->close(stream);
}

void merge_free(struct merge *merge)
{
    if (!merge)
        return;
    for (size_t i = 0; i < merge->sources.count; i++)
        close_stream(merge->sources.items[i].stream);
    VEC_FINI(&merge->sources);
    free(merge->nodes);
    free(merge);
}

weft_err merge_add_take(struct merge *merge, struct pair_stream *stream)
{
    ASSERT(!merge->nodes && merge->sources.count < UINT32_MAX);
    const struct source source = {.stream = stream};
    if (VEC_PUSH(&merge->sources, source))
        return WEFT_OK;
    close_stream(stream);
    return err_no_memory("to merge %zu streams", merge->sources.count + 1);
}

// ---- A range of a run as a stream -----------------------------------------------------------------

struct run_stream {
    struct pair_stream stream;
    struct run_reader *reader;
};

static weft_err run_stream_next(struct pair_stream *stream, struct pair *pair, bool *has_pair)
{
    return run_reader_next(((struct run_stream *)stream)->reader, pair, has_pair);
}

static void run_stream_close(struct pair_stream *stream)
{
    run_reader_free(((struct run_stream *)stream)->reader);
    free(stream);
}

weft_err merge_add_run(struct merge *merge, const struct run *run, uint32_t range)
{
    if (run->segments[range].size == 0)
        return WEFT_OK;
    struct run_stream *stream = malloc(sizeof *stream);
    struct run_reader *reader = stream ? run_reader_new(run, range, &merge->order) : NULL;
    if (!reader) {
        free(stream);
        return err_no_memory("to read spilled data");
    }
    *stream = (struct run_stream){{run_stream_next, run_stream_close}, reader};
    return merge_add_take(merge, &stream->stream);
}

// ---- The tree -----------------------------------------------------------------------------------

// The order of keys whose prefixes are equal. In the order of the bytes they differ only after the
// prefix: a key that ends within it is the beginning of the other, so the sizes decide.
static int order_tied_keys(const struct key_order *order, weft_bytes a, weft_bytes b)
{
    if (order->compare)
        return key_order_keys(order, 0, a, 0, b);
    if (a.size <= 8 || b.size <= 8)
        return (a.size > b.size) - (a.size < b.size);
    return bytes_compare((weft_bytes){a.data + 8, a.size - 8},
                         (weft_bytes){b.data + 8, b.size - 8});
}

// Whether the pair of stream a comes before that of b, their prefixes being equal.
static bool comes_first(const struct merge *merge, uint32_t a, uint32_t b)
{
    const struct source *left = &merge->sources.items[a], *right = &merge->sources.items[b];
    if (!left->has_pair || !right->has_pair)
        return left->has_pair > right->has_pair || (left->has_pair == right->has_pair && a < b);
    const int order = order_tied_keys(&merge->order, left->pair.key, right->pair.key);
    if (order)
        return order < 0;
    if (left->pair.task != right->pair.task)
        return left->pair.task < right->pair.task;
    return a < b;
}

// Reads the next pair of a stream and describes it as a player.
static inline weft_err advance(struct merge *merge, uint32_t stream, struct node *player)
{
    struct source *source = &merge->sources.items[stream];
    const weft_err err = source->stream->next(source->stream, &source->pair, &source->has_pair);
    player->stream = stream;
    player->prefix = source->has_pair ? source->pair.prefix : UINT64_MAX;
    return err;
}

// Plays from a leaf to the top; losers stay at their nodes. Without a tie there is no branch to
// guess.
static inline void replay(struct merge *merge, struct node player)
{
    struct node *nodes = merge->nodes;
    for (size_t at = (merge->sources.count + player.stream) / 2; at > 0; at /= 2) {
        struct node other = nodes[at];
        bool has_lost = other.prefix < player.prefix;
        if (__builtin_expect(other.prefix == player.prefix, 0))
            has_lost = comes_first(merge, other.stream, player.stream);
        const uint64_t prefixes = (other.prefix ^ player.prefix) & (0 - (uint64_t)has_lost);
        const uint32_t streams = (other.stream ^ player.stream) & (0 - (uint32_t)has_lost);
        nodes[at] = (struct node){other.prefix ^ prefixes, other.stream ^ streams};
        player = (struct node){player.prefix ^ prefixes, player.stream ^ streams};
    }
    nodes[0] = player;
}

// Finds the winner of the subtree at a node, leaving the losers in it. Depth: log2 of the streams.
static struct node play(struct merge *merge, size_t at, struct node *leaves)
{
    const size_t count = merge->sources.count;
    if (at >= count)
        return leaves[at - count];
    const struct node a = play(merge, 2 * at, leaves), b = play(merge, 2 * at + 1, leaves);
    const bool is_a =
        a.prefix != b.prefix ? a.prefix < b.prefix : comes_first(merge, a.stream, b.stream);
    merge->nodes[at] = is_a ? b : a;
    return is_a ? a : b;
}

// Reads the first pair of every stream and plays the whole tree.
static weft_err start(struct merge *merge)
{
    const size_t count = merge->sources.count;
    merge->nodes = calloc(count + 1, sizeof *merge->nodes);
    struct node *leaves = calloc(count + 1, sizeof *leaves);
    weft_err err = WEFT_OK;
    if (!merge->nodes || !leaves)
        err = err_no_memory("to merge %zu streams", count);
    for (uint32_t i = 0; i < count && !err; i++)
        err = advance(merge, i, &leaves[i]);
    if (!err && count)
        merge->nodes[0] = play(merge, 1, leaves);
    free(leaves);
    return err;
}

weft_err merge_next(struct merge *merge, struct pair *pair, bool *has_pair)
{
    weft_err err;
    *has_pair = false;
    if (__builtin_expect(!merge->nodes, 0)) {
        err = start(merge);
        if (err || merge->sources.count == 0)
            return err;
    } else {
        const uint32_t last = merge->nodes[0].stream;
        if (merge->sources.count == 0 || !merge->sources.items[last].has_pair)
            return WEFT_OK;
        struct node player;
        err = advance(merge, last, &player);
        if (__builtin_expect(err != WEFT_OK, 0))
            return err;
        replay(merge, player);
    }
    const struct source *winner = &merge->sources.items[merge->nodes[0].stream];
    *has_pair = winner->has_pair;
    if (winner->has_pair)
        *pair = winner->pair;
    return WEFT_OK;
}

static weft_err merge_stream_next(struct pair_stream *stream, struct pair *pair, bool *has_pair)
{
    return merge_next(((struct merge_stream *)stream)->merge, pair, has_pair);
}

struct merge_stream merge_stream_of(struct merge *merge)
{
    return (struct merge_stream){{merge_stream_next, NULL}, merge};
}
