"""Reads the text of nvdisasm: the instructions of each kernel and the functions that it calls.  Called by machine_code.py."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

SECTION = re.compile(r"\.section\s+\.?(\S+?),")
KERNEL = re.compile(r"\.text\.(\S+):$")
LABEL = re.compile(r"(\.L_\w+|\$\S+):$")
LINE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")
UPPER = re.compile(r"\s*/\* 0x([0-9a-f]{16}) \*/$")  # the second half of an encoding, on a line of its own
GUARD = re.compile(r"@(!?U?P\w+)\s+")
TABLE = re.compile(r"\(\*\"BRANCH_TARGETS ([^\"]+)\"\*\)")
PLACE = re.compile(r"`\(((?:\.L_|\$)[^)]+)\)")


@dataclass(frozen=True)
class Control:
    """When an instruction may issue, as ptxas has encoded it (Jia et al., arXiv 1804.06826): of Volta and later."""

    stall: int   # clocks to the warp's next instruction
    write: int   # the barrier that its result releases; 7: none
    read: int    # ... that the reading of its operands releases
    wait: int    # the barriers that it waits for: bits

    @staticmethod
    def of(upper: int) -> Control:
        bits = upper >> 41
        return Control(bits & 15, bits >> 5 & 7, bits >> 8 & 7, bits >> 11 & 63)


NO_CONTROL = Control(1, 7, 7, 0)


@dataclass(frozen=True)
class Instruction:
    """One instruction of a warp.  It takes an issue slot even if its guard switches it off."""

    address: int
    guard: str      # P0 or !P0; empty: none
    text: str       # without the guard
    targets: tuple[str, ...]
    control: Control = NO_CONTROL

    @property
    def name(self) -> str:
        """The opcode with its modifiers: MUFU.EX2."""
        return self.text.split(None, 1)[0]

    @property
    def is_conditional(self) -> bool:
        """Whether a branch may fall through: by its guard, or by a predicate among its operands."""
        return bool(self.guard) and self.guard != "PT" or bool(re.match(r"\S+\s+!?U?P\d", self.text))

    def __str__(self) -> str:
        return f"{self.address:05x} {'@' + self.guard if self.guard else '':5} {self.text}"


@dataclass
class Code:
    """The section of a kernel: its own instructions, then those of the functions that it calls."""

    name: str
    instructions: list[Instruction] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)  # the index of the instruction after a label


def read(text: str) -> dict[str, Code]:
    """The kernels of a listing by their names."""
    kernels: dict[str, Code] = {}
    present: Code | None = None
    for line in text.splitlines():
        if found := KERNEL.match(line):
            present = kernels.setdefault(found[1], Code(found[1]))
        elif SECTION.search(line):
            present = None
        elif present is None:
            continue
        elif found := LABEL.match(line):
            present.places[found[1]] = len(present.instructions)
        elif found := LINE.match(line):
            guard = GUARD.match(found[2])
            rest = found[2][guard.end():] if guard else found[2]
            listed = TABLE.search(rest)
            targets = tuple(re.split(r",\s*", listed[1])) if listed else tuple(PLACE.findall(rest))
            address, text = int(found[1], 16), TABLE.sub("", rest).strip()
            present.instructions.append(Instruction(address, guard[1] if guard else "", text, targets))
        elif found := UPPER.match(line):
            present.instructions[-1] = replace(present.instructions[-1], control=Control.of(int(found[1], 16)))
    return kernels
