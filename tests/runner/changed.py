"""The suites that execute what differs from the last commit, for `./quern test --changed`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from mutation import executes  # noqa: E402
from runner import suites  # noqa: E402

MOST = 12     # suites beside those whose own file has changed
HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def lines() -> dict[str, set[int]]:
    """The lines of each file that differ from the last commit.  Of lines that were taken out, their place."""
    done = subprocess.run(["git", "diff", "-U0", "--no-color", "HEAD"], cwd=ROOT, capture_output=True, text=True, errors="replace")
    found: dict[str, set[int]] = {}
    name = ""
    for line in done.stdout.splitlines():
        if line.startswith("+++ b/"):
            name = line[6:]
        elif (hunk := HUNK.match(line)) and name:
            first, count = int(hunk[1]), int(hunk[2] or 1)
            found.setdefault(name, set()).update(range(first, first + max(count, 1)))
    return found


def chosen(changed: dict[str, set[int]]) -> frozenset[executes.Job]:
    """The suites of files that have changed, and the cheapest that execute the lines."""
    own = {(kind, suite.name) for suite in suites.read_suites() if f"tests/suites/{suite.name}.c" in changed
           for kind in suite.kinds}
    return frozenset(own | set(executes.Table.read().jobs_for(changed)[:MOST] if changed else ()))
