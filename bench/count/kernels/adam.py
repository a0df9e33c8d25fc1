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

from ..describe import Role, Shape, Way

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


def cases(kernel: plan.Kernel) -> list[tuple[float, Case]]:
    return [(1.0, Case(kernel))]


def roles(case: Case) -> list[Role]:
    """What the warps of a kernel do for a tile."""
    return ROLES[case.kernel.key["variant"]][0](case)


def shapes(kernel: plan.Kernel) -> tuple[Shape, ...]:
    return ROLES[kernel.key["variant"]][1]


def is_described(kernel: plan.Kernel) -> bool:
    return kernel.key["variant"] != COMBINE
