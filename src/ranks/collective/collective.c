/* The public functions of the collectives: check the arguments, then call the group's transport. */
#include "ranks/handles.h"
#include "runtime/status.h"

quern_status quern_collective_workspace(quern_group *group, const quern_collective_args *args, size_t *bytes) {
    (void)group, (void)args, (void)bytes;
    return quern_fail(NULL, QUERN_NOT_SUPPORTED, "not yet");
}

#define DEFINE(name) \
    quern_status name(quern_group *group, const quern_collective_args *args, void *workspace, size_t workspace_bytes, \
                      void *stream) { \
        (void)group, (void)args, (void)workspace, (void)workspace_bytes, (void)stream; \
        return quern_fail(NULL, QUERN_NOT_SUPPORTED, "not yet"); \
    }
DEFINE(quern_all_gather)
DEFINE(quern_reduce_scatter)
DEFINE(quern_all_reduce)
DEFINE(quern_broadcast)
