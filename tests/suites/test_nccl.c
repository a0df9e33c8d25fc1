/*
 * NCCL opened at run time: the real one where this machine has it, and the stand-in of tests/nccl on emulated GPUs, of which each
 * rule is broken here once, since the tests of groups rely on it.
 *
 * Runs on: one cpu, one emulated.
 */
#include <dlfcn.h>

#include "harness/device.h"
#include "harness/random.h"
#include "harness/ranks.h"
#include "ranks/nccl/nccl.h"

static bool is_emulated(void) { return test_kind() == QUERN_CUDA; }

/* ---- opening ---- */

static void refuse_unloaded(const char *part) {
    for (int again = 0; again < 2; again++) {
        const struct quern_nccl *nccl;
        check_status(quern_nccl_open(&nccl), QUERN_NOT_SUPPORTED);
        check(!nccl && strstr(error_detail(), part), "\"%s\" does not speak of %s", error_detail(), part);
    }
}

Test(nccl, a_file_that_is_not_there) {
    setenv("QUERN_NCCL", "/nowhere/libnccl.so.2", 1);
    refuse_unloaded("/nowhere/libnccl.so.2");
    check(strstr(error_detail(), "install libnccl2 or nvidia-nccl-cu13, or name its file in QUERN_NCCL"), "%s", error_detail());
}

Test(nccl, a_file_of_something_else) {
    if (!dlopen("libm.so.6", RTLD_NOW)) cr_skip_test("there is no libm.so.6");
    setenv("QUERN_NCCL", "libm.so.6", 1);
    refuse_unloaded("libm.so.6 does not tell its version: it is no NCCL");
}

Test(nccl, an_old_one) {
    if (!is_emulated()) cr_skip_test("the stand-in is beside the emulator");
    setenv("QUERN_NCCL_STANDIN", "version=21705", 1);
    refuse_unloaded("libnccl.so.2 is NCCL 2.17.5: expected at least 2.18");
}

Test(nccl, an_empty_name_is_none) {
    if (!is_emulated()) cr_skip_test("the stand-in is beside the emulator");
    const struct quern_nccl *nccl;
    setenv("QUERN_NCCL", "", 1);
    check_ok(quern_nccl_open(&nccl));
    check(quern_nccl_version() == 22809, "%d", quern_nccl_version());
}

Test(nccl, the_real_one) {
    const struct quern_nccl *nccl;
    if (is_emulated()) cr_skip_test("the stand-in is in its place");
    if (quern_nccl_open(&nccl) != QUERN_OK) {
        check(strstr(error_detail(), "no NCCL at libnccl.so.2"), "%s", error_detail());
        cr_skip_test("this machine has no NCCL: %s", error_detail());
    }
    check(quern_nccl_version() >= QUERN_NCCL_MIN && quern_nccl_version() < 100000, "%d", quern_nccl_version());
    check(nccl->init && nccl->async_error && nccl->finalize && nccl->destroy && nccl->abort && nccl->group_start && nccl->group_end,
          "a function is missing");
    check(!strcmp(nccl->error_string(ncclSuccess), "no error"), "%s", nccl->error_string(ncclSuccess));
    check(strstr(nccl->error_string(ncclInProgress), "progress"), "%s", nccl->error_string(ncclInProgress));
    check(strstr(nccl->error_string(ncclRemoteError), "remote"), "%s", nccl->error_string(ncclRemoteError));
}

Test(nccl, results_have_statuses) {
    static const struct {
        ncclResult_t result;
        quern_status status;
    } rows[] = {{ncclSuccess, QUERN_OK}, {ncclUnhandledCudaError, QUERN_CUDA_ERROR}, {ncclSystemError, QUERN_SYSTEM_ERROR},
                {ncclInternalError, QUERN_CUDA_ERROR}, {ncclInvalidArgument, QUERN_CUDA_ERROR},
                {ncclInvalidUsage, QUERN_CUDA_ERROR}, {ncclRemoteError, QUERN_PEER_LOST}, {(ncclResult_t)99, QUERN_CUDA_ERROR}};
    for (size_t i = 0; i < COUNT(rows); i++)
        check(quern_nccl_status(rows[i].result) == rows[i].status, "result %d: %s", rows[i].result,
              quern_status_string(quern_nccl_status(rows[i].result)));
}

Test(nccl, a_failure_has_its_text) {
    if (!is_emulated()) cr_skip_test("the stand-in is beside the emulator");
    const struct quern_nccl *nccl;
    ncclUniqueId id;
    setenv("QUERN_NCCL_STANDIN", "id:fail=2", 1);
    check_ok(quern_nccl_open(&nccl));
    check_status(quern_nccl_fail(NULL, nccl->unique_id(&id), "ncclGetUniqueId", NULL), QUERN_SYSTEM_ERROR);
    check(strstr(error_detail(), "ncclGetUniqueId: unhandled system error") &&
          strstr(error_detail(), "(an injected fault of the unique id)"), "%s", error_detail());
}

/* ---- ranks on the stand-in ---- */

struct board {
    ncclUniqueId id;
    int is_there;
};

struct side {
    struct rank *rank;
    const struct quern_nccl *nccl;
    const struct quern_cuda *cuda;
    CUdevice device;
    CUstream stream;
    ncclComm_t comm;
};

enum { GPUS = 4 };

static void cuda_ok(const struct side *side, CUresult result, const char *what) {
    rank_check(side->rank, result == CUDA_SUCCESS, "%s: %d", what, result);
}

static CUdeviceptr allocate(const struct side *side, size_t bytes) {
    CUdeviceptr at;
    cuda_ok(side, side->cuda->memory_allocate(&at, bytes), "cuMemAlloc");
    return at;
}

/* The control functions of the stand-in. */
static void *control(const char *name) {
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD), *address = library ? dlsym(library, name) : NULL;
    if (library) dlclose(library);
    return address;
}

static int call_control(const char *name) {
    int (*function)(void) = NULL;
    void *address = control(name);
    memcpy(&function, &address, sizeof address);
    return function ? function() : -1;
}

static void complaints(char *buffer, size_t bytes) {
    void (*function)(char *, size_t) = NULL;
    void *address = control("quern_standin_complaints");
    memcpy(&function, &address, sizeof address);
    function(buffer, bytes);
}

/* Until the call in progress has ended; its result. */
static ncclResult_t poll_until(const struct side *side, double seconds) {
    ncclResult_t result = ncclInProgress;
    const double end = rank_now() + seconds;
    while (result == ncclInProgress && rank_now() < end) {
        rank_check(side->rank, side->nccl->async_error(side->comm, &result) == ncclSuccess, "ncclCommGetAsyncError");
        if (result == ncclInProgress) rank_sleep(1e-3);
    }
    return result;
}

static void await(const struct side *side) {
    const ncclResult_t result = poll_until(side, 20);
    rank_check(side->rank, result == ncclSuccess, "%s", side->nccl->error_string(result));
}

/* Until the communicators of all ranks are ready. */
static void await_all(const struct side *side) {
    await(side);
    rank_line_up(side->rank);
}

static void share_id(struct side *side) {
    struct board *board = side->rank->shared;
    if (side->rank->rank == 0) {
        rank_check(side->rank, side->nccl->unique_id(&board->id) == ncclSuccess, "ncclGetUniqueId");
        __atomic_store_n(&board->is_there, 1, __ATOMIC_RELEASE);
    }
    while (!__atomic_load_n(&board->is_there, __ATOMIC_ACQUIRE)) rank_sleep(1e-3);
}

/* The communicator is still in progress. */
static void begin_side(struct side *side, struct rank *rank) {
    *side = (struct side){.rank = rank};
    CUcontext context;
    rank_ok(rank, quern_nccl_open(&side->nccl));
    rank_ok(rank, quern_cuda_open(&side->cuda));
    cuda_ok(side, side->cuda->device_get(&side->device, rank->rank % GPUS), "cuDeviceGet");
    cuda_ok(side, side->cuda->context_retain(&context, side->device), "cuDevicePrimaryCtxRetain");
    cuda_ok(side, side->cuda->context_push(context), "cuCtxPushCurrent");
    cuda_ok(side, side->cuda->stream_create(&side->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    share_id(side);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    struct board *board = rank->shared;
    const ncclResult_t result = side->nccl->init(&side->comm, rank->ranks, board->id, rank->rank, &config);
    rank_check(rank, result == ncclInProgress, "ncclCommInitRankConfig: %d", result);
}

static void end_side(struct side *side) {
    CUcontext context;
    side->cuda->stream_destroy(side->stream);
    side->cuda->context_pop(&context);
    side->cuda->context_release(side->device);
}

static void destroy(struct side *side) {
    rank_check(side->rank, side->nccl->finalize(side->comm) == ncclInProgress, "ncclCommFinalize");
    await(side);
    rank_check(side->rank, side->nccl->destroy(side->comm) == ncclSuccess, "ncclCommDestroy");
    end_side(side);
}

static unsigned char value_at(int from, int to, size_t i) {
    return (unsigned char)(i * 13 + i / 255 + (size_t)(from * 7 + to * 31));
}

/* What is sent is written on the stream before, and what has come is read on it behind. */
static void trade(struct side *side, size_t bytes) {
    const int ranks = side->rank->ranks, me = side->rank->rank;
    const size_t all = bytes * (size_t)ranks;
    unsigned char *host = malloc(all + 1);
    const CUdeviceptr from = allocate(side, all + 1), to = allocate(side, all + 1);
    for (size_t i = 0; i < all; i++) host[i] = value_at(me, (int)(i / bytes), i % bytes);
    if (all) cuda_ok(side, side->cuda->copy_to_device_async(from, host, all, side->stream), "copy");
    side->nccl->group_start();
    for (int peer = 0; peer < ranks; peer++) {
        side->nccl->send((const char *)(uintptr_t)(from + bytes * (size_t)peer), bytes, ncclUint8, peer, side->comm, side->stream);
        side->nccl->receive((char *)(uintptr_t)(to + bytes * (size_t)peer), bytes, ncclUint8, peer, side->comm, side->stream);
    }
    rank_check(side->rank, side->nccl->group_end() == ncclInProgress, "ncclGroupEnd");
    await(side);
    memset(host, 0, all + 1);
    if (all) cuda_ok(side, side->cuda->copy_to_host_async(host, to, all, side->stream), "copy");
    cuda_ok(side, side->cuda->stream_synchronize(side->stream), "cuStreamSynchronize");
    for (size_t i = 0; i < all; i++)
        rank_check(side->rank, host[i] == value_at((int)(i / bytes), me, i % bytes), "byte %zu of %zu from rank %zu", i % bytes,
                   bytes, i / bytes);
    free(host);
    cuda_ok(side, side->cuda->memory_free(from), "cuMemFree");
    cuda_ok(side, side->cuda->memory_free(to), "cuMemFree");
}

/* Of a bit of each rank. */
static CUdeviceptr enqueue_sum(struct side *side) {
    const uint32_t word = 1u << side->rank->rank;
    const CUdeviceptr at = allocate(side, sizeof word);
    void *pointer = (void *)(uintptr_t)at;
    cuda_ok(side, side->cuda->copy_to_device_async(at, &word, sizeof word, side->stream), "copy");
    rank_check(side->rank, side->nccl->all_reduce(pointer, pointer, 1, ncclUint32, ncclSum, side->comm,
                                                  side->stream) == ncclInProgress, "ncclAllReduce");
    await(side);
    return at;
}

static void sum(struct side *side) {
    const CUdeviceptr at = enqueue_sum(side);
    uint32_t word;
    cuda_ok(side, side->cuda->copy_to_host_async(&word, at, sizeof word, side->stream), "copy");
    cuda_ok(side, side->cuda->stream_synchronize(side->stream), "cuStreamSynchronize");
    rank_check(side->rank, word == (1u << side->rank->ranks) - 1, "the sum is %u", word);
    cuda_ok(side, side->cuda->memory_free(at), "cuMemFree");
}

static quern_status move_bytes(struct rank *rank) {
    static const size_t sizes[] = {1, 0, 100, 65536, 65535, 1 << 20};
    struct side side;
    begin_side(&side, rank);
    await_all(&side);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        trade(&side, sizes[i]);
        sum(&side);
    }
    destroy(&side);
    if (rank->kind == RANK_PROCESSES) rank_check(rank, call_control("quern_standin_communicators") == 0, "communicators are left");
    return QUERN_OK;
}

static void check_on_gpus(rank_function *function, int ranks, enum rank_kind kind, const char *settings) {
    if (!is_emulated()) cr_skip_test("the stand-in is beside the emulator");
    char gpus[64] = "";
    for (int i = 0; i < GPUS; i++) strcat(strcat(gpus, i ? "," : ""), "9.0");
    setenv("QUERN_EMULATOR", gpus, 1);
    setenv("QUERN_NCCL_STANDIN", settings, 1);
    check_ranks(.kind = kind, .count = ranks, .function = function, .shared_bytes = sizeof(struct board));
}

Test(nccl, the_stand_in_moves_bytes) {
    for (int ranks = 1; ranks <= GPUS; ranks++) check_on_gpus(move_bytes, ranks, RANK_BOTH, "");
}

Test(nccl, delays_change_nothing) {
    check_on_gpus(move_bytes, 3, RANK_PROCESSES, "init:delay=50@1,group:delay=10,run:delay=20@2,finalize:delay=30@0");
}

static quern_status fail_in_init(struct rank *rank) {
    struct side side;
    begin_side(&side, rank);
    rank_line_up(rank);
    const ncclResult_t result = poll_until(&side, rank->rank ? 0.3 : 20);
    rank_check(rank, result == (rank->rank ? ncclInProgress : ncclSystemError), "%d", result);
    rank_check(rank, side.nccl->abort(side.comm) == ncclSuccess, "ncclCommAbort");
    end_side(&side);
    return QUERN_OK;
}

Test(nccl, a_failure_of_init) { check_on_gpus(fail_in_init, 2, RANK_PROCESSES, "init:fail=2@0,init:hang@1"); }

/* Work that hangs ends by ncclCommAbort, and the stream goes on. */
static quern_status abort_what_hangs(struct rank *rank) {
    struct side side;
    CUevent event;
    begin_side(&side, rank);
    await_all(&side);
    const CUdeviceptr at = enqueue_sum(&side);
    cuda_ok(&side, side.cuda->event_create(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    cuda_ok(&side, side.cuda->event_record(event, side.stream), "cuEventRecord");
    for (int i = 0; i < 20; i++) {
        rank_check(rank, side.cuda->event_query(event) == CUDA_ERROR_NOT_READY, "the sum has ended");
        rank_sleep(5e-3);
    }
    rank_check(rank, side.nccl->abort(side.comm) == ncclSuccess, "ncclCommAbort");
    cuda_ok(&side, side.cuda->stream_synchronize(side.stream), "cuStreamSynchronize");
    side.cuda->event_destroy(event);
    side.cuda->memory_free(at);
    end_side(&side);
    return QUERN_OK;
}

Test(nccl, a_hang_ends_by_abort) { check_on_gpus(abort_what_hangs, 2, RANK_PROCESSES, "run:hang@1"); }

/* Lets the stream's work run until it fails; its result. */
static ncclResult_t ask_until(struct side *side, double seconds) {
    ncclResult_t result = ncclSuccess;
    CUevent event;
    cuda_ok(side, side->cuda->event_create(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    for (const double end = rank_now() + seconds; result == ncclSuccess && rank_now() < end;) {
        side->cuda->event_record(event, side->stream);
        side->cuda->event_query(event);
        side->nccl->async_error(side->comm, &result);
    }
    side->cuda->event_destroy(event);
    return result;
}

/* The end of another rank: by default nobody is told of it. */
static quern_status see_remote(struct rank *rank) {
    const bool is_told = *getenv("QUERN_NCCL_STANDIN");
    struct side side;
    begin_side(&side, rank);
    await_all(&side);
    rank_line_up(rank);
    if (rank->rank) {
        rank_check(rank, side.nccl->abort(side.comm) == ncclSuccess, "ncclCommAbort");
    } else {
        const CUdeviceptr at = enqueue_sum(&side);
        const ncclResult_t result = ask_until(&side, is_told ? 20 : 0.3);
        rank_check(rank, result == (is_told ? ncclRemoteError : ncclSuccess), "%d", result);
        rank_check(rank, side.nccl->abort(side.comm) == ncclSuccess, "ncclCommAbort");
        cuda_ok(&side, side.cuda->stream_synchronize(side.stream), "cuStreamSynchronize");
        side.cuda->memory_free(at);
    }
    end_side(&side);
    return QUERN_OK;
}

Test(nccl, an_end_is_told_on_demand) {
    check_on_gpus(see_remote, 2, RANK_PROCESSES, "remote=1");
    check_on_gpus(see_remote, 2, RANK_PROCESSES, "");
}

/* ---- broken rules ---- */

struct rule {
    const char *name, *complaint;
    int ranks;
    void (*breaks)(struct side *side);
};

static void send_to(struct side *side, int peer) {
    static char byte[1];
    side->nccl->send(byte, 1, ncclUint8, peer, side->comm, side->stream);
}

static void finalize(struct side *side) {
    await(side);
    side->nccl->finalize(side->comm);
    await(side);
}

static void init_another(struct side *side, ncclConfig_t config) {
    ncclComm_t comm;
    side->nccl->init(&comm, 1, ((struct board *)side->rank->shared)->id, 0, &config);
}

/* Calls in an order that breaks a rule. */
#define BREAKS(name, ...) static void name(struct side *side) { UNUSED const struct quern_nccl *nccl = side->nccl; __VA_ARGS__ }

BREAKS(send_too_early, send_to(side, 0);)
BREAKS(send_in_progress, await(side); nccl->group_start(); nccl->group_end(); send_to(side, 0); send_to(side, 0);)
BREAKS(use_aborted, await(side); nccl->abort(side->comm); send_to(side, 0);)
BREAKS(destroy_at_once, await(side); nccl->destroy(side->comm);)
BREAKS(use_destroyed, finalize(side); nccl->destroy(side->comm); nccl->abort(side->comm);)
BREAKS(send_finalized, finalize(side); send_to(side, 0);)
BREAKS(end_no_group, nccl->group_end();)
BREAKS(block, init_another(side, (ncclConfig_t)NCCL_CONFIG_INITIALIZER);)
BREAKS(come_twice, ncclConfig_t config = NCCL_CONFIG_INITIALIZER; config.blocking = 0; init_another(side, config);)
BREAKS(without_initializer, init_another(side, (ncclConfig_t){.size = sizeof(ncclConfig_t)});)

static void too_many(struct side *side) {
    await(side);
    side->nccl->group_start();
    for (int i = 0; i <= QUERN_NCCL_GROUP_OPERATIONS; i++) send_to(side, 0);
    side->nccl->group_end();
}

static void overlap(struct side *side) {
    static char memory[15];
    await(side);
    side->nccl->group_start();
    for (int i = 0; i < 2; i++) side->nccl->receive(memory + 7 * i, 8, ncclUint8, 0, side->comm, side->stream);
    side->nccl->group_end();
}

static void *ask(void *user) {
    struct side *side = user;
    ncclResult_t result;
    side->nccl->async_error(side->comm, &result);
    return NULL;
}

static void two_threads(struct side *side) {
    pthread_t threads[2];
    setenv("QUERN_NCCL_STANDIN", "linger=200000", 1);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, ask, side);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

/* Both ranks end; what was sent is never received. */
static void unmatched(struct side *side) {
    await_all(side);
    const CUdeviceptr at = allocate(side, 8);
    if (side->rank->rank == 0) side->nccl->send((void *)(uintptr_t)at, 8, ncclUint8, 1, side->comm, side->stream);
    await(side);
    side->nccl->finalize(side->comm);
    poll_until(side, 0.5);
}

static void other_orders(struct side *side) {
    await_all(side);
    const CUdeviceptr at = allocate(side, 64);
    side->nccl->group_start();
    for (size_t i = 0; i < 2; i++) {
        char *place = (char *)(uintptr_t)at + 32 * i;
        if (side->rank->rank) side->nccl->receive(place, 16 - 8 * i, ncclUint8, 0, side->comm, side->stream);
        else side->nccl->send(place, 8 + 8 * i, ncclUint8, 1, side->comm, side->stream);
    }
    side->nccl->group_end();
    await(side);
    ask_until(side, 2);
}

/* Two groups of one communicator on streams between which there is no event. */
static void two_streams(struct side *side) {
    CUstream other;
    await(side);
    cuda_ok(side, side->cuda->stream_create(&other, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    void *pointer = (void *)(uintptr_t)allocate(side, 8);
    setenv("QUERN_NCCL_STANDIN", "run:delay=100", 1);
    side->nccl->all_reduce(pointer, pointer, 1, ncclUint32, ncclSum, side->comm, side->stream);
    await(side);
    side->nccl->all_reduce(pointer, pointer, 1, ncclUint32, ncclSum, side->comm, other);
    await(side);
    side->cuda->stream_synchronize(other);
}

/* Rank 1 comes late. */
static void enqueue_early(struct side *side) {
    if (side->rank->rank) rank_line_up(side->rank);
    await(side);
    if (side->rank->rank) return;
    send_to(side, 1);
    rank_line_up(side->rank);
}

static const struct rule rules[] = {
    {"work for a rank that is not ready", "rank 0 enqueues for rank 1, whose communicator is not ready", 2, enqueue_early},
    {"a send before init has ended", "ncclSend before the communicator is ready", 1, send_too_early},
    {"a send while one is in progress", "ncclSend while a call of the communicator is in progress", 1, send_in_progress},
    {"a large group", "a group of 2049 operations", 1, too_many},
    {"work on an aborted communicator", "ncclSend on an aborted communicator", 1, use_aborted},
    {"destroyed without finalize", "ncclCommDestroy before ncclCommFinalize has ended", 1, destroy_at_once},
    {"aborted after destroy", "ncclCommAbort on a destroyed communicator", 1, use_destroyed},
    {"work on a finalized communicator", "ncclSend on a finalized communicator", 1, send_finalized},
    {"an end without a start", "ncclGroupEnd without ncclGroupStart", 1, end_no_group},
    {"receives that overlap", "operations of one group overlap in memory", 1, overlap},
    {"a communicator that blocks", "the communicator would block", 1, block},
    {"a rank that is there twice", "rank 0 of a communicator is there twice", 1, come_twice},
    {"a configuration without magic", "not made by NCCL_CONFIG_INITIALIZER", 1, without_initializer},
    {"two threads", "two threads in one communicator: ncclCommGetAsyncError", 1, two_threads},
    {"streams without order", "nothing orders their streams", 1, two_streams},
    {"a send that nobody receives", "rank 0 has sent 1 messages to rank 1, which has received 0: unmatched", 2, unmatched},
    {"other orders", "rank 1 expects a message of 16 bytes from rank 0, which has sent a message of 8 bytes", 2, other_orders},
};

/* The file of shared memory of a communicator that has not begun. */
static void forget_id(const struct rank *rank) { shm_unlink(((const struct board *)rank->shared)->id.internal); }

/* The process ends with the rank, so what else is left open does not matter. */
static void break_rule(struct rank *rank) {
    const struct rule *rule = rank->user;
    struct side side;
    char texts[4096];
    begin_side(&side, rank);
    call_control("quern_standin_forgive");
    complaints(texts, sizeof texts);
    rule->breaks(&side);
    forget_id(rank);
    complaints(texts, sizeof texts);
    const bool must = rule->ranks == 1 || strstr(rule->complaint, rank->rank ? "rank 1 " : "rank 0 ") == rule->complaint;
    rank_check(rank, !must || strstr(texts, rule->complaint), "%s: \"%s\" does not speak of \"%s\"", rule->name, texts,
               rule->complaint);
}

Test(nccl, each_broken_rule_is_found) {
    if (!is_emulated()) cr_skip_test("the stand-in is beside the emulator");
    setenv("QUERN_EMULATOR", "9.0,9.0,9.0,9.0", 1);
    for (size_t i = 0; i < COUNT(rules); i++)
        check_ranks(.kind = RANK_PROCESSES, .count = rules[i].ranks, .body = break_rule, .user = &rules[i],
                    .shared_bytes = sizeof(struct board));
}

/* Without a test that forgives, a broken rule ends the program. */
static void break_unforgiven(struct rank *rank) {
    struct side side;
    begin_side(&side, rank);
    forget_id(rank);
    send_too_early(&side);
}

Test(nccl, a_broken_rule_ends_the_program) {
    if (!is_emulated()) cr_skip_test("the stand-in is beside the emulator");
    setenv("QUERN_EMULATOR", "9.0", 1);
    const char *wrong = ranks_run(&(struct ranks){.kind = RANK_PROCESSES, .count = 1, .body = break_unforgiven,
                                                  .shared_bytes = sizeof(struct board)});
    check(wrong && strstr(wrong, "signal 6"), "%s", wrong ? wrong : "it has returned");
}
