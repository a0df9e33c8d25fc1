"""The control flow of a kernel: successors of each instruction, dominators and natural loops.  Called by paths.py.

An edge that a warp does not take as a rule is left out: BRA.DIV, the way of a diverged warp around a shuffle.  A call falls
through; the instructions of the function count where the call stands (Flow.called).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .sass import Code


class Fault(Exception):
    """A kernel that cannot be counted; the text names the kernel and the place."""


@dataclass
class Loop:
    """A natural loop: the instructions from which its head is reached again without leaving it."""

    head: int
    body: frozenset[int]
    tails: tuple[int, ...]          # the instructions that go back to the head
    inner: list[Loop] = field(default_factory=list)
    outer: Loop | None = None

    @property
    def depth(self) -> int:
        return 1 + self.outer.depth if self.outer else 0

    def own(self) -> frozenset[int]:
        """The body without the loops inside."""
        return self.body - frozenset().union(*(loop.body for loop in self.inner))


class Flow:
    """The graph of one kernel; instruction 0 is its entry."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.names = [each.name for each in code.instructions]
        self.after = [self._successors(i) for i in range(len(code.instructions))]
        self.reached = self._reach(0)
        self.before: list[list[int]] = [[] for _ in self.after]
        for i in self.reached:
            for j in self.after[i]:
                self.before[j].append(i)
        self.loops = self._nest(self._natural_loops())

    def _successors(self, i: int) -> list[int]:
        each = self.code.instructions[i]
        base = each.name.split(".")[0]
        if base in ("EXIT", "RET") and not each.is_conditional:
            return []
        following = [i + 1] if i + 1 < len(self.code.instructions) else []
        if base in ("BRX", "JMX", "BRXU", "JMXU"):
            if each.targets:
                return [self.code.places[target] for target in each.targets]
            raise Fault(f"{self.code.name}: {each.address:05x}: an indirect branch, whose targets are not known")
        jumps = base in ("BRA", "JMP", "BREAK") and ".DIV" not in each.name
        if base == "CALL" and each.targets and each.targets[0].startswith(".L_"):  # to a place of the kernel: does not return
            jumps = True
        if not jumps:
            return following
        if not each.targets or each.targets[0] not in self.code.places:  # the endless loop after the last instruction
            return following if each.is_conditional else []
        target = self.code.places[each.targets[0]]
        return [target, *following] if each.is_conditional or ".CONV" in each.name else [target]

    def called(self, i: int) -> list[int]:
        """The shortest way through the function that an instruction calls; empty if it calls none."""
        each = self.code.instructions[i]
        if not each.name.startswith("CALL") or not each.targets or each.targets[0].startswith(".L_"):
            return []
        first = self.code.places[each.targets[0]]
        came: dict[int, int | None] = {first: None}
        waiting = [first]
        for node in waiting:
            if self.names[node].startswith("RET"):
                path = [node]
                while (earlier := came[path[-1]]) is not None:
                    path.append(earlier)
                return path
            for onward in self.after[node]:
                if onward not in came:
                    came[onward] = node
                    waiting.append(onward)
        raise Fault(f"{self.code.name}: {each.address:05x}: the function does not return")

    def _reach(self, start: int) -> list[int]:
        """What is reached from an instruction, in reverse postorder."""
        order: list[int] = []
        seen, stack = {start}, [(start, iter(self.after[start]))]
        while stack:
            node, waiting = stack[-1]
            onward = next((j for j in waiting if j not in seen), None)
            if onward is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(onward)
                stack.append((onward, iter(self.after[onward])))
        return order[::-1]

    def _dominators(self) -> dict[int, int]:
        """The immediate dominator of each instruction that is reached (Cooper, Harvey and Kennedy)."""
        place = {node: number for number, node in enumerate(self.reached)}
        parent = {0: 0}
        changed = True
        while changed:
            changed = False
            for node in self.reached[1:]:
                known = [each for each in self.before[node] if each in parent]
                nearest = known[0]
                for other in known[1:]:
                    while nearest != other:
                        while place[nearest] > place[other]:
                            nearest = parent[nearest]
                        while place[other] > place[nearest]:
                            other = parent[other]
                if parent.get(node) != nearest:
                    parent[node] = nearest
                    changed = True
        return parent

    def _natural_loops(self) -> list[Loop]:
        parent = self._dominators()

        def dominates(upper: int, lower: int) -> bool:
            while lower > 0 and lower != upper:
                if parent[lower] == lower:
                    break
                lower = parent[lower]
            return lower == upper

        place = {node: number for number, node in enumerate(self.reached)}
        tails: dict[int, list[int]] = {}
        for node in self.reached:
            for onward in self.after[node]:
                if place[onward] <= place[node]:
                    if not dominates(onward, node):
                        raise Fault(f"{self.code.name}: {self.code.instructions[onward].address:05x}: a loop with two entries")
                    tails.setdefault(onward, []).append(node)
        return [Loop(head, self._body(head, ends), tuple(ends)) for head, ends in tails.items()]

    def _body(self, head: int, tails: list[int]) -> frozenset[int]:
        body, waiting = {head}, list(tails)
        while waiting:
            node = waiting.pop()
            if node not in body:
                body.add(node)
                waiting += self.before[node]
        return frozenset(body)

    def _nest(self, loops: list[Loop]) -> list[Loop]:
        """Sets who lies in whom; the loops in the order of their heads."""
        for loop in loops:
            around = [other for other in loops if other is not loop and loop.head in other.body and other.body >= loop.body]
            loop.outer = min(around, key=lambda other: len(other.body), default=None)
            if loop.outer:
                loop.outer.inner.append(loop)
        return sorted(loops, key=lambda loop: loop.head)

    def address(self, i: int) -> str:
        return f"{self.code.instructions[i].address:05x}"
