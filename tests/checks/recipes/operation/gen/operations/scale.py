"""y = factor * x: an operation that only the recipe of tests/checks/generator.py adds."""

from __future__ import annotations

from collections.abc import Iterator

from gen.operation import Key, Operation, Target
from gen.spec import Geometry


class Scale(Operation):
    name = "scale"
    bit = 64
    keys = ("dtype",)

    def combinations(self) -> Iterator[Key]:
        yield {"dtype": "f32"}

    def illegal(self, key: Key, target: Target) -> str | None:
        return None if key["dtype"] == "f32" else f"dtype is {key['dtype'] or 'none'}: it must be f32"

    def geometry(self, key: Key, target: Target) -> Geometry:
        return Geometry(threads=256)


OPERATION = Scale()
