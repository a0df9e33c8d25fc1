"""How the ranks of two hosts reach each other: the rows of a table.  docs/ranks.md describes both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .world import Shape

DATA, CONTROL, TRANSFERS, MEETING = "data", "control", "transfers", "meeting"


@dataclass(frozen=True)
class Door:
    """A listener."""

    places: int = 32     # handshakes that are under way; the oldest gives way to a new one
    backlog: int = 512   # of listen, if net.core.somaxconn is not less: the kernel keeps others waiting for seconds


CALLS, LEAST, MOST = 3, Door(), 4096  # as in listener.c


def door_of(shape: Shape) -> Door:
    """As places_for and make_socket in listener.c."""
    places = max(min(CALLS * shape.ranks, MOST), LEAST.places)
    return Door(places, max(places, LEAST.backlog))


@dataclass(frozen=True)
class Protocol:
    name: str
    about: str
    pairs_of_ranks: tuple[str, ...]   # the kinds of which each pair of ranks of two hosts has a connection
    pairs_of_hosts: tuple[str, ...]   # likewise each pair of hosts, between their leaders
    is_relayed: bool                  # a thread of each host passes messages on
    door: Callable[[Shape], Door] = door_of

    @property
    def kinds(self) -> tuple[str, ...]:
        return (*self.pairs_of_ranks, *self.pairs_of_hosts)

    def targets(self, shape: Shape, rank: int, kind: str) -> list[int]:
        """The ranks that a rank calls: of each pair the higher one calls."""
        host = shape.host(rank)
        if kind in self.pairs_of_ranks:
            return list(range(shape.leader(host)))
        is_leader = shape.leader(host) == rank
        return [shape.leader(other) for other in range(host)] if kind in self.pairs_of_hosts and is_leader else []

    def callers(self, shape: Shape, rank: int) -> int:
        """How many connections other ranks make with this one."""
        host = shape.host(rank)
        higher = shape.hosts - 1 - host
        is_leader = shape.leader(host) == rank
        return len(self.pairs_of_ranks) * higher * shape.here + len(self.pairs_of_hosts) * higher * is_leader

    def connections(self, shape: Shape) -> dict[str, int]:
        hosts = shape.hosts * (shape.hosts - 1) // 2
        return ({kind: hosts * shape.here**2 for kind in self.pairs_of_ranks} | {kind: hosts for kind in self.pairs_of_hosts})

    def descriptors(self, shape: Shape) -> int:
        """Of a host."""
        others = shape.hosts - 1
        return others * (shape.here**2 * len(self.pairs_of_ranks) + len(self.pairs_of_hosts))


DIRECT = Protocol("direct", "two connections for each pair of ranks", (DATA, TRANSFERS), (CONTROL,), False)
RELAY = Protocol("relay", "one connection for each pair of hosts, and one for liveness", (), (DATA, CONTROL), True)
PROTOCOLS = {protocol.name: protocol for protocol in (DIRECT, RELAY)}
