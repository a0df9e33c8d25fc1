/*
 * What every suite needs: the standard headers, and the assertions, which print nothing if they hold, so that one per element is
 * cheap.
 */
#ifndef HARNESS_CHECK_H
#define HARNESS_CHECK_H

#include <criterion/criterion.h>

#include "harness/args.h"
#include "harness/standard.h"
#include "quern.h"

/* Of a declaration: the function has the variable's address when its scope ends, after those of later declarations. */
#define CLOSED_BY(close) __attribute__((cleanup(close)))

/* A test with a thing that is open meanwhile: the body has its address. */
#define TEST_IN(type, thing, open, close, suite, name) \
    static void suite##_##name##_in(type *thing); \
    Test(suite, name) { \
        type thing CLOSED_BY(close); \
        open(&thing); \
        suite##_##name##_in(&thing); \
    } \
    static void suite##_##name##_in(type *thing)

/* A test between two calls. */
#define TEST_BETWEEN(open, close, suite, name) \
    static void suite##_##name##_between(void); \
    Test(suite, name) { \
        open; \
        suite##_##name##_between(); \
        close; \
    } \
    static void suite##_##name##_between(void)

/* A test that is `each` with a function of these parameters, whose body follows. */
#define TEST_EACH(each, suite, name, ...) \
    static void suite##_##name##_each(__VA_ARGS__); \
    Test(suite, name) { each(suite##_##name##_each); } \
    static void suite##_##name##_each(__VA_ARGS__)

/* Fails the running test, with a printf format, unless the condition holds. */
#define check(condition, ...) do { if (!(condition)) cr_assert_fail(__VA_ARGS__); } while (0)

/* Fails the running test, with the library's detail, unless the call returns the status. */
#define check_status(call, expected) check_status_of(call, expected, #call, __LINE__)
#define check_ok(call) check_status(call, QUERN_OK)
void check_status_of(quern_status status, quern_status expected, const char *call, int line);

/* Fails the running test unless the call returns the status, with a detail that contains the text. */
#define check_refused(call, expected, text) do { check_status(call, expected); check_detail(text); } while (0)
void check_detail(const char *text);

/* Declares a device that is open until the end of the scope. */
#define OPEN_ON(device, kind, ordinal) quern_device *device CLOSED_BY(close_opened) = open_on(kind, ordinal)
#define OPEN_CPU(device) OPEN_ON(device, QUERN_CPU, 0)
quern_device *open_on(quern_device_kind kind, int ordinal);
void close_opened(quern_device **device);

quern_device_info info_of(const quern_device *device);

/* The calling thread's error detail; valid until the next call on the thread. */
const char *error_detail(void);

#endif
