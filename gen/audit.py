"""Reports the compiled form of each GPU kernel, from the PTX and the ptxas reports in build/: registers, spills, the widths of
global accesses and the instructions per element.

The instructions are PTX along the shortest path on which a thread handles vectors in full: nearest rounding, no weight
decay, operands that need no special care.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from gen import plan
from gen.operations import adam, cross_entropy
from gen.spec import DTYPES, GpuTarget

BUILD = Path(__file__).resolve().parent.parent / "build"
ADAM_REGISTERS = 64  # more would leave fewer than 1024 threads on a multiprocessor

ENTRY = re.compile(r"\.entry (\w+)\(.*?^\{(.*?)^\}(?!\n\t// end inline asm)", re.S | re.M)
ACCESS = re.compile(r"(ld|st)\.global(?:\.(?!v\d)[\w:]+)*?(?:\.v(\d))?\.[busf](\d+)\s")
COPY = re.compile(r"cp\.async\.c\S+\s.*?(\d+)\s*;")
BULK_COPY = re.compile(r"cp\.async\.bulk\.\S+global")  # of any size: counted as that of a part
REPORT = re.compile(r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
                    r"(\d+) bytes spill loads.*?Used (\d+) registers(?:.*?(\d+) bytes smem)?", re.S)


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


@dataclass
class Audit:
    """One line of the table."""

    name: str
    registers: int
    spills: int
    stack: int
    shared: int
    loads: dict[int, int]    # how many loads of how many bytes
    stores: dict[int, int]
    instructions: float      # per element; 0 where a kernel has no vectors
    violations: list[str]


def blocks_of(body: str) -> dict[str, Block]:
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
            if access := ACCESS.search(text):
                widths = block.loads if access[1] == "ld" else block.stores
                widths.append(int(access[2] or 1) * int(access[3]) // 8)
            elif copy := COPY.search(text):
                block.loads.append(int(copy[1]))
            elif BULK_COPY.search(text):
                block.loads.append(plan.GPU_PART_BYTES)
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


def dominators(blocks: dict[str, Block]) -> dict[str, set[str]]:
    """The dominators of each block: the blocks that are on every path to it."""
    before: dict[str, list[str]] = {name: [] for name in blocks}
    for name, block in blocks.items():
        for successor in block.successors:
            before[successor].append(name)
    result = {name: set(blocks) for name in blocks}
    result["entry"] = {"entry"}
    changed = True
    while changed:
        changed = False
        for name in blocks:
            ways = [result[b] for b in before[name]]
            new = {name} | (set.intersection(*ways) if ways else set())
            if name != "entry" and new != result[name]:
                result[name], changed = new, True
    return result


def loops_of(blocks: dict[str, Block]) -> dict[str, set[str]]:
    """The natural loops: header -> blocks."""
    above = dominators(blocks)
    before: dict[str, list[str]] = {name: [] for name in blocks}
    for name, block in blocks.items():
        for successor in block.successors:
            before[successor].append(name)
    loops: dict[str, set[str]] = {}
    for name, block in blocks.items():
        for header in block.successors:
            if header in above[name]:
                body = loops.setdefault(header, {header})
                waiting = [name]
                while waiting:
                    if (inner := waiting.pop()) not in body:
                        body.add(inner)
                        waiting += before[inner]
    return loops


def shortest_path(blocks: dict[str, Block], region: set[str], start: str, loops: dict[str, set[str]]) -> list[str]:
    """The path from start through the region without back edges: the most bytes by vectors, then the fewest instructions."""
    best: dict[str, tuple[int, int, list[str]]] = {}

    def visit(name: str, trail: frozenset[str]) -> tuple[int, int, list[str]]:
        if name not in best:
            block = blocks[name]
            onwards = [visit(s, trail | {name}) for s in block.successors
                       if s in region and s not in trail and s != name and not (s in loops and name in loops[s])]
            vectors = sum(b for b in block.loads + block.stores if b >= 16)
            rest = max(onwards, key=lambda way: (way[0], way[1]), default=(0, 0, []))
            best[name] = (rest[0] + vectors, rest[1] - block.instructions, [name, *rest[2]])
        return best[name]

    return visit(start, frozenset())[2]


def adam_instructions(blocks: dict[str, Block], groups: int) -> float:
    """Adam's accesses lie in one loop, or in none where a thread has one turn; inside is one over `groups` groups."""
    loops = loops_of(blocks)
    wide = {name for name, block in blocks.items() if block.widest() >= 16}
    around = [(len(body), header) for header, body in loops.items() if wide <= body]
    start = min(around)[1] if around else "entry"
    region = loops[start] if around else set(blocks)
    path = shortest_path(blocks, region, start, loops)
    # A loop that merely holds a step of the path, such as the search for the tensor, runs as often as the path goes.
    inner = [body for header, body in loops.items() if header != start and body < region and _is_group_loop(blocks, body)]
    if not inner:
        groups = 1  # one turn is one group: either there are no more, or all accesses lie in the loop over them
    repeated = set[str]().union(*inner)
    total = sum(blocks[name].instructions * (groups if name in repeated else 1) for name in path)
    return total / (8 * groups)


def _is_group_loop(blocks: dict[str, Block], body: set[str]) -> bool:
    return sum(blocks[name].instructions for name in body) > 200


def cross_entropy_instructions(blocks: dict[str, Block], element_bytes: int) -> float:
    """The sum over the innermost loops that read vectors (from global or shared memory): the passes."""
    loops = loops_of(blocks)
    total = 0.0
    for header, body in loops.items():
        if any(other != header and loops[other] < body for other in loops):
            continue
        path = [blocks[name] for name in shortest_path(blocks, body, header, loops)]
        moved = max(sum(b for block in path for b in block.loads if b >= 16),
                    sum(b for block in path for b in block.stores if b >= 16))
        if moved and any(block.reads_shared or block.loads for block in path):
            total += sum(block.instructions for block in path) / (moved / element_bytes)
    return total


def _streams(kernel: plan.Kernel) -> bool:
    """Whether the kernel reads or writes whole arrays of elements."""
    return bool(kernel.key.get("logits")) or kernel.operation == "adam" and kernel.key["variant"] != "gradient_norm_combine"


def _vector_bytes(kernel: plan.Kernel, width: int, arrays: tuple[str, ...]) -> int:
    """The widest access to these arrays: a full kernel of Adam has eight elements at a time, of which only fp32 fill 32 bytes."""
    if kernel.operation != "adam" or not kernel.key["options"]:
        return width
    return min(width, max(DTYPES[dtype].bits for name in arrays if (dtype := kernel.key[name])))


def violations_of(kernel: plan.Kernel, audit: Audit, width: int) -> list[str]:
    """The violations that --check reports."""
    found = []
    if audit.spills or audit.stack:
        found.append(f"{audit.spills} bytes spilled, {audit.stack} bytes of stack")
    if kernel.operation == "adam" and audit.registers > ADAM_REGISTERS:
        found.append(f"{audit.registers} registers, more than {ADAM_REGISTERS}")
    if _streams(kernel):
        # Asynchronous copies have 16 bytes at most, but for those in bulk.  Rows in turns are stored in vectors of 16 bytes, too.
        turns = kernel.operation == "cross_entropy" and cross_entropy.takes_turns(kernel.key)
        in_bulk = turns and kernel.geometry.cluster > 0
        copies = {"short": 16, "resident": plan.GPU_PART_BYTES if in_bulk else 16, "streamed": 16}
        load_width = copies.get(str(kernel.key.get("variant")), _vector_bytes(kernel, width, ("grad", "m", "v", "master")))
        store_width = 16 if turns else _vector_bytes(kernel, width, ("param", "m", "v", "master"))
        if not audit.loads.get(load_width):
            found.append(f"no load of {load_width} bytes")
        if not audit.stores.get(store_width) and kernel.key.get("variant") not in ("stats", "gradient_norm"):
            found.append(f"no store of {store_width} bytes")
    return found


def audit_unit(unit: plan.Unit) -> list[Audit]:
    """The kernels of one compilation unit; empty when it has not been built."""
    ptx, report = (BUILD / f"{unit.build_stem}{extension}" for extension in (".ptx", ".ptxas"))
    assert isinstance(unit.target, GpuTarget)
    if not (ptx.exists() and report.exists()):
        return []
    bodies = {match[1]: blocks_of(match[2]) for match in ENTRY.finditer(ptx.read_text())}
    # One kernel's part of the report at a time, so that a value missing there is not taken from the next.
    parts = re.split(r"(?=ptxas info\s*: Compiling entry)", report.read_text())
    numbers = {match[1]: [int(n or 0) for n in match.groups()[1:]] for part in parts if (match := REPORT.search(part))}
    width = unit.target.vector_bytes
    audits = []
    for kernel in unit.kernels:
        blocks = bodies[kernel.symbol]
        stack, spill_stores, spill_loads, registers, shared = numbers[kernel.symbol]
        logits = kernel.key.get("logits")
        per_element = (0.0 if not _streams(kernel) else
                       cross_entropy_instructions(blocks, DTYPES[logits].bits // 8) if logits else
                       adam_instructions(blocks, adam.OPERATION.groups(kernel.key, unit.target)))
        audit = Audit(kernel.name, registers, spill_stores + spill_loads, stack, shared,
                      dict(Counter(b for block in blocks.values() for b in block.loads)),
                      dict(Counter(b for block in blocks.values() for b in block.stores)), round(per_element, 1), [])
        audit.violations = violations_of(kernel, audit, width)
        audits.append(audit)
    return audits


def widths(histogram: dict[int, int]) -> str:
    """{16: 4, 2: 8} -> "16B x4, 2B x8"."""
    return ", ".join(f"{size}B x{count}" for size, count in sorted(histogram.items(), reverse=True)) or "-"


def print_table(audits: list[Audit]) -> None:
    rows = [("kernel", "registers", "spills", "stack", "shared", "instructions", "loads", "stores")]
    rows += [(a.name, str(a.registers), str(a.spills), str(a.stack), str(a.shared),
              f"{a.instructions:.1f}" if a.instructions else "-", widths(a.loads), widths(a.stores)) for a in audits]
    sizes = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.rjust(size) if 1 <= i <= 5 else cell.ljust(size) for i, (cell, size) in enumerate(zip(row, sizes))]
        print("  ".join(cells).rstrip())


def run(arguments: argparse.Namespace) -> int:
    """The audit command: a table or JSON, and with --check a line per violation."""
    units = [unit for operation in plan.OPERATIONS for unit in plan.units(operation) if unit.target.kind == "gpu"]
    audits: list[Audit] = []
    missing: list[str] = []
    for unit in units:
        found = audit_unit(unit)
        audits += found
        if not found:
            missing.append(unit.build_stem)
    if not audits:
        print("no GPU kernel has been built, so there is nothing to audit: ./quern toolkit && ./quern build", file=sys.stderr)
        return 1
    complaints = [f"{name}: not built" for name in missing]
    complaints += [f"{audit.name}: {line}" for audit in audits for line in audit.violations]
    if arguments.json:
        print(json.dumps([asdict(audit) for audit in audits], indent=1))
    elif not arguments.check:
        print_table(audits)
    if arguments.check:
        for line in complaints:
            print(line)
        print(f"{len(audits)} kernels audited, {len(complaints)} violations")
        return 1 if complaints else 0
    if missing:
        print(f"{len(missing)} of {len(units)} files of GPU kernels have not been built, {missing[0]} for one: ./quern build",
              file=sys.stderr)
    return 0
