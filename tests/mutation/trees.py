"""Scratch copies of the tree, in which mutants are built and judged, and the jobs that judge them."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mutation.sites import Site
from runner import checks, devices, jobs, tiers

ROOT = Path(__file__).resolve().parents[2]
# What a copy does not need: other copies, and instrumented objects.
INSTRUMENTED = ("address", "coverage", "emulator-address", "emulator-thread", "fuzz", "mutation", "musl", "thread")
LEFT_OUT = (".git", ".venv", *(f"build/{name}" for name in INSTRUMENTED))
BUILT = ("build", ".ninja_log", ".ninja_deps", "libquern.a")
# Warnings of what a mutant leaves unused; all others refuse it.
PERMITTED = "-Wno-unused -Wno-empty-body"
KINDS = ("oracle", "cpu", "ranks", "driver", "emulated")
# The checks that judge mutants of some files beside the suites: those of ranks in processes, and those with ThreadSanitizer, which
# sees a weakened memory order.
FURTHER = (
    ("src/ranks/*", "data races of ranks"), ("src/ranks/*", "races of ranks"), ("src/ranks/*", "faults of ranks"),
    ("src/ranks/*", "memory model"), ("src/runtime/threads.c", "memory model"), ("src/runtime/idle.c", "memory model"),
    ("src/ranks/*", "meeting place of ranks"), ("src/ranks/*", "symmetric memory of ranks"), ("src/os/*", "faults of ranks"),
    ("src/os/unload.c", "unloading"), ("src/ranks/group/form.c", "unloading"), ("src/ranks/handles.c", "unloading"),
    ("src/ranks/ragged/ragged_all_to_all.c", "unloading"), ("src/runtime/device_open.c", "unloading"),
    ("src/runtime/log.c", "unloading"), ("src/runtime/threads.c", "unloading"), ("src/runtime/pack.c", "unloading"),
    ("src/runtime/pack*", "kernel pack"), ("src/*_select.c", "kernel pack"), ("src/adam/adam_legality.c", "kernel pack"),
    ("src/runtime/explain.c", "kernel pack"), ("src/runtime/prepare.c", "selection"),
    ("src/kernels/collective.h", "data races of ranks"),
    *((f"src/kernels/cuda/{name}*", "data races of GPU ranks")
      for name in ("barrier", "block_scan", "grid_gate", "ragged", "slice_error", "system_memory")),
    *((f"src/kernels/cuda/{name}*", "data races")
      for name in ("async_copy", "bulk_copy", "cluster", "cross_entropy", "device_memory", "row_")),
    *((f"src/kernels/cuda/{name}*", "data races of Adam") for name in ("adam", "async_copy", "gradient", "narrow", "random_words")))


def name_of(job: jobs.Job) -> str:
    return f"{job.configuration}: {job.name}"


def all_jobs(garbage: Path) -> dict[str, jobs.Job]:
    """The suites of each configuration that can run here without sanitizers, and the checks, by name."""
    found: list[jobs.Job] = []
    for each in devices.all_configurations(garbage):
        if each.kind in KINDS and not each.unavailable and not each.name.startswith("sanitized"):
            found += [jobs.Job(each.name, suite.name, (f"{each.programs}/{suite.name}", "-j1"), each.environment,
                               (f"{each.programs}/{suite.name}", *each.targets), operations=suite.operations)
                      for suite in each.suites()]
    place = checks.Place()
    found += [jobs.Job("checks", check.name, check.filled(check.command, place, 0), targets=check.filled(check.targets, place, 0),
                       is_check=True) for check in checks.CHECKS]
    return {name_of(job): job for job in found}


def of_gate(garbage: Path) -> frozenset[str]:
    """The names of those jobs that the gate of any commit runs outside of its rotating part, with sanitizers or without."""
    suites = {f"{each.name.removeprefix('sanitized ')}: {suite.name}" for each in devices.all_configurations(garbage)
              for suite in each.suites() if any(tiers.has_suite(each, suite, number) for number in (0, 1))}
    return frozenset(suites | {f"checks: {each.name}" for each in checks.CHECKS if each.gate is not None and not each.deep_only})


def of_kind(jobs_by_name: dict[str, jobs.Job], kind: str, name: str) -> list[jobs.Job]:
    """A suite on the configurations whose names begin with these words, or a check.  The first emulated GPU has all features."""
    found = [job for job in jobs_by_name.values() if job.name == name and f"{job.configuration} ".startswith(f"{kind} ")]
    return sorted(found, key=lambda job: job.configuration.startswith("emulated ")
                  and devices.FIRST_EMULATED not in job.configuration)


class Tree:
    """One copy.  At most one mutant at a time is in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("QUERN_")}
        self.environment.update(QUERN_WERROR=os.environ.get("QUERN_WERROR", ""), CFLAGS=PERMITTED,
                                TSAN_OPTIONS="halt_on_error=1 exitcode=66")

    def update(self) -> None:
        """Makes the sources those of the tree.  Files that are equal keep their times, so that little is built again."""
        left_out = {*LEFT_OUT, *(BUILT if (self.root / "build").exists() else ())}
        for directory, folders, files in os.walk(ROOT):
            place = Path(directory).relative_to(ROOT)
            folders[:] = [name for name in folders if str(place / name) not in left_out and name != "__pycache__"]
            (self.root / place).mkdir(parents=True, exist_ok=True)
            for name in files:
                if str(place / name) not in left_out:
                    _copy_changed(ROOT / place / name, self.root / place / name)

    def __in(self, text: str) -> str:
        return text.replace(str(ROOT), str(self.root))

    def build(self, targets: Iterable[str]) -> bool:
        return self.shell(shlex.join(["ninja", "-j1", *sorted(set(targets))]))

    def shell(self, command: str) -> bool:
        """Whether a command of the build succeeds."""
        python = {"PYTHON": os.environ.get("PYTHON", str(ROOT / ".venv/bin/python"))}
        return subprocess.run(["sh", "-c", command], cwd=self.root, capture_output=True,
                              env={**self.environment, **python}).returncode == 0

    def run(self, job: jobs.Job, limit: float, further: dict[str, str] | None = None) -> bool:
        """Whether the job passes within a number of seconds."""
        command = [word if word == sys.executable else self.__in(word) for word in job.command]
        environment = {**self.environment, **{name: self.__in(value) for name, value in job.environment.items()}, **(further or {})}
        with tempfile.TemporaryDirectory() as scratch:
            environment["TMPDIR"] = scratch
            process = subprocess.Popen(command, cwd=self.root, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            try:
                return process.wait(limit) == 0
            except subprocess.TimeoutExpired:
                return False
            finally:
                _end_group(process)

    def write(self, site: Site) -> None:
        source = (self.root / site.file).read_bytes()
        (self.root / site.file).write_bytes(source[:site.start] + site.new.encode() + source[site.end:])

    def restore(self, site: Site) -> None:
        """The file gets a new time, so that its objects are built again."""
        (self.root / site.file).write_bytes((ROOT / site.file).read_bytes())

    @contextmanager
    def mutated(self, site: Site) -> Iterator[set[str]]:
        """The tree with a mutant, and the files that differ: the site's, and those that are rendered of it.  Afterwards they have
        their old text and time, so that nothing is built again."""
        kept = {path: (path.read_bytes(), path.stat().st_mtime_ns)
                for path in (self.root / site.file, *(self.root / "generated").rglob("*")) if path.is_file()}

        def changed() -> list[Path]:
            return [path for path, (_, written) in kept.items() if path.stat().st_mtime_ns != written]

        try:
            self.write(site)
            if site.file.endswith(".j2"):
                self.shell('"$PYTHON" -m gen render')
            yield {str(path.relative_to(self.root)) for path in changed()}
        finally:
            for path in changed():
                path.write_bytes(kept[path][0])
                os.utime(path, ns=(kept[path][1], kept[path][1]))


def _copy_changed(source: Path, to: Path) -> None:
    """A new copy has the time of its source, a changed one today's: a run that was stopped may have left objects of a mutant."""
    if not to.exists():
        shutil.copy2(source, to)
    elif to.stat().st_mtime_ns != source.stat().st_mtime_ns and to.read_bytes() != source.read_bytes():
        shutil.copyfile(source, to)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Also ends the ranks that a job has started."""
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        pass
    process.wait()
