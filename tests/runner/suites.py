"""The Criterion suites: each file in tests/suites says in its opening comment in which configurations it runs.

    Runs on: cpu, emulated, gpu.
    Runs on: one cpu, one emulated, gpu.        the first CPU target of this machine, the first emulated one
    Runs on: cpu; not with sanitizers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "suites"
KINDS = ("cpu", "emulated", "gpu", "ranks", "driver", "oracle")
STATEMENT = re.compile(r"^ \* Runs on: ([a-z, ]+)(; not with sanitizers)?\.$", re.MULTILINE)


@dataclass(frozen=True)
class Suite:
    name: str
    kinds: frozenset[str]   # of KINDS
    once: frozenset[str]    # those of them of which one configuration is enough
    sanitized: bool


def read_suite(path: Path) -> Suite:
    head = path.read_text().split("*/", 1)[0]
    found = STATEMENT.search(head)
    words = found.group(1).split(", ") if found else []
    kinds = [word.removeprefix("one ") for word in words]
    wrong = [kind for kind in kinds if kind not in KINDS]
    if not found or wrong:
        raise SystemExit(f"{path.parent.name}/{path.name}: the opening comment needs a line `Runs on: KIND, KIND.` with kinds of "
                         f"{', '.join(KINDS)}{f', not {wrong[0]}' if wrong else ''}")
    once = frozenset(word.removeprefix("one ") for word in words if word.startswith("one "))
    return Suite(path.stem, frozenset(kinds), once, not found.group(2))


def read_suites(folder: Path = FOLDER) -> list[Suite]:
    return [read_suite(path) for path in sorted(folder.glob("*.c"))]
