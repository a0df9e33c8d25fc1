"""How the warps of the quantisation kernels walk: the loops of src/kernels/cuda/quantize*.cuh and their trips.

An item is a tile, which one warp has.  The case is the common one: a plan's table of tiles, a full tile of aligned arrays of one
large tensor, no history, values that become normal codes without saturation, rounded to nearest.  A kernel of matrices has a way
for each form of them, quantize_whole.cuh; the loops of quantize_matrix.cuh are for all other tiles.
"""

from __future__ import annotations

from dataclasses import dataclass

from gen import plan
from gen.operations.quantize import AMAX, MATRIX, TILE_ELEMENTS
from gen.spec import DTYPES, GpuTarget

from ..describe import Item, Role, Shape, Use, Way
from .adam import RANDOM, SINGLE_LOAD, WHOLE

_MEMORY = ("LDG", "STG", "SHFL")
_GATHERING = Shape("gathering", has=("VOTEU?.ANY",), lacks=("LDG",), inside=("", "tiles", "tensors"), is_neutral=True)
AMAX_SHAPES = (
    Shape("tensors", has=("LDG", "STG", "MUFU"), holds=True),  # of a launch that finds scales by a history
    Shape("tiles", has=("LDG",), lacks=("MUFU",), holds=True),
    Shape("search", lacks=(*_MEMORY, "VOTE"), inside=("tiles",)),
    Shape("elements", has=("LDG", "FMNMX"), inside=("tiles",)),
    Shape("history", has=("LDG", "STG"), inside=("tensors",), holds=False),
    _GATHERING,
)
CAST_SHAPES = (
    Shape("tiles", has=("LDG", "STG"), holds=True),
    Shape("search", lacks=(*_MEMORY, "VOTE"), inside=("tiles",)),
    Shape("elements", has=("LDG", "STG", "FMUL"), inside=("tiles",)),
    _GATHERING,
)
AMAX_BYTES = 64  # a lane's loads of one trip: 4 * AMAX_WORDS of quantize_amax.cuh


def _lane_bytes(kernel: plan.Kernel) -> int:
    """The same of any kernel: 4 * CAST_WORDS of quantize_cast.cuh."""
    assert isinstance(kernel.target, GpuTarget)
    return AMAX_BYTES if kernel.key["variant"] else 2 * kernel.target.vector_bytes


def _trips(kernel: plan.Kernel) -> float:
    return TILE_ELEMENTS * DTYPES[str(kernel.key["input"])].bytes / (32 * _lane_bytes(kernel))


RARE = {"SHFL": -20, "ATOM": -20, "STG": -20}  # the amax of a tensor, and its scale


def _amax(kernel: plan.Kernel, form: str) -> list[Role]:
    body = Way(_trips(kernel), WHOLE, must=(r"LDG.*\.(128|256)",))
    return [Role("every warp", 1, Way(1.0, RARE, inner={"elements": (body,)}), root="tiles")]


def _cast(kernel: plan.Kernel, form: str) -> list[Role]:
    body = Way(_trips(kernel), {**WHOLE, RANDOM: -5}, must=(r"LDG.*\.(128|256)",))
    return [Role("every warp", 1, Way(1.0, RARE, inner={"elements": (body,)}), root="tiles")]


# ---- matrices ----


@dataclass(frozen=True)
class Form:
    """What is wanted of all tensors of a list."""

    in_blocks: bool
    is_transposed: bool

    @property
    def output_bytes(self) -> float:
        """Of an element: its codes, and a byte for 32 of them."""
        return (1 + self.is_transposed) * (1 + self.in_blocks / 32)


FORMS = {"transposed": Form(False, True), "blocks": Form(True, False), "both": Form(True, True)}

_WIDE, _BLOCKS, _KEPT = r"LDG.*\.(128|256)", "SHFL", "STS"
_NARROW = r"LDG\.E\.U16|" + SINGLE_LOAD
_OTHERS = ("other groups", "other rows", *FORMS)
MATRIX_SHAPES = (
    Shape("tiles", has=("LDG", "STG"), holds=True),
    Shape("search", lacks=(*_MEMORY, "VOTE"), inside=("tiles",)),
    Shape("columns", has=(_WIDE, "FMNMX"), lacks=("STG", "FMUL", _NARROW), inside=("tiles",)),
    Shape("transposed", has=(_WIDE, "STG", "FMUL", _KEPT), lacks=(_BLOCKS, _NARROW), inside=("tiles",)),
    Shape("blocks", has=(_WIDE, "STG", "FMUL", _BLOCKS), lacks=(_KEPT, _NARROW), inside=("tiles",)),
    Shape("both", has=(_WIDE, "STG", "FMUL", _BLOCKS, _KEPT), lacks=(_NARROW,), inside=("tiles",)),
    Shape("neither", has=(_WIDE, "STG", "FMUL"), lacks=(_BLOCKS, _KEPT, _NARROW), inside=("tiles",)),
    Shape("other columns", has=(_NARROW, "FMNMX"), lacks=("STG", "FMUL"), inside=("tiles",)),
    Shape("other groups", has=(_NARROW, _KEPT), lacks=("FMUL",), inside=("tiles",), holds=True),
    Shape("other rows", has=("LDS", "STG", "FMUL"), inside=("other groups",)),
    Shape("next row", lacks=(*_MEMORY, "VOTE"), inside=("other groups", "other rows")),
    Shape("gathering", has=("VOTEU?.ANY",), lacks=("LDG",), inside=("", "tiles", *_OTHERS), is_neutral=True),
)


def _row_words(kernel: plan.Kernel) -> int:
    """ROW_WORDS of quantize_whole.cuh: of the rows that a lane loads at once."""
    assert isinstance(kernel.target, GpuTarget)
    return 16 if "fp8_convert" in kernel.target.features else 8


def _matrix(kernel: plan.Kernel, name: str) -> list[Role]:
    form, groups = FORMS[name], TILE_ELEMENTS / (32 * 8)
    trips = groups * 8 * DTYPES[str(kernel.key["input"])].bytes / 4 / _row_words(kernel)
    want = {**WHOLE, _BLOCKS: 5, r"STG?\.E\.U8": 5, "STS": 5}
    inner = {name: (Way(trips, want, must=(_WIDE, "STG"), unit=""),)}
    if form.in_blocks and form.is_transposed:
        inner["columns"] = (Way(trips, must=(_WIDE,)),)
    return [Role("every warp", 1, Way(1.0, {"ATOM": -20}, inner=inner), root="tiles")]


VARIANTS = {None: (_cast, CAST_SHAPES), AMAX: (_amax, AMAX_SHAPES), MATRIX: (_matrix, MATRIX_SHAPES)}


# ---- for table.py ----

OVER = ("elements", "columns", *FORMS)


def forms(kernel: plan.Kernel) -> tuple[str, ...]:
    return tuple(FORMS) if kernel.key["variant"] == MATRIX else ("",)


def items(kernel: plan.Kernel, use: Use) -> list[Item]:
    """What the warps of a kernel do for a tile."""
    flying = 4 * _row_words(kernel) if kernel.key["variant"] == MATRIX else _lane_bytes(kernel)
    return [Item(1.0, VARIANTS[kernel.key["variant"]][0](kernel, use.form), TILE_ELEMENTS, flying * kernel.threads)]


def shapes(kernel: plan.Kernel) -> tuple[Shape, ...]:
    return VARIANTS[kernel.key["variant"]][1]


def moved(kernel: plan.Kernel, use: Use) -> tuple[float, float]:
    """Bytes per element that any kernel must move, and that this one reads a second time from memory: none."""
    outputs = FORMS[use.form].output_bytes if use.form else 0 if kernel.key["variant"] else 1
    return DTYPES[str(kernel.key["input"])].bytes + outputs, 0


def is_described(kernel: plan.Kernel) -> bool:
    return True
