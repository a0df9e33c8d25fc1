/* The end of a rank with transfers of GPU memory, within one host or over NCCL.  For the suites of transfers. */
#ifndef HARNESS_GPU_TRANSFER_H
#define HARNESS_GPU_TRANSFER_H

#include "harness/nccl_side.h"
#include "harness/transfer_pair.h"

/* Whose memory the items have: of cuMemAlloc, which other processes do not reach; symmetric; or both in turn. */
enum gpu_memory { GPU_PRIVATE, GPU_SYMMETRIC, GPU_MIXED };

/* A rank with its GPU and, unless all is private, symmetric memory, of which the items take pieces. */
struct gpu_end {
    struct nccl_side side;        /* first: nccl_put and nccl_get take an end, too */
    enum gpu_memory memory;
    char *arena;
    size_t used;
    unsigned made;                /* items */
    struct transfer_place place;  /* of the items */
};

enum { GPU_ARENA = 24 << 20 };

/* The GPUs are in another order than the ranks. */
void gpu_end_open(struct gpu_end *end, struct rank *rank, enum gpu_memory memory);
quern_status gpu_end_close(struct gpu_end *end);

/* A test whose ranks have an end with private memory. */
void gpu_end_begin(struct rank *rank, struct gpu_end *end);
void gpu_end_end(struct rank *rank, struct gpu_end *end);
#define TEST_GPU_END(...) TEST_WITH(struct gpu_end, end, gpu_end_begin, gpu_end_end, __VA_ARGS__)

/* With private memory, and an exchange with the other one of two ranks. */
struct gpu_pair {
    struct gpu_end end;
    struct transfer_pair pair;
};

void gpu_pair_begin(struct rank *rank, struct gpu_pair *gpu);
void gpu_pair_end(struct rank *rank, struct gpu_pair *gpu);
#define TEST_GPU_PAIR(...) TEST_WITH(struct gpu_pair, gpu, gpu_pair_begin, gpu_pair_end, __VA_ARGS__)

/* The stream goes on a little later: what starts before it has come there sends old bytes. */
void gpu_delay(void *end);

/* The stream goes on when the word is set. */
void gpu_hold(const struct gpu_end *end, CUstream stream, int *word);

/* Says a word with as many bytes of 1 as the frame says, or of none if it says more than a word can have: only the head of it. */
struct quern_conn;
struct quern_transfer_frame;
void gpu_say(struct quern_conn *conn, struct quern_transfer_frame frame);

/* The streams of the process that have the highest priority, as the emulated driver counts them. */
long gpu_urgent_streams(const struct gpu_end *end);

#endif
