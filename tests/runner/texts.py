"""GPU targets whose kernels have the same source text, from the generator.  One of them proves the results of the kernels for all.

Targets also differ in how the host code launches kernels; the suites that run on every target test this.  Called by tests/run.py.
"""

import json
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from gen import plan  # noqa: E402
from runner.targets import library_targets  # noqa: E402


OPERATIONS = tuple(plan.OPERATIONS)


@cache
def _owners() -> dict[str, dict[str, str]]:
    return json.loads((ROOT / "generated/owners.json").read_text())


def text_of(target: str, operations: tuple[str, ...]) -> tuple[str, ...]:
    """What two targets have in common if their kernels of these operations have the same text; none named: of all operations."""
    return tuple(_owners()[operation].get(target, target) for operation in operations or plan.OPERATIONS)


def owners(*operations: str) -> list[str]:
    """The targets with kernels of one of these operations whose text no older target has, oldest first."""
    return [target.name for target in library_targets() if target.name in text_of(target.name, operations)]


def representative(target: str, operations: tuple[str, ...], first: str) -> str:
    """The target that runs the suites of these operations for all with kernels of the same text: the first one, or the oldest."""
    same = [each.name for each in library_targets() if text_of(each.name, operations) == text_of(target, operations)]
    return first if first in same else same[0]
