"""Reads PTX: the kernels of a file, their control flow, and the widths of their accesses to global memory."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gen.spec import GPU_PART_BYTES

_ENTRY = re.compile(r"\.entry (\w+)\(.*?^\{(.*?)^\}(?!\n\t// end inline asm)", re.S | re.M)
_ACCESS = re.compile(r"(ld|st)\.global(?:\.(?!v\d)[\w:]+)*?(?:\.v(\d))?\.[busf](\d+)\s")
_COPY = re.compile(r"cp\.async\.c\S+\s.*?(\d+)\s*;")
_BULK_COPY = re.compile(r"cp\.async\.bulk\.\S+global")  # of any size: counted as that of a part


@dataclass
class Block:
    """A basic block of PTX."""

    instructions: int = 0
    successors: list[str] = field(default_factory=list)
    loads: list[int] = field(default_factory=list)   # bytes of each load from global memory, asynchronous copies included
    stores: list[int] = field(default_factory=list)
    reads_shared: bool = False

    def widest(self) -> int:
        return max(self.loads + self.stores, default=0)


def kernels(text: str) -> dict[str, dict[str, Block]]:
    """The control flow of each kernel of a file."""
    return {match[1]: _blocks_of(match[2]) for match in _ENTRY.finditer(text)}


def _blocks_of(body: str) -> dict[str, Block]:
    """The control flow of one kernel; the first block is the entry."""
    blocks = {"entry": Block()}
    present = "entry"
    falls = True  # whether the present block can run on into the next
    for line in re.sub(r"//[^\n]*", "", body).splitlines():
        text = line.strip()
        if label := re.match(r"(\$\w+):", text):
            if falls:
                blocks[present].successors.append(label[1])
            present, falls = label[1], True
            blocks[present] = Block()
        elif text.endswith(";") and not text.startswith("."):
            block = blocks[present]
            block.instructions += 1
            if access := _ACCESS.search(text):
                widths = block.loads if access[1] == "ld" else block.stores
                widths.append(int(access[2] or 1) * int(access[3]) // 8)
            elif copy := _COPY.search(text):
                block.loads.append(int(copy[1]))
            elif _BULK_COPY.search(text):
                block.loads.append(GPU_PART_BYTES)
            block.reads_shared |= "ld.shared" in text
            branch = re.search(r"\bbra(?:\.uni)?\s+(\$\w+)", text)
            if branch:
                block.successors.append(branch[1])
            if branch or re.search(r"\bret;", text):
                falls = text.startswith("@")
                if falls:  # what follows a conditional branch is a block of its own
                    following = f"{present}'"
                    block.successors.append(following)
                    blocks[following] = Block()
                    present = following
    return blocks
