"""The suites that execute what has changed: for `./quern test --changed`, and for jobs that fail beside others."""

import fnmatch
import re
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from gen import history, plan  # noqa: E402
from mutation import executes, trees  # noqa: E402
from runner import suites  # noqa: E402

MOST = 12     # suites beside those whose own file has changed
COMPILING = ("gen/ptx.py", "gen/toolchain.py")    # what makes code of the sources of GPU kernels
HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def lines(commit: str = "HEAD") -> dict[str, set[int]]:
    """The lines of each file that differ from a commit, if there is one.  Of lines that were taken out, their place."""
    found: dict[str, set[int]] = {}
    name = ""
    for line in (history.git("diff", "-U0", "--no-color", commit) or "").splitlines():
        if line.startswith("+++ b/"):
            name = line[6:]
        elif (hunk := HUNK.match(line)) and name:
            first, count = int(hunk[1]), int(hunk[2] or 1)
            found.setdefault(name, set()).update(range(first, first + max(count, 1)))
    return found


def executing(changed: dict[str, set[int]]) -> frozenset[executes.Job]:
    """All suites that are known to execute the lines, and as ("checks", NAME) the checks."""
    further = {("checks", check) for pattern, check in trees.FURTHER if fnmatch.filter(changed, pattern)}
    return frozenset(further | executes.Table.read().known_for(changed))


def operations_of_kernels(changed: Iterable[str]) -> set[str]:
    """The operations whose GPU kernels have other text: the rendered sources are kept in the tree.  A change of the emulator, or of
    the compiler's options, touches all."""
    found: set[str] = set()
    for file in changed:
        path = Path(file)
        emulates = path.is_relative_to("tests/emulator") and path.suffix != ".md" and "self_test" not in path.parts
        if emulates or file in COMPILING:
            return set(plan.OPERATIONS)
        if path.suffix == ".cuh" or (path.suffix == ".h" and path.is_relative_to("src/kernels")):
            found |= {user.parent.name for user in executes.users(file, "generated/*/*.cu")}
        elif path.parts[0] == "generated" and path.suffix == ".cu":
            found.add(path.parts[1])
    return found & set(plan.OPERATIONS)


def chosen(changed: dict[str, set[int]]) -> frozenset[executes.Job]:
    """The suites of files that have changed, and the cheapest that execute the lines."""
    own = {(kind, suite.name) for suite in suites.read_suites() if f"tests/suites/{suite.name}.c" in changed
           for kind in suite.kinds}
    return frozenset(own | set(executes.Table.read().jobs_for(changed)[:MOST] if changed else ()))
