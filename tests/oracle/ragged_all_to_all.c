/* Copies the rows of a ragged all-to-all one by one.  ragged_all_to_all.h documents the function. */
#include "oracle/ragged_all_to_all.h"

static void copy_row(unsigned char *to, const unsigned char *from, int64_t row_bytes) {
    for (int64_t byte = 0; byte < row_bytes; byte++) to[byte] = from[byte];
}

void ragged_all_to_all(const struct ragged_member *members, int count, int64_t updates, int64_t row_bytes) {
    for (int sender = 0; sender < count; sender++)
        for (int receiver = 0; receiver < count; receiver++)
            for (int64_t update = 0; update < updates && members[receiver].output; update++) {
                const struct ragged_member *from = &members[sender];
                const int64_t entry = receiver * updates + update;
                for (int64_t row = 0; row < from->send_sizes[entry]; row++)
                    copy_row(members[receiver].output + (from->output_offsets[entry] + row) * row_bytes,
                             from->input + (from->input_offsets[entry] + row) * row_bytes, row_bytes);
            }
}
