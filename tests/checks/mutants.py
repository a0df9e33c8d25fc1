"""Mutants that were picked by hand: changes a text of mutants_table.py in a copy of the tree; the job beside it must fail.

    python3 tests/checks/mutants.py --check          only whether each text stands once in its file; one test
    python3 tests/checks/mutants.py [--only GLOB]    builds and judges those of these names
"""

import argparse
import difflib
import fnmatch
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from mutants_table import MUTANTS

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from mutation import equivalent  # noqa: E402
from mutation.sample import group_of  # noqa: E402
from mutation.sites import Site  # noqa: E402
from mutation.trees import Tree, all_jobs, of_kind  # noqa: E402
from runner.jobs import Job  # noqa: E402

SECONDS = 900   # longer is a failure
COMMON = 4      # characters: shorter pieces that two lines share say nothing


class Mutant(NamedTuple):
    name: str
    file: str
    job: str     # the kind of its configuration, and its name
    old: str
    new: str

    def site(self) -> Site:
        source = (ROOT / self.file).read_bytes()
        start = source.index(self.old.encode())
        return Site(self.file, source[:start].count(b"\n") + 1, start, start + len(self.old.encode()), self.new, "by hand")


# ---- the texts ----------------------------------------------------------------------------------------


def nearest(path: Path, text: str) -> str:
    """The line of a file that has most of the longest line of a text."""
    wanted = max((line.strip() for line in text.splitlines()), key=len)
    lines = [line.strip() for line in path.read_text().splitlines()] if path.exists() else []

    def common(line: str) -> int:
        blocks = difflib.SequenceMatcher(None, line, wanted, autojunk=False).get_matching_blocks()
        return sum(block.size for block in blocks if block.size >= COMMON)

    found = max(lines, key=common, default="")
    return f"nearest is line {lines.index(found) + 1}: {found}" if found else "the file is empty or gone"


def stale() -> list[str]:
    """What is wrong with the texts of the table and with those of the mutants that are listed as equivalent."""
    found = []
    for mutant in map(Mutant._make, MUTANTS):
        path = ROOT / mutant.file
        times = path.read_text().count(mutant.old) if path.exists() else 0
        if times != 1:
            found.append(f"{mutant.name}: {mutant.file} has its text {times} times: {nearest(path, mutant.old)}")
    for listed in equivalent.stale():
        file, change = listed.split(": ", 1)
        line = nearest(ROOT / file, change.split(" -> ")[0])
        found.append(f"{equivalent.FILE.name}: not in the source any more: {listed}: {line}")
    return found


def check() -> int:
    found = stale()
    print("\n".join([*found, f"{int(not found)} passed, {int(bool(found))} failed"]))
    return 1 if found else 0


# ---- the judgement ------------------------------------------------------------------------------------


def judge(tree: Tree, mutant: Mutant, job: Job) -> str:
    """`killed`, or why it was not.  For a mutant of GPU kernels only the kernels are built anew, since the program takes those."""
    site = mutant.site()
    kernels = [target for target in job.targets if group_of(mutant.file) == "gpu" and target.startswith("build/emulator/")]
    tree.write(site)
    try:
        if not tree.build(kernels or job.targets):
            return "it does not build"
        return f"{mutant.job} passes" if tree.run(job, SECONDS) else "killed"
    finally:
        tree.restore(site)


def judge_all(mutants: list[Mutant], jobs: dict[str, Job]) -> int:
    tree = Tree(ROOT / "build/mutation/tree-0")
    tree.update()
    count = {"killed": 0, "skipped": 0, "failed": 0}
    sound: dict[str, bool] = {}
    for mutant in mutants:
        job = next(iter(of_kind(jobs, *mutant.job.split(": "))), None)
        if job and mutant.job not in sound:
            sound[mutant.job] = tree.build(job.targets) and tree.run(job, SECONDS)
        outcome = "it fails without the mutant" if job and not sound[mutant.job] else judge(tree, mutant, job) if job else "skipped"
        count[outcome if outcome in count else "failed"] += 1
        print(f"{mutant.name}: {outcome} ({mutant.job})", flush=True)
    print(f"{count['killed']} passed, {count['failed']} failed" + (f", {count['skipped']} skipped" if count["skipped"] else ""))
    return 1 if count["failed"] or not count["killed"] else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Breaks the code as people have, and demands that the tests notice.")
    parser.add_argument("--only", metavar="GLOB", default="*", help="mutants to try")
    parser.add_argument("--check", action="store_true", help="only look whether each mutant's text is still there")
    options = parser.parse_args()
    if options.check:
        return check()
    with tempfile.TemporaryDirectory() as garbage:
        mutants = [mutant for mutant in map(Mutant._make, MUTANTS) if fnmatch.fnmatch(mutant.name, options.only)]
        return judge_all(mutants, all_jobs(Path(garbage)))


if __name__ == "__main__":
    sys.exit(main())
