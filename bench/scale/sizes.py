"""The bytes of the messages.  tests/checks/scale.py compares them with what the library sends."""

from __future__ import annotations

# src/ranks/hosts/handshake.h: hello, challenge, proof, welcome.
HELLO, CHALLENGE, PROOF, WELCOME = 56, 48, 32, 40
HANDSHAKE = HELLO + CHALLENGE + PROOF + WELCOME

# src/ranks/hosts/bootstrap.h and facts.h: a host's card and the facts of its ranks; the verdict and the facts of all; with a seal.
CARD, VERDICT, FACT, SEAL = 216, 268, 80, 32
PART = 584              # of each rank in an all-gather: struct record of src/ranks/hosts/gather.c

FRAME = 24              # struct quern_frame: the head of a message between ranks
BRIEF, BRIEF_ENTRY, BRIEF_RANKS, BRIEF_SLICES = 40, 12, 16, 1024  # src/ranks/ragged/ragged_brief.h
TERMS, NOTICE, VOTE = 160, 24, 56                                 # src/ranks/ragged/ragged_exchange.h

# src/ranks/hosts/monitor.c: head, state of a rank; where datagrams go.
HEAD, STATE = 8, 20
PLACE = HEAD + 16

# Of a relay: the head of a frame (seal, sender, receiver, stream, bytes, credit), and the bytes of a stream in it.
RELAY_HEAD, RELAY_FRAME = 16, 16 << 10


def brief_bytes(ranks: int, size: int) -> int:
    """Of a rank that sends `size` bytes to each rank; slices of its own are not in it."""
    entries = BRIEF + BRIEF_ENTRY * ranks
    return (entries + 7) // 8 * 8 + (ranks - 1) * size


def exchange_frames(ranks: int, size: int) -> list[tuple[str, int]]:
    """The messages from a rank to each rank of another host in one exchange of equal slices: what each is, and its bytes."""
    if ranks <= BRIEF_RANKS and (ranks - 1) * size <= BRIEF_SLICES:
        return [("brief", FRAME + brief_bytes(ranks, size))]
    brief = BRIEF if ranks <= BRIEF_RANKS else 0
    return [("entry", FRAME + brief + TERMS + NOTICE), ("vote", FRAME + VOTE), ("slices", FRAME + size)]


def plan_frames() -> list[tuple[str, int]]:
    return [("entry", FRAME + TERMS + NOTICE), ("vote", FRAME + VOTE)]


def run_frames(size: int) -> list[tuple[str, int]]:
    return [("vote", FRAME + VOTE), ("slices", FRAME + size)]


def beat_bytes(ranks: int) -> int:
    """What a monitor says of its ranks."""
    return HEAD + STATE * ranks
