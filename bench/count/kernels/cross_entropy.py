"""How the warps of the cross-entropy kernels walk: the loops of src/kernels/cuda/cross_entropy*.cuh and their trips.

The case is the common one: the loss and the gradient in place, no option in use, labels that count, finite rows.  Left out, because
a warp or two of a row execute it: the columns outside the vectors of an unaligned row, padding, and the label inside a vector.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from gen import plan
from gen.operations.cross_entropy import GEOMETRY, STAGES_OF_ALL_LOGITS, takes_turns
from gen.spec import DTYPES, GPU_PART_BYTES, GpuTarget

from ..describe import Item, Role, Shape, Use, Way
from . import rows, short, streamed

LOAD, STORE = r"LDG.*\.(128|256)", r"STG.*\.(128|256)"  # of a vector
FROM_SHARED = r"LDS.*\.128"
COPY = "LDGSTS"
EXPONENTIAL = r"MUFU\.EX2"
MERGED_AT_ONCE = GEOMETRY["streamed"].sums

SHAPES = (
    Shape("zeros", has=("STG",), lacks=("MUFU", "LDG", "LDS", "SYNCS", "SHFL")),
    Shape("parts", has=("SHFL", "STS"), lacks=("STG",)),
    Shape("merge", has=("SHFL", "DFMA"), lacks=("STS", "STG")),
    Shape("unaligned", has=("LDG", "STS"), lacks=("MUFU", "SHFL"), inside=("parts",)),
    Shape("largest", has=("FMNMX", r"LDS.*\.128"), lacks=("MUFU", "SHFL"), inside=("parts",)),
    Shape("sum", has=(EXPONENTIAL, r"LDS.*\.128"), lacks=("STG", "SHFL"), inside=("parts",)),
    Shape("gradient", has=(EXPONENTIAL, "STG"), lacks=("SHFL",)),
    Shape("gathering", has=("VOTEU?.ANY", "YIELD"), inside=("", "parts"), is_neutral=True),  # until a warp is whole again
)


@dataclass(frozen=True)
class Case:
    """What the trips of a kernel depend on, for rows of one alignment."""

    kernel: plan.Kernel
    vocab: int
    by_16: bool   # the row begins at a multiple of 16 bytes, ...
    by_vector: bool  # ... of a vector

    @property
    def variant(self) -> str:
        return str(self.kernel.key["variant"])

    @property
    def element_bytes(self) -> int:
        return DTYPES[str(self.kernel.key["logits"])].bytes

    @property
    def vector_bytes(self) -> int:
        assert isinstance(self.kernel.target, GpuTarget)
        return self.kernel.target.vector_bytes

    @property
    def warps(self) -> int:
        return self.kernel.threads // 32

    @property
    def copies(self) -> bool:
        return "async_copy" in self.kernel.target.features

    @property
    def columns_of_part(self) -> int:
        return GPU_PART_BYTES // self.element_bytes

    @property
    def parts(self) -> int:
        return -(-self.vocab // self.columns_of_part)

    @property
    def vectors_of_thread(self) -> int:
        """In a full part: PART_VECTORS of cross_entropy_layout.cuh."""
        return GPU_PART_BYTES // self.vector_bytes // self.kernel.threads

    def columns(self, part: int) -> int:
        return min(self.columns_of_part, self.vocab - part * self.columns_of_part)

    def trips(self, columns: int) -> float:
        """Of a warp over the vectors of so many columns, on the average."""
        return math.ceil(columns * self.element_bytes // self.vector_bytes / 32) / self.warps

    @property
    def keeps_parts(self) -> bool:
        """Whether a part is summed from shared memory, else from registers."""
        return self.variant == "streamed" and self.copies


def cases(kernel: plan.Kernel, vocab: int) -> list[tuple[float, Case]]:
    """The alignments of rows that follow one another without gaps, with their shares."""
    assert isinstance(kernel.target, GpuTarget)
    step = vocab * DTYPES[str(kernel.key["logits"])].bytes
    wide = kernel.target.vector_bytes
    by_vector, by_16 = math.gcd(step, wide) / wide, math.gcd(step, 16) / 16
    shares = ((by_vector, True, True), (by_16 - by_vector, True, False), (1 - by_16, False, False))
    return [(share, Case(kernel, vocab, *aligned)) for share, *aligned in shares if share]


# ---- the first pass ----


def _part_inner(case: Case, columns: int) -> dict[str, tuple[Way, ...]]:
    """The loops over the vectors of a part.  The largest is sought in missing vectors too."""
    if not case.keeps_parts:
        return {}
    full, all_vectors = case.trips(columns), float(case.vectors_of_thread)
    inner = {
        "largest": _filled(full, all_vectors, {FROM_SHARED: 1}),
        "sum": _filled(full, all_vectors, {EXPONENTIAL: 1, r"MUFU\.RCP": -100}),
    }
    if not case.by_16:
        inner["unaligned"] = (Way(full, {"STS": 1}),)
    return inner


def _filled(full: float, all_vectors: float, want: dict[str, int]) -> tuple[Way, ...]:
    """Trips with a vector, and trips of the same loop without."""
    return (Way(full, want, must=tuple(pattern for pattern, value in want.items() if value > 0)),
            Way(all_vectors - full, {pattern: -abs(value) for pattern, value in want.items()}))


def _part_want(case: Case, is_copied: bool) -> dict[str, int]:
    """Of the code around those loops."""
    want = {COPY: 3 if is_copied and case.by_16 else -3}
    if not case.keeps_parts:
        want |= {LOAD: 5 if case.by_vector else -5, EXPONENTIAL: 20, r"MUFU\.RCP": -100}
        if case.kernel.full:
            want["FSETP"] = -2  # an option that is not in use: label smoothing loads vectors too
    return want


def _merge_want(case: Case, count: int, warp: int) -> dict[str, int]:
    """Of a warp where the sums of all warps become the stats of the last `count` parts, and these are merged."""
    want = {"BAR": 50, "STG": -100}
    if warp < count:
        want |= {"SHFL": 1, "DFMA": 1}
        want[FROM_SHARED] = 5 if warp == 0 and case.parts > 1 else -50
    else:
        want |= {"SHFL": -1, "DFMA": -1, FROM_SHARED: -50}
    return want


def _parts(case: Case, warp: int) -> tuple[Way, ...]:
    """The trips of the loop over the parts of a row, equal ones together; first the last one, which leaves the loop."""
    found: Counter[tuple] = Counter()
    for part in range(case.parts):
        slot = part % MERGED_AT_ONCE
        ends = slot == MERGED_AT_ONCE - 1 or part + 1 == case.parts
        found[case.columns(part), part + 1 < case.parts, slot + 1 if ends else 0] += 1
    ways = []
    for (columns, is_copied, count), trips in found.items():
        want = _part_want(case, is_copied)
        want |= _merge_want(case, count, warp) if count else {"BAR": -50}
        ways.append(Way(trips, want, inner=_part_inner(case, columns)))
    return tuple(reversed(ways))


# ---- the second pass ----


def _gradient(case: Case, columns: int) -> tuple[Way, ...]:
    """From global memory."""
    want = {STORE: 1, r"MUFU\.RCP": -100}
    return (Way(case.trips(columns), want, must=(STORE,), unit=STORE),)


# ---- the variants ----


def _whole_row(case: Case) -> list[Role]:
    """streamed: a block has a row."""
    ways: dict[tuple, list[int]] = {}
    for warp in range(case.warps):
        key = (_parts_key(case, warp), warp == 0)
        ways.setdefault(key, []).append(warp)
    roles = []
    for members in ways.values():
        warp = members[0]
        want = {COPY: 3 if case.by_16 else -3, "SHFL": 1}
        want |= {"DFMA": 1} if warp == 0 else {"DFMA": -1, "STG": -100}
        inner = {"parts": _parts(case, warp), "gradient": _gradient(case, case.vocab)}
        roles.append(Role(_name(warp), len(members), Way(1.0, want, inner=inner)))
    return roles


def _parts_key(case: Case, warp: int) -> tuple[bool, ...]:
    """What distinguishes the warps: at the end of which groups of parts they have one to sum."""
    counts = [min(MERGED_AT_ONCE, case.parts - first) for first in range(0, case.parts, MERGED_AT_ONCE)]
    return tuple(warp < count for count in counts)


def _name(warp: int) -> str:
    return "first warp" if warp == 0 else f"warps from {warp} on"


def _one_part(case: Case) -> list[Role]:
    """stats, gradient: a block has a part."""
    roles = []
    for columns, blocks in Counter(case.columns(part) for part in range(case.parts)).items():
        if case.variant == "gradient":
            inner = {"gradient": _gradient(case, columns)}
            roles.append(Role(f"parts of {columns} columns", blocks * case.warps, Way(1.0, {"STG": -100}, inner=inner)))
            continue
        share = case.trips(columns) / case.vectors_of_thread
        for warp, warps in ((0, 1), (1, case.warps - 1)):
            want = _part_want(case, False) | ({"SHFL": 1, "DFMA": 1} if warp == 0 else {"SHFL": -1, "DFMA": -1, "STG": -100})
            full = Way(1.0, want, must=(EXPONENTIAL,))
            idle = Way(1.0, want | {EXPONENTIAL: -20, LOAD: -5})
            roles += [Role(f"{_name(warp)}, {what}", blocks * warps * part, way)
                      for what, part, way in (("with vectors", share, full), ("without", 1 - share, idle)) if part]
    return roles


BY_PARTS = {"streamed": _whole_row, "stats": _one_part, "gradient": _one_part}
VARIANTS = ("short", "resident", *BY_PARTS)


def _in_flight(case: Case) -> float:
    """Bytes that a block has requested while it loads.  Asynchronous copies run ahead of the sums; other loads do not."""
    by_registers = float(case.kernel.threads * case.vector_bytes)
    if case.variant == "streamed":
        row = case.vocab * case.element_bytes
        return min(GPU_PART_BYTES, row) if case.by_16 or not case.keeps_parts else by_registers
    return float(GPU_PART_BYTES) if case.variant == "stats" else by_registers * case.vectors_of_thread


# ---- for table.py ----

OVER = ("unaligned", "largest", "sum", "gradient", *rows.OVER, *streamed.OVER)  # the loops over elements


def items(kernel: plan.Kernel, use: Use) -> list[Item]:
    """What the warps of a kernel do for a row, by the alignments of rows."""
    if kernel.key["variant"] == "short":
        return short.items(kernel, use.vocab)
    if takes_turns(kernel.key):
        kept = keeps_rows(kernel)
        return rows.items(kernel, use.vocab, use.blocks) if kept else streamed.items(kernel, use.vocab, use.shared)
    return [Item(share, BY_PARTS[case.variant](case), use.vocab, _in_flight(case)) for share, case in cases(kernel, use.vocab)]


def keeps_rows(kernel: plan.Kernel) -> bool:
    return kernel.key["variant"] != "streamed"


def shapes(kernel: plan.Kernel) -> tuple[Shape, ...]:
    if kernel.key["variant"] == "short":
        return short.SHAPES
    if takes_turns(kernel.key):
        if not keeps_rows(kernel):
            return streamed.SHAPES
        return rows.SHAPES_FULL if kernel.full else rows.SHAPES
    return SHAPES


def moved(kernel: plan.Kernel, use: Use) -> tuple[float, float]:
    """Bytes per logit that any kernel must move for this stage, and that this one reads a second time."""
    element_bytes = DTYPES[str(kernel.key["logits"])].bytes
    if kernel.key["variant"] == "stats":
        return element_bytes, 0
    if keeps_rows(kernel):
        return 2 * element_bytes, 0
    on_chip = 0
    if takes_turns(kernel.key):
        on_chip = sum(of(kernel, use.vocab, use.shared) for of in (streamed.kept_columns, streamed.held_columns))
    return 2 * element_bytes, element_bytes * (1 - on_chip / use.vocab)


def is_described(kernel: plan.Kernel) -> bool:
    """The stages of all logits are left out: a thousandth of the traffic, by one block or a warp for each row, or a read that is asked
    for apart.  So is the product with late upstream gradients: one multiplication for each element."""
    return kernel.key["variant"] not in (*STAGES_OF_ALL_LOGITS, "upstream")
