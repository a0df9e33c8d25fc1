"""From the spec to the ordered list of kernels and files: one name(), one legality function."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from gen.spec import (
    ADAM_GEOMETRY,
    BARRIER_GEOMETRY,
    CPU_TARGETS,
    CROSS_ENTROPY_GEOMETRY,
    DTYPES,
    GPU_TARGETS,
    MERGED_BYTES,
    OPERATIONS,
    RAGGED_ALL_TO_ALL_GEOMETRY,
    SUMS_BYTES,
    SUMS_BYTES_FULL,
    CpuTarget,
    Geometry,
    GpuTarget,
)

Target = CpuTarget | GpuTarget
Key = dict[str, str | None]

ADAM_KEYS = ("param", "grad", "m", "v", "master")
CROSS_ENTROPY_KEYS = ("logits", "variant", "options")
# One kernel per target has no key: it serves every request of its operation.
KEYS: dict[str, tuple[str, ...]] = {"adam": ADAM_KEYS, "cross_entropy": CROSS_ENTROPY_KEYS, "barrier": (), "ragged_all_to_all": ()}

# The host code knows these as the stages of a GPU's cross-entropy.
STAGES = {"resident": "QUERN_STAGE_ROWS", "cluster": "QUERN_STAGE_ROWS", "streamed": "QUERN_STAGE_ROWS", "rows": "QUERN_STAGE_ROWS",
          "stats": "QUERN_STAGE_STATS", "gradient": "QUERN_STAGE_GRADIENT", "combine": "QUERN_STAGE_COMBINE",
          "labels": "QUERN_STAGE_LABELS", "reduce": "QUERN_STAGE_REDUCE"}

# Those that touch no logits: one kernel serves all dtypes and options.
STAGES_WITHOUT_LOGITS = ("combine", "labels", "reduce")

GEOMETRY = {"adam": ADAM_GEOMETRY, "barrier": BARRIER_GEOMETRY, "ragged_all_to_all": RAGGED_ALL_TO_ALL_GEOMETRY}

INT64_MAX = 2**63 - 1
GPU_PART_BYTES = 32768  # QUERN_GPU_PART_BYTES of src/problem.h


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
    for name in ("param", "grad", "m", "v"):
        if key.get(name) is None:
            return f"adam needs a dtype for {name}"
    for name in ("m", "v"):
        if key[name] not in ("f32", "bf16"):
            return f"{name} is {key[name]}: the moments are f32 or bf16 (f16 loses v's range)"
    if key["master"] not in (None, "f32"):
        return f"master is {key['master']}: a master copy is f32 or absent"
    if key["master"] and key["param"] == "f32":
        return "a master copy of f32 parameters would hold the same values twice"
    return None


def _illegal_cross_entropy(key: Key, target: Target) -> str | None:
    variants = ("rows", "stats", "gradient") if target.kind == "cpu" else tuple(CROSS_ENTROPY_GEOMETRY)
    if key["variant"] not in variants:
        return f"variant is {key['variant']!r}; a {target.kind} target has {', '.join(variants)}"
    if key["variant"] == "cluster" and "clusters" not in target.features:
        return f"{target.name} has no clusters"
    touches_logits = key["variant"] not in STAGES_WITHOUT_LOGITS
    if (key["logits"] is not None) != touches_logits:
        return f"the {key['variant']} stage {'needs' if touches_logits else 'never touches'} logits"
    if key["options"] and not touches_logits:
        return f"the {key['variant']} stage knows all options as it is"
    return None


def _illegal_barrier(key: Key, target: Target) -> str | None:
    return "ranks on CPUs meet in the host code, without a kernel" if target.kind == "cpu" else None


def name(operation: str, key: Key, target: Target) -> str:
    """The one name of a kernel: operation, keys, target."""
    return f"{_base_name(operation, key)}__{target.name}"


def _base_name(operation: str, key: Key) -> str:
    if operation == "adam":
        base = "adam_p{param}_g{grad}_m{m}_v{v}".format(**key)
        return base + ("_master32" if key["master"] else "")
    if operation != "cross_entropy":
        return operation
    parts = [operation, key["logits"], None if key["variant"] == "rows" else key["variant"], key["options"]]
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
    def symbol(self) -> str:
        """The function's name: global for a CPU kernel, inside its image for a GPU kernel."""
        return f"quern_{self.name}" if self.target.kind == "cpu" else _base_name(self.operation, self.key)

    @property
    def stem(self) -> str:
        """The source file it shares with kernels that differ only in what is compiled at once."""
        if self.operation == "adam":
            return "adam_p{param}_g{grad}".format(**self.key)
        if self.operation == "cross_entropy":
            parts = [self.operation, self.key["logits"] or "stages", self.key["options"] if self.target.kind == "gpu" else None]
            return "_".join(part for part in parts if part)
        return self.operation

    @property
    def template(self) -> str:
        extension = "c" if self.target.kind == "cpu" else "cu"
        return "cross_entropy_stages.cu.j2" if self.stem.endswith("stages") else f"{self.operation}.{extension}.j2"

    @property
    def geometry(self) -> Geometry:
        if self.operation == "cross_entropy":
            return CROSS_ENTROPY_GEOMETRY[str(self.key["variant"])]
        return GEOMETRY[self.operation]

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
        """Its place in the union of CPU functions of src/kernel.h."""
        if self.operation != "cross_entropy":
            return self.operation
        return "cross_entropy_rows" if self.key["variant"] == "rows" else "cross_entropy_part"

    @property
    def cpu_type(self) -> str:
        """The type of its function in src/kernel.h."""
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


def _keys(operation: str, target: Target) -> Iterator[Key]:
    dtypes: list[str | None] = [*DTYPES]
    if operation == "adam":
        for values in itertools.product(dtypes, dtypes, dtypes, dtypes, (None, "f32")):
            yield dict(zip(ADAM_KEYS, values))
    elif operation == "cross_entropy":
        for variant in STAGES:
            for logits in (*dtypes, None):
                for options in (None, "full"):
                    yield {"logits": logits, "variant": variant, "options": options}
    else:
        yield {}


def kernels(operation: str, chosen: list[Target] | None = None) -> list[Kernel]:
    """Every legal kernel of an operation in the order of its table: best target first, the portable rows last."""
    return [
        Kernel(operation, target, tuple(key.items()))
        for target in (targets() if chosen is None else chosen)
        for key in _keys(operation, target)
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
