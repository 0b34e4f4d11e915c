// The body of a folding kernel, included once per instruction set with
//   KERNEL_NAME      the function's name
//   MATCH(keys, key) a mask of the places in the 4 keys that hold `key`
// Several loops, so that the common ones carry no choice: ones and sums that cannot leave 64 bits, sums
// that may, anything.

static void put_aside(struct short_table *table, uint64_t key, int64_t value)
{
    // Without memory for it the sum would be lost, and the job's result wrong: the process ends
    // here.
    ASSERT(VEC_PUSH(&table->aside, ((struct fold_aside){key, value})));
}

// The place of the key: found, or made with the value `fresh` and *is_new set.
static inline int64_t *find_place(struct short_table *table, uint64_t key, uint64_t home,
                                  uint64_t mask, bool *is_new)
{
    for (uint64_t at = home;; at = (at + 1) & mask) {
        struct short_bucket *bucket = table->buckets + at;
        const unsigned match = MATCH(bucket->keys, key);
        *is_new = false;
        if (__builtin_expect(match != 0, 1))
            return &bucket->values[__builtin_ctz(match)];
        const unsigned space = MATCH(bucket->keys, 0);
        if (space) {
            const int place = __builtin_ctz(space);
            bucket->keys[place] = key;
            table->used++;
            *is_new = true;
            return &bucket->values[place];
        }
    }
}

// No sum grows by more when these values are added.
static inline uint64_t growth_of(const int64_t *values, size_t count)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++)
        bits |= (uint64_t)values[i] ^ (uint64_t)values[i] << 1;  // at least the value without sign
    return bits < FOLD_SAFE_SUM / (count + 1) ? bits * count : FOLD_SAFE_SUM;
}

#define EACH_KEY(body)                                                                             \
    for (size_t i = 0; i < count; i++) {                                                           \
        __builtin_prefetch(table->buckets + (short_hash(keys[i + FOLD_AHEAD]) >> shift), 0, 1);    \
        bool is_new;                                                                               \
        int64_t *place = find_place(table, keys[i], short_hash(keys[i]) >> shift, mask, &is_new);  \
        body                                                                                       \
    }

void KERNEL_NAME(struct short_table *shared, const uint64_t *keys, const int64_t *values,
                 size_t count, enum fold_op op)
{
    struct short_table copy = *shared, *table = &copy;  // a copy the compiler can keep in registers
    const uint32_t shift = 64 - table->bits;
    const uint64_t mask = (UINT64_C(1) << table->bits) - 1;
    if (values && op == FOLD_SUM && table->sum_max < FOLD_SAFE_SUM)
        table->sum_max += growth_of(values, count);
    const bool is_safe = op == FOLD_SUM && table->sum_max < FOLD_SAFE_SUM;
    if (is_safe && !values) {
        EACH_KEY(++*place;)  // a free place holds 0
    } else if (is_safe) {
        EACH_KEY(*place = is_new ? values[i] : *place + values[i];)
    } else if (op == FOLD_SUM) {
        EACH_KEY(
            const int64_t value = values ? values[i] : 1; int64_t sum = 0;
            if (__builtin_expect(__builtin_add_overflow(is_new ? 0 : *place, value, &sum), 0)) {
                put_aside(table, keys[i], *place);
                sum = value;
            } *place = sum;)
    } else {
        EACH_KEY(const int64_t value = values ? values[i] : 1; if (is_new) *place = value;
                 else fold_number(op, place, value);)
    }
    *shared = copy;
}
