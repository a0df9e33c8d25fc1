"""Mutants of the order of steps between ranks, for mutants.py: name, file, old text, new text, suite that must fail."""

from __future__ import annotations

RACES, PAIRS, SCRIBBLES = "faults/races", "faults/pairs", "faults/scribbles"
HOST, MEETING, POISON = "src/ranks/ragged/ragged_host.c", "src/ranks/meeting.c", "src/ranks/poison.c"
BRIEF = "src/ranks/ragged/ragged_brief.c"
RENDEZVOUS, SHRINK = "src/ranks/rendezvous.c", "src/ranks/group/shrink.c"
ATTEMPTS, MISSING, SHRINKS = "test_attempts", "test_missing", "test_shrink"
SIZES, SIZES_SUITE = "src/ranks/ragged/ragged_sizes.c", "test_ragged_sizes"

RANKS = [
    # The three races that a review found untested.
    ("no look at the poison before the copy", HOST,
     "    quern_status status = quern_check_poison(exchange->call->member);\n", "    quern_status status = QUERN_OK;\n", RACES),
    ("a time-out although the last has come", MEETING,
     "    if (!text.length) return QUERN_OK;  /* the last rank has arrived just now */\n", "", RACES),
    ("a refused group is joined", RENDEZVOUS,
     "                     __atomic_load_n(&joining->segment->poison, __ATOMIC_ACQUIRE) ||\n"
     "                     state_of(joining->segment) != QUERN_SEGMENT_FORMING;\n", "                     false;\n", RACES),
    # Other orders.
    ("no look at the poison before the next window", HOST,
     "        if (status == QUERN_OK) status = quern_check_poison(exchange->call->member);\n", "", RACES),
    ("a rank that has come and left is lost", MEETING,
     "if (gone && !has_come(wait, slot)) return rank;", "if (gone) return rank;", RACES),
    ("a group refused although it is complete", RENDEZVOUS,
     "    bool refused = decide(joining->segment, QUERN_SEGMENT_REFUSED) != QUERN_SEGMENT_READY;\n",
     "    bool refused = decide(joining->segment, QUERN_SEGMENT_REFUSED) != 0;\n", RACES),
    ("the last decision stands", RENDEZVOUS,
     "    return first ? decision : state;\n",
     "    __atomic_store_n(&segment->state, decision, __ATOMIC_RELEASE);\n    return first ? decision : state;\n", RACES),
    ("ready before the name is removed", RENDEZVOUS,
     "    QUERN_POINT(FORM_COMPLETE);\n",
     "    QUERN_POINT(FORM_COMPLETE);\n    decide(joining->segment, QUERN_SEGMENT_READY);\n", RACES),
    ("a place complete before its process is written", RENDEZVOUS,
     "    place->process = joining->roster->self;\n    place->address = member->address;\n",
     "    __atomic_store_n(&place->state, QUERN_RANK_JOINED, __ATOMIC_RELEASE);\n    QUERN_POINT(FORM_SEATED);\n"
     "    place->process = joining->roster->self;\n    place->address = member->address;\n", PAIRS),
    ("poison seen before its reason", POISON,
     "    QUERN_POINT(POISON_WRITTEN);\n",
     "    __atomic_store_n(&segment->poison, (uint32_t)status_of(poison), __ATOMIC_SEQ_CST);\n"
     "    QUERN_POINT(POISON_WRITTEN);\n", PAIRS),
    ("the last poison stands", POISON,
     "    return first;\n",
     "    if (!first) __atomic_store_n(&segment->poison_by, poison, __ATOMIC_RELEASE);\n    return first;\n", PAIRS),
    ("a place counted before it is complete", RENDEZVOUS,
     "    QUERN_POINT(FORM_CLAIMED);\n",
     "    if (__atomic_load_n(&joining->segment->joined, __ATOMIC_ACQUIRE) + 1 == (uint32_t)member->ranks)\n"
     "        decide(joining->segment, QUERN_SEGMENT_READY);\n    QUERN_POINT(FORM_CLAIMED);\n", PAIRS),
    ("announced before the mailbox is filled", MEETING,
     "    for (int i = 0; i < count; i++) write_piece(members[i], bytes ? (const char *)payloads[i] + offset : NULL, bytes);\n"
     "    QUERN_POINT(EXCHANGE_WRITTEN);\n    quern_status status = meet_in_exchange(members, count, meeting, "
     "bytes ? (const char *)payloads[0] + offset : NULL, bytes);\n",
     "    for (int i = 0; i < count; i++) quern_announce(members[i], meeting);\n    QUERN_POINT(EXCHANGE_WRITTEN);\n"
     "    for (int i = 0; i < count; i++) write_piece(members[i], bytes ? (const char *)payloads[i] + offset : NULL, bytes);\n"
     "    quern_status status = QUERN_OK;\n"
     "    for (int i = 0; i < count && status == QUERN_OK; i++) status = quern_await(members[i], meeting);\n",
     PAIRS),
    ("a meeting that ends before the last has come", MEETING,
     "        if (!has_come(wait, wait->next)) return false;\n",
     "        if (!has_come(wait, wait->next)) return wait->next > 0;\n", PAIRS),
    ("a plan that writes before the others come", HOST,
     "    quern_status status = quern_ragged_vote(call, &meeting);\n    if (status != QUERN_OK) return status;\n"
     "    QUERN_POINT(RAGGED_ENTERED);\n    quern_status result",
     "    quern_status status = QUERN_OK;\n    QUERN_POINT(RAGGED_ENTERED);\n    quern_status result", PAIRS),
    # Bounds against strangers: each alone.
    ("a status that is none", "src/ranks/describe.c",
     "return status != QUERN_OK && quern_is_status(status) ? status : QUERN_PEER_MISMATCH;", "return status;", SCRIBBLES),
    ("a rank that poisons and is none", POISON,
     "else if (source == REASON && rank < member->ranks)", "else if (source == REASON)", SCRIBBLES),
    ("the number of ranks of the segment", POISON,
     "    for (int slot = 0; slot < roster->here; slot++) {\n        struct quern_segment_place *place",
     "    for (int slot = 0; slot < (int)segment->here; slot++) {\n        struct quern_segment_place *place", SCRIBBLES),
    ("rows before the output", "src/ranks/ragged/ragged_check.c",
     "    if (notice->output_offset < 0) return", "    if (false) return", SCRIBBLES),
    ("slices from beyond the input", "src/ranks/ragged/ragged_exchange.c",
     "return lies_within(notice->source, bytes, terms->source_bytes);", "return true;", SCRIBBLES),
    # The short way of an exchange.
    ("sizes not compared in a brief", BRIEF,
     "sent->size != mine->entry[sender * call->updates + update].expected || ", "", "test_ragged"),
    ("rows behind the output, by a brief", BRIEF, "sent->output_offset > mine->output_rows - sent->size)", "false)", "test_ragged"),
    ("rows of other sizes, by a brief", BRIEF, "briefs[place].row_bytes != call->row_bytes ||", "", "test_ragged"),
    ("memory that a rank has freed, by a brief", BRIEF, "briefs[place].live != briefs[0].live)", "false)", "test_ragged"),
    ("one half of a brief", BRIEF, "rank, meeting);", "rank, 0 * meeting);", "test_ragged"),
    ("slices in front of a brief", BRIEF, "        if (brief->entry[i].size < 0) return false;\n", "", "test_ragged"),
    ("slices behind a brief", BRIEF, "sent <= most_sent && ", "", "test_ragged"),
    ("bytes of an output that overflow, by a brief", BRIEF, " && brief->output_rows <= most;", ";", "test_ragged"),
    ("a brief without a seal", BRIEF, "brief->seal == seal_of(brief, HEAD + entries);", "true;", "test_ragged"),
    ("a private output for all to reach", BRIEF, "call->output_state == QUERN_MEMORY_SYMMETRIC);\n    return", "true);\n    return",
     "test_ragged"),
    ("a brief in place", BRIEF, "call->in_place || ", "", "test_ragged"),
    ("a brief without a look at overlaps", BRIEF, " || call->check_overlap ||", " ||", "test_ragged"),
    ("numbers of 32 bits in a brief", BRIEF, "return all <= INT32_MAX;", "return all <= INT64_MAX;", "test_ragged"),
    ("slices of another rank in a brief", BRIEF, "        if (place != sender) from += bytes_for", "        from += bytes_for",
     "test_ragged"),
    ("more slices than a brief holds", BRIEF, "(bytes <= QUERN_BRIEF_PAYLOAD ? QUERN_RAGGED_SMALL : 0)", "QUERN_RAGGED_SMALL",
     "test_ragged"),
    ("a direct copy without an exit", HOST,
     "    QUERN_POINT(RAGGED_COPIED);\n    if (status == QUERN_OK) status = quern_ragged_meet_here(call, meeting, QUERN_PHASE_EXIT);\n",
     "    QUERN_POINT(RAGGED_COPIED);\n", PAIRS),
    ("a direct copy in a group that is poisoned", HOST,
     "    quern_status status = quern_check_poison(call->member);\n    if (status != QUERN_OK) return status;\n"
     "    QUERN_POINT(RAGGED_COPYING);\n    status = quern_ragged_deliver",
     "    QUERN_POINT(RAGGED_COPYING);\n    quern_status status = quern_ragged_deliver", RACES),
    ("a mixed call that is not entered again", HOST,
     "    if (way == QUERN_RAGGED_MIXED) return run_long(exchange, call, meeting);\n", "", "test_ragged"),
    ("a quota that is not asked", "src/ranks/roster.c", "crowded |= is_short_of_time(roster, rank);", "crowded |= false;",
     "test_memory_limits"),
    ("a quota for each rank of a control group", "src/ranks/roster.c",
     "ranks += quern_segment_place(&roster->view, (uint32_t)slot)->quota_group == place->quota_group;", "ranks = 1;", "test_memory_limits"),
    ("a quota without its period", "src/os/cpu_quota.c", "1000 * (double)quota / (double)period", "(double)quota", "test_memory_limits"),
    # Attempts at a job, and limits.
    ("a file that is being made is a remnant", RENDEZVOUS, " && !is_being_made(&file) &&", " &&", ATTEMPTS),
    ("a remnant of another user", RENDEZVOUS, " && file.st_uid == geteuid() &&", " &&", ATTEMPTS),
    ("an attempt without a number", RENDEZVOUS, "return name > job && *name", "return *name", ATTEMPTS),
    ("an attempt without a point behind its number", RENDEZVOUS, " && *name == '.' &&", " &&", ATTEMPTS),
    ("no number, and others removed", RENDEZVOUS, " && joining->job) remove_remnants", ") remove_remnants", ATTEMPTS),
    ("a group that lives is a remnant", RENDEZVOUS, "            flock(other.descriptor, LOCK_EX | LOCK_NB) == 0)",
     "            true)", ATTEMPTS),
    ("a plan without a limit of its own", "src/ranks/ragged/ragged_all_to_all.c",
     " && !(args->timeout > 0)) call", ") call", MISSING),
    ("a plan with the first limit", "src/ranks/ragged/ragged_all_to_all.c", "!(args->timeout > 0)) call", "false) call", MISSING),
    ("missing by a rank that does not exist", POISON, "    if (rank >= member->ranks) return;\n", "", MISSING),
    # Shrinking.
    ("the dead are awaited", SHRINK, "(quern_rank_has_gone(member->roster, rank) || quern_now() >= shrinking->patience)",
     "quern_now() >= shrinking->patience", SHRINKS),
    ("the late are awaited", SHRINK, "(quern_rank_has_gone(member->roster, rank) || quern_now() >= shrinking->patience)",
     "quern_rank_has_gone(member->roster, rank)", SHRINKS),
    ("a failed rank stays", SHRINK, "    if (status != QUERN_OK) exclude_own(shrinking);\n", "", SHRINKS),
    ("a failed rank leaves its own round", SHRINK, "{word.come, shrinking->round + 1}", "{word.come, shrinking->round}",
     "faults/shrinks"),
    ("who has gone on is awaited", SHRINK, "has_gone_on || quern_rank_has_gone(member->roster, rank)",
     "quern_rank_has_gone(member->roster, rank)", SHRINKS),
    ("who has died in the round is awaited", SHRINK, "has_gone_on || quern_rank_has_gone(member->roster, rank)",
     "has_gone_on", SHRINKS),
    ("a round that is never over", SHRINK, "veto = {check_round, shrinking};", "veto = {0};", SHRINKS),
    ("one round", SHRINK, "while (status == QUERN_PEER_LOST &&", "while (status == QUERN_PEER_LOST && shrinking->round < 1 &&",
     SHRINKS),
    ("the limits of the call are kept", SHRINK,
     "formed[i]->timeout = formed[i]->first_timeout = shrinking->members[i]->first_timeout;", "(void)0;", SHRINKS),
    ("old ranks", SHRINK, "place += quern_set_has(living, other)", "place++", SHRINKS),
    ("nobody else learns of it", SHRINK, "    quern_poison_by_abort(members[0],", "    if (0) quern_poison_by_abort(members[0],",
     SHRINKS),
    ("shrunk twice", SHRINK, "    for (int i = 0; i < count; i++) members[i]->is_shrunk = true;\n", "", SHRINKS),
    # The metadata from the sizes.
    ("only the first receivers", SIZES, "first < counting->ranks && status", "first < counting->block && status", SIZES_SUITE),
    ("a fault of what is received is not told", SIZES,
     "            if (taken[i] != QUERN_OK) quern_cast_vote(counting->members[i], taken[i], 0);\n", "", SIZES_SUITE),
    ("other updates", SIZES, "member->heard[rank].value != member->heard[0].value", "false", SIZES_SUITE),
    ("an input beyond the metadata", SIZES, "counted->input_rows > largest_of(counted)", "false", SIZES_SUITE),
]
