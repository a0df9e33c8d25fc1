"""The issue slots of a kernel per element, by place and pipe.  Called by table.py.

The unit is that of one thread: the instructions of a warp along its path, times 32 for each warp that walks it, whether its lanes
work or not, over the elements of the item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .describe import Item, Shape
from .flow import Flow
from .paths import Walk, name_loops
from .pipes import pipe_of, shared_bytes_of
from .sass import Code


@dataclass
class Count:
    """Of one kernel in one case, per element."""

    slots: float = 0.0
    loop: float = 0.0           # in loops over elements; the rest is the fixed work of an item
    pipes: Counter[str] = field(default_factory=Counter)
    shared_bytes: float = 0.0
    listing: list[tuple[str, dict[int, float]]] = field(default_factory=list)  # if kept: each role's weights by instruction

    @property
    def fixed(self) -> float:
        return self.slots - self.loop


def count(code: Code, shapes: Sequence[Shape], over: Iterable[str], items: Sequence[Item], keeps_listing: bool = False) -> Count:
    """The mean of these items; `over` names the loops over elements."""
    flow = Flow(code)
    shapes_of = name_loops(flow, shapes)
    names = set(over)
    inside = frozenset().union(*(loop.body for loop in flow.loops if shapes_of[loop.head].name in names))
    total = Count()
    for item in items:
        for role in item.roles:
            weights = Walk(flow, shapes_of, role).run()
            scale = item.share * role.warps * 32 / item.elements
            if keeps_listing:
                total.listing.append((f"{role.name}: {role.warps:g} warps for {item.share:.0%} of the items", dict(weights)))
            for i, weight in weights.items():
                slots = weight * scale
                total.slots += slots
                total.loop += slots if i in inside else 0.0
                total.pipes[pipe_of(flow.names[i])] += slots
                total.shared_bytes += slots * shared_bytes_of(flow.names[i])
    return total
