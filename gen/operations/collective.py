"""The collectives: kernels that combine the elements of all ranks, one that moves bytes, and those of quantised chunks."""

from __future__ import annotations

from collections.abc import Iterator

from gen.operation import Key, Operation, Target, Task
from gen.spec import FLOATS, NARROW, Geometry

MOVE = "move"
CHUNKS = "chunks"
MEETING = "chunk_meeting"
BLOCKS = "block_chunks"
CASTS = (CHUNKS, BLOCKS)


class Collective(Operation):
    name = "collective"
    bit = 32
    keys = ("dtype", "output", "variant")
    tasks = {None: Task("QUERN_COLLECTIVE_COMBINE", 0), MOVE: Task("QUERN_COLLECTIVE_MOVE", 1),
             CHUNKS: Task("QUERN_COLLECTIVE_CHUNKS", 2), MEETING: Task("QUERN_COLLECTIVE_CHUNK_MEETING", 3),
             BLOCKS: Task("QUERN_COLLECTIVE_BLOCK_CHUNKS", 4)}
    talks = True

    def combinations(self) -> Iterator[Key]:
        for dtype in FLOATS:
            yield {"dtype": dtype, "output": None, "variant": None}
        yield {"dtype": None, "output": None, "variant": MOVE}
        for variant in CASTS:
            for dtype in FLOATS:
                for output in NARROW:
                    yield {"dtype": dtype, "output": output, "variant": variant}
        yield {"dtype": None, "output": None, "variant": MEETING}

    def illegal(self, key: Key, target: Target) -> str | None:
        variant = key["variant"]
        if variant not in self.tasks:
            return f"variant is {variant!r}; there are {MOVE}, {CHUNKS}, {BLOCKS} and {MEETING}, and none for combinations"
        if target.kind == "cpu" and variant in (*CASTS, MEETING):
            return "ranks on CPUs quantise chunks with the kernels of quantisation"
        if variant in CASTS and key["output"] not in NARROW:
            return f"output is {key['output'] or 'none'}: it must be one of {', '.join(NARROW)}"
        if variant not in CASTS and key["output"]:
            return f"the {variant or 'combining'} task has no output"
        if variant in (MOVE, MEETING):
            return f"the {variant} task has no dtype" if key["dtype"] else None
        return None if key["dtype"] in FLOATS else f"dtype is {key['dtype'] or 'none'}: it must be one of {', '.join(FLOATS)}"

    def base_name(self, key: Key) -> str:
        return "_".join(part for part in (self.name, key["variant"], key["dtype"], key["output"]) if part)

    def geometry(self, key: Key, target: Target) -> Geometry:
        return Geometry(threads=128 if key["variant"] == MEETING else 512)

    def waits(self, key: Key) -> bool:
        return key["variant"] in (None, MOVE)

    def cpu_member(self, key: Key) -> str:
        return "ragged_all_to_all" if key["variant"] == MOVE else "any"

    def stem(self, key: Key, target: Target) -> str:
        return self.template(key)

    def template(self, key: Key) -> str:
        return f"{self.name}_{key['variant'] or 'combine'}"


OPERATION = Collective()
