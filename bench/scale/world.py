"""The clock of a simulation, the lines in which work waits for its turn, and the counts.  Times are in nanoseconds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import simpy

from . import sizes
from .networks import Costs, Network


@dataclass(frozen=True)
class Shape:
    hosts: int
    here: int      # ranks of each host

    @property
    def ranks(self) -> int:
        return self.hosts * self.here

    def host(self, rank: int) -> int:
        return rank // self.here

    def leader(self, host: int) -> int:
        return host * self.here


class Line:
    """Serves one piece of work after the other, in the order in which they are brought: a processor, or a wire in one direction."""

    def __init__(self, env: simpy.Environment) -> None:
        self.env = env
        self.free = 0.0

    def serve(self, cost: float) -> float:
        """How long it is until this work is done."""
        self.free = max(self.free, self.env.now) + cost
        return self.free - self.env.now


class Bell:
    """Wakes whoever waits for it.  It stays rung until then."""

    def __init__(self, env: simpy.Environment) -> None:
        self.env = env
        self.event = env.event()

    def ring(self) -> None:
        if not self.event.triggered:
            self.event.succeed()

    @property
    def is_rung(self) -> bool:
        return self.event.triggered

    def reset(self) -> None:
        self.event = self.env.event()


@dataclass
class Count:
    """As tests/traffic/traffic.h counts."""

    connections: int = 0
    messages: int = 0
    bytes: int = 0

    @property
    def handshake_bytes(self) -> int:
        return self.connections * sizes.HANDSHAKE


@dataclass
class World:
    shape: Shape
    costs: Costs
    network: Network
    env: simpy.Environment = field(default_factory=simpy.Environment)
    stop: simpy.Event | None = None
    counts: dict[str, Count] = field(default_factory=lambda: defaultdict(Count))  # by the kind of connection

    def later(self, delay: float, action: Callable[[], None]) -> None:
        self.env.timeout(delay).callbacks.append(lambda _: action())

    def say(self, kind: str, size: int, messages: int = 1) -> None:
        self.counts[kind].messages += messages
        self.counts[kind].bytes += size

    def stop_if(self, hopeless: bool) -> None:
        if hopeless and not self.stop.triggered:
            self.stop.succeed()

    def run(self, horizon: float = math.inf) -> None:
        """Until nothing happens any more, or a time has come, or it is stopped."""
        self.stop = self.env.event()
        self.env.run(until=self.stop | self.env.timeout(horizon) if horizon < math.inf else None)
