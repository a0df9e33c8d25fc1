/* A ragged all-to-all by its definition: row by row, with access to all ranks' memory. */
#ifndef ORACLE_RAGGED_ALL_TO_ALL_H
#define ORACLE_RAGGED_ALL_TO_ALL_H

#include <stdint.h>

/* One member.  The arrays have [members, updates]. */
struct ragged_member {
    const unsigned char *input;   /* [output_rows, row_bytes]; NULL: not needed */
    unsigned char *output;        /* [output_rows, row_bytes]; NULL: not needed */
    const int64_t *input_offsets, *send_sizes, *output_offsets;
};

void ragged_all_to_all(const struct ragged_member *members, int count, int64_t updates, int64_t row_bytes);

#endif
