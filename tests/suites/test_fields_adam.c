/*
 * Each field of Adam's calls, by the table of tests/fields/adam.h: rubbish in ignored fields changes nothing, illegal values are
 * refused with a detail that names the field, buffers are aligned and apart.  Details about several fields, and saved states, word
 * for word.
 *
 * Runs on: cpu, one emulated, gpu.
 */
#include "fields/adam.h"
#include "fields/slots.h"

TEST_FIELDS(fields_adam, each_call, QUERN_ADAM) { WALK_EACH(adam_calls, destroy_adam_plan); }

/* ---- several fields ---- */

TEST_FIELDS(fields_adam, masters, QUERN_ADAM) {
    quern_adam_args *a = &adam_args;
    fields_prepare(&calls_of_quern_adam[0]);
    REFUSED(a->param_dtype = QUERN_F16, QUERN_INVALID_DTYPE, "args.master_dtype is remainder with f16 parameters: expected bf16 "
            "ones, which the remainder completes to fp32");
    REFUSED((a->param_dtype = QUERN_F32, a->master_dtype = QUERN_F32), QUERN_INVALID_DTYPE, "args.master_dtype is f32 with f32 "
            "parameters: expected none, since a master copy would hold the same values twice");
    REFUSED(a->param_dtype = QUERN_F32, QUERN_INVALID_DTYPE, "args.master_dtype is remainder with f32 parameters: expected bf16 "
            "ones, which the remainder completes to fp32");
    REFUSED((a->tensor_count = 0, a->tensor_size = 0), QUERN_INVALID_STRUCT_SIZE,
            "args.tensor_size is 0: expected 112 (as QUERN_ADAM_ARGS_INIT sets)");
}

/* Only the counter of steps on the device needs a workspace. */
TEST_FIELDS(fields_adam, workspace, QUERN_ADAM) {
    fields_prepare(&calls_of_quern_adam_workspace[0]);
    const size_t bytes = *parameters_of_quern_adam_workspace.bytes;
    check(bytes == 0, "%zu bytes without control.step", bytes);
}

/* An older program's tensors are shorter: what they lack counts as 0, and what lies behind them is not read. */
TEST_FIELDS(fields_adam, older_tensors, QUERN_ADAM) {
    enum { OLDEST = offsetof(quern_adam_tensor, m_scale) };
    for (size_t size = OLDEST; size < sizeof(quern_adam_tensor); size += sizeof(void *)) {
        char list[TENSORS * sizeof(quern_adam_tensor)];
        fields_prepare(&calls_of_quern_adam[1]);
        adam_args.copy_dtype = QUERN_NO_DTYPE;
        for (int i = 0; i < TENSORS; i++) memcpy(list + (size_t)i * size, &adam_tensors[i], size);
        check_ok(fields_run(&calls_of_quern_adam[1]));
        const uint64_t digest = fields_digest();
        adam_args.tensors = (const quern_adam_tensor *)(const void *)list, adam_args.tensor_size = (uint32_t)size;
        check_ok(fields_run(&calls_of_quern_adam[1]));
        check(fields_digest() == digest, "tensors of %zu bytes give other bits", size);
        fields_restore(&calls_of_quern_adam[1]);
    }
}

/* The gradients of one call replace those of a plan, and are checked as those of a list. */
TEST_FIELDS(fields_adam, gradients_beside_a_plan, QUERN_ADAM) {
    const struct call *const planned = &calls_of_quern_adam[4];
    fields_prepare(planned);
    char *const first = fields_arena(), *const last = first + FIELDS_ARENA - 4096;  /* behind the last home */
    void *grads[TENSORS] = {last, last + 1024};
    check(planned->parts[1].column == PLANNED, "another call");
    ACCEPTED(adam_args.grads = grads);
    ACCEPTED((adam_args.grads = grads, grads[1] = last));  /* which is only read */
    REFUSED((adam_args.grads = grads, grads[1] = NULL), QUERN_NULL_POINTER, "args.grads[1] is NULL");
    REFUSED((adam_args.grads = grads, grads[1] = last + 2), QUERN_INVALID_ARGUMENT,
            "args.grads[1] is not at a multiple of its element's size");
    REFUSED((adam_args.grads = (void *)((char *)grads + 4)), QUERN_INVALID_ARGUMENT,
            "args.grads is not at a multiple of 8 bytes, the size of its elements");
    grads[1] = (char *)adam_tensors[0].v + 4;
    REFUSED(adam_args.grads = grads, QUERN_INVALID_ARGUMENT,
            "args.tensors[0].v overlaps args.tensors[1].grad: expected separate memory");
    grads[1] = (char *)adam_tensors[1].v + 4;
    REFUSED(adam_args.grads = grads, QUERN_INVALID_ARGUMENT, "args.tensors[1].v overlaps args.tensors[1].grad");
    destroy_adam_plan();
}

/* ---- saved states ---- */

static void change_saved(size_t place, size_t bytes, int value) {
    memset((char *)fields_image(parameters_of_quern_adam_load.saved) + place, value, bytes);
}

/* Each is found before those that were made before it. */
TEST_FIELDS(fields_adam, saved_states, QUERN_ADAM) {
    static const char types[] = "saved cannot be read as a saved state: its types are not those of a saved state";
    size_t *bytes = &parameters_of_quern_adam_load.bytes;
    enum { HEADER = 64, COUNTS = 2 * sizeof(int64_t) };
    fields_prepare(&calls_of_quern_adam_load[0]);
    REFUSED(*bytes = HEADER + 7, QUERN_INVALID_ARGUMENT, "saved cannot be read as a saved state: it is shorter than a header");
    change_saved(*bytes - 1, 1, 0x5a);
    REFUSED((void)0, QUERN_INVALID_ARGUMENT,
            "saved cannot be read as a saved state: its hash does not match its bytes, so it is damaged");
    REFUSED(*bytes -= HEADER, QUERN_INVALID_ARGUMENT, "bytes is 1352: expected 1416, by the header of saved");
    change_saved(HEADER + sizeof(int64_t), 1, ELEMENTS + 1);
    REFUSED((void)0, QUERN_INVALID_ARGUMENT, "saved has 41 elements in tensor 1: expected 40, those of args.tensors");
    REFUSED(*bytes = HEADER + COUNTS - 4, QUERN_INVALID_ARGUMENT,
            "saved cannot be read as a saved state: it ends among its counts");
    change_saved(32, 1, 0);
    REFUSED((void)0, QUERN_INVALID_ARGUMENT, "saved has 0 tensors: expected 2, those of args.tensors");
    change_saved(28, 1, 2);
    REFUSED((void)0, QUERN_INVALID_ARGUMENT, types);
    change_saved(8, 1, 3);
    REFUSED((void)0, QUERN_INVALID_ARGUMENT, "saved is of version 3: expected 1 or 2");
    change_saved(0, 1, 'q');
    REFUSED((void)0, QUERN_INVALID_ARGUMENT, "saved cannot be read as a saved state: it does not begin with QUERNADM");
}
