"""Tests the tests: breaks the code in known ways, one at a time, in a scratch copy of the tree, and checks that the named suite
fails.  A mutant that survives shows a gap in the tests.

    python3 tests/checks/mutants.py                  the CPU's mutants and those of CPU ranks (no nvcc needed)
    python3 tests/checks/mutants.py --emulated       the GPU's, on the emulator; copies the tree's build if it exists
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import mutants_adam
import mutants_chunks
import mutants_chunks_gpu
import mutants_collective
import mutants_collective_gpu
import mutants_cross_entropy
import mutants_embedding
import mutants_hosts
import mutants_launches
import mutants_look
import mutants_memory
import mutants_nccl
import mutants_quantize
import mutants_ranks
import mutants_scale
import mutants_structs
import mutants_transfer
import mutants_transfer_gpu
import mutants_unloading

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from mutation import equivalent  # noqa: E402
from runner import checks, devices, targets  # noqa: E402

_EMULATED = targets.first_with("clusters")  # it has all features: clusters, bulk and asynchronous copies
EMULATED_TARGET, CAPABILITY = _EMULATED.name, _EMULATED.emulated


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    old: str     # occurs exactly once
    new: str
    suite: str   # the program in build/tests that must fail, or the name of a check of tests/runner/checks.py


CPU = [
    *(Mutant(*row) for row in mutants_adam.CPU),
    *(Mutant(*row) for row in mutants_cross_entropy.CPU),
    *(Mutant(*row) for row in mutants_unloading.CPU),
    *(Mutant(*row) for row in mutants_embedding.CPU),
    *(Mutant(*row) for row in mutants_structs.CPU),
    *(Mutant(*row) for row in mutants_quantize.CPU),
    *(Mutant(*row) for row in mutants_look.CPU),
]

RANKS = [
    *(Mutant(*row) for row in mutants_ranks.RANKS),
    *(Mutant(*row) for row in mutants_collective.RANKS),
    *(Mutant(*row) for row in mutants_chunks.RANKS),
    *(Mutant(*row) for row in mutants_hosts.RANKS),
    *(Mutant(*row) for row in mutants_scale.RANKS),
    *(Mutant(*row) for row in mutants_transfer.RANKS),
    *(Mutant(*row) for row in mutants_look.RANKS),
    Mutant("signals without release", "src/ranks/meeting.c",
           "quern_make_signal(epoch, tag), __ATOMIC_RELEASE)", "quern_make_signal(epoch, tag), __ATOMIC_RELAXED)", "race_ranks"),
    Mutant("looks without acquire", "src/ranks/meeting.c",
           ".signal : member->from[slot], __ATOMIC_ACQUIRE);",
           ".signal : member->from[slot], __ATOMIC_RELAXED);", "race_ranks"),
    Mutant("signals to all without release", "src/ranks/meeting.c",
           "&half->signal, signal, __ATOMIC_RELEASE)", "&half->signal, signal, __ATOMIC_RELAXED)", "race_ranks"),
    Mutant("one half of a mailbox", "src/ranks/meeting.c",
           "const uint32_t half = member->exchanges++;", "const uint32_t half = 0 * member->exchanges++;", "test_group"),
    Mutant("just this epoch", "src/kernels/collective.h",
           "return (int32_t)(seen - expected) >= 0;", "return seen == expected;", "test_host_barrier"),
    Mutant("epochs that may not wrap around", "src/kernels/collective.h",
           "return (int32_t)(seen - expected) >= 0;", "return seen >= expected;", "test_host_barrier"),
    Mutant("slot of the peer", "src/ranks/rendezvous.c",
           "member->to[slot] = quern_signal_between(roster, member->rank, peer);",
           "member->to[slot] = quern_signal_between(roster, peer, member->rank);", "test_host_barrier"),
    Mutant("uncounted meeting", "src/ranks/meeting.c",
           "uint32_t epoch = ++member->count[peer];", "uint32_t epoch = member->count[peer];", "test_host_barrier"),
    Mutant("uncounted meeting of all", "src/ranks/meeting.c",
           "const uint32_t epoch = ++member->all_count;", "const uint32_t epoch = member->all_count;", "test_host_barrier"),
    Mutant("everyone's pad", "src/ranks/meeting.c",
           "if (!quern_set_has(meeting->set, roster->rank_at[peer])) continue;", "", "test_host_barrier"),
    Mutant("forgotten wake-up", "src/ranks/meeting.c",
           "if (arrivals == __atomic_load_n(&peer->wake_at, __ATOMIC_SEQ_CST)) quern_futex_wake(&peer->arrivals);",
           "(void)arrivals;", "test_host_barrier"),
    Mutant("wake-up one signal late", "src/ranks/meeting.c",
           "*seen + count_missing(wait), __ATOMIC_SEQ_CST", "*seen + count_missing(wait) + 1, __ATOMIC_SEQ_CST",
           "test_host_barrier"),
    Mutant("sleepers of all forgotten", "src/ranks/meeting.c",
           "    __atomic_add_fetch(&segment->wakes, 1, __ATOMIC_SEQ_CST);\n    quern_futex_wake(&segment->wakes);\n", "",
           "test_host_barrier"),
    Mutant("poison that leaves the meeting of all asleep", "src/ranks/poison.c",
           "    quern_futex_wake(&segment->wakes);\n", "", "test_group"),
    Mutant("a meeting of the other kind unseen", "src/ranks/meeting.c",
           "        find_other_call(wait);\n", "", "test_host_barrier"),
    Mutant("a rank that never loses patience", "src/ranks/patience.c",
           "    patience->looks /= 2;\n", "", "test_liveness"),
    Mutant("a rank that stays impatient", "src/ranks/patience.c",
           "    patience->looks += patience->looks / 4 + 1;\n", "", "test_liveness"),
    Mutant("a rank that yields to a core's other work for ever", "src/ranks/patience.c",
           "    patience->looks = 0;\n", "", "test_liveness"),
    Mutant("a rest without an end", "src/ranks/patience.c", "patience->looks = 1;", "patience->looks = 0;", "test_liveness"),
    Mutant("one failure is enough", "src/ranks/patience.c", "FORGIVEN = 2", "FORGIVEN = 0", "test_liveness"),
    Mutant("calls not compared", "src/ranks/meeting.c",
           "quern_signal_tag(signal) == wait->tag) return;\n    wait", "true) return;\n    wait", "test_host_barrier"),
    Mutant("members not compared", "src/ranks/meeting.c",
           "quern_set_digest(called, member->ranks));", "0u);", "test_host_barrier"),
    Mutant("ranks that have left are awaited", "src/ranks/meeting.c",
           "*left = __atomic_load_n(&ranks[rank].state, __ATOMIC_ACQUIRE) == QUERN_RANK_LEFT;", "*left = false;",
           "test_host_barrier"),
    Mutant("dead ranks are awaited", "src/ranks/meeting.c",
           "bool gone = *left || !lives;", "bool gone = *left || (!lives && false);", "faults/faults"),
    Mutant("poison without words", "src/ranks/poison.c",
           "quern_text_add_list(&text, format, list);", "(void)text;", "test_host_barrier"),
    Mutant("poison that wakes nobody", "src/ranks/poison.c",
           "    wake_all(member->roster);\n", "    (void)wake_all;\n", "test_group"),
    Mutant("memory left behind", "src/ranks/roster.c", "--roster->users == 0", "--roster->users < 0", "test_group"),
    Mutant("epochs without the first one", "src/ranks/describe.c",
           "member->first_epoch + __atomic_load_n(&place->meetings", "__atomic_load_n(&place->meetings", "test_group"),
    Mutant("a socket of another user", "src/ranks/descriptors.c", " && peer.uid == geteuid();", ";", "test_symmetric"),
    Mutant("a descriptor of another user", "src/ranks/descriptors.c",
           "        if (is_of_this_user(connection)) {", "        if (true) {", "test_symmetric"),
    Mutant("memory registered anew under a plan", "src/ranks/ragged/ragged_check.c",
           "now.id != place->id;", "(false && place);", "test_ragged"),
    Mutant("name left behind", "src/ranks/rendezvous.c",
           "if (name_is_ours(joining)) shm_unlink(joining->name);", "(void)name_is_ours;", "test_group"),
    Mutant("another group's name removed", "src/ranks/rendezvous.c",
           "if (name_is_ours(joining)) shm_unlink(joining->name);", "shm_unlink(joining->name), (void)name_is_ours;",
           "faults/meeting_place"),
    Mutant("two remove a name at once", "src/ranks/rendezvous.c",
           "fcntl(joining->descriptor, F_OFD_SETLK, &lock) != 0; attempt++", "false; attempt++", "faults/meeting_place"),
    Mutant("remains joined", "src/ranks/rendezvous.c",
           "if (flock(joining->descriptor, LOCK_EX | LOCK_NB) == 0) {", "if (false) {", "faults/meeting_place"),
    Mutant("file of another user", "src/ranks/rendezvous.c",
           "if (file->st_uid != geteuid())", "if (false)", "faults/meeting_place"),
    Mutant("file open to others", "src/ranks/rendezvous.c",
           "if (file->st_mode & 077)", "if (false)", "faults/meeting_place"),
    Mutant("memory not reserved", "src/os/file_size.c",
           "do errno = posix_fallocate(descriptor, (off_t)offset, (off_t)bytes);",
           "do errno = ftruncate(descriptor, (off_t)(offset + bytes));",
           "faults/meeting_place"),
    Mutant("number of ranks not compared", "src/ranks/rendezvous.c",
           "same_ranks = ranks == (uint32_t)member->ranks,", "same_ranks = true,", "test_group"),
    Mutant("first epoch not compared", "src/ranks/rendezvous.c",
           "same_epoch = first_epoch == member->first_epoch;", "same_epoch = true;", "test_group"),
    Mutant("rank given twice", "src/ranks/rendezvous.c",
           "__atomic_compare_exchange_n(&place->state, &state, QUERN_RANK_CLAIMED, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);",
           "(void)place;", "test_group"),
    Mutant("claim awaited for ever", "src/ranks/rendezvous.c",
           "while (state == QUERN_RANK_CLAIMED && is_in_time(joining)) {", "while (state == QUERN_RANK_CLAIMED) {",
           "faults/meeting_place"),
    Mutant("nobody looks after the next rank", "src/ranks/rendezvous.c",
           "gone = next != member->rank && ", "gone = false && ", "faults/meeting_place"),
    Mutant("reason written past the segment", "src/ranks/rendezvous.c",
           "        quern_poison_by_ranks(joining->segment, member->rank, member->ranks);",
           "        joining->segment->rank[member->rank].reason[0] = 0, quern_poison_by_ranks(joining->segment, member->rank, 1);",
           "test_group"),
    Mutant("group refused when it is ready", "src/ranks/rendezvous.c",
           "decide(joining->segment, QUERN_SEGMENT_REFUSED) != QUERN_SEGMENT_READY;",
           "(decide(joining->segment, QUERN_SEGMENT_REFUSED), true);", "test_group"),
    Mutant("refused group made ready", "src/ranks/rendezvous.c",
           "    decide(joining->segment, QUERN_SEGMENT_READY);\n", "    joining->segment->state = QUERN_SEGMENT_READY;\n",
           "test_group"),
    Mutant("handle destroyed twice", "src/ranks/handles.c",
           "__atomic_exchange_n(&group->member, NULL, __ATOMIC_SEQ_CST);", "__atomic_load_n(&group->member, __ATOMIC_SEQ_CST);",
           "test_group"),
    Mutant("destroyed under another thread's eyes", "src/ranks/handles.c",
           "while (__atomic_load_n(&group->visitors, __ATOMIC_SEQ_CST)) sched_yield();", "", "race_ranks"),
    Mutant("keys in the wrong order", "src/ranks/group/split_hosts.c",
           "wishes[other].key < wishes[rank].key ||", "wishes[other].key > wishes[rank].key ||", "test_group"),
    Mutant("split that does not end its parent", "src/ranks/group/split.c",
           "status = quern_poison(member, status, \"quern_group_split: %s\", reason);", "(void)member;", "faults/faults"),
    Mutant("a failure that only its rank learns of", "src/ranks/agreement.c",
           "if (all[rank].status == QUERN_OK) continue;", "if (rank != members[0]->rank || all[rank].status == QUERN_OK) continue;", "test_symmetric"),
    Mutant("hits of different registrations", "src/ranks/symmetric/symmetric.c",
           "*hit &= all[rank].value == all[0].value;", "*hit &= all[rank].value != MISS;", "test_symmetric"),
    Mutant("registrations not counted", "src/ranks/symmetric/symmetric.c",
           "if (oldest->registrations > 1) {", "if (false) {", "test_symmetric"),
    Mutant("ranges that overlap", "src/ranks/symmetric/symmetric.c",
           "|| range->base != pointer || range->bytes != (int64_t)bytes)", "|| range->base != pointer)", "test_symmetric"),
    Mutant("peer beyond its part", "src/ranks/symmetric/symmetric.c",
           "if (place.offset > place.peer_bytes[rank] || (place.offset && place.offset == place.peer_bytes[rank]))", "if (false)",
           "test_symmetric"),
    Mutant("memory goes with its first part", "src/ranks/symmetric/symmetric_memory.c",
           "    memory->holders--;\n    if (use) {", "    memory->holders = 0;\n    if (use) {", "test_symmetric"),
    Mutant("groups' memory confused", "src/ranks/symmetric/symmetric_memory.c",
           "memory->id != id || memcmp(memory->group, group, sizeof memory->group) != 0", "memory->id != id || (false && group)",
           "test_symmetric"),
    Mutant("addresses come back at once", "src/ranks/symmetric/symmetric_host.c",
           "        mmap(state->addresses, state->address_bytes, PROT_NONE,",
           "        munmap(state->addresses, state->address_bytes);\n"
           "    if (false)\n        mmap(state->addresses, state->address_bytes, PROT_NONE,", "test_symmetric"),
    Mutant("frees remembered for ever", "src/ranks/symmetric/symmetric_ranges.c",
           "if (count <= REMEMBERED && bytes <= REMEMBERED_BYTES) return;", "if (count <= 1000 * REMEMBERED && bytes <= "
           "REMEMBERED_BYTES) return;", "test_symmetric"),
    Mutant("an earlier registration lost", "src/ranks/symmetric/symmetric_ranges.c",
           "        range->older = ranges->by_base[before - 1];\n", "", "test_symmetric"),
    Mutant("limit of file sizes not asked for", "src/os/file_size.c",
           "(uint64_t)bytes <= limit.rlim_cur) return true;", "bytes) return true;", "test_symmetric"),
    Mutant("a connection left open", "src/ranks/descriptors.c",
           "        any_cut |= cut;\n        close(connection);", "        any_cut |= cut;", "test_symmetric"),
    Mutant("parts that share pages", "src/ranks/symmetric/symmetric_host.c",
           "return rank < ranks ? quern_round_up(offset, unit_of(&parts[rank]))", "return rank < ranks ? (size_t)rank * PAGE",
           "test_symmetric"),
    Mutant("a call returns before the others have copied", "src/ranks/ragged/ragged_host.c",
           "status = copy(exchange, meeting, rounds);\n"
           "    if (status == QUERN_OK) status = quern_ragged_meet_here(call, meeting, QUERN_PHASE_EXIT);",
           "status = copy(exchange, meeting, rounds);", "test_ragged"),
    Mutant("a plan runs before the others come", "src/ranks/ragged/ragged_host.c",
           "    quern_status status = quern_ragged_vote(call, &meeting);\n    if (status != QUERN_OK) return status;\n"
           "    QUERN_POINT(RAGGED_ENTERED);\n",
           "    quern_status status = QUERN_OK;\n", "test_ragged"),
    Mutant("copies before all have agreed", "src/ranks/ragged/ragged_host.c",
           "status = quern_ragged_vote(call, &meeting);\n    if (status != QUERN_OK) return status;\n    *result", "status = QUERN_OK;\n    *result", "test_ragged"),
    Mutant("fault of the highest rank", "src/ranks/ragged/ragged_host.c",
           "return call->refused != QUERN_OK ? call->refused : fail_with(call->member, &verdict.report, rank);",
           "if (call->refused == QUERN_OK) fail_with(call->member, &verdict.report, rank);", "test_ragged"),
    Mutant("a window filled under its readers", "src/ranks/ragged/ragged_host.c",
           "status = quern_ragged_meet_here(exchange->call, meeting, QUERN_PHASE_COPY);",
           "(void)meeting;", "test_ragged"),
    Mutant("notices for somebody else", "src/ranks/ragged/ragged_exchange.c",
           "outbox + (size_t)call->place * bytes", "outbox + (size_t)peer * bytes", "test_ragged"),
    Mutant("in place without an image", "src/ranks/ragged/ragged_exchange.c",
           "const char *input = call->in_place ? x->staging : call->input;", "const char *input = call->input;", "test_ragged"),
    Mutant("an image that threads write twice", "src/ranks/ragged/ragged_exchange.c",
           "in_order = in_order && begin >= end;", "in_order = true;", "test_ragged"),
    Mutant("one window instead of two", "src/ranks/ragged/ragged_exchange.c",
           "stream->ring + from % (2 * stream->window)", "stream->ring + from % stream->window", "test_ragged"),
    Mutant("a plan of other members", "src/ranks/ragged/ragged_exchange.c",
           "quern_status status = check_members(x);", "quern_status status = QUERN_OK; (void)check_members;", "test_ragged"),
    Mutant("workspace a line short", "src/ranks/ragged/ragged_exchange.c",
           "(size_t)notices_bytes(call) + staging_bytes(call);",
           "(size_t)notices_bytes(call) + staging_bytes(call) - ALIGNMENT;", "test_ragged"),
    Mutant("a row beyond the input", "src/ranks/ragged/ragged_check.c",
           "if (end > call->input_rows)", "if (end > call->input_rows + 1)", "test_ragged"),
    Mutant("a row beyond the output", "src/ranks/ragged/ragged_check.c",
           "if (end > call->output_rows)", "if (end > call->output_rows + 1)", "test_ragged"),
    Mutant("an end that wraps around", "src/ranks/ragged/ragged_check.c",
           "? INT64_MAX : sum", "? sum : sum", "test_ragged"),
    Mutant("more than was expected", "src/ranks/ragged/ragged_check.c",
           "notice->size != expected", "notice->size < expected", "test_ragged"),
    Mutant("an overlap of one row", "src/ranks/ragged/ragged_check.c",
           "inbox[before].size <= inbox[entry]", "inbox[before].size <= 1 + inbox[entry]", "test_ragged"),
    Mutant("a cut behind the end of a slice", "src/ranks/ragged/ragged_copies.c",
           "return inside < copy->bytes ? inside : copy->bytes;", "return inside;", "test_ragged"),
    Mutant("no head", "src/kernels/cpu/ragged_copy.h",
           "part_copy(to, from, head);", "(void)0;", "test_ragged"),
    Mutant("a freed input", "src/ranks/symmetric/symmetric_lookup.c",
           "if (*state != QUERN_MEMORY_FREED) return QUERN_OK;", "if (*state) return QUERN_OK;", "test_ragged"),
    Mutant("in place unseen", "src/ranks/ragged/ragged_all_to_all.c",
           "call->in_place = args->input && args->output &&", "call->in_place = false && args->output &&", "test_ragged"),
]

# Missing checks and lost resources, which the fuzzer must notice in the time that it has in a run of all tests.
FUZZED = [
    Mutant("workspace of any size", "src/runtime/arguments.c", "    if (given < needed)\n", "    if (false)\n", "fuzz"),
    Mutant("struct of any size", "src/runtime/arguments.c",
           "    return refuse_size(device, name, size, known);", "    return (void)refuse_size, (void)name, QUERN_OK;", "fuzz"),
    Mutant("outputs that lie in inputs", "src/cross_entropy/cross_entropy.c",
           "status = quern_check_apart(call->device, NULL, ranges.list, NULL, ranges.count);", "(void)ranges;", "fuzz"),
    Mutant("a plan that loses memory", "src/adam/adam_plan.c",
           "    free(plan->pieces.list);\n    free(plan);", "    free(plan);", "fuzz"),
    Mutant("workers that stay", "src/runtime/threads.c", "    if (pool.devices)\n", "    if (true)\n", "fuzz"),
    Mutant("a descriptor that stays", "src/ranks/rendezvous.c",
           "        close_descriptor(&joining);\n        return QUERN_OK;\n", "        return QUERN_OK;\n", "fuzz"),
    Mutant("a row behind the receiver's output", "src/ranks/ragged/ragged_check.c",
           "if (end > call->output_rows) return", "if (end > call->output_rows + 1) return", "fuzz"),
    Mutant("ranks with rows of other sizes", "src/ranks/ragged/ragged_exchange.c",
           "if (terms->row_bytes != call->row_bytes)", "if (false)", "fuzz"),
]

EMULATED = [
    *(Mutant(*row) for row in mutants_adam.EMULATED),
    *(Mutant(*row) for row in mutants_quantize.EMULATED),
    *(Mutant(*row) for row in mutants_look.EMULATED),
    *(Mutant(*row) for row in mutants_cross_entropy.EMULATED),
]

EMULATED_RANKS = [
    *(Mutant(*row) for row in mutants_chunks_gpu.EMULATED_RANKS),
    *(Mutant(*row) for row in mutants_collective_gpu.EMULATED_RANKS),
    *(Mutant(*row) for row in mutants_memory.EMULATED_RANKS),
    *(Mutant(*row) for row in mutants_nccl.EMULATED_RANKS),
    *(Mutant(*row) for row in mutants_transfer_gpu.EMULATED_RANKS),
    Mutant("slot of the peer", "src/kernels/cuda/barrier.cuh",
           "device_pad(links.pad[threadIdx.x], links.ranks).pair(links.rank)",
           "device_pad(links.pad[threadIdx.x], links.ranks).pair(threadIdx.x)", "test_barrier_cuda"),
    Mutant("uncounted meeting", "src/kernels/cuda/barrier.cuh",
           "            *own.count(threadIdx.x) = expected;\n", "", "test_barrier_cuda"),
    Mutant("not a member, but signalled", "src/kernels/cuda/barrier.cuh",
           "return rank != links.rank && is_member(links, rank);", "return rank != links.rank && rank < links.ranks;",
           "test_barrier_cuda"),
    Mutant("calls not compared", "src/kernels/cuda/barrier.cuh",
           "(quern_signal_tag(seen) & ~QUERN_TAG_DISSENTS) != tag", "false", "test_barrier_cuda"),
    Mutant("poison that nobody sees", "src/kernels/cuda/barrier.cuh",
           "store_release_system(links.poison, (uint32_t)status);", "", "test_barrier_cuda"),
    Mutant("missing rank without its epoch", "src/kernels/cuda/barrier.cuh",
           "            error->seen[threadIdx.x] = seen;\n", "", "test_barrier_cuda"),
    *(Mutant(*row) for row in mutants_launches.EMULATED),
    Mutant("vote ignored", "src/kernels/cuda/ragged_all_to_all.cuh",
           "if (!result.ended && result.dissenter >= 0 && threadIdx.x == 0) {", "if (false) {", "test_ragged_faults_cuda"),
    Mutant("slice that begins at the byte missed", "src/kernels/cuda/ragged_all_to_all.cuh",
           "slice[first + probe].begin <= byte;", "slice[first + probe].begin < byte;", "test_ragged_cuda"),
    Mutant("every warp the first share", "src/kernels/cuda/ragged_all_to_all.cuh",
           "block + threadIdx.x / WARP * of_warp;", "block + threadIdx.x / (2 * WARP) * of_warp;", "test_ragged_cuda"),
    Mutant("tail not copied", "src/kernels/cuda/warp_copy.cuh",
           "    copy_vectors<aligned_source<BYTES>>(to + head, from + head, vectors, 0);\n"
           "    copy_edge(to + tail, from + tail, bytes - tail);",
           "    copy_vectors<aligned_source<BYTES>>(to + head, from + head, vectors, 0);", "test_ragged_cuda"),
    Mutant("shifted by words only", "src/kernels/cuda/warp_copy.cuh", "8 * (shift & 3)", "8 * (shift & 2)", "test_ragged_cuda"),
    Mutant("metadata of 64 bits read as 32", "src/kernels/cuda/ragged_metadata.cuh",
           "return problem.metadata_is_int64 ?", "return false ?", "test_ragged_cuda"),
    Mutant("one row beyond the output", "src/kernels/cuda/ragged_metadata.cuh",
           "offer.size) > problem.output_rows ?", "offer.size) > problem.output_rows + 1 ?", "test_ragged_faults_cuda"),
    Mutant("disagreement unnoticed", "src/kernels/cuda/ragged_metadata.cuh",
           "offer.size != expected  ", "false  ", "test_ragged_faults_cuda"),
    Mutant("offset in bytes", "src/kernels/cuda/ragged_metadata.cuh",
           "problem.input + entry.input_offset * problem.row_bytes", "problem.input + entry.input_offset", "test_ragged_cuda"),
]


def check_of(suite: str) -> checks.Check | None:
    return next((check for check in checks.CHECKS if check.name == suite), None)


def copy_tree(to: Path, with_build: bool) -> None:
    """Copies the tree; its build, at the root only: templates/build holds sources."""
    products = set() if with_build else {"build", "libquern.a", ".ninja_log", ".ninja_deps"}

    def ignored(folder: str, names: list[str]) -> set[str]:
        return {".git", "__pycache__"} | (products if Path(folder) == ROOT else set())

    shutil.copytree(ROOT, to, symlinks=True, ignore=ignored, dirs_exist_ok=True)


class Tree:
    """The scratch copy, in which either the CPU kernels or the emulated ones are built and tested."""

    def __init__(self, root: Path, emulated: bool):
        self.root = root
        self.emulated = emulated
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("QUERN_")}
        self.environment["TSAN_OPTIONS"] = "halt_on_error=1 exitcode=66"
        if emulated:
            self.environment.update(
                QUERN_TEST_DEVICE="cuda", QUERN_TEST_SCALE="small", QUERN_EMULATOR=CAPABILITY,
                QUERN_TEST_TARGET=EMULATED_TARGET,
                LD_LIBRARY_PATH=str(root / "build" / "emulator"))
        else:
            self.environment.update(NVCC="none", QUERN_TEST_DEVICE="cpu")

    def build(self, suite: str, with_program: bool) -> bool:
        """Builds the suite and the kernels; false if that fails.  A mutant of GPU kernels needs only the translated kernels."""
        found = check_of(suite)
        programs = [] if not with_program else list(found.targets) if found else [f"build/tests/{suite}"]
        kernels = [*devices.DRIVER, f"build/emulator/{EMULATED_TARGET}.so"] if self.emulated else []
        commands = [[sys.executable, "-m", "gen", "render"], ["ninja", "--quiet", *programs, *kernels]]
        return all(self.run(command) for command in commands)

    def run(self, command: list[str]) -> bool:
        return subprocess.run(command, cwd=self.root, env=self.environment, capture_output=True).returncode == 0

    def passes(self, suite: str) -> bool:
        if suite == "fuzz":
            return self.run([sys.executable, "tests/fuzz/run.py"])
        if found := check_of(suite):
            return self.run(list(found.command))
        options = ["-j1", "--timeout", "300"] if suite.startswith("test_") else []  # options of Criterion
        return self.run([str(self.root / "build" / "tests" / suite), *options])


def try_mutant(tree: Tree, mutant: Mutant) -> str:
    """Returns `killed`, or the reason why the mutant was not killed."""
    path = tree.root / mutant.file
    original = path.read_text()
    if original.count(mutant.old) != 1:
        return f"{mutant.file} has its text {original.count(mutant.old)} times"
    path.write_text(original.replace(mutant.old, mutant.new))
    try:
        if not tree.build(mutant.suite, with_program=not tree.emulated or mutant.file.endswith(".c")):
            return "it does not compile"
        return f"{mutant.suite} passes" if tree.passes(mutant.suite) else "killed"
    finally:
        path.write_text(original)


def check() -> int:
    """Checks that the text of every mutant still occurs once in its file, and that of each mutant listed as equivalent at all.  This
    is quick enough for every test run."""
    every = [*CPU, *RANKS, *FUZZED, *EMULATED, *EMULATED_RANKS]
    stale = [m for m in every if (ROOT / m.file).read_text().count(m.old) != 1]
    for mutant in stale:
        print(f"{mutant.name}: {mutant.file} does not hold its text exactly once")
    gone = equivalent.stale()
    for name in gone:
        print(f"tests/mutation/equivalent.txt: not in the source any more: {name}")
    total = len(every) + len(equivalent.read())
    print(f"{total - len(stale) - len(gone)} passed, {len(stale) + len(gone)} failed")
    return 1 if stale or gone else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Breaks the code on purpose and demands that the tests notice.")
    parser.add_argument("--emulated", action="store_true", help="the GPU kernels, on the emulator")
    parser.add_argument("--only", metavar="GLOB", default="*", help="mutants to try")
    parser.add_argument("--check", action="store_true", help="only look whether each mutant's text is still there")
    options = parser.parse_args()
    if options.check:
        return check()
    every = [*EMULATED, *EMULATED_RANKS] if options.emulated else [*CPU, *RANKS, *FUZZED]
    mutants = [m for m in every if fnmatch.fnmatch(m.name, options.only)]
    survivors = 0
    with tempfile.TemporaryDirectory() as directory:
        copy_tree(Path(directory), with_build=options.emulated)
        tree = Tree(Path(directory), options.emulated)
        for suite in sorted({m.suite for m in mutants}):
            if not tree.build(suite, with_program=True) or not tree.passes(suite):
                print(f"{suite} does not pass without any mutant")
                return 1
        for mutant in mutants:
            outcome = try_mutant(tree, mutant)
            survivors += outcome != "killed"
            print(f"{mutant.name}: {outcome}", flush=True)
    print(f"{len(mutants) - survivors} passed, {survivors} failed")
    return 1 if survivors or not mutants else 0


if __name__ == "__main__":
    sys.exit(main())
