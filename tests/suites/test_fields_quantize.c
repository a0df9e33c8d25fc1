/*
 * Each field of a quantisation, by the table of tests/fields/quantize.h: rubbish in ignored fields changes nothing, illegal values
 * are refused with a detail that names the field, buffers are aligned and apart.  Details about several fields word for word.
 *
 * Runs on: cpu, one emulated, gpu.
 */
#include "fields/quantize.h"
#include "fields/slots.h"

TEST_FIELDS(fields_quantize, each_call, QUERN_QUANTIZE) { WALK_EACH(quantize_calls, destroy_quantize_plan); }

/* ---- several fields ---- */

/* An older program's tensors are shorter: what they lack counts as 0, and what lies behind them is not read. */
static void check_older_tensors(const struct call *call, size_t size) {
    char list[TENSORS * sizeof(quern_quantize_tensor)];
    fields_prepare(call);
    for (int i = 0; i < TENSORS; i++) {
        memset((char *)&tensors[i] + size, 0, sizeof *tensors - size);
        memcpy(list + (size_t)i * size, &tensors[i], size);
    }
    check_ok(fields_run(call));
    const uint64_t digest = fields_digest();
    quantize_args.tensors = (const quern_quantize_tensor *)(const void *)list, quantize_args.tensor_size = (uint32_t)size;
    check_ok(fields_run(call));
    check(fields_digest() == digest, "tensors of %zu bytes give other bits", size);
    fields_restore(call);
}

TEST_FIELDS(fields_quantize, matrices, QUERN_QUANTIZE) {
    enum { OLDEST = offsetof(quern_quantize_tensor, columns) };
    const struct call *const whole = &calls_of_quern_quantize[0], *call = whole;
    static const char detail[] = "args.tensors[0].columns is 0: expected a divisor of the count, 40";
    for (size_t size = OLDEST; size < sizeof *tensors; size += sizeof(void *)) check_older_tensors(whole, size);
    fields_prepare(whole);
    REFUSED(tensors[0].transposed = tensors[0].output, QUERN_INVALID_SHAPE, detail);
    REFUSED((quantize_args.tensor_count = 0, quantize_args.tensor_size = 0), QUERN_INVALID_STRUCT_SIZE,
            "args.tensor_size is 0: expected 56 (as the struct's initialiser sets)");
    while (call->parts[1].column != BLOCKS) call++;
    fields_prepare(call);
    REFUSED(quantize_args.tensor_size = OLDEST, QUERN_INVALID_SHAPE, detail);
}
