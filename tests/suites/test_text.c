/*
 * The library's own printf: numbers as printf writes them, and buffers that are too short.
 *
 * Runs on: oracle.
 */
#include <float.h>
#include <limits.h>

#include "harness/check.h"
#include "harness/random.h"
#include "os/text.h"

static void check_double(double value) {
    char text[64], expected[64];
    struct quern_text written = quern_text_begin(text, sizeof text);
    quern_text_add(&written, "%g", value);
    snprintf(expected, sizeof expected, "%.9g", value);
    check(!strcmp(text, expected) && written.length == strlen(expected), "%a is \"%s\" instead of \"%s\"", value, text, expected);
}

Test(text, doubles_at_the_edges) {
    static const double edges[] = {
        0, 1, 9, 10, 100, 0.5, 0.1, 0.3, 1e-4, 1e-5, 9.99999999e-5, 9.999999994e-5, 9.999999995e-5, 9.999999996e-5, 123456789,
        1234567890, 999999999, 999999999.4, 999999999.5, 999999998.5, 100000000.5, 100000001.5, 1e9, 1e10, 1e22, 1e23, 1e100,
        DBL_MAX, DBL_MIN, DBL_EPSILON, DBL_TRUE_MIN, 4503599627370496.5, 9007199254740993.0, INFINITY, NAN,
    };
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        check_double(edges[i]);
        check_double(-edges[i]);
        check_double(nextafter(edges[i], INFINITY));
        check_double(nextafter(edges[i], -INFINITY));
    }
    for (int power = -1074; power <= 1023; power++) check_double(ldexp(1, power));
}

/* Any bits, numbers with few digits, and halves, on which exact ties fall. */
Test(text, a_million_random_doubles) {
    for (uint64_t i = 0; i < 1000000; i += 4) {
        const uint64_t bits = random_bits(17, i), any = random_bits(17, i + 1), power = random_bits(17, i + 2);
        double value;
        memcpy(&value, &any, sizeof value);
        check_double(value);
        check_double((double)(bits % 100000) * 1e-3);
        check_double((double)(bits % 20000000000) / 2);
        check_double(ldexp((double)(any >> (11 + power % 53)), -(int)(power / 53 % 64)));
    }
}

Test(text, integers_and_strings) {
    char text[160], expected[160];
    const char *format = "%d %d %u %ld %lld %lu %llu %zu %s%%|";
    struct quern_text written = quern_text_begin(text, sizeof text);
    quern_text_add(&written, format, -1, 0, 4294967295u, -9223372036854775807L, 12345678901234LL, 18446744073709551615UL, 0ULL,
                   (size_t)42, "words");
    snprintf(expected, sizeof expected, format, -1, 0, 4294967295u, -9223372036854775807L, 12345678901234LL,
             18446744073709551615UL, 0ULL, (size_t)42, "words");
    check(!strcmp(text, expected), "\"%s\" instead of \"%s\"", text, expected);
}

/* The ends of each type, and a text of nothing. */
Test(text, integers_at_the_edges) {
    static const long long edges[] = {0, 1, -1, 9, 10, 99, 100, INT_MAX, INT_MIN, LLONG_MAX, LLONG_MIN};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        char text[300], expected[300];
        const char *format = "%d|%u|%ld|%lu|%lld|%llu|%zu|%%|%s%s|";
        const int narrow = (int)edges[i];
        const unsigned long long wide = (unsigned long long)edges[i];
        struct quern_text written = quern_text_begin(text, sizeof text);
        quern_text_add(&written, format, narrow, (unsigned)narrow, (long)edges[i], (unsigned long)wide, edges[i], wide,
                       (size_t)wide, "", "x");
        const int length = snprintf(expected, sizeof expected, format, narrow, (unsigned)narrow, (long)edges[i],
                                    (unsigned long)wide, edges[i], wide, (size_t)wide, "", "x");
        check(!strcmp(text, expected) && written.length == (size_t)length, "\"%s\" instead of \"%s\"", text, expected);
    }
    char text[8];
    struct quern_text written = quern_text_begin(text, sizeof text);
    quern_text_add(&written, "%s", "");
    check(!text[0] && written.length == 0, "an empty text has %zu characters", written.length);
}

Test(text, short_buffers_are_terminated_and_the_length_is_that_of_the_whole_text) {
    for (size_t capacity = 0; capacity <= 12; capacity++) {
        char text[16];
        memset(text, '#', sizeof text);
        struct quern_text written = quern_text_begin(text, capacity);
        quern_text_add(&written, "%s%g", "abc", -1234.5);
        check(written.length == 10, "length %zu", written.length);
        check(!capacity || strlen(text) == (capacity <= 10 ? capacity - 1 : 10), "%zu bytes of %zu", strlen(text), capacity);
        check(!strncmp(text, "abc-1234.5", capacity ? strlen(text) : 0), "\"%.12s\"", text);
        for (size_t i = capacity; i < sizeof text; i++) check(text[i] == '#', "byte %zu of %zu is written", i, capacity);
    }
}
