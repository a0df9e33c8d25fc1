/*
 * Two ranks, each a thread, cast their rows to E4M3 with one scale and gather them in chunks.  Another thread of each rank adds up the
 * chunks as they come, in place of a matrix product.
 *
 *   cc quantized_chunks.c $(pkg-config --cflags --libs quern) -lm -o quantized_chunks
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <quern.h>

enum { RANKS = 2, ROWS = 8, COLUMNS = 32, CHUNK_ROWS = 2, CHUNKS = ROWS / CHUNK_ROWS, CALL = 1 };

struct rank {
    int number;
    quern_group *group;
    uint8_t *codes;                                      /* [RANKS, ROWS, COLUMNS] */
    uint32_t *ready;                                     /* [RANKS, CHUNKS] */
    float scale_inv;
    double sum;
};

static void check(quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), detail);
    exit(EXIT_FAILURE);
}

static double from_e4m3(uint8_t code) {
    int exponent = code >> 3 & 15, fraction = code & 7;
    double value = exponent ? ldexp(8 + fraction, exponent - 10) : ldexp(fraction, -9);
    return code & 128 ? -value : value;
}

static void *add_up(void *argument) {
    struct rank *rank = argument;
    for (int i = 0; i < RANKS * CHUNKS; i++) {           /* its own chunks first: with them it has the scale */
        int chunk = (rank->number * CHUNKS + i) % (RANKS * CHUNKS);
        check(quern_chunk_wait(rank->group, &rank->ready[chunk], 1, CALL, 0, NULL));
        const uint8_t *codes = rank->codes + chunk * CHUNK_ROWS * COLUMNS;
        for (int j = 0; j < CHUNK_ROWS * COLUMNS; j++) rank->sum += from_e4m3(codes[j]) * rank->scale_inv;
    }
    return NULL;
}

static void *run_rank(void *argument) {
    struct rank *rank = argument;
    quern_device *device;
    check(quern_device_open(QUERN_CPU, 0, &device));
    check(quern_prepare(device, QUERN_QUANTIZE | QUERN_COLLECTIVE));
    quern_group_args join = QUERN_GROUP_ARGS_INIT;
    join.rank = rank->number, join.ranks = RANKS, join.name = "quern_chunks", join.device = device, join.timeout = 10;
    check(quern_group_create(&join, 1, &rank->group));
    size_t bytes[] = {RANKS * ROWS * COLUMNS, RANKS * CHUNKS * sizeof(uint32_t)};
    void *codes, *ready;                                 /* memory that all ranks write */
    check(quern_symmetric_alloc(&rank->group, 1, &bytes[0], &codes));
    check(quern_symmetric_alloc(&rank->group, 1, &bytes[1], &ready));
    rank->codes = codes, rank->ready = ready;

    float rows[ROWS * COLUMNS], amax;
    for (int i = 0; i < ROWS * COLUMNS; i++) rows[i] = (float)(rank->number + 1);
    quern_quantize_chunks_args args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    args.input_dtype = QUERN_F32, args.output_dtype = QUERN_E4M3;
    args.input = rows, args.rows = ROWS, args.columns = COLUMNS, args.chunk_rows = CHUNK_ROWS;
    args.output = codes, args.ready = ready, args.ready_value = CALL;
    args.amax = &amax, args.scale_inv = &rank->scale_inv;

    pthread_t reader;
    pthread_create(&reader, NULL, add_up, rank);
    check(quern_quantize_chunks(rank->group, &args, NULL, 0, NULL));
    pthread_join(reader, NULL);
    check(quern_barrier(rank->group, NULL, NULL));
    printf("rank %d: amax %g, sum of all rows %g\n", rank->number, amax, rank->sum);
    check(quern_group_destroy(rank->group));
    quern_device_close(device);
    return NULL;
}

int main(void) {
    struct rank ranks[RANKS] = {{.number = 0}, {.number = 1}};
    pthread_t threads[RANKS];
    for (int i = 0; i < RANKS; i++) pthread_create(&threads[i], NULL, run_rank, &ranks[i]);
    for (int i = 0; i < RANKS; i++) pthread_join(threads[i], NULL);
}
