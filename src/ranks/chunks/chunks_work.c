/* Casts and sends chunks on the threads of a CPU.  Called by chunks_host.c. */
#include "ranks/chunks/chunks.h"

#include "kernels/quantize_problem.h"
#include "os/integers.h"
#include "ranks/points.h"
#include "ranks/ragged/ragged.h"
#include "runtime/threads.h"

enum {
    GROUP = 256,      /* the cast of a tensor takes elements from a multiple of this on */
    PIECE = 1 << 16,  /* elements of a task */
    STEP = 1 << 13    /* elements that are cast, and then copied to the other outputs */
};

/* ---- the amax ---- */

struct search {
    const struct quern_chunks_call *call;
    float amax;  /* atomic, by the kernel */
};

static void find_in_piece(void *context, int64_t index) {
    struct search *search = context;
    const struct quern_chunks_call *call = search->call;
    const struct quern_quantize_piece piece = {.input = call->args.input, .amax = &search->amax};
    const int64_t first = index * PIECE;
    call->amax->kernel->cpu.any(&piece, first, quern_smaller(first + PIECE, call->elements));
}

float quern_chunks_find_amax(const struct quern_chunks_call *call) {
    struct search search = {.call = call};
    if (call->in_blocks) return 0;
    quern_run_tasks(call->member->device, quern_divide_up(call->elements, PIECE), find_in_piece, &search);
    return search.amax;
}

/* ---- a piece ---- */

/* Streaming stores are not ordered by the release that announces them. */
static void fence(void) {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}

/* Elements [first, end) of the input, as codes to output[first] and on; first is a multiple of GROUP. */
static void cast(const struct quern_chunks_work *work, void *output, int64_t first, int64_t end) {
    const quern_quantize_chunks_args *args = &work->call->args;
    const struct quern_quantize_piece piece = {
        .input = args->input,
        .output = output,
        .scale = work->scale,
        .stochastic = args->rounding == QUERN_ROUND_STOCHASTIC,
        .seed = {(uint32_t)args->seed, (uint32_t)(args->seed >> 32)},
        .offset = work->offset,
    };
    work->call->cast->kernel->cpu.any(&piece, first, end);
}

/* Of a group that begins before the chunk and has a part of its random numbers: its codes before the chunk are dropped. */
static void cast_head(const struct quern_chunks_work *work, int64_t first, int64_t end) {
    char codes[GROUP];
    const int64_t begin = first / GROUP * GROUP;
    cast(work, (void *)((uintptr_t)codes - (uintptr_t)begin), begin, end);
    quern_chunks_copy(work, work->output, codes + (first - begin), first, end);
}

/* A step goes into this rank's output, and from there, while it is in the cache, to the others. */
static void cast_steps(const struct quern_chunks_work *work, int64_t first, int64_t end) {
    char *output = work->output[work->call->place];
    for (int64_t next; first < end; first = next) {
        next = quern_smaller(first + STEP, end);
        cast(work, output, first, next);
        quern_chunks_copy(work, work->output, output + first, first, next);
    }
}

/* Pieces of a chunk begin at multiples of PIECE from the group on in which the chunk begins. */
static void cast_piece(const struct quern_chunks_work *work, struct quern_chunk chunk, int64_t piece) {
    const int64_t begin = chunk.first / GROUP * GROUP + piece * PIECE, end = quern_smaller(begin + PIECE, chunk.end);
    int64_t first = quern_larger(begin, chunk.first);
    if (first < end && first % GROUP) {
        const int64_t head = quern_smaller(begin + GROUP, end);
        cast_head(work, first, head);
        first = head;
    }
    cast_steps(work, first, end);
}

static void signal_chunk(const struct quern_chunks_work *work, int chunk) {
    QUERN_POINT(CHUNKS_SENT);
    for (int i = 0; i < work->call->places; i++) {
        __atomic_store_n(&work->ready[i][chunk], work->call->args.ready_value, __ATOMIC_RELEASE);
        QUERN_POINT(CHUNKS_SIGNALLED);
    }
}

/* If this rank is late, the others may have timed out and returned: then their memory must not be touched any more. */
static void run_piece(void *context, int64_t index) {
    struct quern_chunks_work *work = context;
    const int chunk = work->call->order[index / work->pieces];
    QUERN_POINT(CHUNKS_CASTING);
    if (__atomic_load_n(&work->call->member->segment->poison, __ATOMIC_RELAXED)) {
        __atomic_store_n(&work->is_stopped, true, __ATOMIC_RELAXED);
        return;
    }
    if (work->call->in_blocks) quern_chunks_cast_blocks(work, chunk, index % work->pieces);
    else cast_piece(work, quern_chunk_at(work->call, chunk), index % work->pieces);
    if (work->is_streaming) fence();
    if (__atomic_sub_fetch(&work->left[chunk], 1, __ATOMIC_ACQ_REL) == 0) signal_chunk(work, chunk);
}

/* ---- all of them ---- */

bool quern_chunks_send(struct quern_chunks_work *work) {
    const struct quern_chunks_call *call = work->call;
    work->pieces = call->in_blocks ? quern_chunks_pieces_of_blocks(call)
                                   : quern_larger(quern_divide_up(call->chunk_elements + GROUP - 1, PIECE), 1);
    work->is_streaming = quern_copies_are_large(call->member->device, call->places, call->output_bytes);
    work->is_stopped = false;
    for (int64_t chunk = 0; chunk < call->chunks; chunk++) work->left[chunk] = (uint32_t)work->pieces;
    quern_run_tasks(call->member->device, call->chunks * work->pieces, run_piece, work);
    return !__atomic_load_n(&work->is_stopped, __ATOMIC_RELAXED);
}
