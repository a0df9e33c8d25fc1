/* The data of a GPU rank: made and freed by src/ranks/group/cuda_transport.c, used around every launch of a collective kernel. */
#include "ranks/cuda_rank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/cuda_support.h"
#include "ranks/poison.h"
#include "ranks/registered_segment.h"
#include "ranks/watch.h"
#include "runtime/status.h"

quern_status quern_cuda_rank_fail(const struct quern_membership *member, CUresult error, const char *what) {
    char text[QUERN_CUDA_TEXT];
    if (quern_cuda_is_sticky(error)) {
        quern_cuda_describe(error, what, text, sizeof text);
        quern_poison(member, QUERN_PEER_LOST, "the GPU of rank %d has failed: %s", member->rank, text);
    }
    return quern_cuda_fail(member->device, error, what);
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

/* The state that the groups of this process share: room on the GPU, and the watcher. */
static quern_status begin_sharing(const struct quern_membership *member, struct quern_cuda_rank *rank) {
    quern_status status = quern_gpu_room_take(member, &rank->room, &rank->room_taken);
    if (status != QUERN_OK || quern_watch(member->roster)) return status;
    const int reason = errno;
    quern_gpu_room_give_back(rank->room, rank->room_taken);
    return quern_fail(member->device, reason == ENOMEM ? QUERN_OUT_OF_MEMORY : QUERN_SYSTEM_ERROR,
                      "%s: the thread that watches the ranks: %s", member->label, strerror(reason));
}

static void end_sharing(const struct quern_membership *member, const struct quern_cuda_rank *rank) {
    quern_unwatch(member->roster);
    quern_gpu_room_give_back(rank->room, rank->room_taken);
}

quern_status quern_cuda_make_rank(struct quern_membership *member) {
    const struct quern_cuda *cuda;
    quern_status status = quern_cuda_open(&cuda);
    if (status == QUERN_OK) status = quern_cuda_check_queues(member);
    if (status != QUERN_OK) return status;
    struct quern_cuda_rank *rank = calloc(1, sizeof *rank);
    if (!rank) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for a rank");
    rank->cuda = cuda;
    rank->shares_context = quern_cuda_count_sharers(member) > 1;
    rank->launches_block = quern_cuda_launches_block();
    status = begin_sharing(member, rank);
    if (status != QUERN_OK) {
        free(rank);
        return status;
    }
    CUresult error = quern_register_segment(cuda, member);
    if (error != CUDA_SUCCESS) {
        end_sharing(member, rank);
        free(rank);
        return quern_cuda_fail(member->device, error, "cuMemHostRegister of the group's segment");
    }
    error = make_event(rank, member);
    if (error != CUDA_SUCCESS) {
        quern_unregister_segment(member->segment);
        end_sharing(member, rank);
        free(rank);
        return quern_cuda_fail(member->device, error, "cuEventCreate");
    }
    rank->context = member->device->context;
    member->attached = rank;
    return QUERN_OK;
}

quern_status quern_cuda_settle(const struct quern_membership *member, bool unmarked) {
    const struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    struct quern_cuda_visit visit;
    const char *what = "cuEventSynchronize";
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    if (error == CUDA_SUCCESS && rank->enqueued) error = rank->cuda->event_synchronize(rank->last);
    if (error == CUDA_SUCCESS && unmarked) {
        what = "cuCtxSynchronize";
        error = rank->cuda->context_synchronize();
    }
    quern_cuda_end_visit(&visit);
    if (error == CUDA_SUCCESS) return QUERN_OK;
    if (error != CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) return quern_cuda_rank_fail(member, error, what);
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "%s: a stream of %s is being captured, and operations of the group "
                      "are in graphs, whose launches cannot be waited for meanwhile: expected the end of the capture first",
                      member->label, member->device->label);
}

quern_status quern_cuda_look(const struct quern_membership *member) {
    const struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    struct quern_cuda_visit visit;
    if (!rank->enqueued) return QUERN_OK;
    CUresult result = quern_cuda_begin_visit(&visit, member->device->context);
    if (result == CUDA_SUCCESS) result = rank->cuda->event_query(rank->last);
    quern_cuda_end_visit(&visit);
    return quern_cuda_is_sticky(result) ? quern_cuda_rank_fail(member, result, "cuEventQuery") : QUERN_OK;
}

static void destroy_event(const struct quern_cuda_rank *rank, const struct quern_membership *member) {
    struct quern_cuda_visit visit;
    if (quern_cuda_begin_visit(&visit, member->device->context) == CUDA_SUCCESS) rank->cuda->event_destroy(rank->last);
    quern_cuda_end_visit(&visit);
}

void quern_cuda_free_rank(struct quern_membership *member) {
    struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    destroy_event(rank, member);
    end_sharing(member, rank);
    member->attached = NULL;
    quern_unregister_segment(member->segment);
    free(rank);
}
