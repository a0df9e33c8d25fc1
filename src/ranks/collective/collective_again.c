/* Remembers a rank's last collective.  Called by collective.c. */
#include "ranks/collective/collective.h"

#include <string.h>

#include "runtime/dispatch.h"
#include "runtime/threads.h"

enum { ARGS_BYTES = offsetof(quern_collective_args, order) + sizeof(quern_order) };  /* without the padding at the end */

static const struct quern_ready_kernel *kernels_of(const struct quern_membership *member) {
    return quern_first_ready(member->device, QUERN_COLLECTIVE);
}

/* Whoever lists members may list others at the same address. */
bool quern_collective_is_again(struct quern_membership *member, const struct quern_collective_form *form,
                               const quern_collective_args *args, const void *workspace, size_t workspace_bytes) {
    struct quern_collective_again *again = member->again;
    if (again->form != form || !args || args->size != again->args.size || memcmp(&again->args, args, ARGS_BYTES) != 0 ||
        again->workspace != workspace || again->workspace_bytes != workspace_bytes || again->kernels != kernels_of(member) ||
        again->live != quern_symmetric_live(member) || again->frees != quern_symmetric_frees(member))
        return false;
    again->call.timeout = args->timeout > 0 ? args->timeout : member->timeout;
    again->call.threads = quern_threads_of(member->device);
    return true;
}

void quern_collective_remember(struct quern_membership *member, const struct quern_collective_form *form,
                               const quern_collective_args *args, const void *workspace, size_t workspace_bytes) {
    struct quern_collective_again *again = member->again;
    if (args->members) return;
    again->args = *args;
    again->workspace = workspace;
    again->workspace_bytes = workspace_bytes;
    again->kernels = kernels_of(member);
    again->live = quern_symmetric_live(member);
    again->frees = quern_symmetric_frees(member);
    again->form = form;
}
