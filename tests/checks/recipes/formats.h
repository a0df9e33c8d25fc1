/*
 * Compares conversions of 16-bit formats with their definition: every code, the middles between codes and their neighbours, and
 * stochastic rounding.  Included by formats.c and formats.cpp, which have the conversions of a CPU target and of GPUs.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { GROUP = 32 };  /* elements that are converted at once: a multiple of every target's pair */

struct conversions {
    int exponent;
    void (*widen)(const uint16_t *codes, float *to);
    void (*round)(uint16_t *to, const float *x, const uint16_t *random);  /* random: NULL rounds to nearest */
};

static int faults;

static int fraction_of(int exponent) { return 15 - exponent; }
static int bias_of(int exponent) { return (1 << (exponent - 1)) - 1; }
static unsigned infinity_of(int exponent) { return ((1u << exponent) - 1) << fraction_of(exponent); }

static double value_of(int exponent, unsigned code) {
    const int fraction = fraction_of(exponent), power = (int)((code & 0x7FFF) >> fraction);
    const double significand = (double)((code & ((1u << fraction) - 1)) + (power ? 1u << fraction : 0));
    const int least = (power ? power : 1) - bias_of(exponent) - fraction;
    const double magnitude = (code & 0x7FFF) > infinity_of(exponent)    ? (double)NAN
                             : (code & 0x7FFF) == infinity_of(exponent) ? (double)INFINITY
                                                                        : ldexp(significand, least);
    return code & 0x8000 ? -magnitude : magnitude;
}

/* The step between the values of a format near x. */
static double step_near(int exponent, double x) {
    int power;
    frexp(x, &power);
    const int least = 1 - bias_of(exponent), own = power - 1;
    return ldexp(1, (own > least ? own : least) - fraction_of(exponent));
}

/* The code of a magnitude that is a multiple of its step. */
static unsigned code_of(int exponent, double magnitude) {
    const double step = step_near(exponent, magnitude), largest = value_of(exponent, infinity_of(exponent) - 1);
    const int fraction = fraction_of(exponent), power = (int)lround(log2(step)) + fraction + bias_of(exponent);
    if (magnitude > largest) return infinity_of(exponent);
    const unsigned significand = (unsigned)(magnitude / step);
    return significand < 1u << fraction ? significand : ((unsigned)power << fraction) + significand - (1u << fraction);
}

static unsigned nearest_of(int exponent, float x) {
    const unsigned sign = signbit(x) ? 0x8000 : 0;
    if (isnan(x)) return 0x7FFF;
    if (isinf(x)) return sign | infinity_of(exponent);
    const double magnitude = fabs((double)x), step = step_near(exponent, magnitude);
    return sign | code_of(exponent, rint(magnitude / step) * step);
}

/* As many of the random bits as fp32 has more in its fraction count, the upper ones. */
static unsigned stochastic_of(int exponent, float x, uint16_t random) {
    const int cut = 23 - fraction_of(exponent);
    const unsigned sign = signbit(x) ? 0x8000 : 0;
    if (isnan(x)) return 0x7FFF;
    if (isinf(x)) return sign | infinity_of(exponent);
    const double magnitude = fabs((double)x), step = step_near(exponent, magnitude);
    double sum = magnitude + ldexp((double)(random >> (16 - cut)), -cut) * step;
    if (magnitude < ldexp(1, 1 - bias_of(exponent))) sum = (double)(float)sum;  /* a normal one has no bits below those added */
    const double largest = value_of(exponent, infinity_of(exponent) - 1), kept = floor(sum / step) * step;
    return sign | code_of(exponent, kept < largest ? kept : largest);
}

static void fault(int exponent, const char *what, double from, unsigned got, unsigned expected) {
    if (faults++ < 10) printf("%d bits of exponent, %s of %a: %#x, expected %#x\n", exponent, what, from, got, expected);
}

static void check_widening(const struct conversions *c) {
    for (unsigned first = 0; first < 0x10000; first += GROUP) {
        uint16_t codes[GROUP];
        float x[GROUP];
        for (unsigned i = 0; i < GROUP; i++) codes[i] = (uint16_t)(first + i);
        c->widen(codes, x);
        for (unsigned i = 0; i < GROUP; i++) {
            const double expected = value_of(c->exponent, first + i);
            if (isnan(expected) ? !isnan(x[i]) : (double)x[i] != expected || !signbit(x[i]) != !signbit(expected))
                fault(c->exponent, "the value", (double)x[i], first + i, 0);
        }
    }
}

static void check_rounding(const struct conversions *c, const float *x, uint32_t *state) {
    uint16_t random[GROUP], got[GROUP];
    c->round(got, x, NULL);
    for (int i = 0; i < GROUP; i++) {
        const unsigned expected = nearest_of(c->exponent, x[i]);
        if (got[i] != expected) fault(c->exponent, "nearest", (double)x[i], got[i], expected);
        *state = *state * 1664525 + 1013904223;
        random[i] = i % 8 == 0 ? 0xFFFF : i % 8 == 1 ? 0 : (uint16_t)(*state >> 16);
    }
    c->round(got, x, random);
    for (int i = 0; i < GROUP; i++) {
        const unsigned expected = stochastic_of(c->exponent, x[i], random[i]);
        if (got[i] != expected) fault(c->exponent, "stochastic", (double)x[i], got[i], expected);
    }
}

/*
 * Every value, the middle between it and the next, and the fp32 values beside both; numbers of all sizes, and those that are none.
 */
static void check_format(const struct conversions *c) {
    const float others[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, -NAN, 0x1.fffffep127f, -0x1.fffffep127f, 0x1p-149f, 0x1p-126f};
    float x[GROUP];
    int count = 0;
    uint32_t state = 1;
    check_widening(c);
#define TRY(value) ((x[count++] = (value)), (count == GROUP ? check_rounding(c, x, &state), count = 0 : 0))
    for (unsigned code = 0; code < infinity_of(c->exponent); code++) {
        const float value = (float)value_of(c->exponent, code), step = (float)step_near(c->exponent, (double)value);
        const float places[] = {value, value + step / 2}, sign = code % 2 ? -1.0f : 1.0f;
        for (int i = 0; i < 2; i++)
            TRY(sign * places[i]), TRY(sign * nextafterf(places[i], 0)), TRY(sign * nextafterf(places[i], INFINITY));
    }
    for (unsigned i = 0; i < GROUP * 4096u; i++) {
        const uint32_t bits = i * 2654435761u;
        float value;
        memcpy(&value, &bits, sizeof value);
        TRY(value);
    }
    for (int i = 0; i < GROUP || count; i++) TRY(others[i % (int)(sizeof others / sizeof *others)]);
}
