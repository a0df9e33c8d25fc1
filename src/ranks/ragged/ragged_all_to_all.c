/* The public functions of the ragged all-to-all and its plans: check the arguments, then call the group's transport. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "os/sizes.h"
#include "os/unload.h"
#include "ranks/handles.h"
#include "ranks/poison.h"
#include "ranks/ragged/ragged.h"
#include "ranks/seen_wait.h"
#include "runtime/arguments.h"
#include "runtime/dispatch.h"
#include "runtime/dtype.h"
#include "runtime/ranges.h"
#include "runtime/status.h"
#include "runtime/threads.h"

const struct quern_operation quern_ragged_all_to_all_operation = {.table = quern_ragged_all_to_all_kernels,
                                                                  .counts_resident = true};

/* ---- members: checked first, since a rank reports faulty arguments to the other members ---- */

static quern_status fill_members(struct quern_ragged_call *call, struct quern_membership *member,
                                 const quern_ragged_all_to_all_args *args) {
    memset(call, 0, offsetof(struct quern_ragged_call, rank_at));  /* not the list of ranks, which is longer than all else */
    call->member = member;
    call->threads = quern_threads_of(member->device);
    call->timeout = member->timeout;
    quern_status status = quern_check_struct(member->device, "quern_ragged_all_to_all_args", args, sizeof *args);
    if (status == QUERN_OK) status = quern_check_members(member, args->members, args->member_count, &call->set);
    if (status == QUERN_OK) call->places = quern_number_places(member, &call->set, call->rank_at, &call->place);
    return status;
}

/* ---- the shape ---- */

static quern_status check_numbers(const quern_device *device, const quern_ragged_all_to_all_args *args) {
    const struct {
        const char *name;
        int64_t value, most;
    } numbers[] = {{"args.input_rows", args->input_rows, QUERN_MOST_BYTES},
                   {"args.output_rows", args->output_rows, QUERN_MOST_BYTES},
                   {"args.row_bytes", args->row_bytes, QUERN_MOST_BYTES}, {"args.updates", args->updates, INT32_MAX},
                   {"args.multiprocessors", args->multiprocessors, INT32_MAX}};
    quern_status status = QUERN_OK;
    for (size_t i = 0; status == QUERN_OK && i < sizeof numbers / sizeof *numbers; i++)
        status = quern_check_count(device, numbers[i].name, numbers[i].value, numbers[i].most);
    if (status == QUERN_OK) status = quern_check_choice(device, "args.metadata_on_device", args->metadata_on_device, 1);
    return status == QUERN_OK ? quern_check_choice(device, "args.check_overlap", args->check_overlap, 1) : status;
}

static quern_status check_bytes(const quern_device *device, const char *name, int64_t rows, int64_t row_bytes) {
    int64_t bytes;
    if (quern_multiply_bytes(rows, row_bytes, &bytes)) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_SHAPE, "%s is %lld and args.row_bytes is %lld: expected at most 2^47 bytes", name,
                      (long long)rows, (long long)row_bytes);
}

/* Limits the sizes of the buffers, and the number of entries to 31 bits. */
static quern_status check_products(const struct quern_ragged_call *call, const quern_ragged_all_to_all_args *args) {
    const quern_device *device = call->member->device;
    quern_status status = check_bytes(device, "args.input_rows", args->input_rows, args->row_bytes);
    if (status == QUERN_OK) status = check_bytes(device, "args.output_rows", args->output_rows, args->row_bytes);
    if (status != QUERN_OK) return status;
    if (args->updates > INT32_MAX / call->places)
        return quern_fail(device, QUERN_INVALID_SHAPE, "args.updates is %lld: expected at most %lld for %d members",
                          (long long)args->updates, (long long)(INT32_MAX / call->places), call->places);
    return QUERN_OK;
}

static quern_status fill_shape(struct quern_ragged_call *call, const quern_ragged_all_to_all_args *args) {
    const quern_device *device = call->member->device;
    quern_status status = quern_check_dtype(device, "args.metadata_dtype", args->metadata_dtype, quern_integers, false);
    if (status == QUERN_OK) status = check_numbers(device, args);
    if (status == QUERN_OK) status = check_products(call, args);
    if (status == QUERN_OK) status = quern_check_timeout(call->member, args->timeout, &call->timeout);
    if (status != QUERN_OK) return status;
    call->metadata_is_int64 = args->metadata_dtype == QUERN_INT64;
    call->metadata_on_device = args->metadata_on_device != 0;
    call->check_overlap = args->check_overlap != 0;
    call->input_rows = args->input_rows;
    call->output_rows = args->output_rows;
    call->row_bytes = args->row_bytes;
    call->updates = args->updates;
    call->multiprocessors = args->multiprocessors;
    return QUERN_OK;
}

/* ---- the memory ---- */

static bool overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes) {
    uintptr_t first = (uintptr_t)a, second = (uintptr_t)b;
    return a_bytes && b_bytes && (first < second ? second - first < a_bytes : first - second < b_bytes);
}

/* Input and output.  Either may be NULL if only the size of the workspace is wanted. */
static quern_status fill_buffers(struct quern_ragged_call *call, const quern_ragged_all_to_all_args *args) {
    const int64_t input_bytes = args->input_rows * args->row_bytes, output_bytes = args->output_rows * args->row_bytes;
    call->input = args->input;
    call->output = args->output;
    call->in_place = args->input && args->output &&
                     overlap(args->input, (uint64_t)input_bytes, args->output, (uint64_t)output_bytes);
    quern_status status = quern_symmetric_find_buffer(call->member, "args.input", args->input, input_bytes, &call->input_state,
                                                      &call->input_place);
    if (status == QUERN_OK)
        status = quern_symmetric_find_buffer(call->member, "args.output", args->output, output_bytes, &call->output_state,
                                             &call->output_place);
    return status;
}

static quern_status check_buffers(const struct quern_ragged_call *call) {
    const quern_device *device = call->member->device;
    if (!call->input && call->input_rows && call->row_bytes) return quern_fail(device, QUERN_NULL_POINTER, "args.input is NULL");
    if (!call->output && call->output_rows && call->row_bytes) return quern_fail(device, QUERN_NULL_POINTER, "args.output is NULL");
    return QUERN_OK;
}

static quern_status fill_metadata(struct quern_ragged_call *call, const quern_ragged_all_to_all_args *args) {
    const struct {
        const char *name;
        const void *from, **to;
    } arrays[] = {{"args.input_offsets", args->input_offsets, &call->input_offsets},
                  {"args.send_sizes", args->send_sizes, &call->send_sizes},
                  {"args.output_offsets", args->output_offsets, &call->output_offsets},
                  {"args.recv_sizes", args->recv_sizes, &call->recv_sizes}};
    const size_t alignment = quern_dtype_bytes(args->metadata_dtype);
    quern_status status = QUERN_OK;
    for (size_t i = 0; status == QUERN_OK && i < sizeof arrays / sizeof *arrays; i++) {
        if (call->updates) status = quern_check_pointer(call->member->device, arrays[i].name, arrays[i].from, alignment);
        *arrays[i].to = arrays[i].from;
    }
    return status;
}

/* Whether a range shares no byte with the others.  Cheap, without the name of the first that does. */
static bool are_apart(const struct quern_range *range, const struct quern_range *others, int count) {
    bool apart = true;
    for (int i = 0; i < count; i++)
        apart &= range->end <= others[i].begin || others[i].end <= range->begin || range->begin == range->end ||
                 others[i].begin == others[i].end;
    return apart;
}

/* The output may overlap the input, so the input is compared with the workspace alone. */
static quern_status check_apart(const struct quern_ragged_call *call) {
    const quern_device *device = call->member->device;
    const int64_t metadata = quern_ragged_entries(call) * (call->metadata_is_int64 ? 8 : 4), bytes = (int64_t)call->workspace_bytes;
    const struct quern_range workspace = quern_range_of("workspace", call->workspace, bytes, QUERN_WRITTEN);
    struct quern_range sources[] = {
        workspace, quern_range_of("args.input", call->input, call->input_rows * call->row_bytes, QUERN_READ)};
    struct quern_range ranges[] = {
        workspace,
        quern_range_of("args.output", call->output, call->output_rows * call->row_bytes, QUERN_WRITTEN),
        quern_range_of("args.input_offsets", call->input_offsets, metadata, QUERN_READ),
        quern_range_of("args.send_sizes", call->send_sizes, metadata, QUERN_READ),
        quern_range_of("args.output_offsets", call->output_offsets, metadata, QUERN_READ),
        quern_range_of("args.recv_sizes", call->recv_sizes, metadata, QUERN_READ),
    };
    if (are_apart(&ranges[0], &sources[1], 1) && are_apart(&ranges[0], &ranges[1], 5) && are_apart(&ranges[1], &ranges[2], 4))
        return QUERN_OK;
    quern_status status = quern_check_apart(device, NULL, sources, NULL, sizeof sources / sizeof *sources);
    return status == QUERN_OK ? quern_check_apart(device, NULL, ranges, NULL, sizeof ranges / sizeof *ranges) : status;
}

static quern_status fill_workspace(struct quern_ragged_call *call, void *workspace, size_t bytes) {
    const struct quern_membership *member = call->member;
    const size_t needed = member->transport->ragged->workspace_bytes(call);
    call->workspace = workspace;
    call->workspace_bytes = needed;
    quern_status status = quern_symmetric_find_workspace(member, workspace, bytes, needed, &call->workspace_state,
                                                         &call->workspace_place);
    return status == QUERN_OK ? check_apart(call) : status;
}

/* All checks that a rank can make alone.  The members are filled in already. */
static quern_status fill_rest(struct quern_ragged_call *call, const quern_ragged_all_to_all_args *args, void *workspace,
                              size_t workspace_bytes) {
    quern_status status = fill_shape(call, args);
    if (status == QUERN_OK) status = fill_buffers(call, args);
    if (status == QUERN_OK) status = check_buffers(call);
    if (status == QUERN_OK) status = fill_metadata(call, args);
    if (status == QUERN_OK) status = fill_workspace(call, workspace, workspace_bytes);
    if (status == QUERN_OK) status = quern_select(call->member->device, QUERN_RAGGED_ALL_TO_ALL, call, &call->ready);
    return status;
}

/* ---- calls ---- */

quern_status quern_ragged_all_to_all_workspace(quern_group *group, const quern_ragged_all_to_all_args *args, size_t *bytes) {
    struct quern_membership *member;
    struct quern_ragged_call call;
    quern_status status = quern_member_of(group, &member);
    if (status != QUERN_OK) return status;
    if (!bytes) return quern_fail(member->device, QUERN_NULL_POINTER, "bytes is NULL");
    status = fill_members(&call, member, args);
    if (status == QUERN_OK) status = fill_shape(&call, args);
    if (status == QUERN_OK) status = fill_buffers(&call, args);
    if (status != QUERN_OK) return status;
    const size_t needed = member->transport->ragged->workspace_bytes(&call);
    status = quern_check_needed(member->device, needed);
    if (status == QUERN_OK) *bytes = needed;
    return status;
}

static quern_status run(quern_group *group, const quern_ragged_all_to_all_args *args, void *workspace, size_t workspace_bytes,
                        void *stream, struct quern_look *look) {
    struct quern_membership *member;
    struct quern_ragged_call call;
    quern_status status = quern_member_of(group, &member);
    if (status == QUERN_OK) quern_look_at_member(look, member);
    if (status == QUERN_OK) status = quern_check_poison(member);
    if (status == QUERN_OK && member->transport->ragged->expect) member->transport->ragged->expect(member);
    if (status == QUERN_OK) status = fill_members(&call, member, args);
    if (status != QUERN_OK) return status;
    call.refused = fill_rest(&call, args, workspace, workspace_bytes);
    if (call.refused == QUERN_OK) call.refused = quern_check_stream(member->device, stream);
    if (call.refused == QUERN_OK) quern_show_call(look, args, &call);
    return quern_end_call(member, member->transport->ragged->run(&call, stream));
}

quern_status quern_ragged_all_to_all(quern_group *group, const quern_ragged_all_to_all_args *args, void *workspace,
                                     size_t workspace_bytes, void *stream) {
    struct quern_look look;
    quern_begin_look(&look, &quern_ragged_view, NULL, stream);
    return quern_end_look(&look, run(group, args, workspace, workspace_bytes, stream, &look));
}

/* ---- plans ---- */

/* A plan is never freed, so that a use after destroy is an error and not a crash. */
struct quern_ragged_plan {
    void *state;                         /* atomic; the transport's data; NULL: destroyed */
    const struct quern_ragged_transport *transport;
    quern_group *group;
    struct quern_ragged_rows rows;
    struct quern_ragged_plan *next;
};

static struct {
    pthread_mutex_t lock;
    struct quern_ragged_plan *first;
} plans = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Frees the forgotten plans of CPU ranks, and the handles of destroyed ones.  Only at dlclose: without the lock. */
static void free_forgotten(void) {
    while (plans.first) {
        struct quern_ragged_plan *plan = plans.first;
        plans.first = plan->next;
        if (plan->state && plan->transport != &quern_host_ragged) continue;
        if (plan->state) plan->transport->plan_destroy(plan->state);
        free(plan);
    }
}

static void publish(struct quern_ragged_plan *plan, void *state, const struct quern_membership *member,
                    const struct quern_ragged_call *call) {
    *plan = (struct quern_ragged_plan){state, member->transport->ragged, member->handle, quern_ragged_rows_of(call), NULL};
    pthread_mutex_lock(&plans.lock);
    plan->next = plans.first;
    plans.first = plan;
    pthread_mutex_unlock(&plans.lock);
    quern_on_unload(QUERN_UNLOAD_PLANS, free_forgotten);
}

/* All ranks of the group take part in the creation, so a refusal always reaches all. */
static quern_status fill_plan(struct quern_ragged_call *call, struct quern_membership *member,
                              const quern_ragged_all_to_all_args *args, void *const *workspace, const size_t *workspace_bytes) {
    const quern_device *device = member->device;
    quern_status status = fill_members(call, member, args);
    if (status == QUERN_OK && !workspace) status = quern_fail(device, QUERN_NULL_POINTER, "workspaces is NULL");
    if (status == QUERN_OK && !workspace_bytes) status = quern_fail(device, QUERN_NULL_POINTER, "workspace_bytes is NULL");
    if (status == QUERN_OK && args->metadata_on_device && device->kind == QUERN_CUDA)
        status = quern_fail(device, QUERN_INVALID_ARGUMENT, "args.metadata_on_device is set: a plan takes metadata in host memory");
    if (status == QUERN_OK) status = fill_rest(call, args, *workspace, *workspace_bytes);
    if (status == QUERN_OK && !(args->timeout > 0)) call->timeout = member->steady_timeout;
    return status;
}

static quern_status create_plans(struct quern_membership *const *members, int count, struct quern_ragged_call *calls,
                                 quern_ragged_plan **out) {
    quern_ragged_plan *made[QUERN_RANK_LIMIT];
    void *states[QUERN_RANK_LIMIT];
    for (int i = 0; i < count; i++) {
        made[i] = malloc(sizeof *made[i]);
        if (!made[i])
            calls[i].refused = quern_fail(members[i]->device, QUERN_OUT_OF_MEMORY, "no memory for a plan");
    }
    quern_status status = members[0]->transport->ragged->plan_create(calls, count, states);
    for (int i = 0; i < count; i++) {
        if (status == QUERN_OK) publish(out[i] = made[i], states[i], members[i], &calls[i]);
        else free(made[i]);
    }
    return status;
}

static quern_status fill_and_create(quern_group *const *groups, int count, const quern_ragged_all_to_all_args *args,
                                    void *const *workspaces, const size_t *workspace_bytes, quern_ragged_plan **out,
                                    struct quern_look *look) {
    struct quern_membership *members[QUERN_RANK_LIMIT];
    quern_status status = quern_members_of(groups, count, members);
    if (status != QUERN_OK) return status;
    quern_look_at_members(look, members, count);
    if (!out) return quern_fail(members[0]->device, QUERN_NULL_POINTER, "plans is NULL");
    struct quern_ragged_call one, *calls = count == 1 ? &one : malloc((size_t)count * sizeof *calls);
    if (!calls)  /* other threads may be waiting for these ranks already */
        return quern_poison(members[0], QUERN_OUT_OF_MEMORY, "rank %d has no memory to create %d plans", members[0]->rank, count);
    for (int i = 0; i < count; i++)
        calls[i].refused = fill_plan(&calls[i], members[i], args ? &args[i] : NULL, workspaces ? &workspaces[i] : NULL,
                                     workspace_bytes ? &workspace_bytes[i] : NULL);
    status = create_plans(members, count, calls, out);
    if (calls != &one) free(calls);
    return status;
}

quern_status quern_ragged_plan_create(quern_group *const *groups, int count, const quern_ragged_all_to_all_args *args,
                                      void *const *workspaces, const size_t *workspace_bytes, quern_ragged_plan **out) {
    static const struct quern_view view = {.name = "ragged_plan_create", .is_undumped = true};
    struct quern_look look;
    quern_begin_look(&look, &view, NULL, NULL);
    return quern_end_look(&look, fill_and_create(groups, count, args, workspaces, workspace_bytes, out, &look));
}

/* Fails if a plan's handle is NULL or was destroyed. */
static quern_status state_of(quern_ragged_plan *plan, void *state) {
    if (state) return QUERN_OK;
    return quern_fail(NULL, plan ? QUERN_INVALID_ARGUMENT : QUERN_NULL_POINTER,
                      plan ? "the plan was destroyed before" : "plan is NULL");
}

static quern_status run_plan(quern_ragged_plan *plan, void *stream, struct quern_look *look) {
    struct quern_membership *member;
    void *state = plan ? __atomic_load_n(&plan->state, __ATOMIC_ACQUIRE) : NULL;
    quern_status status = state_of(plan, state);
    if (status == QUERN_OK) status = quern_member_of(plan->group, &member);
    if (status == QUERN_OK) quern_look_at_member(look, member);
    if (status == QUERN_OK) status = quern_check_poison(member);
    if (status != QUERN_OK) return status;
    struct quern_ragged_rows rows;
    if (look->on) rows = quern_ragged_rows_left(member, &plan->rows);
    quern_show_call(look, NULL, &rows);
    return quern_end_call(member, plan->transport->plan_run(state, stream));
}

quern_status quern_ragged_plan_run(quern_ragged_plan *plan, void *stream) {
    struct quern_look look;
    quern_begin_look(&look, &quern_ragged_plan_view, NULL, stream);
    return quern_end_look(&look, run_plan(plan, stream, &look));
}

static quern_status destroy_plan(quern_ragged_plan *plan) {
    quern_status status = quern_check_creator(plan->group);
    if (status != QUERN_OK) return status;
    void *state = __atomic_exchange_n(&plan->state, NULL, __ATOMIC_ACQ_REL);
    status = state_of(plan, state);
    if (status != QUERN_OK) return status;
    status = plan->transport->plan_destroy(state);
    if (status == QUERN_INVALID_ARGUMENT) __atomic_store_n(&plan->state, state, __ATOMIC_RELEASE);
    return status;
}

quern_status quern_ragged_plan_destroy(quern_ragged_plan *plan) {
    static const struct quern_view view = {.name = "ragged_plan_destroy", .is_undumped = true};
    struct quern_look look;
    if (!plan) return QUERN_OK;
    quern_begin_look(&look, &view, NULL, NULL);
    return quern_end_look(&look, destroy_plan(plan));
}
