/* The public functions of quantised chunks: check the arguments, then call the group's transport. */
#include "ranks/chunks/chunks.h"
#include "ranks/handles.h"
#include "ranks/poison.h"
#include "ranks/seen_wait.h"
#include "runtime/arguments.h"
#include "runtime/status.h"

quern_status quern_quantize_chunks_workspace(quern_group *group, const quern_quantize_chunks_args *args, size_t *bytes) {
    struct quern_membership *member;
    struct quern_chunks_call call;
    quern_status status = quern_member_of(group, &member);
    if (status != QUERN_OK) return status;
    if (!bytes) return quern_fail(member->device, QUERN_NULL_POINTER, "bytes is NULL");
    status = quern_chunks_fill_members(&call, member, args);
    if (status == QUERN_OK) status = quern_chunks_fill_shape(&call);
    if (status == QUERN_OK) *bytes = member->transport->chunks->workspace_bytes(&call);
    return status;
}

/* ---- the call ---- */

static quern_status run(quern_group *group, const quern_quantize_chunks_args *args, void *workspace, size_t workspace_bytes,
                        void *stream, struct quern_look *look) {
    struct quern_membership *member;
    struct quern_chunks_call call;
    quern_status status = quern_member_of(group, &member);
    if (status == QUERN_OK) quern_look_at_member(look, member);
    if (status == QUERN_OK) status = quern_check_poison(member);
    if (status == QUERN_OK) status = quern_chunks_fill_members(&call, member, args);
    if (status != QUERN_OK) return status;
    call.refused = quern_chunks_fill_rest(&call, workspace, workspace_bytes, stream);
    if (call.refused == QUERN_OK) quern_show_call(look, args, &call);
    return quern_end_call(member, member->transport->chunks->run(&call, stream));
}

quern_status quern_quantize_chunks(quern_group *group, const quern_quantize_chunks_args *args, void *workspace,
                                   size_t workspace_bytes, void *stream) {
    struct quern_look look;
    quern_begin_look(&look, &quern_quantize_chunks_view, NULL, stream);
    return quern_end_look(&look, run(group, args, workspace, workspace_bytes, stream, &look));
}

/* ---- the wait, by any thread ---- */

static quern_status check_words(const struct quern_membership *member, const uint32_t *ready, int64_t count) {
    struct quern_symmetric_location place;
    quern_status status = quern_check_count(member->device, "count", count, QUERN_RANK_LIMIT * (int64_t)QUERN_MOST_CHUNKS);
    if (status != QUERN_OK || !count) return status;
    status = quern_check_pointer(member->device, "ready", ready, sizeof *ready);
    if (status != QUERN_OK || member->transport->chunks->any_memory) return status;
    const int64_t bytes = count * (int64_t)sizeof *ready;
    if (quern_symmetric_find_beside(member, ready, bytes, &place) == QUERN_MEMORY_SYMMETRIC) return QUERN_OK;
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT,
                      "ready is not symmetric memory of this group: expected %lld words within one live quern_symmetric_alloc",
                      (long long)count);
}

static quern_status wait_for(struct quern_membership *member, const uint32_t *ready, int64_t count, uint32_t value, double timeout,
                             void *stream, struct quern_look *look) {
    const struct quern_chunks_transport *transport = member->transport->chunks;
    double limit;
    quern_look_at_member(look, member);
    quern_status status = quern_check_poison(member);
    if (status == QUERN_OK && !transport)
        status = quern_fail(member->device, QUERN_NOT_SUPPORTED, "a group over %s has no quantised chunks",
                            member->transport->name);
    if (status == QUERN_OK) status = check_words(member, ready, count);
    if (status == QUERN_OK) status = quern_chunks_check_value(member->device, "value", value);
    if (status == QUERN_OK) status = quern_check_timeout(member, timeout, &limit);
    if (status == QUERN_OK) status = quern_check_stream(member->device, stream);
    if (status != QUERN_OK) return status;
    quern_show_call(look, NULL, member);
    return count ? transport->wait(member, ready, count, value, limit, stream) : QUERN_OK;
}

quern_status quern_chunk_wait(quern_group *group, const uint32_t *ready, int64_t count, uint32_t value, double timeout,
                              void *stream) {
    struct quern_look look;
    quern_begin_look(&look, &quern_chunk_wait_view, NULL, stream);
    struct quern_membership *member = quern_begin_visit(group);
    if (!member) return quern_end_look(&look, quern_fail_no_group(group));
    const quern_status status = wait_for(member, ready, count, value, timeout, stream, &look);
    quern_end_visit(group);
    return quern_end_look(&look, status);
}

/* ---- the view ---- */

static quern_status check_view(const struct quern_membership *member, const void *pointer, const quern_device_view *view) {
    quern_status status = quern_check_poison(member);
    if (status == QUERN_OK) status = quern_check_struct(member->device, "quern_device_view", view, sizeof *view);
    if (status != QUERN_OK) return status;
    if (!member->transport->chunks || !member->transport->chunks->view)
        return quern_fail(member->device, QUERN_NOT_SUPPORTED, "a group over %s has no view for kernels", member->transport->name);
    return pointer ? QUERN_OK : quern_fail(member->device, QUERN_NULL_POINTER, "pointer is NULL");
}

quern_status quern_symmetric_view(quern_group *group, const void *pointer, quern_device_view *view) {
    struct quern_membership *member;
    quern_status status = quern_member_of(group, &member);
    if (status == QUERN_OK) status = check_view(member, pointer, view);
    return status == QUERN_OK ? member->transport->chunks->view(member, pointer, view) : status;
}
