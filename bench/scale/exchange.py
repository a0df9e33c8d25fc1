"""The ragged all-to-all of equal slices: what each rank says to each rank of another host, then the slices.

`run` simulates every message, for groups of up to some thousand pairs of ranks.  All hosts do the same at the same time, so the
work of one host gives the time of larger groups: `predict`.  tests/checks/scale.py holds the two against each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import simpy

from . import sizes
from .networks import Costs, Network
from .protocols import DATA, Protocol
from .world import Line, Shape, World

PIECE = 64 << 10       # what one call of the system moves at most: src/ranks/hosts/socket_row.c
Frames = list[tuple[str, int]]


@dataclass(frozen=True)
class Exchange:
    seconds: float
    messages: int
    bytes: int


# ---- what the processors and wires do for a message ----


def calls_for(size: int) -> int:
    return math.ceil(size / PIECE)


def on_wire(protocol: Protocol, size: int) -> int:
    """A message, in frames if it goes by relays."""
    return size + (math.ceil(size / sizes.RELAY_FRAME) * sizes.RELAY_HEAD if protocol.is_relayed else 0)


@dataclass(frozen=True)
class Steps:
    """A message from one end of a connection to the other, and who works on it."""

    size: int            # bytes on the wire
    sending: float       # of the processor that sends
    receiving: float


def steps_of(costs: Costs, protocol: Protocol, shape: Shape, size: int) -> Steps:
    """A rank's message; by relays those of all ranks of a host to another one, which the relay copies out of and into rings."""
    if not protocol.is_relayed:
        calls = calls_for(size)
        return Steps(size, calls * costs.send + size * costs.send_byte, calls * costs.receive + size * costs.receive_byte)
    size = on_wire(protocol, size) * shape.here**2
    frames = shape.here**2 * math.ceil(size / shape.here**2 / sizes.RELAY_FRAME)
    copy = size * costs.receive_byte + frames * costs.compare
    calls = calls_for(size)
    return Steps(size, calls * costs.send + size * costs.send_byte + copy,
                 calls * costs.receive + size * costs.receive_byte + copy + shape.here * costs.bell)


# ---- every message ----


class End:
    """A rank, or the relay of a host: a processor with its connections."""

    def __init__(self, world: World, host: int, wires: tuple[Line, Line], phases: int) -> None:
        self.world, self.host = world, host
        self.processor, (self.out, self.incoming) = Line(world.env), wires
        self.left = [0] * phases                  # messages that have not been taken, by phase
        self.done = [world.env.event() for _ in range(phases)]

    def arrive(self, steps: Steps, phase: int) -> Callable[[], None]:
        def begin() -> None:
            wire = self.incoming.serve(steps.size * self.world.network.wire)
            self.world.later(wire, lambda: self.world.later(self.processor.serve(steps.receiving), lambda: self.take(phase)))
        return begin

    def take(self, phase: int) -> None:
        self.left[phase] -= 1
        if not self.left[phase]:
            self.done[phase].succeed()

    def run(self, peers: list[End], phases: list[Steps], per_message: int, frames: Frames) -> Iterator[simpy.Event]:
        """A phase ends when all is sent and all has come."""
        world = self.world
        for phase, (steps, (_, size)) in enumerate(zip(phases, frames)):
            for peer in peers:
                yield world.env.timeout(self.processor.serve(steps.sending))
                wire = self.out.serve(steps.size * world.network.wire)
                world.later(wire + world.network.latency, peer.arrive(steps, phase))
                world.say(DATA, size * per_message, per_message)
            yield self.done[phase]


def make_ends(world: World, protocol: Protocol, phases: int) -> list[End]:
    shape, ends = world.shape, []
    for host in range(shape.hosts):
        wires = (Line(world.env), Line(world.env))
        ends += [End(world, host, wires, phases) for _ in range(1 if protocol.is_relayed else shape.here)]
    return ends


def run(shape: Shape, costs: Costs, network: Network, protocol: Protocol, frames: Frames) -> Exchange:
    world = World(shape, costs, network)
    ends = make_ends(world, protocol, len(frames))
    per_message = shape.here**2 if protocol.is_relayed else 1
    phases = [steps_of(costs, protocol, shape, size) for _, size in frames]
    frames = [(name, on_wire(protocol, size)) for name, size in frames]
    for at, end in enumerate(ends):
        others = [ends[(at + step) % len(ends)] for step in range(1, len(ends))]  # each begins with its successor
        peers = [peer for peer in others if peer.host != end.host]
        end.left = [len(peers)] * len(frames)
        world.env.process(end.run(peers, phases, per_message, frames))
    world.run()
    passing = 2 * len(frames) * costs.bell if protocol.is_relayed else 0.0       # to the relay, and from it
    return Exchange((world.env.now + passing) * 1e-9, world.counts[DATA].messages, world.counts[DATA].bytes)


# ---- the work of one host ----


def predict(shape: Shape, costs: Costs, network: Network, protocol: Protocol, frames: Frames) -> Exchange:
    """The busier of a processor and the host's wire in each phase, and the way of its last message."""
    pairs = shape.ranks * (shape.ranks - shape.here)
    peers = (shape.hosts - 1) * (1 if protocol.is_relayed else shape.here)
    ends = 1 if protocol.is_relayed else shape.here
    time = 0.0
    for _, size in frames:
        steps = steps_of(costs, protocol, shape, size)
        wire = steps.size * network.wire
        time += max(peers * (steps.sending + steps.receiving), peers * ends * wire + steps.sending + steps.receiving)
        time += network.latency + (2 * costs.bell if protocol.is_relayed else 0.0)
    return Exchange(time * 1e-9, pairs * len(frames), pairs * sum(on_wire(protocol, size) for _, size in frames))
