/*
 * GPUs of one host as the ranks of a group: what each rank keeps, and the frame around every launch.
 *
 * Ranks may be GPUs of one process or of several.  Several ranks on one GPU wait for each other's kernels, which must therefore run
 * there at once: within one process they do; those of several processes take turns unless MPS runs.
 */
#include "ranks/group_cuda.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/agreement.h"
#include "runtime/cuda_visit.h"
#include "ranks/descriptors.h"
#include "runtime/status.h"
#include "ranks/symmetric/symmetric.h"

/* ---- the segment, which the driver knows once per process ---- */

struct registered_segment {
    struct registered_segment *next;
    struct quern_segment *segment;
    CUdevice device;       /* whose context has it registered, and is kept */
    CUcontext context;
    int users;
    uint64_t launcher[QUERN_RANK_LIMIT];  /* the thread that launched for a rank last; 0: none */
};

static struct {
    pthread_mutex_t lock;
    struct registered_segment *first;
} registered_segments = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct registered_segment *find_segment(const struct quern_segment *segment) {
    struct registered_segment *registered = registered_segments.first;
    while (registered && registered->segment != segment) registered = registered->next;
    return registered;
}

static CUresult register_new_segment(const struct quern_cuda *cuda, const struct quern_membership *member,
                                     struct registered_segment **registered) {
    struct registered_segment *fresh = calloc(1, sizeof *fresh);
    if (!fresh) return CUDA_ERROR_OUT_OF_MEMORY;
    fresh->segment = member->segment;
    fresh->device = member->device->cuda_device;
    CUresult error = cuda->context_retain(&fresh->context, fresh->device);
    if (error == CUDA_SUCCESS) {
        struct quern_cuda_visit visit;
        error = quern_cuda_begin_visit(&visit, fresh->context);
        if (error == CUDA_SUCCESS)
            error = cuda->host_register(member->segment, member->segment->bytes,
                                        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
        quern_cuda_end_visit(&visit);
        if (error != CUDA_SUCCESS) cuda->context_release(fresh->device);
    }
    if (error != CUDA_SUCCESS) {
        free(fresh);
        return error;
    }
    fresh->next = registered_segments.first;
    *registered = registered_segments.first = fresh;
    return CUDA_SUCCESS;
}

static CUresult register_segment(const struct quern_cuda *cuda, const struct quern_membership *member) {
    pthread_mutex_lock(&registered_segments.lock);
    struct registered_segment *registered = find_segment(member->segment);
    CUresult error = registered ? CUDA_SUCCESS : register_new_segment(cuda, member, &registered);
    if (error == CUDA_SUCCESS) registered->users++;
    pthread_mutex_unlock(&registered_segments.lock);
    return error;
}

static void unregister_segment(const struct quern_cuda *cuda, struct quern_segment *segment) {
    pthread_mutex_lock(&registered_segments.lock);
    struct registered_segment **link = &registered_segments.first;
    while ((*link)->segment != segment) link = &(*link)->next;
    struct registered_segment *registered = *link;
    if (--registered->users == 0) {
        struct quern_cuda_visit visit;
        *link = registered->next;
        if (quern_cuda_begin_visit(&visit, registered->context) == CUDA_SUCCESS) cuda->host_unregister(segment);
        quern_cuda_end_visit(&visit);
        cuda->context_release(registered->device);
        free(registered);
    }
    pthread_mutex_unlock(&registered_segments.lock);
}

/* ---- whether these ranks can be a group ---- */

static bool are_on_one_gpu(const struct quern_segment *segment, uint32_t a, uint32_t b) {
    return memcmp(segment->rank[a].device_uuid, segment->rank[b].device_uuid, sizeof segment->rank[a].device_uuid) == 0;
}

/* By what the segment says, so that every rank comes to the same answer. */
static bool serves(const struct quern_segment *segment, struct quern_text *why) {
    for (uint32_t rank = 0; rank < segment->ranks; rank++) {
        if (segment->rank[rank].device_kind != QUERN_CUDA) {
            quern_text_add(why, "rank %u is a CPU", rank);
            return false;
        }
        for (uint32_t other = 0; other < rank; other++) {
            bool may_share = segment->rank[rank].share_gpu && segment->rank[other].share_gpu;
            if (may_share || !are_on_one_gpu(segment, rank, other)) continue;
            quern_text_add(why, "ranks %u and %u use one GPU, which both must allow by share_gpu", other, rank);
            return false;
        }
    }
    return true;
}

static quern_status check_attribute(const struct quern_membership *member, const struct quern_cuda *cuda, int attribute,
                                    const char *what) {
    int supported = 0;
    CUresult error = cuda->device_attribute(&supported, attribute, member->device->cuda_device);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuDeviceGetAttribute");
    if (supported) return QUERN_OK;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s does not support %s", member->device->label, what);
}

/* Between GPUs of one process; those of others are reached when their memory is mapped. */
static quern_status check_peers(const struct quern_membership *member, const struct quern_cuda *cuda) {
    const struct quern_segment *segment = member->segment;
    for (int peer = 0; peer < member->ranks; peer++) {
        CUdevice device;
        int can = 0;
        if (!quern_are_neighbours(segment, peer, member->rank)) continue;
        CUresult error = cuda->device_get(&device, segment->rank[peer].device_ordinal);
        if (error == CUDA_SUCCESS && device == member->device->cuda_device) continue;
        if (error == CUDA_SUCCESS) error = cuda->can_access_peer(&can, member->device->cuda_device, device);
        if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuDeviceCanAccessPeer");
        if (!can)
            return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s cannot reach the memory of cuda:%d: there is no peer access "
                              "between them", member->device->label, segment->rank[peer].device_ordinal);
    }
    return QUERN_OK;
}

static quern_status check_device(const struct quern_membership *member, const struct quern_cuda *cuda) {
    quern_status status = check_attribute(member, cuda, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                                          "virtual memory management");
    if (status == QUERN_OK && !member->one_process)
        status = check_attribute(member, cuda, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                                 "memory handles that other processes can open");
    return status == QUERN_OK ? check_peers(member, cuda) : status;
}

/* ---- attaching ---- */

static int count_on_gpu(const struct quern_membership *member) {
    int count = 0;
    for (int rank = 0; rank < member->ranks; rank++)
        count += are_on_one_gpu(member->segment, (uint32_t)rank, (uint32_t)member->rank);
    return count;
}

static CUresult make_event(struct quern_cuda_rank *rank, const struct quern_membership *member) {
    struct quern_cuda_visit visit;
    CUdeviceptr segment = 0;
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    if (error == CUDA_SUCCESS) error = rank->cuda->host_device_pointer(&segment, member->segment, 0);
    if (error == CUDA_SUCCESS) error = rank->cuda->event_create(&rank->last, CU_EVENT_DISABLE_TIMING);
    quern_cuda_end_visit(&visit);
    rank->segment = segment;
    return error;
}

/* With CUDA_LAUNCH_BLOCKING=1 a launch waits for its kernel, and that for one which the same thread would launch next. */
static bool launches_block(void) {
    const char *value = getenv("CUDA_LAUNCH_BLOCKING");
    return value && *value && strcmp(value, "0") != 0;
}

/* Everything of a rank but its pad. */
static quern_status make_rank(struct quern_membership *member) {
    const struct quern_cuda *cuda;
    quern_status status = quern_cuda_open(&cuda);
    if (status == QUERN_OK) status = check_device(member, cuda);
    if (status != QUERN_OK) return status;
    struct quern_cuda_rank *rank = calloc(1, sizeof *rank);
    if (!rank) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for a rank");
    rank->cuda = cuda;
    rank->ranks_on_device = count_on_gpu(member);
    rank->launches_block = launches_block();
    CUresult error = register_segment(cuda, member);
    if (error != CUDA_SUCCESS) {
        free(rank);
        return quern_cuda_fail(member->device, error, "cuMemHostRegister of the group's segment");
    }
    error = make_event(rank, member);
    if (error != CUDA_SUCCESS) {
        unregister_segment(cuda, member->segment);
        free(rank);
        return quern_cuda_fail(member->device, error, "cuEventCreate");
    }
    member->attached = rank;
    return QUERN_OK;
}

/* All counters begin where the group's do: signals that have come, and meetings that were counted. */
static quern_status write_pad(const struct quern_membership *member, CUdeviceptr pad) {
    uint32_t stride = quern_pad_stride((uint32_t)member->ranks), first_epoch = member->segment->first_epoch;
    size_t bytes = (size_t)quern_device_pad_bytes((uint32_t)member->ranks);
    unsigned char *image = calloc(1, bytes);
    if (!image) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for a pad");
    quern_signal *signals = (quern_signal *)image;
    uint32_t *counts = (uint32_t *)(signals + 2 * stride);
    for (uint32_t slot = 0; slot < 2 * stride; slot++) signals[slot] = quern_make_signal(first_epoch, 0);
    for (uint32_t slot = 0; slot <= stride; slot++) counts[slot] = first_epoch;
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    if (error == CUDA_SUCCESS) error = quern_cuda_write(&visit, pad, image, bytes);
    quern_cuda_end_visit(&visit);
    free(image);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(member->device, error, "writing a pad");
}

static quern_status set_up_pad(struct quern_membership *member, void *pad) {
    struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    struct quern_symmetric_place place;
    quern_symmetric_find(member, pad, 1, &place);
    for (int peer = 0; peer < member->ranks; peer++) rank->pad[peer] = (uintptr_t)place.peer[peer];
    rank->multicast_pad = (uintptr_t)place.multicast;
    return write_pad(member, (uintptr_t)pad);
}

static quern_status agree(struct quern_membership *const *members, int count, int at, quern_status status) {
    struct quern_verdict verdicts[QUERN_RANK_LIMIT];
    for (int i = 0; i < count; i++) verdicts[i] = quern_make_verdict(i == at ? status : QUERN_OK);
    return quern_agree(members, count, QUERN_IN_CREATE, verdicts, NULL);
}

static quern_status make_pads(struct quern_membership *const *members, int count) {
    size_t bytes[QUERN_RANK_LIMIT] = {0};
    void *pads[QUERN_RANK_LIMIT];
    for (int i = 0; i < count; i++) bytes[i] = (size_t)quern_device_pad_bytes((uint32_t)members[i]->ranks);
    quern_status status = quern_symmetric_allocate(members, count, QUERN_IN_CREATE, bytes, pads);
    if (status != QUERN_OK) return status;
    int at = 0;
    for (int i = 0; i < count && status == QUERN_OK; i++) status = set_up_pad(members[at = i], pads[i]);
    return agree(members, count, at, status);
}

static void detach(struct quern_membership *member) {
    struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    if (!rank) return;
    struct quern_cuda_visit visit;
    if (quern_cuda_begin_visit(&visit, member->device->context) == CUDA_SUCCESS) {
        if (rank->enqueued) rank->cuda->event_synchronize(rank->last);
        rank->cuda->event_destroy(rank->last);
    }
    quern_cuda_end_visit(&visit);
    quern_symmetric_forget(member);
    unregister_segment(rank->cuda, member->segment);
    free(rank);
    member->attached = NULL;
}

static quern_status attach(struct quern_membership *const *members, int count) {
    quern_status status = QUERN_OK;
    int at = 0;
    for (int i = 0; i < count && status == QUERN_OK; i++) status = make_rank(members[at = i]);
    status = agree(members, count, at, status);
    if (status == QUERN_OK) status = make_pads(members, count);
    for (int i = 0; i < count && status != QUERN_OK; i++) detach(members[i]);
    return status;
}

/* ---- around every launch ---- */

/* A number of the calling thread that no other gets. */
static uint64_t thread_number(void) {
    static uint64_t last;
    static _Thread_local uint64_t number;
    if (!number) number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    return number;
}

static quern_status check_launcher(const struct quern_membership *member) {
    if (!quern_cuda_rank_of(member)->launches_block) return QUERN_OK;
    uint64_t thread = thread_number();
    int other = -1;
    pthread_mutex_lock(&registered_segments.lock);
    struct registered_segment *registered = find_segment(member->segment);
    for (int rank = 0; rank < member->ranks; rank++)
        if (rank != member->rank && registered->launcher[rank] == thread) other = rank;
    if (other < 0) registered->launcher[member->rank] = thread;
    pthread_mutex_unlock(&registered_segments.lock);
    if (other < 0) return QUERN_OK;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s: CUDA_LAUNCH_BLOCKING is set, and this thread has launched for rank "
                      "%d before: kernels that wait for each other cannot be launched one after the other; unset it, or drive "
                      "each GPU by a thread of its own", member->label, other);
}

/* Handles below this are the driver's names for the default streams of whatever context is current. */
enum { FIRST_STREAM_OF_ITS_OWN = 3 };

static quern_status check_stream(const struct quern_membership *member, const struct quern_cuda *cuda, CUstream stream) {
    CUcontext context;
    if ((uintptr_t)stream < FIRST_STREAM_OF_ITS_OWN) return QUERN_OK;
    CUresult error = cuda->stream_context(stream, &context);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuStreamGetCtx");
    if (context == member->device->context) return QUERN_OK;
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "%s: the stream is of another context than the primary one of %s",
                      member->label, member->device->label);
}

static quern_status follow_last(const struct quern_membership *member, const struct quern_cuda_rank *rank, CUstream stream) {
    unsigned long long number;
    if (!rank->enqueued) return QUERN_OK;
    CUresult error = rank->cuda->stream_id(stream, &number);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuStreamGetId");
    if (number == rank->last_stream) return QUERN_OK;
    error = rank->cuda->stream_wait_event(stream, rank->last, 0);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(member->device, error, "cuStreamWaitEvent");
}

static quern_status enter_stream(const struct quern_membership *member, CUstream stream, bool *capturing) {
    const struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    int is_capturing = 0;
    quern_status status = check_stream(member, rank->cuda, stream);
    if (status != QUERN_OK) return status;
    CUresult error = rank->cuda->stream_is_capturing(stream, &is_capturing);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuStreamIsCapturing");
    *capturing = is_capturing;
    return is_capturing ? QUERN_OK : follow_last(member, rank, stream);
}

quern_status quern_cuda_enter(struct quern_membership *member, CUstream stream, bool *capturing) {
    const struct quern_cuda *cuda = quern_cuda_rank_of(member)->cuda;
    CUcontext popped;
    quern_status status = check_launcher(member);
    if (status != QUERN_OK) return status;
    CUresult error = cuda->context_push(member->device->context);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuCtxPushCurrent");
    status = enter_stream(member, stream, capturing);
    if (status != QUERN_OK) cuda->context_pop(&popped);
    return status;
}

quern_status quern_cuda_leave(struct quern_membership *member, CUstream stream, bool capturing) {
    struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    CUcontext popped;
    CUresult error = CUDA_SUCCESS;
    if (!capturing) {
        error = rank->cuda->event_record(rank->last, stream);
        if (error == CUDA_SUCCESS) error = rank->cuda->stream_id(stream, &rank->last_stream);
        rank->enqueued |= error == CUDA_SUCCESS;
    }
    rank->cuda->context_pop(&popped);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(member->device, error, "cuEventRecord");
}

const struct quern_transport quern_cuda_transport = {
    .name = "GPU memory",
    .serves = serves,
    .attach = attach,
    .detach = detach,
    .barrier = quern_cuda_barrier,
    .allocated = &quern_cuda_memory,
    .registered = &quern_cuda_registration,
    .ragged = &quern_cuda_ragged,
};
