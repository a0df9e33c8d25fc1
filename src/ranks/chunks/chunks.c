/* The public functions of quantised chunks: check the arguments, then call the group's transport. */
#include "ranks/chunks/chunks_call.h"
#include "ranks/handles.h"
#include "runtime/status.h"

static quern_status not_yet(void) { return quern_fail(NULL, QUERN_NOT_SUPPORTED, "not yet"); }

quern_status quern_quantize_chunks_workspace(quern_group *group, const quern_quantize_chunks_args *args, size_t *bytes) {
    (void)group, (void)args, (void)bytes;
    return not_yet();
}

quern_status quern_quantize_chunks(quern_group *group, const quern_quantize_chunks_args *args, void *workspace,
                                   size_t workspace_bytes, void *stream) {
    (void)group, (void)args, (void)workspace, (void)workspace_bytes, (void)stream;
    return not_yet();
}

quern_status quern_chunk_wait(quern_group *group, const uint32_t *ready, int64_t count, uint32_t value, double timeout,
                              void *stream) {
    (void)group, (void)ready, (void)count, (void)value, (void)timeout, (void)stream;
    return not_yet();
}

quern_status quern_symmetric_view(quern_group *group, const void *pointer, quern_device_view *view) {
    (void)group, (void)pointer, (void)view;
    return not_yet();
}
