/*
 * A stand-in for the part of Criterion that the suites use: Criterion itself is built for glibc.  The suites' sources are the same.
 * criterion.c has main, which runs each test in a process of its own.
 */
#ifndef MUSL_CRITERION_H
#define MUSL_CRITERION_H

#include <stdio.h>  /* Criterion's header includes it, too */

struct criterion_options {
    double timeout;  /* seconds; 0: the program's limit */
};

/* A test or, if run is NULL, the options of a suite. */
struct criterion_test {
    const char *suite, *name;
    void (*run)(void);
    struct criterion_options options;
    struct criterion_test *next;
};

void criterion_register(struct criterion_test *test);

#define CRITERION_REGISTER(id, ...) \
    __attribute__((constructor)) static void id##_register(void) { \
        static struct criterion_test test = __VA_ARGS__; \
        criterion_register(&test); \
    }

#define Test(suite, name, ...) \
    static void suite##_##name##_test(void); \
    CRITERION_REGISTER(suite##_##name, {#suite, #name, suite##_##name##_test, {__VA_ARGS__}, NULL}) \
    static void suite##_##name##_test(void)

#define TestSuite(suite, ...) CRITERION_REGISTER(suite##_options, {#suite, NULL, NULL, {__VA_ARGS__}, NULL})

/* Both print a message and end the process of the test. */
#define cr_assert_fail(...) criterion_end(1, __FILE__, __LINE__, __VA_ARGS__)
#define cr_skip_test(...) criterion_end(0, __FILE__, __LINE__, __VA_ARGS__)
_Noreturn void criterion_end(int failed, const char *file, int line, const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
