"""The collectives: kernels that combine the elements of all ranks, and one that moves bytes."""

from __future__ import annotations

from collections.abc import Iterator

from gen.operation import Key, Operation, Target, Task
from gen.spec import FLOATS

MOVE = "move"


class Collective(Operation):
    name = "collective"
    bit = 32
    keys = ("dtype", "variant")
    tasks = {None: Task("QUERN_COLLECTIVE_COMBINE", 0), MOVE: Task("QUERN_COLLECTIVE_MOVE", 1)}
    talks = True

    def combinations(self) -> Iterator[Key]:
        for dtype in FLOATS:
            yield {"dtype": dtype, "variant": None}
        yield {"dtype": None, "variant": MOVE}

    def illegal(self, key: Key, target: Target) -> str | None:
        if key["variant"] not in self.tasks:
            return f"variant is {key['variant']!r}; there is {MOVE}, and none for combinations"
        if target.kind == "gpu":
            return "the collectives have no kernels for GPUs"
        if key["variant"] == MOVE:
            return f"the {MOVE} task has no dtype" if key["dtype"] else None
        return None if key["dtype"] in FLOATS else f"dtype is {key['dtype'] or 'none'}: it must be one of {', '.join(FLOATS)}"

    def cpu_member(self, key: Key) -> str:
        return "ragged_all_to_all" if key["variant"] == MOVE else "any"

    def stem(self, key: Key, target: Target) -> str:
        return self.template(key)

    def template(self, key: Key) -> str:
        return f"{self.name}_{key['variant'] or 'combine'}"


OPERATION = Collective()
