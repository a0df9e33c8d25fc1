/* quern_build_info, a public function, and the errors about what a build leaves out.  Called when an operation has no kernel. */
#include "runtime/build_info.h"

#include "runtime/operation.h"
#include "runtime/walk.h"

const char *quern_build_info(void) {
    return quern_build_text;
}

static bool see_row(const struct quern_kernel *kernel, void *context) {
    (void)kernel;
    *(bool *)context = true;
    return false;
}

bool quern_is_left_out(unsigned operation) {
    bool has_rows = false;
    quern_walk(operation, see_row, &has_rows);
    return !has_rows;
}

quern_status quern_fail_left_out(const quern_device *device, unsigned operation) {
    const char *only = quern_build_operations;
    return quern_fail(device, QUERN_NO_KERNEL, "%s is not in this build of the library, which has%s" QUERN_WHOLE_BUILD,
                      quern_operation_name(operation), *only ? only : " no operation");
}
