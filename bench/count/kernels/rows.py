"""How the warps walk of the cross-entropy kernels whose blocks take rows in turns: src/kernels/cuda/cross_entropy_rows.cuh and
cross_entropy_full_rows.cuh.

Called by cross_entropy.py.  The case is that of the other kernels: the loss and the gradient in place, no option in use, labels that
count, finite rows, and a sample whose origin serves.  Left out: what a block does before its first row.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from gen import plan
from gen.spec import DTYPES

from ..describe import Item, Role, Shape, Way

EXPONENTIAL = r"MUFU\.EX2"
NARROW = r"LDS(\.U)?(\.64)?$"  # a part of a vector: only rows that are not aligned have such
SHIFTED = rf"{NARROW}|SHF\.R\.W"
COPY = r"LDGSTS|LDG.*\.128"  # of a vector, where no bulk copy moves the row
MERGE = r"VOTEU?\.ANY"  # only where the sums of several blocks are merged
FP64 = r"D(FMA|ADD|MUL)"  # in the loss
NO_ZEROS = {r"STG\.E\.EF\.128": -20, r"STG\.E\.64": -20}  # of padding and skipped rows, and of stats
_INSIDE = ("rows",)

# How a block learns the mean's divisor, once: it gathers what all have counted, and counts what is missing.
LABELS = (
    Shape("labels", has=("LOP3",), lacks=("MUFU", "LD[GS]", "ST", "SHFL", "BAR", "F"), inside=_INSIDE, holds=True),
    Shape("missing labels", inside=("labels", "missing labels")),
)

SHAPES = (
    *LABELS,
    Shape("rows", has=("BAR", "SHFL"), inside=("",), holds=True),
    Shape("before the rows", has=(f"UBLKCP|{COPY}",), lacks=("BAR",), inside=("",)),
    Shape("one lane", has=("UBLKCP",), inside=_INSIDE),  # of those that have a copy to issue: once
    Shape("copy", has=(COPY,), inside=_INSIDE),
    Shape("wait", has=(r"SYNCS.*TRYWAIT",), inside=_INSIDE, is_neutral=True),
    Shape("sample", has=("FMNMX", "LDS"), lacks=(EXPONENTIAL, r"LDS\.(64|128)"), inside=_INSIDE),
    Shape("zeros", has=("STG",), lacks=("LDS",), inside=_INSIDE),
    Shape("sum", has=(EXPONENTIAL,), lacks=("STG", SHIFTED), inside=_INSIDE),
    Shape("shifted sum", has=(EXPONENTIAL, SHIFTED), lacks=("STG",), inside=_INSIDE),
    Shape("gradient", has=(EXPONENTIAL, "STG"), lacks=(SHIFTED,), inside=_INSIDE),
    Shape("shifted gradient", has=(EXPONENTIAL, "STG", SHIFTED), inside=_INSIDE),
)
# With all options: the loops of options that are not in use have names of their own.  SEL: a row that is not aligned.
_LARGEST = r"V?HMNMX2?|FMNMX"
SHAPES_FULL = (
    Shape("rows", has=("BAR", "SHFL"), inside=("",), holds=True),
    Shape("before the rows", has=(f"UBLKCP|{COPY}",), lacks=("BAR",), inside=("",)),
    Shape("weights", has=("FADD",), lacks=("MUFU", "STG", "BAR"), inside=("", "weights")),
    Shape("one lane", has=("UBLKCP",), inside=_INSIDE),
    Shape("copy", has=(COPY,), lacks=("MUFU",), inside=_INSIDE),
    Shape("wait", has=(r"SYNCS.*TRYWAIT",), inside=_INSIDE, is_neutral=True),
    Shape("sample", has=("FMNMX", "LDS"), lacks=(EXPONENTIAL, r"LDS\.(64|128)"), inside=_INSIDE),
    Shape("zeros", has=("STG",), lacks=("LDS",), inside=_INSIDE),
    Shape("largest", has=(_LARGEST, r"LDS\.128"), lacks=(EXPONENTIAL, "SEL"), inside=_INSIDE),
    Shape("shifted largest", has=(_LARGEST, r"LDS\.128", "SEL"), lacks=(EXPONENTIAL,), inside=_INSIDE),
    Shape("capped sum", has=(EXPONENTIAL, _LARGEST), lacks=("STG",), inside=_INSIDE),
    Shape("sum", has=(EXPONENTIAL,), lacks=("STG", "SEL", _LARGEST), inside=_INSIDE),
    Shape("shifted sum", has=(EXPONENTIAL, "SEL"), lacks=("STG", _LARGEST), inside=_INSIDE),
    Shape("capped gradient", has=(EXPONENTIAL, "STG", _LARGEST), inside=_INSIDE),
    Shape("gradient", has=(EXPONENTIAL, "STG"), lacks=("SEL", _LARGEST), inside=_INSIDE),
    Shape("shifted gradient", has=(EXPONENTIAL, "STG", "SEL"), lacks=(_LARGEST,), inside=_INSIDE),
)
OVER = ("copy", "largest", "shifted largest", "sum", "shifted sum", "gradient", "shifted gradient")


@dataclass(frozen=True)
class Share:
    """The columns of one block, in rows of one alignment."""

    kernel: plan.Kernel
    columns: int
    blocks: int
    is_first: bool
    aligned: bool

    @property
    def vector(self) -> int:
        return 16 // DTYPES[str(self.kernel.key["logits"])].bytes

    def trips(self, warp: int) -> int:
        """The vectors of a lane, for the first lane of a warp."""
        return max(0, math.ceil((self.columns // self.vector - 32 * warp) / self.kernel.threads))


def shares(kernel: plan.Kernel, vocab: int, blocks: int, aligned: bool) -> Counter[Share]:
    vector = 16 // DTYPES[str(kernel.key["logits"])].bytes
    each = -(-(-(-vocab // vector)) // blocks) * vector
    return Counter(Share(kernel, min(each, vocab - block * each), blocks, block == 0, aligned) for block in range(blocks))


def _role(share: Share, warp: int, warps: int) -> Role:
    vectors = Way(float(share.trips(warp) * share.vector), unit=EXPONENTIAL)
    inner = {"sum" if share.aligned else "shifted sum": (vectors,), "gradient": (vectors,)}
    if share.kernel.full:
        loads = 1 if share.aligned else 2  # of a vector
        reads = Way(float(share.trips(warp) * loads), unit=r"LDS\.128")
        inner["largest" if share.aligned else "shifted largest"] = (reads,)
    want = {"SHFL": 1, MERGE: 100 if share.blocks > 1 else -100}
    want |= NO_ZEROS
    is_bulk = "clusters" in share.kernel.target.features
    if not is_bulk:
        inner["copy"] = (Way(float(share.trips(warp)), unit=COPY),)
    if warp == 0:
        inner |= {"sample": (Way(),)} | ({"one lane": (Way(),)} if is_bulk else {})
        want |= {"SYNCS.ARRIVE": 1, "STS": 2, "LDG": 1}
        want |= {FP64: 1} if share.is_first else {FP64: -1, "STG": -1}
    else:
        want |= {"STG": -1, "LDG": -1, "SYNCS.ARRIVE": -5}
    name = "leader" if warp == 0 else f"warps from {warp} on"
    return Role(f"{'first' if share.is_first else 'other'} block, {name}", warps, Way(1.0, want, inner=inner), root="rows")


def items(kernel: plan.Kernel, vocab: int, blocks: int) -> list[Item]:
    """What the warps of a kernel do for a row, by the alignments of rows that follow one another without gaps."""
    element_bytes = DTYPES[str(kernel.key["logits"])].bytes
    by_16 = math.gcd(vocab * element_bytes, 16) / 16
    found = []
    for part, aligned in ((by_16, True), (1 - by_16, False)):
        if part:
            found.append(Item(part, _roles(shares(kernel, vocab, blocks, aligned)), vocab, vocab * element_bytes / blocks))
    return found


def _roles(blocks: Counter[Share]) -> list[Role]:
    roles = []
    for share, number in blocks.items():
        ways: dict[tuple[bool, int], list[int]] = {}
        for warp in range(share.kernel.threads // 32):
            ways.setdefault((warp == 0, share.trips(warp)), []).append(warp)
        roles += [_role(share, members[0], number * len(members)) for members in ways.values()]
    return roles
