/*
 * Groups of GPU ranks of several hosts that should have one NVLink fabric, in which something fails: handles that the driver
 * refuses, so that the group goes over NCCL, calls of the driver one by one, and ranks that end, abort, are late or make another
 * call while kernels of other hosts wait for them.
 *
 * Runs on: one emulated.
 */
#include "harness/cuda.h"
#include "harness/device.h"
#include "harness/nccl_side.h"
#include "ranks/symmetric/symmetric.h"

#define FABRIC .nccl = "", .fabric = "one"

/* ---- what keeps a group from its fabric ---- */

struct detour {
    const char *faults;      /* QUERN_EMULATOR_FAIL of the last rank */
    const char *clique;      /* of the last host; NULL: that of all; "": none */
    const char *reason;      /* in the report; NULL: none, since nothing was tried */
};

static const struct detour detours[] = {
    {NULL, "two", "cuMemImportFromShareableHandle: CUDA_ERROR_INVALID_HANDLE"},
    {NULL, "", NULL},
    {"cuMemGetAllocationGranularity:1", NULL, "rank 3: cuMemGetAllocationGranularity: CUDA_ERROR_INVALID_VALUE"},
    {"cuMemCreate:800", NULL, "rank 3: cuMemCreate of "},
    {"cuMemCreate:801", NULL, "expected one NVLink fabric and an IMEX channel"},
    {"cuMemExportToShareableHandle:801", NULL, "rank 3: cuMemExportToShareableHandle: CUDA_ERROR_NOT_SUPPORTED"},
    {"cuMemImportFromShareableHandle:101", NULL, "rank 3: cuMemImportFromShareableHandle: CUDA_ERROR_INVALID_DEVICE"},
    {"cuMemImportFromShareableHandle:800", NULL, "rank 3: cuMemImportFromShareableHandle: CUDA_ERROR_NOT_PERMITTED"},
    {"cuMemMap:1", NULL, "rank 3: cuMemMap of the part of rank"},
    {"cuMemSetAccess:101", NULL, "there is no peer access"},
};

static quern_status create(struct nccl_side *side) {
    const quern_group_args args = nccl_args(side, RANK_LIMIT);
    return quern_group_create(&args, 1, &side->group);
}

/* The group is there, and goes over NCCL on all ranks; nothing of the attempt is left. */
TEST_BODY(fabric_failures, a_group_without_a_fabric_goes_over_nccl, .kind = RANK_PROCESSES, .count = 4, .hosts = 2,
          RANKS_EACH(detours), FABRIC) {
    const struct detour *detour = rank->user;
    const bool is_last = rank->rank == rank->ranks - 1;
    struct nccl_side side;
    if (detour->clique && rank->rank >= 2) setenv("QUERN_EMULATOR_FABRIC", detour->clique, 1);
    nccl_open_gpu(&side, rank, rank->rank);
    if (is_last && detour->faults) setenv("QUERN_EMULATOR_FAIL", detour->faults, 1);
    rank_ok(rank, create(&side));
    unsetenv("QUERN_EMULATOR_FAIL");
    rank_check_report(rank, side.group, "hosts 0 and 1: NCCL, since GPU memory does not reach from one host to another");
    char report[4096];
    quern_group_report(side.group, report, sizeof report);
    rank_check(rank, !strstr(report, "by way of NCCL: ") == !detour->reason, "the report is %s", report);
    if (detour->reason) rank_check_report(rank, side.group, detour->reason);
    nccl_meet(&side);
    rank_refused(rank, quern_symmetric_alloc(&side.group, 1, &(size_t){64}, &(void *){NULL}), QUERN_NOT_SUPPORTED,
                 "the group goes over NCCL");
    rank_ok(rank, nccl_close(&side));
}

/* The pads are bound to multicast already when the words that GPUs write to each other are lost. */
TEST_BODY(fabric_failures, a_fabric_that_loses_words, .kind = RANK_PROCESSES, .count = 4, .hosts = 2, FABRIC) {
    struct nccl_side side;
    setenv("QUERN_EMULATOR_MULTICAST", "1", 1);
    setenv("QUERN_EMULATOR_PEERS", "lies", 1);
    nccl_open_gpu(&side, rank, rank->rank);
    rank_ok(rank, create(&side));
    rank_check_report(rank, side.group, "by way of NCCL: ");
    rank_check_report(rank, side.group, "is lost, though the driver promises access");
    rank_check(rank, !cuda_bindings(), "%ld parts are bound", cuda_bindings());
    rank_ok(rank, nccl_close(&side));
}

/* Too little memory is no reason to take another way. */
TEST_BODY(fabric_failures, no_memory_for_the_pads, .kind = RANK_PROCESSES, .count = 3, .hosts = 2, FABRIC) {
    struct nccl_side side;
    nccl_open_gpu(&side, rank, rank->rank);
    if (rank->rank == 1) setenv("QUERN_EMULATOR_FAIL", "cuMemCreate:2", 1);
    rank_refused(rank, create(&side), QUERN_OUT_OF_MEMORY, "rank 1: cuMemCreate of");
}

/* Without NCCL its reason is in the detail. */
TEST_BODY(fabric_failures, neither_a_fabric_nor_nccl, .kind = RANK_PROCESSES, .count = 3, .hosts = 2, FABRIC) {
    struct nccl_side side;
    setenv("QUERN_NCCL", "/nowhere/libnccl.so.2", 1);
    if (rank->rank == 2) setenv("QUERN_EMULATOR_FABRIC", "two", 1);
    nccl_open_gpu(&side, rank, rank->rank);
    rank_refused(rank, create(&side), QUERN_NOT_SUPPORTED, "no way for these ranks to reach each");
    rank_check_detail(rank, "/nowhere/libnccl.so.2");
}

static const struct sharing {
    int ranks;
    bool share, works;
} sharings[] = {{4, false, false}, {4, true, true}, {2, false, true}};

/* Two ranks of one host may share a GPU if both say so.  GPUs of two hosts are two, though they have one number. */
TEST_BODY_FOR(fabric_failures, ranks_that_share_a_gpu, for (size_t i = 0; i < COUNT(sharings); i++), .kind = RANK_PROCESSES,
              .count = sharings[i].ranks, .hosts = 2, .user = &sharings[i], FABRIC) {
    const struct sharing *sharing = rank->user;
    struct nccl_side side;
    nccl_open_gpu(&side, rank, rank->rank / 2);
    quern_group_args args = nccl_args(&side, RANK_LIMIT);
    args.share_gpu = sharing->share;
    const quern_status status = quern_group_create(&args, 1, &side.group);
    if (!sharing->works) {
        rank_refused(rank, status, QUERN_NOT_SUPPORTED, "ranks 0 and 1 use one GPU, which both must allow by share_gpu");
        return;
    }
    rank_ok(rank, status);
    rank_check_report(rank, side.group, "hosts 0 and 1: GPU memory over a fabric");
    nccl_meet(&side);
    rank_ok(rank, nccl_close(&side));
}

/* ---- memory that one rank cannot have ---- */

static const char *const faults[] = {"cuMemCreate:800", "cuMemExportToShareableHandle:1", "cuMemImportFromShareableHandle:400"};

/* All ranks hear of it, none has memory, and the group stays. */
TEST_SIDE(fabric_failures, an_allocation_that_fails_on_one_rank, .kind = RANK_PROCESSES, .count = 4, .hosts = 2, FABRIC) {
    size_t bytes = 4096;
    void *memory;
    for (size_t i = 0; i < COUNT(faults); i++) {
        if (rank->rank == 2) setenv("QUERN_EMULATOR_FAIL", faults[i], 1);
        rank_refused(rank, quern_symmetric_alloc(&side->group, 1, &bytes, &memory), QUERN_NOT_SUPPORTED, "rank 2: cuMem");
        unsetenv("QUERN_EMULATOR_FAIL");
        rank_ok(rank, quern_symmetric_alloc(&side->group, 1, &bytes, &memory));
        rank_ok(rank, quern_symmetric_free(side->group, memory, side->stream));
    }
    nccl_meet(side);
}

/* ---- a rank that lies about its memory ---- */

enum { LIAR = 3, TOLD_BYTES = 4 << 20 };

#define LIE(name, ...) static void name(struct quern_symmetric_part *part) { __VA_ARGS__; }
LIE(no_bytes, part->bytes = -1)
LIE(many_bytes, part->bytes = INT64_MAX)
LIE(more_bytes, part->bytes = (int64_t)part->base_bytes + 1)
LIE(no_allocation, part->base_bytes = 0)
LIE(huge_allocation, part->base_bytes = UINT64_MAX)
LIE(before_allocation, part->address = part->base - 1)
LIE(at_zero, part->address = 0, part->base = 1)
LIE(behind_allocation, part->address = part->base + part->base_bytes - (uint64_t)part->bytes + 1)

static const struct lie {
    void (*tell)(struct quern_symmetric_part *part);
    bool registers;
    size_t bytes;            /* without one: of the memory whose handle is told; 0: a handle of nothing */
    const char *words;       /* of the driver; NULL: the part is damaged */
} lies[] = {
    {no_bytes, false, 0, NULL},
    {many_bytes, false, 0, NULL},
    {more_bytes, false, 0, NULL},
    {no_allocation, false, 0, NULL},
    {huge_allocation, false, 0, NULL},
    {more_bytes, true, 0, NULL},
    {no_allocation, true, 0, NULL},
    {huge_allocation, true, 0, NULL},
    {before_allocation, true, 0, NULL},
    {at_zero, true, 0, NULL},
    {behind_allocation, true, 0, NULL},
    {NULL, false, TOLD_BYTES / 2, "cuMemMap of the part of rank 3: CUDA_ERROR_INVALID_VALUE"},
    {NULL, true, TOLD_BYTES / 2, "cuMemMap of the part of rank 3: CUDA_ERROR_INVALID_VALUE"},
    {NULL, false, 0, "cuMemImportFromShareableHandle: CUDA_ERROR_INVALID_VALUE"},
    {NULL, true, 0, "cuMemImportFromShareableHandle: CUDA_ERROR_INVALID_VALUE"},
};

static const struct lie *told;
static struct quern_cuda driver;

static quern_status describe_wrongly(const struct quern_membership *member, void *pointer, struct quern_symmetric_part *part) {
    const quern_status status = (told->registers ? quern_fabric_registration : quern_fabric_memory).describe(member, pointer, part);
    if (told->tell) told->tell(part);
    return status;
}

static CUresult create_on(int gpu, size_t bytes, CUmemGenericAllocationHandle *memory) {
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .requested_handle_types = CU_MEM_HANDLE_TYPE_FABRIC,
                                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu}};
    return driver.vmm_create(memory, bytes, &properties, 0);
}

static CUresult export_wrongly(void *handle, CUmemGenericAllocationHandle memory, int type, unsigned long long flags) {
    CUmemGenericAllocationHandle other;
    if (told->tell) return driver.vmm_export(handle, memory, type, flags);
    memset(handle, 0, sizeof(CUmemFabricHandle));
    if (!told->bytes) return CUDA_SUCCESS;
    const CUresult error = create_on(LIAR, told->bytes, &other);
    return error == CUDA_SUCCESS ? driver.vmm_export(handle, other, type, flags) : error;
}

/* From here on this rank tells what it likes. */
static void begin_to_lie(const struct nccl_side *side) {
    static struct quern_transport transport;
    static struct quern_symmetric_kind memory, registration;
    struct quern_membership *member = rank_member_of(side->rank, side->group);
    memory = quern_fabric_memory, registration = quern_fabric_registration;
    memory.describe = registration.describe = describe_wrongly;
    transport = *member->transport;
    transport.allocated = &memory, transport.registered = &registration;
    member->transport = &transport;
    ((struct quern_cuda *)(uintptr_t)side->cuda)->vmm_export = export_wrongly;
}

/* None has memory then, and the group stays. */
TEST_SIDE(fabric_failures, liars_are_found, .kind = RANK_PROCESSES, .count = LIAR + 1, .hosts = 2, RANKS_EACH(lies), FABRIC) {
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, rank->rank}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    const size_t bytes = TOLD_BYTES;
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    told = rank->user, driver = *side->cuda;
    cuda_ok(side, vmm_reserve(&address, bytes, 0, 0, 0));
    nccl_check(side, create_on(rank->rank, bytes, &handle), "cuMemCreate");
    cuda_ok(side, vmm_map(address, bytes, 0, handle, 0));
    cuda_ok(side, vmm_set_access(address, bytes, &access, 1));
    if (rank->rank == LIAR) begin_to_lie(side);
    void *memory = (void *)(uintptr_t)address;
    rank_refused(rank, told->registers ? quern_symmetric_register(&side->group, 1, &memory, &bytes)
                                       : quern_symmetric_alloc(&side->group, 1, &bytes, &memory),
                 told->words ? QUERN_NOT_SUPPORTED : QUERN_PEER_MISMATCH,
                 told->words ? told->words : "a message of rank 3 is damaged");
    rank_ok(rank, quern_barrier(side->group, NULL, side->stream));
    cuda_ok(side, stream_synchronize(side->stream));
    rank_ok(rank, quern_group_status(side->group));
}

/* ---- each call of the driver ---- */

enum { RANKS = 3 };

static const int codes[] = {2, 800};

/* What the process has of handles, addresses and mappings. */
struct objects {
    long of[11];
};

static struct objects count_objects(void) {
    void (*count)(struct objects *);
    struct objects all;
    *(void **)&count = nccl_symbol("quern_emulator_objects");
    count(&all);
    for (int i = 5; i < 11; i++) all.of[i] = 0;  /* streams and the state of the thread: other tests */
    return all;
}

/* A call that gives something back and fails leaves it. */
static bool gives_back(const char *function) {
    static const char *const all[] = {"cuMemRelease", "cuMemUnmap", "cuMemAddressFree", "cuMemHostUnregister",
                                      "cuCtxPopCurrent_v2"};
    for (size_t i = 0; i < COUNT(all); i++)
        if (function && strcmp(function, all[i]) == 0) return true;
    return false;
}

/* All ranks have one status; none waits for its limit. */
static void compare(struct rank *rank, int number, quern_status status) {
    quern_status *all = rank->shared;
    all[rank->rank] = status;
    rank_line_up(rank);
    for (int other = 0; other < RANKS; other++)
        rank_check(rank, all[other] == status, "call %d: status %d, and %d on rank %d", number, (int)status, (int)all[other],
                   other);
    rank_check(rank, status != QUERN_PEER_TIMEOUT, "call %d: a limit has ended", number);
    rank_line_up(rank);
}

struct attempt {
    struct nccl_side side;
    CUdeviceptr memory;               /* that can be registered */
    CUmemGenericAllocationHandle handle;
};

static quern_status create_group(struct attempt *attempt) { return create(&attempt->side); }

static void destroy(struct attempt *attempt) { rank_ok(attempt->side.rank, quern_group_destroy(attempt->side.group)); }

static quern_status allocate(struct attempt *attempt) {
    return quern_symmetric_alloc(&attempt->side.group, 1, &(size_t){4096}, (void **)&attempt->memory);
}

static void free_part(struct attempt *attempt) {
    void *const part = (void *)(uintptr_t)attempt->memory;
    rank_ok(attempt->side.rank, quern_symmetric_free(attempt->side.group, part, attempt->side.stream));
}

/* In a group that stays. */
static void allocate_often(struct attempt *attempt) {
    for (int i = 0; i < 40; i++) {  /* the last 32 ranges that were freed keep their addresses */
        rank_ok(attempt->side.rank, allocate(attempt));
        free_part(attempt);
    }
    cuda_ok(&attempt->side, stream_synchronize(attempt->side.stream));
}

static const struct operation {
    const char *name;
    bool in_group;
    quern_status (*run)(struct attempt *attempt);
    void (*end)(struct attempt *attempt);
} operations[] = {{"quern_group_create", false, create_group, destroy}, {"quern_symmetric_alloc", true, allocate, free_part}};

/* One call fails on rank 1.  Returns whether it has made so many. */
static bool try_call(struct attempt *attempt, const struct operation *operation, int number, int code) {
    struct rank *rank = attempt->side.rank;
    long (*calls)(const char **);
    const char *failed = NULL;
    *(void **)&calls = nccl_symbol("quern_emulator_calls");
    const struct objects before = count_objects();
    if (rank->rank == 1) cuda_fail_call(number, code);
    const quern_status status = operation->run(attempt);
    const bool is_over = rank->rank == 1 && calls(&failed) < number;
    const bool leaves = rank->rank == 1 && gives_back(failed);
    if (rank->rank == 1) cuda_fail_call(0, 0);
    compare(rank, number, status);
    if (status == QUERN_OK) operation->end(attempt);
    cuda_ok(&attempt->side, stream_synchronize(attempt->side.stream));
    const struct objects after = count_objects();
    for (int i = 0; i < 5 && !operation->in_group && !leaves; i++)
        rank_check(rank, after.of[i] == before.of[i], "call %d (%s): %ld objects of kind %d instead of %ld", number,
                   failed ? failed : "none here", after.of[i], i, before.of[i]);
    _Atomic int *over = (_Atomic int *)((quern_status *)rank->shared + RANKS);
    if (rank->rank == 1) *over = is_over;
    rank_line_up(rank);
    const bool ends = *over;
    rank_line_up(rank);
    return !ends;
}

/* Without NCCL, so that the status is that of the fabric. */
TEST_BODY(fabric_failures, each_call_of_the_driver, .kind = RANK_PROCESSES, .count = RANKS, .hosts = 2, RANKS_EACH(operations),
          FABRIC) {
    const struct operation *operation = rank->user;
    setenv("QUERN_NCCL", "/nowhere/libnccl.so.2", 1);
    for (size_t i = 0; i < COUNT(codes); i++) {
        struct attempt attempt = {.memory = 0};
        int number = 1;
        nccl_open_gpu(&attempt.side, rank, rank->rank);
        if (operation->in_group) {
            rank_ok(rank, create_group(&attempt));
            allocate_often(&attempt);
        }
        while (try_call(&attempt, operation, number, codes[i])) number++;
        rank_check(rank, number > 12, "%s makes %d calls of the driver", operation->name, number);
        if (operation->in_group) destroy(&attempt);
    }
}

/* ---- kernels that wait for a rank of another host ---- */

struct ending {
    enum { ENDS, LEAVES, ABORTS, IS_LATE, CALLS_ANOTHER } last;  /* what the last rank does */
    quern_status status;
    const char *detail;
};

static const struct ending endings[] = {
    {ENDS, QUERN_PEER_LOST, "gone, since its process has ended or its group was destroyed"},
    {LEAVES, QUERN_PEER_LOST, "gone, since its process has ended or its group was destroyed"},
    {ABORTS, QUERN_GROUP_ABORTED, "rank 3 has aborted the group: the test's reason"},
    {IS_LATE, QUERN_PEER_TIMEOUT, "quern_barrier: rank 0 waited"},
    {CALLS_ANOTHER, QUERN_PEER_MISMATCH, "the ranks must make the same calls in the same order, with the same members"},
};

/*
 * The kernels of all other ranks end without a host call of any rank, which each sees at its stream; then all have one reason.
 * One limit ends: that of rank 0.
 */
TEST_BODY_FOR(fabric_failures, all_kernels_end, for (size_t i = 0; i < COUNT(endings); i++), .kind = RANK_PROCESSES, .count = 4,
              .hosts = 2, .user = &endings[i], .may_die = endings[i].last == ENDS ? 1 << 3 : 0, FABRIC) {
    const struct ending *ending = rank->user;
    const bool is_last = rank->rank == 3;
    const quern_barrier_args args = BARRIER_ARGS(.timeout = ending->last == IS_LATE && rank->rank == 0 ? 0.3 : RANK_LIMIT);
    const quern_barrier_args pair = BARRIER_ARGS(.members = (const int[]){2, 3}, .member_count = 2, .timeout = RANK_LIMIT);
    struct nccl_side side;
    uint64_t missing;
    nccl_begin(rank, &side);
    nccl_meet(&side);
    rank_line_up(rank);
    if (is_last && ending->last == ENDS) kill(getpid(), SIGKILL);
    if (is_last && ending->last == LEAVES) {
        rank_ok(rank, nccl_close(&side));
        return;
    }
    if (is_last && ending->last == ABORTS) rank_ok(rank, quern_group_abort(side.group, "the test's reason"));
    if (is_last && ending->last == CALLS_ANOTHER) rank_ok(rank, quern_barrier(side.group, &pair, side.stream));
    const quern_status status = is_last ? QUERN_OK : quern_barrier(side.group, &args, side.stream);
    if (status != QUERN_OK) rank_status(rank, status, ending->status);  /* the others were faster */
    cuda_ok(&side, stream_synchronize(side.stream));
    if (ending->last >= ABORTS) rank_line_up(rank);  /* so far no rank has asked for the status */
    if (is_last && ending->last == IS_LATE) nccl_await_status(&side, RANK_SOON);
    rank_refused(rank, quern_barrier(side.group, NULL, side.stream), ending->status, ending->detail);
    rank_ok(rank, quern_group_missing(side.group, &missing, 1));
    if (!is_last && ending->last <= LEAVES) rank_check(rank, missing & 8, "missing is %llx", (unsigned long long)missing);
    rank_ok(rank, nccl_close(&side));
}

/* The others can unbind what they have bound to multicast. */
TEST_BODY(fabric_failures, a_rank_that_ends_with_bound_memory, .kind = RANK_PROCESSES, .count = 4, .hosts = 2, .may_die = 1 << 3,
          .wants_multicast = true, FABRIC) {
    struct nccl_side side;
    void *memory;
    setenv("QUERN_EMULATOR_MULTICAST", "1", 1);
    nccl_begin(rank, &side);
    rank_ok(rank, quern_symmetric_alloc(&side.group, 1, &(size_t){64}, &memory));
    rank_check(rank, cuda_bindings() == 2, "%ld parts are bound", cuda_bindings());
    rank_line_up(rank);
    if (rank->rank == 3) kill(getpid(), SIGKILL);
    rank_ok(rank, nccl_close(&side));
    rank_check(rank, !cuda_bindings(), "%ld parts are bound behind the group's end", cuda_bindings());
}

/* Each host has one process, which ends: so it is with whole hosts. */
TEST_SIDE(fabric_failures, a_whole_host_that_ends, .kind = RANK_PROCESSES, .count = 3, .hosts = 3, .may_die = 1 << 1, FABRIC) {
    nccl_meet(side);
    rank_line_up(rank);
    if (rank->rank == 1) kill(getpid(), SIGKILL);
    nccl_meet(side);
    rank_status(rank, quern_group_status(side->group), QUERN_PEER_LOST);
}
