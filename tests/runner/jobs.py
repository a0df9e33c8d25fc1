"""Runs suites and checks, several at a time, prints each as it ends, and those that failed once more at the end.

Called by tests/run.py and tests/gpu/command.py.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from runner.record import Cost, Record

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 600          # seconds for one job
COUNTS = "LLVM_PROFILE_FILE"    # variable: where a program leaves how often it executed each line
LONG = 20              # seconds: longer jobs begin first, so that the last minutes use all workers
SPARE_MB = 512         # memory left for other processes
REPEATED_LINES = 30    # of a failed job's output, at the end of all


@dataclass(frozen=True)
class Job:
    configuration: str
    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    targets: tuple[str, ...] = ()  # of ninja
    is_check: bool = False
    runs_ninja: bool = False            # two runs of ninja at a time would damage its log
    emulated: str = ""                  # the target, if the suite proves the same on all targets with the same kernels
    operations: tuple[str, ...] = ()    # the suite runs kernels of these
    is_last: bool = False               # runs after all others


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other: Count) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


@dataclass
class Outcome:
    count: Count
    cost: Cost
    status: int      # negative: a signal; 124: stopped after its time
    output: str


# ---- one job --------------------------------------------------------------------------------------


def run_command(command: tuple[str, ...], environment: dict[str, str], seconds: float = TIMEOUT) -> Outcome:
    """Runs a process, for so long at most, and returns its status, its output and its cost, all of its children included."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("QUERN_")}
    began = time.monotonic()
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(command, cwd=ROOT, env={**clean, **environment}, stdin=subprocess.DEVNULL, stdout=printed,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        late = threading.Event()

        def end() -> None:
            late.set()
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(seconds, end)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        output = printed.read().decode(errors="replace")
    cost = Cost(time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024)
    if late.is_set():
        return Outcome(Count(), cost, 124, f"{output}\nno end after {seconds:.0f} seconds")
    return Outcome(Count(), cost, process.returncode, output)


def count_tap(report: str) -> Count:
    """Counts the tests of Criterion's TAP report.  A skipped test is an `ok` with a directive."""
    count = Count()
    for line in report.splitlines():
        if line.startswith("not ok"):
            count.failed += 1
        elif line.startswith("ok"):
            skipped = "# SKIP" in line
            count.skipped += skipped
            count.passed += not skipped
    return count


def run_suite(job: Job, seconds: float) -> Outcome:
    if COUNTS in job.environment:
        shutil.rmtree(Path(job.environment[COUNTS]).parent, ignore_errors=True)
    with tempfile.NamedTemporaryFile(mode="r", suffix=".tap") as report:
        outcome = run_command((*job.command, f"--tap={report.name}"), job.environment, seconds)
        outcome.count = count_tap(report.read())
        return outcome


def run_check(job: Job, seconds: float) -> Outcome:
    outcome = run_command(job.command, job.environment, seconds)
    lines = outcome.output.strip().splitlines()
    closing = re.fullmatch(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?", lines[-1]) if lines else None
    if closing:
        outcome.count = Count(*(int(number or 0) for number in closing.groups()))
    else:
        outcome.count = Count(passed=int(outcome.status == 0), failed=int(outcome.status != 0))
    return outcome


NINJA = threading.Lock()


def run_job(job: Job, deadline: float = math.inf) -> tuple[Outcome, list[str]]:
    """Runs a job.  A job without any test, or with an error but no failed test, counts as a failure; the reasons are listed."""
    with NINJA if job.runs_ninja else contextlib.nullcontext():
        seconds = min(TIMEOUT, deadline - time.monotonic())
        if seconds <= 0:
            return Outcome(Count(failed=1), Cost(0, 0, 0), 124, ""), ["did not begin: the time was up"]
        outcome = run_check(job, seconds) if job.is_check else run_suite(job, seconds)
    count, status, reasons = outcome.count, outcome.status, []
    if not count.passed + count.failed + count.skipped:
        reasons.append("ran no test")
    if status and not count.failed:
        reasons.append(f"ended with {f'signal {-status}' if status < 0 else f'status {status}'}")
    count.failed += bool(reasons)
    return outcome, reasons


# ---- all jobs -------------------------------------------------------------------------------------


def available_mb() -> int:
    """Memory that new processes can have without swapping."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return int(found.group(1)) // 1024 if found else 1 << 30


def split_by_memory(jobs: list[Job], record: Record) -> tuple[list[Job], list[Job]]:
    """The jobs for which this machine has enough memory, and the others."""
    limit = available_mb() - SPARE_MB
    fits = [record.expected(job.configuration, job.name).peak_mb <= limit for job in jobs]
    return [job for job, yes in zip(jobs, fits) if yes], [job for job, yes in zip(jobs, fits) if not yes]


class Progress:
    """Prints each job as it ends, with an estimate of the remaining time from the record."""

    def __init__(self, jobs: list[Job], record: Record, workers: int) -> None:
        self.record = record
        self.workers = workers
        self.total, self.done = len(jobs), 0
        self.failed: list[str] = []
        self.reports: list[str] = []
        self.left = sum(self.expected(job) for job in jobs)
        self.counts = {job.configuration: Count() for job in jobs}
        self.missing = {name: sum(job.configuration == name for job in jobs) for name in self.counts}

    def expected(self, job: Job) -> float:
        return self.record.expected(job.configuration, job.name).seconds

    def ended(self, job: Job, outcome: Outcome, reasons: list[str]) -> None:
        self.done += 1
        self.left -= self.expected(job)
        self.record.add(job.configuration, job.name, outcome.cost)
        self.counts[job.configuration].add(outcome.count)
        if outcome.count.failed:
            title, output = f"---- {job.configuration}: {job.name} {' and '.join(reasons)}", outcome.output.rstrip()
            self.failed.append(job.name)
            self.reports.append("\n".join([title, *output.splitlines()[-REPEATED_LINES:], "----"]))
            print(f"{title}\n{output}\n----")
        print(f"[{self.done}/{self.total}, {in_words(self.left / self.workers)} left] {job.configuration}: {job.name}: "
              f"{outcome.count} ({outcome.cost.seconds:.1f} s)", flush=True)
        self.missing[job.configuration] -= 1
        if not self.missing[job.configuration]:
            print(f"{job.configuration}: {self.counts[job.configuration]}", flush=True)

    def repeat_failures(self) -> None:
        """A log is often read, or kept, from its end only."""
        if self.reports:
            print(f"{len(self.reports)} of {self.total} jobs failed:", *self.reports, sep="\n", flush=True)


def in_words(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(seconds, 0):.0f} s"


def run_all(jobs: list[Job], workers: int, record: Record, deadline: float = math.inf) -> tuple[Count, list[Cost], list[str]]:
    """Also returns the names of the jobs that failed.  At the deadline, of time.monotonic, jobs are stopped, and none begins."""
    progress, total, costs = Progress(jobs, record, workers), Count(), []
    expected = [progress.expected(job) for job in jobs]
    order = sorted(range(len(jobs)), key=lambda i: -expected[i] if expected[i] > LONG else 0)
    for is_last in (False, True):
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            running = {pool.submit(run_job, jobs[i], deadline): jobs[i] for i in order if jobs[i].is_last == is_last}
            for done in concurrent.futures.as_completed(running):
                outcome, reasons = done.result()
                progress.ended(running[done], outcome, reasons)
                total.add(outcome.count)
                costs.append(outcome.cost)
    progress.repeat_failures()
    return total, costs, progress.failed
