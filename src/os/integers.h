/* Arithmetic with sizes and counts, for all of the library.  No argument may be negative, and no result may overflow. */
#ifndef QUERN_INTEGERS_H
#define QUERN_INTEGERS_H

#include <stddef.h>
#include <stdint.h>

static inline size_t quern_round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }
static inline int64_t quern_divide_up(int64_t count, int64_t by) { return count / by + (count % by != 0); }
static inline int64_t quern_smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t quern_larger(int64_t a, int64_t b) { return a > b ? a : b; }

#endif
