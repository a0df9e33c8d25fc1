/*
 * Converts a double exactly: it is an integer times a power of two, and 2^-k is 5^k / 10^k, so all its digits are those of one
 * large integer.  Called by text.c.
 */
#include "os/decimal.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { PRECISION = 9, WORD = 1000000000, WORD_DIGITS = 9, WORDS = 86, MANTISSA_BITS = 52, BIAS = 1075 };

/* A large integer, its lowest word first.  The largest is (2^53 - 1) * 5^1074, with 767 digits. */
struct integer {
    uint32_t word[WORDS];
    int words;
};

static void multiply(struct integer *integer, uint32_t factor) {
    uint64_t carry = 0;
    for (int i = 0; i < integer->words; i++) {
        carry += (uint64_t)integer->word[i] * factor;
        integer->word[i] = (uint32_t)(carry % WORD);
        carry /= WORD;
    }
    for (; carry; carry /= WORD) integer->word[integer->words++] = (uint32_t)(carry % WORD);
}

/* Multiplies by base^power, in steps of base^stride = factor. */
static void multiply_by_power(struct integer *integer, uint32_t base, int power, int stride, uint32_t factor) {
    for (; power >= stride; power -= stride) multiply(integer, factor);
    for (; power > 0; power--) multiply(integer, base);
}

/* The digits of a number other than 0, highest first, without leading zeros.  Returns their number. */
static int list_digits(const struct integer *integer, char digits[WORDS * WORD_DIGITS]) {
    int count = integer->words * WORD_DIGITS, zeros = 0;
    for (int i = 0, place = count; i < integer->words; i++) {
        uint32_t word = integer->word[i];
        for (int digit = 0; digit < WORD_DIGITS; digit++, word /= 10) digits[--place] = (char)(word % 10);
    }
    while (!digits[zeros]) zeros++;
    memmove(digits, digits + zeros, (size_t)(count - zeros));
    return count - zeros;
}

/* Whether the digits from PRECISION on round the ones before them up. */
static bool rounds_up(const char *digits, int count) {
    if (digits[PRECISION] != 5) return digits[PRECISION] > 5;
    for (int i = PRECISION + 1; i < count; i++)
        if (digits[i]) return true;
    return digits[PRECISION - 1] % 2;
}

/*
 * Keeps at most PRECISION digits, without zeros at the end; the first is not 0.  *exponent is that of the first one.  There are
 * always more digits than that: at least 16, since a power of 5 makes up for the leading bits that a subnormal number lacks.
 */
static int round_digits(char *digits, int count, int *exponent) {
    bool up = rounds_up(digits, count);
    count = PRECISION;
    while (up && count && digits[count - 1] == 9) count--;
    if (up && count) digits[count - 1]++;
    if (!count) {
        digits[count++] = 1;
        ++*exponent;
    }
    while (!digits[count - 1]) count--;
    return count;
}

/* Without an exponent: zeros fill the places up to the point. */
static char *write_plain(char *text, const char *digits, int count, int exponent) {
    for (int place = exponent < 0 ? exponent : 0; place < 0; place++) {
        *text++ = '0';
        if (place == exponent) *text++ = '.';
    }
    for (int i = 0; i < count || i <= exponent; i++) {
        if (i && i == exponent + 1) *text++ = '.';
        *text++ = (char)('0' + (i < count ? digits[i] : 0));
    }
    return text;
}

static char *write_scientific(char *text, const char *digits, int count, int exponent) {
    text = write_plain(text, digits, count, 0);
    *text++ = 'e';
    *text++ = exponent < 0 ? '-' : '+';
    if (exponent < 0) exponent = -exponent;
    if (exponent >= 100) *text++ = (char)('0' + exponent / 100);
    *text++ = (char)('0' + exponent / 10 % 10);
    *text++ = (char)('0' + exponent % 10);
    return text;
}

/* The mantissa is not 0. */
static char *write_finite(char *text, uint64_t mantissa, int power) {
    struct integer integer = {.word = {(uint32_t)(mantissa % WORD), (uint32_t)(mantissa / WORD)}, .words = 2};
    char digits[WORDS * WORD_DIGITS];
    multiply_by_power(&integer, 2, power, 29, 1u << 29);
    multiply_by_power(&integer, 5, -power, 13, 1220703125);
    int count = list_digits(&integer, digits);
    int exponent = count - 1 + (power < 0 ? power : 0);
    count = round_digits(digits, count, &exponent);
    bool plain = exponent >= -4 && exponent < PRECISION;
    return (plain ? write_plain : write_scientific)(text, digits, count, exponent);
}

size_t quern_decimal(char text[QUERN_DECIMAL_BYTES], double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t fraction = bits & ((1ull << MANTISSA_BITS) - 1);
    const int exponent = (int)(bits >> MANTISSA_BITS & 0x7ff);
    char *end = text;
    if (bits >> 63) *end++ = '-';
    if (exponent == 0x7ff) {
        memcpy(end, fraction ? "nan" : "inf", 3);
        return (size_t)(end + 3 - text);
    }
    if (!exponent && !fraction) {
        *end++ = '0';
        return (size_t)(end - text);
    }
    /* A subnormal number has the exponent of the smallest normal ones, and no leading one. */
    end = write_finite(end, exponent ? fraction | 1ull << MANTISSA_BITS : fraction, (exponent ? exponent : 1) - BIAS);
    return (size_t)(end - text);
}
