"""How the warps of the Adam and norm kernels walk: the loops of src/kernels/cuda/adam*.cuh and gradient*.cuh and their trips.

An item is a tile, which one warp has.  The case is the common one: a plan's table of tiles, a full tile of aligned arrays, no
weight decay, ordinary operands; a v of 16 bits or fewer is rounded stochastically, and full kernels use none of the options that
plain ones lack.  What a warp does once in a launch is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from gen import plan
from gen.operations.adam import OPERATION, TILE_ELEMENTS, WITHOUT_GRADIENTS
from gen.spec import DTYPES, GpuTarget

from ..describe import Item, Role, Shape, Use, Way

LOAD, STORE = r"LDG.*\.(64|128|256)", r"STG.*\.(64|128|256)"
SINGLE_LOAD, SINGLE_STORE = r"LDG(\.[A-Z]+)*(\.U16)?(\.SYS)?$", r"STG(\.[A-Z]+)*(\.U16)?(\.SYS)?$"
RANDOM, PRODUCTS = r"IMAD\.(WIDE|HI)\.U32", 12  # Philox multiplies so often for a group

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
    Shape("zeros", has=("STG",), lacks=("LDG",), inside=("tiles",)),  # the sums of a group without tokens
    Shape("gathering", has=("VOTEU?.ANY",), lacks=("LDG",), inside=("", "tiles"), is_neutral=True),
)
AT_ONCE = 4  # loads of a lane in gradient_norm.cuh
ALIGNED = {SINGLE_LOAD: -20, SINGLE_STORE: -20}
WHOLE = {LOAD: 10, STORE: 10, **ALIGNED}  # vectors of aligned arrays


@dataclass(frozen=True)
class Case:
    """What the trips of a kernel depend on."""

    kernel: plan.Kernel

    @property
    def groups(self) -> int:
        assert isinstance(self.kernel.target, GpuTarget)
        return OPERATION.groups(self.kernel.key, self.kernel.target)

    @property
    def arrays(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """The arrays that a step reads and writes, with their dtypes.  With an fp32 master the parameters are only written."""
        kept = [(name, str(self.kernel.key[name])) for name in ("m", "v", "param", "master") if self.kernel.key[name]]
        reads = [each for each in kept if each[0] != "param" or self.kernel.key["master"] != "f32"]
        return [("grad", str(self.kernel.key["grad"])), *reads], kept

    def spans(self, name: str, dtype: str) -> bool:
        """Whether one access covers all groups of a lane.  Registers are too few for a master copy and its parameters."""
        if name in ("param", "master") and self.kernel.key["master"]:
            return False
        return self.groups > 1 and self.groups * 8 * DTYPES[dtype].bytes <= self._vector_bytes

    @property
    def _vector_bytes(self) -> int:
        assert isinstance(self.kernel.target, GpuTarget)
        return self.kernel.target.vector_bytes

    def accesses(self, arrays: list[tuple[str, str]], spanning: bool = False) -> int:
        """Vector accesses of one group, or of a lane by arrays that span its groups."""
        return sum(1 if spanning else -(-8 * DTYPES[dtype].bytes // self._vector_bytes)
                   for name, dtype in arrays if self.spans(name, dtype) == spanning)

    @property
    def trips(self) -> float:
        """Of a warp through a tile."""
        return TILE_ELEMENTS / (32 * 8 * self.groups)


def _roundable(kernel: plan.Kernel) -> int:
    """The arrays that can be rounded stochastically, besides v."""
    names = ["m"] if kernel.key["master"] == "remainder" else ["param", "m"]
    return sum(DTYPES[str(kernel.key[name])].bits < 32 for name in names)


def _step(case: Case) -> list[Role]:
    """Only v is rounded stochastically.

    Nothing tells its branch from those of other arrays, which have the same code: so a way on which all arrays are stochastic and
    one on which none is are mixed.  With one group the numbers are drawn once for all arrays.
    """
    if DTYPES[str(case.kernel.key["v"])].bits == 32:
        return [_mixed(case, "every warp", 1.0, {RANDOM: -1})]
    share = 1 / (1 + _roundable(case.kernel))
    drawn = 1 if case.groups == 1 else -1
    return [_mixed(case, "arrays to nearest", 1 - share, {RANDOM: drawn, "F2FP": 1}),
            _mixed(case, "v", share, {RANDOM: 1, "F2FP": -1})]


def _mixed(case: Case, name: str, share: float, rounding: dict[str, int]) -> Role:
    reads, writes = case.arrays
    if case.kernel.key["options"]:
        # Options that are not in use would access further arrays, so that the number of accesses excludes them.
        narrow = [[each for each in arrays if DTYPES[each[1]].bytes == 1] for arrays in (reads, writes)]
        exactly = {r"LDG.*\.(128|256)": case.accesses(reads) - len(narrow[0]), r"LDG.*\.64": len(narrow[0]),
                   r"STG.*\.(128|256)": case.accesses(writes) - len(narrow[1]), r"STG.*\.64": len(narrow[1])}
        exactly[RANDOM] = PRODUCTS if rounding[RANDOM] > 0 else 0  # AMSGrad would draw once more
        body = Way(case.trips, ALIGNED, must=("MUFU.RSQ",), exactly=exactly)
        return Role(name, share, Way(1.0, must=("LDG",), inner={"elements": (body,)}), root="tiles")
    # Arrays of which a vector spans the lane's groups are accessed around the loop over groups.
    groups = Way(float(case.groups), ALIGNED | rounding, must=("MUFU.RSQ",),
                 exactly={LOAD: case.accesses(reads, False), STORE: case.accesses(writes, False)})
    body = Way(case.trips, ALIGNED, exactly={LOAD: case.accesses(reads, True), STORE: case.accesses(writes, True)},
               inner={"groups": (groups,)})
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
    """A lane has the elements of one access to a 16-bit array at once, or eight.  Zeroing would store further vectors, and a sum
    that is overwritten is not loaded.
    """
    assert isinstance(case.kernel.target, GpuTarget)
    sizes = [DTYPES[str(case.kernel.key[name])].bytes for name in ("grad", "param")]
    elements = 8 if min(sizes) == 4 else 8 * case.groups
    own, sums = (max(1, elements * size // case.kernel.target.vector_bytes) for size in sizes)
    body = Way(TILE_ELEMENTS / 32 / elements, ALIGNED, exactly={LOAD: own + sums, STORE: sums})
    return [Role("every warp", 1, Way(1.0, inner={"elements": (body,)}), root="tiles")]


VARIANTS = {None: (_step, SHAPES), "gradient_norm": (_norm, NORM_SHAPES), "gradient_accumulate": (_accumulate, ACCUMULATE_SHAPES)}


def _bytes(arrays: list[tuple[str, str]]) -> float:
    """Per element, with a byte of scale for 32 elements of an 8-bit or f16 moment."""
    return sum(DTYPES[dtype].bytes + (DTYPES[dtype].is_scaled and name in ("m", "v")) / 32 for name, dtype in arrays)


def _reads(kernel: plan.Kernel) -> float:
    if kernel.key["variant"] is None:
        return _bytes(Case(kernel).arrays[0])
    own = DTYPES[str(kernel.key["grad"])].bytes
    return own * AT_ONCE if kernel.key["variant"] == "gradient_norm" else own + DTYPES[str(kernel.key["param"])].bytes


# ---- for table.py ----

OVER = ("elements",)  # the loops over elements


def items(kernel: plan.Kernel, use: Use) -> list[Item]:
    """What the warps of a kernel do for a tile.  A lane's loads of one trip are in flight together."""
    case = Case(kernel)
    roles, _ = VARIANTS[kernel.key["variant"]]
    return [Item(1.0, roles(case), TILE_ELEMENTS, _reads(kernel) * 8 * case.groups * kernel.threads)]


def shapes(kernel: plan.Kernel) -> tuple[Shape, ...]:
    return VARIANTS[kernel.key["variant"]][1]


def moved(kernel: plan.Kernel, use: Use) -> tuple[float, float]:
    """Bytes per element that any kernel must move, and that this one reads a second time: none."""
    grad = DTYPES[str(kernel.key["grad"])].bytes
    if kernel.key["variant"] is None:
        total = sum(map(_bytes, Case(kernel).arrays))
    else:
        total = grad if kernel.key["variant"] == "gradient_norm" else grad + 2 * DTYPES[str(kernel.key["param"])].bytes
    return total, 0


def is_described(kernel: plan.Kernel) -> bool:
    """Those without gradients are left out: they read a number for each 2,048 gradients, or for each tensor."""
    return kernel.key["variant"] not in WITHOUT_GRADIENTS
