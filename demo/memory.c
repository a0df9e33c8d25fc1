/* Zeroed host memory; ends the program if there is not enough.  Called everywhere. */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *allocate(size_t bytes) {
    size_t rounded = bytes == 0 ? 64 : (bytes + 63) / 64 * 64;
    void *memory = aligned_alloc(64, rounded);
    if (memory == NULL) {
        fprintf(stderr, "language_model: no memory for %zu bytes\n", bytes);
        exit(EXIT_FAILURE);
    }
    return memset(memory, 0, rounded);
}
