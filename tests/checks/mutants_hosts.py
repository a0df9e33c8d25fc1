"""Mutants of groups of several hosts, for mutants.py: name, file, old text, new text, suite that must fail."""

from __future__ import annotations

DISSENT, SPLIT, GATHERS, GATHER = "test_hosts_dissent", "test_hosts_split", "test_hosts_gather", "src/ranks/hosts/gather.c"
HOSTS, ENDS, STRANGERS, SHA = "test_hosts", "test_hosts_ends", "test_hosts_strangers", "test_sha256"
SPAN, TRADE, MONITOR, RAGGED = (f"src/ranks/{name}.c" for name in ("hosts/span", "hosts/sendrecv", "hosts/monitor", "ragged/ragged_hosts"))
ROLL, LISTENER, HANDSHAKE, MESH = (f"src/ranks/hosts/{name}.c" for name in ("bootstrap", "listener", "handshake", "mesh"))

RELAY, RELAYED, RELAYS, FRAMES = "test_hosts_relay", *(f"src/ranks/hosts/{name}.c" for name in ("relayed", "relay", "frames"))

RANKS = [
    # The standard's arithmetic.
    ("padding of a whole block more", "src/os/sha256.c", "% BLOCK < BLOCK - 8 ? BLOCK", "% BLOCK <= BLOCK - 8 ? BLOCK", SHA),
    ("a long key as it is", "src/os/sha256.c", "if (key_bytes > BLOCK) {", "if (key_bytes > 1000) {", SHA),
    ("the last byte of a digest not compared", "src/os/sha256.c",
     "for (int i = 0; i < QUERN_DIGEST_BYTES; i++) difference", "for (int i = 0; i < QUERN_DIGEST_BYTES - 1; i++) difference", SHA),
    # Meetings.
    ("a barrier without its first meeting", SPAN,
     "    quern_status status = meet_locally(member, meeting, &local, meeting->timeout);\n    if (status == QUERN_OK && lowest",
     "    quern_status status = QUERN_OK;\n    if (status == QUERN_OK && lowest", HOSTS),
    ("a barrier without its last meeting", SPAN,
     "    if (status == QUERN_OK) status = meet_locally(member, meeting, &local, left_of(meeting->timeout, began) + FURTHEST);\n", "",
     HOSTS),
    ("one round of the leaders", SPAN, "distance *= 2) {", "distance *= 8) {", HOSTS),
    ("the leader is not the lowest member", SPAN, "if (status == QUERN_OK && lowest(&local) == member->rank)",
     "if (status == QUERN_OK && member->roster->host_leader == member->rank)", HOSTS),
    ("another call of another host unseen", TRADE,
     "    if (channel->in_head.tag != sendrecv->tag) return report_other_call(sendrecv, channel);\n", "", HOSTS),
    # Exchanges.
    ("slices from the input that a plan no longer has", RAGGED, "x->outbox[entry].source, 1)",
     "quern_ragged_metadata(call, call->input_offsets, entry), call->row_bytes)", HOSTS),
    ("only what the buffers hold", TRADE, "        if (channel->outs) sent = send_piece(sendrecv, channel);\n",
     "        while (channel->outs && sent != ENDED) sent = send_piece(sendrecv, channel);\n", HOSTS),
    ("slices in place without staging", RAGGED, "call->in_place ? x->staging : call->input", "call->input", HOSTS),
    ("no vote between hosts", RAGGED, "    quern_sendrecv_open(&sendrecv, member, meeting, meeting->set, channels, member->span->order);\n    sendrecv.place = place_verdict;",
     "    quern_sendrecv_open(&sendrecv, member, meeting, &member->span->here, channels, member->span->order);\n    sendrecv.place = place_verdict;", HOSTS),
    # Ends.
    ("silence is not noticed", MONITOR, "        find_silent(monitor);\n", "", ENDS),
    ("poison stays on its host", MONITOR, "        say_poison(monitor);\n", "", ENDS),
    ("a forked child keeps connections", "src/ranks/hosts/sockets.c",
     "    for (int i = 0; i < sockets.count; i++) close(sockets.list[i]);\n", "", ENDS),
    ("sockets for other programs", LISTENER, "accept4(listener->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)",
     "accept4(listener->socket, NULL, NULL, SOCK_NONBLOCK)", ENDS),
    ("a monitor that outlives its group", MONITOR, "    pthread_join(monitor->thread, NULL);\n", "", ENDS),
    # Hosts that meet by an all-gather.
    ("a part without its seal", GATHER, "        if (!quern_same_digest(code, record->seal))\n", "        if (false)\n", GATHERS),
    ("parts in another order", GATHER, "        if (record->fact.rank != rank)\n", "        if (false)\n", GATHERS),
    ("a part of another call", GATHER, "    if (memcmp(mine, &all[member->rank], sizeof *mine) == 0) return QUERN_OK;\n",
     "    return QUERN_OK;\n", GATHERS),
    ("a gather that has failed", GATHER, "    quern_status status = failed ? quern_fail", "    quern_status status = false ? quern_fail",
     GATHERS),
    ("a rank that cannot listen stays away", "src/ranks/hosts/hosts.c",
     "    if (creation->args->all_gather) status = gather(creation, status);\n",
     "    if (creation->args->all_gather && status == QUERN_OK) status = gather(creation, status);\n", GATHERS),
    ("a rank that is not ready says that it is", GATHER, "    record->status = ready;\n", "    record->status = QUERN_OK;\n", GATHERS),
    ("other first epochs", GATHER, "        if (record->first_epoch != all[0].first_epoch)\n", "        if (false)\n", GATHERS),
    ("networks without their last byte", "src/os/address.c", "bit < here->network_bits; bit++)", "bit < here->network_bits / 8 * 8; bit++)", GATHERS),
    ("the first address of a host", GATHER, "best].address)) best = i;", "best].address)) best = 0;",
     "test_hosts_network"),
    ("other numbers of ranks", GATHER, "        if (record->ranks != (uint32_t)member->ranks)\n", "        if (false)\n", GATHERS),
    # Splits.
    ("a rank without a colour stays away", "src/ranks/group/split_hosts.c",
     "    if (wishes[member->rank].colour < 0) return attend(member);\n", "    if (wishes[member->rank].colour < 0) return QUERN_OK;\n", SPLIT),
    ("children that count the ranks of other colours", "src/ranks/group/split_hosts.c",
     "        here += wishes[rank].colour == wishes[member->rank].colour &&", "        here +=", SPLIT),
    # One answer for all hosts.
    ("nobody waits for the poisons of other hosts", "src/ranks/poison.c", "    if (member->control) await_agreement(member);\n", "", DISSENT),
    ("the first poison stays", "src/ranks/poison.c", "    while (!present || precedes(word, present))\n", "    while (!present)\n", DISSENT),
    ("hosts that have not spoken agree", MONITOR,
     "    for (int i = 0; i < monitor->lines; i++) agreed &= !monitor->line[i].is_open || monitor->line[i].poisoned;\n", "", DISSENT),
    # Hosts that end or are slow while others connect.
    ("an end while others connect", MESH, "        if (status == QUERN_OK) status = look_for_ends(work);\n", "", STRANGERS),
    ("a failed creation that tells nobody", "src/ranks/hosts/hosts.c", "    quern_tell_failure(member, creation->control);\n", "", STRANGERS),
    ("silence before the first word", MONITOR, "line->is_open && !line->left && line->heard && now", "line->is_open && !line->left && now",
     STRANGERS),
    # Strangers.
    ("a proof that is not looked at", HANDSHAKE, "    return is_code(h, \"call\", h->proof);\n", "    return true;\n", STRANGERS),
    ("repeated hellos", LISTENER, "        if (memcmp(listener->numbers[i], number, sizeof *listener->numbers) == 0) return true;\n", "", STRANGERS),
    ("slow clients stay", LISTENER, "else if (quern_now() - handshake->began > PATIENCE) turn_away(listener, i, QUERN_STRANGER_SLOW);\n", "",
     STRANGERS),
    ("garbage waits for its end", HANDSHAKE, "        if (is_garbage(h)) return QUERN_HANDSHAKE_FAILED;\n", "", STRANGERS),
    ("a crowd at the listener", LISTENER, "    if (listener->count == QUERN_LISTENER_WAITING) turn_away(listener, 0, QUERN_STRANGER_CROWDED);\n",
     "    if (listener->count == QUERN_LISTENER_WAITING) return;\n", STRANGERS),
    ("ranks of other numbers", ROLL, "    if (card->ranks != (uint32_t)member->ranks) {\n", "    if (false) {\n", STRANGERS),
    ("a rank that came twice", ROLL, "known && !place->is_there[rank] &&", "known &&", STRANGERS),
    ("a host speaks for others", MONITOR, " || monitor->roster->peer[state->rank].host != line->host)\n", ")\n", STRANGERS),
    ("any state of a rank", MONITOR, "        if (state->state < QUERN_RANK_LEFT || state->state > QUERN_RANK_ENDED) return false;\n", "",
     STRANGERS),
    ("poison in the name of an own rank", "src/ranks/poison.c",
     "    if (!roster->peer[rank].is_elsewhere) return present != 0;  /* its own, which has come back */\n", "", STRANGERS),
    # Many ranks: over relays.
    ("credit is read only with messages", RELAYED, "if (wanted > end->window - pair->on_way && !take_frames(member, NULL)) return -1;",
     "if (wanted > end->window && !take_frames(member, NULL)) return -1;", RELAY),
    ("no credit is given", RELAYED, "    give_credit(member, stream, peer);\n", "", RELAY),
    ("frames of other pairs are dropped", RELAYED, "        pair->end += frame.bytes;\n", "        pair->end += pair == asked ? frame.bytes : 0;\n", RELAY),
    ("a full ring stops the relay", RELAYS, "    else if (waiting->end - waiting->begin > relay->most_waiting || !keep(waiting, frame, bytes)) return false;\n",
     "    else if (keep(waiting, frame, bytes)) while (waiting->begin < waiting->end) hand_over(waiting);\n", RELAY),
    ("frames overtake those that wait", RELAYS, "const bool fits = waiting->begin == waiting->end && quern_ring_room",
     "const bool fits = quern_ring_room", RELAY),
    ("what waits has no bound", RELAYS, "waiting->end - waiting->begin > relay->most_waiting || ", "", RELAY),
    ("frames of any sender", FRAMES, "is_end(roster, frame->from, ends->from, ends->from_host) &&", "frame->from < roster->ranks &&", RELAY),
    ("frames for any rank", FRAMES, "? is_end(roster, frame->to, ends->to, ends->to_host)", "? frame->to < roster->ranks", RELAY),
    ("frames without a seal", FRAMES, "return frame->seal == seal_of(frame) && frame->stream", "return frame->stream", RELAY),
    ("a damaged ring is left alone", RELAYS, "    if (damaged && !is_poisoned(relay)) quern_poison_by_frame(roster, rank);\n", "", RELAY),
    ("the sender sleeps over frames", RELAYED, "    if (moved) quern_ring(&member->segment->relay);\n", "", RELAY),
    ("a message for each pair of ranks", SPAN, "return member->span->relay ? exchange_by_leaders", "return false ? exchange_by_leaders", RELAY),
    ("pieces of hosts in the order of their coming", SPAN, "    trade->begin[host] = trade->filled;\n", "    trade->begin[host] = 0;\n", RELAY),
    ("a host with more ranks than it says", "src/ranks/rendezvous.c", "    if (*slot < (uint32_t)member->here) return QUERN_OK;\n",
     "    *slot %= (uint32_t)member->here;\n    return QUERN_OK;\n", RELAY),
    ("sets of 128 ranks", "src/ranks/membership.h", "return (ranks + QUERN_RANK_LIMIT - 1) / QUERN_RANK_LIMIT * QUERN_RANK_WORDS;",
     "return ranks ? QUERN_RANK_WORDS : 0;", RELAY),
]
