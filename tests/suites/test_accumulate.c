/*
 * The accumulation of gradients, bit for bit: lists and plans, sums that are overwritten, groups without tokens.
 *
 * Runs on: cpu, every emulated, gpu; kernels of adam.
 */
#include <fenv.h>
#include <math.h>

#include "harness/check.h"
#include "harness/cuda.h"
#include "harness/gradient_case.h"
#include "harness/random.h"
#include "oracle/dtype.h"
#include "oracle/gradients.h"

/* ---- calls ---- */

/* Every type of gradients and sums, with all kernels of the target. */
static void for_each_types(void (*body)(const struct test_device *device, quern_dtype dtype, quern_dtype main_dtype)) {
    static const quern_dtype grads[] = {QUERN_F32, QUERN_F16, QUERN_BF16}, mains[] = {QUERN_F32, QUERN_BF16};
    OPEN_PREPARED(device, QUERN_ADAM);
    for (size_t i = 0; i < COUNT(grads) * COUNT(mains); i++) body(&device, grads[i / COUNT(mains)], mains[i % COUNT(mains)]);
}
#define TEST_TYPES(suite, name) \
    TEST_EACH(for_each_types, suite, name, const struct test_device *device, quern_dtype dtype, quern_dtype main_dtype)

/* The flags and counts of a list.  Empty: not used. */
struct control {
    int32_t *flags;         /* [tensors] or NULL */
    int64_t *counts;        /* [groups] or NULL */
    int64_t groups;
    int32_t *places;        /* [tensors] or NULL */
};

static quern_accumulate_args args_of(const struct gradients *g, const struct control *control) {
    quern_accumulate_args args = QUERN_ACCUMULATE_ARGS_INIT;
    check(args.scale == 1 && args.main_dtype == QUERN_F32, "other defaults");
    args.grad_dtype = g->dtype, args.main_dtype = g->main_dtype;
    args.gradients = g->host, args.gradient_count = g->tensors;
    args.overwrite_flags = control->flags, args.token_counts = control->counts;
    args.group_count = control->groups, args.token_places = control->places;
    return args;
}

/* The same call on a device whose memory has the flags and counts.  A count of 0 lies before those of the groups. */
struct session {
    struct gradients *g;
    quern_accumulate_args args;
    quern_accumulate_plan *plan;
    struct buffer flags, counts;
    void **grads;           /* NULL: those of the list or plan */
};

enum form { LISTED, PLANNED, PLANNED_WITH_GRADS, FORMS };

static void session_write(struct session *session, const int32_t *flags, const int64_t *counts) {
    const size_t bytes = session->counts.bytes - sizeof *counts;
    int64_t *image = calloc(1, session->counts.bytes);
    check(image, "no memory");
    if (flags) buffer_write(&session->flags, flags);
    if (counts) memcpy(image + 1, counts, bytes), buffer_write(&session->counts, image);
    free(image);
}

/* A plan whose gradients are gone, and lay as those of the calls do. */
static void plan_without_grads(struct session *session) {
    const struct gradients *g = session->g;
    quern_gradient *list = malloc((size_t)g->tensors * sizeof *list + 1);
    struct buffer gone;
    session->grads = malloc((size_t)g->tensors * sizeof *session->grads + 1);
    check(list && session->grads, "no memory");
    buffer_open(&gone, g->device, g->grad_bytes, 0, NULL);
    for (int64_t i = 0; i < g->tensors; i++) {
        char *grad = g->on_device[i].grad;
        list[i] = g->on_device[i];
        session->grads[i] = list[i].count ? grad : (void *)1;  /* that of an empty item is ignored */
        if (list[i].count) list[i].grad = (char *)gone.data + (grad - (char *)g->grad_buffer.data);
    }
    session->args.gradients = list;
    check_ok(quern_accumulate_plan_create(g->device->quern, &session->args, &session->plan));
    buffer_close(&gone);
    free(list);
}

static void session_open(struct session *session, struct gradients *g, const quern_accumulate_args *on_host, enum form form) {
    *session = (struct session){.g = g, .args = *on_host};
    quern_accumulate_args *args = &session->args;
    args->gradients = g->on_device;
    buffer_open(&session->flags, g->device, (size_t)g->tensors * sizeof(int32_t), 4, NULL);
    buffer_open(&session->counts, g->device, (size_t)(on_host->group_count + 1) * sizeof(int64_t), 8, NULL);
    session_write(session, on_host->overwrite_flags, on_host->token_counts);
    if (on_host->overwrite_flags) args->overwrite_flags = session->flags.data;
    if (on_host->token_counts) args->token_counts = (int64_t *)session->counts.data + 1;
    if (form == LISTED) return;
    if (form == PLANNED_WITH_GRADS) plan_without_grads(session);
    else check_ok(quern_accumulate_plan_create(g->device->quern, args, &session->plan));
    args->gradients = NULL, args->token_places = NULL, args->gradient_count = args->group_count = -1;
    args->plan = session->plan;
}

/* The addresses are read before the call returns: they are overwritten afterwards. */
static void session_run(struct session *session) {
    const size_t bytes = session->grads ? (size_t)session->g->tensors * sizeof *session->grads : 0;
    quern_accumulate_args args = session->args;
    void **grads = malloc(bytes + 1);
    check(grads, "no memory");
    if (session->grads) args.grads = memcpy(grads, session->grads, bytes);
    check_ok(quern_accumulate(session->g->device->quern, &args, session->g->device->stream));
    memset(grads, 0xff, bytes);
    free(grads);
}

static void session_close(struct session *session) {
    buffer_close(&session->flags);
    buffer_close(&session->counts);
    quern_accumulate_plan_destroy(session->plan);
    free(session->grads);
}

/* One call against the oracle, with a list or a plan. */
static void check_sum(struct gradients *g, const quern_accumulate_args *args, enum form form, const char *what) {
    struct session session;
    gradients_upload(g);
    session_open(&session, g, args, form);
    session_run(&session);
    accumulate_model(args);
    gradients_check(g, what);
    session_close(&session);
    gradients_close(g);
}

/* ---- sizes and values ---- */

TEST_TYPES(accumulate, any_shape) {
    enum { MANY = 2500 };
    static int64_t sizes[258], many[MANY];
    const int64_t longs[] = {test_size(70001, 5000), 0, 2048, 2049, 1, 0};
    for (int i = 0; i < 258; i++) sizes[i] = i;
    for (int i = 0; i < MANY; i++) many[i] = i % 3;
    const struct {
        const int64_t *counts;
        int64_t tensors;
    } lists[] = {{sizes, 258}, {longs, COUNT(longs)}, {many, MANY}, {longs, 0}, {longs + 5, 1}};
    static const double scales[] = {1, -0.3, 1.0 / 8, 0};
    for (size_t i = 0; i < COUNT(lists) * 4; i++) {
        struct gradients g;
        gradients_open(&g, device, dtype, main_dtype, lists[i / 4].counts, lists[i / 4].tensors);
        quern_accumulate_args args = args_of(&g, &(struct control){0});
        args.scale = scales[(i + i / 4) % COUNT(scales)], args.zero_grads = i % 2, args.overwrite = i / 2 % 2;
        check_sum(&g, &args, (enum form)((i + i / 4) % FORMS), quern_dtype_name(dtype));
    }
}

/*
 * One rounding, and in bf16 a second one, to nearest even: NaN, infinities, cancellation, ties, tiny values; each affects its own
 * element only.
 */
TEST_TYPES(accumulate, special_values) {
    static const double values[] = {(double)NAN, (double)INFINITY, (double)-INFINITY, 0, -0.0, 0x1.FEp127, -0x1.FEp127, 1, -1,
                                    0x1p-24, -0x1p-24, 0x1p-149, 0x1p-133, 65504, 1e-30, 3, 0x1p-8, 0x1.02p0, 0x1.04p0};
    static const int64_t counts[] = {COUNT(values) * COUNT(values)};
    static const double scales[] = {1, 0.1, 3e38, -1};
    for (size_t k = 0; k < COUNT(scales) * 2; k++) {
        struct gradients g;
        gradients_open(&g, device, dtype, main_dtype, counts, 1);
        for (size_t i = 0; i < COUNT(values) * COUNT(values); i++) {
            dtype_store(dtype, g.host[0].grad, (int64_t)i, values[i % COUNT(values)]);
            dtype_store(main_dtype, g.host[0].main_grad, (int64_t)i, values[i / COUNT(values)]);
        }
        quern_accumulate_args args = args_of(&g, &(struct control){0});
        args.scale = scales[k / 2], args.zero_grads = k / 2 == 1, args.overwrite = k % 2;
        check_sum(&g, &args, LISTED, quern_dtype_name(dtype));
    }
}

/*
 * A thousand 16-bit gradients of 1 add up to 1000 in fp32; their own type stops at 256.  The nearest fp32 to the scale is 1, also
 * for an engine that rounds upward.
 */
TEST_TYPES(accumulate, sums_of_fp32_do_not_stall) {
    static const int64_t counts[] = {100};
    struct gradients g;
    struct session session;
    if (dtype != QUERN_BF16) return;
    gradients_open(&g, device, dtype, main_dtype, counts, 1);
    for (int64_t i = 0; i < counts[0]; i++) {
        dtype_store(dtype, g.host[0].grad, i, 1);
        dtype_store(main_dtype, g.host[0].main_grad, i, 0);
    }
    gradients_upload(&g);
    quern_accumulate_args args = args_of(&g, &(struct control){0});
    args.scale = 1 + 0x1p-30;
    session_open(&session, &g, &args, PLANNED);
    if (main_dtype == QUERN_F32) fesetround(FE_UPWARD);
    for (int64_t i = 0; i < 1000; i++) session_run(&session);
    fesetround(FE_TONEAREST);
    for (int64_t i = 0; i < counts[0]; i++)
        dtype_store(main_dtype, g.host[0].main_grad, i, main_dtype == QUERN_F32 ? 1000 : 256);
    gradients_check(&g, "a thousand ones");
    session_close(&session);
    gradients_close(&g);
}

/* ---- overwriting, and groups without tokens ---- */

/* More tensors than a launch takes, with a few that have several tiles. */
enum { LIST = 2000 };

static const int64_t *list_counts(void) {
    static int64_t counts[LIST];
    for (int64_t i = 0; i < LIST; i++) counts[i] = i % 401 == 7 ? 4100 + i % 5 : i % 9;
    return counts;
}

static void fill_with_nan(quern_dtype dtype, void *array, int64_t count) {
    for (int64_t i = 0; i < count; i++) dtype_store(dtype, array, i, (double)NAN);
}

/* What is overwritten is not read: it may be NaN. */
TEST_TYPES(accumulate, an_overwritten_sum_is_not_read) {
    static int32_t flags[LIST];
    for (int with_flags = 0; with_flags < 2; with_flags++) {
        struct gradients g;
        gradients_open(&g, device, dtype, main_dtype, list_counts(), LIST);
        for (int64_t i = 0; i < LIST; i++) {
            flags[i] = !with_flags ? 1 : i % 7 == 0 ? 256 : i % 7 == 3 ? INT32_MIN : i % 7 == 4 ? 1 : 0;
            if (flags[i]) fill_with_nan(main_dtype, g.host[i].main_grad, g.host[i].count);
        }
        quern_accumulate_args args = args_of(&g, &(struct control){.flags = with_flags ? flags : NULL});
        args.overwrite = with_flags ? 12345 : 1;  /* the flags replace it */
        args.scale = 0.7;
        check_sum(&g, &args, with_flags ? PLANNED_WITH_GRADS : LISTED, quern_dtype_name(dtype));
    }
}

/* Several tensors share a group, in any order; some have none. */
enum { GROUPS = 300 };

static void fill_groups(int64_t *counts, int32_t *places) {
    static const int64_t tokens[] = {3, 0, 1, -1, INT64_MAX, INT64_MIN, (int64_t)1 << 32, 0};
    for (int64_t i = 0; i < GROUPS; i++) counts[i] = tokens[i % (int64_t)COUNT(tokens)];
    for (int64_t i = 0; i < LIST; i++) places[i] = i % 11 == 5 ? -1 : (int32_t)(i * 37 % GROUPS);
}

static bool is_empty(const struct control *control, int64_t place) {
    const int64_t group = control->places ? control->places[place] : place;
    return group >= 0 && control->counts[group] <= 0;
}

/* The gradient of a group without tokens is NaN and stays so; its sum keeps its bytes or, if it is overwritten, becomes +0. */
TEST_TYPES(accumulate, groups_without_tokens_are_left_alone) {
    static int64_t counts[LIST];
    static int32_t places[LIST], flags[LIST];
    for (int k = 0; k < 4; k++) {
        struct control control = {.flags = k % 2 ? flags : NULL, .counts = counts, .groups = GROUPS, .places = places};
        struct gradients g;
        gradients_open(&g, device, dtype, main_dtype, list_counts(), LIST);
        fill_groups(counts, places);
        if (k == 3) {
            for (int64_t i = 0; i < LIST; i++) counts[i] = i % 3 - 1;
            control.places = NULL, control.groups = LIST;
        }
        for (int64_t i = 0; i < LIST; i++) {
            flags[i] = i % 5 < 2;  /* a launch has no multiple of five gradients */
            if (is_empty(&control, i)) fill_with_nan(dtype, g.host[i].grad, g.host[i].count);
            if (is_empty(&control, i) && i % 4 < 2) fill_with_nan(main_dtype, g.host[i].main_grad, g.host[i].count);
        }
        quern_accumulate_args args = args_of(&g, &control);
        args.zero_grads = k / 2, args.overwrite = k == 2;
        check_sum(&g, &args, k == 0 ? PLANNED : k == 3 ? PLANNED_WITH_GRADS : LISTED, quern_dtype_name(dtype));
    }
}

/* ---- plans ---- */

/* A plan has its own copy of the list and needs one launch; later calls may have other flags, counts and scales. */
TEST_TYPES(accumulate, a_plan_is_one_launch_with_its_own_list) {
    static int64_t counts[GROUPS];
    static int32_t places[LIST], flags[LIST];
    OPEN_GRADIENTS(g, device, dtype, main_dtype, list_counts(), LIST);
    struct session session CLOSED_BY(session_close);
    gradients_upload(&g);
    fill_groups(counts, places);
    quern_accumulate_args args = args_of(&g, &(struct control){flags, counts, GROUPS, places});
    session_open(&session, &g, &args, PLANNED);
    memset(g.on_device, 0xff, (size_t)LIST * sizeof *g.on_device);
    for (int call = 0; call < 3; call++) {
        for (int64_t i = 0; i < LIST; i++) flags[i] = (i + call) % 3 == 0;
        for (int64_t i = 0; i < GROUPS; i++) counts[i] = (i + call) % 4;
        session_write(&session, flags, counts);
        session.args.scale = args.scale = 1.0 / (1 + call);
        const long long before = device_launches(device);
        session_run(&session);
        check(before < 0 || device_launches(device) == before + 1, "%lld launches", device_launches(device) - before);
        accumulate_model(&args);
        gradients_check(&g, "a plan");
    }
    session.args.token_counts = NULL, session.args.overwrite_flags = NULL;  /* the same plan without them */
    session_run(&session);
    args.token_counts = NULL, args.overwrite_flags = NULL;
    accumulate_model(&args);
    gradients_check(&g, "a plan without counts");
}

/* A captured call reads new flags and counts in each replay, with a list too.  A CPU is called each time. */
TEST_TYPES(accumulate, flags_and_counts_change_from_replay_to_replay) {
    enum { GLOBAL = 0, TENSORS = 5 };
    static const int64_t sizes[TENSORS] = {300, 2100, 0, 33, 1};
    for (enum form form = LISTED; form < FORMS; form++) {
        int32_t flags[TENSORS] = {0};
        int64_t counts[TENSORS] = {1, 1, 1, 1, 1};
        OPEN_GRADIENTS(g, device, dtype, main_dtype, sizes, TENSORS);
        struct session session CLOSED_BY(session_close);
        void *graph, *executable = NULL;
        gradients_upload(&g);
        const quern_accumulate_args args = args_of(&g, &(struct control){flags, counts, TENSORS, NULL});
        session_open(&session, &g, &args, form);
        if (device->kind == QUERN_CUDA) {
            CUDA(cuStreamBeginCapture_v2(device->stream, GLOBAL));
            session_run(&session);
            CUDA(cuStreamEndCapture(device->stream, &graph));
            CUDA(cuGraphInstantiateWithFlags(&executable, graph, 0));
            CUDA(cuGraphDestroy(graph));
        }
        for (int replay = 0; replay < 6; replay++) {
            for (int i = 0; i < TENSORS; i++) flags[i] = (i + replay) % 3 == 0, counts[i] = (i + replay) % 4 - 1;
            session_write(&session, flags, counts);
            if (executable) CUDA(cuGraphLaunch(executable, device->stream));
            else session_run(&session);
            accumulate_model(&args);
            gradients_check(&g, "a replay");
        }
        if (executable) CUDA(cuGraphExecDestroy(executable));
    }
}

/* ---- a mixture of experts ---- */

/*
 * As MCore accumulates the gradients of grouped products: 64 experts with two weights each, whose sums lie in one buffer that all
 * micro-batches share.  A product writes the gradients of experts with tokens only; the others hold what was there before, here
 * NaN.  The first micro-batch of a step overwrites the sums.  The second one computes its gradients on another stream at the same
 * time, and waits for the sums of the first by an event.
 */
enum { EXPERTS = 64, WEIGHTS = 2 * EXPERTS, MICRO_BATCHES = 2 };

struct mixture {
    const struct test_device *device;
    quern_dtype dtype, main_dtype;
    int64_t sizes[WEIGHTS], starts[WEIGHTS], elements;
    int32_t places[WEIGHTS];
    struct buffer sums, grads[MICRO_BATCHES], counts[MICRO_BATCHES];
    quern_gradient on_device[MICRO_BATCHES][WEIGHTS];
    int64_t tokens[MICRO_BATCHES][EXPERTS];
    unsigned char *batches[MICRO_BATCHES], *oracle, *dense;   /* on the host */
    quern_accumulate_plan *plans[MICRO_BATCHES];
    void *streams[MICRO_BATCHES], *event;
};

static void size_mixture(struct mixture *m) {
    const int64_t sizes[2] = {test_size(96 * 40, 90), test_size(40 * 48, 2 * 37)};
    m->elements = 0;
    for (int i = 0; i < WEIGHTS; i++) {
        m->sizes[i] = i == 6 ? 2048 + 5 : sizes[i % 2];
        m->starts[i] = m->elements, m->elements += (m->sizes[i] + 63) / 64 * 64;
        m->places[i] = i / 2;
    }
}

/* Without a plan a pointer to host memory serves the oracle. */
static void list_mixture(const struct mixture *m, void *grads, void *sums, quern_gradient *list) {
    for (int i = 0; i < WEIGHTS; i++)
        list[i] = (quern_gradient){(char *)grads + (size_t)m->starts[i] * quern_dtype_bytes(m->dtype),
                                   (char *)sums + (size_t)m->starts[i] * quern_dtype_bytes(m->main_dtype), m->sizes[i]};
}

static quern_accumulate_args args_of_mixture(const struct mixture *m, int micro_batch) {
    quern_accumulate_args args = QUERN_ACCUMULATE_ARGS_INIT;
    args.grad_dtype = m->dtype, args.main_dtype = m->main_dtype, args.gradient_count = WEIGHTS, args.group_count = EXPERTS;
    args.token_places = m->places, args.scale = 0.5, args.overwrite = micro_batch == 0;
    return args;
}

static void open_mixture(struct mixture *m, const struct test_device *device, quern_dtype dtype, quern_dtype main_dtype) {
    *m = (struct mixture){.device = device, .dtype = dtype, .main_dtype = main_dtype};
    size_mixture(m);
    const size_t grad_bytes = (size_t)m->elements * quern_dtype_bytes(dtype);
    const size_t main_bytes = (size_t)m->elements * quern_dtype_bytes(main_dtype);
    m->oracle = malloc(main_bytes), m->dense = malloc(main_bytes);
    check(m->oracle && m->dense, "no memory");
    fill_pattern(m->oracle, main_bytes), fill_pattern(m->dense, main_bytes);
    buffer_open(&m->sums, device, main_bytes, 0, NULL);
    for (int k = 0; k < MICRO_BATCHES; k++) {
        m->batches[k] = malloc(grad_bytes);
        check(m->batches[k], "no memory");
        buffer_open(&m->grads[k], device, grad_bytes, 0, NULL);
        buffer_open(&m->counts[k], device, sizeof m->tokens[k], 0, NULL);
        list_mixture(m, m->grads[k].data, m->sums.data, m->on_device[k]);
        quern_accumulate_args args = args_of_mixture(m, k);
        args.gradients = m->on_device[k];
        check_ok(quern_accumulate_plan_create(device->quern, &args, &m->plans[k]));
        m->streams[k] = device->stream;
    }
    if (device->kind == QUERN_CUDA) CUDA(cuStreamCreate(&m->streams[1], 1)), CUDA(cuEventCreate(&m->event, 2));
}

static void close_mixture(struct mixture *m) {
    if (m->event) CUDA(cuStreamDestroy_v2(m->streams[1])), CUDA(cuEventDestroy_v2(m->event));
    for (int k = 0; k < MICRO_BATCHES; k++) {
        quern_accumulate_plan_destroy(m->plans[k]);
        buffer_close(&m->grads[k]), buffer_close(&m->counts[k]);
        free(m->batches[k]);
    }
    buffer_close(&m->sums);
    free(m->oracle), free(m->dense);
}

/* In each step experts are empty in neither, either or both micro-batches. */
static void route(struct mixture *m, int step) {
    for (int k = 0; k < MICRO_BATCHES; k++)
        for (int e = 0; e < EXPERTS; e++) {
            const int kind = (e + step) % 5;
            const bool empty = kind == 4 || (kind == 2 && k == 0) || (kind == 3 && k == 1);
            m->tokens[k][e] = empty ? 0 : 1 + random_below((uint64_t)(step * 2 + k), (uint64_t)e, 500);
        }
}

/* The grouped product: experts without tokens keep NaN. */
static void multiply(struct mixture *m, int step, int k) {
    fill_pattern(m->batches[k], (size_t)m->elements * quern_dtype_bytes(m->dtype));
    for (int i = 0; i < WEIGHTS; i++)
        for (int64_t j = 0; j < m->sizes[i] && m->tokens[k][i / 2]; j++) {
            const double value = random_normal((uint64_t)(1000 * step + 500 * k + i), (uint64_t)j);
            dtype_store(m->dtype, m->batches[k], m->starts[i] + j, value);
        }
}

/* Moves a micro-batch to the device in the order of its stream. */
static void send(const struct mixture *m, int k) {
    const size_t bytes = (size_t)m->elements * quern_dtype_bytes(m->dtype);
    if (!m->event) {
        memcpy(m->grads[k].data, m->batches[k], bytes), memcpy(m->counts[k].data, m->tokens[k], sizeof m->tokens[k]);
        return;
    }
    CUDA(cuMemcpyHtoDAsync_v2((cuda_pointer)(uintptr_t)m->grads[k].data, m->batches[k], bytes, m->streams[k]));
    CUDA(cuMemcpyHtoDAsync_v2((cuda_pointer)(uintptr_t)m->counts[k].data, m->tokens[k], sizeof m->tokens[k], m->streams[k]));
}

static void accumulate_batch(const struct mixture *m, int k) {
    quern_accumulate_args args = args_of_mixture(m, k);
    args.gradient_count = args.group_count = 0, args.token_places = NULL;
    args.plan = m->plans[k], args.token_counts = m->counts[k].data;
    check_ok(quern_accumulate(m->device->quern, &args, m->streams[k]));
}

/* The sums of a step: by the oracle, and by a loop over experts that knows no flags and skips those without tokens. */
static void expect(struct mixture *m) {
    quern_gradient list[WEIGHTS];
    for (int i = 0; i < WEIGHTS; i++)
        for (int64_t j = 0; j < m->sizes[i]; j++) dtype_store(m->main_dtype, m->dense, m->starts[i] + j, 0);
    for (int k = 0; k < MICRO_BATCHES; k++) {
        quern_accumulate_args args = args_of_mixture(m, k);
        list_mixture(m, m->batches[k], m->oracle, list);
        args.gradients = list, args.token_counts = m->tokens[k];
        accumulate_model(&args);
        list_mixture(m, m->batches[k], m->dense, list);
        for (int i = 0; i < WEIGHTS; i++) {
            quern_accumulate_args one = QUERN_ACCUMULATE_ARGS_INIT;
            one.grad_dtype = m->dtype, one.main_dtype = m->main_dtype, one.gradients = &list[i], one.gradient_count = 1;
            one.scale = args.scale;
            if (m->tokens[k][i / 2]) accumulate_model(&one);
        }
    }
}

TEST_TYPES(accumulate, a_mixture_of_experts_in_two_micro_batches) {
    struct mixture m;
    if (dtype == QUERN_F16) return;
    open_mixture(&m, device, dtype, main_dtype);
    for (int step = 0; step < 3; step++) {
        route(&m, step);
        for (int k = 0; k < MICRO_BATCHES; k++) multiply(&m, step, k);
        send(&m, 0);
        accumulate_batch(&m, 0);
        if (m.event) CUDA(cuEventRecord(m.event, m.streams[0]));
        send(&m, 1);
        if (m.event) CUDA(cuStreamWaitEvent(m.streams[1], m.event, 0));
        accumulate_batch(&m, 1);
        if (m.event) CUDA(cuStreamSynchronize(m.streams[1]));
        expect(&m);
        const void *got = buffer_read(&m.sums);
        const size_t bytes = (size_t)m.elements * quern_dtype_bytes(main_dtype);
        check(!memcmp(got, m.oracle, bytes), "step %d: not the sums of the oracle", step);
        check(!memcmp(got, m.dense, bytes), "step %d: not the sums of a loop over experts", step);
    }
    close_mixture(&m);
}
