// Exact sums of doubles.
//
// A double is an integer of 53 bits times a power of two from 2^-1074 up. The sum is kept as one wide
// integer, counted in 2^-1074, in limbs that overlap:
//
//      limb 2  ... |--------32--------|--------32--------|   int64, weight 2^64
//      limb 1            |--------32--------|--------32--------|    weight 2^32
//      limb 0                  |--------32--------|--------32--------|   weight 1
//
// so an addition touches three limbs and carries nothing. The upper half of a limb and its sign take up
// what many additions leave there; after 2^29 of them it is carried on. Once carried, every limb but
// the last is in [0, 2^32): there is one such form per number.
//
// As bytes: flags (bit 0..2: +inf, -inf, NaN; bit 3: negative), and, unless the sum is special or zero, the
// index of the lowest limb and the limbs of the magnitude from there, 4 bytes each, the outer two not 0.

#include "base/exact_sum.h"

#include "base/err.h"

#include <math.h>
#include <string.h>

enum {
    PENDING_MAX = 1 << 29,  // two such sums merged still fit: 2^30 * 2^32 < 2^63
    EXPONENT_MIN = -1074,   // weight of the lowest bit
    MEAN_LIMBS = 3,  // a quotient by up to 2^64 keeps 32 bits below the lowest and a sticky one
    MANTISSA_BITS = 53,
};

enum { HAS_PLUS_INF = 1, HAS_MINUS_INF = 2, HAS_NAN = 4, IS_NEGATIVE = 8 };

// A magnitude: limbs of 32 bits from the lowest, and whether bits were cut off below.
struct magnitude {
    uint32_t limbs[MEAN_LIMBS + EXACT_SUM_LIMBS];
    int count;  // of limbs up to the highest that is not 0
    bool is_negative, has_rest;
};

void exact_sum_init(struct exact_sum *sum)
{
    memset(sum, 0, sizeof *sum);
}

static void carry(struct exact_sum *sum)
{
    int64_t over = 0;
    for (int i = 0; i < EXACT_SUM_LIMBS - 1; i++) {
        const int64_t limb = sum->limbs[i] + over;
        over = limb >> 32;
        sum->limbs[i] = limb & UINT32_MAX;
    }
    sum->limbs[EXACT_SUM_LIMBS - 1] += over;
    sum->pending = 1;
}

void exact_sum_add(struct exact_sum *sum, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t exponent = (uint32_t)(bits >> 52) & 2047;
    const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    const int64_t sign = -(int64_t)(bits >> 63);
    if (__builtin_expect(exponent == 2047, 0)) {
        sum->specials |= fraction ? HAS_NAN : sign ? HAS_MINUS_INF : HAS_PLUS_INF;
        return;
    }
    const uint32_t position = exponent ? exponent - 1 : 0;
    const uint64_t mantissa = exponent ? fraction | UINT64_C(1) << 52 : fraction;
    const unsigned __int128 wide = (unsigned __int128)mantissa << (position % 32);
    int64_t *limb = sum->limbs + position / 32;
    // (x ^ sign) - sign is x or -x.
    limb[0] += ((int64_t)((uint64_t)wide & UINT32_MAX) ^ sign) - sign;
    limb[1] += ((int64_t)((uint64_t)wide >> 32) ^ sign) - sign;
    limb[2] += ((int64_t)(wide >> 64) ^ sign) - sign;
    if (__builtin_expect(++sum->pending == PENDING_MAX, 0))
        carry(sum);
}

void exact_sum_add_int(struct exact_sum *sum, __int128 value)
{
    // Four pieces of 32 bits, the highest signed: each is a double.
    double weight = 1;
    for (int i = 0; i < 3; i++, value >>= 32, weight *= 0x1p32)
        exact_sum_add(sum, (double)(uint32_t)value * weight);
    exact_sum_add(sum, (double)(int32_t)value * weight);
}

void exact_sum_add_sum(struct exact_sum *sum, const struct exact_sum *other)
{
    if (sum->pending + other->pending >= PENDING_MAX)
        carry(sum);
    for (int i = 0; i < EXACT_SUM_LIMBS; i++)
        sum->limbs[i] += other->limbs[i];
    sum->specials |= other->specials;
    sum->pending += other->pending;
    if (sum->pending >= PENDING_MAX)
        carry(sum);
}

// Inf and -inf together are NaN, and NaN is all there is to say.
static uint32_t specials_of(const struct exact_sum *sum)
{
    const uint32_t both = HAS_PLUS_INF | HAS_MINUS_INF;
    const bool is_nan = sum->specials & HAS_NAN || (sum->specials & both) == both;
    return is_nan ? HAS_NAN : sum->specials;
}

static double special_value(uint32_t specials)
{
    if (specials & HAS_NAN)
        return (double)NAN;
    return specials & HAS_PLUS_INF ? HUGE_VAL : -HUGE_VAL;
}

// The magnitude of the sum, in limbs[low..]; those below are 0.
static void magnitude_take(struct magnitude *magnitude, const struct exact_sum *sum, int low)
{
    struct exact_sum carried = *sum;
    carry(&carried);
    *magnitude = (struct magnitude){.is_negative = carried.limbs[EXACT_SUM_LIMBS - 1] < 0};
    if (magnitude->is_negative) {
        for (int i = 0; i < EXACT_SUM_LIMBS; i++)
            carried.limbs[i] = -carried.limbs[i];
        carry(&carried);
    }
    // 2^63 additions of the largest double stay below.
    ASSERT((carried.limbs[EXACT_SUM_LIMBS - 1] & ~(int64_t)UINT32_MAX) == 0);
    for (int i = 0; i < EXACT_SUM_LIMBS; i++) {
        magnitude->limbs[low + i] = (uint32_t)carried.limbs[i];
        if (carried.limbs[i])
            magnitude->count = low + i + 1;
    }
}

static void magnitude_divide(struct magnitude *magnitude, uint64_t divisor)
{
    unsigned __int128 rest = 0;
    const int limbs = magnitude->count;
    magnitude->count = 0;
    for (int i = limbs - 1; i >= 0; i--) {
        rest = rest << 32 | magnitude->limbs[i];
        magnitude->limbs[i] = (uint32_t)(rest / divisor);  // rest < divisor * 2^32
        rest %= divisor;
        if (magnitude->limbs[i] && magnitude->count == 0)
            magnitude->count = i + 1;
    }
    magnitude->has_rest = rest != 0;
}

static bool magnitude_bit(const struct magnitude *magnitude, int bit)
{
    return bit >= 0 && magnitude->limbs[bit / 32] >> (bit % 32) & 1;
}

static bool magnitude_has_bits_below(const struct magnitude *magnitude, int bit)
{
    if (magnitude->has_rest)
        return true;
    for (int i = 0; i < bit / 32; i++)
        if (magnitude->limbs[i])
            return true;
    return bit > 0 && magnitude->limbs[bit / 32] & ((UINT32_C(1) << (bit % 32)) - 1);
}

// The nearest double, ties to even. `low` limbs stand below 2^EXPONENT_MIN.
static double magnitude_round(const struct magnitude *magnitude, int low)
{
    if (magnitude->count == 0)  // a rest alone is less than half of the smallest double
        return magnitude->is_negative && magnitude->has_rest ? -0.0 : 0.0;
    const uint32_t highest = magnitude->limbs[magnitude->count - 1];
    const int top = 32 * magnitude->count - 1 - __builtin_clz(highest);
    int last = top - (MANTISSA_BITS - 1);  // the last bit that a double of this size keeps
    if (last < 32 * low)
        last = 32 * low;
    uint64_t mantissa = 0;
    for (int bit = top; bit >= last; bit--)
        mantissa = mantissa << 1 | magnitude_bit(magnitude, bit);
    if (magnitude_bit(magnitude, last - 1) &&
        (mantissa & 1 || magnitude_has_bits_below(magnitude, last - 1)))
        mantissa++;
    const double value = ldexp((double)mantissa, last - 32 * low + EXPONENT_MIN);
    return magnitude->is_negative ? -value : value;
}

double exact_sum_round(const struct exact_sum *sum)
{
    if (sum->specials)
        return special_value(specials_of(sum));
    struct magnitude magnitude;
    magnitude_take(&magnitude, sum, 0);
    return magnitude_round(&magnitude, 0);
}

double exact_sum_mean(const struct exact_sum *sum, uint64_t count)
{
    ASSERT(count > 0);
    if (sum->specials)
        return special_value(specials_of(sum));
    struct magnitude magnitude;
    magnitude_take(&magnitude, sum, MEAN_LIMBS);
    magnitude_divide(&magnitude, count);
    return magnitude_round(&magnitude, MEAN_LIMBS);
}

size_t exact_sum_write(const struct exact_sum *sum, void *data)
{
    uint8_t *bytes = data;
    if (sum->specials) {
        bytes[0] = (uint8_t)specials_of(sum);
        return 1;
    }
    struct magnitude magnitude;
    magnitude_take(&magnitude, sum, 0);
    bytes[0] = magnitude.is_negative ? IS_NEGATIVE : 0;
    if (magnitude.count == 0)
        return 1;
    int low = 0;
    while (magnitude.limbs[low] == 0)
        low++;
    bytes[1] = (uint8_t)low;
    size_t size = 2;
    for (int i = low; i < magnitude.count; i++, size += 4) {
        const uint32_t limb = magnitude.limbs[i];
        bytes[size] = (uint8_t)limb;
        bytes[size + 1] = (uint8_t)(limb >> 8);
        bytes[size + 2] = (uint8_t)(limb >> 16);
        bytes[size + 3] = (uint8_t)(limb >> 24);
    }
    return size;
}

static uint32_t read_limb(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

bool exact_sum_read(struct exact_sum *sum, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    exact_sum_init(sum);
    if (size == 1) {
        sum->specials = bytes[0];
        return bytes[0] == 0 || bytes[0] == HAS_PLUS_INF || bytes[0] == HAS_MINUS_INF ||
               bytes[0] == HAS_NAN;
    }
    if (size < 6 || (size - 2) % 4 || (bytes[0] & ~IS_NEGATIVE))
        return false;
    const size_t low = bytes[1], count = (size - 2) / 4;
    if (low + count > EXACT_SUM_LIMBS || read_limb(bytes + 2) == 0 ||
        read_limb(bytes + size - 4) == 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        const int64_t limb = read_limb(bytes + 2 + 4 * i);
        sum->limbs[low + i] = bytes[0] & IS_NEGATIVE ? -limb : limb;
    }
    sum->pending = 1;
    return true;
}
