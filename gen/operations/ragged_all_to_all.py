"""The ragged all-to-all: one kernel for each target."""

from __future__ import annotations

from gen.operation import Key, Operation
from gen.spec import Geometry


class RaggedAllToAll(Operation):
    name = "ragged_all_to_all"
    bit = 8
    talks = True

    def geometry(self, key: Key, target: Target) -> Geometry:
        return Geometry(threads=512)

    def cpu_member(self, key: Key) -> str:
        return self.name


OPERATION = RaggedAllToAll()
