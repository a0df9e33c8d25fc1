"""How the warps of the quantisation kernels walk: the loops of src/kernels/cuda/quantize*.cuh and their trips.

An item is a tile, which one warp has.  The case is the common one: a plan's table of tiles, a full tile of aligned arrays of one
large tensor, no history, values that become normal codes without saturation, rounded to nearest.
"""

from __future__ import annotations

from gen import plan
from gen.operations.quantize import AMAX, MATRIX, TILE_ELEMENTS
from gen.spec import DTYPES, GpuTarget

from ..describe import Item, Role, Shape, Way
from .adam import RANDOM, WHOLE

_MEMORY = ("LDG", "STG", "SHFL")
_GATHERING = Shape("gathering", has=("VOTEU?.ANY",), lacks=("LDG",), inside=("", "tiles"), is_neutral=True)
AMAX_SHAPES = (
    Shape("tiles", has=("LDG",), holds=True),
    Shape("search", lacks=(*_MEMORY, "VOTE"), inside=("tiles",)),
    Shape("elements", has=("LDG", "FMNMX"), inside=("tiles",)),
    Shape("history", has=("LDG", "STG"), inside=("", "tiles"), holds=False),
    _GATHERING,
)
CAST_SHAPES = (
    Shape("tiles", has=("LDG", "STG"), holds=True),
    Shape("search", lacks=(*_MEMORY, "VOTE"), inside=("tiles",)),
    Shape("elements", has=("LDG", "STG", "FMUL"), inside=("tiles",)),
    Shape("history", has=("LDG",), lacks=("FMUL",), inside=("", "tiles"), holds=False),
    _GATHERING,
)
AMAX_BYTES = 64  # a lane's loads of one trip: 4 * AMAX_WORDS of quantize_amax.cuh

OVER = ("elements",)


def _lane_bytes(kernel: plan.Kernel) -> int:
    """The same of any kernel: 4 * CAST_WORDS of quantize_cast.cuh."""
    assert isinstance(kernel.target, GpuTarget)
    return AMAX_BYTES if kernel.key["variant"] else 2 * kernel.target.vector_bytes


def _trips(kernel: plan.Kernel) -> float:
    return TILE_ELEMENTS * DTYPES[str(kernel.key["input"])].bytes / (32 * _lane_bytes(kernel))


def _amax(kernel: plan.Kernel) -> list[Role]:
    body = Way(_trips(kernel), WHOLE, must=(r"LDG.*\.(128|256)",))
    return [Role("every warp", 1, Way(1.0, {"SHFL": -20, "ATOM": -20, "STG": -20}, inner={"elements": (body,)}), root="tiles")]


def _cast(kernel: plan.Kernel) -> list[Role]:
    body = Way(_trips(kernel), {**WHOLE, RANDOM: -5}, must=(r"LDG.*\.(128|256)",))
    return [Role("every warp", 1, Way(1.0, {"SHFL": -20, "ATOM": -20, "STG": -20}, inner={"elements": (body,)}), root="tiles")]


VARIANTS = {None: (_cast, CAST_SHAPES), AMAX: (_amax, AMAX_SHAPES)}


def items(kernel: plan.Kernel, vocab: int, blocks: int, shared: int) -> list[Item]:
    """What the warps of a kernel do for a tile."""
    return [Item(1.0, VARIANTS[kernel.key["variant"]][0](kernel), TILE_ELEMENTS, _lane_bytes(kernel) * kernel.threads)]


def shapes(kernel: plan.Kernel) -> tuple[Shape, ...]:
    return VARIANTS[kernel.key["variant"]][1]


def moved(kernel: plan.Kernel, vocab: int, shared: int) -> tuple[float, float]:
    """Bytes per element that any kernel must move, and that this one reads a second time: none."""
    return DTYPES[str(kernel.key["input"])].bytes + (0 if kernel.key["variant"] else 1), 0


def is_described(kernel: plan.Kernel) -> bool:
    """Not the kernels of matrices: the steps from block to block of a row are loops without a fixed number of turns."""
    return kernel.key["variant"] != MATRIX
