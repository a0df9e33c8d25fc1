/*
 * Collectives between CPU ranks, threads and processes: the bits of every result, which bytes stay unchanged, and that a mistake of
 * one rank is reported to all ranks, writes nothing and leaves the group usable.
 *
 * Runs on: cpu; kernels of collective.
 */
#include <sys/syscall.h>
#include <sys/uio.h>

#include "harness/one_collective.h"
#include "harness/random.h"
#include "kernels/collective_pieces.h"
#include "ranks/collective/collective.h"
#include "ranks/handles.h"
#include "ranks/meeting.h"

/* ---- the kernels ---- */

enum { MOST_INPUTS = 9, MOST_ELEMENTS = 2600, GUARD = 128, ROOM = MOST_ELEMENTS * 4 + 64 + 2 * GUARD };

static const quern_combination combinations[] = {QUERN_COMBINE_SUM, QUERN_COMBINE_MAX};

struct kernel_memory {
    _Alignas(64) unsigned char input[MOST_INPUTS][ROOM], output[2][ROOM], expected[ROOM];
};

/* Inputs and outputs at addresses of their own; the second output is an input, or has none. */
static void check_combination(const struct quern_kernel *row, struct kernel_memory *m, uint64_t seed, int64_t count, int inputs,
                              bool is_max, bool in_place) {
    const quern_dtype dtype = row->key.any.dtypes[0];
    const int64_t size = (int64_t)quern_dtype_bytes(dtype), first = random_below(seed, 1, 40);
    const struct collective_case c = {.seed = seed, .operation = COLLECTIVE_ALL_REDUCE, .dtype = dtype};
    const char *from[MOST_INPUTS];
    char *to[2] = {(char *)m->output[0] + GUARD + random_below(seed, 2, 64 / size) * size, NULL};
    for (int q = 0; q < inputs; q++) {
        from[q] = (char *)m->input[q] + random_below(seed, (uint64_t)q + 3, 64 / size) * size;
        for (int64_t i = 0; i < first + count; i++) {
            const uint64_t bits = collective_case_bits(&c, q, i);
            memcpy((char *)from[q] + i * size, &bits, (size_t)size);
        }
    }
    to[1] = in_place ? (char *)from[inputs - 1] : (char *)m->output[1];
    memset(m->output, 0x5A, sizeof m->output);
    for (int64_t i = 0; i < first + count; i++)
        collective_combine(dtype, combinations[is_max], (const void *const *)from, inputs, i, m->expected, i);
    const struct quern_collective_combination pieces = {.inputs = from, .outputs = to, .input_count = inputs, .output_count = 2,
                                                        .is_max = is_max, .streaming = seed % 2};
    row->cpu.any(&pieces, first, first + count);
    for (int o = 0; o < 2; o++)
        for (int64_t i = first * size; i < (first + count) * size; i++)
            check((unsigned char)to[o][i] == m->expected[i], "%s: %d inputs, %lld elements from %lld, max %d: byte %lld of output "
                  "%d is %02X instead of %02X", row->name, inputs, (long long)count, (long long)first, is_max, (long long)i, o,
                  (unsigned char)to[o][i], m->expected[i]);
    for (int64_t i = 0; i < ROOM; i++) {
        const int64_t at = (char *)m->output[0] + i - to[0];
        check((at >= first * size && at < (first + count) * size) || m->output[0][i] == 0x5A,
              "%s: %lld elements also wrote byte %lld", row->name, (long long)count, (long long)at);
    }
}

Test(collective, every_kernel_combines_any_number_of_elements_in_order) {
    static struct kernel_memory memory;
    static const int64_t counts[] = {0, 1, 2, 7, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 130, 1023, 1024, 1025, 2048, 2049, 2500};
    for (const struct quern_kernel *row = NULL; (row = next_row(quern_collective_kernels, row));) {
        if (row->key.any.task != QUERN_COLLECTIVE_COMBINE) continue;
        for (size_t i = 0; i < COUNT(counts); i++)
            for (int trial = 0; trial < 12; trial++)
                check_combination(row, &memory, 100 * i + (uint64_t)trial, counts[i], 1 + trial % MOST_INPUTS, trial % 3 == 2,
                                  trial % 4 == 1);
    }
}

/* Each value with each other one, in every place of a vector. */
Test(collective, every_kernel_combines_special_values) {
    static const struct {
        quern_dtype dtype;
        uint32_t values[12];
    } types[] = {{QUERN_F32, {0x7FC00001, 0xFFC00000, 0x7F800001, 0x7F800000, 0xFF800000, 0, 0x80000000, 1, 0x80000001, 0x7F7FFFFF,
                              0xFF7FFFFF, 0x3F800000}},
                 {QUERN_F16, {0x7E01, 0xFE00, 0x7C01, 0x7C00, 0xFC00, 0, 0x8000, 1, 0x8001, 0x7BFF, 0xFBFF, 0x3C00}},
                 {QUERN_BF16, {0x7FC1, 0xFFC0, 0x7F81, 0x7F80, 0xFF80, 0, 0x8000, 1, 0x8001, 0x7F7F, 0xFF7F, 0x3F80}}};
    enum { VALUES = 12, PAIRS = VALUES * VALUES };
    for (const struct quern_kernel *row = NULL; (row = next_row(quern_collective_kernels, row));)
        for (size_t t = 0; t < COUNT(types); t++) {
            if (row->key.any.task != QUERN_COLLECTIVE_COMBINE || row->key.any.dtypes[0] != types[t].dtype) continue;
            const size_t size = quern_dtype_bytes(types[t].dtype);
            char a[PAIRS * 4], b[PAIRS * 4], has[PAIRS * 4], expected[PAIRS * 4];
            for (int i = 0; i < PAIRS; i++) {
                memcpy(a + (size_t)i * size, &types[t].values[i / VALUES], size);
                memcpy(b + (size_t)i * size, &types[t].values[i % VALUES], size);
            }
            for (int is_max = 0; is_max < 2; is_max++) {
                const char *const inputs[] = {a, b};
                char *const outputs[] = {has};
                const struct quern_collective_combination pieces = {.inputs = inputs, .outputs = outputs, .input_count = 2,
                                                                    .output_count = 1, .is_max = is_max};
                row->cpu.any(&pieces, 0, PAIRS);
                for (int i = 0; i < PAIRS; i++)
                    collective_combine(types[t].dtype, combinations[is_max], (const void *const *)inputs, 2, i, expected, i);
                for (int i = 0; i < PAIRS; i++)
                    check(!memcmp(has + (size_t)i * size, expected + (size_t)i * size, size), "%s, max %d: %08X and %08X",
                          row->name, is_max, types[t].values[i / VALUES], types[t].values[i % VALUES]);
            }
        }
}

/* ---- random cases ---- */

static void check_batch(enum rank_kind kind, int ranks, struct collective_batch batch) {
    check_ranks(.kind = kind, .count = ranks, .function = collective_run_batch, .user = &batch);
}

static void check_random_cases(enum rank_kind kind) {
    for (int ranks = 1; ranks <= 8; ranks++)
        check_batch(kind, ranks, (struct collective_batch){.first = (uint64_t)ranks * 1000, .cases = (int)test_size(100, 20)});
}

Test(collective, random_cases_of_threads) { check_random_cases(RANK_THREADS); }
Test(collective, random_cases_of_processes) { check_random_cases(RANK_PROCESSES); }

/* Several rounds of windows; the caches are passed by; several threads of each rank. */
Test(collective, large_cases) {
    for (int ranks = 2; ranks <= 3; ranks++)
        check_batch(RANK_BOTH, ranks,
                    (struct collective_batch){.first = 50000 + (uint64_t)ranks * 1000, .cases = (int)test_size(60, 16),
                                              .choice = {.largest = 900000}, .threads = 1 + ranks % 2, .pool_bytes = 16 << 20});
}

/* Few elements and many ranks: one more than fill a word of a mask. */
Test(collective, many_ranks) {
    const struct collective_choice small = {.largest = 700};
    check_batch(RANK_THREADS, 33, (struct collective_batch){.first = 61000, .cases = 6, .choice = small});
    check_batch(RANK_THREADS, 64, (struct collective_batch){.first = 62000, .cases = 3, .choice = small});
    check_batch(RANK_PROCESSES, 33, (struct collective_batch){.first = 63000, .cases = 5, .choice = small});
}

/* Each operation with each kind of memory, in place and not, around the sizes at which the ways change. */
Test(collective, all_ways) {
    static const int64_t counts[] = {-1, 1, 12, 13, 150, 492, 493, 984, 985, 2000, 4096, 4100, 12000, 70000};
    for (int memory = 0; memory < 3; memory++)
        for (size_t i = 0; i < COUNT(counts); i++) {
            const struct collective_choice choice = {.everyone = i % 2, .elements = counts[i], .is_private = memory == 1,
                                                     .is_symmetric = memory == 2};
            check_batch(RANK_BOTH, 3,
                        (struct collective_batch){.first = 70000 + 100 * i, .cases = (int)test_size(24, 8), .choice = choice});
        }
}

/* What one rank reaches by a pointer another does not. */
TEST_RANKS_FOR(collective, several_ranks_in_each_of_several_processes, for (int large = 0; large < 2; large++),
               .kind = RANK_PROCESSES, .count = 2,
               .user = &(const struct collective_batch){.first = 90000 + 1000 * (uint64_t)large, .pool_bytes = 8 << 20,
                                                        .cases = (int)test_size(large ? 40 : 200, 40),
                                                        .choice = {.largest = large ? 100000 : 0}}) {
    return rank_be_two(rank, collective_run_batch);
}

/* ---- one call by three ranks; test_collective_mistakes.c has what is refused in each way between them ---- */

enum { WORKSPACE = 2 << 20 };

TEST_GROUP(collective, a_device_that_is_not_prepared, .kind = RANK_PROCESSES, .count = ONE_RANKS) {
    struct one_collective call;
    struct rank_bench bench = {.rank = rank, .group = group, .count = 1};
    if (rank->rank != 1) rank_ok(rank, quern_prepare(rank->device, QUERN_COLLECTIVE));
    rank_ok(rank, quern_symmetric_alloc(&group, 1, &(size_t){WORKSPACE}, &bench.workspace));
    bench.pool[POOL_SYMMETRIC] = bench.image[POOL_SYMMETRIC] = (unsigned char *)bench.workspace + WORKSPACE / 2;
    one_make(&call, &bench, &one_forms[0]);
    rank_check_refusal(rank, 1, QUERN_NOT_PREPARED, "collective is not prepared", one_run(&call));
    rank_ok(rank, quern_prepare(rank->device, QUERN_COLLECTIVE));
    one_run_rightly(&call);
}

/* ---- memory that some ranks have freed ---- */

struct loss {
    struct one_form form;
    const char *buffer;      /* which lies in memory that rank 1 has freed */
};

static const struct loss losses[] = {
    {{COLLECTIVE_ALL_REDUCE, 20000, true, false}, "workspace"}, {{COLLECTIVE_ALL_REDUCE, 20000, true, true}, "workspace"},
    {{COLLECTIVE_REDUCE_SCATTER, 10000, false, false}, "input"}, {{COLLECTIVE_ALL_REDUCE, 20000, false, true}, "output"},
    {{COLLECTIVE_ALL_GATHER, 10000, true, false}, "workspace"},
};

static void lose(struct rank *rank, const struct rank_bench *bench, const struct loss *loss, char *lost) {
    struct one_collective call;
    char words[96];
    one_make(&call, bench, &loss->form);
    if (rank->rank == 0 && !strcmp(loss->buffer, "workspace")) call.workspace = lost;
    if (rank->rank == 0 && !strcmp(loss->buffer, "input")) call.args.input = memcpy(lost, call.args.input, ONE_BYTES);
    if (rank->rank == 0 && !strcmp(loss->buffer, "output")) call.args.output = lost;
    snprintf(words, sizeof words, "the %s of rank 0 is in symmetric memory that rank 1 has freed", loss->buffer);
    rank_refused(rank, one_run(&call), QUERN_INVALID_ARGUMENT, words);
    one_check_unwritten(&call, words);
    one_make(&call, bench, &loss->form);
    rank_ok(rank, one_run(&call));  /* ranks without the same memory have voted, and can reach all that they need */
    one_check(&call);
}

TEST_RANKS(collective, peers_memory_out_of_sight, .kind = RANK_PROCESSES, .count = ONE_RANKS) {
    struct rank_bench bench;
    if (rank->rank == 1) rank_refuse_reads(rank);  /* else no workspace is needed */
    rank_bench_begin(rank, &bench);
    void *lost = rank_allocate(rank, bench.group, WORKSPACE);
    if (rank->rank == 1) rank_ok(rank, quern_symmetric_free(bench.group, lost, NULL));
    for (size_t i = 0; i < COUNT(losses); i++) lose(rank, &bench, &losses[i], lost);
    return rank_bench_destroy(&bench);
}

/* ---- reading other processes' memory ---- */

static const struct one_form read_forms[] = {
    {COLLECTIVE_ALL_GATHER, 10000, true, false}, {COLLECTIVE_REDUCE_SCATTER, 10000, true, false},
    {COLLECTIVE_ALL_REDUCE, 20000, true, false}, {COLLECTIVE_ALL_REDUCE, 2000, true, true},
    {COLLECTIVE_BROADCAST, 30000, true, false},
};

/* After the first call of the group nothing passes through the workspace: what is not summed leaves it as it was. */
TEST_BENCH(collective, private_memory_of_processes_is_read, .kind = RANK_PROCESSES, .count = ONE_RANKS) {
    static const char *const seen[ONE_RANKS] = {"ranks 1, 2 by", "ranks 0, 2 by", "ranks 0, 1 by"};
    struct one_collective call;
    for (int again = 0; again < 3; again++)
        for (size_t f = 0; f < COUNT(read_forms); f++) {
            const bool sums = collective_reduces(read_forms[f].operation);
            one_make(&call, bench, &read_forms[f]);
            memset(bench->workspace, 0x33, WORKSPACE);
            rank_line_up(rank);
            one_run_rightly(&call);
            if (again) rank_check_report(rank, bench->group, seen[rank->rank]);
            for (int64_t i = 0; i < WORKSPACE && again && !sums; i++)
                rank_check(rank, ((char *)bench->workspace)[i] == 0x33, "byte %lld of the workspace was written", (long long)i);
            rank_line_up(rank);
        }
}

/* Rank 1 may not read, so all pass data through the workspaces; with the same results. */
static quern_status read_without_permission(struct rank *rank) {
    if (rank->rank == 1) rank_refuse_reads(rank);
    collective_run_batch(rank);
    struct rank_bench bench;
    struct one_collective call;
    rank_bench_begin(rank, &bench);
    for (int again = 0; again < 3; again++)
        for (size_t f = 0; f < COUNT(read_forms); f++) {
            one_make(&call, &bench, &read_forms[f]);
            one_run_rightly(&call);
        }
    char why[200];
    snprintf(why, sizeof why, "pass private memory through the workspace, since rank 1 cannot read that of rank 0 "
             "(process_vm_readv: %s)", strerror(EPERM));
    if (rank->rank == 1) rank_check_report(rank, bench.group, why);
    return rank_bench_destroy(&bench);
}

Test(collective, processes_that_may_not_be_read) {
    const struct collective_batch batch = {.first = 110000, .pool_bytes = 8 << 20, .cases = (int)test_size(60, 20),
                                           .choice = {.largest = 100000, .is_private = true}};
    check_ranks(.kind = RANK_PROCESSES, .count = ONE_RANKS, .function = read_without_permission, .user = &batch);
}

/* Each rank in turn is the only one that the next one cannot read. */
static const int unseen[ONE_RANKS] = {0, 1, 2};

TEST_BENCH(collective, a_single_process_that_may_not_be_read, .kind = RANK_PROCESSES, .count = ONE_RANKS, RANKS_EACH(unseen)) {
    const int peer = *(const int *)rank->user, reader = (peer + 1) % ONE_RANKS;
    struct one_collective call;
    char why[200];
    struct quern_sight *sight = &rank_member_of(rank, bench->group)->again->sight[peer];
    if (rank->rank == reader) *sight = (struct quern_sight){.state = QUERN_UNSEEN, .reason = EPERM};
    for (size_t i = 0; i < 2 * COUNT(read_forms); i++) {
        one_make(&call, bench, &read_forms[i / 2]);
        one_run_rightly(&call);
    }
    snprintf(why, sizeof why, "through the workspace, since rank %d cannot read that of rank %d", reader, peer);
    if (rank->rank == reader) rank_check_report(rank, bench->group, why);
}

/* What goes wrong when others read the input of rank 1. */
struct hole {
    struct one_form form;
    void (*dig)(struct rank *rank, quern_group *group, char *memory);
    int rank;                /* who does it */
    quern_status status;
    const char *words;
};

/* What rank 2 reads first, but not what rank 1 does, which also looks at the ends. */
static void protect_memory(struct rank *rank, UNUSED quern_group *group, char *memory) {
    rank_check(rank, mprotect(memory + 81920, 36864, PROT_NONE) == 0, "mprotect");
}

static void unmap_a_part(struct rank *rank, UNUSED quern_group *group, char *memory) {
    rank_check(rank, munmap(memory + 65536, 4096) == 0, "munmap");
}

/* As if the process had ended, and another one had got its number. */
static void mistake_process(struct rank *rank, quern_group *group, UNUSED char *memory) {
    struct quern_membership *member = rank_member_of(rank, group);
    member->again->sight[1].id = (uintptr_t)losses;  /* other bytes, in each process at the same place */
}

static const struct hole holes[] = {
    {{COLLECTIVE_REDUCE_SCATTER, 10240, true, false}, protect_memory, 1, QUERN_SYSTEM_ERROR,
     "cannot read memory of a call of rank 1 (process_vm_readv: Bad address)"},
    {{COLLECTIVE_BROADCAST, 30000, true, false}, unmap_a_part, 1, QUERN_SYSTEM_ERROR,
     "cannot read memory of a call of rank 1 (process_vm_readv: a part is not there)"},
    {{COLLECTIVE_BROADCAST, 30000, true, false}, mistake_process, 0, QUERN_PEER_LOST, "rank 1 (process "},
};

/* The root of a broadcast in place does not touch its memory itself. */
TEST_BENCH(collective, memory_that_cannot_be_read_is_an_error_of_all, .kind = RANK_PROCESSES, .count = ONE_RANKS,
           RANKS_EACH(holes)) {
    const struct hole *hole = rank->user;
    struct one_collective call;
    for (int again = 0; again < 2; again++) {
        one_make(&call, bench, &hole->form);
        one_run_rightly(&call);
    }
    char *memory = mmap(NULL, ONE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    rank_check(rank, memory != MAP_FAILED, "no memory");
    memset(memory, 0x77, ONE_BYTES);
    if (rank->rank == hole->rank) hole->dig(rank, bench->group, memory);
    if (rank->rank == 1) call.args.input = memory;
    if (rank->rank == 1 && hole->form.operation == COLLECTIVE_BROADCAST) call.args.output = memory;
    rank_line_up(rank);
    rank_refused(rank, one_run(&call), hole->status, hole->words);
    rank_status(rank, quern_barrier(bench->group, NULL, NULL), hole->status);
    rank_line_up(rank);
}

/* Memory that only its own process can read, as that of some devices is. */
static void *secret_memory(size_t bytes) {
#ifdef SYS_memfd_secret
    const int file = (int)syscall(SYS_memfd_secret, 0);
#else
    const int file = -1;
#endif
    if (file < 0) return NULL;
    void *memory = ftruncate(file, (off_t)bytes) ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? NULL : memory;
}

static bool has_secret_memory(void) {
    void *secret = secret_memory(1);
    if (!secret) cr_skip_test("memfd_secret does not work here");
    munmap(secret, 1);
    return true;
}

/* It goes through the workspace, also when all other memory is read. */
TEST_BENCH_FOR(collective, memory_that_nobody_else_can_read, if (has_secret_memory()), .kind = RANK_PROCESSES, .count = ONE_RANKS) {
    struct one_collective call;
    char *secret = secret_memory(ONE_BYTES);
    rank_check(rank, secret, "no secret memory");
    for (int again = 0; again < 4; again++)
        for (size_t f = 0; f < COUNT(read_forms); f++) {
            one_make(&call, bench, &read_forms[f]);
            if (rank->rank == 1 && again > 1 && call.args.input != call.args.output)
                call.args.input = memcpy(secret, call.args.input, ONE_BYTES);
            one_run_rightly(&call);
        }
}

/* After the first two calls of the group nothing passes through the workspace. */
static void gather_private(struct rank *rank, const struct rank_bench *bench, int first, int end) {
    struct one_collective call;
    for (int number = first; number < end; number++) {
        one_make(&call, bench, &read_forms[0]);
        memset(bench->workspace, 0x33, WORKSPACE);
        rank_line_up(rank);
        one_run_rightly(&call);
        for (int64_t i = 0; i < WORKSPACE && number > 1; i++)
            rank_check(rank, ((char *)bench->workspace)[i] == 0x33, "byte %lld of the workspace was written", (long long)i);
        rank_line_up(rank);
    }
}

/* Whether the first thread of this process has ended: then nothing is read by the number of the process. */
static bool has_lost_its_first_thread(void) {
    char byte, from = 0;
    const struct iovec here = {&byte, 1}, there = {&from, 1};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) < 0 && errno == ESRCH;
}

static bool first_thread_may_end;   /* atomic */

/* A thread of rank 1, which makes all of its calls and ends its process.  The rank that it is given lies on the stack of the
   first thread, so it works on a copy. */
static void *survive(void *given) {
    struct rank own = *(const struct rank *)given, *rank = &own;
    struct rank_bench bench;
    if (setjmp(rank->end)) {
        __atomic_store_n(&rank->result->end, RANK_FAILED, __ATOMIC_RELEASE);
        rank_end_process(EXIT_FAILURE);
    }
    rank_bench_begin(rank, &bench);
    gather_private(rank, &bench, 0, 2);
    __atomic_store_n(&first_thread_may_end, true, __ATOMIC_RELEASE);
    while (!has_lost_its_first_thread()) rank_sleep(0.001);
    gather_private(rank, &bench, 2, 5);
    rank->result->status = quern_group_destroy(bench.group);
    __atomic_store_n(&rank->result->end, RANK_RETURNED, __ATOMIC_RELEASE);
    rank_end_process(EXIT_SUCCESS);
    return NULL;
}

TEST_RANKS(collective, a_process_whose_first_thread_has_ended, .kind = RANK_PROCESSES, .count = ONE_RANKS) {
    struct rank_bench bench;
    pthread_t survivor;
    if (rank->rank == 1) {
        rank_check(rank, !pthread_create(&survivor, NULL, survive, rank), "no thread");
        while (!__atomic_load_n(&first_thread_may_end, __ATOMIC_ACQUIRE)) rank_sleep(0.001);
        pthread_exit(NULL);
    }
    rank_bench_begin(rank, &bench);
    gather_private(rank, &bench, 0, 5);
    return rank_bench_destroy(&bench);
}

/* Rank 1 ends; what rank 0 reads of it then is an error. */
TEST_BENCH(collective, a_process_that_ends_while_it_is_read, .kind = RANK_PROCESSES, .count = ONE_RANKS) {
    struct one_collective call;
    char byte;
    for (int again = 0; again < 2; again++) {
        one_make(&call, bench, &read_forms[0]);
        rank_ok(rank, one_run(&call));
    }
    struct quern_membership *member = rank_member_of(rank, bench->group);
    rank_line_up(rank);
    if (rank->rank) return;
    const struct quern_read read = {.rank = 1, .to = &byte, .from = (uintptr_t)losses, .bytes = 1};
    while (!quern_rank_has_gone(member->roster, 1)) rank_sleep(0.001);
    member->again->sight[1].pid = INT32_MAX;  /* nobody's: as if it had ended */
    rank_refused(rank, quern_collective_read(&member->again->call, &read, 1), QUERN_PEER_LOST,
                 "has ended while rank 0 read its memory");
}

/* ---- workspaces ---- */

/* Ranks may place their workspaces at different offsets of different allocations. */
TEST_BENCH(collective, workspaces_anywhere, .kind = RANK_PROCESSES, .count = ONE_RANKS) {
    struct one_collective call;
    void *other = rank_allocate(rank, bench->group, WORKSPACE + 4096 * (size_t)rank->rank);
    if (rank->rank != 1) bench->workspace = (char *)other + 16 * rank->rank;
    for (size_t f = 0; f < COUNT(one_forms); f++) {
        one_make(&call, bench, &one_forms[f]);
        one_run_rightly(&call);
    }
}

/* The size grows with the elements up to a limit, is the same for all operations, and is 0 where nothing passes through. */
TEST_GROUP(collective, sizes_of_workspaces, .kind = RANK_BOTH, .count = ONE_RANKS) {
    size_t bytes = 1, before = 0;
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_BF16);
    for (int64_t count = 0; count < (int64_t)1 << 44; count = count ? count * 2 : 1) {
        args.count = count;
        rank_ok(rank, quern_collective_workspace(group, &args, &bytes));
        rank_check(rank, bytes >= before && bytes <= 1 << 20, "%zu bytes for %lld elements after %zu", bytes, (long long)count,
                   before);
        rank_check(rank, rank->kind == RANK_PROCESSES || !bytes, "%zu bytes in one process", bytes);
        before = bytes;
    }
    rank_check(rank, rank->kind == RANK_THREADS || bytes >= 1 << 18, "at most %zu bytes", bytes);
    args.count = ((int64_t)1 << 46) / rank->ranks + 1;
    rank_status(rank, quern_collective_workspace(group, &args, &bytes), QUERN_INVALID_SHAPE);
}

/* ---- the same call again ---- */

/* A call that is made again has other data.  It fails as the first one would when its memory has been freed meanwhile. */
TEST_BENCH(collective, a_call_that_is_made_again, .kind = RANK_BOTH, .count = ONE_RANKS, RANKS_EACH(one_forms)) {
    const struct one_form *form = rank->user;
    struct one_collective call;
    for (int again = 0; again < 5; again++) {
        one_make(&call, bench, form);
        one_run_rightly(&call);
    }
    const bool has_workspace = call.workspace_bytes > 0;
    if (rank->rank == 1 && has_workspace) call.workspace_bytes--;
    if (has_workspace) rank_status(rank, one_run(&call), rank->rank == 1 ? QUERN_WORKSPACE_TOO_SMALL : QUERN_PEER_MISMATCH);
    one_make(&call, bench, form);
    rank_ok(rank, one_run(&call));
    unsigned char *memory = bench->pool[POOL_PRIVATE];
    if (!form->is_private) memcpy(memory, call.args.input, ONE_BYTES);
    if (!form->is_private) rank_ok(rank, quern_symmetric_free(bench->group, bench->pool[POOL_SYMMETRIC], NULL));
    rank_status(rank, one_run(&call), form->is_private ? QUERN_OK : QUERN_INVALID_ARGUMENT);
    call.args.input = memory, call.args.output = memory + ONE_BYTES;
    one_run_rightly(&call);
}

/* ---- a rank that lies, with valid digests ---- */

enum { LIED = 2000, LIED_STRIDE = 3000 };

static void lie_about_members(struct quern_collective_call *call) { call->set.words[1] = 1; }
static void lie_about_input(struct quern_collective_call *call) { call->input_place.offset = (int64_t)1 << 40; }
static void lie_about_output(struct quern_collective_call *call) { call->output_place.id += 1000; }
static void lie_about_the_last_place(struct quern_collective_call *call) { call->input_place.offset = BENCH_POOL - LIED * 4; }
static void tell_the_truth(struct quern_collective_call *call) { (void)call; }

static const struct lie {
    void (*tell)(struct quern_collective_call *call);
    const char *words;
    bool poisons;
    bool votes;              /* after it has freed memory, so that the ranks vote: then its outcome is damaged */
    bool scatters;           /* a reduce-scatter with a stride, whose first place is there; else an all-reduce */
} lies[] = {
    {lie_about_members, "args.members differ on ranks 0 and 1: expected the same on all members", false, false, false},
    {lie_about_input, "rank 0 finds a buffer of rank 1 beyond the memory that it has mapped of it", true, false, false},
    {lie_about_output, "rank 0 finds a buffer of rank 1 beyond the memory that it has mapped of it", true, false, false},
    {lie_about_the_last_place, "rank 0 finds a buffer of rank 1 beyond the memory that it has mapped of it", true, false, true},
    {tell_the_truth, "rank 0 read a damaged outcome of rank 1", true, true, false},
};

/* Writes the record of a reduction, and comes to its entry. */
static void pretend(struct rank *rank, const struct rank_bench *bench, struct quern_membership *member, const struct lie *lie) {
    static const struct quern_collective_form forms[] = {
        {.operation = QUERN_IN_ALL_REDUCE, .reduces = true},
        {.operation = QUERN_IN_REDUCE_SCATTER, .reduces = true, .scatters = true}};
    static struct quern_collective_call call;
    union quern_collective_telling telling = {.words = {0}};
    const struct quern_collective_form *form = &forms[lie->scatters];
    struct quern_meeting meeting = {form->operation, QUERN_PHASE_ENTRY, &member->everyone, RANK_LIMIT, NULL};
    call = (struct quern_collective_call){.member = member, .form = form, .places = 2, .place = 1, .count = LIED,
                                          .element_bytes = 4, .input_stride = LIED_STRIDE,
                                          .piece_bytes = 4 * LIED, .input_bytes = 4 * LIED, .output_bytes = 4 * LIED,
                                          .dtype = QUERN_F32, .combination = QUERN_COMBINE_SUM, .set = member->everyone,
                                          .rank_at = {0, 1}};
    call.input = (char *)bench->pool[POOL_SYMMETRIC], call.output = (char *)call.input + ONE_BYTES;
    call.input_state = quern_symmetric_find(member, call.input, call.input_bytes, &call.input_place);
    call.output_state = quern_symmetric_find(member, call.output, call.output_bytes, &call.output_place);
    lie->tell(&call);
    quern_collective_write_record(&call, quern_collective_half(member), QUERN_COLLECTIVE_OUTPUT_REACHED, &telling.told);
    rank_ok(rank, quern_meet_telling(member, &meeting, telling.words));
    if (!lie->votes) return;
    unsigned char *eager = quern_shared_eager(member->roster, 1, quern_collective_half(member));
    memset(eager + QUERN_EAGER_BYTES - sizeof(struct quern_collective_outcome), 0xAB, sizeof(struct quern_collective_outcome));
    meeting.phase = QUERN_PHASE_VOTE;
    rank_ok(rank, quern_meet(member, &meeting));
}

TEST_BENCH(collective, liars_are_found, .kind = RANK_PROCESSES, .count = 2, RANKS_EACH(lies)) {
    const struct lie *lie = rank->user;
    const struct one_form form = {lie->scatters ? COLLECTIVE_REDUCE_SCATTER : COLLECTIVE_ALL_REDUCE, LIED, false, false};
    struct one_collective call;
    struct quern_membership *member = rank_member_of(rank, bench->group);
    one_make(&call, bench, &form);
    call.args.input_stride = lie->scatters ? LIED_STRIDE : 0;
    if (rank->rank == 1 && lie->votes) rank_ok(rank, quern_symmetric_free(bench->group, bench->workspace, NULL));
    rank_line_up(rank);
    if (rank->rank == 1) {
        pretend(rank, bench, member, lie);
    } else {
        rank_refused(rank, one_run(&call), QUERN_PEER_MISMATCH, lie->words);
        one_check_unwritten(&call, lie->words);
    }
    rank_line_up(rank);
    rank_status(rank, quern_barrier(bench->group, NULL, NULL), lie->poisons ? QUERN_PEER_MISMATCH : QUERN_OK);
}
