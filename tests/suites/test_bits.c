/*
 * The bits of Adam and of quantisation by their hashes, which are the same for every CPU target of every architecture and for GPUs.
 * The other suites compare with a model, which the same compiler may change as it changes a kernel.
 *
 * The values come from no function of the C library, whose results differ between libraries.
 *
 * Runs on: cpu, every emulated, gpu; kernels of adam, quantize.
 */
#include "harness/adam_case.h"
#include "harness/quantize_case.h"
#include "harness/random.h"
#include "oracle/dtype.h"
#include "oracle/quantize.h"

static const int64_t counts[] = {1000, 37, 300};

static uint64_t fnv1a(uint64_t hash, const void *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return hash;
}

static const uint64_t start = 14695981039346656037u;

static double uniform(int kind, int64_t place, int64_t i) { return random_uniform((uint64_t)(7 * kind + place), (uint64_t)i); }

/* ---- Adam ---- */

#define NONE QUERN_NO_DTYPE
#define F32 QUERN_F32
#define F16 QUERN_F16
#define BF16 QUERN_BF16
#define E4M3 QUERN_E4M3
#define E5M2 QUERN_E5M2
#define REMAINDER QUERN_REMAINDER

static const struct {
    quern_dtype param, grad, m, v, master;
    bool full;
    uint64_t hash;
} steps[] = {
    {F32, F32, F32, F32, NONE, false, 0x9CC2E682C444A037},
    {BF16, BF16, BF16, BF16, NONE, false, 0x4FD94B9930551356},
    {BF16, BF16, BF16, BF16, F32, false, 0xF164DEE1B4EEDFF3},
    {BF16, BF16, BF16, BF16, REMAINDER, false, 0x96D32AA8AFF71623},
    {F16, F16, F32, F32, F32, false, 0x2D3C934CB8A1D918},
    {F32, F32, F32, F32, NONE, true, 0x2ADDFF8E52C6BB68},
    {BF16, BF16, F16, F16, REMAINDER, true, 0x5AF575ACA0073A33},
    {BF16, BF16, E4M3, E4M3, NONE, true, 0xD0172E2BCEA96695},
    {BF16, BF16, E5M2, E5M2, REMAINDER, true, 0xAE582DEB129D579},
};

/* Moments of a scaled type get codes. */
static void fill(struct adam_problem *problem, int arena, bool has_codes) {
    for (int64_t place = 0; place < (int64_t)COUNT(counts); place++)
        for (int64_t i = 0; problem->arena[arena] && i < counts[place]; i++) {
            const double u = uniform(arena, place, i), value = arena == ARENA_V || arena == ARENA_V_MAX ? u : 2 * u - 1;
            adam_set_value(problem, place, arena, i, has_codes ? floor(100 * u) : value);
        }
}

Test(bits, of_adam) {
    for (size_t k = 0; k < COUNT(steps); k++) {
        const struct quern_kernel *row = find_adam_row(steps[k].param, steps[k].grad, steps[k].m, steps[k].v, steps[k].master,
                                                       steps[k].full);
        const quern_adam_args args = adam_args_of(row);
        OPEN_ADAM(problem, &args, counts, COUNT(counts));
        OPEN_ROW(device, row);
        const bool m_has_codes = problem.arena[ARENA_M_SCALE] != NULL, v_has_codes = problem.arena[ARENA_V_SCALE] != NULL;
        fill(&problem, ARENA_PARAM, false), fill(&problem, ARENA_GRAD, false), fill(&problem, ARENA_MASTER, false);
        fill(&problem, ARENA_M, m_has_codes), fill(&problem, ARENA_V, v_has_codes), fill(&problem, ARENA_V_MAX, v_has_codes);
        adam_run(&device, &problem);
        uint64_t hash = start;
        for (int arena = 0; arena < ARENAS; arena++)
            if (problem.arena[arena] && arena != ARENA_CONTROL) hash = fnv1a(hash, problem.arena[arena], problem.bytes[arena]);
        check(hash == steps[k].hash, "step %zu has 0x%llX", k, (unsigned long long)hash);
    }
}

/* ---- quantisation ---- */

static const struct {
    quern_dtype input, output;
    uint64_t hash;
} casts[] = {
    {F32, E4M3, 0x9014D3F8BCEF2580},  {F32, E5M2, 0x94A7E0172C7B417F},  {F16, E4M3, 0x858E49FE762D9AAF},
    {F16, E5M2, 0x23E7971D688F6D6D},  {BF16, E4M3, 0x204B9FF7316C625B}, {BF16, E5M2, 0x2110707532294781},
};

/* To nearest and stochastically. */
static uint64_t hash_of_casts(const struct test_device *device, quern_dtype input, quern_dtype output) {
    uint64_t hash = start;
    for (int k = 0; k < 2; k++) {
        OPEN_QUANTIZE(q, device, input, output, counts, COUNT(counts), 0);
        for (int64_t place = 0; place < (int64_t)COUNT(counts); place++)
            for (int64_t i = 0; i < counts[place]; i++)
                dtype_store(input, (void *)q.tensors[place].input, i, ldexp(2 * uniform(0, place, i) - 1, (int)(5 * place) - 6));
        q.args.rounding = k ? QUERN_ROUND_STOCHASTIC : QUERN_ROUND_NEAREST, q.args.seed = 5;
        quantize_upload(&q, false);
        quantize_check_run(&q, "the model");   /* then the host has the bits of the device */
        for (int64_t place = 0; place < (int64_t)COUNT(counts); place++)
            hash = fnv1a(hash, q.tensors[place].output, (size_t)counts[place]);
        hash = fnv1a(fnv1a(hash, q.args.amax, sizeof(float[COUNT(counts)])), q.args.scale, sizeof(float[COUNT(counts)]));
    }
    return hash;
}

Test(bits, of_casts) {
    struct test_device device CLOSED_BY(device_close);
    quantize_device_open(&device);
    for (size_t k = 0; k < COUNT(casts); k++) {
        const uint64_t hash = hash_of_casts(&device, casts[k].input, casts[k].output);
        check(hash == casts[k].hash, "cast %zu has 0x%llX", k, (unsigned long long)hash);
    }
}
