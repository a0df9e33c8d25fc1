"""The creation of a group: the meeting of hosts, either way, the connections, and the first barrier of all.

All hosts come at the same moment, which is the worst for the listener of rank 0.  What the ranks of a host do in its memory is left
out.  With `all_ranks` every connection is simulated; else those of rank 0's listener, which has most of them, and of the others
only the time that they take from those who make them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import simpy

from . import barrier, sizes
from .calls import Call, Loop
from .networks import Costs, Network
from .protocols import CONTROL, DATA, MEETING, Door, Protocol
from .world import Count, Shape, World

WINDOW = 14600   # bytes that a new connection sends before it hears from the other end; then twice as many each time
HORIZON = 10e9   # nanoseconds of a phase that are simulated: one that takes longer is said not to end


@dataclass(frozen=True)
class Creation:
    """Seconds, and counts by kind of connection."""

    meeting: float
    connecting: float
    barrier: float
    evicted: int                  # at rank 0's listeners, whose places were full: they call again 20 ms later
    counts: dict[str, Count]

    @property
    def seconds(self) -> float:
        return self.meeting + self.connecting + self.barrier


# ---- the meeting ----


def fresh(network: Network, size: int) -> float:
    """How long bytes are on the way over a connection that has carried nothing yet."""
    trip, time, window = 2 * network.latency, 0.0, WINDOW
    while size > window and window * network.wire < trip:
        time += trip
        size -= window
        window *= 2
    return time + size * network.wire


class Place(Loop):
    """Rank 0's leader at the place of meeting."""

    def __init__(self, world: World, door: Door) -> None:
        super().__init__(world, door)
        self.expected = world.shape.hosts - 1
        self.brought = 0
        self.told: list[float] = []      # when each other host has the facts of all

    @property
    def is_complete(self) -> bool:
        return self.brought == self.expected

    def between(self) -> float:
        """Each guest is asked in each pass whether it has said more."""
        costs = self.world.costs
        return costs.poll + (costs.poll_each + costs.attempt) * (1 + len(self.waiting) + len(self.opened))

    def hear(self) -> None:
        self.brought += 1
        self.bell.ring()

    def run(self) -> Iterator[simpy.Event]:
        yield from super().run()
        yield from self.tell()

    def tell(self) -> Iterator[simpy.Event]:
        """One guest after the other gets the verdict and the facts of all ranks."""
        world, size = self.world, sizes.VERDICT + sizes.FACT * self.world.shape.ranks + sizes.SEAL
        yield world.env.timeout(size * world.costs.code_byte)  # the digest, once for all seals
        for _ in range(self.expected):
            sending = world.costs.code + 2 * world.costs.send + world.costs.sending(size)
            yield world.env.timeout(max(sending, fresh(world.network, size)))
            world.say(MEETING, size, messages=3)
            self.told.append(world.env.now + world.network.latency + world.costs.receiving(size))


class Guest(Loop):
    """The leader of another host."""

    def __init__(self, world: World, place: Place) -> None:
        super().__init__(world, place.door)
        self.place = place
        self.calls = [Call(self, place, MEETING)]

    def run(self) -> Iterator[simpy.Event]:
        yield from super().run()
        world, size = self.world, sizes.CARD + sizes.FACT * self.world.shape.here + sizes.SEAL
        yield world.env.timeout(world.costs.code + size * world.costs.code_byte + 2 * world.costs.send + world.costs.sending(size))
        world.say(MEETING, size, messages=3)
        yield world.env.timeout(world.network.latency)
        self.place.hear()


@dataclass(frozen=True)
class Met:
    """When each host knows all ranks; None: not before the horizon."""

    starts: list[float] | None
    evicted: int


def meet(world: World, protocol: Protocol) -> Met:
    place = Place(world, protocol.door(world.shape))
    world.env.process(place.run())
    for _ in range(1, world.shape.hosts):
        world.env.process(Guest(world, place).run())
    world.run(HORIZON)
    is_whole = len(place.told) == place.expected
    return Met([place.told[-1], *place.told] if is_whole else None, place.evicted)


def gather(world: World) -> Met:
    """By an all-gather of the engine, taken to be a ring: its bytes are not the library's.  Each rank then checks the seals of all
    parts, and finds the host of each among those that it knows already.
    """
    shape, costs = world.shape, world.costs
    ring = shape.hosts * world.network.latency + shape.ranks * sizes.PART * (world.network.wire + costs.receive_byte)
    seals = shape.ranks * (costs.code + (sizes.PART - 32 - 128) * costs.code_byte)
    return Met([ring + seals + shape.ranks * shape.hosts / 2 * costs.compare] * shape.hosts, 0)


# ---- the connections ----


def make_loops(world: World, protocol: Protocol, starts: list[float], all_ranks: bool) -> list[Loop]:
    shape = world.shape
    loops = [Loop(world, protocol.door(shape), starts[shape.host(rank)] - min(starts)) for rank in range(shape.ranks)]
    for rank, loop in enumerate(loops):
        loop.expected = protocol.callers(shape, rank) if all_ranks or rank == 0 else 0
        loop.peeks = True
        for kind in protocol.kinds:
            targets = protocol.targets(shape, rank, kind)
            called = targets if all_ranks else targets[:1]
            loop.calls += [Call(loop, loops[target], kind) for target in called]
            loop.others += len(targets) - len(called)
    return [loop for loop in loops if loop.calls or loop.expected]


def connect(world: World, protocol: Protocol, starts: list[float], all_ranks: bool) -> tuple[float, int]:
    """How long after the first start all connections are there; infinite: not before the horizon."""
    loops = make_loops(world, protocol, starts, all_ranks)
    for loop in loops:
        world.env.process(loop.run())
    world.run(HORIZON)
    if not all_ranks:
        for kind, connections in protocol.connections(world.shape).items():
            world.counts[kind].connections = connections
    last = max(math.inf if loop.finished is None else loop.finished for loop in loops)
    return max(last, busiest_caller(world, protocol)), loops[0].evicted


def busiest_caller(world: World, protocol: Protocol) -> float:
    """The last rank makes all of its connections: the work of its processor alone."""
    costs, rank = world.costs, world.shape.leader(world.shape.hosts - 1)
    calls = sum(len(protocol.targets(world.shape, rank, kind)) for kind in protocol.kinds)
    return calls * (costs.connect + 2 * (costs.send + costs.receive) + 2 * costs.code)


# ---- all of it ----


def create(shape: Shape, costs: Costs, network: Network, protocol: Protocol, way: str = "meet",
           all_ranks: bool = False) -> Creation:
    first, second = World(shape, costs, network), World(shape, costs, network)
    met = meet(first, protocol) if way == "meet" else gather(first)
    connecting, evicted = connect(second, protocol, met.starts, all_ranks) if met.starts else (math.inf, 0)
    last = barrier.run(shape, costs, network, protocol)
    counts = dict(first.counts) | dict(second.counts)
    counts[DATA] = Count(protocol.connections(shape)[DATA], last.messages, last.bytes)
    control, places = counts.setdefault(CONTROL, Count()), shape.hosts * (shape.hosts - 1)
    control.messages, control.bytes = places, places * sizes.PLACE
    meeting = max(met.starts) if met.starts else math.inf
    overlap = max(met.starts) - min(met.starts) if met.starts else 0.0
    return Creation(meeting * 1e-9, max(connecting - overlap, 0.0) * 1e-9, last.seconds, met.evicted + evicted, counts)
