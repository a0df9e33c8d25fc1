"""The runner of all tests.  Called by `./quern test`.

The Criterion suites run once per configuration: each instruction set of this CPU, each GPU generation on the emulator, each fault
of the driver, and a real GPU if the machine has one. The other checks are commands. Only the targets that the chosen jobs need are
built. Each job is printed as it ends, a failed one with its output, which is repeated at the end. The last line is `N passed, N
failed`, followed by `, N skipped` if any were.
"""

from __future__ import annotations

import argparse
import fnmatch
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT))
from gen.toolchain import find_nvdisasm  # noqa: E402
from runner import build, checks, devices, jobs, texts  # noqa: E402
from runner.record import Record  # noqa: E402

# --quick runs suites on the first device of these kinds: the suites that run on every emulated target, and those that take at most
# QUICK_SECONDS of CPU time by the kept record.
QUICK = ("oracle", "cpu", "ranks", "driver", "emulated")
QUICK_SECONDS = 20.0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./quern test", description="Builds and runs all tests.")
    parser.add_argument("--quick", action="store_true",
                        help="the best CPU target, one emulated GPU and the checks that take seconds: a few minutes")
    parser.add_argument("--only", metavar="GLOB", default="*", help="configurations to run, 'emulated *' for instance")
    parser.add_argument("--suite", metavar="GLOB", default="*", help="suites to run, 'test_adam*' for instance")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    parser.add_argument("--list", action="store_true", help="show the configurations and suites, build and run nothing")
    parser.add_argument("--no-build", action="store_true", help="test what has been built before")
    parser.add_argument("--costs", action="store_true", help="show what the last runs took, build and run nothing")
    parser.add_argument("--keep-times", action="store_true", help="keep what the last runs took in tests/runner/times.json")
    return parser.parse_args()


def counts_of(configuration: devices.Configuration, suite: str) -> dict[str, str]:
    """Where a suite that counts what it executes leaves its counts."""
    if not configuration.counts:
        return {}
    return {jobs.COUNTS: str(devices.BUILD / "coverage" / configuration.name / suite / "%m.profraw")}


def suite_jobs(configuration: devices.Configuration) -> list[jobs.Job]:
    """The jobs of a configuration.  A job that tests results of emulated kernels has its target; see leave_out_repeated."""
    target = configuration.environment["QUERN_TEST_TARGET"] if configuration.kind == "emulated" else ""
    return [jobs.Job(configuration.name, suite.name, (f"{configuration.programs}/{suite.name}", "-j1"),
                     {**configuration.environment, **counts_of(configuration, suite.name)},
                     (f"{configuration.programs}/{suite.name}", *configuration.targets),
                     emulated="" if "emulated" in suite.every else target, operations=suite.operations)
            for suite in configuration.suites()]


def forget_counts(chosen: list[jobs.Job]) -> None:
    """Of suites that do not exist any more, too."""
    for folder in {Path(job.environment[jobs.COUNTS]).parents[1] for job in chosen if jobs.COUNTS in job.environment}:
        shutil.rmtree(folder, ignore_errors=True)


def check_job(check: checks.Check) -> jobs.Job:
    return jobs.Job("checks", check.name, check.command, targets=check.targets, is_check=True, runs_ninja=check.runs_ninja,
                    is_last=check.is_last)


def is_quick(configuration: devices.Configuration) -> bool:
    return configuration.kind in QUICK and configuration.is_first and not configuration.name.startswith(("sanitized", "musl"))


def unavailable(check: checks.Check, options: argparse.Namespace, configurations: list[devices.Configuration]) -> str:
    """The reason why a check cannot run.  Counts are compared only if all suites that count have run."""
    if check.with_nvcc and not devices.has_nvcc():
        return devices.NO_NVCC
    if check.with_nvdisasm and not find_nvdisasm():
        return "there is no nvdisasm: ./quern toolkit installs it"
    lacking = [each.unavailable for each in configurations if each.counts and each.unavailable and each.kind != "driver"]
    if check.with_counts and lacking:
        return lacking[0]
    if check.with_counts and options.suite != check.name and (options.only, options.suite) != ("*", "*"):
        return "only some suites were chosen"
    return ""


def select(options: argparse.Namespace, record: Record, garbage: Path) -> tuple[list[jobs.Job], list[tuple[jobs.Job, str]]]:
    """The jobs that match the options, and those that cannot run here, with the reason."""
    chosen, skipped = [], []

    def take(job: jobs.Job, unavailable: str) -> None:
        if not fnmatch.fnmatch(job.configuration, options.only) or not fnmatch.fnmatch(job.name, options.suite):
            return
        if unavailable:
            skipped.append((job, unavailable))
        else:
            chosen.append(job)

    configurations = devices.all_configurations(garbage)
    for configuration in configurations:
        if options.quick and not is_quick(configuration):
            continue
        for job in suite_jobs(configuration):
            walks = configuration.kind == "emulated" and not job.emulated
            if not options.quick or walks or record.quick_seconds(job.configuration, job.name) <= QUICK_SECONDS:
                take(job, configuration.unavailable)
    for check in checks.CHECKS:
        if check.quick or not options.quick:
            take(check_job(check), unavailable(check, options, configurations))
    return chosen, skipped


def leave_out_repeated(chosen: list[jobs.Job]) -> list[jobs.Job]:
    """Omits a suite on an emulated device if it also runs there with sanitizers, or on another target, with kernels of the same
    text.  On a CPU sanitizers have other kernels, of another compiler, and smaller cases."""
    def key(job: jobs.Job) -> tuple[str, ...]:
        if not job.emulated:
            is_emulated = job.environment.get("QUERN_TEST_DEVICE") == "cuda"
            return (job.configuration.removeprefix("sanitized ") if is_emulated else job.configuration, job.name)
        return (job.name, job.environment.get(devices.PEERS, ""), texts.of_operations(job.emulated, job.operations))

    def rank(job: jobs.Job) -> tuple[bool, bool]:
        return (job.configuration.startswith("sanitized"), job.emulated == devices.FIRST_EMULATED)

    kept: dict[tuple[str, ...], jobs.Job] = {}
    for job in chosen:
        if key(job) not in kept or rank(job) > rank(kept[key(job)]):
            kept[key(job)] = job
    repeated = [job for job in chosen if kept[key(job)] is not job]
    for configuration in dict.fromkeys(job.configuration for job in repeated):
        names = [job.name for job in repeated if job.configuration == configuration]
        print(f"{configuration}: {len(names)} suites left to another run, with sanitizers or of another target, whose kernels have "
              "the same text", flush=True)
    return [job for job in chosen if kept[key(job)] is job]


def report_skipped(skipped: list[tuple[jobs.Job, str]]) -> None:
    """Prints one line for each configuration and reason."""
    groups: dict[tuple[str, str], list[str]] = {}
    for job, reason in skipped:
        groups.setdefault((job.configuration, reason), []).append(job.name)
    for (configuration, reason), names in groups.items():
        what = names[0] if len(names) == 1 else f"{len(names)} jobs"
        print(f"{configuration}: {what} skipped, {reason}", flush=True)


def run(options: argparse.Namespace, record: Record, garbage: Path) -> int:
    if not options.no_build and not options.list and not build.prepare():
        print("0 passed, 1 failed")
        return 1
    chosen, skipped = select(options, record, garbage)
    if options.list:
        print("\n".join(f"{job.configuration}: {job.name}" for job in chosen))
        return 0
    if not chosen and not skipped:
        print("nothing to run: no configuration and suite of these names\n0 passed, 1 failed")
        return 1
    targets = {target for job in chosen for target in job.targets}
    missing = [target for target in sorted(targets) if "/" in target and not (ROOT / target).exists()]
    if options.no_build and missing:
        print(f"not built: {missing[0]}{f' and {len(missing) - 1} more' if missing[1:] else ''}; run without --no-build")
        return 1
    building = 0.0
    if targets and not options.no_build:
        built, building = build.build(targets, options.jobs)
        if not built:
            print("0 passed, 1 failed")
            return 1
    chosen, large = jobs.split_by_memory(chosen, record)
    skipped += [(job, f"needs {record.expected(job.configuration, job.name).peak_mb} MB of memory") for job in large]
    chosen = leave_out_repeated(chosen)
    report_skipped(skipped)
    if options.suite == "*":
        forget_counts(chosen)
    total, costs, _ = jobs.run_all(chosen, options.jobs, record)
    total.skipped += len(skipped)
    record.save()
    print(f"{(building + sum(cost.cpu for cost in costs)) / 60:.1f} min of CPU time, {building / 60:.1f} of them for building; "
          f"at most {max((cost.peak_mb for cost in costs), default=0)} MB in one process")
    print(total)
    return 1 if total.failed else 0


def main() -> int:
    options, record = parse(), Record()
    if options.costs:
        print("\n".join(record.table()) if record.last else "no run yet")
        return 0
    if options.keep_times:
        record.keep()
        return 0
    with tempfile.TemporaryDirectory() as garbage:
        return run(options, record, Path(garbage))


if __name__ == "__main__":
    sys.exit(main())
