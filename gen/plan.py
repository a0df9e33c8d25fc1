"""From the spec to the ordered list of kernels and files: one name(), one legality function."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gen.spec import (
    ADAM_DEFAULTS,
    ADAM_GEOMETRY,
    BARRIER_GEOMETRY,
    CPU_TARGETS,
    CROSS_ENTROPY_GEOMETRY,
    DTYPES,
    FLOATS,
    GPU_TARGETS,
    MERGED_BYTES,
    OPERATIONS,
    RAGGED_ALL_TO_ALL_GEOMETRY,
    SCALED,
    SUMS_BYTES,
    SUMS_BYTES_FULL,
    CpuTarget,
    Geometry,
    GpuTarget,
)

Target = CpuTarget | GpuTarget
Key = dict[str, str | None]

ADAM_KEYS = ("param", "grad", "m", "v", "master", "variant", "options")
CROSS_ENTROPY_KEYS = ("logits", "variant", "options")
# One kernel per target has no key: it serves every request of its operation.
KEYS: dict[str, tuple[str, ...]] = {"adam": ADAM_KEYS, "cross_entropy": CROSS_ENTROPY_KEYS, "barrier": (), "ragged_all_to_all": ()}

# The host code knows these as the stages of a GPU's cross-entropy.
STAGES = {"resident": "QUERN_STAGE_ROWS", "cluster": "QUERN_STAGE_ROWS", "streamed": "QUERN_STAGE_ROWS", "rows": "QUERN_STAGE_ROWS",
          "stats": "QUERN_STAGE_STATS", "gradient": "QUERN_STAGE_GRADIENT", "combine": "QUERN_STAGE_COMBINE",
          "labels": "QUERN_STAGE_LABELS", "reduce": "QUERN_STAGE_REDUCE"}

# What a kernel of Adam computes, by its variant; None is the step.
TASKS = {None: "QUERN_ADAM_STEP", "gradient_norm": "QUERN_GRADIENT_NORM", "gradient_norm_combine": "QUERN_GRADIENT_NORM_COMBINE",
         "gradient_accumulate": "QUERN_GRADIENT_ACCUMULATE"}

# Those that touch no logits: one kernel serves all dtypes and options.
STAGES_WITHOUT_LOGITS = ("combine", "labels", "reduce")

GEOMETRY = {"barrier": BARRIER_GEOMETRY, "ragged_all_to_all": RAGGED_ALL_TO_ALL_GEOMETRY}

# Step kernels beside the library's own, by their names without a target: written by `python -m gen add`.
ADDED_KERNELS = Path(__file__).resolve().parent / "added_kernels.txt"

INT64_MAX = 2**63 - 1
GPU_PART_BYTES = 32768  # QUERN_GPU_PART_BYTES of src/kernels/problem.h


def illegal(operation: str, key: Key, target: Target) -> str | None:
    """The reason why no such kernel can exist, or None: the only place where combinations are judged."""
    if operation not in OPERATIONS:
        return f"there is no operation {operation!r}; there are {', '.join(sorted(OPERATIONS))}"
    for name, value in key.items():
        if name not in KEYS[operation]:
            return f"{operation} has no key {name!r}; it has {', '.join(KEYS[operation]) or 'none'}"
        if name not in ("variant", "options") and value is not None and value not in DTYPES:
            return f"{name} is {value!r}, which is no dtype; there are {', '.join(DTYPES)}"
    judge = {"adam": _illegal_adam, "cross_entropy": _illegal_cross_entropy, "barrier": _illegal_barrier}.get(operation)
    return judge(key, target) if judge else None


def _illegal_adam(key: Key, target: Target) -> str | None:
    if key["variant"] not in TASKS:
        return f"variant is {key['variant']!r}; there are {', '.join(task for task in TASKS if task)}, and none for the step"
    if key["variant"]:
        return _illegal_gradient_task(key, target)
    for name in ("param", "grad"):
        if key[name] not in FLOATS:
            return f"{name} is {key[name] or 'none'}: it must be one of {', '.join(FLOATS)}"
    for name in ("m", "v"):
        if key[name] not in ("bf16", "f32", *SCALED):
            return f"{name} is {key[name] or 'none'}: a moment must be one of f32, bf16, {', '.join(SCALED)}"
        if key[name] in SCALED and not key["options"]:
            return f"{name} is {key[name]}, which is scaled: only a full kernel knows scales"
    return _illegal_master(key)


def _illegal_master(key: Key) -> str | None:
    if key["master"] not in (None, "f32", "remainder"):
        return f"master is {key['master']}: a master copy is f32, remainder or absent"
    if key["master"] == "f32" and key["param"] == "f32":
        return "a master copy of f32 parameters would hold the same values twice"
    if key["master"] == "remainder" and key["param"] != "bf16":
        return f"param is {key['param']}: only bf16 and its remainder make up an fp32"
    return None


def _illegal_gradient_task(key: Key, target: Target) -> str | None:
    variant = key["variant"]
    for name in ("param", "m", "v", "master", "options"):
        if key[name] is not None:
            return f"the {variant} task has no {name}"
    if variant == "gradient_norm_combine":
        if target.kind == "cpu":
            return "a CPU combines the sums in the host code"
        return "the gradient_norm_combine task touches no gradients" if key["grad"] else None
    return None if key["grad"] in FLOATS else f"grad is {key['grad'] or 'none'}: it must be one of {', '.join(FLOATS)}"


def _illegal_cross_entropy(key: Key, target: Target) -> str | None:
    variants = ("rows", "stats", "gradient") if target.kind == "cpu" else tuple(CROSS_ENTROPY_GEOMETRY)
    if key["variant"] not in variants:
        return f"variant is {key['variant']!r}; a {target.kind} target has {', '.join(variants)}"
    if key["variant"] == "cluster" and "clusters" not in target.features:
        return f"{target.name} has no clusters"
    touches_logits = key["variant"] not in STAGES_WITHOUT_LOGITS
    if key["logits"] not in (None, *FLOATS):
        return f"logits is {key['logits']}: it must be one of {', '.join(FLOATS)}"
    if (key["logits"] is not None) != touches_logits:
        return f"the {key['variant']} stage {'needs' if touches_logits else 'never touches'} logits"
    if key["options"] and not touches_logits:
        return f"the {key['variant']} stage knows all options as it is"
    return None


def _illegal_barrier(key: Key, target: Target) -> str | None:
    return "ranks on CPUs meet in the host code, without a kernel" if target.kind == "cpu" else None


def name(operation: str, key: Key, target: Target) -> str:
    """The one name of a kernel: operation, keys, target."""
    return f"{base_name(operation, key)}__{target.name}"


def base_name(operation: str, key: Key) -> str:
    """A kernel's name without its target."""
    if operation == "adam":
        return _adam_name(key)
    if operation != "cross_entropy":
        return operation
    parts = [operation, key["logits"], None if key["variant"] == "rows" else key["variant"], key["options"]]
    return "_".join(part for part in parts if part)


def _adam_name(key: Key) -> str:
    if key["variant"]:
        return "_".join(part for part in ("adam", key["variant"], key["grad"]) if part)
    master = {None: None, "f32": "master32", "remainder": "remainder"}[key["master"]]
    parts = ["adam_p{param}_g{grad}_m{m}_v{v}".format(**key), master, key["options"]]
    return "_".join(part for part in parts if part)


@dataclass(frozen=True)
class Kernel:
    """One kernel for one target: one row of its operation's table."""

    operation: str
    target: Target
    pairs: tuple[tuple[str, str | None], ...]

    @property
    def key(self) -> Key:
        return dict(self.pairs)

    @property
    def name(self) -> str:
        return name(self.operation, self.key, self.target)

    @property
    def base_name(self) -> str:
        """Its name without the target, which a CPU's source gets from the build (src/kernels/cpu/target.h)."""
        return base_name(self.operation, self.key)

    @property
    def symbol(self) -> str:
        """The function's name: global for a CPU kernel, inside its image for a GPU kernel."""
        return f"quern_{self.name}" if self.target.kind == "cpu" else self.base_name

    @property
    def stem(self) -> str:
        """The source file it shares with kernels that differ only in what is compiled at once."""
        if self.operation == "adam":
            if self.key["variant"]:
                return str(self.key["variant"])
            return "adam_p{param}_g{grad}".format(**self.key) + ("_full" if self.key["options"] else "")
        if self.operation == "cross_entropy":
            parts = [self.operation, self.key["logits"] or "stages", self.key["options"] if self.target.kind == "gpu" else None]
            return "_".join(part for part in parts if part)
        return self.operation

    @property
    def template(self) -> str:
        extension = "c" if self.target.kind == "cpu" else "cu"
        own = self.stem == "cross_entropy_stages" or self.operation == "adam" and self.key["variant"]
        name = "stages" if self.stem == "cross_entropy_stages" else self.stem if own else self.operation
        return f"{self.operation}/{name}.{extension}.j2"

    @property
    def geometry(self) -> Geometry:
        if self.operation == "cross_entropy":
            return CROSS_ENTROPY_GEOMETRY[str(self.key["variant"])]
        return ADAM_GEOMETRY[self.key["variant"]] if self.operation == "adam" else GEOMETRY[self.operation]

    @property
    def threads(self) -> int:
        return self.geometry.threads

    @property
    def elements(self) -> int:
        return self.geometry.elements

    @property
    def cluster(self) -> int:
        return self.geometry.cluster

    @property
    def merged_bytes(self) -> int:
        """Of the stats of the parts that a block has merged."""
        return MERGED_BYTES

    @property
    def sums_bytes(self) -> int:
        """Of the sums of one part."""
        return SUMS_BYTES_FULL if self.key.get("options") else SUMS_BYTES

    @property
    def shared_per_column(self) -> int:
        return DTYPES[str(self.key["logits"])].bits // 8 if self.geometry.keeps == "row" else 0

    @property
    def shared_per_part(self) -> int:
        """Dynamic shared memory for each part that a block keeps, beside that of its columns if these are counted one by one."""
        return {"row": self.sums_bytes, "parts": self.sums_bytes + GPU_PART_BYTES}.get(self.geometry.keeps, 0)

    @property
    def shared_fixed(self) -> int:
        """Dynamic shared memory beside that: the sums and, of a row that is streamed by copies, one part."""
        if not self.geometry.keeps and not self.geometry.sums:
            return 0
        part = GPU_PART_BYTES if self.geometry.keeps == "part" and "async_copy" in self.target.features else 0
        return MERGED_BYTES + self.geometry.sums * self.sums_bytes + part

    @property
    def vocab_max(self) -> int:
        """The longest row a cross-entropy kernel can hold."""
        if not isinstance(self.target, GpuTarget) or not self.shared_per_part:
            return INT64_MAX
        room = self.target.shared_bytes - self.shared_fixed
        part_columns = GPU_PART_BYTES * 8 // DTYPES[str(self.key["logits"])].bits
        if self.cluster:
            return self.cluster * (room // self.shared_per_part) * part_columns
        whole, rest = divmod(room, GPU_PART_BYTES + self.shared_per_part)
        return whole * part_columns + max(0, rest - self.shared_per_part) // self.shared_per_column

    @property
    def cpu_member(self) -> str:
        """Its place in the union of CPU functions of src/kernels/kernel.h."""
        if self.operation == "cross_entropy":
            return "cross_entropy_rows" if self.key["variant"] == "rows" else "cross_entropy_part"
        if self.operation == "adam" and self.key["variant"]:
            return str(self.key["variant"])
        return self.operation

    @property
    def cpu_type(self) -> str:
        """The type of its function in src/kernels/kernel.h."""
        suffix = "kernel" if self.operation == "cross_entropy" else "cpu_kernel"
        return f"quern_{self.cpu_member}_{suffix}"

    @property
    def image(self) -> str:
        """The symbol of the fatbin that holds it."""
        return f"quern_image_{self.stem}__{self.target.name}"


def targets(include: frozenset[str] = frozenset()) -> list[Target]:
    """All targets of the library, best first, and the pack-only ones named in `include`; plain C closes the list."""
    gpus = [t for t in GPU_TARGETS.values() if t.in_library or t.name in include]
    gpus.sort(key=lambda t: (t.is_virtual, -t.cc_min, t.cc_max))
    return [*gpus, *CPU_TARGETS.values()]


def added() -> list[str]:
    """The names in gen/added_kernels.txt, sorted."""
    lines = ADDED_KERNELS.read_text().splitlines() if ADDED_KERNELS.exists() else []
    return sorted({line.strip() for line in lines if line.strip() and not line.startswith("#")})


def adam_key(base_name: str) -> Key:
    """The key of a step kernel from its name without a target; KeyError when it is no such name."""
    return _adam_keys_by_name()[base_name]


@functools.cache
def _adam_keys_by_name() -> dict[str, Key]:
    dtypes: list[str | None] = [*DTYPES]
    products = itertools.product(dtypes, dtypes, dtypes, dtypes, (None, "f32", "remainder"), (None,), (None, "full"))
    keys = (dict(zip(ADAM_KEYS, values)) for values in products)
    return {_adam_name(key): key for key in keys}


def _adam_keys() -> Iterator[Key]:
    """The steps, plain ones first, since a full kernel serves what a plain one does; then the tasks on gradients."""
    steps = [(*values[:5], None, values[5]) for rows in ADAM_DEFAULTS for values in rows.keys()]
    steps += [tuple(adam_key(name).values()) for name in added()]
    order = {dtype: place for place, dtype in enumerate((None, *DTYPES))}
    for values in sorted(dict.fromkeys(steps), key=lambda step: (step[6] is not None, *(order[dtype] for dtype in step[:5]))):
        yield dict(zip(ADAM_KEYS, values))
    for variant in TASKS:
        for grad in (*FLOATS, None):
            if variant:
                yield {**dict.fromkeys(ADAM_KEYS), "grad": grad, "variant": variant}


def _keys(operation: str) -> Iterator[Key]:
    if operation == "adam":
        yield from _adam_keys()
    elif operation == "cross_entropy":
        for variant in STAGES:
            for logits in (*FLOATS, None):
                for options in (None, "full"):
                    yield {"logits": logits, "variant": variant, "options": options}
    else:
        yield {}


def kernels(operation: str, chosen: list[Target] | None = None) -> list[Kernel]:
    """Every legal kernel of an operation in the order of its table: best target first, the portable rows last."""
    return [
        Kernel(operation, target, tuple(key.items()))
        for target in (targets() if chosen is None else chosen)
        for key in _keys(operation)
        if illegal(operation, key, target) is None
    ]


@dataclass(frozen=True)
class Unit:
    """The kernels that are compiled together for one target."""

    operation: str
    stem: str
    target: Target
    kernels: tuple[Kernel, ...]

    @property
    def template(self) -> str:
        return self.kernels[0].template

    @property
    def image(self) -> str:
        return self.kernels[0].image

    @property
    def build_stem(self) -> str:
        """Where its compiled forms go, below the build directory."""
        return f"{self.target.name}/{self.stem}"


def units(operation: str, chosen: list[Target] | None = None) -> list[Unit]:
    """The compilation units of an operation, sorted by target (best first) and stem."""
    grouped: dict[tuple[str, str], list[Kernel]] = {}
    for kernel in kernels(operation, chosen):
        grouped.setdefault((kernel.target.name, kernel.stem), []).append(kernel)
    return [Unit(operation, stem, group[0].target, tuple(group)) for (_, stem), group in grouped.items()]
