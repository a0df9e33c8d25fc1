"""The one runner of all tests, behind `./quern test`.

The Criterion suites run once per configuration: each instruction set of this CPU, each GPU generation on the emulator,
each situation of the driver, and a real GPU where there is one.  The further checks are commands.  Failures are shown as
they come; one line per configuration says what it counted; the last line is `N passed, N failed`, with `, N skipped` where
there were any.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import ctypes
import fnmatch
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from gen.spec import GPU_TARGETS  # noqa: E402

BUILD = ROOT / "build"
EMULATOR = BUILD / "emulator"
TIMEOUT = 600  # seconds for one suite or check

# ---- what there is to run ------------------------------------------------------------------------

# Each suite with the configurations in which it runs.
SUITES = {
    "test_cross_entropy": {"cpu", "emulated", "gpu"},
    "test_cross_entropy_rows": {"cpu", "emulated", "gpu"},
    "test_linear_cross_entropy": {"cpu", "emulated", "gpu"},
    "test_cross_entropy_options": {"cpu", "emulated", "gpu"},
    "test_cross_entropy_steps": {"cpu", "emulated", "gpu"},
    "test_cross_entropy_random": {"cpu", "emulated", "gpu"},
    "test_cross_entropy_published": {"cpu", "emulated", "gpu"},
    "test_adam": {"cpu", "emulated", "gpu"},
    "test_adam_rounding": {"cpu", "emulated", "gpu"},
    "test_adam_options": {"cpu", "emulated", "gpu"},
    "test_adam_control": {"cpu", "emulated", "gpu"},
    "test_adam_random": {"cpu", "emulated", "gpu"},
    "test_adam_scaled": {"cpu", "emulated", "gpu"},
    "test_adam_remainder": {"cpu", "emulated", "gpu"},
    "test_adam_plan": {"cpu", "emulated", "gpu"},
    "test_adam_saved": {"cpu", "emulated", "gpu"},
    "test_adam_long": {"cpu", "emulated", "gpu"},
    "test_adam_published": {"cpu", "emulated", "gpu"},
    "test_adam_parity": {"emulated", "gpu"},
    "test_adam_arguments": {"cpu", "emulated", "gpu"},
    "test_gradients": {"cpu", "emulated", "gpu"},
    "test_determinism": {"cpu", "emulated", "gpu"},
    "test_arguments": {"cpu", "emulated", "gpu"},
    "test_dispatch": {"cpu", "emulated", "gpu"},
    "test_device": {"cpu", "emulated", "gpu"},
    "test_log_and_status": {"cpu", "emulated", "gpu"},
    "test_ragged": {"cpu"},
    "test_stream": {"emulated", "gpu"},
    "test_barrier_cuda": {"emulated", "gpu"},
    "test_ragged_cuda": {"emulated", "gpu"},
    "test_ragged_faults_cuda": {"emulated", "gpu"},
    "test_symmetric": {"cpu"},
    "test_large": {"cpu"},
    "test_driver": {"driver"},
    "test_group": {"ranks"},
    "test_host_barrier": {"ranks"},
    "test_oracle": {"oracle"},
    "test_cross_entropy_oracle": {"oracle"},
}

# The suites of what GPU ranks do, whose kernels differ between targets for which those of other operations are the same.
GPU_RANK_SUITES = frozenset({"test_barrier_cuda", "test_ragged_cuda", "test_ragged_faults_cuda"})

# Further checks, each a command that says no by its exit status; it may close with a line `N passed, N failed` of its own.
CHECKS = {
    "generated files": [sys.executable, "-m", "gen", "check"],
    "mutants": [sys.executable, "tests/checks/mutants.py", "--check"],
    "generator": [sys.executable, "tests/checks/generator.py"],
    "static audit": [sys.executable, "-m", "gen", "audit", "--check"],
    "usage": ["sh", "tests/checks/usage.sh"],
    "archive": ["sh", "tests/checks/abi.sh"],
    "consumers": ["sh", "tests/consumers/run.sh"],
    "bytes of the benchmarks": [sys.executable, "bench/run.py", "--self-test"],
    "examples": ["sh", "tests/checks/examples.sh"],
    "convergence": [sys.executable, "bench/convergence.py", "--check"],
    "emulator": ["sh", "tests/emulator/self_test/build.sh", "build/emulator-self-test"],
    "kernel pack": [sys.executable, "tests/checks/pack/run.py"],
    "data races": [sys.executable, "tests/race/run.py"],
    "data races of Adam": [sys.executable, "tests/race/adam.py"],
    "protocol models": [sys.executable, "tests/model/run.py"],
    "data races of ranks": [sys.executable, "tests/race/ranks.py"],
    "data races of GPU ranks": [sys.executable, "tests/race/gpu_ranks.py"],
    "faults of ranks": ["build/tests/faults/faults"],
    "meeting place of ranks": ["build/tests/faults/meeting_place"],
    "symmetric memory of ranks": ["env", "LD_LIBRARY_PATH=build/emulator", "build/tests/faults/symmetric_processes"],
}


# What is built before anything runs.
BUILT = ("all", "emulator", "tests-ranks", "tests-address", "emulator-address", "emulator-thread", "build/tests/race",
         "build/tests/race_adam", "build/tests/race_ranks", "build/tests/race_gpu_ranks", "build/tests/test_pack")

# What a CPU target needs of /proc/cpuinfo.
CPU_FLAGS = {
    "avx512": {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl"},
    "avx2": {"avx2", "fma", "f16c"},
    "portable": set(),
}

# Emulated devices: compute capability, the target that must serve it, and the order in which threads and blocks run.
EMULATED = [
    ("7.5", "sm_75", "forward"),
    ("8.0", "sm_80", "reverse"),
    ("8.6", "sm_86", "forward"),
    ("8.9", "sm_89", "random:1"),
    ("9.0", "sm_90a", "forward"),
    ("10.0", "sm_100f", "reverse"),
    ("11.0", "compute_90", "reverse"),
    ("12.0", "sm_120f", "forward"),
]

# What can be wrong with a driver (see test_driver.c), and the environment that makes it so.
DRIVERS = {
    "absent": {"LD_LIBRARY_PATH": ""},
    "garbage": {"LD_LIBRARY_PATH": "{garbage}"},
    "old": {"LD_LIBRARY_PATH": str(EMULATOR), "QUERN_EMULATOR_FAIL": "driver_version:11000"},
    "broken": {"LD_LIBRARY_PATH": str(EMULATOR), "QUERN_EMULATOR_FAIL": "init:999"},
    "empty": {"LD_LIBRARY_PATH": str(EMULATOR), "QUERN_EMULATOR_FAIL": "init:100"},
    "unknown": {"LD_LIBRARY_PATH": str(EMULATOR), "QUERN_EMULATOR": "7.0"},
}


@dataclass
class Configuration:
    """A device on which suites run, or a group of checks."""

    name: str
    kind: str
    environment: dict[str, str] = field(default_factory=dict)
    unavailable: str = ""  # why it cannot run here
    commands: dict[str, list[str]] = field(default_factory=dict)
    programs: Path = BUILD / "tests"
    left_out: frozenset[str] = frozenset()

    def suites(self) -> dict[str, list[str]]:
        programs = {name: [str(self.programs / name), "-j1"] for name, kinds in SUITES.items()
                    if self.kind in kinds and name not in self.left_out}
        return self.commands or programs


def cpu_configurations() -> list[Configuration]:
    match = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    flags = set(match.group(1).split()) if match else set()
    return [
        Configuration(
            f"cpu {target}", "cpu",
            {"QUERN_TEST_DEVICE": "cpu", "QUERN_TEST_TARGET": target, "QUERN_TEST_DEVICES": "1",
             "QUERN_KERNEL": f"*__{target}"},
            f"this CPU lacks {', '.join(sorted(needed - flags))}" if needed - flags else "")
        for target, needed in CPU_FLAGS.items()
    ]


def rank_configuration() -> Configuration:
    """Groups of CPU ranks, which use no kernels: the same on every CPU."""
    return Configuration("ranks", "ranks", {"QUERN_TEST_DEVICE": "cpu"})


def emulated_configurations() -> list[Configuration]:
    nvcc = BUILD / "nvcc.txt"
    compiled = nvcc.exists() and nvcc.read_text().strip() != "none"
    unavailable = "" if compiled else "the kernels were built without nvcc"
    return [
        Configuration(
            f"emulated {target} on {capability}", "emulated",
            {"QUERN_TEST_DEVICE": "cuda", "QUERN_TEST_TARGET": target, "QUERN_TEST_DEVICES": "2",
             "QUERN_TEST_SCALE": "small", "QUERN_EMULATOR": f"{capability},{capability}", "QUERN_EMULATOR_ORDER": order,
             "LD_LIBRARY_PATH": str(EMULATOR)},
            unavailable)
        for capability, target, order in EMULATED
    ]


def instrumented(configurations: list[Configuration]) -> list[Configuration]:
    """The same devices with the AddressSanitizer and UndefinedBehaviorSanitizer in the library, the kernels and the suites.

    Of the GPU targets the oldest with a set of features is enough: each kernel was instrumented in that one's code.
    Where that is another one the suites find the kernel as it is, and those that need nothing else are left out.
    """
    owners = {path.stem for path in (BUILD / "emulator-address").glob("*.so")}
    chosen = [c for c in configurations if c.kind in ("cpu", "ranks") or c.environment["QUERN_TEST_TARGET"] in owners]
    sanitizer = {"QUERN_TEST_SCALE": "small", "QUERN_EMULATOR_KERNELS": f"{BUILD / 'emulator-address'}:{EMULATOR}",
                 "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
    return [Configuration(f"sanitized {c.name}", c.kind, {**c.environment, **sanitizer}, c.unavailable,
                          programs=BUILD / "address" / "tests", left_out=left_out(c))
            for c in chosen]


def left_out(configuration: Configuration) -> frozenset[str]:
    """What an instrumented configuration does not run: 2^31 elements take minutes then."""
    target = configuration.environment.get("QUERN_TEST_TARGET", "")
    shared = configuration.kind == "emulated" and not any((BUILD / "emulator-address" / target).glob("adam_*.o"))
    return frozenset({"test_large"}) | (frozenset(SUITES) - GPU_RANK_SUITES if shared else frozenset())


def real_gpus() -> list[tuple[int, str]]:
    """The compute capability and the name of each GPU of this machine."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count = ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return []
    gpus = []
    for ordinal in range(count.value):
        name, major, minor = ctypes.create_string_buffer(96), ctypes.c_int(), ctypes.c_int()
        cuda.cuDeviceGetName(name, 96, ordinal)
        cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, ordinal)
        cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, ordinal)
        gpus.append((10 * major.value + minor.value, name.value.decode()))
    return gpus


def gpu_configurations() -> list[Configuration]:
    gpus = real_gpus()
    if not gpus:
        return [Configuration("gpu", "gpu", unavailable="this machine has no GPU with a driver")]
    capability, name = gpus[0]
    target = next((t.name for t in GPU_TARGETS.values() if t.in_library and t.cc_min <= capability <= t.cc_max), "none")
    return [Configuration(f"gpu {name}", "gpu", {
        "QUERN_TEST_DEVICE": "cuda", "QUERN_TEST_TARGET": target, "QUERN_TEST_DEVICES": str(len(gpus))})]


def driver_configurations(garbage: Path) -> list[Configuration]:
    (garbage / "libcuda.so.1").write_text("This is no library.\n")
    configurations = []
    for driver, environment in DRIVERS.items():
        unavailable = "this machine has a driver" if driver == "absent" and real_gpus() else ""
        filled = {name: value.format(garbage=garbage) for name, value in environment.items()}
        filled.update(QUERN_TEST_DEVICE="cpu", QUERN_TEST_DRIVER=driver)
        configurations.append(Configuration(f"driver {driver}", "driver", filled, unavailable))
    return configurations


def all_configurations(garbage: Path) -> list[Configuration]:
    return [
        Configuration("oracle", "oracle"),
        *cpu_configurations(),
        rank_configuration(),
        *driver_configurations(garbage),
        *emulated_configurations(),
        *instrumented([*cpu_configurations(), rank_configuration(), *emulated_configurations()]),
        *gpu_configurations(),
        Configuration("checks", "checks", commands=CHECKS),
    ]


# ---- running -------------------------------------------------------------------------------------


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0

    def add(self, other: Count) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.seconds += other.seconds

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


printing = threading.Lock()


def say(text: str) -> None:
    with printing:
        print(text, flush=True)


def run_command(command: list[str], environment: dict[str, str]) -> tuple[int, str]:
    """The exit status, 124 after a time-out, and everything that was printed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("QUERN_")}
    process = subprocess.Popen(command, cwd=ROOT, env={**clean, **environment}, stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.STDOUT, errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=TIMEOUT)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return 124, f"{output}\nno end after {TIMEOUT} seconds"


def count_tap(report: str) -> Count:
    """Criterion's TAP report: a skipped test is an `ok` with a directive."""
    count = Count()
    for line in report.splitlines():
        if line.startswith("not ok"):
            count.failed += 1
        elif line.startswith("ok"):
            skipped = "# SKIP" in line
            count.skipped += skipped
            count.passed += not skipped
    return count


def run_suite(command: list[str], environment: dict[str, str]) -> tuple[Count, int, str]:
    with tempfile.NamedTemporaryFile(mode="r", suffix=".tap") as report:
        status, output = run_command([*command, f"--tap={report.name}"], environment)
        return count_tap(report.read()), status, output


def run_check(command: list[str]) -> tuple[Count, int, str]:
    status, output = run_command(command, {})
    lines = output.strip().splitlines()
    closing = re.fullmatch(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?", lines[-1]) if lines else None
    if closing:
        return Count(*(int(number or 0) for number in closing.groups())), status, output
    return Count(passed=int(status == 0), failed=int(status != 0)), status, output


def run_job(configuration: Configuration, name: str, command: list[str]) -> Count:
    """Runs a suite or check; whatever is not a clean success counts as a failure and is shown."""
    began = time.monotonic()
    is_check = configuration.kind == "checks"
    count, status, output = run_check(command) if is_check else run_suite(command, configuration.environment)
    reasons = []
    if not count.passed + count.failed + count.skipped:
        reasons.append("ran no test")
    if status and not count.failed:
        reasons.append(f"ended with {f'signal {-status}' if status < 0 else f'status {status}'}")
    count.failed += bool(reasons)
    count.seconds = time.monotonic() - began
    if count.failed:
        say(f"---- {configuration.name}: {name} {' and '.join(reasons)}\n{output.rstrip()}\n----")
    return count


def run_all(jobs: list[tuple[Configuration, str, list[str]]], workers: int) -> Count:
    """Runs everything, a few at a time, and reports each configuration when its last job has ended."""
    total = Count()
    counts = {configuration.name: Count() for configuration, _, _ in jobs}
    left = {name: sum(configuration.name == name for configuration, _, _ in jobs) for name in counts}
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        running = {pool.submit(run_job, *job): job[0].name for job in jobs}
        for done in concurrent.futures.as_completed(running):
            name = running[done]
            counts[name].add(done.result())
            left[name] -= 1
            if not left[name]:
                say(f"{name}: {counts[name]} ({counts[name].seconds:.1f} s)")
                total.add(counts[name])
    return total


# ---- the command line ----------------------------------------------------------------------------


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./quern test", description="Builds and runs all tests.")
    parser.add_argument("--only", metavar="GLOB", default="*", help="configurations to run, 'emulated *' for instance")
    parser.add_argument("--suite", metavar="GLOB", default="*", help="suites to run, 'test_adam*' for instance")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    parser.add_argument("--list", action="store_true", help="show the configurations and suites, run nothing")
    parser.add_argument("--no-build", action="store_true", help="test what has been built before")
    return parser.parse_args()


def select(configurations: list[Configuration], options: argparse.Namespace) -> tuple[list, Count]:
    """The jobs that the options leave, and what is skipped because it cannot run here."""
    jobs, skipped = [], Count()
    for configuration in configurations:
        if not fnmatch.fnmatch(configuration.name, options.only):
            continue
        suites = {name: c for name, c in configuration.suites().items() if fnmatch.fnmatch(name, options.suite)}
        if configuration.unavailable and suites:
            say(f"{configuration.name}: skipped, {configuration.unavailable}")
            skipped.skipped += len(suites)
        else:
            jobs += [(configuration, name, command) for name, command in suites.items()]
    return jobs, skipped


def main() -> int:
    options = parse()
    if not options.no_build and not options.list:
        built = subprocess.run(["ninja", "--quiet", *BUILT], cwd=ROOT)
        if built.returncode:
            print("0 passed, 1 failed")
            return 1
    with tempfile.TemporaryDirectory() as garbage:
        jobs, total = select(all_configurations(Path(garbage)), options)
        if options.list:
            for configuration, name, _ in jobs:
                print(f"{configuration.name}: {name}")
            return 0
        if not jobs:
            print("nothing to run: no configuration and suite of these names\n0 passed, 1 failed")
            return 1
        missing = sorted({command[0] for _, _, command in jobs if "/" in command[0] and not (ROOT / command[0]).exists()})
        if missing:
            print(f"{missing[0]} and {len(missing) - 1} more have not been built: leave out --no-build\n0 passed, 1 failed")
            return 1
        total.add(run_all(jobs, options.jobs))
    print(total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
