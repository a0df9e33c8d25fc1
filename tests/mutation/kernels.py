"""Judges a mutant of GPU kernels.  Its kernels are made beside those of the tree, by ninja's own commands with other outputs, so
that nothing is built again for the next mutant.  Called by tests/mutate.py.
"""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from mutation.units import Unit
from mutation.sites import Site
from mutation.trees import Tree, name_of
from runner.jobs import Job

FOLDER = "build/mutant"
# The library's kernels, and those with ThreadSanitizer, which one check reads from the second folder.
EMULATOR, THREAD = "build/emulator", "build/emulator-thread"
READS_THREAD = "data races"
CHEAP = 30   # seconds: longer suites wait until all units are built


class Refused(Exception):
    """The compiler does not take the mutant."""


class Untranslated(Exception):
    """The emulator does not take its PTX: the tests are not built."""


class Kernels:
    """The mutated kernels of one target.  The emulator finds all others in the tree."""

    def __init__(self, tree: Tree, target: str) -> None:
        self.tree, self.target = tree, target
        self.made: dict[str, str] = {}
        self.units: list[Unit] = []
        shutil.rmtree(tree.root / FOLDER, ignore_errors=True)

    def _command(self, output: str) -> str:
        """The command that makes a file; empty: the build has no such file."""
        found = subprocess.run(["ninja", "-t", "commands", "-s", output], cwd=self.tree.root, capture_output=True, text=True)
        return found.stdout.strip() if found.returncode == 0 else ""

    def _make(self, output: str) -> str:
        """Makes a file in the folder of the mutant, from what was made there before."""
        if output not in self.made:
            command, self.made[output] = self._command(output), output.replace("build", FOLDER, 1)
            for old, new in self.made.items():
                command = re.sub(rf"(?<![\w/]){re.escape(old)}(?!\w)", new, command)
            (self.tree.root / self.made[output]).parent.mkdir(parents=True, exist_ok=True)
            if not self.tree.shell(command):
                raise Refused if output.endswith(".ptx") else Untranslated
        return self.made[output]

    def _code(self, path: str) -> list[bytes]:
        """The PTX without its comments and without the number of the compilation in the names of variables."""
        text = re.sub(rb"_INTERNAL_[0-9a-f]{8}_", b"", (self.tree.root / path).read_bytes())
        return [line for line in text.split(b"\n") if not line.startswith(b"//")]

    def add(self, unit: Unit) -> bool:
        """Compiles a unit, once.  Whether its PTX differs from that without the mutant."""
        ptx = f"build/{self.target}/{unit.stem}.ptx"
        if ptx in self.made:
            return False
        self._make(unit.ptx)  # the other PTX, if it is of another target, is made from this
        differs = self._code(self._make(ptx)) != self._code(ptx)
        if differs:
            self.units.append(unit)
        return differs

    def link(self, folder: str) -> Path | None:
        """The library of the units that differ; None: the build has none of them in this folder."""
        objects = []
        for unit in self.units:
            self._make(f"{EMULATOR}/{self.target}/{unit.stem}.cpp")
            if self._command(f"{folder}/{self.target}/{unit.stem}.o"):
                objects.append(self._make(f"{folder}/{self.target}/{unit.stem}.o"))
        if not objects:
            return None
        library = f"{folder}/{self.target}.so"
        command, out = self._command(library).split(f" {folder}/", 1)[0], library.replace("build", FOLDER, 1)
        if not self.tree.shell(f"{command} {' '.join(objects)} -o {out}"):
            raise Untranslated
        return self.tree.root / out


@dataclass
class Judgement:
    """The jobs of a mutant, the cheapest first."""

    tree: Tree
    kernels: Kernels
    suites: list[Job]
    checks: list[Job]
    cost: Callable[[Job], float]
    passes: Callable[[Tree, Job, dict[str, str]], bool]

    def killer(self, jobs: Iterable[Job]) -> str:
        """The first suite that fails."""
        library = self.kernels.link(EMULATOR)
        searched = {"QUERN_EMULATOR_KERNELS": f"{library.parent}:{self.tree.root / EMULATOR}"} if library else {}
        return next((name_of(job) for job in jobs if not self.passes(self.tree, job, searched)), "")

    def failing_check(self) -> str:
        """The first check that fails.  Those of Adam and of ranks compile the sources of the tree themselves."""
        for job in self.checks:
            library = self.kernels.link(THREAD) if job.name == READS_THREAD else None
            if job.name == READS_THREAD and not library:
                continue
            thread = self.tree.root / THREAD
            shutil.rmtree(thread, ignore_errors=True)
            if library:
                thread.mkdir()
                shutil.copy2(library, thread)
            passes = self.passes(self.tree, job, {})
            shutil.rmtree(thread, ignore_errors=True)
            if not passes:
                return name_of(job)
        return ""

    def verdict(self, units: list[Unit]) -> tuple[str, str]:
        """The first unit of each operation that differs is judged alone, by the cheap suites."""
        first: dict[str, Unit] = {}
        for unit in units:
            if unit.operation not in first and self.kernels.add(unit):
                first[unit.operation] = unit
        if not first:
            return "equivalent", ""
        cheap = [job for job in self.suites
                 if self.cost(job) <= CHEAP and (not job.operations or first.keys() & set(job.operations))]
        if killer := self.killer(cheap):
            return "killed", killer
        differ = [self.kernels.add(unit) for unit in units]
        killer = self.killer(job for job in self.suites if any(differ) or job not in cheap) or self.failing_check()
        return ("killed", killer) if killer else ("survived", f"{len(self.suites) + len(self.checks)} jobs pass")


def judge(tree: Tree, site: Site, units: list[Unit], jobs: list[Job], cost: Callable[[Job], float],
          passes: Callable[[Tree, Job, dict[str, str]], bool]) -> tuple[str, str]:
    """The verdict, and the job that killed the mutant.  The programs and all other kernels are built without it."""
    suites, checks = ([job for job in jobs if job.is_check == is_check] for is_check in (False, True))
    if not units:
        return "survived", "no target has the line"
    if not tree.build({"libquern.a", *(target for job in jobs for target in job.targets)} - {"emulator-thread"}):
        raise SystemExit(f"mutate: the tree {tree.root} does not build without a mutant")
    kernels = Kernels(tree, units[0].target)
    with tree.mutated(site) as changed:
        if site.file.endswith(".j2"):
            units = [unit for unit in units if unit.source in changed]
        try:
            return Judgement(tree, kernels, suites, checks, cost, passes).verdict(units)
        except Refused:
            return "refused", ""
        except Untranslated:
            return "killed", "the build of the emulated kernels"
