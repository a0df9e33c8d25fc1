"""Which suites executed a line in this tree, by the counts that `./quern test --only 'sanitized *'` left in it.

The kept table of tests/mutation/executes.py knows functions.  Fewer suites reach a line of a branch, so a mutant of it costs less.
Without counts, or with counts that are older than a source of the library, each suite may execute every line.
Called by tests/mutate.py.
"""

from __future__ import annotations

import json
from pathlib import Path

from coverage import counts
from mutation import executes

KEPT = counts.ROOT / "build/mutation/lines.json"


def read_counts() -> dict[str, dict[str, int]]:
    """For each suite and kind of device that was counted, and each file: the lines that it executed or that have no count, as the
    bits of a number."""
    found: dict[str, dict[str, int]] = {}
    for folder in sorted({path.parent for path in counts.everything()}):
        configuration, suite = folder.parent.name, folder.name
        of_job = found.setdefault(f"{executes.kind_without_sanitizers(configuration)}: {suite}", {})
        for file, lines in counts.lines(counts.of_suite(configuration, suite), executes.objects_of(configuration)).items():
            of_job[file] = of_job.get(file, 0) | ~sum(1 << line for line, count in lines.items() if not count)
    return found


class Lines:
    """The lines of each suite; what the counts lack may be executed."""

    def __init__(self) -> None:
        self.problem = counts.problem()
        newest = max((path.stat().st_mtime for path in counts.everything()), default=0.0)
        if not self.problem and (not KEPT.exists() or KEPT.stat().st_mtime < newest):
            KEPT.parent.mkdir(parents=True, exist_ok=True)
            KEPT.write_text(json.dumps(read_counts()))
        self.executed = {} if self.problem else json.loads(KEPT.read_text())

    def may(self, kind: str, suite: str, file: str, line: int) -> bool:
        """Whether the suite may execute the line."""
        return bool(self.executed.get(f"{kind}: {suite}", {}).get(file, -1) >> line & 1)
