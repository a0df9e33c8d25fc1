"""Quantisation to 8 bits: the largest magnitudes of tensors, the cast with scales that follow from them, and that of matrices."""

from __future__ import annotations

from collections.abc import Iterator

from gen.operation import Key, Operation, Target, Task
from gen.spec import FLOATS, NARROW, Geometry

AMAX = "amax"
MATRIX = "matrix"

# The tile is QUERN_LIST_TILE of src/kernels/problem.h.
TILE_ELEMENTS = 2048


class Quantize(Operation):
    name = "quantize"
    bit = 16
    keys = ("input", "output", "variant")
    tasks = {None: Task("QUERN_QUANTIZE_CAST", 0), AMAX: Task("QUERN_QUANTIZE_AMAX", 1),
             MATRIX: Task("QUERN_QUANTIZE_MATRIX", 2)}

    def combinations(self) -> Iterator[Key]:
        for source in FLOATS:
            for output in NARROW:
                yield {"input": source, "output": output, "variant": None}
        for source in FLOATS:
            yield {"input": source, "output": None, "variant": AMAX}
        for source in FLOATS:
            for output in NARROW:
                yield {"input": source, "output": output, "variant": MATRIX}

    def illegal(self, key: Key, target: Target) -> str | None:
        if key["variant"] not in self.tasks:
            return f"variant is {key['variant']!r}; there are {AMAX} and {MATRIX}, and none for the cast"
        if key["input"] not in FLOATS:
            return f"input is {key['input'] or 'none'}: it must be one of {', '.join(FLOATS)}"
        if key["variant"] == AMAX:
            return f"the {AMAX} task has no output" if key["output"] else None
        return None if key["output"] in NARROW else f"output is {key['output'] or 'none'}: it must be one of {', '.join(NARROW)}"

    def base_name(self, key: Key) -> str:
        return "_".join(part for part in (self.name, key["variant"], key["input"], key["output"]) if part)

    def stem(self, key: Key, target: Target) -> str:
        return self.template(key)

    def template(self, key: Key) -> str:
        return f"{self.name}_{key['variant'] or 'cast'}"

    def geometry(self, key: Key, target: Target) -> Geometry:
        return Geometry(threads=256, elements=TILE_ELEMENTS)


OPERATION = Quantize()
