"""From the spec to the ordered list of kernels and files: one name(), one legality function."""

from __future__ import annotations

from dataclasses import dataclass

from gen.operation import INT64_MAX, OPTIONS, VARIANT, Key, Operation, Shared, Target, Task
from gen.operations import OPERATIONS
from gen.spec import CPU_TARGETS, DTYPES, GPU_PART_BYTES, GPU_TARGETS, Geometry, cpu_targets

__all__ = ["INT64_MAX", "OPERATIONS", "GPU_PART_BYTES", "Kernel", "Key", "Target", "Unit", "illegal", "kernels", "name", "targets",
           "units"]


def illegal(operation: str, key: Key, target: Target) -> str | None:
    """The reason why no such kernel can exist, or None: the only place where combinations are judged."""
    if operation not in OPERATIONS:
        return f"there is no operation {operation!r}; there are {', '.join(sorted(OPERATIONS))}"
    keys = OPERATIONS[operation].keys
    for name, value in key.items():
        if name not in keys:
            return f"{operation} has no key {name!r}; it has {', '.join(keys) or 'none'}"
        if name not in (VARIANT, OPTIONS) and value is not None and value not in DTYPES:
            return f"{name} is {value!r}, which is no dtype; there are {', '.join(DTYPES)}"
    return OPERATIONS[operation].illegal(key, target)


def name(operation: str, key: Key, target: Target) -> str:
    """The one name of a kernel: operation, keys, target."""
    return f"{OPERATIONS[operation].base_name(key)}__{target.name}"


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
    def row(self) -> Operation:
        return OPERATIONS[self.operation]

    @property
    def name(self) -> str:
        return name(self.operation, self.key, self.target)

    @property
    def base_name(self) -> str:
        """Its name without the target, which a CPU's source gets from the build (src/kernels/cpu/target.h)."""
        return self.row.base_name(self.key)

    @property
    def symbol(self) -> str:
        """The function's name: global for a CPU kernel, inside its image for a GPU kernel."""
        return f"quern_{self.name}" if self.target.kind == "cpu" else self.base_name

    @property
    def stem(self) -> str:
        """The name of its source file; kernels with the same stem are compiled together."""
        return self.row.stem(self.key, self.target)

    @property
    def template(self) -> str:
        extension = "c" if self.target.kind == "cpu" else "cu"
        return f"{self.operation}/{self.row.template(self.key)}.{extension}.j2"

    @property
    def dtypes(self) -> list[str | None]:
        """The dtypes of its key, in the order of a table row."""
        return [self.key[name] for name in self.row.dtype_keys]

    @property
    def task(self) -> Task:
        return self.row.tasks[self.key.get(VARIANT)]

    @property
    def full(self) -> int:
        """Whether it knows all options."""
        return int(bool(self.key.get(OPTIONS)))

    @property
    def geometry(self) -> Geometry:
        return self.row.geometry(self.key, self.target)

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
    def waits(self) -> int:
        """Whether it waits for the launch before it, and so may be launched to overlap that one."""
        return int(self.row.waits(self.key) and "early_start" in self.target.features)

    @property
    def shared(self) -> Shared:
        return self.row.shared(self.key, self.target)

    @property
    def shared_per_column(self) -> int:
        return self.shared.per_column

    @property
    def shared_per_part(self) -> int:
        return self.shared.per_part

    @property
    def shared_fixed(self) -> int:
        return self.shared.fixed

    @property
    def merged_bytes(self) -> int:
        return self.shared.merged

    @property
    def sums_bytes(self) -> int:
        return self.shared.sums

    @property
    def vocab_max(self) -> int:
        return self.row.vocab_max(self.key, self.target)

    @property
    def cpu_member(self) -> str:
        """Its member of the union of CPU functions in src/kernels/kernel.h."""
        return self.row.cpu_member(self.key)

    @property
    def cpu_type(self) -> str:
        return self.row.cpu_type(self.key)


def targets(include: frozenset[str] = frozenset(), architecture: str | None = None) -> list[Target]:
    """The targets of the library for CPUs of one architecture (None: of all) and for GPUs, best first, and the pack-only ones named
    in `include`; plain C closes the list."""
    gpus = [t for t in GPU_TARGETS.values() if t.in_library or t.name in include]
    gpus.sort(key=lambda t: (t.is_virtual, -t.cc_min, t.cc_max))
    return [*gpus, *(CPU_TARGETS.values() if architecture is None else cpu_targets(architecture))]


def kernels(operation: str, chosen: list[Target] | None = None) -> list[Kernel]:
    """Every legal kernel of an operation in the order of its table: best target first, the portable rows last."""
    return [
        Kernel(operation, target, tuple(key.items()))
        for target in (targets() if chosen is None else chosen)
        for key in OPERATIONS[operation].combinations()
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
    def build_stem(self) -> str:
        """The path of its compiled forms, relative to the build directory."""
        return f"{self.target.name}/{self.stem}"


def units(operation: str, chosen: list[Target] | None = None) -> list[Unit]:
    """The compilation units of an operation, sorted by target (best first) and stem."""
    grouped: dict[tuple[str, str], list[Kernel]] = {}
    for kernel in kernels(operation, chosen):
        grouped.setdefault((kernel.target.name, kernel.stem), []).append(kernel)
    return [Unit(operation, stem, group[0].target, tuple(group)) for (_, stem), group in grouped.items()]
