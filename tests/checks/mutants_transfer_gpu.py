"""Mutants of transfers between GPU ranks, for mutants.py: name, file, old text, new text, suite that must fail."""

from __future__ import annotations

OVER_NCCL, IN_HOST, AGAIN, KEPT = "test_nccl_transfer", "test_transfer_cuda", "test_nccl_again", "test_nccl_cache"
CACHE = "src/ranks/nccl/nccl_cache.c"
PAIR, WATCH = "src/ranks/nccl/nccl_pair.c", "src/ranks/nccl/nccl_watch.c"
LINK, GPU, TALK, BYTES, TRANSFER, TRANSFERS = (
    f"src/ranks/transfer/{name}.c" for name in ("link", "gpu", "talk", "bytes", "transfer", "transfers"))

EMULATED_RANKS = [
    # The communicator of a pair.
    ("both ranks of a pair are the first", PAIR, "pair->comm.rank = member->rank > pair->peer;", "pair->comm.rank = 0;", OVER_NCCL),
    ("a list in one group of NCCL", PAIR, "pair->count - pair->done < QUERN_NCCL_GROUP_OPERATIONS ?", "pair->count >= 0 ?", OVER_NCCL),
    ("an error of NCCL that nobody reads", PAIR, '    if (!is_ready(pair, "a transfer over NCCL")) return;\n', "", OVER_NCCL),
    ("a pair that is not aborted", PAIR, "    if (pair->comm.handle) pair->rank->nccl->abort(pair->comm.handle);\n    pair->comm.handle = NULL;\n    pair->status",
     "    pair->comm.handle = NULL;\n    pair->status", OVER_NCCL),
    ("pairs that are not watched", WATCH, "== CUDA_SUCCESS) quern_nccl_watch_pairs(rank);", "== CUDA_SUCCESS) (void)rank;", OVER_NCCL),
    # The link.
    ("work before the other rank is ready", LINK, "    if (!link->is_heard || wire->status != QUERN_OK) return moved;\n",
     "    if (wire->status != QUERN_OK) return moved;\n", OVER_NCCL),
    ("the engine's stream is not waited for", LINK, "const quern_status status = count ? wait_for_engine(link) : QUERN_OK;",
     "const quern_status status = count < 0 ? wait_for_engine(link) : QUERN_OK;", OVER_NCCL),
    ("batches go one by one", LINK, "!first->other_batch) return;", "first->other_batch) return;", OVER_NCCL),
    ("an abort that only this end knows of", LINK, "    if (is_news)\n        quern_wire_say", "    if (is_news && false)\n        quern_wire_say", OVER_NCCL),
    ("an abort that is obeyed twice", LINK, " || wire->link->nccl->phase == QUERN_NCCL_NONE) return;", ") return;", OVER_NCCL),
    ("what the other rank alone has enqueued waits", LINK, "if (pair->flies || pair->is_over || !was_ready)", "if (pair->flies || !was_ready)",
     OVER_NCCL),
    ("a communicator that is never given up", LINK, "if (hangs || is_unmade) break_link", "if (hangs || (false && is_unmade)) break_link",
     OVER_NCCL),
    ("a flight that outlives its transfer", TRANSFERS, "    if (pair->release) pair->release(pair, status, text);\n", "", OVER_NCCL),
    ("an end spoils what flies", TALK, "    if (is_needed && !flew) quern_transfer_fail", "    if (is_needed) quern_transfer_fail", OVER_NCCL),
    ("an end before the start is taken for one behind the flight", TALK, "head->number >> 32 && head->round == pair->transfer->round);",
     "head->round == pair->transfer->round || true);", OVER_NCCL),
    ("a captured start", GPU, "    if (!is_capturing) return QUERN_OK;\n", "    if (is_capturing < 2) return QUERN_OK;\n", OVER_NCCL),
    ("a stream of another GPU", GPU, "    quern_status status = quern_cuda_check_stream(member, stream);\n",
     "    quern_status status = QUERN_OK;\n", OVER_NCCL),
    ("copies within the rank that do not wait", GPU, "CUresult error = visit->cuda->stream_wait_event(stream, transfer->gpu->ready, 0);",
     "CUresult error = CUDA_SUCCESS;", OVER_NCCL),
    ("copies within the rank that outlive their transfer", TRANSFERS, "    if (!wire && pair->release) pair->release(pair, status, reason);\n", "",
     OVER_NCCL),
    # Communicators of earlier groups.
    ("nothing is kept", LINK, "const bool is_kept = quern_nccl_recall_pair(link->nccl, NULL);", "const bool is_kept = false;", AGAIN),
    ("the numbers of this group in a communicator of another one", PAIR, "const int other = !pair->comm.rank;",
     "const int other = pair->rank->member->rank < pair->peer;", AGAIN),
    ("one that has failed meanwhile", PAIR, "        if (is_sound(pair)) {\n            pair->phase", "        if (true) {\n            pair->phase",
     AGAIN),
    ("one of an aborted group", PAIR, "pair->phase == QUERN_NCCL_READY && __atomic_load_n(&member->segment->poison, __ATOMIC_ACQUIRE) == 0 &&",
     "pair->phase == QUERN_NCCL_READY &&", AGAIN),
    ("any one of the upper rank", LINK, "else if (!quern_nccl_recall_pair(link->nccl, &id)) say(", "else if (!quern_nccl_recall_pair(link->nccl, NULL)) say(",
     AGAIN),
    ("one of a closed device", CACHE, "    quern_set_device_end(end_of_device);\n", "    (void)end_of_device;\n", AGAIN),
    ("a miss that breaks transfers", LINK, "    quern_nccl_reset_pair(link->nccl);\n    link->is_said = link->is_heard = false;\n    link->is_forgotten = true;\n",
     "    quern_nccl_reset_pair(link->nccl);\n    link->is_said = link->is_heard = false;\n    quern_wire_damaged(wire);\n", AGAIN),
    ("one of another pair", CACHE, " && is_same(&kept->comm.other, &wanted->other) &&", " &&", KEPT),
    ("one of another id", CACHE, "(!id || memcmp(&kept->comm.id, id, sizeof *id) == 0)", "(!id || memcmp(&kept->comm.id, id, 64) == 0)", KEPT),
    ("one of another context", CACHE, "kept->context == context && ", "", KEPT),
    ("a child has its parent's", CACHE, "    cache.count = 0;\n", "", KEPT),
    ("the newest makes room", CACHE, "surplus[count++] = remove_at(0);", "surplus[count++] = remove_at(cache.count - 1);", KEPT),
    # Within a host.
    ("a start that is said before the stream has come to it", TALK, "if (pair->is_said || !quern_gpu_is_ready(pair->transfer)) return false;",
     "if (pair->is_said) return false;", IN_HOST),
    ("an address of another process", GPU, "entries[i].memory = place.id + 1;", "entries[i].memory = 0;", IN_HOST),
    ("memory that another process does not reach", GPU, "bytes, &place) == QUERN_MEMORY_SYMMETRIC) continue;\n        return",
     "bytes, &place) <= QUERN_MEMORY_FREED) continue;\n        return", IN_HOST),
    ("a copy that is not waited for", GPU, "= error == CUDA_SUCCESS ? visit.cuda->stream_synchronize(stream) : error;", "= error;", IN_HOST),
    ("a GPU sends messages of data", BYTES, "    if (pair->transfer->gpu || quern_is_carried(pair, course) ||", "    if (quern_is_carried(pair, course) ||", IN_HOST),
]
