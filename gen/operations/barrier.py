"""The barrier of GPU ranks: one kernel for each GPU target."""

from __future__ import annotations

from gen.operation import Key, Operation, Target
from gen.spec import Geometry


class Barrier(Operation):
    name = "barrier"
    bit = 4
    talks = True
    is_compiled_once = False  # nvcc orders its instructions by the target

    def illegal(self, key: Key, target: Target) -> str | None:
        return "ranks on CPUs meet in the host code, without a kernel" if target.kind == "cpu" else None

    def geometry(self, key: Key, target: Target) -> Geometry:
        return Geometry(threads=128)  # one for each rank that a group may have


OPERATION = Barrier()
