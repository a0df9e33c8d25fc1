"""The runner of all tests.  Called by `./quern test`.

The Criterion suites run once per configuration: each instruction set of this CPU, each GPU generation on the emulator, each fault
of the driver, and a real GPU if the machine has one. The other checks are commands. Without options the gate runs: what
tests/runner/tiers.py chooses, and one part of the rest; with --deep everything. Only what the chosen jobs need is built. Each job
is printed as it ends, a failed one with its output, which is repeated at the end. The last line is `N passed, N failed`, followed
by `, N skipped` and `, N flaky` if any were.
"""

import argparse
import fnmatch
import json
import os
import platform
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT))
import receipts  # noqa: E402
from gen import arguments, history  # noqa: E402
from gen.toolchain import find_nvdisasm  # noqa: E402
from mutation import executes  # noqa: E402
from runner import archives, build, changed, checks, devices, first_kernels, jobs, scheduler, suites, texts, tiers  # noqa: E402
from runner.addresses import fixed_addresses  # noqa: E402
from runner.record import Record  # noqa: E402
from runner.results import Results  # noqa: E402

# --quick runs suites on the first device of these kinds: the suites that run on every emulated target, and those that take at most
# QUICK_SECONDS of CPU time by the kept record.
QUICK = ("oracle", "cpu", "ranks", "driver", "emulated")
QUICK_SECONDS = 20.0
TEST_SECONDS = 1800   # a test that takes longer hangs, and is named
FLAKY = ROOT / "build/flaky.json"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./quern test", description="Builds and runs the tests: the gate, unless options choose.")
    parser.add_argument("--deep", action="store_true", 
                        help="everything, nothing from the cache, nothing tried again: about two hours")
    parser.add_argument("--part", metavar="K/N",
                        help="with --deep: the K-th of N parts of equal length; else: the gate with its K-th "
                        f"of {tiers.PARTS} parts of the rest")
    parser.add_argument("--quick", action="store_true",
                        help="the best CPU target, one emulated GPU and the checks that take seconds: a few minutes")
    parser.add_argument("--changed", action="store_true",
                        help="the suites that execute what differs from the last commit, the cheapest first")
    parser.add_argument("--only", metavar="GLOB", default="*", help="configurations to run, 'emulated *' for instance")
    parser.add_argument("--suite", metavar="GLOB", default="*", help="suites to run, 'test_adam*' for instance")
    parser.add_argument("--jobs", type=int, default=scheduler.cores(), help="cores to use (all that this process may use)")
    parser.add_argument("--list", action="store_true", help="show the configurations and suites, build and run nothing")
    parser.add_argument("--no-build", action="store_true", help="test what has been built before")
    parser.add_argument("--no-cache", action="store_true", help="run what has passed before with the same bytes, too")
    parser.add_argument("--costs", action="store_true", help="show what the last runs took, build and run nothing")
    parser.add_argument("--keep-times", action="store_true", help="keep what the last runs took in tests/runner/times.json")
    options = parser.parse_args()
    found = re.fullmatch(r"(\d+)/(\d+)", options.part) if options.part else None
    if options.part and not (found and 1 <= int(found[1]) <= int(found[2])):
        parser.error(f"--part {options.part}: expected K/N, with K from 1 to N")
    if options.changed and history.git("rev-parse", "HEAD") is None:
        parser.error("--changed compares with the last commit: git finds none in this tree")
    options.part = (int(found[1]), int(found[2])) if found else None
    return options


# ---- jobs -----------------------------------------------------------------------------------------


def counts_of(configuration: devices.Configuration, suite: str) -> dict[str, str]:
    """Where a suite that counts what it executes leaves its counts."""
    if not configuration.counts:
        return {}
    return {jobs.COUNTS: str(devices.BUILD / "coverage" / configuration.name / suite / "%m.profraw")}


def suite_job(configuration: devices.Configuration, suite: suites.Suite) -> jobs.Job:
    program = f"{configuration.programs}/{suite.name}"
    fixed = fixed_addresses() if configuration.is_sanitized else ()
    limit = (f"--timeout={TEST_SECONDS}",) if configuration.is_native else ()
    left_out = (f"--skip={name}" for name in configuration.leaves_out)
    return jobs.Job(configuration.name, suite.name, (*fixed, *configuration.runner, program, "-j1", *limit, *left_out),
                    {**configuration.environment, **counts_of(configuration, suite.name)}, (program, *configuration.targets),
                    target=configuration.gpu_target, operations=suite.operations, by_chance=configuration.kind == "ranks")


def suite_jobs(configuration: devices.Configuration) -> list[jobs.Job]:
    return [suite_job(configuration, suite) for suite in configuration.suites()]


def check_job(check: checks.Check, place: checks.Place, number: int, in_gate: bool) -> jobs.Job:
    command = check.gate if in_gate and check.gate else check.command
    needed = check.targets
    if check.name in receipts.CHECKS:
        needed += tuple(receipts.needs(check.name, not (in_gate and check.gate))) if devices.has_nvcc() or not in_gate else ()
    return jobs.Job("checks", check.name, check.filled(command, place, number),
                    {"QUERN_TEST_LIBRARY": place.library, "QUERN_TEST_PROGRAMS": place.programs},
                    tuple(str(Path(target)) for target in check.filled(needed, place, number)), is_check=True,
                    runs_ninja=check.runs_ninja or needed != check.targets, is_last=check.is_last, by_chance=check.by_chance)


def unavailable(check: checks.Check, options: argparse.Namespace) -> str:
    """The reason why a check cannot run.  Counts are compared only if all suites that count have run."""
    if check.with_nvcc and not devices.has_nvcc():
        return devices.NO_NVCC
    if check.with_nvdisasm and not find_nvdisasm():
        return "there is no nvdisasm: ./quern toolkit installs it"
    if check.with_counts and options.suite != check.name and (options.only, options.suite, options.part) != ("*", "*", None):
        return "only some suites were chosen"
    return ""


def is_repeated(configuration: devices.Configuration, suite: suites.Suite, sanitized: set[tuple[str, str]]) -> bool:
    """Whether another run proves the same: with sanitizers on this emulated device, or on one with kernels of the same text."""
    if configuration.kind != "emulated":
        return False
    if not configuration.is_sanitized and (configuration.name, suite.name) in sanitized:
        return True
    return ("emulated" not in suite.every and configuration.only is None and configuration.gpu_target
            != texts.representative(configuration.gpu_target, suite.operations, devices.FIRST_EMULATED))


class Selection:
    """The jobs that match the options, those that cannot run here, with the reason, and the libraries that they need."""

    def __init__(self, options: argparse.Namespace, record: Record, garbage: Path) -> None:
        self.options, self.record = options, record
        self.chosen: list[jobs.Job] = []
        self.skipped: list[tuple[jobs.Job, str]] = []
        self.archives: list[archives.Archive] = []
        self.part = ""
        self.number = tiers.number_of_commit()
        self.configurations = devices.all_configurations(garbage)
        named = (options.only, options.suite) != ("*", "*")
        self.is_gate = not (options.deep or options.quick or options.changed or named)
        self.changed = changed.chosen(changed.lines()) if options.changed else frozenset()
        if options.part and not options.deep:
            self.number = options.part[0] - 1
        if options.deep:
            self._everything()
            self._shard()
        else:
            self._with_gate_library(named)

    def _take(self, job: jobs.Job, reason: str) -> bool:
        if not fnmatch.fnmatch(job.configuration, self.options.only) or not fnmatch.fnmatch(job.name, self.options.suite):
            return False
        if reason:
            self.skipped.append((job, reason))
        else:
            self.chosen.append(job)
        return not reason

    def _pairs(self) -> list[tuple[devices.Configuration, suites.Suite]]:
        sanitized = {(each.name.removeprefix("sanitized "), suite.name)
                     for each in self.configurations if each.is_sanitized for suite in each.suites()}
        return [(each, suite) for each in self.configurations for suite in each.suites()
                if self.options.suite != "*" or not is_repeated(each, suite, sanitized)]

    def _everything(self) -> None:
        for configuration, suite in self._pairs():
            self._take(suite_job(configuration, suite), configuration.unavailable)
        for check in checks.CHECKS:
            self._take(check_job(check, checks.Place(), self.number, False), unavailable(check, self.options))

    def _shard(self) -> None:
        """Keeps one part of all jobs: the longest go into the emptiest part."""
        if not self.options.part:
            return
        place, count = self.options.part
        costs, kept = [0.0] * count, []
        for job in sorted(self.chosen, key=lambda job: (-self.record.kept_cpu(job.configuration, job.name), job.title)):
            emptiest = min(range(count), key=lambda each: (costs[each], each))
            costs[emptiest] += self.record.kept_cpu(job.configuration, job.name)
            if emptiest == place - 1:
                kept.append(job)
        self.chosen = [job for job in self.chosen if job in kept]

    def _wants(self, configuration: devices.Configuration, suite: suites.Suite) -> bool:
        if self.options.changed:
            return (configuration.is_first and not configuration.is_sanitized and configuration.is_native
                    and configuration.only is None and (configuration.kind, suite.name) in self.changed)
        if self.options.quick:
            return (configuration.kind in QUICK and configuration.is_first and not configuration.is_sanitized
                    and configuration.is_native
                    and self.record.quick_seconds(configuration.name, suite.name) <= QUICK_SECONDS)
        return tiers.has_suite(configuration, suite, self.number)

    def _with_gate_library(self, named: bool) -> None:
        """The gate, its part, or what was named: with the kernels of the first emulated target, and of those named."""
        gate = archives.of_gate(devices.FIRST_EMULATED) if devices.has_nvcc() else archives.Archive("gate", ())
        place = checks.Place.of(gate.folder)
        others: list[tuple[devices.Configuration, suites.Suite]] = []
        for configuration, suite in self._pairs():
            if configuration.gpu_target in ("", devices.FIRST_EMULATED) and (named or self._wants(configuration, suite)):
                self._take(suite_job(configuration.linked_with(gate), suite), configuration.unavailable)
            elif self.is_gate or (named and configuration.gpu_target):
                others.append((configuration, suite))
        later: list[checks.Check] = []
        for check in checks.CHECKS:
            if self.options.changed:
                continue
            if named or (check.quick or not self.options.quick) and check.gate is not None and not check.deep_only:
                whole = check.deep_only and named
                self._take(check_job(check, checks.Place() if whole else place, self.number, not named),
                           unavailable(check, self.options))
            elif self.is_gate and not check.deep_only:
                later.append(check)
        self.archives = [gate]
        if self.is_gate:
            self._add_part(others, later, gate)
        else:
            self._add_named(others)

    def _add_part(self, others: list[tuple[devices.Configuration, suites.Suite]], later: list[checks.Check],
                  gate: archives.Archive) -> None:
        """One part of what the gate leaves out, with the GPU kernels that it needs."""
        candidates = [suite_job(configuration.linked_with(gate), suite) for configuration, suite in others
                      if not configuration.unavailable]
        candidates += [check_job(check, checks.Place.of(gate.folder), self.number, False) for check in later
                       if not unavailable(check, self.options)]
        families = tiers.parts(candidates, self.record)[self.number % tiers.PARTS]
        self.part = f"{self.number % tiers.PARTS + 1} of {tiers.PARTS} ({', '.join(family.title for family in families)})"
        if touched := changed.operations_of_kernels(changed.lines("HEAD~1")):
            titles = {family.title for family in families}
            families += [family for family in tiers.families(candidates) if family.title not in titles and family.target
                         and any(set(job.operations) & touched for job in family.jobs)]
            self.part += f" and all GPU kernels of {', '.join(sorted(touched))}, which the last commit touches"
        gpu: dict[str, set[str]] = {}
        for family in families:
            if family.target:
                gpu.setdefault(family.target, set()).update(family.operations)
        self._add_linked([(configuration, suite) for configuration, suite in others if configuration.gpu_target in gpu
                          and any(job.configuration == configuration.name and job.name == suite.name
                                  for family in families for job in family.jobs)], gpu)
        self.chosen += [job for family in families if not family.target for job in family.jobs]

    def _add_named(self, others: list[tuple[devices.Configuration, suites.Suite]]) -> None:
        gpu: dict[str, set[str]] = {}
        matching = [(configuration, suite) for configuration, suite in others
                    if fnmatch.fnmatch(configuration.name, self.options.only) and fnmatch.fnmatch(suite.name, self.options.suite)]
        for configuration, suite in matching:
            gpu.setdefault(configuration.gpu_target, set()).update(suite.operations or texts.OPERATIONS)
        self._add_linked(matching, gpu)

    def _add_linked(self, pairs: list[tuple[devices.Configuration, suites.Suite]], gpu: dict[str, set[str]]) -> None:
        """Jobs on other emulated devices, with a library that has their kernels."""
        if not pairs:
            return
        part = archives.Archive("part", tuple((name, tuple(sorted(operations))) for name, operations in sorted(gpu.items())))
        for configuration, suite in pairs:
            self._take(suite_job(configuration.linked_with(part) if not configuration.unavailable else configuration, suite),
                       configuration.unavailable)
        self.archives.append(part)


# ---- reports --------------------------------------------------------------------------------------


def report_machine() -> None:
    lacking = [f"{each.name.removeprefix('cpu ')} kernels ({each.unavailable})" for each in devices.cpu_configurations()
               if each.unavailable]
    lacking += [] if devices.has_nvcc() else ["GPU kernels (there is no nvcc)"]
    lacking += [] if devices.real_driver().gpus else ["a real GPU"]
    print(f"quern: {scheduler.cores()} cores, {scheduler.available_mb() / 1024:.0f} GB of free memory, {platform.machine()}; "
          f"not run here: {', '.join(lacking) or 'nothing'}", flush=True)


def report_skipped(skipped: list[tuple[jobs.Job, str]]) -> None:
    """Prints one line for each configuration and reason."""
    groups: dict[tuple[str, str], list[str]] = {}
    for job, reason in skipped:
        groups.setdefault((job.configuration, reason), []).append(job.name)
    for (configuration, reason), names in groups.items():
        what = names[0] if len(names) == 1 else f"{len(names)} jobs"
        print(f"{configuration}: {what} skipped, {reason}", flush=True)


def forget_counts(chosen: list[jobs.Job]) -> None:
    """Of suites that do not exist any more, too."""
    for folder in {Path(job.environment[jobs.COUNTS]).parents[1] for job in chosen if jobs.COUNTS in job.environment}:
        shutil.rmtree(folder, ignore_errors=True)


# ---- jobs that fail beside others ------------------------------------------------------------------


class Flaky:
    """The record of jobs that failed beside others and passed alone: a second time is a failure."""

    def __init__(self) -> None:
        try:
            self.times: dict[str, int] = json.loads(FLAKY.read_text())
        except (OSError, ValueError):
            self.times = {}
        self.touched = changed.lines("HEAD~1")
        self.executing = changed.executing(self.touched)

    def may_retry(self, job: jobs.Job) -> bool:
        """Not if the last commit, or what differs from it, touches the job's own file or what it executes."""
        own = {f"tests/suites/{job.name}.c", *(word for word in job.command if word.startswith("tests/"))}
        executed = (executes.kind_without_sanitizers(job.configuration), job.name) in self.executing
        if self.times.get(job.title, 0) or executed or own & self.touched.keys():
            return False
        self.times[job.title] = 1
        return True

    def save(self, failed: list[str]) -> None:
        FLAKY.parent.mkdir(exist_ok=True)
        FLAKY.write_text(json.dumps({title: times for title, times in self.times.items()
                                     if title.split(": ", 1)[1] not in failed}, indent=1))


# ---- the run --------------------------------------------------------------------------------------


def not_built(chosen: list[jobs.Job]) -> list[str]:
    return [target for target in sorted({target for job in chosen for target in job.targets})
            if "/" in target and not (ROOT / target).exists()]


class Steps(jobs.Steps):
    """Builds while the jobs whose programs are ready run."""

    def __init__(self, selection: Selection, chosen: list[jobs.Job], options: argparse.Namespace) -> None:
        self.flaky = None if options.deep else Flaky()
        self.results = Results(is_used=not options.deep and not options.no_cache)
        self.scheduler: scheduler.Scheduler | None = None
        self.cores: float = options.jobs
        targets = set() if options.no_build else {target for job in chosen for target in job.targets}
        file = archives.manifest(selection.archives) if selection.archives else "build.ninja"
        self.build = build.Build(targets, options.jobs, file, self._changed).start() if targets else None

    def _changed(self) -> None:
        if self.scheduler:
            self.scheduler.limit = self._cores()
            self.scheduler.look_again()

    def _cores(self) -> float:
        """For jobs: half of them while the build needs the others."""
        return self.cores if not self.build or self.build.over else max(self.cores / 2, 1)

    def begins(self, side_by_side: scheduler.Scheduler) -> None:
        self.scheduler, side_by_side.limit = side_by_side, self._cores()

    def is_ready(self, job: jobs.Job) -> bool:
        """A job that runs ninja waits for the end of the build; so does one that is last."""
        if not self.build or self.build.over:
            return True
        return not (job.runs_ninja or job.is_last) and self.build.is_ready(job.targets)

    def building(self) -> float:
        return self.build.remaining() if self.build and not self.build.over else 0.0

    def is_over(self) -> bool:
        return bool(self.build and self.build.over and not self.build.is_built)

    def passed(self, job: jobs.Job, count: jobs.Count) -> None:
        self.results.keep(job, count)

    def may_retry(self, job: jobs.Job) -> bool:
        return bool(self.flaky and self.flaky.may_retry(job))

    def known(self, job: jobs.Job) -> jobs.Count | None:
        return self.results.of(job)


def run(options: argparse.Namespace, record: Record, garbage: Path) -> int:
    if not options.no_build and not options.list and not build.prepare():
        print("the build failed: no test has run")
        return 1
    selection = Selection(options, record, garbage)
    if options.list:
        print("\n".join(job.title for job in selection.chosen))
        return 0
    if options.changed and not selection.chosen:
        print("no suite is known to execute what has changed\n0 passed, 0 failed")
        return 0
    if not selection.chosen and not selection.skipped:
        print("nothing to run: no configuration and suite of these names\n0 passed, 1 failed")
        return 1
    report_machine()
    if options.changed and not options.no_build:
        first = first_kernels.answer(changed.lines(), record, options.jobs)
        if first.failed:
            print(first)
            return 1
    if selection.part:
        print(f"quern: the gate with part {selection.part}; everything: ./quern test --deep", flush=True)
    chosen, large = jobs.split_by_memory(selection.chosen, record)
    skipped = selection.skipped + [(job, f"needs {record.expected(job.configuration, job.name).peak_mb} MB of memory")
                                   for job in large]
    if options.no_build and (missing := not_built(chosen)):
        print(f"not built: {missing[0]}{f' and {len(missing) - 1} more' if missing[1:] else ''}; run without --no-build")
        return 1
    report_skipped(skipped)
    if options.suite == "*":
        forget_counts(chosen)
    steps = Steps(selection, chosen, options)
    total, costs, failed = jobs.run_all(chosen, options.jobs, record, steps=steps)
    if steps.build and not steps.build.is_built:
        print(f"{steps.build.fault}the build failed or was interrupted: the tests were not run to their end")
        return 1
    total.skipped += len(skipped)
    record.save()
    if steps.flaky:
        steps.flaky.save(failed)
    if steps.results.found:
        print(f"{steps.results.found} jobs by cache: they passed before with the same programs; --no-cache runs them")
    building = steps.build.cpu if steps.build else 0.0
    print(f"{(building + sum(cost.cpu for cost in costs)) / 60:.1f} min of CPU time, {building / 60:.1f} of them for building; "
          f"at most {max((cost.peak_mb for cost in costs), default=0)} MB in one process")
    print(total)
    return 1 if total.failed else 0


def main() -> int:
    options = parse()
    arguments.end_of_check()
    record = Record()
    if options.costs:
        print("\n".join(record.table()) if record.last else "no run yet")
        return 0
    if options.keep_times:
        record.keep()
        return 0
    with tempfile.TemporaryDirectory() as garbage:
        return run(options, record, Path(garbage))


if __name__ == "__main__":
    os.chdir(ROOT)
    jobs.end_at_signals()
    sys.exit(main())
