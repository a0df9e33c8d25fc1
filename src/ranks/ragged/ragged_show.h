/* Shows the memory of a ragged all-to-all to observers: see runtime/look.h.  For ragged_all_to_all.c. */
#ifndef QUERN_RAGGED_SHOW_H
#define QUERN_RAGGED_SHOW_H

#include "ranks/ragged/ragged_call.h"
#include "runtime/look.h"

/* The rows that a plan moves. */
struct quern_ragged_rows {
    const char *input, *output;
    int64_t input_rows, output_rows, row_bytes;
};

struct quern_ragged_rows quern_ragged_rows_of(const struct quern_ragged_call *call);

/* The same without symmetric memory that was freed since, which the run refuses. */
struct quern_ragged_rows quern_ragged_rows_left(const struct quern_membership *member, const struct quern_ragged_rows *rows);

extern const struct quern_view quern_ragged_view;       /* of a struct quern_ragged_call */
extern const struct quern_view quern_ragged_plan_view;  /* of a struct quern_ragged_rows */

#endif
