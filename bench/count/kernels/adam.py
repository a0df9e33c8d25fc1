"""How the warps of the Adam and norm kernels walk: the loops of src/kernels/cuda/adam*.cuh and gradient*.cuh and their trips.

An item is a tile, which one warp has.  The case is the common one: a plan's table of tiles, a full tile of aligned arrays, no weight
decay, ordinary operands; a v of 16 bits or fewer is rounded stochastically, and full kernels use none of the options that plain
ones lack.  What a warp does once in a launch is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from gen import plan
from gen.operations.adam import COMBINE, OPERATION, TILE_ELEMENTS
from gen.spec import DTYPES, GpuTarget

from ..describe import Item, Role, Shape, Way

LOAD, STORE = r"LDG.*\.(64|128|256)", r"STG.*\.(64|128|256)"
SINGLE_LOAD, SINGLE_STORE = r"LDG(\.[A-Z]+)*(\.U16|\.U8)?(\.SYS)?$", r"STG(\.[A-Z]+)*(\.U16|\.U8)?(\.SYS)?$"
RANDOM = r"IMAD\.(WIDE|HI)\.U32"  # Philox multiplies

_MEMORY = ("LDG", "STG", "LDS", "STS", "SHFL")
_AROUND = ("elements", "groups")
SHAPES = (
    Shape("scalars", lacks=_MEMORY, holds=False),  # of the step, once in a launch
    Shape("tiles", has=("LDG", "(STS|SHFL)"), holds=True),
    Shape("search", lacks=(*_MEMORY, "MUFU", "VOTE"), inside=("tiles",), holds=False),  # for the tensor of a tile, without a plan
    Shape("zeros", has=("STG",), lacks=("MUFU", "LDG"), inside=("tiles",), holds=False),
    Shape("elements", inside=("tiles",), holds=True),
    Shape("groups", has=("MUFU.RSQ",), inside=("elements",), holds=True),
    Shape("slow", has=("MUFU.RSQ",), inside=_AROUND, holds=False),  # operands that need care
    Shape("gathering", has=("VOTEU?.ANY",), lacks=("LDG",), inside=("tiles", *_AROUND), is_neutral=True),
)
NORM_SHAPES = (
    Shape("tiles", has=("SHFL", "STG"), holds=True),
    Shape("search", lacks=(*_MEMORY, "VOTE"), inside=("tiles",)),
    Shape("elements", has=("LDG", "DADD"), inside=("tiles",)),
    Shape("gathering", has=("VOTEU?.ANY",), lacks=("LDG",), inside=("", "tiles"), is_neutral=True),
)
ACCUMULATE_SHAPES = (
    Shape("tiles", has=("LDG",), holds=True),
    Shape("search", lacks=(*_MEMORY, "VOTE"), inside=("tiles",)),
    Shape("elements", has=("LDG", "STG"), inside=("tiles",)),
    Shape("gathering", has=("VOTEU?.ANY",), lacks=("LDG",), inside=("", "tiles"), is_neutral=True),
)
AT_ONCE = 4  # loads of a lane in gradient_norm.cuh
WHOLE = {LOAD: 10, STORE: 10, SINGLE_LOAD: -20, SINGLE_STORE: -20}  # vectors of aligned arrays


@dataclass(frozen=True)
class Case:
    """What the trips of a kernel depend on."""

    kernel: plan.Kernel

    @property
    def groups(self) -> int:
        assert isinstance(self.kernel.target, GpuTarget)
        return OPERATION.groups(self.kernel.key, self.kernel.target)

    @property
    def trips(self) -> float:
        """Of a warp through a tile."""
        return TILE_ELEMENTS / (32 * 8 * self.groups)


def _roundable(kernel: plan.Kernel) -> int:
    """The arrays that can be rounded stochastically, besides v."""
    names = ["m"] if kernel.key["master"] == "remainder" else ["param", "m"]
    return sum(DTYPES[str(kernel.key[name])].bits < 32 for name in names)


def _step(case: Case) -> list[Role]:
    """Only v is rounded stochastically.  Nothing tells its branch from those of other arrays, which have the same code: so ways on
    which all arrays are stochastic, and on which none is, are mixed.  With one group the numbers are drawn once for all arrays."""
    if DTYPES[str(case.kernel.key["v"])].bits == 32:
        return [_mixed(case, "every warp", 1.0, {RANDOM: -1})]
    share = 1 / (1 + _roundable(case.kernel))
    drawn = 1 if case.groups == 1 else -1
    return [_mixed(case, "arrays to nearest", 1 - share, {RANDOM: drawn, "F2FP": 1}),
            _mixed(case, "v", share, {RANDOM: 1, "F2FP": -1})]


def _mixed(case: Case, name: str, share: float, rounding: dict[str, int]) -> Role:
    want = WHOLE | rounding
    if case.kernel.key["options"]:
        body = Way(case.trips, want)
    else:
        body = Way(case.trips, WHOLE, inner={"groups": (Way(float(case.groups), want, must=("MUFU.RSQ",)),)})
    return Role(name, share, Way(1.0, must=("LDG",), inner={"elements": (body,)}), root="tiles")


def _norm(case: Case) -> list[Role]:
    want = WHOLE | {"DMUL": -1}
    body = Way(case.trips * case.groups * 8 / _elements(case), want, must=(LOAD,), unit=LOAD)
    return [Role("every warp", 1, Way(1.0, {"STG": 1}, inner={"elements": (body,)}), root="tiles")]


def _elements(case: Case) -> int:
    """Of one access to the gradient."""
    assert isinstance(case.kernel.target, GpuTarget)
    return case.kernel.target.vector_bytes // DTYPES[str(case.kernel.key["grad"])].bytes


def _accumulate(case: Case) -> list[Role]:
    body = Way(case.trips, WHOLE, must=(STORE,))
    return [Role("every warp", 1, Way(1.0, inner={"elements": (body,)}), root="tiles")]


ROLES = {None: (_step, SHAPES), "gradient_norm": (_norm, NORM_SHAPES), "gradient_accumulate": (_accumulate, ACCUMULATE_SHAPES)}


def _arrays(kernel: plan.Kernel) -> tuple[float, float]:
    """Bytes per element that a step reads and writes."""
    key = kernel.key
    kept = [str(key[name]) for name in ("m", "v", "master") if key[name]]
    both = sum(DTYPES[name].bytes for name in kept) + sum(DTYPES[name].is_scaled and DTYPES[name].bits < 16 for name in kept) / 32
    param = DTYPES[str(key["param"])].bytes
    return both + DTYPES[str(key["grad"])].bytes + (0 if key["master"] == "f32" else param), both + param


def _reads(kernel: plan.Kernel) -> float:
    if kernel.key["variant"] is None:
        return _arrays(kernel)[0]
    own = DTYPES[str(kernel.key["grad"])].bytes
    return own * (AT_ONCE if kernel.key["variant"] == "gradient_norm" else 1) + (4 if kernel.key["variant"] == "gradient_accumulate" else 0)


# ---- for table.py ----

OVER = ("elements",)  # the loops over elements


def items(kernel: plan.Kernel, vocab: int, blocks: int) -> list[Item]:
    """What the warps of a kernel do for a tile.  A lane's loads of one trip are in flight together."""
    case = Case(kernel)
    roles, _ = ROLES[kernel.key["variant"]]
    return [Item(1.0, roles(case), TILE_ELEMENTS, _reads(kernel) * 8 * case.groups * kernel.threads)]


def shapes(kernel: plan.Kernel) -> tuple[Shape, ...]:
    return ROLES[kernel.key["variant"]][1]


def moved(kernel: plan.Kernel) -> tuple[float, float]:
    """Bytes per element that any kernel must move, and that this one does: the same."""
    grad = DTYPES[str(kernel.key["grad"])].bytes
    total = {None: lambda: sum(_arrays(kernel)), "gradient_norm": lambda: grad, "gradient_accumulate": lambda: grad + 8}
    return (float(total[kernel.key["variant"]]()),) * 2


def is_described(kernel: plan.Kernel) -> bool:
    """The combining kernel is left out: it reads a number for each 2,048 gradients."""
    return kernel.key["variant"] != COMBINE
