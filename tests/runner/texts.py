"""Finds emulated targets whose kernels have the same text.  One of them then proves the results of the kernels for all.

The texts are compared after the build: the C++ to which the emulator has translated the PTX.  Targets also differ in how the host
code launches kernels; the suites that run on every target test this.  Called by tests/run.py and tests/runner/devices.py.
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
    """A hash of the translated kernels of these operations; none named: of all.  A kernel that is not built equals no other."""
    total = hashlib.sha256()
    for operation in operations or plan.OPERATIONS:
        for unit in plan.units(operation, [spec.GPU_TARGETS[target]]):
            total.update(_text(ROOT / "build/emulator" / f"{unit.build_stem}.cpp").encode())
    return total.hexdigest()


@cache
def _sanitized() -> str:
    return (ROOT / "generated/sanitizers.ninja").read_text()


def has_instrumented(target: str, operations: tuple[str, ...]) -> bool:
    """Whether kernels of this target are built with AddressSanitizer.  Targets with the same source text share one such build."""
    return any(f"build $builddir/emulator-address/{unit.build_stem}.o:" in _sanitized()
               for operation in operations for unit in plan.units(operation, [spec.GPU_TARGETS[target]]))


def owners(*operations: str) -> list[str]:
    """The targets for which kernels of one of these operations are built with AddressSanitizer, oldest first."""
    return [target.name for target in library_targets() if has_instrumented(target.name, operations)]
