"""Mutants of transfers, for mutants.py: name, file, old text, new text, suite that must fail."""

from __future__ import annotations

BASIC, ENDS, HOSTS, RACES = "test_transfer", "test_transfer_ends", "test_hosts_transfer", "race_ranks"
LIST, AGREE, BYTES, LANE, WIRE, TALK, TRANSFER, TRANSFERS, WAIT = (
    f"src/ranks/transfer/{name}.c" for name in ("transfer_list", "agree", "bytes", "lane", "wire", "talk", "transfer", "transfers",
                                                "wait"))
WITHDRAW = "src/ranks/transfer/withdraw.h"

RANKS = [
    # Lists.
    ("two sends that overlap are refused, not a receive", LIST, "longest[!part->receive]", "longest[part->receive]", BASIC),
    ("only neighbours are compared", LIST, "longest[kind]->memory + longest[kind]->bytes < part->memory + part->bytes)", "true)", BASIC),
    ("an item twice", LIST, "one->tag != other->tag || one->receive != other->receive) continue;", "true) continue;", BASIC),
    ("a sum that may be anything", LIST, "if ((all += item->bytes) > MOST_BYTES)", "if ((all = item->bytes) > MOST_BYTES)", BASIC),
    ("each end has an order of its own", LIST, "return *(const int *)rank <= x->peer ? order : -order;", "(void)rank;\n    return order;",
     BASIC),
    # Agreement.
    ("sizes that are not compared", AGREE, "else if (ours->bytes != theirs->bytes) fail_sizes", "else if (false) fail_sizes", ENDS),
    ("items that only the other rank has", AGREE, "i < pair->count || i < count; i++", "i < pair->count && i < count; i++", ENDS),
    ("an item for a rank without any is not refused", TALK, "        quern_refuse_list(transfer, wire->peer, entries, count);\n", "", ENDS),
    ("destroyed ones have no turn", TRANSFER,
     "    for (int i = 0; i < transfer->pair_count; i++) quern_keep_turn(transfer->member->transfers, &transfer->pairs[i]);\n", "", ENDS),
    ("what came before the prepare is forgotten", TALK, "    if (!early || early->is_own) return;\n", "    return;\n", ENDS),
    ("ranks that speak first are not heard", WAIT, "    quern_find_speakers(transfer->member->transfers);\n", "", ENDS),
    # Bytes.
    ("a start of this rank is enough", BYTES,
     "    if (pair->in.is_complete || pair->other_round < pair->transfer->round) return false;\n",
     "    if (pair->in.is_complete) return false;\n", BASIC),
    ("nothing goes before the other rank has started", BYTES, "= waits && course->all > QUERN_TRANSFER_EAGER ? QUERN_TRANSFER_EAGER : course->all;",
     "= waits ? 0 : course->all;", BASIC),
    ("what came before the start is dropped", BYTES, "    for (int64_t copied = 0; copied < pair->landed;) {", "    for (; false;) {\n        int64_t copied = 0;",
     BASIC),
    ("a ring that forgets where it is", LANE, "const size_t at = (end->moved + moved) % end->room,", "const size_t at = moved % end->room,",
     BASIC),
    ("half a message in a lane", WIRE, "    return room > needed ? room - needed : 0;\n", "    return QUERN_WIRE_PIECE + 0 * (room + needed);\n",
     ENDS),
    ("pieces in the order of one item", BYTES, "        bytes -= left;\n", "        bytes = 0;\n", BASIC),
    # Ends.
    ("a cancel stays here", TRANSFERS, "    quern_wire_say(wire, end, text, sizeof text);\n", "", ENDS),
    ("the reason stays here", TRANSFERS, "    quern_copy_text(text, reason, sizeof text);\n", "    (void)reason;\n", ENDS),
    ("a cancel does not wait for a thread that copies", WITHDRAW, "    if (wire->out.is_mapped || copying % 2 == 0) return;\n", "    return;\n",
     RACES),
    ("a copy that does not look for a cancel", WITHDRAW,
     "    if (__atomic_load_n(&lane->ends, __ATOMIC_SEQ_CST) == wire->ends) return true;\n", "    return true;\n", RACES),
    ("data goes on to memory that was taken back", TRANSFERS, "    if (wire->sink == pair) wire->sink = NULL;\n", "", ENDS),
    ("an end after all has come", TALK, "&& !(pair->in.is_complete && pair->out.is_complete);\n    pair->is_over", ";\n    pair->is_over",
     ENDS),
    ("a limit that only this end knows of", WAIT,
     "    quern_transfer_fail(transfer, QUERN_PEER_TIMEOUT, \"rank %d waited %g s for %s\", member->rank, waited, missing);\n",
     "    transfer->state = QUERN_TRANSFER_OVER;\n    transfer->status = QUERN_PEER_TIMEOUT;\n", ENDS),
    ("a rank that dies is waited for", WAIT, "    find_lost(transfer, now);\n", "", ENDS),
    ("a poison is not looked for", WAIT, "    if (quern_transfer_poisoned(transfer) != QUERN_OK) return;\n", "", ENDS),
    ("a group that leaves its transfers", TRANSFER, "    if (!count) return QUERN_OK;\n    return quern_fail", "    return QUERN_OK;\n    return quern_fail",
     BASIC),
    ("a message whatever its seal is", WIRE, "head->seal == quern_seal_of_frame(head) && head->word &&", "head->word &&", ENDS),
    ("a list whatever its digest is", WIRE,
     "    if (quern_digest_of_payload(wire->payload, (size_t)wire->head.bytes) == wire->head.digest) return true;\n",
     "    return true;\n", ENDS),
    # Hosts.
    ("a full connection is the end", WIRE, "    if (moved < 0 && errno != EAGAIN && errno != EINTR) mute(wire);\n", "    if (moved < 0) mute(wire);\n",
     HOSTS),
    ("one piece is all", BYTES, "    while (is_started(pair) && send_data(pair)) moved = true;\n", "    if (pair->out.done == 0) moved |= send_data(pair);\n",
     HOSTS),
]
