/*
 * Quern's operators for PyTorch, over the C functions of libtorch, which are looked up in the running process: one file serves every
 * PyTorch from 2.7 on, and is compiled by cc without PyTorch.  quern/torch.py calls quern_torch_register once.
 *
 * The functions are PyTorch's stable ABI (torch/csrc/stable, torch/csrc/inductor/aoti_torch/c/shim.h).  An operator is boxed: it gets
 * its arguments as 64-bit values on a stack, owns the tensors among them, and leaves its results there.  An error is thrown by
 * aoti_torch_check, so the file is compiled with -fexceptions, and nothing is held then.
 */
#include <dlfcn.h>
#include <quern.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef void *tensor;
typedef uint64_t value;

/* c10::ScalarType and c10::DeviceType, as far as they are needed here: parts of the stable ABI. */
enum { TORCH_UINT8 = 0, TORCH_INT32 = 3, TORCH_INT64 = 4, TORCH_F16 = 5, TORCH_F32 = 6, TORCH_BF16 = 15 };
enum { TORCH_CPU = 0, TORCH_CUDA = 1 };

/* ---- libtorch ---- */

static struct {
    int32_t (*data)(tensor, void **);
    int32_t (*dimensions)(tensor, int64_t *);
    int32_t (*count)(tensor, int64_t *);
    int32_t (*sizes)(tensor, int64_t **);
    int32_t (*strides)(tensor, int64_t **);
    int32_t (*dtype)(tensor, int32_t *);
    int32_t (*device_type)(tensor, int32_t *);
    int32_t (*device_index)(tensor, int32_t *);
    int32_t (*release)(tensor);
    int32_t (*empty)(int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t, tensor *);
    int32_t (*begin_fragment)(const char *, const char *, uint32_t, void **);
    int32_t (*begin_implementation)(const char *, const char *, const char *, uint32_t, void **);
    int32_t (*define)(void *, const char *);
    int32_t (*implement)(void *, const char *, void (*)(value *, uint64_t, uint64_t));
    void (*check)(bool, const char *, const char *, uint32_t, const char *);
    void (*delete_value)(void *);                   /* operator delete, for what an optional argument is boxed in */
    int32_t (*current_stream)(int32_t, void **);    /* NULL: this PyTorch has no CUDA */
    int32_t (*parallel_for)(int64_t, int64_t, int64_t, void (*)(int64_t, int64_t, void *), void *);  /* NULL: older than 2.10 */
} torch;

static const struct {
    const char *name;
    void *at;
} symbols[] = {
    {"aoti_torch_get_data_ptr", &torch.data},
    {"aoti_torch_get_dim", &torch.dimensions},
    {"aoti_torch_get_numel", &torch.count},
    {"aoti_torch_get_sizes", &torch.sizes},
    {"aoti_torch_get_strides", &torch.strides},
    {"aoti_torch_get_dtype", &torch.dtype},
    {"aoti_torch_get_device_type", &torch.device_type},
    {"aoti_torch_get_device_index", &torch.device_index},
    {"aoti_torch_delete_tensor_object", &torch.release},
    {"aoti_torch_empty_strided", &torch.empty},
    {"aoti_torch_library_init_fragment", &torch.begin_fragment},
    {"aoti_torch_library_init_impl", &torch.begin_implementation},
    {"aoti_torch_library_def", &torch.define},
    {"aoti_torch_library_impl", &torch.implement},
    {"aoti_torch_check", &torch.check},
    {"_ZdlPv", &torch.delete_value},
};

/* The handle of a device, which Python opens and owns; NULL: why, up to `bytes`, says why not. */
typedef quern_device *(*find_device)(int kind, int ordinal, char *why, size_t bytes);
static find_device python_device;

/* ---- one call ---- */

struct call {
    quern_cross_entropy_args args;
    quern_device *device;
    int32_t device_type, device_index;
    void *stream;
    tensor held[12];            /* arguments and results to be released if the call fails; the first `given` in any case */
    int given, count;
    bool failed;
    char why[320];
};

static void fail(struct call *call, const char *format, const char *text) {
    if (!call->failed) snprintf(call->why, sizeof call->why, format, text);
    call->failed = true;
}

/* Anybody can call an operator with any tensors; quern/torch/loss.py gives right ones. */
static void expect(struct call *call, bool holds, const char *text) {
    if (!holds) fail(call, "QUERN_INVALID_SHAPE: expected %s", text);
}

/* The status of a call of the library; the text begins with its name. */
static void note(struct call *call, quern_status status) {
    if (status == QUERN_OK || call->failed) return;
    const int length = snprintf(call->why, sizeof call->why, "%s: ", quern_status_string(status));
    quern_error_detail(call->why + length, sizeof call->why - (size_t)length);
    call->failed = true;
}

static quern_dtype dtype_of(tensor given) {
    int32_t dtype = -1;
    torch.dtype(given, &dtype);
    switch (dtype) {
    case TORCH_F32: return QUERN_F32;
    case TORCH_F16: return QUERN_F16;
    case TORCH_BF16: return QUERN_BF16;
    case TORCH_INT32: return QUERN_INT32;
    case TORCH_INT64: return QUERN_INT64;
    default: return QUERN_NO_DTYPE;
    }
}

static void *data_of(tensor given) {
    void *data = NULL;
    torch.data(given, &data);
    return data;
}

/* Whether it has so many elements, side by side. */
static bool is_vector(tensor given, int64_t count) {
    int64_t dimensions = 0, found = 0, *strides = NULL;
    torch.dimensions(given, &dimensions);
    torch.count(given, &found);
    torch.strides(given, &strides);
    return found == count && dimensions <= 1 && (dimensions == 0 || found <= 1 || strides[0] == 1);
}

/* Whether it is a matrix whose rows do not overlap, and whose columns lie side by side. */
static bool is_matrix(tensor given) {
    int64_t dimensions = 0, *sizes = NULL, *strides = NULL;
    torch.dimensions(given, &dimensions);
    if (dimensions != 2) return false;
    torch.sizes(given, &sizes);
    torch.strides(given, &strides);
    return (sizes[1] <= 1 || strides[1] == 1) && (sizes[0] <= 1 || strides[0] >= sizes[1]);
}

static tensor make(struct call *call, int dimensions, const int64_t *sizes, int32_t dtype) {
    int64_t strides[2] = {dimensions > 1 ? sizes[1] : 1, 1};
    tensor made = NULL;
    if (call->failed) return NULL;
    if (torch.empty(dimensions, sizes, strides, dtype, call->device_type, call->device_index, &made) != 0)
        fail(call, "%s", "no memory for a tensor");
    else
        call->held[call->count++] = made;
    return made;
}

/*
 * Fresh memory of a large result gets large pages where the system gives them to those that ask: with pages of 4 KiB, touching it takes
 * longer than computing what is written.
 */
static tensor make_large(struct call *call, const int64_t sizes[2], int32_t dtype) {
    enum { PAGE = 2 << 20, LEAST = 8 << 20 };
    const tensor made = make(call, 2, sizes, dtype);
    const uintptr_t bytes = (uintptr_t)(sizes[0] * sizes[1]) * (dtype == TORCH_F32 ? 4 : 2);
    if (!made || call->device_type != TORCH_CPU || bytes < LEAST) return made;
    const uintptr_t begin = ((uintptr_t)data_of(made) + PAGE - 1) / PAGE * PAGE, end = ((uintptr_t)data_of(made) + bytes) / PAGE * PAGE;
    madvise((void *)begin, end - begin, MADV_HUGEPAGE);
    return made;
}

/* The device of the logits, and the stream on which the operators of PyTorch run there. */
static void find_place(struct call *call, tensor logits) {
    torch.device_type(logits, &call->device_type);
    torch.device_index(logits, &call->device_index);
    const bool is_gpu = call->device_type == TORCH_CUDA;
    char why[240] = "";
    call->device = python_device(is_gpu ? QUERN_CUDA : QUERN_CPU, is_gpu ? call->device_index : 0, why, sizeof why);
    if (!call->device) fail(call, "%s", why);
    else if (is_gpu && (!torch.current_stream || torch.current_stream(call->device_index, &call->stream) != 0))
        fail(call, "%s", "PyTorch has no current stream");
}

static double real_of(value given) {
    double real;
    memcpy(&real, &given, sizeof real);
    return real;
}

/* PyTorch 2.7 leaves other bytes of a bool as they were. */
static bool flag_of(value given) { return (given & 0xFF) != 0; }

/* An optional tensor is an address of a boxed tensor; 0: there is none. */
static tensor optional_of(value given) {
    value inner;
    if (!given) return NULL;
    memcpy(&inner, (const void *)(uintptr_t)given, sizeof inner);
    torch.delete_value((void *)(uintptr_t)given);
    return (tensor)(uintptr_t)inner;
}

/* The arguments that all operators have, in the order of OPTIONS. */
enum { LOGITS, LABELS, WEIGHT, VOCAB, REDUCTION, IGNORE_INDEX, SMOOTHING, Z_LOSS, SOFTCAP, STRICT, PORTABLE, FURTHER };
#define OPTIONS \
    "Tensor labels, Tensor? weight, int vocab, int reduction, int ignore_index, float label_smoothing, float z_loss, " \
    "float softcap, bool strict, bool portable"

#define DIVERGENCE "float inverse_temperature, Tensor? ids, Tensor target_probs, int kind, bool has_tail"

static void begin(struct call *call, const value *stack) {
    const tensor logits = (tensor)(uintptr_t)stack[LOGITS], labels = (tensor)(uintptr_t)stack[LABELS];
    const tensor weight = optional_of(stack[WEIGHT]);
    int64_t *sizes, *strides;
    *call = (struct call){.args = QUERN_CROSS_ENTROPY_ARGS_INIT, .held = {logits, labels}, .count = 2};
    if (weight) call->held[call->count++] = weight;
    call->given = call->count;
    expect(call, is_matrix(logits), "logits [rows, columns], with the columns of a row side by side");
    if (call->failed) return;
    find_place(call, logits);
    torch.sizes(logits, &sizes);
    torch.strides(logits, &strides);
    expect(call, is_vector(labels, sizes[0]), "labels [rows], side by side");
    expect(call, (int64_t)stack[VOCAB] > 0 && (int64_t)stack[VOCAB] <= sizes[1], "a vocab from 1 to the columns of logits");
    expect(call, !weight || (is_vector(weight, (int64_t)stack[VOCAB]) && dtype_of(weight) == QUERN_F32), "weight [vocab] in float32");
    quern_cross_entropy_args *args = &call->args;
    args->logits_dtype = dtype_of(logits);
    args->labels_dtype = dtype_of(labels);
    args->rows = sizes[0];
    args->vocab = (int64_t)stack[VOCAB];
    args->padded_vocab = sizes[1];
    args->logits = data_of(logits);
    args->logits_stride = sizes[0] > 1 ? strides[0] : sizes[1];
    args->labels = data_of(labels);
    args->class_weights = weight ? data_of(weight) : NULL;
    args->reduction = (quern_reduction)stack[REDUCTION];
    args->ignore_index = (int64_t)stack[IGNORE_INDEX];
    args->label_smoothing = (float)real_of(stack[SMOOTHING]);
    args->z_loss = (float)real_of(stack[Z_LOSS]);
    args->softcap = (float)real_of(stack[SOFTCAP]);
    args->strict_labels = flag_of(stack[STRICT]);
    args->bits = flag_of(stack[PORTABLE]) ? QUERN_BITS_PORTABLE : QUERN_BITS_DEFAULT;
}

/* An argument of one operator only. */
static tensor take(struct call *call, value given) {
    const tensor taken = (tensor)(uintptr_t)given;
    memmove(&call->held[call->given + 1], &call->held[call->given], (size_t)(call->count - call->given) * sizeof taken);
    call->held[call->given++] = taken;
    call->count++;
    return taken;
}

typedef quern_status operation(quern_device *, const quern_cross_entropy_args *, void *, size_t, void *);

static void run(struct call *call, operation *function) {
    size_t bytes = 0;
    tensor workspace = NULL;
    if (call->failed) return;
    note(call, quern_cross_entropy_workspace(call->device, &call->args, &bytes));
    if (bytes) workspace = make(call, 1, &(int64_t){(int64_t)bytes}, TORCH_UINT8);
    if (workspace) call->count--;
    if (!call->failed) note(call, function(call->device, &call->args, workspace ? data_of(workspace) : NULL, bytes, call->stream));
    if (workspace) torch.release(workspace);
}

/* Releases what the call holds; the results stay, unless it has failed: then it does not return. */
static void end(struct call *call, const char *name) {
    const int released = call->failed ? call->count : call->given;
    for (int i = 0; i < released; i++) torch.release(call->held[i]);
    if (call->failed) torch.check(false, name, __FILE__, __LINE__, call->why);
}

static float *make_loss(struct call *call, tensor *loss) {
    *loss = make(call, call->args.reduction == QUERN_REDUCTION_NONE ? 1 : 0, &call->args.rows, TORCH_F32);
    return *loss ? data_of(*loss) : NULL;
}

static quern_row_stats *make_stats(struct call *call, tensor *stats) {
    *stats = make(call, 2, (int64_t[]){call->args.rows, sizeof(quern_row_stats)}, TORCH_UINT8);
    return *stats ? data_of(*stats) : NULL;
}

/* ---- the operators ---- */

/* -> (loss, stats): the stats are those of which cross_entropy_gradient computes the gradient. */
static void cross_entropy(value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    struct call call;
    tensor loss, stats;
    begin(&call, stack);
    call.args.padded_vocab = 0;
    call.args.loss = make_loss(&call, &loss);
    call.args.stats = make_stats(&call, &stats);
    run(&call, quern_cross_entropy);
    end(&call, "quern::cross_entropy");
    stack[0] = (value)(uintptr_t)loss, stack[1] = (value)(uintptr_t)stats;
}

static void *make_grad(struct call *call, value logits, tensor *grad) {
    int32_t dtype = -1;
    torch.dtype((tensor)(uintptr_t)logits, &dtype);
    *grad = make_large(call, (int64_t[]){call->args.rows, call->args.padded_vocab}, dtype);
    return *grad ? data_of(*grad) : NULL;
}

/* -> (loss, stats, grad): in one pass over the logits, for an upstream gradient of 1. */
static void cross_entropy_and_gradient(value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    struct call call;
    tensor loss, stats, grad;
    begin(&call, stack);
    call.args.loss = make_loss(&call, &loss);
    call.args.stats = make_stats(&call, &stats);
    call.args.grad = make_grad(&call, stack[LOGITS], &grad);
    run(&call, quern_cross_entropy);
    end(&call, "quern::cross_entropy_and_gradient");
    stack[0] = (value)(uintptr_t)loss, stack[1] = (value)(uintptr_t)stats, stack[2] = (value)(uintptr_t)grad;
}

/* -> loss: the forward pass alone. */
static void cross_entropy_loss(value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    struct call call;
    tensor loss;
    begin(&call, stack);
    call.args.padded_vocab = 0;
    call.args.loss = make_loss(&call, &loss);
    run(&call, quern_cross_entropy);
    end(&call, "quern::cross_entropy_loss");
    stack[0] = (value)(uintptr_t)loss;
}

/* -> (loss, stats, lse, log_prob, entropy, argmax) */
static void cross_entropy_outputs(value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    struct call call;
    tensor loss, stats, rows[4];
    begin(&call, stack);
    call.args.padded_vocab = 0;
    call.args.loss = make_loss(&call, &loss);
    call.args.stats = make_stats(&call, &stats);
    for (int i = 0; i < 4; i++) rows[i] = make(&call, 1, &call.args.rows, i < 3 ? TORCH_F32 : TORCH_INT64);
    if (!call.failed) {
        call.args.lse = data_of(rows[0]);
        call.args.log_prob = data_of(rows[1]);
        call.args.entropy = data_of(rows[2]);
        call.args.argmax = data_of(rows[3]);
    }
    run(&call, quern_cross_entropy);
    end(&call, "quern::cross_entropy_outputs");
    stack[0] = (value)(uintptr_t)loss, stack[1] = (value)(uintptr_t)stats;
    for (int i = 0; i < 4; i++) stack[2 + i] = (value)(uintptr_t)rows[i];
}

/* One value, or one for each row if there is no reduction. */
static const float *take_upstream(struct call *call, value given, int64_t *stride) {
    int64_t *strides = NULL, count = 0, dimensions = 0;
    const tensor upstream = take(call, given);
    const bool by_row = call->args.reduction == QUERN_REDUCTION_NONE;
    torch.count(upstream, &count);
    torch.dimensions(upstream, &dimensions);
    expect(call, count == (by_row ? call->args.rows : 1) && dimensions <= 1 && dtype_of(upstream) == QUERN_F32 &&
           (!by_row || dimensions == 1), "upstream gradients in float32: [rows] without a reduction, else one value");
    torch.strides(upstream, &strides);
    *stride = by_row && !call->failed ? strides[0] : 0;
    return data_of(upstream);
}

static void take_stats(struct call *call, value given) {
    const tensor stats = take(call, given);
    int64_t bytes = 0;
    torch.count(stats, &bytes);
    expect(call, is_matrix(stats) && bytes == call->args.rows * (int64_t)sizeof(quern_row_stats), "the stats of a forward pass");
    call->args.stats = data_of(stats);
}

/* stats, grad_loss -> the gradient of the logits, times the upstream gradient: one value, or one for each row. */
static void cross_entropy_gradient(value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    struct call call;
    begin(&call, stack);
    take_stats(&call, stack[FURTHER]);
    call.args.grad_loss = take_upstream(&call, stack[FURTHER + 1], &call.args.grad_loss_stride);
    tensor grad;
    call.args.grad = make_grad(&call, stack[LOGITS], &grad);
    run(&call, quern_cross_entropy_gradient);
    end(&call, "quern::cross_entropy_gradient");
    stack[0] = (value)(uintptr_t)grad;
}

/* inverse_temperature -> (log_prob, entropy, stats) */
static void policy(value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    struct call call;
    tensor stats, rows[2];
    begin(&call, stack);
    call.args.padded_vocab = 0;
    call.args.inverse_temperature = (float)real_of(stack[FURTHER]);
    call.args.stats = make_stats(&call, &stats);
    for (int i = 0; i < 2; i++) rows[i] = make(&call, 1, &call.args.rows, TORCH_F32);
    if (!call.failed) call.args.log_prob = data_of(rows[0]), call.args.entropy = data_of(rows[1]);
    run(&call, quern_cross_entropy);
    end(&call, "quern::policy");
    stack[0] = (value)(uintptr_t)rows[0], stack[1] = (value)(uintptr_t)rows[1], stack[2] = (value)(uintptr_t)stats;
}

/* inverse_temperature, stats, grad_loss, grad_entropy -> the gradient of the logits */
static void policy_gradient(value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    struct call call;
    tensor grad;
    begin(&call, stack);
    call.args.inverse_temperature = (float)real_of(stack[FURTHER]);
    take_stats(&call, stack[FURTHER + 1]);
    call.args.grad_loss = take_upstream(&call, stack[FURTHER + 2], &call.args.grad_loss_stride);
    call.args.grad_entropy = take_upstream(&call, stack[FURTHER + 3], &call.args.grad_entropy_stride);
    call.args.grad = make_grad(&call, stack[LOGITS], &grad);
    run(&call, quern_cross_entropy_gradient);
    end(&call, "quern::policy_gradient");
    stack[0] = (value)(uintptr_t)grad;
}

/* ---- lists of columns ---- */

/* ids [rows, count] in int64, and their numbers. */
static void take_ids(struct call *call, tensor ids) {
    int64_t *sizes, *strides;
    expect(call, is_matrix(ids) && dtype_of(ids) == QUERN_INT64, "ids [rows, columns] in int64, side by side");
    if (call->failed) return;
    torch.sizes(ids, &sizes);
    torch.strides(ids, &strides);
    expect(call, sizes[0] == call->args.rows && (sizes[0] < 2 || strides[0] == sizes[1]), "ids of all rows of the logits, side by side");
    call->args.given_count = sizes[1];
    call->args.given_ids = data_of(ids);
}

static const float *take_list(struct call *call, value given, const char *expected) {
    const tensor list = take(call, given);
    int64_t *sizes, *strides;
    expect(call, is_matrix(list) && dtype_of(list) == QUERN_F32, expected);
    if (call->failed) return NULL;
    torch.sizes(list, &sizes);
    torch.strides(list, &strides);
    const bool is_dense = sizes[0] < 2 || !sizes[1] || strides[0] == sizes[1];
    expect(call, sizes[0] == call->args.rows && sizes[1] == call->args.given_count && is_dense, expected);
    return data_of(list);
}

/* Target probabilities of all columns. */
static void take_soft_targets(struct call *call, tensor targets) {
    int64_t *sizes, *strides;
    expect(call, is_matrix(targets), "target probabilities [rows, vocab], with the columns of a row side by side");
    if (call->failed) return;
    torch.sizes(targets, &sizes);
    torch.strides(targets, &strides);
    expect(call, sizes[0] == call->args.rows && sizes[1] == call->args.vocab, "target probabilities [rows, vocab]");
    call->args.soft_targets_dtype = dtype_of(targets);
    call->args.soft_targets = data_of(targets);
    call->args.soft_targets_stride = sizes[0] > 1 ? strides[0] : sizes[1];
}

static void *make_list(struct call *call, int64_t columns, int32_t dtype, tensor *list) {
    *list = make(call, 2, (int64_t[]){call->args.rows, columns}, dtype);
    return *list ? data_of(*list) : NULL;
}

/* inverse_temperature, top_k, ids or none -> (ids of the largest, their log-probabilities, those of the ids) */
static void log_probs(value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    struct call call;
    tensor lists[3];
    begin(&call, stack);
    const tensor ids = optional_of(stack[FURTHER + 2]);
    call.args.padded_vocab = 0;
    call.args.inverse_temperature = (float)real_of(stack[FURTHER]);
    call.args.top_k = (int64_t)stack[FURTHER + 1];
    if (ids) take_ids(&call, take(&call, (value)(uintptr_t)ids));
    call.args.top_ids = make_list(&call, call.args.top_k, TORCH_INT64, &lists[0]);
    call.args.top_log_probs = make_list(&call, call.args.top_k, TORCH_F32, &lists[1]);
    call.args.given_log_probs = make_list(&call, call.args.given_count, TORCH_F32, &lists[2]);
    run(&call, quern_cross_entropy);
    end(&call, "quern::log_probs");
    for (int i = 0; i < 3; i++) stack[i] = (value)(uintptr_t)lists[i];
}

/* inverse_temperature, ids or none for all columns, targets, kind, has_tail, of all operators of divergences */
static void begin_divergence(struct call *call, const value *stack) {
    begin(call, stack);
    call->args.inverse_temperature = (float)real_of(stack[FURTHER]);
    const tensor ids = optional_of(stack[FURTHER + 1]);
    if (ids) {
        take_ids(call, take(call, (value)(uintptr_t)ids));
        call->args.target_probs = take_list(call, stack[FURTHER + 2], "target probabilities in float32, one for each of the ids");
    } else {
        take_soft_targets(call, take(call, stack[FURTHER + 2]));
    }
    call->args.divergence_kind = (quern_divergence)stack[FURTHER + 3];
    call->args.has_tail = flag_of(stack[FURTHER + 4]);
}

/* -> (divergence, log-probabilities of the ids, stats) */
static void divergence(value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    struct call call;
    tensor rows, list, stats;
    begin_divergence(&call, stack);
    call.args.padded_vocab = 0;
    rows = make(&call, 1, &call.args.rows, TORCH_F32);
    call.args.divergence = rows ? data_of(rows) : NULL;
    call.args.given_log_probs = make_list(&call, call.args.given_count, TORCH_F32, &list);
    call.args.stats = make_stats(&call, &stats);
    run(&call, quern_cross_entropy);
    end(&call, "quern::divergence");
    stack[0] = (value)(uintptr_t)rows, stack[1] = (value)(uintptr_t)list, stack[2] = (value)(uintptr_t)stats;
}

/* log-probabilities, stats, grad_loss, grad_divergence -> the gradient of the logits */
static void divergence_gradient(value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    enum { OWN = FURTHER + 5 };
    struct call call;
    tensor grad;
    begin_divergence(&call, stack);
    call.args.given_log_probs = (float *)(uintptr_t)take_list(&call, stack[OWN], "the log-probabilities of a forward pass");
    take_stats(&call, stack[OWN + 1]);
    call.args.grad_loss = take_upstream(&call, stack[OWN + 2], &call.args.grad_loss_stride);
    call.args.grad_divergence = take_upstream(&call, stack[OWN + 3], &call.args.grad_divergence_stride);
    call.args.grad = make_grad(&call, stack[LOGITS], &grad);
    run(&call, quern_cross_entropy_gradient);
    end(&call, "quern::divergence_gradient");
    stack[0] = (value)(uintptr_t)grad;
}

/* ---- in place ---- */

/* grad_scale -> loss: the gradient overwrites the logits. */
static void cross_entropy_in_place(value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    struct call call;
    tensor loss;
    begin(&call, stack);
    call.args.grad = (void *)(uintptr_t)call.args.logits;
    call.args.grad_scale = (float)real_of(stack[FURTHER]);
    call.args.loss = make_loss(&call, &loss);
    run(&call, quern_cross_entropy);
    end(&call, "quern::cross_entropy_");
    stack[0] = (value)(uintptr_t)loss;
}

/* grad_scale, loss, grad -> nothing: both are written. */
static void cross_entropy_out(value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    struct call call;
    int64_t *strides = NULL;
    int64_t *sizes = NULL;
    begin(&call, stack);
    const tensor loss = take(&call, stack[FURTHER + 1]), grad = take(&call, stack[FURTHER + 2]);
    expect(&call, is_vector(loss, call.args.reduction == QUERN_REDUCTION_NONE ? call.args.rows : 1) && dtype_of(loss) == QUERN_F32,
           "loss in float32: [rows] without a reduction, else one value");
    expect(&call, is_matrix(grad) && dtype_of(grad) == call.args.logits_dtype, "grad as the logits");
    if (!call.failed) {
        torch.sizes(grad, &sizes);
        torch.strides(grad, &strides);
        expect(&call, sizes[0] == call.args.rows && sizes[1] == call.args.padded_vocab, "grad as the logits");
        call.args.grad_stride = call.args.rows > 1 ? strides[0] : 0;
    }
    call.args.grad_scale = (float)real_of(stack[FURTHER]);
    call.args.loss = data_of(loss);
    call.args.grad = data_of(grad);
    run(&call, quern_cross_entropy);
    end(&call, "quern::cross_entropy_out");
}

/* grad_loss -> nothing: the gradient is multiplied in place. */
static void cross_entropy_upstream(value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    const tensor grad = (tensor)(uintptr_t)stack[0];
    struct call call = {.args = QUERN_CROSS_ENTROPY_ARGS_INIT, .held = {grad}, .given = 1, .count = 1};
    int64_t *sizes = NULL, *strides = NULL, dimensions = 0;
    torch.dimensions((tensor)(uintptr_t)stack[1], &dimensions);
    expect(&call, is_matrix(grad), "grad [rows, columns], with the columns of a row side by side");
    torch.sizes(grad, &sizes);
    torch.strides(grad, &strides);
    call.args.reduction = dimensions ? QUERN_REDUCTION_NONE : QUERN_REDUCTION_SUM;
    call.args.logits_dtype = dtype_of(grad), call.args.labels_dtype = QUERN_INT64;
    if (!call.failed) {
        find_place(&call, grad);
        call.args.rows = sizes[0], call.args.vocab = sizes[1];
        call.args.grad_stride = sizes[0] > 1 ? strides[0] : sizes[1];
    }
    call.args.grad = data_of(grad);
    call.args.grad_loss = take_upstream(&call, stack[1], &call.args.grad_loss_stride);
    if (!call.failed) note(&call, quern_cross_entropy_upstream(call.device, &call.args, call.stream));
    end(&call, "quern::cross_entropy_upstream_");
}

static const struct {
    const char *name, *schema;
    void (*run)(value *, uint64_t, uint64_t);
} operators[] = {
    {"cross_entropy", "cross_entropy(Tensor logits, " OPTIONS ") -> (Tensor, Tensor)", cross_entropy},
    {"cross_entropy_and_gradient", "cross_entropy_and_gradient(Tensor logits, " OPTIONS ") -> (Tensor, Tensor, Tensor)",
     cross_entropy_and_gradient},
    {"cross_entropy_loss", "cross_entropy_loss(Tensor logits, " OPTIONS ") -> Tensor", cross_entropy_loss},
    {"cross_entropy_outputs",
     "cross_entropy_outputs(Tensor logits, " OPTIONS ") -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)", cross_entropy_outputs},
    {"cross_entropy_gradient", "cross_entropy_gradient(Tensor logits, " OPTIONS ", Tensor stats, Tensor grad_loss) -> Tensor",
     cross_entropy_gradient},
    {"policy", "policy(Tensor logits, " OPTIONS ", float inverse_temperature) -> (Tensor, Tensor, Tensor)", policy},
    {"policy_gradient", "policy_gradient(Tensor logits, " OPTIONS
     ", float inverse_temperature, Tensor stats, Tensor grad_loss, Tensor grad_entropy) -> Tensor", policy_gradient},
    {"log_probs", "log_probs(Tensor logits, " OPTIONS ", float inverse_temperature, int top_k, Tensor? ids) -> (Tensor, Tensor, Tensor)",
     log_probs},
    {"divergence", "divergence(Tensor logits, " OPTIONS ", " DIVERGENCE ") -> (Tensor, Tensor, Tensor)", divergence},
    {"divergence_gradient", "divergence_gradient(Tensor logits, " OPTIONS ", " DIVERGENCE
     ", Tensor log_probs, Tensor stats, Tensor grad_loss, Tensor grad_divergence) -> Tensor", divergence_gradient},
    {"cross_entropy_", "cross_entropy_(Tensor(a!) logits, " OPTIONS ", float grad_scale) -> Tensor", cross_entropy_in_place},
    {"cross_entropy_upstream_", "cross_entropy_upstream_(Tensor(a!) grad, Tensor grad_loss) -> ()", cross_entropy_upstream},
    {"cross_entropy_out",
     "cross_entropy_out(Tensor logits, " OPTIONS ", float grad_scale, *, Tensor(a!) loss, Tensor(b!) grad) -> ()", cross_entropy_out},
};

/* ---- threads ---- */

static pid_t home;  /* the process of PyTorch's threads: OpenMP's are not there in a fork, and waits for them have no end */

struct tasks {
    void (*task)(void *context, int64_t index);
    void *context;
};

static void run_range(int64_t first, int64_t end, void *given) {
    const struct tasks *tasks = given;
    for (int64_t i = first; i < end; i++) tasks->task(tasks->context, i);
}

/*
 * A hook for quern_set_threads: PyTorch's own threads, which wait for its next call in a loop.  A second pool would compete with
 * them for the cores.
 */
static void run_on_threads(void *user, int64_t count, void (*task)(void *context, int64_t index), void *context) {
    (void)user;
    struct tasks tasks = {task, context};
    if (count == 1 || getpid() != home) run_range(0, count, &tasks);
    else torch.parallel_for(0, count, 1, run_range, &tasks);
}

/* NULL: this PyTorch does not lend its threads. */
EXPORT quern_parallel_for quern_torch_threads(void) { return torch.parallel_for ? run_on_threads : NULL; }

/* ---- registration ---- */

static bool implement_for(const char *key) {
    void *library;   /* lives as long as the process */
    if (torch.begin_implementation("quern", key, __FILE__, __LINE__, &library) != 0) return false;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (torch.implement(library, operators[i].name, operators[i].run) != 0) return false;
    return true;
}

/*
 * Defines the operators.  cpu, cuda: handles of libtorch_cpu.so and libtorch_cuda.so, or NULL; find gives the handles of devices.
 * NULL: it is done, else a static text that says why not.
 */
EXPORT const char *quern_torch_register(void *cpu, void *cuda, find_device find) {
    static char why[200];
    void *library;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(cpu, symbols[i].name);
        if (!found) found = dlsym(RTLD_DEFAULT, symbols[i].name);
        if (!found) {
            snprintf(why, sizeof why, "this PyTorch has no %s: expected version 2.7 or a later one", symbols[i].name);
            return why;
        }
        memcpy(symbols[i].at, &found, sizeof found);
    }
    void *stream = cuda ? dlsym(cuda, "aoti_torch_get_current_cuda_stream") : NULL;
    memcpy(&torch.current_stream, &stream, sizeof stream);
    void *threads = dlsym(cpu, "torch_parallel_for");
    memcpy(&torch.parallel_for, &threads, sizeof threads);
    home = getpid();
    python_device = find;
    if (torch.begin_fragment("quern", __FILE__, __LINE__, &library) != 0) return "PyTorch refuses a library of operators";
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (torch.define(library, operators[i].schema) != 0) return "PyTorch refuses an operator";
    if (!implement_for("CPU") || (cuda && !implement_for("CUDA"))) return "PyTorch refuses an implementation";
    return NULL;
}
