/* The table of those who look at calls, and the call that this thread is in.  Called by every operation while somebody looks. */
#include "runtime/look.h"

#include "../generated/dtypes.h"

uint32_t quern_lookers_now;

static const struct quern_looker *lookers[QUERN_LOOKERS];  /* atomic */
static _Thread_local struct quern_look *current;

const struct quern_element quern_byte_element = {"U8", 1}, quern_int32_element = {"I32", 4}, quern_uint32_element = {"U32", 4},
                           quern_int64_element = {"I64", 8}, quern_float_element = {"F32", 4}, quern_double_element = {"F64", 8};

struct quern_element quern_element_of(quern_dtype dtype) {
    static const struct {
        quern_dtype dtype;
        struct quern_element element;
    } rows[] = {
#define ROW(number, constant, name, bits, exponent, has_infinity, is_float, is_scaled, element) {constant, {element, (bits) / 8}},
        QUERN_FOR_EACH_DTYPE(ROW)
        {QUERN_INT32, {"I32", 4}}, {QUERN_INT64, {"I64", 8}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].dtype == dtype) return rows[i].element;
    return (struct quern_element){"unknown dtype", 1};
}

void quern_enter_looker(enum quern_looker_place place, const struct quern_looker *looker) {
    __atomic_store_n(&lookers[place], looker, __ATOMIC_RELEASE);
}

/* Calls a function of each who has one. */
#define TELL(function, ...)                                                                             \
    for (int place = 0; place < QUERN_LOOKERS; place++) {                                               \
        const struct quern_looker *looker = __atomic_load_n(&lookers[place], __ATOMIC_ACQUIRE);         \
        if (looker && looker->function) looker->function(__VA_ARGS__);                                  \
    }

void quern_look_open(struct quern_look *look, const struct quern_view *view, quern_device *device, void *stream) {
    *look = (struct quern_look){.on = look->on, .view = view, .device = device, .stream = stream, .outer = current};
    current = look;
    TELL(begin, look)
}

void quern_look_show(struct quern_look *look, const void *args, const void *call) {
    look->args = args, look->call = call;
    TELL(show, look)
}

void quern_look_close(struct quern_look *look, quern_status status) {
    TELL(end, look, status)
    current = look->outer;
}

void quern_look_at_kernel(const struct quern_ready_kernel *ready) {
    struct quern_look *look = current;
    if (!look || look->kernel_count == QUERN_LOOKED_KERNELS) return;
    for (int i = 0; i < look->kernel_count; i++)
        if (look->kernels[i] == ready) return;
    look->kernels[look->kernel_count++] = ready;
}

void quern_look_waited(const struct quern_wait_seen *wait) { TELL(waited, wait) }

quern_status quern_look_step(quern_device *device, int64_t step) {
    quern_status status = QUERN_OK;
    for (int place = 0; place < QUERN_LOOKERS; place++) {
        const struct quern_looker *looker = __atomic_load_n(&lookers[place], __ATOMIC_ACQUIRE);
        const quern_status one = looker && looker->step ? looker->step(device, step) : QUERN_OK;
        if (status == QUERN_OK) status = one;
    }
    return status;
}

void quern_look_end_device(quern_device *device) { TELL(close, device) }

const struct quern_cuda *quern_look_into(const struct quern_cuda *cuda) {
    for (int place = 0; place < QUERN_LOOKERS; place++) {
        const struct quern_looker *looker = __atomic_load_n(&lookers[place], __ATOMIC_ACQUIRE);
        if (looker && looker->cuda) cuda = looker->cuda(cuda);
    }
    return cuda;
}

struct quern_look *quern_current_look(void) { return current; }
