"""Holds the simulation of groups of many hosts (bench/scale) against the library, against cases computed by hand, and its tables
against what it predicts.

The library's messages, bytes and connections are counted by build/tests/traffic/group in each phase of a group of 2 to 4 hosts.
Called by tests/run.py.  The last line is `N passed, N failed`.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from unittest import mock

import cases

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from scale import barrier, calls, creation, exchange, failures, networks, picture, results, sizes, tables  # noqa: E402
from scale.calls import Call, Loop  # noqa: E402
from scale.networks import DATACENTRE, LOOPBACK, Costs, Network  # noqa: E402
from scale.protocols import (  # noqa: E402
    CALLS, CONTROL, DATA, DIRECT, LEAST, MEETING, MOST, PROTOCOLS, RELAY, TRANSFERS, Door, Protocol)
from scale.world import Count, Shape, World  # noqa: E402

GROUP = ROOT / "build" / "tests" / "traffic" / "group"
RELAYED = "relay"
KINDS = (MEETING, DATA, CONTROL, TRANSFERS, RELAYED)
SMALL = 8  # bytes: of the small exchange of group.c

# Round numbers, to compute with by hand.
COSTS = Costs(connect=1000, accept=100, send=10, receive=20, send_byte=0, receive_byte=0, attempt=0, poll=0, poll_each=0, way=0,
              bell=5, code=200, code_byte=0, compare=0)
FAR = Network("far", 10000, 0)


def expect(found: object, expected: object, what: str) -> None:
    if found != expected:
        raise AssertionError(f"{what}: {found}, expected {expected}")


# ---- what the library sends ----


def counted(shape: Shape, size: int, way: str, protocol: Protocol) -> dict[str, dict]:
    """By phase."""
    command = [str(GROUP), str(shape.hosts), str(shape.here), str(size), way, protocol.name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {line["phase"]: line for line in map(json.loads, done.stdout.splitlines())}


def simulated(shape: Shape, size: int, way: str, protocol: Protocol) -> dict[str, dict[str, Count]]:
    """The phases of group.c that are modelled: by phase and kind of connection, of which the data goes over that of the
    protocol."""
    costs = networks.measured()

    def frames(of: exchange.Frames) -> dict[str, Count]:
        found = exchange.run(shape, costs, LOOPBACK, protocol, of)
        return {DATA: Count(0, found.messages, found.bytes)}

    created = creation.create(shape, costs, LOOPBACK, protocol, way, all_ranks=True)
    met = barrier.run(shape, costs, LOOPBACK, protocol)
    return {"creation": created.counts, "barrier": {DATA: Count(0, met.messages, met.bytes)},
            "small exchange": frames(sizes.exchange_frames(shape.ranks, SMALL)),
            "exchange": frames(sizes.exchange_frames(shape.ranks, size)), "plan": frames(sizes.plan_frames()),
            "plan run": frames(sizes.run_frames(size)),
            "end": frames([("goodbye", sizes.FRAME)])}


def compare(shape: Shape, size: int, way: str, protocol: Protocol = DIRECT) -> None:
    library, model = counted(shape, size, way, protocol), simulated(shape, size, way, protocol)
    for phase, counts in model.items():
        if protocol.is_relayed:
            counts[RELAYED] = counts.pop(DATA)   # at the end not all: a relay has nothing for one that has gone
        for kind in KINDS if phase != "end" else (DATA,):
            count, found = counts.get(kind, Count()), library[phase][kind]
            sent = (found["connections"], found["handshake_bytes"], found["messages"], found["bytes"])
            said = (count.connections, count.handshake_bytes, count.messages, count.bytes)
            expect(sent, said, f"{shape.hosts} hosts of {shape.here} ranks, {protocol.name}, {way}, {phase}, {kind}: "
                               "connections, bytes of their handshakes, messages, bytes: the library has sent")
    for phase, found in library.items():
        beats = found[CONTROL]
        expect(beats["beat_bytes"], beats["beats"] * sizes.beat_bytes(shape.here), f"{phase}: bytes of beats")
    expect(library["rest"][CONTROL]["beats"] > 0, True, "beats of a group that rests")
    last = library["end"][RELAYED]
    expect(last["bytes"], last["messages"] * (sizes.FRAME + sizes.RELAY_HEAD), "bytes of goodbyes over relays")
    expect(last["messages"] <= shape.ranks * (shape.ranks - shape.here), True, "goodbyes over relays")
    goodbyes = library["end"][CONTROL]   # a monitor says none to one that has gone
    expect(goodbyes["bytes"], goodbyes["messages"] * sizes.HEAD, "bytes of the monitors' goodbyes")
    expect(0 < goodbyes["messages"] <= shape.hosts * (shape.hosts - 1), True, "the monitors' goodbyes")
    if way == "gather":
        expect(library["creation"]["part_bytes"], sizes.PART, "bytes of a part of the all-gather")


def test_the_library_sends_what_is_simulated() -> None:
    for hosts in (2, 3, 4):
        for here in (1, 2, 4):
            compare(Shape(hosts, here), 2048, "meet")


def test_many_ranks_send_what_is_simulated() -> None:
    compare(Shape(2, 8), 4096, "meet")   # as many as have briefs
    compare(Shape(4, 8), 512, "meet")    # more


def test_hosts_that_meet_by_an_all_gather_send_what_is_simulated() -> None:
    compare(Shape(2, 2), 4096, "gather")
    compare(Shape(3, 2), 300, "gather")


def test_relays_send_what_is_simulated() -> None:
    compare(Shape(2, 1), 2048, "meet", RELAY)
    compare(Shape(3, 2), 2048, "meet", RELAY)
    compare(Shape(4, 4), 512, "meet", RELAY)
    compare(Shape(2, 3), 512, "gather", RELAY)


# ---- what the library's sources say ----


def test_limits_are_those_of_the_library() -> None:
    hosts = ROOT / "src" / "ranks" / "hosts"
    stated = {
        (hosts / "listener.c", r"LEAST_PLACES = (\d+)"): LEAST.places,
        (hosts / "listener.h", r"QUERN_LISTENER_PLACES = (\d+)"): MOST,
        (hosts / "listener.c", r"LEAST_BACKLOG = (\d+)"): LEAST.backlog,
        (hosts / "listener.c", r"enum \{ CALLS = (\d+)"): CALLS,
        (hosts / "connector.c", r"PAUSE = (\d+)"): calls.PAUSE,
        (hosts / "connector.c", r"PATIENCE = (\d+)"): calls.PATIENCE,
        (ROOT / "src" / "ranks" / "silence.h", r"RAREST = (\d+)"): failures.BEAT,
        (ROOT / "src" / "ranks" / "silence.h", r"QUERN_USUAL_SILENCE ([\d.]+)"): failures.SILENCE / 1e9,
        (hosts / "monitor.c", r"TICK = (\d+)"): failures.TICK / 1e6,
        (hosts / "sendrecv.c", r"GRACE = (\d+)"): failures.GRACE / 1e6,
        (hosts / "socket_row.c", r"PIECE = (\d+) << 10"): exchange.PIECE / 1024,
        (hosts / "mesh.c", r"TICK = (\d+)"): failures.MESH_TICK / 1e6,
        (hosts / "mesh.c", r"GRACE = (\d+)"): failures.MESH_GRACE,
    }
    for (path, pattern), value in stated.items():
        found = re.search(pattern, path.read_text())
        expect(found and float(found.group(1)), float(value), f"{path.name}, {pattern}")


# ---- by hand ----


def test_a_barrier_of_two_hosts() -> None:
    """Each sends (10), the message is on its way (10,000), the other reads it (20)."""
    found = barrier.run(Shape(2, 1), COSTS, FAR, DIRECT)
    expect((round(found.seconds * 1e9), found.messages, found.bytes, found.most_sent), (10030, 2, 48, 1), "two hosts")
    found = barrier.run(Shape(2, 2), COSTS, FAR, DIRECT)
    expect(round(found.seconds * 1e9), 10030 + 2 * COSTS.bell, "two hosts of two ranks: one is woken before, one after")
    found = barrier.run(Shape(5, 1), COSTS, FAR, DIRECT)
    expect((round(found.seconds * 1e9), found.messages, found.most_sent), (3 * 10030, 15, 3), "five hosts: three rounds")
    found = barrier.run(Shape(2, 1), COSTS, FAR, RELAY)
    expect((round(found.seconds * 1e9), found.bytes), (10030 + 2 * COSTS.bell, 2 * 40), "two hosts with relays")


def test_a_connection_by_hand() -> None:
    """The way takes 10,000.  The kernel answers at 11,000, the hello leaves then and is there 20,010 later, and so on."""
    listener = 11000 + 20000 + 10         # connect, the kernel's answer, a hello
    answered = listener + 20 + 10 + 10000
    proved = answered + 20 + 200 + 10 + 10000
    welcome = proved + 20 + 3 * 200 + 10 + 10000
    found = creation.create(Shape(2, 1), COSTS, FAR, RELAY)
    # The card, its facts and their seal; the verdict, all facts and the seal.
    meeting = welcome + 20 + 200 + 200 + 3 * 10 + 10000 + 200 + 3 * 10 + 10000 + 20
    expect(round(found.meeting * 1e9), meeting, "two hosts meet")
    expect(found.counts[MEETING], Count(1, 6, sizes.CARD + sizes.VERDICT + 3 * sizes.FACT + 2 * sizes.SEAL), "what they say")
    expect(found.counts[DATA].connections, 1, "relays connect")


def test_an_exchange_of_two_ranks() -> None:
    """One message each way: sent (10), on its way (10,000), read (20)."""
    frames = sizes.exchange_frames(2, 8)
    expect(frames, [("brief", 24 + 64 + 8)], "a brief of two ranks: its head, two entries, one slice")
    found = exchange.run(Shape(2, 1), COSTS, FAR, DIRECT, frames)
    expect((round(found.seconds * 1e9), found.messages, found.bytes), (10030, 2, 192), "two ranks")
    thick = Network("thick", 10000, 2)
    found = exchange.run(Shape(2, 1), COSTS, thick, DIRECT, [("slices", 1000)])
    expect(round(found.seconds * 1e9), 10 + 2000 + 10000 + 2000 + 20, "through two wires")


def test_an_exchange_over_relays() -> None:
    """
    Four messages of 100 bytes in frames of 16 bytes more go together.  Each relay copies 464 bytes in four frames and moves them by
    one call; two ranks are woken, and at each end a bell rings for the relay.
    """
    costs = replace(COSTS, receive_byte=1, compare=100)
    found = exchange.run(Shape(2, 2), costs, FAR, RELAY, [("slices", 100)])
    copy = 464 + 4 * 100
    expect(round(found.seconds * 1e9), (10 + copy) + 10000 + (20 + 464 + copy + 2 * 5) + 2 * 5, "two hosts of two ranks")
    expect((found.messages, found.bytes), (8, 8 * 116), "messages of ranks, with the heads of their frames")


def test_bytes_of_a_fresh_connection() -> None:
    """14,600 bytes in the first trip of 20,000, 29,200 in the second; then the wire is the limit."""
    wire = Network("wire", 10000, 1)
    expect(creation.fresh(wire, 14600), 14600.0, "one window")
    expect(creation.fresh(wire, 100000), 20000.0 + 85400.0, "a window, and the rest, which fills the trip")


def test_a_crowded_listener_sends_the_oldest_away() -> None:
    """Three callers at once and two places: the first gives way, calls again 20 ms later, and gets in."""
    door = Door(places=2)
    found = creation.create(Shape(4, 1), COSTS, FAR, replace(RELAY, door=lambda _: door))
    expect(found.evicted > 0, True, "callers are sent away")
    expect(found.meeting > 0.02, True, "and come again after the pause")
    expect(found.meeting < 0.04, True, "once")
    wide = creation.create(Shape(4, 1), COSTS, FAR, replace(RELAY, door=lambda _: Door(places=6)))
    expect((wide.evicted, wide.meeting < 0.001), (0, True), "with places for all")


def test_a_full_backlog_keeps_a_caller_waiting_for_a_second() -> None:
    """Three call at once.  The kernel holds one more than the backlog, and the third comes again after a second."""
    found = creation.create(Shape(4, 1), COSTS, FAR, replace(RELAY, door=lambda _: Door(places=6, backlog=1)))
    expect((found.evicted, 1 < found.meeting < 1.001), (0, True), "the meeting")
    alone = creation.create(Shape(4, 1), COSTS, FAR, replace(RELAY, door=lambda _: Door(places=6, backlog=2)))
    expect(alone.meeting < 0.001, True, "with room for all")


def test_a_caller_gives_up_after_three_seconds() -> None:
    """Nobody accepts.  The second caller finds the backlog full, and again after a second; at the third second it begins anew."""
    world = World(Shape(2, 1), COSTS, FAR)
    listener, caller = Loop(world, Door(backlog=0)), Loop(world, Door())
    first, second = Call(caller, listener, DATA), Call(caller, listener, DATA)
    for call in (first, second):
        call.go(0)
    world.run()
    expect((first.state, second.state, round(world.env.now)), ("connected", "refused", 1000 + 10000 + 3 * 10**9), "two callers")


def test_the_oldest_gives_way() -> None:
    world = World(Shape(2, 1), COSTS, FAR)
    listener, caller = Loop(world, Door(places=2)), Loop(world, Door())
    each = [Call(caller, listener, DATA) for _ in range(3)]
    listener.queue.extend(each)
    world.stop = world.env.event()
    listener.let_in()
    listener.let_in()
    expect((listener.waiting, each[0].heard, listener.evicted), (each[1:], "refused", 1), "three handshakes at two places")


def test_callers_that_crowd_each_other_out_have_no_end() -> None:
    with mock.patch.object(calls, "MOST_EVICTED", 3):
        found = creation.create(Shape(8, 1), COSTS, FAR, replace(RELAY, door=lambda _: Door(places=2)))
    expect((found.seconds, found.counts[DATA].connections), (math.inf, 28), "a meeting that is given up")


def test_an_all_gather_by_hand() -> None:
    """Two hosts: a ring of two ways, four seals, and each rank compared with half of the hosts."""
    found = creation.create(Shape(2, 2), replace(COSTS, compare=100), FAR, RELAY, "gather")
    expect(round(found.meeting * 1e9), 2 * 10000 + 4 * 200 + 4 * 100, "parts")
    expect(found.counts.get(MEETING, Count()), Count(), "messages at a place of meeting")


def test_the_facts_of_many_ranks() -> None:
    """Rank 0 serves one guest after the other."""
    quick, slow = (creation.create(Shape(3, 1), replace(COSTS, send_byte=cost), FAR, RELAY) for cost in (0, 100))
    said = 2 * (sizes.VERDICT + 3 * sizes.FACT + sizes.SEAL) + sizes.CARD + sizes.FACT + sizes.SEAL
    expect(round((slow.meeting - quick.meeting) * 1e9), 100 * said, "a card, and the facts of all to both guests")


def test_a_monitor_by_hand() -> None:
    """Four beats and 200 ticks in a second, each with a look of 1 ms; more than a core there is not."""
    share = failures.share_of_monitor(Shape(2, 1), replace(COSTS, attempt=1e6))
    expect(round(share, 4), 0.204, "two hosts")
    expect(round(failures.share_of_monitor(Shape(9, 1), replace(COSTS, attempt=1e6)), 4), 1.0, "nine hosts")


def test_ends_of_hosts() -> None:
    """Of two hosts one ends.  The other sees that, and waits 60 ms for a better reason."""
    shape, seen = Shape(2, 2), {}
    for hearing in failures.all_of(shape, COSTS, FAR):
        seen[hearing.phase, hearing.how] = hearing
    killed, silent = seen["barrier", "killed"], seen["exchange", "silent"]
    expect((round(killed.first * 1e9), killed.named), (10000 + 60_000_000, "rank 2"), "killed in a barrier")
    expect((round(silent.first * 1e9), silent.status), (11_730_000_000, "PEER_LOST"), "silent in an exchange")
    expect(failures.detected(Shape(4, 1), FAR, "silent", 2), 11_545e6, "half a beat before the end a host was heard")
    expect((seen["meeting", "killed"].status, seen["meeting", "killed"].named), ("PEER_TIMEOUT", "ranks 2, 3"), "in the meeting")
    expect(failures.missing(Shape(2, 10), 8), "ranks 10, 11, 12, 13, 14, 15, 16, 17 and 2 more", "many ranks are missing")
    many = failures.in_call(Shape(64, 8), COSTS, FAR, "barrier", "killed")
    expect(round((many.last - many.first) * 1e9), 5_000_000 + 10000, "who does not wait for it hears by the poison")


# ---- large groups ----


def test_a_leader_sends_few_messages() -> None:
    for hosts in (2, 3, 4, 100, 512, 4096):
        found = barrier.run(Shape(hosts, 8), networks.measured(), DATACENTRE, RELAY)
        expect(found.most_sent <= 2 * math.log2(hosts), True, f"{hosts} hosts: {found.most_sent} messages of a leader")
        expect(found.messages, hosts * math.ceil(math.log2(hosts)), f"messages of {hosts} hosts")
        expect(found.is_whole, True, f"each leader of {hosts} hosts has heard of all")


def test_the_work_of_one_host_is_that_of_all() -> None:
    costs, shape = networks.measured(), Shape(16, 2)
    for protocol in (DIRECT, RELAY):
        for network in (LOOPBACK, DATACENTRE):
            for size in results.SLICES:
                frames = sizes.exchange_frames(shape.ranks, size)
                every, one = (way(shape, costs, network, protocol, frames) for way in (exchange.run, exchange.predict))
                expect((one.messages, one.bytes), (every.messages, every.bytes), "counts")
                if not 0.85 < one.seconds / every.seconds < 1.15:
                    raise AssertionError(f"{protocol.name}, {network.name}, {size} bytes: {one.seconds} s, by every message "
                                         f"{every.seconds} s")


# ---- the tables and the picture ----

AGAIN = "write them again: ./quern bench --scale"


def test_results_are_of_this_model() -> None:
    kept = results.read()
    expect(kept["digest"], results.digest(), f"bench/results/scale.json; {AGAIN}")
    fresh = [results.row(*key, networks.measured()) for key in results.keys(most_hosts=16)]
    rows = {(row["hosts"], row["network"], row["protocol"]): row for row in kept["rows"]}
    expect(len(rows), len(results.keys()), "rows")
    for row in json.loads(json.dumps(fresh)):
        expect(row, rows[row["hosts"], row["network"], row["protocol"]], f"a row of {row['hosts']} hosts; {AGAIN}")


def test_tables_and_picture_are_current() -> None:
    kept = results.read()
    expect(tables.PAGE.read_text() == tables.page(kept), True, f"bench/results/scale.md is current; {AGAIN}")
    expect(tables.DOCUMENT.read_text() == tables.document(kept), True, f"docs/ranks.md is current; {AGAIN}")
    with tempfile.TemporaryDirectory() as folder:
        drawn = Path(folder) / "scale.svg"
        picture.draw(kept, drawn)
        expect(drawn.read_bytes() == picture.PICTURE.read_bytes(), True, f"bench/results/scale.svg is current; {AGAIN}")
    expect(set(picture.COLOURS), set(PROTOCOLS), "a colour for each protocol")


if __name__ == "__main__":
    sys.exit(cases.run(globals()))
