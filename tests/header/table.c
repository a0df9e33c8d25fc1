/* Compiles the tables of the public header and the extents of its pointers.  For tests; used by the fuzzer. */
#include "table.h"

#include "extents.h"

#define VALUES(type) .values = values_of_##type, .value_count = sizeof values_of_##type / sizeof *values_of_##type
#include "../../generated/header/table.h"

int header_ranks = MOST_RANKS;

const struct function *const header_functions = functions;
const int header_function_count = sizeof functions / sizeof *functions;

bool header_is_status(int value) {
    for (size_t i = 0; i < sizeof values_of_quern_status / sizeof *values_of_quern_status; i++)
        if (values_of_quern_status[i] == value) return true;
    return false;
}
