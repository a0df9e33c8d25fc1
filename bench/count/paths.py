"""The path of a warp through a kernel, and how often it executes each instruction.  Called by counts.py.

A description (describe.py) names the loops of a kernel and says for each role of warps which loops it passes and how often.  A way
through a region, which is a kernel or the body of a loop, is chosen by rule: it passes the loops that the role names and no others,
executes the most instructions that are wanted and the fewest that are unwanted, and among those ways is the shortest.  So what is
rare stays out: NaN, infinite rows, slow divisions, labels inside a vector.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import sub
from typing import NamedTuple

from .describe import Role, Shape, Way
from .flow import Fault, Flow, Loop

ONCE = (Way(),)
NAMED = 10**6  # the score of a loop: above those of all instructions


@dataclass
class Passage:
    """A loop on a path: its ways in the order of the role's, and where it is left."""

    loop: Loop
    name: str
    ways: list[tuple[Way, Path]]
    source: int = -1  # the instruction from which the loop is left


@dataclass
class Path:
    """A way through a region: instructions and passed loops in order."""

    steps: list[int | Passage]

    def own(self) -> list[int]:
        return [step for step in self.steps if isinstance(step, int)]

    def place_of_exit(self, source: int) -> int:
        """Where the region is left if that happens at an instruction; -1: not on this path."""
        for place, step in enumerate(self.steps):
            if step == source or isinstance(step, Passage) and step.ways and step.ways[0][1].place_of_exit(source) >= 0:
                return place
        return -1


END = -1


class Option(NamedTuple):
    """The best path from an instruction on."""

    score: int
    length: int              # negative, so that the shortest is the largest
    onward: int              # the next instruction; END: none
    needed: tuple[int, ...]  # what is needed from there on
    source: int              # from which instruction a loop is left


Options = dict[tuple[int, ...], Option]  # by what is needed of Way.exactly before this instruction


def _left(needed: tuple[int, ...], part: tuple[int, ...]) -> tuple[int, ...]:
    """What is still needed besides an instruction; below 0: too many."""
    return tuple(map(sub, needed, part)) if part else needed


def _keep(options: Options, needed: tuple[int, ...], option: Option) -> None:
    if min(needed, default=0) >= 0 and (needed not in options or option[:3] > options[needed][:3]):
        options[needed] = option


def name_loops(flow: Flow, shapes: Sequence[Shape]) -> dict[int, Shape]:
    """The shape of each loop, by its head.  Outer loops come first, since a shape may ask for the name around it."""
    names: dict[int, Shape] = {}
    for loop in sorted(flow.loops, key=lambda each: each.depth):
        own = [flow.names[i] for i in loop.own()]
        around = names[loop.outer.head].name if loop.outer else ""
        fitting = [shape for shape in shapes if shape.fits(own, around, bool(loop.inner))]
        if len(fitting) != 1:
            found = f"fits {' and '.join(shape.name for shape in fitting)}" if fitting else "fits no description"
            raise Fault(f"{flow.code.name}: the loop at {flow.address(loop.head)}"
                        f"{f' inside {around}' if around else ''} {found}: {_summary(own)}")
        names[loop.head] = fitting[0]
    return names


def _summary(names: list[str]) -> str:
    counts = Counter(names)
    return ", ".join(f"{name} x{count}" for name, count in counts.most_common(12))


class Walk:
    """The path of one role."""

    def __init__(self, flow: Flow, names: dict[int, Shape], role: Role) -> None:
        self.flow, self.names, self.role = flow, names, role
        self.order = {node: place for place, node in enumerate(flow.reached)}
        self.loop_at = {loop.head: loop for loop in flow.loops}
        self.weights: Counter[int] = Counter()

    def run(self) -> Counter[int]:
        """How often a warp executes each instruction."""
        root = None
        if self.role.root:
            found = [loop for loop in self.flow.loops if self.names[loop.head].name == self.role.root]
            if len(found) != 1:
                raise Fault(f"{self._who()}: {len(found)} loops are {self.role.root}: expected one")
            root = found[0]
        self.path = self._find(root, self.role.way)
        self._demand(self.path, self.role.way)
        self._add(self.path, 1.0)
        return self.weights

    def segments(self) -> list[tuple[str, list[int], float]]:
        """After run(): what lies between the loops of the path, under no name, and each loop with the trips of its first way."""
        trips = self._trips([step for step in self.path.steps if isinstance(step, Passage)])
        found: list[tuple[str, list[int], float]] = [("", [], 1.0)]
        for step in self.path.steps:
            if isinstance(step, int):
                found[-1][1].extend((step, *self.flow.called(step)))
                continue
            found += [(step.name, path.own(), each) for (_, path), each in zip(step.ways, trips[step.loop.head])]
            found.append(("", [], 1.0))
        return [each for each in found if each[1]]

    def _who(self) -> str:
        return f"{self.flow.code.name}, {self.role.name}"

    # ---- the choice ----

    def _find(self, region: Loop | None, way: Way) -> Path:
        """The best path from the region's beginning to its end: back to the head, or to an EXIT.

        From the end to the beginning it finds the best path from each instruction for each count of what must be there exactly.
        """
        inside = region.body if region else frozenset(self.flow.reached)
        children = [loop for loop in self.flow.loops if loop.outer is region]
        hidden = frozenset().union(*(loop.body - {loop.head} for loop in children))
        passages = {loop.head: self._passage(loop, way) for loop in children}
        head = region.head if region else 0
        tails = set(region.tails) if region else {i for i in inside if self.flow.names[i].startswith(("EXIT", "RET"))}
        needed = tuple(way.exactly.values())
        values = {name: (way.score(name), way.part(name)) for name in {self.flow.names[i] for i in inside}}
        best: dict[int, Options] = {}
        for node in sorted(inside - hidden, key=self.order.__getitem__, reverse=True):
            if node in passages:
                options = self._after_loop(passages[node], head, best, needed)
            else:
                options = self._after(node, head, best, needed if node in tails else None, *values[self.flow.names[node]])
            if options:
                best[node] = options
        none = (0,) * len(needed)
        if none not in best.get(head, {}):
            wanted = ", ".join(f"{count} {pattern}" for pattern, count in way.exactly.items())
            raise Fault(f"{self._who()}: no path from {self.flow.address(head)}{f' has exactly {wanted}' if wanted else ''}")
        return self._trace(head, none, best, passages)

    def _after(self, node: int, head: int, best: dict[int, Options], at_end: tuple[int, ...] | None, score: int,
               part: tuple[int, ...]) -> Options:
        """From an instruction with this score and part in what must be there exactly; `at_end`: the region may end behind it."""
        found: Options = {}
        if at_end is not None:
            _keep(found, _left(at_end, part), Option(score, -1, END, (), END))
        for onward in self.flow.after[node]:
            if onward == head or self.order[onward] <= self.order[node]:
                continue
            for needed, option in best.get(onward, {}).items():
                _keep(found, _left(needed, part), Option(option.score + score, option.length - 1, onward, needed, END))
        return found

    def _passage(self, loop: Loop, around: Way) -> Passage:
        shape = self.names[loop.head]
        ways = ONCE if shape.is_neutral else around.inner.get(shape.name, ())
        return Passage(loop, shape.name, [(way, self._find(loop, way)) for way in ways])

    def _after_loop(self, passage: Passage, head: int, best: dict[int, Options], all_needed: tuple[int, ...]) -> Options:
        """The best exit from a loop: of those on its first way, which is the usual one."""
        loop = passage.loop
        score = 0 if self.names[loop.head].is_neutral else NAMED if passage.ways else -NAMED
        length = -sum(len(path.own()) for _, path in passage.ways)
        found: Options = {}
        for source in sorted(loop.body):
            outside = [target for target in self.flow.after[source] if target not in loop.body]
            if not outside or passage.ways and passage.ways[0][1].place_of_exit(source) < 0:
                continue
            for target in outside:
                if target == head and head != loop.head:  # back to the head around it
                    _keep(found, all_needed, Option(score, length, END, (), source))
                    continue
                for needed, option in best.get(target, {}).items():
                    _keep(found, needed, Option(option.score + score, option.length + length, target, needed, source))
        return found

    def _trace(self, head: int, needed: tuple[int, ...], best: dict[int, Options], passages: dict[int, Passage]) -> Path:
        steps: list[int | Passage] = []
        node = head
        while node != END:
            option = best[node][needed]
            if node in passages:
                passage = passages[node]
                if not passage.ways:
                    raise Fault(f"{self._who()}: the loop at {self.flow.address(node)}, {passage.name}, lies on every path, "
                                "and the description gives no trips")
                passage.source = option.source
                steps.append(passage)
            else:
                steps.append(node)
            node, needed = option.onward, option.needed
        return Path(steps)

    def _demand(self, path: Path, way: Way) -> None:
        """That the path has what the description says it has."""
        passed = [step for step in path.steps if isinstance(step, Passage)]
        for name, ways in way.inner.items():
            if any(each.trips for each in ways) and not any(step.name == name for step in passed):
                raise Fault(f"{self._who()}: no loop {name} lies on the path")
        for pattern in way.must:
            if not any(re.match(pattern, self.flow.names[i]) for i in path.own()):
                raise Fault(f"{self._who()}: no {pattern} lies on the path from {self._begin(path)}")
        for step in passed:
            for inner, inner_path in step.ways:
                if inner.trips:
                    self._demand(inner_path, inner)

    def _begin(self, path: Path) -> str:
        first = path.steps[0]
        return self.flow.address(first if isinstance(first, int) else first.loop.head)

    # ---- the count ----

    def _add(self, path: Path, times: float, until: int | None = None, fewer: float = 0.0) -> None:
        """Adds a path that is walked so often; the steps after `until` are walked `fewer` times less."""
        trips = self._trips([step for step in path.steps if isinstance(step, Passage)])
        for place, step in enumerate(path.steps):
            factor = times - (fewer if until is not None and place > until else 0.0)
            if isinstance(step, int):
                for each in (step, *self.flow.called(step)):
                    self.weights[each] += factor
            else:
                self._add_loop(step, factor, trips[step.loop.head])

    def _add_loop(self, passage: Passage, times: float, trips: list[float]) -> None:
        for number, ((way, path), each) in enumerate(zip(passage.ways, trips)):
            if number > 0:
                self._add(path, times * each)
                continue
            # The last trip ends at the exit.  If that stands before the work, the loop's test is executed once more.
            place = path.place_of_exit(passage.source)
            works = (isinstance(step, Passage) or way.is_work(self.flow.names[step]) for step in path.steps)
            work = next((i for i, is_work in enumerate(works) if is_work), 0)
            if place < work:
                self._add(path, times * (each + 1.0), place, times)
            else:
                self._add(path, times * each, place, times * min(each, 1.0))

    def _trips(self, passed: list[Passage]) -> dict[int, list[float]]:
        """The trips of each passed loop by its ways.  Loops of one name share the work, the one with the most at once first."""
        trips = {step.loop.head: [way.trips for way, _ in step.ways] for step in passed}
        groups: dict[str, list[Passage]] = {}
        for step in passed:
            if step.ways and step.ways[0][0].unit:
                groups.setdefault(step.name, []).append(step)
            elif step.ways and step.ways[0][0].trips > 1 and sum(other.name == step.name for other in passed) > 1:
                raise Fault(f"{self._who()}: several loops on the path are {step.name}, and no unit says how they share its trips")
        for group in groups.values():
            group.sort(key=lambda step: -self._units(step))
            for number, (way, _) in enumerate(group[0].ways):
                rest = way.trips
                for step in group:
                    units = self._units(step, number)
                    whole = rest / units if step is group[-1] else float(int((rest - way.single) / units))
                    trips[step.loop.head][number] = whole
                    rest -= whole * units
        return trips

    def _units(self, passage: Passage, number: int = 0) -> int:
        """The units of work of one trip."""
        way, path = passage.ways[number]
        units = self._found(path, way.unit)
        if not units:
            raise Fault(f"{self._who()}: the loop at {self.flow.address(passage.loop.head)}, {passage.name}, has no {way.unit}")
        return units

    def _found(self, path: Path, pattern: str) -> int:
        own = sum(bool(re.match(pattern, self.flow.names[i])) for i in path.own())
        return own + sum(self._found(step.ways[0][1], pattern) for step in path.steps if isinstance(step, Passage) and step.ways)
