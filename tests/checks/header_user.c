/*
 * Uses every macro of quern.h and calls every initialiser, in C99 and later and in C++11 and later.  Compiled by header.py with all
 * warnings as errors, and never linked.
 */
#include "quern.h"

#include "../../generated/structs.h"

#if QUERN_VERSION < 1
#error "QUERN_VERSION cannot be compared by the preprocessor"
#endif

/* Macros at file scope, in members of a struct, nested and in an array. */
struct engine {
    int layers;
    quern_adam_args adam;
    quern_linear_cross_entropy_args head;
};

#define STATIC(type, initialiser) static const type static_##type = initialiser;
QUERN_FOR_EACH_STRUCT(STATIC)
static const struct engine engine = {12, QUERN_ADAM_ARGS_INIT, QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT};

/* In C++ from 2014 on the macros are constants. */
#if defined(__cplusplus) && __cplusplus >= 201402L
constexpr quern_linear_cross_entropy_args constant = QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
static_assert(constant.loss.ignore_index == -100, "the macro's value");
#endif

uint64_t quern_header_user(void);

uint64_t quern_header_user(void) {
    const int64_t rows = 8192, vocab = 50257, workspace = QUERN_CPU_WORKSPACE(rows, vocab, 4);
    quern_group_args ranks[2] = {QUERN_GROUP_ARGS_INIT, QUERN_GROUP_ARGS_INIT};
    uint64_t sizes = engine.adam.size + engine.head.loss.size + ranks[1].size + QUERN_STRUCT_MARK +
                     QUERN_STRUCT_SIZE(quern_gemm_args);
#define USE(type, initialiser)                      \
    {                                               \
        type one = initialiser;                     \
        type##_init(&one);                          \
        sizes += one.size + static_##type.size;     \
    }
    QUERN_FOR_EACH_STRUCT(USE)
    quern_group_args_init(ranks);
    return workspace > 0 ? sizes : 0;
}
