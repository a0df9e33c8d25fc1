"""The Criterion suites.  The opening comment of each file in tests/suites names the configurations in which it runs.

    Runs on: cpu, emulated, gpu; kernels of adam.     one of the emulated targets whose kernels have the same text is enough
    Runs on: cpu, every emulated, gpu.
    Runs on: one cpu, one emulated, gpu.              the best CPU target of this machine, one emulated target
    Runs on: every cpu, gpu.                          each CPU target, and once more as if this CPU had less than it has
    Runs on: cpu; not with sanitizers.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "suites"
# Suites that take long or much memory: of configurations whose other suites are in the gate, a part or the deep run has them.
LARGE = frozenset({"test_adam_long", "test_large", "test_nccl_many"})
KINDS = ("cpu", "emulated", "gpu", "ranks", "driver", "oracle")
STATEMENT = re.compile(r"^ \* Runs on: (?P<kinds>[a-z, ]+)(; kernels of (?P<operations>[a-z_, ]+))?"
                       r"(?P<plain>; not with sanitizers)?\.$", re.MULTILINE)


@dataclass(frozen=True)
class Suite:
    name: str
    kinds: frozenset[str]         # of KINDS
    once: frozenset[str]          # the kinds of which one configuration is enough
    every: frozenset[str]         # the kinds of which each configuration is needed, even if kernels have the same text
    operations: tuple[str, ...]   # whose kernels it runs; none: any
    sanitized: bool


def read_suite(path: Path) -> Suite:
    found = STATEMENT.search(path.read_text().split("*/", 1)[0])
    kinds: dict[str, str] = {}
    for words in found["kinds"].split(", ") if found else []:
        number, _, kind = words.rpartition(" ")
        kinds[kind] = number
    wrong = [f"{number} {kind}".strip() for kind, number in kinds.items()
             if kind not in KINDS or number not in ("", "one", "every")]
    if not found or wrong:
        raise SystemExit(f"{path.parent.name}/{path.name}: the opening comment needs a line `Runs on: KIND, KIND.` with kinds of "
                         f"{', '.join(KINDS)}{f', not {wrong[0]}' if wrong else ''}")
    return Suite(path.stem, frozenset(kinds), frozenset(kind for kind, number in kinds.items() if number == "one"),
                 frozenset(kind for kind, number in kinds.items() if number == "every"),
                 tuple((found["operations"] or "").split(", ")) if found["operations"] else (), not found["plain"])


@cache
def read_suites(folder: Path = FOLDER) -> list[Suite]:
    return [read_suite(path) for path in sorted(folder.glob("*.c"))]
