"""The words in which a family of kernels is described: shapes of loops, ways through them, roles of warps.

A description stands in kernels/: a function from a kernel and a case (vocab, alignment, launch) to roles.  Shapes recognise loops
by the instructions of their own bodies, without those of loops inside.  A loop that fits no shape, or two, is an error.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@functools.cache
def _matches(pattern: str, name: str) -> bool:
    return bool(re.match(pattern, name))


@dataclass(frozen=True)
class Shape:
    """How a loop is recognised: each pattern is matched with the beginning of an opcode."""

    name: str
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    inside: tuple[str, ...] = ("",)  # the names of the loops directly around it; empty: none
    holds: bool | None = None        # whether it must hold loops, or must not
    is_neutral: bool = False         # passed once wherever it lies on the path; no role names it

    def fits(self, own: list[str], around: str, holds: bool) -> bool:
        """Whether a loop with these opcodes has the shape."""
        if around not in self.inside or self.holds not in (None, holds):
            return False
        return (all(any(_matches(pattern, name) for name in own) for pattern in self.has)
                and not any(_matches(pattern, name) for pattern in self.lacks for name in own))


@dataclass(frozen=True)
class Way:
    """A way through a region, and how often a warp takes it each time it comes there."""

    trips: float = 1.0
    want: Mapping[str, int] = field(default_factory=dict)   # the score of opcodes; below 0: unwanted
    must: tuple[str, ...] = ()                               # what the path must have
    exactly: Mapping[str, int] = field(default_factory=dict)  # how many it must have, outside of loops inside
    inner: Mapping[str, tuple[Way, ...]] = field(default_factory=dict)  # the loops that it passes, by name
    unit: str = ""  # trips counts instructions of this pattern, of which a trip may have several
    single: float = 0.0  # so many of them are left to the loop that has the fewest at once

    def score(self, name: str) -> int:
        return sum(value for pattern, value in self.want.items() if _matches(pattern, name))

    def part(self, name: str) -> tuple[int, ...]:
        """Of which patterns of `exactly` an instruction is one."""
        return tuple(int(_matches(pattern, name)) for pattern in self.exactly)

    def is_work(self, name: str) -> bool:
        """Whether an instruction belongs to the work of a trip, not to the loop's test."""
        patterns = [*self.exactly, *self.must, *(pattern for pattern, value in self.want.items() if value > 0)]
        patterns += [self.unit] if self.unit else []
        return any(_matches(pattern, name) for pattern in patterns)


@dataclass(frozen=True)
class Role:
    """What some warps of a block do for one item: a row, or a tile."""

    name: str
    warps: float     # that do it, for one item
    way: Way
    root: str = ""   # the loop over items, of which one trip counts; empty: a block has one item


@dataclass(frozen=True)
class Use:
    """What a kernel is used for, and how the library launches it then."""

    vocab: int = 0   # of cross-entropy
    form: str = ""   # of a kernel that has several ways through its code
    blocks: int = 1  # of a row
    shared: int = 0  # bytes of dynamic shared memory of a block

    @property
    def key(self) -> tuple[int, str]:
        return self.vocab, self.form

    def __str__(self) -> str:
        """To be put behind the kernel's name."""
        return f", vocab {self.vocab}" if self.vocab else f", {self.form}" if self.form else ""


@dataclass(frozen=True)
class Item:
    """A row of one alignment, or a tile."""

    share: float         # of all items
    roles: list[Role]
    elements: int
    in_flight: float     # bytes that a block has requested and not received, while it loads
