"""Mutants of NCCL and of groups over it, for mutants.py: name, file, old text, new text, suite that must fail."""

from __future__ import annotations

OPENING, GROUP, RAGGED = "test_nccl", "test_nccl_group", "test_nccl_ragged"
LIBRARY, RANK, BOUNDS, WATCH, BARRIER = (f"src/ranks/nccl/{name}.c" for name in ("nccl", "nccl_rank", "nccl_bounds", "nccl_watch",
                                                                                 "nccl_barrier"))
TRANSPORT = "src/ranks/group/nccl_transport.c"
COLLECTIVE, COLLECTIVES = "test_nccl_collective", "src/ranks/collective/collective_nccl.c"
EXCHANGE, GATHER = "src/ranks/ragged/ragged_nccl.c", "src/ranks/ragged/ragged_gather.c"

EMULATED_RANKS = [
    # Opening.
    ("the file that is named not opened", LIBRARY, 'named && *named ? named : "libnccl.so.2"', '"libnccl.so.2"', OPENING),
    ("an empty name opened", LIBRARY, "named && *named ?", "named ?", OPENING),
    ("any version of NCCL", LIBRARY, "if (library.version >= QUERN_NCCL_MIN) return true;", "return true;", OPENING),
    ("a lost host is an error of CUDA", LIBRARY,
     "[ncclRemoteError] = QUERN_PEER_LOST", "[ncclInvalidUsage] = QUERN_PEER_LOST", OPENING),
    ("NCCL's own words dropped", LIBRARY, 'last && *last ? last : ""', '""', OPENING),
    # Communicators.
    ("a communicator that blocks", RANK, "    config.blocking = 0;\n", "", GROUP),
    ("work before all are ready", TRANSPORT, "    if (status == QUERN_OK) status = quern_nccl_connect(member, &id);\n", "", GROUP),
    ("each rank by its own id", TRANSPORT, "    *id = all[0];\n", "", GROUP),
    ("not asked whether a call has ended", RANK, "return has_begun ? await(rank, wait) :", "return has_begun ? QUERN_OK :", GROUP),
    ("the watcher without the lock", WATCH, "if (pthread_mutex_trylock(&rank->lock)) return;",
     "const bool locked = !pthread_mutex_trylock(&rank->lock);", GROUP),
    ("destroyed before all have finalized", RANK,
     "        is_ready = state == ncclSuccess;\n", "        is_ready = true;\n", GROUP),
    ("two ranks of one GPU", TRANSPORT, "roster->peer[rank].host != roster->peer[other].host || ", "true || ", GROUP),
    ("the GPU of another host is the same", TRANSPORT, "roster->peer[rank].host != roster->peer[other].host || ", "", GROUP),
    # Bounds.
    ("no limit on the stream", WATCH, "    return status == QUERN_OK ? quern_nccl_check_limit(rank->member, &wait, now) : status;",
     "    return status;", GROUP),
    ("no limit of calls", RANK,
     "        if (status == QUERN_OK) status = quern_nccl_check_limit(rank->member, wait, now);\n", "", GROUP),
    ("a rank that has ended is awaited", WATCH,
     "    if (now - operation->began > GRACE) status = quern_nccl_check_gone(rank->member, &wait);\n", "", GROUP),
    ("errors of NCCL not looked at", WATCH,
     'if (status == QUERN_OK) status = quern_nccl_ask(rank, "an operation of NCCL", &is_ready);',
     "(void)is_ready;", GROUP),
    ("poison that lets NCCL run", WATCH,
     "look(rank) != QUERN_OK) quern_nccl_abort(rank);", "look(rank) != QUERN_OK) (void)0;", GROUP),
    ("more operations than places", RANK,
     "rank->next - rank->first < QUERN_NCCL_PENDING", "rank->next - rank->first < 1000", GROUP),
    ("who is behind not told", BOUNDS, "        missing[rank / 32] |= 1u << rank % 32;\n", "        (void)missing;\n", GROUP),
    ("another call is a late one", BOUNDS, "in_other_call ? QUERN_PEER_MISMATCH : QUERN_PEER_TIMEOUT", "QUERN_PEER_TIMEOUT", GROUP),
    # Barriers.
    ("some ranks by a sum of all", BARRIER, "is_of_all ? add_everyone : add_some", "add_everyone", GROUP),
    ("a barrier of some without receives", BARRIER, "        if (result != ncclSuccess) break;\n", "        continue;\n", GROUP),
    ("all receive in one word", BARRIER, "word_at(rank, 1 + peer), 1", "word_at(rank, 1), 1", GROUP),
    ("a barrier in a graph", BARRIER, "    if (entry.capturing) {", "    if (false) {", GROUP),
    # Exchanges.
    ("slices merged by the input alone", EXCHANGE,
     " && before->output_offset + before->size == slice->output_offset;", ";", RAGGED),
    ("slices merged by the output alone", EXCHANGE, "before->source + before->size == slice->source && ", "", RAGGED),
    ("slices not merged", EXCHANGE, "    return before && ", "    return false && before && ", RAGGED),
    ("all messages in one group", EXCHANGE, "QUERN_NCCL_GROUP_OPERATIONS / 2 / call->places", "INT32_MAX", RAGGED),
    ("the last group forgotten", EXCHANGE, "(number + plan->window - 1) / plan->window", "number / plan->window", RAGGED),
    ("nothing from a rank to itself", EXCHANGE,
     "            add_copies(plan, slices);\n", "            (void)add_copies;\n", RAGGED),
    ("in place over NCCL", EXCHANGE, "    if (!call->in_place) return QUERN_OK;\n", "    return QUERN_OK;\n", RAGGED),
    ("some ranks meet all", EXCHANGE, "    if (call->set.count < call->member->ranks)\n", "    if (false)\n", RAGGED),
    ("receives not checked", GATHER,
     "            quern_ragged_check_receives(call, inbox, order, report);", "            (void)order;", RAGGED),
    ("updates not compared", GATHER,
     "differ(call, QUERN_SLICE_UPDATES, peer, call->updates, terms->updates, report) ||", "", RAGGED),
    # Collectives.
    ("all pieces at one place", COLLECTIVES, "call->output + place * call->piece_bytes);", "call->output);", COLLECTIVE),
    ("a rank's own piece left out", COLLECTIVES, "if (!call->input || to == call->input) return QUERN_OK;", "return QUERN_OK;",
     COLLECTIVE),
    ("arguments not compared", COLLECTIVES, "    if (status == QUERN_OK) status = compare(call);\n", "", COLLECTIVE),
    ("some members gather", COLLECTIVES, "    if (call->places < member->ranks)\n", "    if (false)\n", COLLECTIVE),
]
