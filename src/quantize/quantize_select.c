/* Chooses the kernels of a quantisation.  Called by its public functions; quern_prepare reads the operation's row. */
#include "quantize/quantize.h"

#include "runtime/dispatch.h"
#include "runtime/dtype.h"
#include "runtime/explain.h"
#include "runtime/match.h"
#include "runtime/pack_format.h"
#include "runtime/status.h"

static struct quern_match request_of(enum quern_quantize_task task, quern_dtype input, quern_dtype output) {
    return (struct quern_match){(int32_t)task, {input, output}, {"input", "output"}};  /* that of the amax has no output */
}

static enum quern_row_role role(const struct quern_kernel *kernel) {
    return kernel->key.any.task == QUERN_QUANTIZE_AMAX ? QUERN_ROW_FOLLOWS_TARGET : QUERN_ROW_SELECTED_BY_NAME;
}

static const char *bits(const struct quern_kernel *kernel) {
    (void)kernel;
    return QUERN_EXACT_BITS;
}

static const char *pack_fault(const struct quern_pack_row *row) {
    const quern_dtype input = (quern_dtype)row->dtypes[0], output = (quern_dtype)row->dtypes[1];
    const bool casts = row->stage == QUERN_QUANTIZE_CAST || row->stage == QUERN_QUANTIZE_MATRIX;
    if (!casts && row->stage != QUERN_QUANTIZE_AMAX) return "an unknown task";
    if (row->full) return "an unknown set of options";
    if (!quern_is_float(input) || (casts ? !quern_is_narrow(output) : output != QUERN_NO_DTYPE))
        return "an unknown dtype";
    return row->elements == QUERN_LIST_TILE ? NULL : "a wrong number of elements in a tile";
}

const struct quern_operation quern_quantize_operation = {
    .table = quern_quantize_kernels, .counts_resident = true, .role = role, .covers = quern_match_covers, .bits = bits,
    .pack_fault = pack_fault, .refused = quern_match_refused, .answers = &quern_quantize_answers};

static quern_status select_task(const struct quern_quantize_call *call, enum quern_quantize_task task, quern_dtype output,
                                const struct quern_ready_kernel **chosen) {
    const struct quern_match request = request_of(task, call->args.input_dtype, output);
    return quern_select(call->device, QUERN_QUANTIZE, &request, chosen);
}

quern_status quern_quantize_select_amax(quern_device *device, quern_dtype input, const struct quern_ready_kernel **chosen) {
    const struct quern_match request = request_of(QUERN_QUANTIZE_AMAX, input, QUERN_NO_DTYPE);
    return quern_select(device, QUERN_QUANTIZE, &request, chosen);
}

static enum quern_quantize_task task_of_cast(const struct quern_quantize_call *call) {
    return call->form.has_matrices ? QUERN_QUANTIZE_MATRIX : QUERN_QUANTIZE_CAST;
}

/* With a history the cast finds the amaxes on a GPU; blocks have none. */
quern_status quern_quantize_select(struct quern_quantize_call *call) {
    const bool finds = call->steps & QUERN_QUANTIZE_FINDS && !call->form.in_blocks;
    quern_status status = QUERN_OK;
    if (call->steps & QUERN_QUANTIZE_CASTS)
        status = select_task(call, task_of_cast(call), call->args.output_dtype, &call->cast);
    if (status == QUERN_OK && finds) status = select_task(call, QUERN_QUANTIZE_AMAX, QUERN_NO_DTYPE, &call->amax);
    return status;
}

size_t quern_quantize_explain(const quern_device *device, const quern_quantize_args *args, char *buffer, size_t bytes) {
    struct quern_quantize_call call = {.device = (quern_device *)device, .steps = QUERN_QUANTIZE_ASKS};
    if (!device) quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!device || quern_quantize_check(&call, args) != QUERN_OK) return quern_error_detail(buffer, bytes);
    const struct quern_match request = request_of(task_of_cast(&call), args->input_dtype, args->output_dtype);
    return quern_explain(device, QUERN_QUANTIZE, &request, buffer, bytes);
}
