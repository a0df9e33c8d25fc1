/*
 * A rank of a group and its memory for calls: two pools, what they must hold after a call, and a workspace with a guard behind it.
 * The ranks are of one host or of several, on CPUs or, over NCCL, on emulated GPUs, whose memory the host reads and writes while
 * nothing runs; or all ranks of a group of GPUs, which one thread drives (gpu_bench.h), and which have images in the host's memory.
 */
#ifndef HARNESS_RANK_BENCH_H
#define HARNESS_RANK_BENCH_H

#include "harness/nccl_side.h"

/* The position of a buffer in one of a rank's two pools. */
enum rank_pool { POOL_PRIVATE, POOL_SYMMETRIC, POOLS };

enum { POOL_GAP = 192 };  /* bytes around each buffer that must stay unchanged */
enum { BENCH_POOL = 4 << 20 };  /* of TEST_BENCH */

struct rank_bench {
    struct rank *rank;
    quern_group *group;
    int count;                        /* of the ranks that one thread drives, in an array that begins here: 1, or all of a group */
    int64_t pool_bytes;               /* of each of these, and of the workspace */
    unsigned char *pool[POOLS], *expected[POOLS];
    unsigned char *image[POOLS];      /* the pools as the host sees them: themselves, or copies */
    void *workspace, *stream;         /* no workspace: no call may need one */
    char *metadata;                   /* of a rank on a GPU: its memory for that of ragged all-to-alls, as much as the workspace */
    struct nccl_side side;            /* of a rank over NCCL */
    bool captures;                    /* there: each collective and each run of a plan is captured, and its graph launched once */
    struct gpu_bench *all;            /* of a rank with images: what it is of */

    long long (*reductions)(void);    /* how often the switch of its GPUs has added so far; NULL: there is none */

    /* Of a rank with images: waits for its stream, and copies to the device, or from it.  NULL: the host sees its memory. */
    void (*move)(const struct rank_bench *bench, void *on_device, void *on_host, int64_t bytes, bool to_device);
};

/* Each of the ranks that the calling thread drives. */
#define EACH_BENCH(one, first) (__typeof__(&*(first)) one = (first); one < (first) + (first)->count; one++)

/* Collective; the first in a group of the caller's, which it owns from here on. */
void rank_bench_take(struct rank_bench *bench, struct rank *rank, quern_group *group, int64_t pool_bytes);
void rank_bench_open(struct rank_bench *bench, struct rank *rank, double timeout, int64_t pool_bytes);
void rank_bench_close(struct rank_bench *bench);
quern_status rank_bench_destroy(struct rank_bench *bench);  /* the same with the status of the group's end */

/* A test whose ranks have a bench. */
void rank_bench_begin(struct rank *rank, struct rank_bench *bench);
void rank_bench_end(struct rank *rank, struct rank_bench *bench);
#define TEST_BENCH(...) TEST_WITH(struct rank_bench, bench, rank_bench_begin, rank_bench_end, __VA_ARGS__)
#define TEST_BENCH_FOR(...) TEST_WITH_FOR(struct rank_bench, bench, rank_bench_begin, rank_bench_end, __VA_ARGS__)

/* The images, or a part of one, as the devices get them, and as they have them when the rank's stream has come so far. */
void rank_bench_show(const struct rank_bench *bench, int64_t bytes);
void rank_bench_look(const struct rank_bench *bench, int64_t bytes);
void rank_bench_put(const struct rank_bench *bench, const void *pointer, int64_t bytes);
void *rank_bench_seen(const struct rank_bench *bench, const void *pointer, int64_t bytes);
void *rank_bench_image(const struct rank_bench *bench, const void *pointer);  /* alone */
void rank_bench_write(const struct rank_bench *bench, void *to, const void *from, int64_t bytes);  /* other memory */

/* The status of a call when it is over: what it has returned, or what the group then has, if kernels may have found a mistake. */
quern_status rank_bench_status(const struct rank_bench *bench, quern_status returned);

/* Around such a call; does nothing if the bench does not capture. */
void rank_bench_begin_graph(const struct rank_bench *bench);
void rank_bench_run_graph(const struct rank_bench *bench);

/* Over NCCL: all ranks have filled their memory; the call of this one is over, and that of all. */
void rank_bench_line_up(const struct rank_bench *bench);
void rank_bench_wait(const struct rank_bench *bench);
void rank_bench_wait_for_all(const struct rank_bench *bench);

/* Bytes of a pool, from an offset on, whose values reveal any that lands in a wrong place. */
void rank_bench_fill(uint64_t salt, int64_t offset, unsigned char *to, int64_t bytes);

/* Whether the pools hold what is expected; if not, which byte does not, in words. */
bool rank_bench_is_right(const struct rank_bench *bench, int64_t bytes, char text[80]);

/* A pattern right behind the bytes of a workspace that a call is given, which must stay unchanged. */
void rank_bench_guard(const struct rank_bench *bench, size_t bytes);
void rank_bench_check(const struct rank_bench *bench, size_t bytes);

extern const char *const rank_pool_names[POOLS];

#endif
