/* Chooses the kernels of a collective.  Called by its public functions; quern_prepare reads the operation's row. */
#include "ranks/collective/collective.h"

#include "runtime/dispatch.h"
#include "runtime/dtype.h"
#include "runtime/match.h"
#include "runtime/pack_format.h"

/* The kernels that all calls of a task share are left out only with their target. */
static enum quern_row_role role(const struct quern_kernel *kernel) {
    return kernel->key.any.task == QUERN_COLLECTIVE_CHUNK_MEETING ? QUERN_ROW_FOLLOWS_TARGET : QUERN_ROW_SELECTED_BY_NAME;
}

static const char *pack_fault(const struct quern_pack_row *row) {
    const quern_dtype dtype = (quern_dtype)row->dtypes[0], output = (quern_dtype)row->dtypes[1];
    const bool casts = row->stage == QUERN_COLLECTIVE_CHUNKS || row->stage == QUERN_COLLECTIVE_BLOCK_CHUNKS;
    const bool combines = row->stage == QUERN_COLLECTIVE_COMBINE;
    if (row->stage < QUERN_COLLECTIVE_COMBINE || row->stage > QUERN_COLLECTIVE_BLOCK_CHUNKS) return "an unknown task";
    if (row->full) return "an unknown set of options";
    if (!(casts || combines ? quern_is_float(dtype) : dtype == QUERN_NO_DTYPE)) return "an unknown dtype";
    return (casts ? quern_is_narrow(output) : output == QUERN_NO_DTYPE) ? NULL : "an unknown dtype";
}

const struct quern_operation quern_collective_operation = {
    .table = quern_collective_kernels, .counts_resident = true, .role = role, .covers = quern_match_covers,
    .pack_fault = pack_fault, .refused = quern_match_refused};

quern_status quern_collective_select_task(quern_device *device, enum quern_collective_task task, quern_dtype dtype,
                                          quern_dtype output, const struct quern_ready_kernel **chosen) {
    const struct quern_match request = {(int32_t)task, {dtype, output}, {"dtype", "output_dtype"}};
    return quern_select(device, QUERN_COLLECTIVE, &request, chosen);
}

quern_status quern_collective_select_move(quern_device *device, const struct quern_ready_kernel **chosen) {
    return quern_collective_select_task(device, QUERN_COLLECTIVE_MOVE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, chosen);
}

quern_status quern_collective_select(struct quern_collective_call *call) {
    quern_device *device = call->member->device;
    quern_status status = quern_collective_select_move(device, &call->move);
    if (status == QUERN_OK && call->form->reduces)
        status = quern_collective_select_task(device, QUERN_COLLECTIVE_COMBINE, call->dtype, QUERN_NO_DTYPE, &call->combine);
    return status;
}
