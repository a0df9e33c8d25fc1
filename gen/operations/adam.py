"""Adam: the step for many types of parameters, gradients, moments and master copies, and tasks on gradients.

Legality is defined only here: templates/adam/legality.h.j2 writes it for the host code and for reading kernel packs.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gen.operation import Key, Operation, Target, Task
from gen.spec import COPIES, DTYPES, FLOATS, MOMENTS, SCALED, Geometry, GpuTarget

# Step kernels beside the library's own, by their names without a target: written by `gen add`.
ADDED_KERNELS = Path(__file__).resolve().parent.parent / "added_kernels.txt"

# The tile is QUERN_LIST_TILE of src/kernels/problem.h.
TILE_ELEMENTS = 2048
COMBINE = "gradient_norm_combine"
ACCUMULATE = "gradient_accumulate"
TENSOR_STEPS = "tensor_steps"

# Tasks that touch no gradients: on GPUs alone, for all types.
WITHOUT_GRADIENTS = (COMBINE, TENSOR_STEPS)

# The types of the sums of an accumulation, which take the place of its param.
MAINS = ("f32", "bf16")


@dataclass(frozen=True)
class Master:
    """A type of master copies."""

    params: tuple[str, ...]  # parameters that it can complete
    reason: str              # for `gen explain`, if they have another type
    expected: str            # for an error of quern_adam
    suffix: str              # in names of kernels


MASTERS = {
    "f32": Master(tuple(name for name in FLOATS if name != "f32"),
                  "a master copy of f32 parameters would hold the same values twice",
                  "none, since a master copy would hold the same values twice", "master32"),
    "remainder": Master(("bf16",), "param is {param}: only bf16 and its remainder make up an fp32",
                        "bf16 ones, which the remainder completes to fp32", "remainder"),
}

# The types that an array of the step can have; None: the array is optional.
ROLES: dict[str, tuple[str | None, ...]] = {
    "param": FLOATS,
    "grad": FLOATS,
    "m": MOMENTS,
    "v": MOMENTS,
    "master": (None, *MASTERS),
    "copy": (None, *COPIES),
}


@dataclass(frozen=True)
class Rows:
    """Step kernels that the library has from the start: every state with every form."""

    options: str | None                       # "full": knows amsgrad, copies, zero_grads and scaled types
    states: tuple[tuple[str, str], ...]       # m, v
    forms: tuple[tuple[str, str, str | None], ...]  # param, grad, master

    def keys(self) -> list[tuple[str | None, ...]]:
        """Each kernel's param, grad, m, v, master and options."""
        return [(param, grad, m, v, master, self.options) for param, grad, master in self.forms for m, v in self.states]


_SAME = (("f32", "f32"), ("bf16", "bf16"))
_MIXED = (("bf16", "f32"), ("f32", "bf16"))
_SCALED = (("f16", "f16"), ("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e4m3", "e5m2"), ("bf16", "e4m3"), ("bf16", "e5m2"))
_BF16 = (("bf16", "bf16", None), ("bf16", "bf16", "f32"), ("bf16", "bf16", "remainder"))

# The library's own step kernels.  Any other legal one is named in gen/added_kernels.txt, by `gen add`.
DEFAULTS = (
    Rows(None, _SAME, (("f32", "f32", None), ("f32", "bf16", None), ("f32", "f16", None), *_BF16,
                       ("bf16", "f32", None), ("bf16", "f32", "f32"), ("bf16", "f32", "remainder"),
                       ("f16", "f16", None), ("f16", "f16", "f32"), ("f16", "f32", None), ("f16", "f32", "f32"))),
    Rows(None, _MIXED, (("f32", "f32", None), *_BF16, ("bf16", "f32", "f32"))),
    Rows("full", _SAME, (("f32", "f32", None), ("f32", "bf16", None), *_BF16, ("bf16", "f32", "f32"),
                         ("bf16", "f32", "remainder"), ("f16", "f16", "f32"))),
    Rows("full", _SCALED, (("f32", "f32", None), ("bf16", "bf16", None), ("bf16", "bf16", "remainder"),
                           ("bf16", "f32", "f32"))),
)


def added() -> list[str]:
    """The names in gen/added_kernels.txt, sorted."""
    lines = ADDED_KERNELS.read_text().splitlines() if ADDED_KERNELS.exists() else []
    return sorted({line.strip() for line in lines if line.strip() and not line.startswith("#")})


def _one_of(names: tuple[str | None, ...]) -> str:
    return ", ".join(name for name in names if name)


class Adam(Operation):
    name = "adam"
    bit = 2
    keys = ("param", "grad", "m", "v", "master", "variant", "options")
    tasks = {None: Task("QUERN_ADAM_STEP", 0), "gradient_norm": Task("QUERN_GRADIENT_NORM", 1),
             COMBINE: Task("QUERN_GRADIENT_NORM_COMBINE", 2), ACCUMULATE: Task("QUERN_GRADIENT_ACCUMULATE", 3),
             TENSOR_STEPS: Task("QUERN_ADAM_TENSOR_STEPS", 4)}
    headers = ("legality.h",)
    inputs = (ADDED_KERNELS,)
    roles, masters = ROLES, MASTERS  # for templates/adam/legality.h.j2

    def combinations(self) -> Iterator[Key]:
        """The steps, plain ones first, since a full kernel serves what a plain one does; then the tasks on gradients."""
        steps = [(*values[:5], None, values[5]) for rows in DEFAULTS for values in rows.keys()]
        steps += [tuple(step_key(name).values()) for name in added()]
        order = {dtype: place for place, dtype in enumerate((None, *DTYPES))}
        for values in sorted(dict.fromkeys(steps), key=lambda step: (step[6] is not None, *(order[dtype] for dtype in step[:5]))):
            yield dict(zip(self.keys, values))
        for variant in self.tasks:
            for grad in (*FLOATS, None):
                for param in MAINS if variant == ACCUMULATE else (None,):
                    if variant:
                        yield {**dict.fromkeys(self.keys), "param": param, "grad": grad, "variant": variant}

    def illegal(self, key: Key, target: Target) -> str | None:
        if key["variant"] not in self.tasks:
            return f"variant is {key['variant']!r}; there are {_one_of(tuple(self.tasks))}, and none for the step"
        return self._illegal_task(key, target) if key["variant"] else self._illegal_step(key)

    def _illegal_step(self, key: Key) -> str | None:
        for name in ("param", "grad"):
            if key[name] not in ROLES[name]:
                return f"{name} is {key[name] or 'none'}: it must be one of {_one_of(ROLES[name])}"
        for name in ("m", "v"):
            if key[name] not in ROLES[name]:
                return f"{name} is {key[name] or 'none'}: a moment must be one of {_one_of(ROLES[name])}"
            if key[name] in SCALED and not key["options"]:
                return f"{name} is {key[name]}, which is scaled: only a full kernel knows scales"
        if key["master"] not in ROLES["master"]:
            return f"master is {key['master']}: a master copy is {_one_of(ROLES['master'])} or absent"
        master = MASTERS[key["master"]] if key["master"] else None
        return master.reason.format(**key) if master and key["param"] not in master.params else None

    def _illegal_task(self, key: Key, target: Target) -> str | None:
        variant = key["variant"]
        for name in ("param", "m", "v", "master", "options"):
            if key[name] is not None and (name, variant) != ("param", ACCUMULATE):
                return f"the {variant} task has no {name}"
        if variant == ACCUMULATE and key["param"] not in MAINS:
            return f"param is {key['param'] or 'none'}: the sum of an accumulation must be one of {_one_of(MAINS)}"
        if variant in WITHOUT_GRADIENTS:
            if target.kind == "cpu":
                return f"a CPU does the {variant} task in the host code"
            return f"the {variant} task touches no gradients" if key["grad"] else None
        return None if key["grad"] in FLOATS else f"grad is {key['grad'] or 'none'}: it must be one of {_one_of(FLOATS)}"

    def base_name(self, key: Key) -> str:
        if key["variant"]:
            main = f"main{key['param']}" if key["param"] not in (None, "f32") else None
            return "_".join(part for part in (self.name, key["variant"], key["grad"], main) if part)
        master = MASTERS[key["master"]].suffix if key["master"] else None
        parts = ["adam_p{param}_g{grad}_m{m}_v{v}".format(**key), master, key["options"]]
        return "_".join(part for part in parts if part)

    def stem(self, key: Key, target: Target) -> str:
        if key["variant"]:
            return str(key["variant"])
        return "adam_p{param}_g{grad}".format(**key) + ("_full" if key["options"] else "")

    def template(self, key: Key) -> str:
        return key["variant"] or self.name

    def geometry(self, key: Key, target: Target) -> Geometry:
        return Geometry(threads=256, elements=0 if key["variant"] in WITHOUT_GRADIENTS else TILE_ELEMENTS)

    def groups(self, key: Key, target: GpuTarget) -> int:
        """The groups of eight elements that a lane of a GPU kernel has at once: as in templates/adam/adam.cu.j2."""
        return 1 if key["options"] else target.vector_bytes // 16

    def cpu_member(self, key: Key) -> str:
        return key["variant"] or self.name

    def advice(self, request: Key) -> str:
        if request.get("variant"):
            return ""
        return f"; ./quern gen add {self.base_name({name: request.get(name) for name in self.keys})} adds one"


OPERATION = Adam()


def step_key(base_name: str) -> Key:
    """The key of a step kernel from its name without a target; KeyError when it is no such name."""
    return _step_keys()[base_name]


@functools.cache
def _step_keys() -> dict[str, Key]:
    dtypes: list[str | None] = [*DTYPES]
    products = itertools.product(dtypes, dtypes, dtypes, dtypes, (None, *MASTERS), (None,), (None, "full"))
    keys = (dict(zip(OPERATION.keys, values)) for values in products)
    return {OPERATION.base_name(key): key for key in keys}
