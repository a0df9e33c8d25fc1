"""The base class of operations.  Each operation is a file in gen/operations/ with its own subclass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gen.spec import CpuTarget, Geometry, GpuTarget

Target = CpuTarget | GpuTarget
Key = dict[str, str | None]

INT64_MAX = 2**63 - 1

# Keys that are not dtypes.
VARIANT, OPTIONS = "variant", "options"


@dataclass(frozen=True)
class Task:
    """The task of a variant: a constant of C, and its value, which kernel packs store."""

    constant: str
    number: int


@dataclass(frozen=True)
class Shared:
    """Dynamic shared memory of a block, in bytes."""

    per_column: int = 0
    per_part: int = 0
    fixed: int = 0
    merged: int = 0  # included above: the stats of the parts that a block has merged, ...
    sums: int = 0    # ... and the sums of one part


class Operation:
    """An operation without keys, with one kernel for each target; a subclass overrides what differs."""

    name: str
    bit: int                                  # in quern_operations of quern.h
    keys: tuple[str, ...] = ()                # dtypes first
    tasks: dict[str | None, Task] = {None: Task("0", 0)}  # by variant
    headers: tuple[str, ...] = ()             # further files that C needs: generated/<name>/<header>, from templates/<name>/
    inputs: tuple[Path, ...] = ()             # further files that decide which kernels there are
    has_open_requests = False                 # a request may leave keys open
    talks = False                             # its threads communicate: ThreadSanitizer tests its kernels
    is_compiled_once = True                   # nvcc makes the same PTX of the same text for any target: see render.Sources

    @property
    def constant(self) -> str:
        return f"QUERN_{self.name.upper()}"

    @property
    def dtype_keys(self) -> tuple[str, ...]:
        return tuple(key for key in self.keys if key not in (VARIANT, OPTIONS))

    @property
    def prefix(self) -> str:
        """The prefix of its kernels' names; no other operation has it."""
        return f"{self.name}_" if self.keys else f"{self.name}__"

    def combinations(self) -> Iterator[Key]:
        """The keys in the order of the table; illegal ones are left out later."""
        yield {}

    def illegal(self, key: Key, target: Target) -> str | None:
        """The reason why no such kernel can exist, or None; the caller has checked that keys and dtypes exist."""
        return None

    def base_name(self, key: Key) -> str:
        """A kernel's name without its target."""
        return "_".join(part for part in (self.name, *key.values()) if part)

    def stem(self, key: Key, target: Target) -> str:
        """The name of a kernel's source file; kernels with the same stem are compiled together."""
        return self.name

    def template(self, key: Key) -> str:
        """The name of its template in templates/<name>/, without .c.j2 or .cu.j2."""
        return self.name

    def geometry(self, key: Key, target: Target) -> Geometry:
        raise NotImplementedError(f"{self.name} has no kernels for GPUs")

    def shared(self, key: Key, target: Target) -> Shared:
        return Shared()

    def waits(self, key: Key) -> bool:
        """Whether a GPU kernel waits for the launch before it, where the target has QUERN_EARLY_START."""
        return False

    def vocab_max(self, key: Key, target: Target) -> int:
        """The longest row that a kernel can hold."""
        return INT64_MAX

    def cpu_member(self, key: Key) -> str:
        """The member of the union in struct quern_kernel that holds a kernel's function."""
        return "any"

    def cpu_type(self, key: Key) -> str:
        """The type of that function in src/kernels/kernel.h."""
        return f"quern_{self.cpu_member(key)}_cpu_kernel"

    def mismatch(self, key: Key, request: Key) -> str | None:
        """Why a kernel whose keys match a request does not serve it, or None."""
        return None

    def advice(self, request: Key) -> str:
        """How to generate a legal kernel that is missing."""
        return ""
