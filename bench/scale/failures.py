"""A host ends: when the ranks of each other host hear of it, with which status, and whom it names.

Killed: its kernel closes its connections, which the others see.  Silent: a pulled cable or a stopped process, which they do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import simpy

from .networks import Costs, Network
from .sizes import beat_bytes
from .world import Shape, World

# Nanoseconds: of silence.h (beats, silence), monitor.c (a look), sendrecv.c (a grace for the reason to come), mesh.c (a look, and a
# grace).
BEAT, SILENCE, TICK, GRACE = 250e6, 10e9, 5e6, 60e6
MESH_TICK, MESH_GRACE = 20e6, 5000e6


@dataclass(frozen=True)
class Hearing:
    phase: str
    how: str
    status: str
    first: float    # seconds after the end; NaN: at the limit of the call
    last: float
    named: str


def detected(shape: Shape, network: Network, how: str, host: int) -> float:
    """When the monitor of a host knows.  Beats of the hosts are spread, and silence is looked for at each tick."""
    if how == "killed":
        return network.latency
    heard = BEAT * host / shape.hosts       # so long ago, when the host ended
    return math.ceil((SILENCE + SILENCE // 6 - heard) / TICK) * TICK


def waits_for(shape: Shape, phase: str, host: int, ended: int) -> bool:
    """Whether ranks of a host wait for a message of the one that has ended: in a barrier only its partners of some round."""
    distance = (host - ended) % shape.hosts
    return phase == "exchange" or distance & (distance - 1) == 0


def rank_waits(world: World, host: int, detection: float, poisons: list[simpy.Event], heard: list[float]) -> Iterator[simpy.Event]:
    """
    A rank gives the reason a moment to come from elsewhere, then poisons the group, which its monitor tells at its next tick.
    Others that do so later change nothing.
    """
    yield world.env.timeout(detection)
    yield world.env.timeout(GRACE) | poisons[host]
    if poisons[host].triggered:
        return
    is_first = math.isinf(min(heard))
    heard[host] = min(heard[host], world.env.now)
    for poison in poisons if is_first else ():
        world.later(TICK + world.network.latency, lambda poison=poison: poison.triggered or poison.succeed())


def host_hears(world: World, host: int, poisons: list[simpy.Event], heard: list[float]) -> Iterator[simpy.Event]:
    yield poisons[host]
    heard[host] = min(heard[host], world.env.now)


def in_call(shape: Shape, costs: Costs, network: Network, phase: str, how: str) -> Hearing:
    """The last host ends, while all others are in the call."""
    world, ended = World(shape, costs, network), shape.hosts - 1
    heard, poisons = [math.inf] * ended, [world.env.event() for _ in range(ended)]
    for host in range(ended):
        world.env.process(host_hears(world, host, poisons, heard))
        if waits_for(shape, phase, host, ended):
            world.env.process(rank_waits(world, host, detected(shape, network, how, host), poisons, heard))
    world.run()
    return Hearing(phase, how, "PEER_LOST", min(heard) * 1e-9, max(heard) * 1e-9, f"rank {shape.leader(ended)}")


def missing(shape: Shape, listed: int) -> str:
    """The ranks of the last host, as the meeting's words list them."""
    first, more = shape.leader(shape.hosts - 1), max(shape.here - listed, 0)
    names = ", ".join(f"{rank}" for rank in range(first, first + shape.here - more))
    return f"ranks {names}" + (f" and {more} more" if more else "")


def in_meeting(shape: Shape, how: str) -> Hearing:
    """
    Nothing is remembered of a host that has gone again: it is one that did not come, and the limit ends for all.  One that is
    silent when it has brought its facts is missed while ranks connect.
    """
    return Hearing("meeting", how, "PEER_TIMEOUT", math.nan, math.nan, missing(shape, 8))


def in_connecting(shape: Shape, network: Network, how: str) -> Hearing:
    """Each rank looks at its own connections, and gives one that has ended some time to be made again."""
    if how == "silent":
        return Hearing("connecting", how, "PEER_TIMEOUT", math.nan, math.nan, missing(shape, 2))
    first = network.latency + MESH_GRACE
    last, named = first + 2 * MESH_TICK, f"rank {shape.leader(shape.hosts - 1)}"
    return Hearing("connecting", how, "PEER_LOST", first * 1e-9, last * 1e-9, named)


def all_of(shape: Shape, costs: Costs, network: Network) -> list[Hearing]:
    ways = ("killed", "silent")
    return [*(in_meeting(shape, how) for how in ways), *(in_connecting(shape, network, how) for how in ways),
            *(in_call(shape, costs, network, phase, how) for phase in ("barrier", "exchange") for how in ways)]


def share_of_monitor(shape: Shape, costs: Costs) -> float:
    """
    How much of a core a host's monitor takes while nothing happens.  It looks at all lines at each beat that comes and at each
    tick, and says a beat to each other host and hears one from it in each BEAT.
    """
    others = shape.hosts - 1
    look = costs.poll + others * (costs.poll_each + costs.attempt)
    beats = others / BEAT
    talk = beats * (costs.sending(beat_bytes(shape.here)) + costs.receiving(beat_bytes(shape.here)))
    return min((beats + 1 / TICK) * look + talk, 1.0)
