"""How the warps walk of the cross-entropy kernels that keep a part of a row: src/kernels/cuda/cross_entropy_streamed_rows.cuh.

Called by cross_entropy.py.  The case is that of rows.py.  Left out: what a block does before its first row.
"""

from __future__ import annotations

import math

from gen import plan
from gen.operations.cross_entropy import ROOM_BYTES, TEAM_BYTES
from gen.spec import DTYPES

from ..describe import Item, Role, Shape, Way
from .rows import COPY, EXPONENTIAL, FP64, LABELS, NARROW, NO_ZEROS

FROM_GLOBAL = r"LDG"
HELD = r"LDG\.E\.EF"  # a vector that registers will hold, ...
NEXT = r"LDG\.E\.128"  # ... and the next one, of a row that is not aligned
FOUND = r"U?(FLO|BREV)"  # one of the batches that the loop has left out, such as the label's: rare
SHIFTED = rf"{NARROW}|LDG\.E(\.64)?(\.SYS)?$|SHF\.R\.W"  # a part of a vector, or a shift: only rows that are not aligned have such
LABEL = r"LOP3"  # hides the label in a vector: rare
_INSIDE = ("rows",)

SHAPES = (
    *LABELS,
    Shape("rows", has=("BAR", "SHFL"), inside=("",), holds=True),
    Shape("before the rows", has=(COPY,), lacks=("BAR", EXPONENTIAL), inside=("",)),
    Shape("copy", has=(COPY,), lacks=(EXPONENTIAL,), inside=_INSIDE),
    Shape("zeros", has=("STG",), lacks=("LDS", FROM_GLOBAL, EXPONENTIAL), inside=_INSIDE),
    Shape("sum", has=(EXPONENTIAL, r"LDS"), lacks=("STG", FROM_GLOBAL, SHIFTED), inside=_INSIDE),
    Shape("shifted sum", has=(EXPONENTIAL, r"LDS", SHIFTED), lacks=("STG", FROM_GLOBAL), inside=_INSIDE),
    Shape("streamed sum", has=(EXPONENTIAL, FROM_GLOBAL), lacks=("STG", SHIFTED, HELD, FOUND), inside=_INSIDE),
    Shape("shifted streamed sum", has=(EXPONENTIAL, FROM_GLOBAL, SHIFTED), lacks=("STG", HELD, FOUND), inside=_INSIDE),
    Shape("held sum", has=(EXPONENTIAL, HELD), lacks=("STG", NEXT), inside=_INSIDE),
    Shape("shifted held sum", has=(EXPONENTIAL, HELD, NEXT), lacks=("STG",), inside=_INSIDE),
    Shape("gradient", has=(EXPONENTIAL, "STG", "LDS"), lacks=(FROM_GLOBAL, SHIFTED), inside=_INSIDE),
    Shape("shifted gradient", has=(EXPONENTIAL, "STG", "LDS", SHIFTED), lacks=(FROM_GLOBAL,), inside=_INSIDE),
    Shape("streamed gradient", has=(EXPONENTIAL, "STG", FROM_GLOBAL), lacks=(SHIFTED,), inside=_INSIDE),
    Shape("left out", has=(EXPONENTIAL, FOUND), inside=_INSIDE),
    Shape("held gradient", has=(EXPONENTIAL, "STG"), lacks=(FROM_GLOBAL, "LDS"), inside=_INSIDE),
    Shape("shifted streamed gradient", has=(EXPONENTIAL, "STG", FROM_GLOBAL, SHIFTED), inside=_INSIDE),
    Shape("gathering", has=("VOTEU?.ANY", "YIELD"), lacks=("MUFU", "LDG", "STG"), inside=_INSIDE, is_neutral=True),
)
BATCH = 4  # of row_image.cuh
OVER = tuple(shape.name for shape in SHAPES if "sum" in shape.name or "gradient" in shape.name)


def kept_columns(kernel: plan.Kernel, vocab: int, shared: int) -> int:
    """kept_columns of the kernel: `shared` is the dynamic shared memory of the launch."""
    vector = 16 // DTYPES[str(kernel.key["logits"])].bytes
    return min(vocab // vector, (shared - TEAM_BYTES["streamed"] - ROOM_BYTES) // 16) * vector


def held_columns(kernel: plan.Kernel, vocab: int, shared: int) -> int:
    """Those that registers hold beside the kept ones: held_groups of the kernel."""
    vector = 16 // DTYPES[str(kernel.key["logits"])].bytes
    vectors = (vocab - kept_columns(kernel, vocab, shared)) // vector - 1
    most, batches = (4, 2) if "paired_f32" in kernel.target.features else (2, 5)  # HELD_GROUPS and GROUP_BATCHES
    group = batches * BATCH * kernel.threads
    return max(0, min(most, vectors // group)) * group * vector


def _trips(kernel: plan.Kernel, vectors: int, warp: int) -> float:
    return max(0, math.ceil((vectors - 32 * warp) / kernel.threads))


def _role(kernel: plan.Kernel, vocab: int, kept: int, held: int, warp: int, aligned: bool) -> Role:
    vector = 16 // DTYPES[str(kernel.key["logits"])].bytes
    here, there = _trips(kernel, kept // vector, warp), _trips(kernel, max(0, (vocab - kept - held) // vector - 1), warp)
    in_registers = _trips(kernel, held // vector, warp)
    # In place the gradient has the alignment of the logits.
    summed = "" if aligned else "shifted "
    rare = {LABEL: -1}
    inner = {f"{summed}sum": (Way(here * vector, rare, unit=EXPONENTIAL),),
             f"{summed}streamed sum": (Way(there * vector, rare, unit=EXPONENTIAL),),
             f"{summed}held sum": (Way(in_registers * vector, unit=EXPONENTIAL),),
             "held gradient": (Way(in_registers * vector, unit=EXPONENTIAL),),
             "gradient": (Way(here * vector, unit=EXPONENTIAL),),
             "streamed gradient": (Way(there * vector, unit=EXPONENTIAL),),
             "copy": (Way(here, unit=COPY),)}
    want = {"SHFL": 1, "BAR": 5, "CALL": -50} | NO_ZEROS
    want |= {FP64: 1, "LDG": 1} if warp == 0 else {FP64: -1, "LDG": -1}
    return Role("leader" if warp == 0 else f"warp {warp}", 1, Way(1.0, want, inner=inner), root="rows")


def items(kernel: plan.Kernel, vocab: int, shared: int) -> list[Item]:
    """What the warps of a kernel do for a row, by the alignments of rows that follow one another without gaps."""
    element_bytes = DTYPES[str(kernel.key["logits"])].bytes
    kept, held = kept_columns(kernel, vocab, shared), held_columns(kernel, vocab, shared)
    by_16 = math.gcd(vocab * element_bytes, 16) / 16
    # The loops over held columns request more.
    in_flight = float(min(kernel.threads * 4 * 16, vocab * element_bytes))  # BATCH vectors of each thread
    return [Item(part, [_role(kernel, vocab, kept, held, warp, aligned) for warp in range(kernel.threads // 32)], vocab, in_flight)
            for part, aligned in ((by_16, True), (1 - by_16, False)) if part]
