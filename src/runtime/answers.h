/*
 * Known answers: before the kernels of an image are used on a GPU, one of them runs on a small problem whose results are known.  It
 * finds machine code that loads and computes rubbish, for instance of a driver that compiles PTX wrongly.
 *
 * One kernel of each image is asked, once on each device.  An operation describes its problem in a struct quern_known_answers.
 */
#ifndef QUERN_ANSWERS_H
#define QUERN_ANSWERS_H

#include "os/text.h"
#include "runtime/device.h"

/* One launch. */
struct quern_trial {
    char *memory;            /* what the launch reads and writes: a copy of it goes to the device and comes back */
    uint64_t address;        /* the memory on the device, a multiple of 256 */
    void *parameters;        /* room for the kernel's parameters, zeros */
    void *arguments[2];      /* set by `ask`: a pointer to each parameter of the kernel */
    unsigned blocks;         /* 1 unless `ask` sets it */
    unsigned shared_bytes;   /* dynamic shared memory of a block, 0 unless `ask` sets it */
};

struct quern_known_answers {
    size_t memory_bytes, parameter_bytes;  /* of a trial */

    /* Describes the launch of a kernel, and writes its inputs to the memory, which is filled with rubbish. */
    void (*ask)(const struct quern_kernel *kernel, struct quern_trial *trial);

    /* Compares the memory after the launch.  Returns whether a result is wrong; if so, appends which one. */
    bool (*is_wrong)(const struct quern_kernel *kernel, const char *memory, struct quern_text *why);
};

/* An array of results as a kernel stored them. */
struct quern_answer {
    const char *name;        /* in the reason */
    quern_dtype dtype;
    const void *values;
    const uint8_t *scales;   /* of a scaled type, else NULL */
    int count;               /* at most QUERN_MOST_ANSWERS */
    double tolerance;        /* relative to the expected value */
};

enum { QUERN_MOST_ANSWERS = 128 };

/* Whether a result differs from the expected one by more than the tolerance.  If so, appends the first such result. */
bool quern_answer_is_wrong(const struct quern_answer *answer, const double *expected, struct quern_text *why);

/*
 * Asks a kernel of each image that has not been asked before, of those that a list refers to, and refuses the images whose answers
 * are wrong or whose launch the driver refuses.  The device's context must be current, and its prepare_lock held.  Makes one
 * allocation on the device, one copy and one launch for each image, one copy back and one synchronisation of a stream of its own.
 * Errors: QUERN_OUT_OF_MEMORY; QUERN_CUDA_ERROR if the driver or a kernel fails in another way, after which the context may be
 * unusable.
 */
quern_status quern_check_answers(quern_device *device, const struct quern_cuda *cuda, unsigned operation,
                                 const struct quern_ready_list *list);

#endif
