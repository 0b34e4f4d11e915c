// Tests of exact sums. The oracle is a slow integer of 2432 bits in bytes, counted in 2^-1074, that shares
// no code with the module: a result is right when no neighbouring double is nearer to the oracle's sum.

#include "base/exact_sum.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ORACLE_BYTES = 304, VALUES_MAX = 400 };

struct oracle {
    uint8_t bytes[ORACLE_BYTES];  // two's complement, lowest first
};

static void oracle_negate(struct oracle *oracle)
{
    unsigned over = 1;
    for (int i = 0; i < ORACLE_BYTES; i++) {
        over += (uint8_t)~oracle->bytes[i];
        oracle->bytes[i] = (uint8_t)over;
        over >>= 8;
    }
}

static void oracle_add(struct oracle *oracle, const struct oracle *other)
{
    unsigned over = 0;
    for (int i = 0; i < ORACLE_BYTES; i++) {
        over += (unsigned)oracle->bytes[i] + other->bytes[i];
        oracle->bytes[i] = (uint8_t)over;
        over >>= 8;
    }
}

static void oracle_double(struct oracle *oracle)
{
    const struct oracle copy = *oracle;
    oracle_add(oracle, &copy);
}

static bool oracle_is_negative(const struct oracle *oracle)
{
    return oracle->bytes[ORACLE_BYTES - 1] >> 7;
}

// A finite double, or 2^1024 for infinity: where rounding to infinity begins is half way to it.
static struct oracle oracle_of(double value)
{
    struct oracle oracle = {{0}};
    int exponent = 1025;
    const double mantissa = isinf(value) ? 0.5 : frexp(fabs(value), &exponent);
    uint64_t bits = (uint64_t)ldexp(mantissa, 53);
    for (int bit = exponent - 53 + 1074; bits; bits >>= 1, bit++)
        if (bits & 1)
            oracle.bytes[bit / 8] |= (uint8_t)(1 << (bit % 8));
    if (value < 0)
        oracle_negate(&oracle);
    return oracle;
}

static struct oracle oracle_times(struct oracle oracle, uint64_t factor)
{
    struct oracle product = {{0}};
    for (; factor; factor >>= 1, oracle_double(&oracle))
        if (factor & 1)
            oracle_add(&product, &oracle);
    return product;
}

// |sum - value * count|
static struct oracle oracle_distance(struct oracle sum, double value, uint64_t count)
{
    struct oracle part = oracle_times(oracle_of(value), count);
    oracle_negate(&part);
    oracle_add(&sum, &part);
    if (oracle_is_negative(&sum))
        oracle_negate(&sum);
    return sum;
}

static int oracle_compare(const struct oracle *a, const struct oracle *b)
{
    for (int i = ORACLE_BYTES - 1; i >= 0; i--)
        if (a->bytes[i] != b->bytes[i])
            return a->bytes[i] < b->bytes[i] ? -1 : 1;
    return 0;
}

static bool has_even_mantissa(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits % 2 == 0;  // infinity is even, as 2^1024 would be
}

// `value` is sum / count, rounded to nearest and ties to even.
static void assert_rounded(const struct oracle *sum, uint64_t count, double value)
{
    assert_true(!isnan(value));
    const struct oracle ours = oracle_distance(*sum, value, count);
    for (int side = -1; side <= 1; side += 2) {
        const double neighbour = nextafter(value, side * HUGE_VAL);
        if (neighbour == value)
            continue;  // beyond infinity
        const struct oracle theirs = oracle_distance(*sum, neighbour, count);
        const int order = oracle_compare(&ours, &theirs);
        assert_true(order < 0 || (order == 0 && has_even_mantissa(value)));
    }
}

static uint64_t seed = 20240607;

static uint64_t next_random(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double double_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Finite doubles of a kind: any bits, denormal, near overflow, few exponents, halves of ulps, integers.
static double random_double(int kind)
{
    const uint64_t bits = next_random(), sign = bits & UINT64_C(1) << 63;
    switch (kind) {
    case 0:
        return isfinite(double_of_bits(bits)) ? double_of_bits(bits) : 1;
    case 1:
        return double_of_bits(sign | (bits >> 12 >> bits % 52));
    case 2:
        return double_of_bits(sign | UINT64_C(0x7fe) << 52 | bits >> 12);
    case 3:
        return double_of_bits(sign | (UINT64_C(1020) + bits % 8) << 52 | bits >> 12);
    case 4:
        return (sign ? -1 : 1) * ldexp(1, (int)(bits % 110) - 55);
    case 5:
        return (double)(int64_t)(bits >> 1) * (sign ? -1 : 1);
    default:
        return (sign ? -1 : 1) * ldexp(1, (int)(bits % 60) - 1074);
    }
}

static size_t random_values(double *values)
{
    const size_t count = 1 + next_random() % VALUES_MAX;
    const int kind = (int)(next_random() % 8);
    for (size_t i = 0; i < count; i++) {
        values[i] = random_double(kind == 7 ? (int)(next_random() % 7) : kind);
        // Cancellation: now and then what came before is taken back.
        if (i > 0 && next_random() % 3 == 0)
            values[i] = -values[next_random() % i];
    }
    return count;
}

static struct exact_sum sum_of(const double *values, size_t count)
{
    struct exact_sum sum;
    exact_sum_init(&sum);
    for (size_t i = 0; i < count; i++)
        exact_sum_add(&sum, values[i]);
    return sum;
}

static void assert_same_bytes(const struct exact_sum *a, const struct exact_sum *b)
{
    uint8_t bytes_a[EXACT_SUM_BYTES_MAX], bytes_b[EXACT_SUM_BYTES_MAX];
    const size_t size = exact_sum_write(a, bytes_a);
    assert_true(size <= sizeof bytes_a);
    assert_int_equal(size, exact_sum_write(b, bytes_b));
    assert_memory_equal(bytes_a, bytes_b, size);
}

static void a_sum_is_the_double_nearest_to_the_true_one(void **unused)
{
    (void)unused;
    double values[VALUES_MAX];
    for (int round = 0; round < 3000; round++) {
        const size_t count = random_values(values);
        struct oracle expected = {{0}};
        for (size_t i = 0; i < count; i++) {
            const struct oracle value = oracle_of(values[i]);
            oracle_add(&expected, &value);
        }
        const struct exact_sum sum = sum_of(values, count);
        assert_rounded(&expected, 1, exact_sum_round(&sum));
    }
}

static void a_mean_is_rounded_once(void **unused)
{
    (void)unused;
    double values[VALUES_MAX];
    for (int round = 0; round < 3000; round++) {
        const size_t size = random_values(values);
        struct oracle expected = {{0}};
        for (size_t i = 0; i < size; i++) {
            const struct oracle value = oracle_of(values[i]);
            oracle_add(&expected, &value);
        }
        const struct exact_sum sum = sum_of(values, size);
        const uint64_t count =
            round % 3 == 0 ? size : 1 + (next_random() >> next_random() % 64) / 2;
        assert_rounded(&expected, count, exact_sum_mean(&sum, count));
    }
}

// The same values in another order, in groups, in groups of groups, through bytes and back.
static struct exact_sum sum_regrouped(double *values, size_t count, int depth)
{
    if (depth == 0 || count < 2)
        return sum_of(values, count);
    for (size_t i = count - 1; i > 0; i--) {
        const size_t other = next_random() % (i + 1);
        const double swap = values[i];
        values[i] = values[other];
        values[other] = swap;
    }
    const size_t half = next_random() % count;
    struct exact_sum sum = sum_regrouped(values, half, depth - 1);
    const struct exact_sum rest = sum_regrouped(values + half, count - half, depth - 1);
    if (next_random() % 2) {
        uint8_t bytes[EXACT_SUM_BYTES_MAX];
        struct exact_sum again;
        assert_true(exact_sum_read(&again, bytes, exact_sum_write(&rest, bytes)));
        exact_sum_add_sum(&sum, &again);
    } else {
        exact_sum_add_sum(&sum, &rest);
    }
    return sum;
}

static void neither_order_nor_grouping_matter(void **unused)
{
    (void)unused;
    double values[VALUES_MAX];
    for (int round = 0; round < 2000; round++) {
        const size_t count = random_values(values);
        if (round % 10 == 0)
            values[0] = round % 20 ? HUGE_VAL : (double)NAN;
        const struct exact_sum expected = sum_of(values, count);
        const struct exact_sum regrouped = sum_regrouped(values, count, 5);
        assert_same_bytes(&expected, &regrouped);
        const double a = exact_sum_round(&expected), b = exact_sum_round(&regrouped);
        assert_true((isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0);
    }
}

// Expected values from Python: math.fsum, and float(sum(map(Fraction, ...)) / n).
static void known_sums_and_means_come_out(void **unused)
{
    (void)unused;
    const struct {
        double values[6];
        size_t count;
        double sum, mean;
    } cases[] = {
        {{0.1, 0.1, 0.1}, 3, 0.30000000000000004, 0.1},
        {{1e100, 1.0, -1e100}, 3, 1.0, 0.3333333333333333},
        {{1e308, 1e308, -1e308}, 3, 1e308, 3.3333333333333333e307},
        {{1e16, 1.0, 1e-16}, 3, 10000000000000002.0, 3333333333333333.5},
        {{5e-324, 5e-324, 5e-324}, 3, 1.5e-323, 5e-324},
        {{DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX}, 4, HUGE_VAL, DBL_MAX},
        {{DBL_MAX, 0x1p970}, 2, HUGE_VAL, 0x1p1023},
        {{DBL_MAX, 0x1.fffffffffffffp969}, 2, DBL_MAX, 0x1.fffffffffffffp1022},
        {{-1e-320, 1e-320}, 2, 0.0, 0.0},
        {{0x1p-1022, -0x1p-1074}, 2, 0x1.ffffffffffffep-1023, 0x1p-1023},
        {{1, 2, 3, 4, 5, 7}, 6, 22, 3.6666666666666665},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct exact_sum sum = sum_of(cases[i].values, cases[i].count);
        assert_true(exact_sum_round(&sum) == cases[i].sum);
        assert_true(exact_sum_mean(&sum, cases[i].count) == cases[i].mean);
    }
}

static void infinities_and_nan_follow_ieee(void **unused)
{
    (void)unused;
    const double inf = HUGE_VAL, nan_value = (double)NAN;
    struct exact_sum sum = sum_of((double[]){1, inf, -1e308}, 3);
    assert_true(exact_sum_round(&sum) == inf && exact_sum_mean(&sum, 3) == inf);
    const struct exact_sum plain_inf = sum_of(&inf, 1);
    assert_same_bytes(&sum, &plain_inf);
    sum = sum_of((double[]){-inf, 5, -inf}, 3);
    assert_true(exact_sum_round(&sum) == -inf);
    const struct exact_sum both = sum_of((double[]){inf, 1, -inf}, 3);
    assert_true(isnan(exact_sum_round(&both)) && isnan(exact_sum_mean(&both, 3)));
    sum = sum_of((double[]){nan_value, -inf}, 2);
    assert_true(isnan(exact_sum_round(&sum)));
    assert_same_bytes(&sum, &both);
    // Adding up finite numbers never makes one, though it may be rounded to one.
    sum = sum_of((double[]){DBL_MAX, DBL_MAX}, 2);
    assert_true(exact_sum_round(&sum) == inf);
    exact_sum_add(&sum, -DBL_MAX);
    assert_true(exact_sum_round(&sum) == DBL_MAX);
}

static void a_sum_of_zero_is_plus_zero(void **unused)
{
    (void)unused;
    const struct exact_sum none = sum_of(NULL, 0), minus = sum_of((double[]){-0.0, -0.0}, 2),
                           taken_back = sum_of((double[]){-3.5, 3.5}, 2);
    assert_false(signbit(exact_sum_round(&none)));
    assert_false(signbit(exact_sum_round(&minus)));
    assert_false(signbit(exact_sum_round(&taken_back)));
    assert_same_bytes(&none, &minus);
    assert_same_bytes(&none, &taken_back);
}

static void integers_of_any_size_are_added_exactly(void **unused)
{
    (void)unused;
    struct exact_sum sum;
    exact_sum_init(&sum);
    exact_sum_add_int(&sum, INT64_MAX);
    exact_sum_add(&sum, -0x1p63);
    assert_true(exact_sum_round(&sum) == -1);
    const __int128 largest = (__int128)(((unsigned __int128)1 << 127) - 1);
    exact_sum_init(&sum);
    exact_sum_add_int(&sum, largest);
    exact_sum_add_int(&sum, -largest - 1);
    assert_true(exact_sum_round(&sum) == -1);
    for (int i = 0; i < 10000; i++) {
        __int128 a = (__int128)((unsigned __int128)next_random() << 64 | next_random());
        a >>= next_random() % 128;
        const int64_t rest = (int64_t)(next_random() >> 12);
        exact_sum_init(&sum);
        exact_sum_add_int(&sum, a);
        exact_sum_add_int(&sum, -(a >> 1));
        exact_sum_add_int(&sum, -(a >> 1));
        exact_sum_add_int(&sum, rest);
        assert_true(exact_sum_round(&sum) == (double)(rest + (int64_t)(a & 1)));
    }
}

// Carries must be taken up before a limb is full; adding a sum to itself gets there fast.
static void very_many_additions_do_not_overflow(void **unused)
{
    (void)unused;
    struct exact_sum sum = sum_of((double[]){DBL_MAX, 1.5, -0x1p-1074}, 3);
    struct exact_sum copy;
    for (int i = 0; i < 61; i++) {
        copy = sum;
        exact_sum_add_sum(&sum, &copy);
    }
    assert_true(exact_sum_round(&sum) == HUGE_VAL);
    assert_true(exact_sum_mean(&sum, UINT64_C(1) << 61) == DBL_MAX);
    const struct exact_sum half = sum;
    for (int i = 0; i < 1 << 20; i++)
        exact_sum_add(&sum, -DBL_MAX);
    for (int i = 0; i < 1 << 20; i++)
        exact_sum_add(&sum, DBL_MAX);
    assert_same_bytes(&half, &sum);
}

static void small_sums_have_few_bytes(void **unused)
{
    (void)unused;
    uint8_t bytes[EXACT_SUM_BYTES_MAX];
    const struct exact_sum zero = sum_of(NULL, 0), one = sum_of((double[]){0.25, 0.75}, 2);
    assert_int_equal(exact_sum_write(&zero, bytes), 1);
    assert_int_equal(exact_sum_write(&one, bytes), 6);
}

static void bytes_that_are_no_sum_are_refused(void **unused)
{
    (void)unused;
    struct exact_sum sum;
    assert_false(exact_sum_read(&sum, "", 0));
    assert_false(exact_sum_read(&sum, "\3", 1));
    assert_false(exact_sum_read(&sum, "\10", 1));
    assert_false(exact_sum_read(&sum, "\0\0", 2));
    assert_false(exact_sum_read(&sum, "\0\0\0\0\0\0", 6));             // a limb of zero
    assert_false(exact_sum_read(&sum, "\1\0\1\0\0\0", 6));             // infinity with limbs
    assert_false(exact_sum_read(&sum, "\0\104\1\0\0\0", 6));           // limb 68
    assert_false(exact_sum_read(&sum, "\0\103\1\0\0\0\1\0\0\0", 10));  // limbs 67 and 68
    assert_true(exact_sum_read(&sum, "\0\103\1\0\0\0", 6));
    assert_true(exact_sum_read(&sum, "\10\0\1\0\0\0", 6));
    assert_true(exact_sum_round(&sum) == -0x1p-1074);
    // A number that was read is written back unchanged.
    for (int i = 0; i < 200000; i++) {
        uint8_t bytes[64], again[EXACT_SUM_BYTES_MAX];
        const size_t size = next_random() % 24;
        for (size_t at = 0; at < size; at++)
            bytes[at] = (uint8_t)(next_random() >> 40 >> next_random() % 24);
        if (size > 0 && next_random() % 4)
            bytes[0] &= 8;
        if (!exact_sum_read(&sum, bytes, size))
            continue;
        assert_int_equal(exact_sum_write(&sum, again), size);
        assert_memory_equal(again, bytes, size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_is_the_double_nearest_to_the_true_one),
        cmocka_unit_test(a_mean_is_rounded_once),
        cmocka_unit_test(neither_order_nor_grouping_matter),
        cmocka_unit_test(known_sums_and_means_come_out),
        cmocka_unit_test(infinities_and_nan_follow_ieee),
        cmocka_unit_test(a_sum_of_zero_is_plus_zero),
        cmocka_unit_test(integers_of_any_size_are_added_exactly),
        cmocka_unit_test(very_many_additions_do_not_overflow),
        cmocka_unit_test(small_sums_have_few_bytes),
        cmocka_unit_test(bytes_that_are_no_sum_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
