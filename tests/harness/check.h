/* The assertions of the tests: they print nothing if they hold, so that one per element is cheap. */
#ifndef HARNESS_CHECK_H
#define HARNESS_CHECK_H

#include <criterion/criterion.h>

#include "quern.h"

/* Fails the running test, with a printf format, unless the condition holds. */
#define check(condition, ...) do { if (!(condition)) cr_assert_fail(__VA_ARGS__); } while (0)

/* Fails the running test, with the library's detail, unless the call returns the status. */
#define check_status(call, expected) check_status_of(call, expected, #call, __LINE__)
#define check_ok(call) check_status(call, QUERN_OK)
void check_status_of(quern_status status, quern_status expected, const char *call, int line);

/* Fails the running test unless the call has returned the status, with a detail that contains the text. */
void check_refused(quern_status status, quern_status expected, const char *text);
void check_detail(const char *text);

/* The calling thread's error detail; valid until the next call on the thread. */
const char *error_detail(void);

#endif
