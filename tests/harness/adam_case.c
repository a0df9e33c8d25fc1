/*
 * Lays out Adam's test cases in arenas, fills them with values and runs them on the device.  adam_case.h documents the functions.
 */
#include "harness/adam_case.h"

#include "harness/random.h"
#include "oracle/adam.h"
#include "oracle/dtype.h"

/* ---- the arenas ---- */

/* The number of elements of a tensor's array. */
enum length { ELEMENTS, BLOCKS, ONE };

static const struct {
    size_t pointer;        /* the pointer's offset in the tensor's struct */
    enum length length;
} arenas[ARENAS] = {
    [ARENA_PARAM] = {offsetof(quern_adam_tensor, param), ELEMENTS}, [ARENA_GRAD] = {offsetof(quern_adam_tensor, grad), ELEMENTS},
    [ARENA_M] = {offsetof(quern_adam_tensor, m), ELEMENTS}, [ARENA_V] = {offsetof(quern_adam_tensor, v), ELEMENTS},
    [ARENA_MASTER] = {offsetof(quern_adam_tensor, master), ELEMENTS},
    [ARENA_M_SCALE] = {offsetof(quern_adam_tensor, m_scale), BLOCKS},
    [ARENA_V_SCALE] = {offsetof(quern_adam_tensor, v_scale), BLOCKS},
    [ARENA_V_MAX] = {offsetof(quern_adam_tensor, v_max), ELEMENTS},
    [ARENA_V_MAX_SCALE] = {offsetof(quern_adam_tensor, v_max_scale), BLOCKS},
    [ARENA_COPY] = {offsetof(quern_adam_tensor, copy), ELEMENTS},
    [ARENA_COPY_SCALE] = {offsetof(quern_adam_tensor, copy_scale), ONE},
    [ARENA_COPY_MAX] = {offsetof(quern_adam_tensor, copy_max), ONE},
};

/* The dtype of an arena's elements; 0 if the arena is not used. */
static size_t element_bytes(const quern_adam_args *args, int arena) {
    const size_t copy = quern_dtype_bytes(args->copy_dtype), v = quern_dtype_bytes(args->v_dtype);
    const size_t v_scale = adam_is_scaled(args->v_dtype);
    const size_t bytes[ARENAS] = {
        [ARENA_PARAM] = quern_dtype_bytes(args->param_dtype), [ARENA_GRAD] = quern_dtype_bytes(args->grad_dtype),
        [ARENA_M] = quern_dtype_bytes(args->m_dtype), [ARENA_V] = v, [ARENA_MASTER] = quern_dtype_bytes(args->master_dtype),
        [ARENA_M_SCALE] = adam_is_scaled(args->m_dtype), [ARENA_V_SCALE] = v_scale, [ARENA_V_MAX] = args->amsgrad ? v : 0,
        [ARENA_V_MAX_SCALE] = args->amsgrad ? v_scale : 0, [ARENA_COPY] = copy, [ARENA_COPY_SCALE] = copy == 1 ? sizeof(float) : 0,
        [ARENA_COPY_MAX] = copy ? sizeof(float) : 0,
    };
    return bytes[arena];
}

static int64_t length_of(int arena, int64_t count) {
    const int64_t lengths[] = {[ELEMENTS] = count, [BLOCKS] = (count + QUERN_SCALE_BLOCK - 1) / QUERN_SCALE_BLOCK, [ONE] = 1};
    return lengths[arenas[arena].length];
}

/* The pointer that a tensor has to its part of an arena. */
static unsigned char *pointer_of(const quern_adam_tensor *tensor, int arena) {
    unsigned char *pointer;
    memcpy(&pointer, (const char *)tensor + arenas[arena].pointer, sizeof pointer);
    return pointer;
}

static void set_pointer(quern_adam_tensor *tensor, int arena, unsigned char *pointer) {
    memcpy((char *)tensor + arenas[arena].pointer, &pointer, sizeof pointer);
}

/* ---- rows ---- */

int for_each_adam_row(adam_row_test *body) {
    int rows = 0;
    for (const struct quern_kernel *row = next_adam_row(NULL); row; row = next_adam_row(row), rows++) {
        OPEN_ROW(device, row);
        body(&device, row);
    }
    check(rows > 0, "%s has no row", test_target());
    return rows;
}

bool adam_is_typical(const struct quern_kernel *row) {
    return row->key.adam.param == QUERN_BF16 && row->key.adam.grad == QUERN_BF16 && row->key.adam.m == QUERN_BF16 &&
           row->key.adam.v == QUERN_BF16 && !row->key.adam.master;
}

const struct quern_kernel *find_adam_row(quern_dtype param, quern_dtype grad, quern_dtype m, quern_dtype v, quern_dtype master,
                                         bool full) {
    for (const struct quern_kernel *row = next_adam_row(NULL); row; row = next_adam_row(row))
        if (row->key.adam.param == param && row->key.adam.grad == grad && row->key.adam.m == m && row->key.adam.v == v
            && row->key.adam.master == master && (row->key.adam.full != 0) == full)
            return row;
    cr_assert_fail("%s has no row for these types", test_target());
    return NULL;
}

quern_adam_args adam_args_of(const struct quern_kernel *row) {
    quern_adam_args args = ADAM_ARGS(.param_dtype = row->key.adam.param, .grad_dtype = row->key.adam.grad,
                                     .m_dtype = row->key.adam.m, .v_dtype = row->key.adam.v, .master_dtype = row->key.adam.master,
                                     .lr = 1e-2, .weight_decay = 0.1, .step = 3, .seed = 0x0123456789ABCDEF);
    if (row->key.adam.full) args.amsgrad = args.zero_grads = 1, args.copy_dtype = QUERN_E4M3;
    return args;
}

void adam_set_rounding(quern_adam_args *args, quern_rounding param, quern_rounding m, quern_rounding v) {
    args->param_rounding = args->master_dtype == QUERN_REMAINDER ? QUERN_ROUND_DEFAULT : param;
    args->m_rounding = m;
    args->v_rounding = v;
}

/* ---- layout ---- */

/* Elements between a 64-byte boundary and the array: every residue, and different ones for the values of one tensor. */
static int64_t offset_of(int64_t place, int arena) { return (place * 5 + arena * 7 + place / 16) % 16; }

/* The first element of a tensor's array; *end is the first one that the next array may use. */
static int64_t place_array(int64_t *end, int64_t place, int arena, int64_t count) {
    const int64_t start = (*end + 63) / 64 * 64 + offset_of(place, arena);
    *end = start + length_of(arena, count);
    return start;
}

/* A copy's scale and largest value are optional. */
static bool has_array(int arena, int64_t place) {
    return arena == ARENA_COPY_SCALE ? place % 3 != 1 : arena == ARENA_COPY_MAX ? place % 4 != 2 : true;
}

static void make_arena(struct adam_problem *problem, int arena) {
    const size_t element = element_bytes(&problem->args, arena);
    if (!element) return;
    int64_t end = 0;
    for (int64_t i = 0; i < problem->args.tensor_count; i++) place_array(&end, i, arena, problem->tensors[i].count);
    problem->bytes[arena] = (size_t)end * element;
    problem->arena[arena] = zeroed(problem->bytes[arena] + 1);
    fill_pattern(problem->arena[arena], problem->bytes[arena]);
    end = 0;
    for (int64_t i = 0; i < problem->args.tensor_count; i++) {
        const int64_t start = place_array(&end, i, arena, problem->tensors[i].count);
        set_pointer(&problem->tensors[i], arena, has_array(arena, i) ? problem->arena[arena] + (size_t)start * element : NULL);
    }
}

struct adam_numbers *adam_numbers(const struct adam_problem *problem) {
    return (struct adam_numbers *)problem->arena[ARENA_CONTROL];
}

/* Lets the control pointers that are set point to an arena. */
static void point_control(quern_adam_control *control, struct adam_numbers *numbers) {
    if (control->lr) control->lr = &numbers->lr;
    if (control->step) control->step = &numbers->step;
    if (control->grad_scale) control->grad_scale = &numbers->grad_scale;
    if (control->clip) control->clip = &numbers->clip;
    if (control->found_inf) control->found_inf = &numbers->found_inf;
}

static void make_control(struct adam_problem *problem) {
    quern_adam_control *control = &problem->args.control;
    if (!control->lr && !control->step && !control->grad_scale && !control->clip && !control->found_inf) return;
    const struct adam_numbers numbers = {
        .step = control->step ? *control->step : -1, .lr = control->lr ? *control->lr : NAN,
        .grad_scale = control->grad_scale ? *control->grad_scale : NAN, .clip = control->clip ? *control->clip : NAN,
        .found_inf = control->found_inf ? *control->found_inf : NAN,
    };
    problem->bytes[ARENA_CONTROL] = sizeof numbers;
    problem->arena[ARENA_CONTROL] = zeroed(sizeof numbers);
    memcpy(problem->arena[ARENA_CONTROL], &numbers, sizeof numbers);
    point_control(control, adam_numbers(problem));
}

static void make_steps(struct adam_problem *problem) {
    const int64_t *steps = problem->args.steps;
    const size_t bytes = (size_t)problem->args.tensor_count * sizeof *steps;
    if (!steps) return;
    problem->bytes[ARENA_STEPS] = bytes;
    problem->arena[ARENA_STEPS] = zeroed(bytes + 1);
    problem->args.steps = memcpy(problem->arena[ARENA_STEPS], steps, bytes);
}

/* ---- values ---- */

static quern_dtype moment_dtype(const quern_adam_args *args, int arena) {
    return arena == ARENA_M ? args->m_dtype : args->v_dtype;
}

static uint8_t *scales_of(const quern_adam_tensor *tensor, int arena) {
    return arena == ARENA_M ? tensor->m_scale : arena == ARENA_V ? tensor->v_scale : tensor->v_max_scale;
}

void adam_set_moment(struct adam_problem *problem, int64_t place, int arena, int64_t first, int64_t count, const float *values) {
    const quern_adam_tensor *tensor = &problem->tensors[place];
    for (int64_t end = first + count; first < end;) {
        const int64_t next = (first / QUERN_SCALE_BLOCK + 1) * QUERN_SCALE_BLOCK, here = (next < end ? next : end) - first;
        adam_store_moment(moment_dtype(&problem->args, arena), pointer_of(tensor, arena), scales_of(tensor, arena), first, here,
                          values, arena != ARENA_M, NULL);
        first += here, values += here;
    }
}

void adam_set_value(struct adam_problem *problem, int64_t place, int arena, int64_t i, double value) {
    const quern_adam_args *args = &problem->args;
    const quern_adam_tensor *t = &problem->tensors[place];
    const quern_dtype dtypes[ARENAS] = {
        [ARENA_PARAM] = args->param_dtype, [ARENA_GRAD] = args->grad_dtype, [ARENA_M] = args->m_dtype, [ARENA_V] = args->v_dtype,
        [ARENA_MASTER] = args->master_dtype, [ARENA_V_MAX] = args->v_dtype, [ARENA_COPY] = args->copy_dtype,
    };
    if (dtypes[arena] == QUERN_REMAINDER) adam_split_master((float)value, (uint16_t *)t->param + i, (uint16_t *)t->master + i);
    else dtype_store(dtypes[arena], pointer_of(t, arena), i, value);
}

void adam_set_all(struct adam_problem *problem, int arena, double value) {
    const int64_t count = problem->tensors[0].count;
    const bool is_moment = arena == ARENA_M || arena == ARENA_V || arena == ARENA_V_MAX;
    for (int64_t i = 0; i < count; i++)
        if (is_moment) adam_set_moment(problem, 0, arena, i, 1, &(float){(float)value});
        else adam_set_value(problem, 0, arena, i, value);
}

double adam_value_at(const struct adam_problem *problem, int64_t place, int arena, int64_t i) {
    const quern_adam_args *args = &problem->args;
    const quern_adam_tensor *t = &problem->tensors[place];
    switch (arena) {
    case ARENA_M: case ARENA_V: case ARENA_V_MAX:
        return (double)adam_load_moment(moment_dtype(args, arena), pointer_of(t, arena), scales_of(t, arena), i);
    case ARENA_MASTER:
        if (args->master_dtype == QUERN_REMAINDER)
            return (double)adam_join_master(((uint16_t *)t->param)[i], ((uint16_t *)t->master)[i]);
        return (double)((float *)t->master)[i];
    case ARENA_GRAD: return dtype_load(args->grad_dtype, t->grad, i);
    case ARENA_COPY: return dtype_load(args->copy_dtype, t->copy, i);
    default: return dtype_load(args->param_dtype, t->param, i);
    }
}

/* All values in the usual range of a training run; v is never negative. */
static double make_value(int arena, int64_t place, int64_t i) {
    const double normal = random_normal((uint64_t)(arena * 1000003 + place), (uint64_t)i);
    switch (arena) {
    case ARENA_GRAD: return 0.1 * normal;
    case ARENA_M: return 0.05 * normal;
    case ARENA_V: case ARENA_V_MAX: return 0.01 * normal * normal;
    default: return 0.5 * normal;
    }
}

static void fill_moment(struct adam_problem *problem, int64_t place, int arena) {
    const int64_t count = problem->tensors[place].count;
    for (int64_t first = 0; first < count; first += QUERN_SCALE_BLOCK) {
        float values[QUERN_SCALE_BLOCK];
        const int64_t here = count - first < QUERN_SCALE_BLOCK ? count - first : QUERN_SCALE_BLOCK;
        for (int64_t i = 0; i < here; i++) values[i] = (float)make_value(arena, place, first + i);
        adam_set_moment(problem, place, arena, first, here, values);
    }
}

static void fill_params(struct adam_problem *problem, int64_t place) {
    const quern_adam_args *args = &problem->args;
    const quern_adam_tensor *t = &problem->tensors[place];
    for (int64_t i = 0; i < t->count; i++) {
        const float value = (float)make_value(ARENA_PARAM, place, i);
        if (args->master_dtype == QUERN_REMAINDER) adam_split_master(value, (uint16_t *)t->param + i, (uint16_t *)t->master + i);
        else if (args->master_dtype) ((float *)t->master)[i] = value;
        else dtype_store(args->param_dtype, t->param, i, (double)value);
    }
}

static void fill_tensor(struct adam_problem *problem, int64_t place) {
    quern_adam_tensor *t = &problem->tensors[place];
    fill_params(problem, place);
    fill_moment(problem, place, ARENA_M);
    fill_moment(problem, place, ARENA_V);
    if (problem->args.amsgrad) fill_moment(problem, place, ARENA_V_MAX);
    for (int64_t i = 0; i < t->count; i++) dtype_store(problem->args.grad_dtype, t->grad, i, make_value(ARENA_GRAD, place, i));
    if (t->copy_scale) memcpy((void *)(uintptr_t)t->copy_scale, &(float){(float)(0.3 * (double)(place % 8 + 1))}, sizeof(float));
    if (t->copy_max) *t->copy_max = (float)(place % 5 == 3);
    t->lr_multiplier = (float)(place % 4) * 0.7f;
    t->weight_decay_multiplier = (float)(place % 3) * 1.3f;
}

void adam_make(struct adam_problem *problem, const quern_adam_args *args, const int64_t *counts, int64_t tensor_count) {
    *problem = (struct adam_problem){.args = *args, .tensors = calloc((size_t)tensor_count + 1, sizeof(quern_adam_tensor))};
    check(problem->tensors, "no memory");
    problem->args.tensors = problem->tensors;
    problem->args.tensor_count = tensor_count;
    for (int64_t i = 0; i < tensor_count; i++) problem->tensors[i].count = counts[i];
    for (int arena = 0; arena < ARENA_CONTROL; arena++) make_arena(problem, arena);
    make_control(problem);
    make_steps(problem);
    for (int64_t i = 0; i < tensor_count; i++) fill_tensor(problem, i);
}

/* Lets the tensors of `to` point into other arenas with the same layout. */
static void point_into(quern_adam_tensor *to, const struct adam_problem *from, unsigned char *const arena[ARENAS]) {
    for (int64_t i = 0; i < from->args.tensor_count; i++) {
        to[i] = from->tensors[i];
        for (int a = 0; a < ARENA_CONTROL; a++) {
            unsigned char *pointer = pointer_of(&from->tensors[i], a);
            if (pointer) set_pointer(&to[i], a, arena[a] + (pointer - from->arena[a]));
        }
    }
}

void adam_copy(struct adam_problem *copy, const struct adam_problem *problem) {
    *copy = *problem;
    copy->tensors = zeroed(((size_t)problem->args.tensor_count + 1) * sizeof *copy->tensors);
    copy->args.tensors = copy->tensors;
    for (int a = 0; a < ARENAS; a++) {
        if (!problem->arena[a]) continue;
        copy->arena[a] = zeroed(problem->bytes[a] + 1);
        memcpy(copy->arena[a], problem->arena[a], problem->bytes[a]);
    }
    point_into(copy->tensors, problem, copy->arena);
    point_control(&copy->args.control, adam_numbers(copy));
    copy->args.steps = (void *)copy->arena[ARENA_STEPS];
}

void adam_free(struct adam_problem *problem) {
    for (int a = 0; a < ARENAS; a++) free(problem->arena[a]);
    free(problem->tensors);
}

/* ---- on the device ---- */

/* The plan's own gradients lie as the others do, in memory that is freed. */
static void make_plan(struct adam_session *session, bool with_grads) {
    struct buffer gone, *kept = &session->buffers[ARENA_GRAD];
    if (with_grads) {
        buffer_open(&gone, session->device, kept->bytes, 0, NULL);
        session->grads = zeroed((size_t)session->args.tensor_count * sizeof *session->grads + 1);
    }
    for (int64_t i = 0; i < session->args.tensor_count && with_grads; i++) {
        unsigned char *grad = session->tensors[i].grad;
        session->grads[i] = session->tensors[i].count ? grad : (void *)1;  /* that of an empty tensor is ignored */
        if (grad) session->tensors[i].grad = (unsigned char *)gone.data + (grad - (unsigned char *)kept->data);
    }
    check_ok(quern_adam_plan_create(session->device->quern, &session->args, &session->plan));
    if (with_grads) buffer_close(&gone);
}

static void make_ready(struct adam_session *session, bool with_plan, bool with_grads) {
    quern_adam_args *args = &session->args;
    if (with_plan) {
        make_plan(session, with_grads);
        memset(session->tensors, 0xFF, (size_t)args->tensor_count * sizeof *session->tensors);  /* the plan needs no list */
        args->plan = session->plan;
        args->grads = session->grads;
        args->tensors = NULL;
        session->grad_count = args->tensor_count;
        args->tensor_count = 0;
    }
    check_ok(quern_adam_workspace(session->device->quern, args, &session->workspace_bytes));
    check(!session->workspace_bytes || ((args->control.step || args->steps) && !with_plan), "a workspace of %zu bytes",
          session->workspace_bytes);
    buffer_open(&session->workspace, session->device, session->workspace_bytes, 16, NULL);
}

void adam_session_open(struct adam_session *session, const struct test_device *device, const struct adam_problem *problem) {
    unsigned char *arena[ARENAS] = {NULL};
    *session = (struct adam_session){.device = device, .args = problem->args};
    session->tensors = zeroed(((size_t)problem->args.tensor_count + 1) * sizeof *session->tensors);
    for (int a = 0; a < ARENAS; a++) {
        if (!problem->arena[a]) continue;
        buffer_open(&session->buffers[a], device, problem->bytes[a], 0, problem->arena[a]);
        arena[a] = session->buffers[a].data;
    }
    point_into(session->tensors, problem, arena);
    point_control(&session->args.control, (struct adam_numbers *)arena[ARENA_CONTROL]);
    session->args.steps = (void *)arena[ARENA_STEPS];
    session->args.tensors = session->tensors;
    make_ready(session, problem->with_plan, problem->with_grads);
}

/* The list is read before the call returns: it is overwritten afterwards. */
quern_status adam_session_step(struct adam_session *session) {
    quern_adam_args args = session->args;
    const size_t bytes = args.grads ? (size_t)session->grad_count * sizeof *args.grads
                                    : (size_t)args.tensor_count * sizeof(quern_adam_tensor);
    SCOPED void *list = zeroed(bytes + 1);
    if (args.tensors) args.tensors = memcpy(list, session->tensors, bytes);
    if (args.grads) args.grads = memcpy(list, session->grads, bytes);
    quern_status status = quern_adam(session->device->quern, &args, session->workspace_bytes ? session->workspace.data : NULL,
                                     session->workspace_bytes, session->device->stream);
    memset(list, 0xFF, bytes);
    return status;
}

void adam_session_write(struct adam_session *session, const struct adam_problem *problem, int arena) {
    buffer_write(&session->buffers[arena], problem->arena[arena]);
}

void adam_session_read(struct adam_session *session, struct adam_problem *problem) {
    for (int a = 0; a < ARENAS; a++)
        if (problem->arena[a]) memcpy(problem->arena[a], buffer_read(&session->buffers[a]), problem->bytes[a]);
}

void adam_session_close(struct adam_session *session) {
    device_synchronize(session->device);
    quern_adam_plan_destroy(session->plan);
    buffer_close(&session->workspace);
    for (int a = 0; a < ARENAS; a++)
        if (session->buffers[a].device) buffer_close(&session->buffers[a]);
    free(session->tensors);
    free(session->grads);
}

void adam_run(const struct test_device *device, struct adam_problem *problem) {
    struct adam_session session CLOSED_BY(adam_session_close);
    adam_session_open(&session, device, problem);
    check_ok(adam_session_step(&session));
    adam_session_read(&session, problem);
}

void adam_check_step(const struct test_device *device, struct adam_problem *problem, const char *what) {
    struct adam_problem expected CLOSED_BY(adam_free);
    adam_copy(&expected, problem);
    adam_model_step(&expected.args);
    adam_run(device, problem);
    adam_check_same(problem, &expected, what);
}

void adam_check_only_step(const struct test_device *device, const struct adam_problem *before, const char *what) {
    struct adam_problem after CLOSED_BY(adam_free);
    adam_copy(&after, before);
    adam_check_step(device, &after, what);
    adam_check_exact(before, &after, what);
}

void adam_check_steps(const struct test_device *device, struct adam_problem *problem, int64_t steps, const char *what) {
    struct adam_problem expected CLOSED_BY(adam_free);
    adam_copy(&expected, problem);
    OPEN_ADAM_SESSION(session, device, problem);
    for (int64_t step = 1; step <= steps; step++) {
        if (problem->args.step) session.args.step = expected.args.step = step;
        if (problem->args.step) session.args.lr = expected.args.lr = 0.01 * (double)step;
        check_ok(adam_session_step(&session));
        adam_model_step(&expected.args);
    }
    adam_session_read(&session, problem);
    adam_check_same(problem, &expected, what);
}
