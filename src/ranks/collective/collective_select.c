/* Chooses the kernels of a collective.  Called by its public functions; quern_prepare reads the operation's row. */
#include "ranks/collective/collective_select.h"

#include "runtime/dispatch.h"
#include "runtime/dtype.h"
#include "runtime/pack_format.h"

struct request {
    enum quern_collective_task task;
    quern_dtype dtype;
};

static bool refused(const struct quern_kernel *kernel, int cluster, const void *context, struct quern_text *why) {
    const struct request *request = context;
    (void)cluster;  /* these kernels have none */
    const bool other_task = kernel->key.any.task != (int32_t)request->task;
    if (!other_task && kernel->key.any.dtypes[0] == request->dtype) return false;
    if (why && other_task) quern_text_add(why, "computes something else");
    if (why && !other_task)
        quern_text_add(why, "dtype is %s, the request has %s", quern_dtype_name(kernel->key.any.dtypes[0]),
                       quern_dtype_name(request->dtype));
    return true;
}

static bool covers(const struct quern_kernel *kernel, const struct quern_kernel *other) {
    return kernel->key.any.task == other->key.any.task && kernel->key.any.dtypes[0] == other->key.any.dtypes[0];
}

static const char *pack_fault(const struct quern_pack_row *row) {
    const bool combines = row->stage == QUERN_COLLECTIVE_COMBINE;
    if (!combines && row->stage != QUERN_COLLECTIVE_MOVE) return "an unknown task";
    if (row->full) return "an unknown set of options";
    const quern_dtype dtype = (quern_dtype)row->dtypes[0];
    return (combines ? quern_is_float(dtype) : dtype == QUERN_NO_DTYPE) ? NULL : "an unknown dtype";
}

const struct quern_operation quern_collective_operation = {
    .table = quern_collective_kernels, .counts_resident = true, .covers = covers, .pack_fault = pack_fault, .refused = refused};

quern_status quern_collective_select_move(quern_device *device, const struct quern_ready_kernel **chosen) {
    return quern_select(device, QUERN_COLLECTIVE, &(struct request){QUERN_COLLECTIVE_MOVE, QUERN_NO_DTYPE}, chosen);
}

quern_status quern_collective_select(struct quern_collective_call *call) {
    const struct request combine = {QUERN_COLLECTIVE_COMBINE, call->dtype};
    quern_status status = quern_collective_select_move(call->member->device, &call->move);
    if (status == QUERN_OK && call->form->reduces)
        status = quern_select(call->member->device, QUERN_COLLECTIVE, &combine, &call->combine);
    return status;
}
