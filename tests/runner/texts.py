"""Which emulated targets have kernels of the same text, so that one of them proves for all what the kernels compute.

The targets' PTX is compared as it was translated for the emulator, after the build.  What differs beside that, how the host code
launches on the device, is looked at by the suites that run on every target.
"""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from gen import plan, spec  # noqa: E402
from runner.targets import library_targets  # noqa: E402


@cache
def _text(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else str(path)


@cache
def of_operations(target: str, operations: tuple[str, ...]) -> str:
    """One hash over the translated kernels of these operations, of all if none is named; what is not built is like nothing else."""
    total = hashlib.sha256()
    for operation in operations or plan.OPERATIONS:
        for unit in plan.units(operation, [spec.GPU_TARGETS[target]]):
            total.update(_text(ROOT / "build/emulator" / f"{unit.build_stem}.cpp").encode())
    return total.hexdigest()


@cache
def _sanitized() -> str:
    return (ROOT / "generated/sanitizers.ninja").read_text()


def has_instrumented(target: str, operations: tuple[str, ...]) -> bool:
    """Whether the target has kernels of its own with AddressSanitizer: source texts that no other target has."""
    return any(f"build $builddir/emulator-address/{unit.build_stem}.o:" in _sanitized()
               for operation in operations for unit in plan.units(operation, [spec.GPU_TARGETS[target]]))


def owners(*operations: str) -> list[str]:
    """The targets that have source texts of their own of one of these operations, from the oldest on."""
    return [target.name for target in library_targets() if has_instrumented(target.name, operations)]
