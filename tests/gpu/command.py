"""Builds for the GPU of this machine, tests on it and measures it, within minutes and without root or network.  `./quern gpu`.

Each stage has a part of the time; one that does not end in it is stopped and fails.  The last ten lines say what passed, and which
share of a copy's bandwidth each operation reached.
"""

import argparse
import importlib.util
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:1] = [str(ROOT / "tests"), str(ROOT), str(ROOT / "bench")]
from gen.spec import GPU_TARGETS  # noqa: E402
from gpu import budget, build, criterion, machine  # noqa: E402
from gpu.summary import Result, exchange_text, ten_lines  # noqa: E402
from run import suite_jobs  # noqa: E402
from runner import devices, jobs  # noqa: E402
from runner.record import Record  # noqa: E402

STAGES = tuple(budget.SHARES)
SMALL_SECONDS = 3.0   # of CPU time on the emulator, by the kept record: the suites for the sanitizer and for stress
ROUNDS = 3            # of the small suites, for stress
LARGE_AT_A_TIME, SMALL_AT_A_TIME = 4, 8  # on one GPU: each process has a context of hundreds of megabytes
OPERATIONS = ("cross_entropy", "adam", "ragged_all_to_all", "barrier")
ORACLE = devices.Configuration("oracle", "oracle")
MEGABYTE = 1 << 20
MOST_NAMES = 6        # of failed suites in a line
WRITTEN = (".json", ".md", ".svg")
EMULATED_NOTE = "Run on the emulator of tests/emulator: no GPU was measured, and the times are not real."


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./quern gpu", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, metavar="FOLDER",
                        help="for tables, picture and report (bench/results; emulated: build/gpu)")
    parser.add_argument("--minutes", type=float, default=8, metavar="N", help="the time of all stages together (8)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="compilers at a time (all cores)")
    parser.add_argument("--only", default=",".join(STAGES), metavar="STAGE,...", help=f"of {', '.join(STAGES)}")
    parser.add_argument("--suite", default="*", metavar="GLOB", help="only these suites, 'test_adam*' for instance")
    parser.add_argument("--bench", default=",".join(OPERATIONS), metavar="NAME,...",
                        help=f"benchmarks only of these: {', '.join(OPERATIONS)}")
    parser.add_argument("--quick", action="store_true", help="small shapes in the benchmarks, to see that they work")
    parser.add_argument("--criterion", type=Path, metavar="FOLDER", help="has Criterion, as --carry leaves it")
    parser.add_argument("--carry", type=Path, metavar="FOLDER", help="only copy this machine's Criterion there, for another")
    parser.add_argument("--emulated", nargs="?", const=devices.FIRST_EMULATED, metavar="TARGET",
                        help=f"the emulator in place of the driver, to try this command ({devices.FIRST_EMULATED})")
    parser.add_argument("--build-for", metavar="TARGET", help="only build, on a machine without a GPU, for the GPU of another one")
    parser.add_argument("--driver", choices=sorted(machine.DRIVERS), help="of that machine, at least (580)")
    parser.add_argument("--no-build", action="store_true", help="all but the build: --build-for has built elsewhere")
    parser.add_argument("--folder", default="build/gpu", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    chosen.only = ["build"] if chosen.build_for else [stage for stage in chosen.only.split(",") if stage]
    if chosen.no_build and "build" in chosen.only:
        chosen.only.remove("build")
    if wrong := [stage for stage in chosen.only if stage not in STAGES]:
        parser.error(f"--only {wrong[0]}: expected some of {', '.join(STAGES)}")
    if chosen.build_for and (chosen.emulated or chosen.no_build) or chosen.driver and not chosen.build_for:
        parser.error("--build-for: expected neither --emulated nor --no-build; --driver: expected --build-for")
    if chosen.minutes <= 0 or chosen.jobs <= 0:
        parser.error("--minutes and --jobs: expected a number above 0")
    return chosen


@dataclass
class Session:
    options: argparse.Namespace
    gpu: machine.Gpu
    budget: budget.Budget
    said: list[str] = field(default_factory=list)  # what the report begins with

    @property
    def folder(self) -> Path:
        """Of what is built."""
        return ROOT / self.options.folder

    @property
    def out(self) -> Path:
        return self.options.out or (ROOT / "build/gpu" if self.gpu.is_emulated else ROOT / "bench/results")

    def file(self, ending: str) -> Path:
        return self.out / f"{self.gpu.slug}{ending}"

    @property
    def suites(self) -> list[str]:
        """All that concern GPUs, and those with published answers of what kernels and oracles share."""
        names = [suite.name for each in (self.gpu.configuration, ORACLE) for suite in each.suites()]
        return [name for name in names if fnmatch(name, self.options.suite)]

    def run(self, command: list[str], stage: str, seconds: float, environment: dict[str, str] | None = None) -> str:
        return budget.run(command, seconds, self.budget.grace, self.folder / f"{stage}.log", environment)

    def say(self, text: str) -> None:
        print(text, flush=True)
        self.said.append(text)


# ---- the stages: each returns what went wrong, empty if nothing, and a remark -------------------------------------------------


class Absent(Exception):
    """What a stage needs, if it may be missing."""


def stage_machine(session: Session, seconds: float) -> tuple[str, str]:
    for line in machine.facts(session.gpu):
        session.say(line)
    return "", ", ".join(filter(None, (session.gpu.name, session.gpu.target, EMULATED_NOTE * session.gpu.is_emulated)))


def stage_build(session: Session, seconds: float) -> tuple[str, str]:
    ends = time.monotonic() + seconds
    folder, file = session.options.folder, session.folder / "build.ninja"
    if fault := session.run(["ninja", "build/nvcc.txt"], "build", seconds):
        return fault, _tail(session, "build")
    has_criterion = criterion.works()
    if not has_criterion:
        session.say("Criterion is not there: the suites are built with its stand-in, tests/musl (--criterion names a copy)")
    build.write(file, build.ninja(session.gpu.target, folder, session.suites, has_criterion))
    targets = [f"{folder}/tests/{name}" for name in session.suites]
    targets += [f"{folder}/quern_bench"] if session.options.build_for or "benchmarks" in session.options.only else []
    targets += [*devices.DRIVER, f"build/emulator/{session.gpu.target}.so"] if session.gpu.is_emulated else []
    command = ["ninja", "-f", str(file.relative_to(ROOT)), "-j", str(session.options.jobs), *targets]
    fault = session.run(command, "build", max(ends - time.monotonic(), 0.1))
    if not fault and session.options.build_for:
        session.say(f"take the tree along with {folder}: ./quern gpu --no-build there")
    return fault, _tail(session, "build") if fault else f"{len(session.suites)} suites"


def _tail(session: Session, stage: str) -> str:
    """Shows the end of a log; returns where it is."""
    log = session.folder / f"{stage}.log"
    print("\n".join(log.read_text(errors="replace").splitlines()[-30:]), flush=True)
    return f"see {log.relative_to(ROOT)}"


def _jobs(session: Session) -> list[jobs.Job]:
    programs = str(session.options.folder) + "/tests"
    found = [job for each in (session.gpu.configuration, ORACLE) for job in suite_jobs(replace(each, programs=programs))]
    return [job for job in found if job.name in session.suites]


def _lacking(chosen: list[jobs.Job]) -> str:
    """Why nothing can run."""
    absent = [job.command for job in chosen if not (ROOT / job.targets[0]).exists()]
    return f"{len(absent)} suites are not built" if absent else "" if chosen else "there is no such suite"


def _run_jobs(chosen: list[jobs.Job], workers: int, seconds: float) -> tuple[str, str]:
    if lacking := _lacking(chosen):
        return lacking, ""
    deadline = time.monotonic() + seconds
    total, _, failed = jobs.run_all(chosen, workers, Record(), deadline)
    stopped = f"stopped after its {seconds:.0f} s, " if time.monotonic() >= deadline else ""
    return f"{stopped}failed: {_few(failed)}" if failed else "", f"{len(chosen)} jobs, {total}"


def _few(names: list[str]) -> str:
    """Each once, and not so many that the line is no line."""
    different = list(dict.fromkeys(names))
    return " ".join(different[:MOST_NAMES]) + (f" and {len(different) - MOST_NAMES} more" if different[MOST_NAMES:] else "")


def at_a_time(gpu: machine.Gpu, most: int) -> int:
    return 1 if gpu.is_exclusive else most


def stage_suites(session: Session, seconds: float) -> tuple[str, str]:
    return _run_jobs(_jobs(session), at_a_time(session.gpu, min(LARGE_AT_A_TIME, session.options.jobs)), seconds)


def _small(session: Session) -> list[jobs.Job]:
    """Short suites of kernels that do not wait for others: a sanitizer may run one kernel at a time."""
    record = Record()
    return [replace(job, environment=job.environment | {"QUERN_TEST_SCALE": "small"}) for job in _jobs(session)
            if job.operations and set(job.operations) <= {"adam", "cross_entropy"} and job.configuration != "oracle"
            and record.quick_seconds("emulated", job.name) <= SMALL_SECONDS]


def stage_stress(session: Session, seconds: float) -> tuple[str, str]:
    """The small suites in several copies, side by side on one GPU."""
    if session.gpu.is_exclusive:
        raise Absent("the GPU serves one process at a time (compute mode exclusive process)")
    return _run_jobs(_small(session) * ROUNDS, SMALL_AT_A_TIME, seconds)


def stage_sanitizer(session: Session, seconds: float) -> tuple[str, str]:
    sanitizer = machine.find_sanitizer()
    if not sanitizer:
        raise Absent("compute-sanitizer is not there (a part of CUDA's toolkit)")
    tools = {"memcheck": ("--report-api-errors", "no"), "racecheck": ()}  # suites call the driver in wrong ways, too
    chosen = [replace(job, configuration=tool, command=(sanitizer, "--tool", tool, *flags, "--target-processes", "all",
                                                        "--error-exitcode", "86", *job.command))
              for tool, flags in tools.items() for job in _small(session)]
    if lacking := _lacking(chosen):
        return lacking, ""
    fault, text = _run_jobs(chosen, at_a_time(session.gpu, min(SMALL_AT_A_TIME, session.options.jobs)), seconds)
    return "", f"advice: {fault}; {text}" if fault else text   # some versions report what is right


def stage_links(session: Session, seconds: float) -> tuple[str, str]:
    """Between GPUs; the ranks of the suites use all of them."""
    if int(session.gpu.configuration.environment["QUERN_TEST_DEVICES"]) < 2:
        raise Absent("there is one GPU")
    size = MEGABYTE if session.gpu.is_emulated else 256 * MEGABYTE
    return _run_python(session, "links", ["tests/gpu/links.py", str(size)], seconds)


def _run_python(session: Session, stage: str, words: list[str], seconds: float) -> tuple[str, str]:
    """A program of ours; its last line is the remark."""
    fault = session.run([sys.executable, *words], stage, seconds, session.gpu.configuration.environment)
    log = (session.folder / f"{stage}.log").read_text(errors="replace").strip()
    print(log, flush=True)
    return fault, log.rpartition("\n")[2]


def stage_python(session: Session, seconds: float) -> tuple[str, str]:
    """The operators of PyTorch, over a stand-in where there is none with CUDA."""
    if not importlib.util.find_spec("numpy"):
        raise Absent("NumPy is not there")
    return _run_python(session, "python", ["tests/python/on_gpu.py", str(session.folder / "libquern.a")], seconds)


def stage_benchmarks(session: Session, seconds: float) -> tuple[str, str]:
    command = [sys.executable, "bench/run.py", *session.options.bench.split(","), "--device", "cuda:0",
               "--program", str(session.folder / "quern_bench"), "--loops", build.loops(str(session.folder)),
               "--json", str(_new(session, ".json")), "--markdown", str(_new(session, ".md"))]
    command += ["--quick"] if session.options.quick else ["--seconds", "0.1", "--memory", "20"]
    if session.gpu.is_emulated:
        command += ["--quick", "--memory", "0.0003", "--no-peers", "--note", EMULATED_NOTE]
    if importlib.util.find_spec("matplotlib"):
        command += ["--plot", str(_new(session, ".svg"))]
    else:
        session.say(f"matplotlib is not there, so there is no picture; elsewhere: ./quern bench --from {session.gpu.slug}.json "
                    f"--plot {session.gpu.slug}.svg")
    for ending in WRITTEN:
        _new(session, ending).unlink(missing_ok=True)
    fault = session.run(command, "benchmarks", seconds, session.gpu.configuration.environment)
    log = (session.folder / "benchmarks.log").read_text(errors="replace")
    print(log if not fault else "\n".join(log.splitlines()[-60:]), flush=True)
    for new in filter(Path.exists, (_new(session, ending) for ending in WRITTEN)):
        shutil.copy(new, session.out / new.name)
    return fault, f"{_counted(measured(session))}{exchange_text(measured(session))}"


def _new(session: Session, ending: str) -> Path:
    """Where the benchmarks write: what is in the folder for results stays until there is something new."""
    return session.folder / "new" / f"{session.gpu.slug}{ending}"


def _counted(results: dict) -> str:
    counts = [f"{sum('seconds' in each for each in results.get(key, []))} {what}"
              for key, what in (("records", "of kernels"), ("ranks", "of ranks"), ("peers", "of other implementations"))]
    return f"measurements: {', '.join(counts)}"


def measured(session: Session) -> dict:
    try:
        return json.loads(_new(session, ".json").read_text())
    except (OSError, ValueError):
        return {}


RUN: dict[str, Callable[[Session, float], tuple[str, str]]] = {
    "machine": stage_machine, "build": stage_build, "suites": stage_suites, "stress": stage_stress, "sanitizer": stage_sanitizer,
    "links": stage_links, "python": stage_python, "benchmarks": stage_benchmarks}

# ---- the whole -----------------------------------------------------------------------------------------------------------------


def run_stage(session: Session, stage: str) -> Result:
    seconds = session.budget.take(stage)
    print(f"\n==== {stage}, at most {seconds:.0f} s", flush=True)
    began = time.monotonic()
    try:
        fault, text = RUN[stage](session, seconds)
    except Absent as what:
        return Result(stage, text=str(what), ran=False)
    except (Exception, SystemExit) as fault_of_stage:   # the others still run
        traceback.print_exc()
        fault, text = f"{type(fault_of_stage).__name__}: {fault_of_stage}", ""
    return Result(stage, fault, text, time.monotonic() - began)


def run_stages(session: Session) -> list[Result]:
    """In their order; what was to be built is needed by all that follow."""
    results: list[Result] = []
    for stage in [stage for stage in RUN if stage in session.options.only]:
        if any(result.fault and result.stage == "build" for result in results):
            results.append(Result(stage, text="the build failed", ran=False))
        else:
            results.append(run_stage(session, stage))
    return results


def report(session: Session, results: list[Result]) -> None:
    seconds = time.monotonic() - session.budget.began
    shown = measured(session) if any(result.ran and result.stage == "benchmarks" for result in results) else {}
    lines = ten_lines(results, shown, session.gpu.name, session.out, seconds)
    if "report" in session.options.only:
        session.file(".txt").write_text("\n".join([*session.said, "", *lines]) + "\n")
    print("\n" + "\n".join(lines), flush=True)


def _gpu(options: argparse.Namespace) -> machine.Gpu:
    """What hinders is told before anything is built: tools that are missing, a driver that loads no such images."""
    if "build" in options.only and (lacking := machine.missing_tools()):
        raise machine.Missing("; ".join(lacking))
    if options.emulated:
        return machine.emulated(options.emulated)
    gpu = machine.elsewhere(options.build_for) if options.build_for else machine.real()
    if "build" in options.only:
        machine.check_driver(GPU_TARGETS[gpu.target],
                             machine.DRIVERS[options.driver or "580"] if options.build_for else devices.real_driver().version)
    return gpu


def main() -> int:
    options = parse()
    if options.carry:
        fault = criterion.carry(options.carry)
        print(fault or f"{options.carry} has Criterion: take it along, and name it with --criterion")
        return 1 if fault else 0
    os.environ["PYTHON"] = sys.executable  # for ninja
    if options.criterion:
        criterion.use(options.criterion, ROOT / options.folder / "criterion")
    try:
        gpu = _gpu(options)
    except machine.Missing as what:
        print(f"./quern gpu needs {what}", file=sys.stderr)
        return 1
    session = Session(options, gpu, budget.Budget(60 * options.minutes, list(options.only)))
    try:
        for folder in (session.folder, session.out):
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
    except OSError as fault:
        print(f"./quern gpu needs a folder that it can write (--out, and the tree): {fault}", file=sys.stderr)
        return 1
    results = run_stages(session)
    report(session, results)
    return 1 if any(result.fault for result in results) else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("./quern gpu: interrupted")
