/* Compares the task and the data types of a kernel with those of a request.  Called by quern_select and by quern_explain. */
#include "runtime/match.h"

#include "os/text.h"
#include "runtime/operation.h"

int quern_match_refused(const struct quern_kernel *kernel, int cluster, const void *request, struct quern_text *why) {
    const struct quern_match *match = request;
    (void)cluster;  /* these kernels have none */
    if (kernel->key.any.task != match->task) {
        if (why) quern_text_add(why, "computes something else");
        return QUERN_ANOTHER_TASK;
    }
    for (int i = 0; i < 2; i++) {
        const quern_dtype has = kernel->key.any.dtypes[i], asked = match->dtypes[i];
        if (has == asked) continue;
        if (why)
            quern_text_add(why, "%s is %s, the request has %s", match->names[i], quern_dtype_name(has), quern_dtype_name(asked));
        return QUERN_ANOTHER_TASK + 1 + i;
    }
    return 0;
}

bool quern_match_covers(const struct quern_kernel *kernel, const struct quern_kernel *other) {
    const quern_dtype *one = kernel->key.any.dtypes, *two = other->key.any.dtypes;
    return kernel->key.any.task == other->key.any.task && one[0] == two[0] && one[1] == two[1];
}
