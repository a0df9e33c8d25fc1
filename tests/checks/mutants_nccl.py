"""Mutants of NCCL and of groups over it, for mutants.py: name, file, old text, new text, suite that must fail."""

from __future__ import annotations

OPENING, GROUP, RAGGED = "test_nccl", "test_nccl_group", "test_nccl_ragged"
LIBRARY, RANK, BOUNDS, WATCH, BARRIER = (f"src/ranks/nccl/{name}.c" for name in ("nccl", "nccl_rank", "nccl_bounds", "nccl_watch",
                                                                                 "nccl_barrier"))
TRANSPORT = "src/ranks/group/nccl_transport.c"
COLLECTIVE, COLLECTIVES = "test_nccl_collective", "src/ranks/collective/collective_nccl.c"
REDUCE, REDUCTIONS = "test_nccl_reduce", "src/ranks/collective/collective_nccl_reduce.c"
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
    # Reductions.
    ("a slot for all places", REDUCTIONS, "return r->slots + place * r->slot_bytes; }", "return (void)place, r->slots; }", REDUCE),
    ("another order", REDUCTIONS, "    error = quern_cuda_launch(call->member, entry, call->combine,",
     "    const char *first = problem.source[0];\n    problem.source[0] = problem.source[call->places - 1];\n"
     "    problem.source[call->places - 1] = first;\n    error = quern_cuda_launch(call->member, entry, call->combine,", REDUCE),
    ("the own input left out", REDUCTIONS, "    problem->source[call->place] = own;\n", "    problem->source[call->place] = problem->source[0];\n",
     REDUCE),
    ("an own input that lies otherwise is read as if it lay alike", REDUCTIONS, "    if (((uintptr_t)own - slot) % VECTOR)\n", "    if (false)\n", REDUCE),
    ("slots that lie otherwise than the output", REDUCTIONS, " + (uintptr_t)call->output % VECTOR;", ";", REDUCE),
    ("one piece too few", REDUCTIONS, "quern_divide_up(part_of(&r, 0).bytes, r.slot_bytes);", "part_of(&r, 0).bytes / r.slot_bytes;", REDUCE),
    ("the last results stay at their owner", REDUCTIONS, "number < r.pieces + r.is_spread &&", "number < r.pieces &&", REDUCE),
    ("the results of the piece before the last", REDUCTIONS, "add_results(rank, r, messages->number - 1, place,",
     "add_results(rank, r, messages->number - 2 < 0 ? 0 : messages->number - 2, place,", REDUCE),
    ("a share that ends too early", REDUCTIONS, "call->places * (int64_t)LINE) * LINE;", "call->places * (int64_t)LINE) * LINE - LINE * (place == 1);",
     REDUCE),
    ("results at the place of the input", REDUCTIONS, " - (call->form->scatters ? call->place * call->piece_bytes : 0);", ";", REDUCE),
    ("the largest is the sum", REDUCTIONS, "r->call->combination == QUERN_COMBINE_MAX,", "0,", REDUCE),
    ("always in one group", REDUCTIONS, "call->piece_bytes > MORE_BYTES;", "call->piece_bytes > INT64_MAX - 1;", REDUCE),
    ("always in two", REDUCTIONS, "call->piece_bytes > MORE_BYTES;", "call->piece_bytes >= 0;", REDUCE),
    ("slots behind the workspace", REDUCTIONS, "(WORKSPACE - VECTOR) / call->places / LINE * LINE", "WORKSPACE / call->places / LINE * LINE * 2", REDUCE),
    ("a workspace for what is not reduced", COLLECTIVES, "!call->form || call->form->reduces ?", "true ?", COLLECTIVE),
    ("symmetric memory wanted", COLLECTIVES, ".any_workspace = true, ", "", REDUCE),
    ("a failure that only this rank knows", COLLECTIVES, "quern_nccl_fail_inside(member, status);", "status;", REDUCE),
    ("a failure without its reason", BOUNDS, "    quern_error_detail(detail, sizeof detail);\n", "    detail[0] = 0;\n", REDUCE),
    ("a pad that other launches have ended", RANK, "quern_cuda_write(&visit, rank->pad, NULL, bytes);",
     "quern_cuda_write(&visit, rank->pad + pad_bytes, NULL, bytes - pad_bytes);", REDUCE),
]
