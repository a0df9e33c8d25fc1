/* Chooses kernels for cross-entropy.  Called by both backends, for each stage of a call, and by quern_cross_entropy_explain. */
#include "cross_entropy/cross_entropy.h"

#include "os/integers.h"
#include "runtime/dtype.h"
#include "runtime/explain.h"
#include "runtime/operation.h"
#include "runtime/pack_format.h"

int64_t quern_cross_entropy_parts(const quern_device *device, const quern_cross_entropy_args *args) {
    const int64_t columns = device->kind == QUERN_CPU ? QUERN_CPU_PART_COLUMNS
                                                      : QUERN_GPU_PART_BYTES / (int64_t)quern_dtype_bytes(args->logits_dtype);
    return quern_divide_up(args->vocab, columns);
}

/* The request that a kernel must serve. */
struct request {
    quern_dtype logits;
    enum quern_cross_entropy_stage stage;
    bool full;
    int64_t vocab, parts;
    int64_t shared_bytes;  /* of the device; a kernel built for a larger device of its family may need more */
};

/* The shared memory of each block if as many as possible share a row; 0 if the kernel keeps no whole row. */
static int64_t needed_bytes(const struct quern_kernel *kernel, int64_t cluster, const struct request *request) {
    if (!quern_cross_entropy_keeps_rows(kernel)) return 0;
    if (kernel->cuda.elements) return quern_cross_entropy_share_bytes(kernel, request->vocab, cluster);
    if (kernel->cuda.cluster) return quern_cross_entropy_shared_bytes(kernel, 0, quern_divide_up(request->parts, cluster));
    return kernel->cuda.shared_per_column ? quern_cross_entropy_shared_bytes(kernel, request->vocab, request->parts) : 0;
}

/* A row in the shared memory of several blocks. */
static bool cluster_refused(const struct quern_kernel *kernel, int cluster, const struct request *request,
                            struct quern_text *why) {
    const long long most = kernel->cuda.cluster;
    const bool needs_several = !kernel->cuda.elements && cluster < 2;
    if (!needs_several && needed_bytes(kernel, cluster, request) <= request->shared_bytes) return false;
    if (cluster < most) quern_text_add(why, "no cluster of %d blocks has room on this device; ", 2 * cluster);
    quern_text_add(why, "keeps a row in the shared memory of %d blocks, which have %lld bytes each here: too few for a vocab of "
                   "%lld", cluster, (long long)request->shared_bytes, (long long)request->vocab);
    return true;
}

static int refused(const struct quern_kernel *kernel, int cluster, const void *context, struct quern_text *why) {
    const struct request *request = context;
    struct quern_text unused = quern_text_begin(NULL, 0);
    if (!why) why = &unused;
    if (kernel->key.cross_entropy.stage != request->stage) {
        quern_text_add(why, "computes another stage");
        return QUERN_ANOTHER_TASK;
    }
    if (kernel->key.cross_entropy.logits != request->logits) {
        quern_text_add(why, "logits are %s, the request has %s", quern_dtype_name(kernel->key.cross_entropy.logits),
                       quern_dtype_name(request->logits));
        return QUERN_ANOTHER_TASK + 1;
    }
    if (request->full && !kernel->key.cross_entropy.full) {
        quern_text_add(why, "knows no label smoothing, softcap, class weights, entropy and argmax");
        return QUERN_ANOTHER_TASK + 2;
    }
    int64_t longest = kernel->key.cross_entropy.vocab_max;
    if (request->vocab > longest) {
        quern_text_add(why, "holds a vocab of up to %lld on the chip, the request has %lld", (long long)longest,
                       (long long)request->vocab);
        return QUERN_ANOTHER_TASK + 3;
    }
    if (kernel->cuda.cluster) return cluster_refused(kernel, cluster, request, why) ? QUERN_ANOTHER_TASK + 4 : 0;
    if (needed_bytes(kernel, 1, request) <= request->shared_bytes) return 0;
    quern_text_add(why, "keeps a row in shared memory, of which a block has %lld bytes here: too few for a vocab of %lld",
                   (long long)request->shared_bytes, (long long)request->vocab);
    return QUERN_ANOTHER_TASK + 4;
}

/* Whether the kernels of a stage have a type of logits.  The soft stage of a CPU has one, that of a GPU serves all of them. */
static bool has_type(enum quern_cross_entropy_stage stage, quern_device_kind kind) {
    return stage <= QUERN_STAGE_PORTABLE || (stage == QUERN_STAGE_SOFT && kind == QUERN_CPU);
}

/* Stages for all types of logits have one kernel.  The others share scratch with kernels of their target. */
static enum quern_row_role role(const struct quern_kernel *kernel) {
    const enum quern_cross_entropy_stage stage = kernel->key.cross_entropy.stage;
    if (stage == QUERN_STAGE_ROWS) return QUERN_ROW_SELECTED_BY_NAME;
    return has_type(stage, kernel->target.kind) ? QUERN_ROW_FOLLOWS_TARGET : QUERN_ROW_INDISPENSABLE;
}

static bool covers(const struct quern_kernel *kernel, const struct quern_kernel *other) {
    return kernel->key.cross_entropy.logits == other->key.cross_entropy.logits &&
           kernel->key.cross_entropy.stage == other->key.cross_entropy.stage &&
           kernel->key.cross_entropy.full == other->key.cross_entropy.full &&
           kernel->key.cross_entropy.vocab_max >= other->key.cross_entropy.vocab_max;
}

/* Of a target, where rows are divided by parts.  Rows that are divided by columns have bits of their own. */
static const char *bits(const struct quern_kernel *kernel) {
    const enum quern_cross_entropy_stage stage = kernel->key.cross_entropy.stage;
    if (stage == QUERN_STAGE_PORTABLE || stage == QUERN_STAGE_PORTABLE_COMBINE) return QUERN_EXACT_BITS;
    return kernel->cuda.elements ? NULL : kernel->target.name;
}

static const char *pack_fault(const struct quern_pack_row *row) {
    if (row->stage < QUERN_STAGE_ROWS || row->stage > QUERN_STAGE_WIDE) return "an unknown stage";
    const bool is_typed = has_type((enum quern_cross_entropy_stage)row->stage, QUERN_CUDA);
    if (is_typed != quern_is_float((quern_dtype)row->dtypes[0])) return "an unknown dtype";
    if (row->full != 0 && row->full != 1) return "an unknown set of options";
    if (row->cluster > 16 || (row->cluster & (row->cluster - 1))) return "a wrong number of blocks in a cluster";
    return NULL;
}

const struct quern_operation quern_cross_entropy_operation = {
    .table = quern_cross_entropy_kernels, .role = role, .covers = covers, .bits = bits, .pack_fault = pack_fault,
    .refused = refused, .answers = &quern_cross_entropy_answers};

static struct request request_of(const struct quern_cross_entropy_call *call, enum quern_cross_entropy_stage stage) {
    const bool is_typed = has_type(stage, call->device->kind);
    const bool needs_full = stage < QUERN_STAGE_UPSTREAM && call->is_full;
    return (struct request){is_typed ? call->args.logits_dtype : QUERN_NO_DTYPE, stage, needs_full, call->args.vocab,
                            quern_cross_entropy_parts(call->device, &call->args), call->device->shared_bytes};
}

quern_status quern_cross_entropy_select(const struct quern_cross_entropy_call *call, enum quern_cross_entropy_stage stage,
                                        const struct quern_ready_kernel **chosen) {
    const struct request request = request_of(call, stage);
    return quern_select(call->device, QUERN_CROSS_ENTROPY, &request, chosen);
}

size_t quern_cross_entropy_explain_call(const struct quern_cross_entropy_call *call, char *buffer, size_t bytes) {
    const bool is_portable = call->device->kind == QUERN_CUDA && call->args.bits == QUERN_BITS_PORTABLE;
    const struct request request = request_of(call, is_portable ? QUERN_STAGE_PORTABLE : QUERN_STAGE_ROWS);
    return quern_explain(call->device, QUERN_CROSS_ENTROPY, &request, buffer, bytes);
}
