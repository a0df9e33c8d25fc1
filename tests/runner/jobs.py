"""Runs suites and checks, several at a time, prints each as it ends, and those that failed once more at the end.

Called by tests/run.py and tests/gpu/command.py.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from runner import scheduler
from runner.record import Cost, Record

ROOT = Path(__file__).resolve().parents[2]
COUNTS = "LLVM_PROFILE_FILE"    # variable: where a program leaves how often it executed each line
LONG = 20              # seconds: longer jobs begin first, so that the last minutes use all cores
KNOWN_SECONDS = 300.0  # of jobs, before what has ended scales the estimate: the first ones are the short checks
REPEATED_LINES = 30    # of a failed job's output, at the end of all

# Limits of a job.  They do not depend on what else the machine does: CPU seconds of one process, and minutes in which none of the
# job's processes has computed.
LEAST_CPU, TIMES_CPU = 600, 10
IDLE_SECONDS, LOOK_SECONDS = 900, 5


@dataclass(frozen=True, eq=False)
class Job:
    configuration: str
    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    targets: tuple[str, ...] = ()  # of ninja
    is_check: bool = False
    runs_ninja: bool = False            # two runs of ninja at a time would damage its log
    target: str = ""                    # of an emulated GPU
    operations: tuple[str, ...] = ()    # the suite runs kernels of these
    is_last: bool = False               # runs after all others
    by_chance: bool = False             # what it meets differs from run to run: a result that is kept proves nothing

    @property
    def title(self) -> str:
        return f"{self.configuration}: {self.name}"


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    flaky: int = 0    # jobs that failed beside others and passed alone

    def add(self, other: Count) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.flaky += other.flaky

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        flaky = f", {self.flaky} flaky" if self.flaky else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}{flaky}"


@dataclass
class Outcome:
    count: Count
    cost: Cost
    status: int      # negative: a signal; 124: stopped after its time
    output: str


# ---- one job --------------------------------------------------------------------------------------


def _processes(session: int) -> tuple[list[int], float]:
    """The processes of a session, and the CPU seconds that they and their children that have ended have used."""
    found, ticks = [], 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            found.append(int(path.parent.name))
            ticks += sum(int(number) for number in fields[11:15])
    return found, ticks / os.sysconf("SC_CLK_TCK")


RUNNING: set[int] = set()   # the sessions of the jobs


@atexit.register
def end_all() -> None:
    """Jobs do not outlive a runner that is interrupted."""
    for session in list(RUNNING):
        end_session(session)


def end_at_signals() -> None:
    """As an interrupt does: a runner that a signal ends at once would leave its jobs."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))


class Watch:
    """Ends a session that has done nothing for long, or when its time is up."""

    def __init__(self, session: int, deadline: float) -> None:
        self.session, self.deadline, self.reason = session, deadline, ""
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def _look(self) -> None:
        used, since = -1.0, time.monotonic()
        while not self.over.wait(min(LOOK_SECONDS, max(self.deadline - time.monotonic(), 0.01))):
            _, now = _processes(self.session)
            if now != used:
                used, since = now, time.monotonic()
            elif time.monotonic() - since > IDLE_SECONDS:
                self.reason = f"no process has computed for {IDLE_SECONDS} seconds"
            if time.monotonic() >= self.deadline:
                self.reason = "the time was up"
            if self.reason:
                return end_session(self.session)

    def stop(self) -> None:
        self.over.set()
        self.thread.join()


def end_session(session: int) -> None:
    """Ends what is left of a job: ranks that it has forked, for instance, would compute beside the next one."""
    for process in _processes(session)[0]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def run_command(command: tuple[str, ...], environment: dict[str, str], deadline: float = math.inf,
                cpu_limit: int = LEAST_CPU) -> Outcome:
    """Runs a process and returns its status, its output and its cost, all of its children included."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("QUERN_")}
    began = time.monotonic()
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(command, cwd=ROOT, env={**clean, **environment}, stdin=subprocess.DEVNULL, stdout=printed,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (cpu_limit, cpu_limit))
        RUNNING.add(process.pid)
        watch = Watch(process.pid, deadline)
        _, status, usage = os.wait4(process.pid, 0)
        watch.stop()
        end_session(process.pid)
        RUNNING.discard(process.pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        output = printed.read().decode(errors="replace")
    cost = Cost(time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024)
    if watch.reason:
        return Outcome(Count(), cost, 124, f"{output}\nended: {watch.reason}")
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


def run_suite(job: Job, *limits: float) -> Outcome:
    if COUNTS in job.environment:
        shutil.rmtree(Path(job.environment[COUNTS]).parent, ignore_errors=True)
    with tempfile.NamedTemporaryFile(mode="r", suffix=".tap") as report:
        outcome = run_command((*job.command, f"--tap={report.name}"), job.environment, *limits)
        outcome.count = count_tap(report.read())
        return outcome


def run_check(job: Job, *limits: float) -> Outcome:
    outcome = run_command(job.command, job.environment, *limits)
    lines = outcome.output.strip().splitlines()
    closing = re.fullmatch(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?", lines[-1]) if lines else None
    if closing:
        outcome.count = Count(*(int(number or 0) for number in closing.groups()))
    else:
        outcome.count = Count(passed=int(outcome.status == 0), failed=int(outcome.status != 0))
    return outcome


NINJA = threading.Lock()


def run_job(job: Job, record: Record, deadline: float = math.inf) -> tuple[Outcome, list[str]]:
    """Runs a job.  A job without any test, or with an error but no failed test, counts as a failure; the reasons are listed."""
    with NINJA if job.runs_ninja else contextlib.nullcontext():
        if time.monotonic() >= deadline:
            return Outcome(Count(failed=1), Cost(0, 0, 0), 124, ""), ["did not begin: the time was up"]
        cpu_limit = max(LEAST_CPU, round(TIMES_CPU * record.expected(job.configuration, job.name).cpu))
        outcome = (run_check if job.is_check else run_suite)(job, deadline, cpu_limit)
    count, status, reasons = outcome.count, outcome.status, []
    if not count.passed + count.failed + count.skipped:
        reasons.append("ran no test")
    if status and not count.failed:
        reasons.append(f"ended with {f'signal {-status}' if status < 0 else f'status {status}'}")
    count.failed += bool(reasons)
    return outcome, reasons


# ---- all jobs -------------------------------------------------------------------------------------


def split_by_memory(jobs: list[Job], record: Record) -> tuple[list[Job], list[Job]]:
    """The jobs for which this machine has enough memory, and the others."""
    limit = scheduler.available_mb() - scheduler.SPARE_MB
    fits = [record.expected(job.configuration, job.name).peak_mb <= limit for job in jobs]
    return [job for job, yes in zip(jobs, fits) if yes], [job for job, yes in zip(jobs, fits) if not yes]


class Progress:
    """Prints each job as it ends, with an estimate of the remaining time from the record."""

    def __init__(self, jobs: list[Job], record: Record, cores: int, building: Callable[[], float]) -> None:
        """building: the seconds that the build needs."""
        self.record, self.cores, self.building = record, cores, building
        self.total, self.done = len(jobs), 0
        self.failed: dict[Job, str] = {}   # with the end of its output
        self.left = sum(self.expected(job) for job in jobs)
        self.planned, self.taken = KNOWN_SECONDS, KNOWN_SECONDS   # seconds of the jobs that have ended: by the record, and in truth

    def expected(self, job: Job) -> float:
        """Seconds of all cores."""
        cost = self.record.expected(job.configuration, job.name)
        return cost.seconds * min(scheduler.part_of_core(cost), self.cores) / self.cores

    def remaining(self) -> float:
        """Scaled by what the jobs that have ended took here."""
        return self.building() + self.left * self.taken / self.planned

    def ended(self, job: Job, outcome: Outcome, reasons: list[str]) -> None:
        self.done += 1
        self.left -= self.expected(job)
        if outcome.cost.seconds:
            self.planned += self.record.expected(job.configuration, job.name).seconds
            self.taken += outcome.cost.seconds
            self.record.add(job.configuration, job.name, outcome.cost)
        if outcome.count.failed:
            title, output = f"---- {job.title} {' and '.join(reasons)}", outcome.output.rstrip()
            self.failed[job] = "\n".join([title, *output.splitlines()[-REPEATED_LINES:], repeat(job), "----"])
            print(f"{title}\n{output}\n{repeat(job)}\n----")
        print(f"[{self.done}/{self.total}, {in_words(self.remaining())} left] {job.title}: "
              f"{outcome.count} ({f'{outcome.cost.seconds:.1f} s' if outcome.cost.seconds else 'by cache'})", flush=True)

    def repeat_failures(self) -> None:
        """A log is often read, or kept, from its end only."""
        if self.failed:
            print(f"{len(self.failed)} of {self.total} jobs failed:", *self.failed.values(), sep="\n", flush=True)


def repeat(job: Job) -> str:
    """The command that runs it once more."""
    return f"to repeat: ./quern test --deep --only '{job.configuration}' --suite '{job.name}'"


def in_words(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(seconds, 0):.0f} s"


class Steps:
    """What a run does with its jobs: by default they are all ready, and none is tried again."""

    def is_ready(self, job: Job) -> bool:
        return True

    def is_over(self) -> bool:
        """Whether no job begins any more."""
        return False

    def begins(self, side_by_side: scheduler.Scheduler[Job, tuple[Outcome, list[str]]]) -> None:
        pass

    def building(self) -> float:
        """Seconds that the build needs."""
        return 0.0

    def known(self, job: Job) -> Count | None:
        """The result of the same bytes in an earlier run."""
        return None

    def passed(self, job: Job, count: Count) -> None:
        pass

    def may_retry(self, job: Job) -> bool:
        return False


def known_or_run(job: Job, steps: Steps, record: Record, deadline: float) -> tuple[Outcome, list[str]]:
    count = steps.known(job)
    return (Outcome(count, Cost(0, 0, 0), 0, ""), []) if count else run_job(job, record, deadline)


def run_all(jobs: list[Job], cores: int, record: Record, deadline: float = math.inf,
            steps: Steps | None = None) -> tuple[Count, list[Cost], list[str]]:
    """Also returns the names of the jobs that failed.  At the deadline, of time.monotonic, jobs are stopped, and none begins.

    What has failed and may be tried again runs once more, alone.
    """
    steps = steps or Steps()
    progress, total, costs = Progress(jobs, record, cores, steps.building), Count(), []
    expected = {job: progress.expected(job) for job in jobs}
    order = sorted(jobs, key=lambda job: -expected[job] if expected[job] * cores > LONG else 0)
    tried: list[tuple[Job, Outcome]] = []
    for is_last in (False, True):
        side_by_side = scheduler.Scheduler(lambda job: record.expected(job.configuration, job.name),
                                           lambda job: known_or_run(job, steps, record, deadline), cores)
        steps.begins(side_by_side)
        for job, (outcome, reasons) in side_by_side.in_turn([job for job in order if job.is_last == is_last], steps.is_ready,
                                                            steps.is_over):
            progress.ended(job, outcome, reasons)
            costs.append(outcome.cost)
            tried.append((job, outcome))
            if not outcome.count.failed:
                steps.passed(job, outcome.count)
    for job, outcome in tried:
        if outcome.count.failed and steps.may_retry(job):
            print(f"once more, alone: {job.title}", flush=True)
            again, _ = run_job(job, record, deadline)
            costs.append(again.cost)
            if again.count.failed:
                print(f"failed alone, too: {job.title}", flush=True)
            else:
                again.count.flaky = 1
                outcome.count = again.count
                print(f"flaky: {job.title}: failed beside others, passed alone", flush=True)
                progress.failed.pop(job, None)
        total.add(outcome.count)
    progress.repeat_failures()
    return total, costs, [job.name for job in progress.failed]
