/* Shows the tensors of a step of Adam.  Called while somebody looks at it. */
#include "adam/adam.h"

#include "../generated/arguments.h"

/* Which dtype the elements of a part have. */
static quern_dtype dtype_of(const quern_adam_args *args, const struct quern_adam_part *part) {
    static const struct {
        size_t part, dtype;
    } rows[] = {
        {offsetof(quern_adam_tensor, param), offsetof(quern_adam_args, param_dtype)},
        {offsetof(quern_adam_tensor, grad), offsetof(quern_adam_args, grad_dtype)},
        {offsetof(quern_adam_tensor, m), offsetof(quern_adam_args, m_dtype)},
        {offsetof(quern_adam_tensor, v), offsetof(quern_adam_args, v_dtype)},
        {offsetof(quern_adam_tensor, master), offsetof(quern_adam_args, master_dtype)},
        {offsetof(quern_adam_tensor, v_max), offsetof(quern_adam_args, v_dtype)},
        {offsetof(quern_adam_tensor, copy), offsetof(quern_adam_args, copy_dtype)},
    };
    quern_dtype dtype = QUERN_NO_DTYPE;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].part == part->offset) memcpy(&dtype, (const char *)args + rows[i].dtype, sizeof dtype);
    return dtype;
}

static int access_of(const quern_adam_args *args, const struct quern_adam_part *part) {
    const bool is_rounded = part->offset == offsetof(quern_adam_tensor, param) && args->master_dtype == QUERN_F32;
    if (part->access == QUERN_READ) return QUERN_TENSOR_IN;
    return is_rounded || part->offset == offsetof(quern_adam_tensor, copy) ? QUERN_TENSOR_OUT : QUERN_TENSOR_BOTH;
}

static void show_tensor(struct quern_tensor_taker *taker, const quern_adam_args *args, const struct quern_adam_parts *parts,
                        const quern_adam_tensor *tensor, int64_t place) {
    for (int i = 0; i < parts->count; i++) {
        const struct quern_adam_part *part = &parts->list[i];
        const struct quern_element element = part->is_scale ? quern_byte_element : quern_element_of(dtype_of(args, part));
        quern_show_item(taker, part->name, place, quern_adam_part_pointer(tensor, part), element,
                        quern_adam_part_bytes(part, tensor->count) / (int64_t)element.bytes, access_of(args, part));
    }
    if (!args->copy_dtype) return;
    quern_show_item(taker, "copy_scale", place, tensor->copy_scale, quern_float_element, 1, QUERN_TENSOR_IN);
    quern_show_item(taker, "copy_max", place, tensor->copy_max, quern_float_element, 1, QUERN_TENSOR_BOTH);
}

static void show(const void *context, struct quern_tensor_taker *taker) {
    const struct quern_adam_call *call = context;
    const quern_adam_control *control = &call->args.control;
    const struct quern_adam_parts parts = quern_adam_list_parts(&call->args);
    quern_adam_tensor room;
    for (int64_t place = 0; place < call->list.count; place++) {
        const quern_adam_tensor *tensor = quern_adam_tensor_at(&call->list, place, &room);
        if (tensor->count) show_tensor(taker, &call->args, &parts, tensor, place);
    }
    quern_show_vector(taker, "steps", call->args.steps, quern_int64_element, call->list.count, QUERN_TENSOR_BOTH);
    quern_show_vector(taker, "control.lr", control->lr, quern_float_element, 1, QUERN_TENSOR_IN);
    quern_show_vector(taker, "control.step", control->step, quern_int64_element, 1, QUERN_TENSOR_BOTH);
    quern_show_vector(taker, "control.grad_scale", control->grad_scale, quern_float_element, 1, QUERN_TENSOR_IN);
    quern_show_vector(taker, "control.clip", control->clip, quern_float_element, 1, QUERN_TENSOR_IN);
    quern_show_vector(taker, "control.found_inf", control->found_inf, quern_float_element, 1, QUERN_TENSOR_IN);
}

const struct quern_view quern_adam_view = {.name = "adam", QUERN_ARGUMENTS(quern_adam_args), .tensors = show};
