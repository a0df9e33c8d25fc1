/* A ragged all-to-all by its definition: row after row, with all ranks' memory at hand. */
#ifndef ORACLE_RAGGED_ALL_TO_ALL_H
#define ORACLE_RAGGED_ALL_TO_ALL_H

#include <stdint.h>

/* One member.  The arrays have [members, updates]. */
struct ragged_member {
    const unsigned char *input;   /* [input_rows, row_bytes]; shares no memory with any output */
    unsigned char *output;        /* [output_rows, row_bytes]; NULL: nobody asks */
    const int64_t *input_offsets, *send_sizes, *output_offsets;
};

void ragged_all_to_all(const struct ragged_member *members, int count, int64_t updates, int64_t row_bytes);

#endif
