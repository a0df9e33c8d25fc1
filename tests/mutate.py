"""Systematic mutants: changes the code by rule and by a seed, one place at a time, and lets the tests judge each change.

Each mutant is built in a copy of the tree and judged by the jobs that execute its line, the cheapest first; by those that execute
its function, if this tree has no counts of the sanitized suites.  It is killed when one of them fails.  It is equivalent when the
compiler makes the same machine code or PTX of it, or when tests/mutation/equivalent.txt says why it changes no behaviour.  A mutant
that the compiler refuses is not counted.
The last line is `N killed, N survived, N equivalent`.  Called by `./quern mutate`.
"""

import argparse
import fnmatch
import hashlib
import json
import os
import random
import re
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from gen import arguments, plan, spec  # noqa: E402
from mutation import equivalent, executes, kernels, lines, sample, units  # noqa: E402
from mutation.sites import Site  # noqa: E402
from mutation.trees import FURTHER, Tree, all_jobs, name_of, of_gate, of_kind  # noqa: E402
from runner import texts  # noqa: E402
from runner import jobs as runner_jobs  # noqa: E402
from runner.devices import FIRST_EMULATED  # noqa: E402
from runner.record import Record  # noqa: E402
from runner.targets import CPU_TARGETS  # noqa: E402

HOME = ROOT / "build/mutation"
LIBRARY = "build/light/libquern.a"    # without GPU kernels
# In this order a target is chosen whose GPU kernels have the line.  Each text of the kernels is that of one of these targets.
TARGETS = (FIRST_EMULATED, *(name for name in reversed(texts.owners(*plan.OPERATIONS)) if name != FIRST_EMULATED))
# A job that takes longer than this many times its record, plus these seconds, has failed; longer on a machine with other work.
PATIENCE, PATIENCE_SECONDS = 5, 60


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./quern mutate", description="Changes the code by rule and sees which tests notice.")
    parser.add_argument("--minutes", type=float, default=30, help="for how long (30)")
    parser.add_argument("--count", type=int, default=1 << 30, help="how many mutants at most")
    parser.add_argument("--seed", type=int, help="of the choice; without it a new one")
    parser.add_argument("--paths", metavar="GLOB", default="*", help="files to change, 'src/adam/*' for instance")
    parser.add_argument("--group", choices=sample.GROUPS, help="only the host's code, or the kernels of CPUs or GPUs")
    parser.add_argument("--jobs", type=int, default=2, help="how many copies of the tree work at a time (2)")
    parser.add_argument("--list", action="store_true", help="print the mutants, build and run nothing")
    parser.add_argument("--table", action="store_true", help="print the counts of all seeds that were judged here, as Markdown")
    parser.add_argument("--gate", action="store_true", help="judge by what the gate of the change runs, without its rotating part")
    parser.add_argument("--again", action="store_true", help="judge the survivors of this seed once more")
    return parser.parse_args()


# ---- which jobs see a line ----------------------------------------------------------------------------


class Judges:
    """The jobs that execute a line, or its function where the lines were not counted, the cheapest first."""

    def __init__(self, garbage: Path, gate_only: bool) -> None:
        self.jobs = all_jobs(garbage)
        self.usual = {name: self.jobs[name] for name in self.jobs.keys() & of_gate(garbage)} if gate_only else self.jobs
        self.record = Record()
        self.table = executes.Table.read()
        self.lines = lines.Lines()
        if self.lines.problem:
            say(f"judged by all suites that call the function, since {self.lines.problem} (./quern test --only 'sanitized *')")
        self.units: dict[str, list[units.Unit]] = {}
        self.sound: set[str] = set()    # jobs that pass without a mutant
        self.reading = threading.RLock()

    def cost(self, job: runner_jobs.Job) -> float:
        return self.record.expected(job.configuration, job.name).seconds

    def passes(self, tree: Tree, job: runner_jobs.Job, environment: dict[str, str]) -> bool:
        crowd = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        return tree.run(job, crowd * (PATIENCE * self.cost(job) + PATIENCE_SECONDS), environment)

    def confirm(self, tree: Tree, name: str) -> None:
        """A suite that fails without a mutant kills none."""
        job = self.jobs.get(name)
        if not job or job.is_check or name in self.sound:
            return
        if not tree.build(job.targets) or not self.passes(tree, job, {}):
            raise SystemExit(f"mutate: {name} fails without a mutant")
        self.sound.add(name)

    def of(self, group: str, site: Site) -> list[str]:
        with self.reading:
            found = self._of_kernel(site) if group == "gpu" else self._of_line(group, site)
        further = {f"checks: {check}" for pattern, check in FURTHER if fnmatch.fnmatch(site.file, pattern)}
        return sorted({*found, *(further & self.usual.keys())}, key=self._place)

    def _place(self, name: str) -> tuple[bool, bool, float]:
        """The cheapest first, after them those that only may execute it, and those that need GPU kernels, whose build is long."""
        job = self.jobs[name]
        needs_kernels = any(target.startswith(("libquern.", "build/tests/test_", "build/emulator/")) for target in job.targets)
        kind = executes.kind_without_sanitizers(job.configuration)
        return needs_kernels, not self.table.unknown.isdisjoint({(kind, job.name), (kind.split()[0], job.name)}), self.cost(job)

    def _of_line(self, group: str, site: Site) -> list[str]:
        """One job of each suite and each kind of device: the code of the host is the same for all targets.  The kernels of CPUs are
        not, although they share their text, so their suites run on each target."""
        found = []
        for kind, suite in self.table.jobs_for({site.file: {site.line}}):
            may = group == "cpu" or self.lines.may(kind, suite, site.file, site.line)
            names = [name_of(job) for job in of_kind(self.usual, kind, suite)] if may else []
            if (group, kind) != ("cpu", "emulated"):
                found += names if (group, kind) == ("cpu", "cpu") else names[:1]
        return found

    def units_of(self, site: Site) -> list[units.Unit]:
        """The units of GPU kernels that have a line, of the first target that has it, the cheapest first.  A line that the compiler
        leaves out of all kernels is judged by those that have others of its file, or include it at least."""
        for of_line in (True, False):
            for place, target in enumerate(TARGETS):
                having = [unit for unit in self._units_of(target, TARGETS[:place])
                          if (site.line in unit.lines.get(site.file, ()) if of_line else site.file in unit.lines)
                          or Path(site.file).parent == Path("templates", unit.operation)]
                if having:
                    return having
        return [unit for unit in self._units_of(TARGETS[0], ()) if site.file in units.includes(unit)]

    def _of_kernel(self, site: Site) -> list[str]:
        """The gate of a commit that changes GPU kernels runs the suites of their operations on all targets."""
        having = self.units_of(site)
        operations = {unit.operation for unit in having}
        return [name for name, job in self.jobs.items() if having and job.configuration.startswith(f"emulated {having[0].target} ")
                and (name in self.usual or having[0].target != FIRST_EMULATED and job.operations)
                and (not job.operations or operations & set(job.operations))]

    def _units_of(self, target: str, before: Sequence[str]) -> list[units.Unit]:
        """It takes minutes, once."""
        with self.reading:
            if target not in self.units:
                say(f"reading the line table of the kernels of {target}")
                self.units[target] = units.kernel_units(target, before)
            return self.units[target]


# ---- one mutant ---------------------------------------------------------------------------------------


def products(tree: Tree) -> str:
    """A hash of the objects that are made of the sources."""
    total = hashlib.sha256()
    for name in ("build/host.a", "build/light/kernels.a"):
        total.update((tree.root / name).read_bytes())
    return total.hexdigest()


def is_foreign(file: str) -> bool:
    """Whether only kernels for CPUs of another architecture have this text: it is in no program that runs here."""
    target = Path(file).stem.rsplit("_", 1)[-1]
    return target in spec.CPU_TARGETS and target not in CPU_TARGETS


def judge(tree: Tree, judges: Judges, group: str, site: Site) -> tuple[str, str]:
    """The verdict, and the job that killed the mutant."""
    if is_foreign(site.file):
        return "foreign", "no program of this machine has it"
    if reason := equivalent.read().get(equivalent.describe(site)):
        return "equivalent", reason
    jobs = [judges.jobs[name] for name in judges.of(group, site)]
    if group == "gpu":
        return kernels.judge(tree, site, judges.units_of(site), jobs, judges.cost, judges.passes)
    if not tree.build([LIBRARY]):
        raise SystemExit(f"mutate: the tree {tree.root} does not build without a mutant")
    before = products(tree)
    tree.write(site)
    try:
        if not tree.build([LIBRARY]):
            return "refused", ""
        if products(tree) == before:
            return "equivalent", ""
        for job in jobs:
            if not tree.build(job.targets):
                return "refused", name_of(job)
            if not judges.passes(tree, job, {}):
                return "killed", name_of(job)
        return "survived", f"{len(jobs)} jobs pass" if jobs else "no job executes the line"
    finally:
        tree.restore(site)


# ---- the run ------------------------------------------------------------------------------------------

printing = threading.Lock()


def say(line: str) -> None:
    with printing:
        print(line, flush=True)


class Results:
    """One JSON line for each mutant, so that an interrupted run goes on where it was."""

    def __init__(self, seed: int) -> None:
        self.path = HOME / f"seed-{seed}.jsonl"
        self.lock = threading.Lock()
        self.rows: dict[str, dict] = {}
        for line in self.path.read_text().splitlines() if self.path.exists() else ():
            row = json.loads(line)
            self.rows[row["name"]] = row

    def add(self, name: str, group: str, site: Site, verdict: str, by: str) -> None:
        source = (ROOT / site.file).read_bytes()
        before = source[source.rfind(b"\n", 0, site.start) + 1:site.start].decode()
        row = {"name": name, "group": group, "verdict": verdict, "by": by, **asdict(site),
               "before": before, "old": source[site.start:site.end].decode()}
        with self.lock:
            self.rows[name] = row
            with self.path.open("a") as file:
                file.write(json.dumps(row) + "\n")

    def survivors(self) -> list[tuple[str, str, Site]]:
        """Their places in the sources of today."""
        found = []
        for name, row in self.rows.items():
            if row["verdict"] == "survived":
                site = place_today(row)
                found += [(name, row["group"], site)] if site else []
                if not site:
                    say(f"not in the sources any more: {name}")
        return found

    def count(self, verdict: str, names: set[str]) -> int:
        return sum(row["verdict"] == verdict for name, row in self.rows.items() if name in names)


def place_today(row: dict) -> Site | None:
    """The place nearest to that of the row which has its text, since other lines may have been changed."""
    path, text = ROOT / row["file"], (row["before"] + row["old"]).encode()
    source = b"\n" + path.read_bytes() if path.exists() else b""
    places = [match.start() for match in re.finditer(re.escape(b"\n" + text), source)]
    if not places:
        return None
    start = min(places, key=lambda place: abs(place + len(row["before"].encode()) - row["start"])) + len(row["before"].encode())
    return Site(row["file"], source[:start + 1].count(b"\n"), start, start + len(row["old"].encode()), row["new"], row["operator"])


def describe(site: Site) -> str:
    text = (ROOT / site.file).read_bytes()
    old = " ".join(text[site.start:site.end].decode().split())
    return f"{site.file}:{site.line}: {site.operator}: {old[:70]} -> {' '.join(site.new.split())[:70]}"


def run(options: argparse.Namespace, seed: int, garbage: Path) -> int:
    HOME.mkdir(parents=True, exist_ok=True)
    results, judges = Results(seed), Judges(garbage, options.gate)
    ends = time.monotonic() + 60 * options.minutes
    drawn = results.survivors() if options.again else \
        ((site.name, group, site) for group, site in sample.sample(seed, options.paths))
    chosen = (each for each in drawn if options.group in (None, each[1]))
    drawing, seen = threading.Lock(), set[str]()

    def work(number: int) -> None:
        tree, is_new = Tree(HOME / f"tree-{number}"), True
        while time.monotonic() < ends:
            with drawing:
                counted = len(seen) - results.count("refused", seen)
                name, group, site = next(chosen, (None, None, None)) if counted < options.count else (None, None, None)
                if site is None:
                    return
                seen.add(name)
            if options.again or name not in results.rows:
                if is_new:
                    tree.update()
                    is_new = False
                verdict, by = judge(tree, judges, group, site)
                if verdict == "killed":
                    judges.confirm(tree, by)
                results.add(name, group, site, verdict, by)
                row, left = results.rows[name], (ends - time.monotonic()) / 60
                say(f"[{len(seen)}, {max(left, 0):.0f} min left] {row['verdict']}: {describe(site)} ({row['by']})")

    with ThreadPoolExecutor(options.jobs) as pool:
        for future in [pool.submit(work, number) for number in range(options.jobs)]:
            future.result()
    for group in sample.GROUPS:
        of_group = {name for name in seen if results.rows.get(name, {}).get("group") == group}
        say(f"{group}: {results.count('killed', of_group)} killed, {results.count('survived', of_group)} survived, "
            f"{results.count('equivalent', of_group)} equivalent")
    for name in sorted(seen):
        if results.rows.get(name, {}).get("verdict") == "survived":
            say(f"survived: {describe(Site(**{key: results.rows[name][key] for key in Site.__dataclass_fields__}))}")
    say(f"{results.count('killed', seen)} killed, {results.count('survived', seen)} survived, "
        f"{results.count('equivalent', seen)} equivalent")
    return 0


def print_table() -> None:
    print("| seed | code | mutants | killed | survived | equivalent | killed of the others |\n|---|---|---|---|---|---|---|")
    for path in sorted(HOME.glob("seed-*.jsonl")):
        results = Results(int(path.stem.split("-")[1]))
        for group in sample.GROUPS:
            names = {name for name, row in results.rows.items() if row["group"] == group}
            killed, survived, same = (results.count(verdict, names) for verdict in ("killed", "survived", "equivalent"))
            if killed + survived:
                print(f"| {path.stem[5:]} | {group} | {killed + survived + same} | {killed} | {survived} | {same} | "
                      f"{100 * killed / (killed + survived):.0f} % |")


def main() -> int:
    options = parse()
    arguments.end_of_check()
    if options.table:
        print_table()
        return 0
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
    print(f"seed {seed}", flush=True)
    if options.list:
        chosen = ((group, site) for group, site in sample.sample(seed, options.paths) if options.group in (None, group))
        for group, site in islice(chosen, min(options.count, 600)):
            print(f"{group}: {describe(site)}")
        return 0
    with tempfile.TemporaryDirectory() as garbage:
        return run(options, seed, Path(garbage))


if __name__ == "__main__":
    sys.exit(main())
