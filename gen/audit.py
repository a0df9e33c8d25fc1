"""Reports and judges the compiled form of each GPU kernel: registers, spills, the widths of global accesses, by receipts, and the
instructions per element, from the PTX in build/.

The instructions are PTX along the shortest path on which a thread handles vectors in full: nearest rounding, no weight
decay, operands that need no special care.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass

from gen import machine_code, measured, plan, ptx
from gen.machine_code import Code
from gen.operations import adam, cross_entropy
from gen.ptx import Block
from gen.spec import DTYPES, GpuTarget

ADAM_REGISTERS = 64  # more would leave fewer than 1024 threads on a multiprocessor


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


NARROW = ("gradient_norm_combine", "tensor_steps")  # a value for each block or tensor


def _streams(kernel: plan.Kernel) -> bool:
    """Whether the kernel reads or writes whole arrays of elements."""
    return bool(kernel.key.get("logits")) or kernel.operation == "adam" and kernel.key["variant"] not in NARROW


def _vector_bytes(kernel: plan.Kernel, width: int, arrays: tuple[str, ...]) -> int:
    """The widest access to these arrays: a full kernel of Adam has eight elements at a time, of which only fp32 fill 32 bytes."""
    if kernel.operation != "adam" or not kernel.key["options"]:
        return width
    return min(width, max(DTYPES[dtype].bits for name in arrays if (dtype := kernel.key[name])))


def violations_of(kernel: plan.Kernel, code: Code) -> list[str]:
    """The violations that --check reports."""
    assert isinstance(kernel.target, GpuTarget)
    found, width = [], kernel.target.vector_bytes
    if code.spills or code.stack:
        found.append(f"{code.spills} bytes spilled, {code.stack} bytes of stack")
    if kernel.operation == "adam" and code.registers > ADAM_REGISTERS:
        found.append(f"{code.registers} registers, more than {ADAM_REGISTERS}")
    if _streams(kernel):
        # Asynchronous copies have 16 bytes at most, but for those in bulk.  Rows in turns are stored in vectors of 16 bytes, too.
        turns = kernel.operation == "cross_entropy" and cross_entropy.takes_turns(kernel.key)
        in_bulk = turns and kernel.geometry.cluster > 0
        copies = {"short": 16, "resident": plan.GPU_PART_BYTES if in_bulk else 16, "streamed": 16}
        load_width = copies.get(str(kernel.key.get("variant")), _vector_bytes(kernel, width, ("grad", "m", "v", "master")))
        store_width = 16 if turns else _vector_bytes(kernel, width, ("param", "m", "v", "master"))
        if not code.loads.get(load_width):
            found.append(f"no load of {load_width} bytes")
        if not code.stores.get(store_width) and kernel.key.get("variant") not in ("stats", "gradient_norm"):
            found.append(f"no store of {store_width} bytes")
    return found


def instructions_of(kernel: plan.Kernel, blocks: dict[str, Block]) -> float:
    if not _streams(kernel):
        return 0.0
    if logits := kernel.key.get("logits"):
        return round(cross_entropy_instructions(blocks, DTYPES[logits].bits // 8), 1)
    assert isinstance(kernel.target, GpuTarget)
    return round(adam_instructions(blocks, adam.OPERATION.groups(kernel.key, kernel.target)), 1)


def audit_unit(unit: plan.Unit, image: machine_code.Image) -> list[Audit]:
    """The kernels of one source, which has been built."""
    bodies = ptx.kernels(machine_code.path(unit.build_stem, "ptx").read_text())
    codes = {kernel: image.kernels[kernel.symbol] for kernel in unit.kernels}
    return [Audit(kernel.name, code.registers, code.spills, code.stack, code.shared, code.loads, code.stores,
                  instructions_of(kernel, bodies[kernel.symbol]), violations_of(kernel, code)) for kernel, code in codes.items()]


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


def _is_built(unit: plan.Unit) -> bool:
    return all(machine_code.path(unit.build_stem, extension).exists() for extension in ("ptx", "ptxas", "cubin"))


def check(units: list[plan.Unit], everything: bool) -> int:
    """A line for each violation, and for each kernel of which nothing is known."""
    found = measured.measured(everything)
    complaints, count = list(found.faults), 0
    unknown = {line.partition(":")[0] for line in found.skipped}
    for unit in units:
        image = found.images.get(unit.build_stem)
        for kernel in unit.kernels:
            code = image.kernels.get(kernel.symbol) if image else None
            count += code is not None
            if code:
                complaints += [f"{kernel.name}: {line}" for line in violations_of(kernel, code)]
            elif unit.build_stem not in unknown:
                complaints.append(f"{kernel.name}: nothing is known of its machine code")
    print("\n".join([*found.skipped, *complaints, f"{count} kernels audited, {len(complaints)} violations"]))
    return 1 if complaints else 0


def run(arguments: argparse.Namespace) -> int:
    """The audit command: a table or JSON, or with --check a line per violation."""
    units = [unit for operation in plan.OPERATIONS for unit in plan.units(operation) if unit.target.kind == "gpu"]
    if arguments.check:
        return check(units, arguments.all)
    built = [unit for unit in units if _is_built(unit)]
    if not built:
        print("no GPU kernel has been built, so there is nothing to audit: ./quern toolkit && ./quern build", file=sys.stderr)
        return 1
    audits = [audit for unit in built for audit in audit_unit(unit, machine_code.read(unit.build_stem))]
    if arguments.json:
        print(json.dumps([asdict(audit) for audit in audits], indent=1))
    else:
        print_table(audits)
    if missing := [unit.build_stem for unit in units if unit not in built]:
        print(f"{len(missing)} of {len(units)} files of GPU kernels have not been built, {missing[0]} for one: ./quern build",
              file=sys.stderr)
    return 0
