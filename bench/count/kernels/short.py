"""How the warps walk of the cross-entropy kernels that take several rows at once: src/kernels/cuda/cross_entropy_short_rows.cuh.

Called by cross_entropy.py.  The case is that of rows.py.  Left out: what a block does before its first rows.
"""

from __future__ import annotations

import math

from gen import plan
from gen.operations.cross_entropy import SHORT_ROWS
from gen.spec import DTYPES

from ..describe import Item, Role, Shape, Way
from .rows import COPY, EXPONENTIAL, FP64, LABELS, NO_ZEROS, SHIFTED

BATCH = 4  # vectors of a lane: row_image.cuh
EDGE = r"LDS\.U16|STG\.E\.U16|LDG\.E\.U16"  # columns that fill no vector of 16-bit logits
_INSIDE = ("rows",)

SHAPES = (
    *LABELS,
    Shape("rows", has=("SHFL", "VOTE"), inside=("",), holds=True),
    Shape("before the rows", has=(COPY,), lacks=("SHFL",), inside=("",)),
    Shape("copy", has=(COPY,), inside=_INSIDE),
    Shape("gathering", has=("VOTEU?.ANY", "YIELD"), inside=_INSIDE, is_neutral=True),  # until a warp is whole again
    Shape("sample", has=("FMNMX", "LDS"), lacks=(EXPONENTIAL, r"LDS\.(64|128)"), inside=_INSIDE),
    Shape("zeros", has=("STG",), lacks=("LDS",), inside=_INSIDE),
    Shape("sum", has=(EXPONENTIAL,), lacks=("STG", SHIFTED), inside=_INSIDE),
    Shape("shifted sum", has=(EXPONENTIAL, SHIFTED), lacks=("STG",), inside=_INSIDE),
    Shape("gradient", has=(EXPONENTIAL, "STG"), lacks=(SHIFTED,), inside=_INSIDE),
    Shape("shifted gradient", has=(EXPONENTIAL, "STG", SHIFTED), inside=_INSIDE),
)


def _vectors(kernel: plan.Kernel, columns: int, unit: str, each: int) -> Way:
    """The vectors of a row: batches that all lanes of the row have in full, and the others one by one."""
    lanes, vectors = kernel.threads // SHORT_ROWS, columns * DTYPES[str(kernel.key["logits"])].bytes // 16
    batches, turns = vectors // (lanes * BATCH), math.ceil(vectors / lanes)
    return Way(float(turns * each), unit=unit, single=float((turns - batches * BATCH) * each))


def _role(kernel: plan.Kernel, vocab: int, aligned: bool) -> Role:
    element_bytes = DTYPES[str(kernel.key["logits"])].bytes
    vector = 16 // element_bytes
    # In place the gradient has the alignment of the logits.
    inner = {"sum" if aligned else "shifted sum": (_vectors(kernel, vocab, EXPONENTIAL, vector),),
             "gradient": (_vectors(kernel, vocab, EXPONENTIAL, vector),),
             "copy": (_vectors(kernel, vocab, COPY, 1),), "sample": (Way(),)}
    is_whole = vocab * element_bytes % 16 == 0
    want = {"SHFL": 1, FP64: 1, "LDG": 1, EDGE: -1 if is_whole else 1} | NO_ZEROS
    return Role("every warp", 1 / SHORT_ROWS, Way(1.0, want, inner=inner), root="rows")


def items(kernel: plan.Kernel, vocab: int) -> list[Item]:
    """What a warp does for a row, by the alignments of rows that follow one another without gaps."""
    element_bytes = DTYPES[str(kernel.key["logits"])].bytes
    by_16 = math.gcd(vocab * element_bytes, 16) / 16
    in_flight = float(SHORT_ROWS * vocab * element_bytes)
    return [Item(part, [_role(kernel, vocab, aligned)], vocab, in_flight)
            for part, aligned in ((by_16, True), (1 - by_16, False)) if part]
