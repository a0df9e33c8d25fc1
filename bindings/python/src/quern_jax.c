/*
 * Quern's custom calls for JAX on CPUs, over the C interface of XLA: cross-entropy in steps, AdamW over all leaves of a tree, and
 * ragged all-to-all.  quern/jax.py registers the handlers and describes their arguments.
 *
 * One file serves every jaxlib: XLA refuses a handler of a newer version than its own, so they report 0.1, the first one.
 */
#include <pthread.h>
#include <quern.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "xla_ffi.h"

#define EXPORT __attribute__((visibility("default")))

static quern_device *cpu;

/* The CPU, which Python has opened and prepared. */
EXPORT void quern_jax_use(quern_device *device) { cpu = device; }

/* ---- a call ---- */

static struct xla_error_object *fail_with(const struct xla_call *call, enum xla_error code, const char *text) {
    struct xla_error_create args = {.struct_size = sizeof args, .message = text, .code = code};
    return call->api->error_create(&args);
}

static enum xla_error code_of(quern_status status) {
    if (status == QUERN_OUT_OF_MEMORY) return XLA_RESOURCE_EXHAUSTED;
    if (status == QUERN_PEER_TIMEOUT) return XLA_DEADLINE_EXCEEDED;
    return status < 2000 ? XLA_INVALID_ARGUMENT : status < 3000 ? XLA_UNIMPLEMENTED : status < 4000 ? XLA_INTERNAL : XLA_UNAVAILABLE;
}

/* NULL, or XLA's error with the name of the status and the detail. */
static struct xla_error_object *result_of(const struct xla_call *call, quern_status status) {
    char text[320];
    if (status == QUERN_OK) return NULL;
    const int length = snprintf(text, sizeof text, "%s: ", quern_status_string(status));
    quern_error_detail(text + length, sizeof text - (size_t)length);
    return fail_with(call, code_of(status), text);
}

/* At registration XLA asks each handler for its version, and calls it without arguments. */
static bool reports_version(const struct xla_call *call) {
    for (struct xla_extension *each = call->extension_start; each; each = each->next)
        if (each->type == XLA_EXTENSION_METADATA) {
            struct xla_metadata *metadata = ((struct xla_metadata_extension *)each)->metadata;
            metadata->api_version.major_version = 0;
            metadata->api_version.minor_version = 1;
            return true;
        }
    return false;
}

static const struct xla_buffer *argument(const struct xla_call *call, int64_t index) { return call->arguments.buffers[index]; }
static void *result(const struct xla_call *call, int64_t index) { return call->results.buffers[index]->data; }

/* The value of an attribute; quern/jax.py gives all of them. */
static const void *attribute(const struct xla_call *call, const char *name) {
    static const int64_t nothing = 0;
    for (int64_t i = 0; i < call->attributes.size; i++) {
        const struct xla_text *text = call->attributes.names[i];
        if (text->length == strlen(name) && memcmp(text->at, name, text->length) == 0 &&
            call->attributes.types[i] == XLA_ATTRIBUTE_SCALAR)
            return ((const struct xla_scalar *)call->attributes.values[i])->value;
    }
    return &nothing;
}

static float real(const struct xla_call *call, const char *name) {
    float value;
    memcpy(&value, attribute(call, name), sizeof value);
    return value;
}

static int32_t number(const struct xla_call *call, const char *name) {
    int32_t value;
    memcpy(&value, attribute(call, name), sizeof value);
    return value;
}

static quern_dtype dtype_of(const struct xla_buffer *buffer) {
    switch (buffer->dtype) {
    case XLA_F32: return QUERN_F32;
    case XLA_F16: return QUERN_F16;
    case XLA_BF16: return QUERN_BF16;
    case XLA_S32: return QUERN_INT32;
    case XLA_S64: return QUERN_INT64;
    default: return QUERN_NO_DTYPE;
    }
}

static int64_t count_of(const struct xla_buffer *buffer) {
    int64_t count = 1;
    for (int64_t i = 0; i < buffer->rank; i++) count *= buffer->dims[i];
    return count;
}

/* ---- cross-entropy ---- */

/* logits [..., vocab], labels [...], first_column [...], of which all are the same; the same options for all steps. */
enum { LOGITS, LABELS, FIRST_COLUMN, FURTHER };

static quern_cross_entropy_args arguments_of(const struct xla_call *call) {
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = dtype_of(argument(call, LOGITS));
    args.labels_dtype = dtype_of(argument(call, LABELS));
    args.rows = count_of(argument(call, LABELS));
    args.vocab = argument(call, LOGITS)->dims[argument(call, LOGITS)->rank - 1];
    args.logits = argument(call, LOGITS)->data;
    args.labels = argument(call, LABELS)->data;
    args.first_column = *(const int32_t *)argument(call, FIRST_COLUMN)->data;
    args.global_vocab = args.vocab * number(call, "shards");
    args.ignore_index = number(call, "ignore_index");
    args.label_smoothing = real(call, "label_smoothing");
    args.z_loss = real(call, "z_loss");
    args.softcap = real(call, "softcap");
    args.strict_labels = number(call, "strict");
    return args;
}

typedef quern_status operation(quern_device *, const quern_cross_entropy_args *, void *, size_t, void *);

static quern_status combine(quern_device *device, const quern_cross_entropy_args *args, void *workspace, size_t bytes, void *shards) {
    return quern_cross_entropy_combine(device, args, shards, args->global_vocab / args->vocab, workspace, bytes, NULL);
}

static struct xla_error_object *run(const struct xla_call *call, operation *function, const quern_cross_entropy_args *args,
                                    void *last) {
    size_t bytes = 0;
    void *workspace = NULL;
    quern_status status = quern_cross_entropy_workspace(cpu, args, &bytes);
    if (status == QUERN_OK && bytes) {
        workspace = aligned_alloc(64, (bytes + 63) / 64 * 64);
        if (!workspace) return fail_with(call, XLA_RESOURCE_EXHAUSTED, "QUERN_OUT_OF_MEMORY: no memory for a workspace");
    }
    if (status == QUERN_OK) status = function(cpu, args, workspace, bytes, last);
    struct xla_error_object *failed = result_of(call, status);
    free(workspace);
    return failed;
}

static void add_outputs(const struct xla_call *call, quern_cross_entropy_args *args) {
    args->loss = result(call, 0);
    args->stats = result(call, 1);
    args->lse = result(call, 2);
    args->log_prob = result(call, 3);
    if (number(call, "entropy")) args->entropy = result(call, 4);
}

/* -> loss, stats, lse, log_prob, entropy: of whole rows. */
EXPORT struct xla_error_object *quern_jax_cross_entropy(struct xla_call *call) {
    if (reports_version(call)) return NULL;
    quern_cross_entropy_args args = arguments_of(call);
    add_outputs(call, &args);
    return run(call, quern_cross_entropy, &args, NULL);
}

/* -> stats of a shard's columns. */
EXPORT struct xla_error_object *quern_jax_stats(struct xla_call *call) {
    if (reports_version(call)) return NULL;
    quern_cross_entropy_args args = arguments_of(call);
    args.stats = result(call, 0);
    args.entropy = number(call, "entropy") ? (float *)args.stats : NULL;   /* asks for the moments, and is not written in this step */
    return run(call, quern_cross_entropy_stats, &args, NULL);
}

/* shards [shards, rows] -> loss, stats, lse, log_prob, entropy. */
EXPORT struct xla_error_object *quern_jax_combine(struct xla_call *call) {
    if (reports_version(call)) return NULL;
    quern_cross_entropy_args args = arguments_of(call);
    add_outputs(call, &args);
    return run(call, combine, &args, argument(call, FURTHER)->data);
}

/* stats, grad_loss [rows] -> the gradient of the logits. */
EXPORT struct xla_error_object *quern_jax_gradient(struct xla_call *call) {
    if (reports_version(call)) return NULL;
    quern_cross_entropy_args args = arguments_of(call);
    args.stats = argument(call, FURTHER)->data;
    args.grad_loss = argument(call, FURTHER + 1)->data;
    args.grad = result(call, 0);
    return run(call, quern_cross_entropy_gradient, &args, NULL);
}

/* ---- AdamW ---- */

/* The results are the arguments' own memory if XLA could alias them; else they begin as copies. */
static void *stepped(const struct xla_call *call, int64_t from, int64_t to) {
    const struct xla_buffer *given = argument(call, from);
    if (result(call, to) != given->data)
        memcpy(result(call, to), given->data, (size_t)count_of(given) * quern_dtype_bytes(dtype_of(given)));
    return result(call, to);
}

/* lr [], step [] (the number of the step, from 1), then leaves of gradients, parameters, m and v -> parameters, m, v. */
EXPORT struct xla_error_object *quern_jax_adamw(struct xla_call *call) {
    if (reports_version(call)) return NULL;
    const int64_t leaves = (call->arguments.size - 2) / 4;
    quern_adam_tensor *tensors = calloc((size_t)leaves + 1, sizeof *tensors);
    if (!tensors) return fail_with(call, XLA_RESOURCE_EXHAUSTED, "QUERN_OUT_OF_MEMORY: no memory for the list of tensors");
    quern_adam_args args = QUERN_ADAM_ARGS_INIT;
    for (int64_t i = 0; i < leaves; i++)
        tensors[i] = (quern_adam_tensor){.grad = argument(call, 2 + i)->data, .count = count_of(argument(call, 2 + i)),
                                         .param = stepped(call, 2 + leaves + i, i), .m = stepped(call, 2 + 2 * leaves + i, leaves + i),
                                         .v = stepped(call, 2 + 3 * leaves + i, 2 * leaves + i)};
    args.tensors = tensors;
    args.tensor_count = leaves;
    args.grad_dtype = leaves ? dtype_of(argument(call, 2)) : QUERN_F32;
    args.param_dtype = leaves ? dtype_of(argument(call, 2 + leaves)) : QUERN_F32;
    args.m_dtype = leaves ? dtype_of(argument(call, 2 + 2 * leaves)) : QUERN_F32;
    args.v_dtype = leaves ? dtype_of(argument(call, 2 + 3 * leaves)) : QUERN_F32;
    args.lr = *(const float *)argument(call, 0)->data;
    args.step = *(const int32_t *)argument(call, 1)->data;
    args.beta1 = real(call, "b1");
    args.beta2 = real(call, "b2");
    args.eps = real(call, "eps");
    args.weight_decay = real(call, "weight_decay");
    args.seed = (uint32_t)number(call, "seed");
    struct xla_error_object *failed = result_of(call, quern_adam(cpu, &args, NULL, 0, NULL));
    free(tensors);
    return failed;
}

/* ---- seats ---- */

/* A rank's handle and workspace of one group of devices; made in its first call, which meets those of the others. */
struct seat {
    int32_t place, ranks, rank;   /* place: which devices of the mesh the group has */
    quern_group *group;
    void *workspace;
    size_t bytes;
    struct seat *next;
};

static struct seat *seats;
static pthread_mutex_t seats_lock = PTHREAD_MUTEX_INITIALIZER;

static struct seat *find_seat(int32_t place, int32_t ranks, int32_t rank) {
    pthread_mutex_lock(&seats_lock);
    struct seat *seat = seats;
    while (seat && (seat->place != place || seat->ranks != ranks || seat->rank != rank)) seat = seat->next;
    if (!seat && (seat = calloc(1, sizeof *seat))) {
        *seat = (struct seat){.place = place, .ranks = ranks, .rank = rank, .next = seats};
        seats = seat;
    }
    pthread_mutex_unlock(&seats_lock);
    return seat;
}

/* ---- launches ---- */

/*
 * XLA may run two launches at once on the same devices, if two threads start them.  So the calls of an exchange meet first, by the
 * number of their launch; then one exchange at a time uses the group of these devices.
 */
struct launch {
    int64_t run;
    int32_t place, ranks;         /* of which devices of the mesh: see struct seat */
    int32_t arrived, gone;
    bool is_working;
    struct launch *next;
    bool has[];                   /* [ranks]: whose call has come */
};

static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    pthread_cond_t change;
    struct launch *first;         /* the oldest */
} launches = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static void make_condition(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&launches.change, &attributes);
    pthread_condattr_destroy(&attributes);
}

static bool tells_launches_apart(const struct xla_api *api) {
    return api->struct_size >= offsetof(struct xla_api, run_id_get) + sizeof api->run_id_get;
}

/* 0 for all launches if this XLA cannot say it. */
static int64_t run_of(const struct xla_call *call) {
    struct xla_run_id_get get = {.struct_size = sizeof get, .context = call->context};
    if (tells_launches_apart(call->api)) call->api->run_id_get(&get);
    return get.run_id;
}

static bool is_of_same_devices(const struct launch *one, const struct launch *other) {
    return one->place == other->place && one->ranks == other->ranks;
}

/* The launch that a call belongs to: the oldest of its number that is not complete, or a new one.  NULL: no memory. */
static struct launch *find_launch(int64_t run, int32_t place, int32_t ranks) {
    struct launch **link = &launches.first;
    for (; *link; link = &(*link)->next)
        if ((*link)->run == run && (*link)->place == place && (*link)->ranks == ranks && (*link)->arrived < ranks) return *link;
    struct launch *made = *link = calloc(1, sizeof *made + (size_t)ranks * sizeof *made->has);
    if (made) made->run = run, made->place = place, made->ranks = ranks;
    return made;
}

static void drop_launch(struct launch *launch) {
    struct launch **link = &launches.first;
    while (*link != launch) link = &(*link)->next;
    *link = launch->next;
    free(launch);
}

/* All calls of it have come, and no other launch of these devices is at work. */
static bool may_work(const struct launch *launch) {
    if (launch->arrived < launch->ranks) return false;
    for (const struct launch *other = launches.first; other; other = other->next)
        if (other != launch && other->is_working && is_of_same_devices(other, launch)) return false;
    return true;
}

/* Waits until it may work; the timeout is for the other calls to come.  False: they have not. */
static bool meet_launch(struct launch *launch, double timeout) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const int64_t end = until.tv_nsec + (int64_t)((timeout < 1e8 ? timeout : 1e8) * 1e9);
    until = (struct timespec){until.tv_sec + end / 1000000000, end % 1000000000};
    while (!may_work(launch)) {
        const int error = launch->arrived < launch->ranks ? pthread_cond_timedwait(&launches.change, &launches.lock, &until)
                                                          : pthread_cond_wait(&launches.change, &launches.lock);
        if (error && launch->arrived < launch->ranks) return false;
    }
    launch->is_working = true;
    return true;
}

/* With the lock.  The code of an error, of which `text` says more; 0: the call has met those of the other devices. */
static int join_launch(struct launch *launch, int32_t rank, double timeout, char *text, size_t room) {
    const int ranks = launch->ranks;
    if (launch->has[rank]) {
        snprintf(text, room, "QUERN_NOT_SUPPORTED: two launches exchange at once on device %d of %d, which this jaxlib does not tell "
                 "apart: expected jaxlib 0.5.3, or launches from one thread", (int)rank, ranks);
        return XLA_UNIMPLEMENTED;
    }
    launch->has[rank] = true;
    if (++launch->arrived == ranks) pthread_cond_broadcast(&launches.change);
    if (meet_launch(launch, timeout)) return 0;
    snprintf(text, room, "QUERN_PEER_TIMEOUT: device %d of %d waited %g s for the calls of this launch on %d devices, which XLA has not "
             "run", (int)rank, ranks, timeout, ranks - launch->arrived);
    launch->has[rank] = false;
    if (!--launch->arrived) drop_launch(launch);
    return XLA_DEADLINE_EXCEEDED;
}

static struct xla_error_object *enter_launch(const struct xla_call *call, const struct seat *seat, double timeout,
                                             struct launch **entered) {
    char text[320] = "QUERN_OUT_OF_MEMORY: no memory for a launch";
    int code = XLA_RESOURCE_EXHAUSTED;
    pthread_once(&launches.once, make_condition);
    pthread_mutex_lock(&launches.lock);
    struct launch *launch = *entered = find_launch(run_of(call), seat->place, seat->ranks);
    if (launch) code = join_launch(launch, seat->rank, timeout, text, sizeof text);
    pthread_mutex_unlock(&launches.lock);
    return code ? fail_with(call, (enum xla_error)code, text) : NULL;
}

static void leave_launch(struct launch *launch) {
    pthread_mutex_lock(&launches.lock);
    if (++launch->gone == launch->ranks) {
        drop_launch(launch);
        pthread_cond_broadcast(&launches.change);
    }
    pthread_mutex_unlock(&launches.lock);
}

/* ---- ragged all-to-all ---- */

static quern_status take_seat(struct seat *seat, const char *process, double timeout) {
    char name[96];
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    if (seat->group) return QUERN_OK;
    snprintf(name, sizeof name, "jax.%.40s.%d.%d", process, (int)seat->place, (int)seat->ranks);
    args.rank = seat->rank;
    args.ranks = seat->ranks;
    args.name = name;
    args.device = cpu;
    args.timeout = timeout;
    return quern_group_create(&args, 1, &seat->group);
}

/* A group that has failed takes part in nothing more: the next call makes another one. */
static void leave_seat(struct seat *seat) {
    quern_group_destroy(seat->group);
    seat->group = NULL;
    seat->workspace = NULL;
    seat->bytes = 0;
}

/* The shapes of a program are the same on all devices, so all ranks come here in the same calls. */
static quern_status reserve(struct seat *seat, size_t bytes) {
    void *made = NULL;
    if (bytes <= seat->bytes) return QUERN_OK;
    quern_status status = quern_symmetric_alloc(&seat->group, 1, &bytes, &made);
    if (status == QUERN_OK && seat->workspace) status = quern_symmetric_free(seat->group, seat->workspace, NULL);
    if (status != QUERN_OK) return status;
    seat->workspace = made;
    seat->bytes = bytes;
    return QUERN_OK;
}

/* The name that ranks of this process meet under; quern/jax.py sets it, and again in a child of fork. */
static char process_name[64];
EXPORT void quern_jax_name(const char *name) { snprintf(process_name, sizeof process_name, "%s", name); }

static quern_status exchange(struct seat *seat, const quern_ragged_all_to_all_args *args) {
    size_t bytes = 0;
    quern_status status = quern_ragged_all_to_all_workspace(seat->group, args, &bytes);
    if (status == QUERN_OK) status = reserve(seat, bytes);
    return status == QUERN_OK ? quern_ragged_all_to_all(seat->group, args, seat->workspace, seat->bytes, NULL) : status;
}

/* rank [], place [], operand, output, input_offsets, send_sizes, output_offsets, recv_sizes -> output. */
EXPORT struct xla_error_object *quern_jax_ragged_all_to_all(struct xla_call *call) {
    if (reports_version(call)) return NULL;
    enum { RANK, PLACE, OPERAND, OUTPUT, INPUT_OFFSETS, SEND_SIZES, OUTPUT_OFFSETS, RECV_SIZES };
    const struct xla_buffer *operand = argument(call, OPERAND), *output = argument(call, OUTPUT);
    const int32_t ranks = number(call, "ranks");
    struct seat *seat = find_seat(*(const int32_t *)argument(call, PLACE)->data, ranks, *(const int32_t *)argument(call, RANK)->data);
    if (!seat) return fail_with(call, XLA_RESOURCE_EXHAUSTED, "QUERN_OUT_OF_MEMORY: no memory for a rank");
    int64_t row_bytes = number(call, "element_bytes");
    for (int64_t i = 1; i < operand->rank; i++) row_bytes *= operand->dims[i];
    if (result(call, 0) != output->data) memcpy(result(call, 0), output->data, (size_t)(output->dims[0] * row_bytes));
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.metadata_dtype = dtype_of(argument(call, INPUT_OFFSETS));
    args.input = operand->data;
    args.input_rows = operand->dims[0];
    args.output = result(call, 0);
    args.output_rows = output->dims[0];
    args.row_bytes = row_bytes;
    args.updates = count_of(argument(call, INPUT_OFFSETS)) / ranks;
    args.input_offsets = argument(call, INPUT_OFFSETS)->data;
    args.send_sizes = argument(call, SEND_SIZES)->data;
    args.output_offsets = argument(call, OUTPUT_OFFSETS)->data;
    args.recv_sizes = argument(call, RECV_SIZES)->data;
    args.check_overlap = number(call, "check_overlap");
    struct launch *launch;
    struct xla_error_object *failed = enter_launch(call, seat, real(call, "timeout"), &launch);
    if (failed) return failed;
    quern_status status = take_seat(seat, process_name, real(call, "timeout"));
    if (status == QUERN_OK) status = exchange(seat, &args);
    failed = result_of(call, status);
    if (status >= 4000 && seat->group) leave_seat(seat);
    leave_launch(launch);
    return failed;
}
