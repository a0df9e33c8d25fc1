"""The barrier: within hosts, between their leaders by dissemination, within hosts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import simpy

from . import sizes
from .networks import Costs, Network
from .protocols import DATA, Protocol
from .world import Shape, World


@dataclass(frozen=True)
class Barrier:
    seconds: float
    messages: int
    bytes: int
    most_sent: int      # by one leader
    is_whole: bool      # each leader has heard, through others, from all


def message_bytes(protocol: Protocol) -> int:
    return sizes.FRAME + (sizes.RELAY_HEAD if protocol.is_relayed else 0)


@dataclass
class Leader:
    box: list[simpy.Event]   # by round: the message of the one before, who says of whom it has heard
    known: int               # a bit for each leader of whom it has heard, through others
    sent: int = 0


def lead(world: World, protocol: Protocol, leaders: list[Leader], place: int) -> Iterator[simpy.Event]:
    """
    In round k a leader sends to the one 2^k places further and hears from the one 2^k places before.  It looks without sleeping, as
    with a core of its own; with relays each end wakes a thread, and is woken by it.
    """
    env, costs, me = world.env, world.costs, leaders[place]
    size = message_bytes(protocol)
    passing = 2 * costs.bell if protocol.is_relayed else 0.0
    yield env.timeout(costs.bell if world.shape.here > 1 else 0.0)       # the last rank of the host has come
    for number, box in enumerate(me.box):
        to = leaders[(place + 2**number) % world.shape.hosts].box[number]
        yield env.timeout(costs.sending(size))
        world.say(DATA, size)
        me.sent += 1
        way = passing + world.network.latency + size * world.network.wire
        world.later(way, lambda to=to, known=me.known: to.succeed(known))
        me.known |= yield box
        yield env.timeout(costs.receiving(size))
    yield env.timeout(costs.bell if world.shape.here > 1 else 0.0)       # the others are woken


def run(shape: Shape, costs: Costs, network: Network, protocol: Protocol) -> Barrier:
    world, rounds = World(shape, costs, network), (shape.hosts - 1).bit_length()
    leaders = [Leader([world.env.event() for _ in range(rounds)], 1 << place) for place in range(shape.hosts)]
    for place in range(shape.hosts):
        world.env.process(lead(world, protocol, leaders, place))
    world.run()
    is_whole = all(leader.known == (1 << shape.hosts) - 1 for leader in leaders)
    return Barrier(world.env.now * 1e-9, world.counts[DATA].messages, world.counts[DATA].bytes,
                   max(leader.sent for leader in leaders), is_whole)
