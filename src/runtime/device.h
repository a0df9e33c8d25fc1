/* An open device, and the kernels that are ready on it.  For all code that runs on a device. */
#ifndef QUERN_DEVICE_H
#define QUERN_DEVICE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/kernel.h"
#include "runtime/cuda_driver.h"
#include "runtime/label.h"
#include "runtime/operation.h"
#include "runtime/unpack.h"

enum { QUERN_CLUSTER_SIZES = 5 };  /* 1 to 16 blocks */

/* A row that is ready to run on one device. */
struct quern_ready_kernel {
    const struct quern_kernel *kernel;
    CUfunction function;  /* CUDA only */
    unsigned resident;    /* of operations that count it: the number of blocks that run on the device at once */
    int cluster;          /* the most blocks of a cluster that have room on the device, at most kernel->cuda.cluster; 1: none has */
    int clusters[QUERN_CLUSTER_SIZES];  /* of 2^i blocks: how many run at once if each block has all shared memory */
    int place;            /* in the file of QUERN_PREFER, from 1 on; 0: it is not there */
    bool chosen_before;   /* its first use has been logged; atomic access */
};

/* The rows of one operation that a device can run, in the order of the table.  A published list never changes. */
struct quern_ready_list {
    struct quern_ready_list *retired;  /* the list that it replaced: kept, since another thread may still walk it */
    size_t count;
    bool has_places;          /* some rows are in the file of QUERN_PREFER */
    struct quern_ready_kernel kernels[];
};

/* One image loaded on one device. */
struct quern_loaded_image {
    struct quern_loaded_image *next;
    const struct quern_image *image;
    CUmodule module;
    struct quern_leftover *leftover;  /* for the module's end */
    bool is_checked;      /* one of its kernels has given the right answer */
};

/* One image that a device does not use.  A published record never changes. */
struct quern_refused_image {
    struct quern_refused_image *next;
    const struct quern_image *image;
    quern_status status;  /* of quern_prepare if no other image serves */
    char reason[256];
};

/* The threads of a CPU device: runtime/threads.c reads and changes them. */
struct quern_crew {
    int threads;
    bool follows_quota;       /* fewer work while the quota of processor time is less */
    quern_parallel_for hook;  /* NULL: the library's pool */
    void *user;
};

struct quern_device {
    char label[sizeof(struct quern_label)];  /* must be first: quern_label_of */
    quern_device_kind kind;
    int ordinal;
    char name[96];
    char kernel_glob[160];    /* the value of QUERN_KERNEL when the device was opened; empty: all rows */

    struct quern_preferred *preferred;  /* the rows of QUERN_PREFER's file when the device was opened; NULL: none */

    /* CPU */
    uint32_t cpu_features;
    uint32_t crew_changes;    /* atomic, like the crew: odd while one changes it */
    struct quern_crew crew;
    quern_device *next, *previous;  /* open CPU devices: the list of threads.c */

    /* CUDA */
    CUdevice cuda_device;
    CUuuid uuid;
    CUcontext context;
    int driver;               /* the CUDA version of the driver, 13000 for 13.0 */
    int compute_capability;
    int multiprocessors;
    int has_fabric;           /* its memory can have handles for other hosts of its NVLink fabric */
    int has_watchdog;         /* a display's: it ends kernels that run for about five seconds */
    int64_t shared_bytes;
    bool checks_answers;      /* QUERN_KNOWN_ANSWERS was not 0 when the device was opened */
    struct quern_loaded_image *images;
    struct quern_unpacked unpacked;  /* while quern_prepare runs */
    struct quern_refused_image *refused;  /* atomic access */

    int64_t step;             /* of training, from quern_step; atomic access, after has_step */
    bool has_step;
    bool has_told_of_m;       /* atomic access: src/adam has logged how m is rounded */
    struct quern_dump *dumps; /* of src/look, the last one first; atomic access */

    pthread_mutex_t prepare_lock;
    struct quern_ready_list *ready[QUERN_OPERATION_COUNT];  /* atomic access; NULL: not prepared */
};

_Static_assert(offsetof(struct quern_device, label) == 0, "the label must be the first member");

#endif
