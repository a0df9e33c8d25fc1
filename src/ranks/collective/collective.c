/* The public functions of the collectives: check the arguments, then call the group's transport. */
#include <string.h>

#include "os/sizes.h"
#include "ranks/collective/collective.h"
#include "ranks/handles.h"
#include "ranks/poison.h"
#include "ranks/seen_wait.h"
#include "runtime/arguments.h"
#include "runtime/dtype.h"
#include "runtime/ranges.h"
#include "runtime/status.h"
#include "runtime/threads.h"

static const struct quern_collective_form all_gather = {.operation = QUERN_IN_ALL_GATHER, .gathers = true,
                                                         .view = &quern_all_gather_view},
    reduce_scatter = {.operation = QUERN_IN_REDUCE_SCATTER, .reduces = true, .scatters = true, .view = &quern_reduce_scatter_view},
    all_reduce = {.operation = QUERN_IN_ALL_REDUCE, .reduces = true, .view = &quern_all_reduce_view},
    broadcast = {.operation = QUERN_IN_BROADCAST, .has_root = true, .view = &quern_broadcast_view};

/* ---- members: checked first, since a rank reports faulty arguments to the other members ---- */

static quern_status fill_members(struct quern_collective_call *call, struct quern_membership *member,
                                 const quern_collective_args *args) {
    memset(call, 0, offsetof(struct quern_collective_call, input_place));  /* not what is long, and filled in where it is used */
    call->member = member;
    call->threads = quern_threads_of(member->device);
    call->timeout = member->timeout;
    if (!member->transport->collective)
        return quern_fail(member->device, QUERN_NOT_SUPPORTED, "a group over %s has no collectives", member->transport->name);
    quern_status status = quern_check_struct(member->device, "quern_collective_args", args, sizeof *args);
    if (status == QUERN_OK) status = quern_check_members(member, args->members, args->member_count, &call->set);
    if (status == QUERN_OK) call->places = quern_number_places(member, &call->set, call->rank_at, &call->place);
    return status;
}

/* ---- the shape ---- */

static quern_status check_numbers(const quern_device *device, const quern_collective_args *args) {
    quern_status status = quern_check_count(device, "args.count", args->count, QUERN_MOST_BYTES);
    return status == QUERN_OK ? quern_check_count(device, "args.multiprocessors", args->multiprocessors, INT32_MAX) : status;
}

/* `pieces` of count elements must have at most 2^47 bytes. */
static quern_status check_bytes(const struct quern_collective_call *call, int pieces, int64_t *bytes) {
    int64_t piece;
    if (quern_multiply_bytes(call->count, call->element_bytes, &piece) && quern_multiply_bytes(piece, pieces, bytes))
        return QUERN_OK;
    return quern_fail(call->member->device, QUERN_INVALID_SHAPE,
                      "args.count is %lld elements of %s, %d times: expected at most 2^47 bytes", (long long)call->count,
                      quern_dtype_name(call->dtype), pieces);
}

/* Other columns may lie between the places of a reduce-scatter's input. */
static quern_status fill_stride(struct quern_collective_call *call, const quern_collective_args *args) {
    const quern_device *device = call->member->device;
    const int64_t stride = args->input_stride;
    call->input_stride = stride ? stride : call->count;
    if (stride && !call->form->scatters)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.input_stride is not 0: only quern_reduce_scatter has one");
    quern_status status = quern_check_count(device, "args.input_stride", stride, QUERN_MOST_BYTES / call->element_bytes);
    if (status != QUERN_OK || call->input_stride >= call->count) return status;
    return quern_fail(device, QUERN_INVALID_SHAPE, "args.input_stride is %lld: expected at least count, %lld, or 0",
                      (long long)stride, (long long)call->count);
}

static quern_status fill_input_bytes(struct quern_collective_call *call) {
    if (!call->form->scatters || call->input_stride == call->count)
        return check_bytes(call, call->form->scatters ? call->places : 1, &call->input_bytes);
    const int64_t step = call->input_stride * call->element_bytes;
    if (!quern_multiply_bytes(step, call->places, &call->input_bytes))
        return quern_fail(call->member->device, QUERN_INVALID_SHAPE,
                          "args.input_stride is %lld elements of %s, %d times: expected at most 2^47 bytes",
                          (long long)call->input_stride, quern_dtype_name(call->dtype), call->places);
    call->input_bytes = call->count ? call->input_bytes - step + call->piece_bytes : 0;
    return QUERN_OK;
}

/* The checks that all operations share. */
static quern_status fill_shape(struct quern_collective_call *call, const quern_collective_args *args) {
    const quern_device *device = call->member->device;
    const bool reduces = call->form && call->form->reduces;  /* the question about workspace has no form */
    quern_status status = quern_check_dtype(device, "args.dtype", args->dtype, reduces ? quern_floats : quern_dtypes, false);
    if (status == QUERN_OK) status = check_numbers(device, args);
    call->dtype = args->dtype;
    call->count = args->count;
    call->element_bytes = (int64_t)quern_dtype_bytes(args->dtype);
    call->multiprocessors = args->multiprocessors;
    if (status == QUERN_OK) status = check_bytes(call, 1, &call->piece_bytes);
    return status == QUERN_OK ? quern_check_timeout(call->member, args->timeout, &call->timeout) : status;
}

static quern_status fill_combination(struct quern_collective_call *call, const quern_collective_args *args) {
    if (!call->form->reduces) return QUERN_OK;
    call->combination = args->combination;
    if (args->combination == QUERN_COMBINE_SUM || args->combination == QUERN_COMBINE_MAX) return QUERN_OK;
    return quern_fail(call->member->device, QUERN_INVALID_ARGUMENT,
                      "args.combination is %d: expected QUERN_COMBINE_SUM or QUERN_COMBINE_MAX", (int)args->combination);
}

static quern_status fill_order(struct quern_collective_call *call, const quern_collective_args *args) {
    const quern_device *device = call->member->device;
    call->order = args->order;
    if (args->order == QUERN_ORDER_RANKS) return QUERN_OK;
    if (!call->form->reduces)
        return quern_fail(device, QUERN_INVALID_ARGUMENT,
                          "args.order is not 0: only quern_reduce_scatter and quern_all_reduce have one");
    if (args->order == QUERN_ORDER_ANY) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.order is %d: expected QUERN_ORDER_RANKS or QUERN_ORDER_ANY",
                      (int)args->order);
}

static quern_status fill_root(struct quern_collective_call *call, const quern_collective_args *args) {
    const struct quern_membership *member = call->member;
    if (!call->form->has_root) return QUERN_OK;
    if (args->root < 0 || args->root >= member->ranks)
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "args.root is %d: expected a rank from 0 to %d", args->root,
                          member->ranks - 1);
    if (!quern_set_has(&call->set, args->root))
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "args.root is %d: expected one of the %d members", args->root,
                          call->places);
    call->root = args->root;
    while (call->rank_at[call->root_place] != args->root) call->root_place++;
    return QUERN_OK;
}

/* ---- the memory ---- */

static quern_status fill_buffer(struct quern_collective_call *call, const char *name, const void *pointer, int64_t bytes,
                                enum quern_symmetric_state *state, struct quern_symmetric_location *place) {
    quern_status status =
        bytes ? quern_check_pointer(call->member->device, name, pointer, (size_t)call->element_bytes) : QUERN_OK;
    return status == QUERN_OK ? quern_symmetric_find_buffer(call->member, name, pointer, bytes, state, place) : status;
}

static quern_status fill_buffers(struct quern_collective_call *call, const quern_collective_args *args) {
    const struct quern_collective_form *form = call->form;
    const bool has_input = !form->has_root || call->root == call->member->rank;
    quern_status status = fill_stride(call, args);
    if (status == QUERN_OK) status = fill_input_bytes(call);
    if (status == QUERN_OK) status = check_bytes(call, form->gathers ? call->places : 1, &call->output_bytes);
    if (status != QUERN_OK) return status;
    if (has_input) call->input = args->input;
    else call->input_bytes = 0;
    call->output = args->output;
    status = fill_buffer(call, "args.input", call->input, call->input_bytes, &call->input_state, &call->input_place);
    if (status == QUERN_OK)
        status = fill_buffer(call, "args.output", call->output, call->output_bytes, &call->output_state, &call->output_place);
    return status;
}

/* Whether the input and the output are where the header lets them share memory. */
static bool is_in_place(const struct quern_collective_call *call) {
    const uintptr_t input = (uintptr_t)call->input, output = (uintptr_t)call->output;
    if (!call->input || !call->piece_bytes) return false;
    return input + (uintptr_t)quern_collective_part(call, call->place) ==
           output + (call->form->gathers ? (uintptr_t)(call->place * call->piece_bytes) : 0);
}

/* Whether a range shares no byte with another one.  Cheap, without names. */
static bool are_apart(const struct quern_range *a, const struct quern_range *b) {
    return a->end <= b->begin || b->end <= a->begin || a->begin == a->end || b->begin == b->end;
}

/* In place the larger buffer contains the other one. */
static quern_status check_apart(struct quern_collective_call *call) {
    struct quern_range ranges[3] = {
        quern_range_of("workspace", call->workspace, (int64_t)call->workspace_bytes, QUERN_WRITTEN),
        quern_range_of("args.output", call->output, call->output_bytes, QUERN_WRITTEN),
        quern_range_of("args.input", call->input, call->input_bytes, QUERN_READ)};
    call->in_place = is_in_place(call);
    if (call->in_place) ranges[call->form->scatters ? 1 : 2].end = ranges[call->form->scatters ? 1 : 2].begin;
    if (are_apart(&ranges[0], &ranges[1]) && are_apart(&ranges[0], &ranges[2]) && are_apart(&ranges[1], &ranges[2]))
        return QUERN_OK;
    return quern_check_apart(call->member->device, NULL, ranges, NULL, 3);
}

static quern_status fill_workspace(struct quern_collective_call *call, void *workspace, size_t bytes) {
    const struct quern_membership *member = call->member;
    const size_t needed = member->transport->collective->workspace_bytes(call);
    call->workspace = workspace;
    call->workspace_bytes = needed;
    if (member->transport->collective->any_workspace) return quern_check_workspace(member->device, workspace, bytes, needed);
    return quern_symmetric_find_workspace(member, workspace, bytes, needed, &call->workspace_state, &call->workspace_place);
}

/* All checks that a rank can make alone.  The members are filled in already. */
static quern_status fill_rest(struct quern_collective_call *call, const quern_collective_args *args, void *workspace,
                              size_t workspace_bytes, void *stream) {
    const struct quern_membership *member = call->member;
    quern_status status = fill_shape(call, args);
    if (status == QUERN_OK) status = fill_combination(call, args);
    if (status == QUERN_OK) status = fill_order(call, args);
    if (status == QUERN_OK) status = fill_root(call, args);
    if (status == QUERN_OK) status = fill_buffers(call, args);
    if (status == QUERN_OK) status = fill_workspace(call, workspace, workspace_bytes);
    if (status == QUERN_OK) status = check_apart(call);
    if (status == QUERN_OK) status = quern_collective_select(call);
    if (status == QUERN_OK) status = quern_check_stream(member->device, stream);
    if (status == QUERN_OK && member->transport->collective->check) status = member->transport->collective->check(call);
    return status;
}

/* ---- calls ---- */

quern_status quern_collective_workspace(quern_group *group, const quern_collective_args *args, size_t *bytes) {
    struct quern_membership *member;
    struct quern_collective_call call;
    int64_t most;
    quern_status status = quern_member_of(group, &member);
    if (status != QUERN_OK) return status;
    if (!bytes) return quern_fail(member->device, QUERN_NULL_POINTER, "bytes is NULL");
    status = fill_members(&call, member, args);
    if (status == QUERN_OK) status = fill_shape(&call, args);
    if (status == QUERN_OK) status = check_bytes(&call, call.places, &most);
    if (status == QUERN_OK) *bytes = member->transport->collective->workspace_bytes(&call);
    return status;
}

/* Fills in the call in member->again.  Fails if the members are at fault. */
static quern_status check(const struct quern_collective_form *form, struct quern_membership *member,
                          const quern_collective_args *args, void *workspace, size_t workspace_bytes, void *stream) {
    struct quern_collective_call *call = &member->again->call;
    quern_collective_forget(member);
    quern_status status = fill_members(call, member, args);
    if (status != QUERN_OK) return status;
    call->form = form;
    call->refused = fill_rest(call, args, workspace, workspace_bytes, stream);
    if (call->refused == QUERN_OK && member->transport->collective->repeats)
        quern_collective_remember(member, form, args, workspace, workspace_bytes);
    return QUERN_OK;
}

static quern_status call_of(const struct quern_collective_form *form, quern_group *group, const quern_collective_args *args,
                            void *workspace, size_t workspace_bytes, void *stream, struct quern_look *look) {
    struct quern_membership *member;
    quern_status status = quern_member_of(group, &member);
    if (status == QUERN_OK) quern_look_at_member(look, member);
    if (status == QUERN_OK) status = quern_check_poison(member);
    if (status != QUERN_OK) return status;
    const struct quern_collective_transport *transport = member->transport->collective;
    struct quern_collective_call *call = &member->again->call;
    if (transport && transport->expect) transport->expect(member);
    if (look->on || stream || !quern_collective_is_again(member, form, args, workspace, workspace_bytes)) {
        status = check(form, member, args, workspace, workspace_bytes, stream);
        if (status != QUERN_OK) return status;
        if (call->refused == QUERN_OK) quern_show_call(look, args, call);
    }
    return quern_end_call(member, transport->run(call, stream));
}

static quern_status run(const struct quern_collective_form *form, quern_group *group, const quern_collective_args *args,
                        void *workspace, size_t workspace_bytes, void *stream) {
    struct quern_look look;
    quern_begin_look(&look, form->view, NULL, stream);
    return quern_end_look(&look, call_of(form, group, args, workspace, workspace_bytes, stream, &look));
}

quern_status quern_all_gather(quern_group *group, const quern_collective_args *args, void *workspace, size_t workspace_bytes,
                              void *stream) {
    return run(&all_gather, group, args, workspace, workspace_bytes, stream);
}

quern_status quern_reduce_scatter(quern_group *group, const quern_collective_args *args, void *workspace, size_t workspace_bytes,
                                  void *stream) {
    return run(&reduce_scatter, group, args, workspace, workspace_bytes, stream);
}

quern_status quern_all_reduce(quern_group *group, const quern_collective_args *args, void *workspace, size_t workspace_bytes,
                              void *stream) {
    return run(&all_reduce, group, args, workspace, workspace_bytes, stream);
}

quern_status quern_broadcast(quern_group *group, const quern_collective_args *args, void *workspace, size_t workspace_bytes,
                             void *stream) {
    return run(&broadcast, group, args, workspace, workspace_bytes, stream);
}
