"""Mutants of the launches of GPU ranks, for mutants.py: name, file, old text, new text, suite that must fail."""

from __future__ import annotations

ROOM, RANK, WATCH = "src/ranks/gpu_room.c", "src/ranks/cuda_rank.c", "src/ranks/watch.c"
AROUND, SUPPORT = "src/ranks/cuda_launch.c", "src/ranks/cuda_support.c"
LAUNCH, COPY = "src/ranks/ragged/ragged_launch_cuda.c", "src/kernels/cuda/ragged_all_to_all.cuh"
LAUNCHES, GONE = "test_launch_cuda", "test_gone_cuda"

EMULATED = [
    ("launch: each group has the whole GPU", ROOM, "all <= (int)largest->resident;", "needed <= (int)largest->resident;", LAUNCHES),
    ("launch: room that a destroyed group keeps", ROOM, "&room->taken, room->taken - taken,", "&room->taken, room->taken,",
     LAUNCHES),
    ("launch: room for one kernel only", ROOM, "other->resident < largest->resident", "other->resident > largest->resident",
     LAUNCHES),
    ("launch: as many blocks as have work", AROUND, "wanted < MOST_BLOCKS ? wanted : MOST_BLOCKS;", "useful;", "test_ragged_cuda"),
    ("launch: a copy whose entry has failed", COPY,
     "    if (has_ended(problem.links)) {\n        return;\n    }\n    copy_share(", "    copy_share(", "test_ragged_faults_cuda"),
    ("launch: the first block to finish meets", "src/kernels/cuda/grid_gate.cuh", "== gridDim.x - 1;", "== 0;", "test_ragged_cuda"),
    ("launch: a context that ends in silence", RANK, "    if (quern_cuda_is_sticky(error)) {", "    if (false) {", LAUNCHES),
    ("launch: a context whose end the status hides", "src/ranks/group/group.c", "member->transport->look ? member",
     "false ? member", LAUNCHES),
    ("launch: a rank that leaves in silence", RANK,
     "error != CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) return quern_cuda_rank_fail(member,",
     "error != CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) return quern_cuda_fail(member->device,", LAUNCHES),
    ("launch: an error of NVLink that ends nothing", "src/runtime/cuda_driver.c", "CUDA_ERROR_CONTAINED, ", "", LAUNCHES),
    ("launch: an event that fails is as good as one", AROUND, "if (entry->capturing || error != CUDA_SUCCESS) ",
     "if (entry->capturing) ", LAUNCHES),
    ("launch: a barrier that may or may not have been launched", AROUND,
     "    quern_poison(member, QUERN_PEER_LOST, \"rank %d has launched what",
     "    if (false) quern_poison(member, QUERN_PEER_LOST, \"rank %d has launched what", LAUNCHES),
    ("launch: a plan without room tells nobody", "src/ranks/ragged/ragged_plan_cuda.c", ": quern_ragged_check_room(call);",
     ": QUERN_OK;", LAUNCHES),
    ("launch: an exchange without room tells nobody", LAUNCH, "return status == QUERN_OK ? quern_ragged_check_room(call) : status;",
     "return status;", LAUNCHES),
    ("launch: the end of a rank is noticed late", "src/ranks/watch.h", "QUERN_WATCH_MILLISECONDS = 5",
     "QUERN_WATCH_MILLISECONDS = 30", GONE),
    ("launch: a segment unmapped that the driver has kept", "src/ranks/registered_segment.c",
     "if (error == CUDA_SUCCESS) quern_release_roster(", "quern_release_roster(", LAUNCHES),
    ("launch: pinned memory unmapped that the driver has kept", "src/ranks/symmetric/symmetric_pinned.c",
     "unpin(state) != CUDA_SUCCESS)", "unpin(state) != CUDA_SUCCESS && false)", LAUNCHES),
    ("launch: an entry without its copy", AROUND, "    if (!entry->capturing)\n", "    if (false)\n", LAUNCHES),
    ("launch: ranks share a default stream", AROUND, "->shares_context || !is_default(stream)) return",
     "->shares_context || true) return", LAUNCHES),
    ("launch: ranks share a queue", SUPPORT, "    if (sharers <= queues) return QUERN_OK;", "    if (sharers) return QUERN_OK;",
     LAUNCHES),
    ("launch: every stream is another one", AROUND, "return rank->enqueued && entry->stream == rank->last_stream ?",
     "return rank->enqueued && false ?", LAUNCHES),
    ("launch: another context is current", AROUND, "error != CUDA_ERROR_INVALID_CONTEXT && error != CUDA_ERROR_INVALID_HANDLE)",
     "error != CUDA_ERROR_INVALID_CONTEXT)", LAUNCHES),
    ("launch: the watchdog ends a kernel", "src/ranks/barrier_cuda.c", "device->has_watchdog && timeout", "false && timeout",
     LAUNCHES),
    ("launch: only ends of processes are noticed", WATCH, "if (quern_rank_has_gone(roster, rank))",
     "if (!quern_rank_lives(roster, rank))", GONE),
    ("launch: nobody looks who has gone", "src/kernels/cuda/barrier.cuh", "if (has_gone(slot, seen)) {", "if (false) {", GONE),
    ("launch: a watcher without groups", WATCH,
     "    drop(roster);\n    pthread_mutex_unlock(&watcher.lock);\n    if (!watcher.first) stop();",
     "    drop(roster);\n    pthread_mutex_unlock(&watcher.lock);", GONE),
]
