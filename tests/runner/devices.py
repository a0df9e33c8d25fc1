"""The configurations: each device on which suites run, and the targets that ninja builds for it.  Called by tests/run.py."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from gen import toolchain  # noqa: E402
from gen.host import this_host  # noqa: E402
from gen.render import OTHERS  # noqa: E402
from gen.spec import cpu_targets  # noqa: E402
from runner import suites  # noqa: E402
from runner.archives import Archive  # noqa: E402
from runner.targets import CPU_TARGETS, GPU_TARGETS, emulated_devices, first_with, lacking_flags, older_than_all  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
EMULATOR = BUILD / "emulator"
DRIVER = ("build/emulator/libcuda.so.1", "build/emulator/libcublas.so.13", "build/emulator/libnccl.so.2")

LIGHT = "build/light/tests"

NO_NVCC = "the kernels were built without nvcc"

PEERS = "QUERN_EMULATOR_PEERS"    # variable: which emulated GPUs reach each other's memory
ONCE = "QUERN_TEST_ONCE"          # variable: whether suites also run what one of the emulated generations is enough for

# The faults of a driver that test_driver.c tests, and the environment that causes each.
DRIVERS = {
    "absent": {"LD_LIBRARY_PATH": ""},
    "garbage": {"LD_LIBRARY_PATH": "{garbage}"},
    "stub": {"LD_LIBRARY_PATH": str(EMULATOR), "QUERN_EMULATOR_FAIL": "cuDriverGetVersion:34,init:34"},
    "old": {"LD_LIBRARY_PATH": str(EMULATOR), "QUERN_EMULATOR_FAIL": "driver_version:11000"},
    "behind": {"LD_LIBRARY_PATH": str(EMULATOR), "QUERN_EMULATOR_FAIL": "driver_version:12080", "QUERN_EMULATOR": "10.0"},
    "broken": {"LD_LIBRARY_PATH": str(EMULATOR), "QUERN_EMULATOR_FAIL": "init:999"},
    "empty": {"LD_LIBRARY_PATH": str(EMULATOR), "QUERN_EMULATOR_FAIL": "init:100"},
    "prohibited": {"LD_LIBRARY_PATH": str(EMULATOR), "QUERN_EMULATOR_MODE": "2"},
    "unknown": {"LD_LIBRARY_PATH": str(EMULATOR), "QUERN_EMULATOR": older_than_all()},
}


@dataclass
class Configuration:
    """A device on which suites run."""

    name: str
    kind: str                   # one of suites.KINDS
    environment: dict[str, str] = field(default_factory=dict)
    unavailable: str = ""       # why it cannot run here
    is_first: bool = True       # the first of its kind, which also runs the suites that need only one device
    programs: str = "build/tests"   # linked with the whole library; with LIGHT: with one that has no GPU kernels
    targets: tuple[str, ...] = ()   # of ninja, in addition to the programs
    only: frozenset[str] | None = None  # the names of its suites; None: all suites of its kind
    counts: bool = False            # its programs count what they execute
    runner: tuple[str, ...] = ()    # the words before a program: what runs code for another CPU
    leaves_out: tuple[str, ...] = ()    # tests, of programs on tests/musl

    @property
    def is_sanitized(self) -> bool:
        return self.name.startswith("sanitized")

    @property
    def is_native(self) -> bool:
        """Whether the tree's own compiler has built its programs, with Criterion: else templates/build/other.ninja.j2."""
        return not self.programs.startswith(tuple(f"build/{other.name}/" for other in OTHERS))

    @property
    def gpu_target(self) -> str:
        """That of an emulated GPU."""
        return self.environment["QUERN_TEST_TARGET"] if self.kind == "emulated" else ""

    def linked_with(self, archive: Archive) -> Configuration:
        """The same with programs of another library than the whole one."""
        if self.programs not in ("build/tests", "build/address/tests") or self.kind == "gpu":
            return self
        programs = f"{archive.folder}/{'address/' if self.is_sanitized else ''}tests"
        if self.gpu_target not in dict(archive.gpu) or archive.name == "gate" and not archive.is_whole(self.gpu_target):
            return replace(self, programs=programs)
        folder = archive.emulator(self.gpu_target)
        return replace(self, programs=programs, environment={**self.environment, "QUERN_EMULATOR_KERNELS": str(ROOT / folder)},
                       targets=(*DRIVER, f"{folder}/{self.gpu_target}.so"))

    def suites(self) -> list[suites.Suite]:
        return [suite for suite in suites.read_suites()
                if self.kind in suite.kinds and (self.is_first or self.kind not in suite.once)
                and (self.only is None or suite.name in self.only)]


def has_nvcc() -> bool:
    """Whether the build found nvcc.  True if it has not searched yet."""
    found = BUILD / "nvcc.txt"
    return not found.exists() or toolchain.located(found)[0] is not None


def cpu_environment(target: str, glob: str) -> dict[str, str]:
    return {"QUERN_TEST_DEVICE": "cpu", "QUERN_TEST_TARGET": target, "QUERN_TEST_DEVICES": "1", "QUERN_KERNEL": glob}


def cpu_configurations() -> list[Configuration]:
    configurations = []
    for target in CPU_TARGETS:
        lacking = lacking_flags(target)
        configurations.append(Configuration(
            f"cpu {target}", "cpu", cpu_environment(target, f"*__{target}"),
            f"this CPU lacks {', '.join(lacking)}" if lacking else "",
            is_first=not lacking and all(other.unavailable for other in configurations), programs=LIGHT))
    return configurations


def lesser_cpu_configurations() -> list[Configuration]:
    """The CPU as if it had less, down to each of its lesser targets, which then serves unasked; and each target below that."""
    targets = [target for target in CPU_TARGETS if not lacking_flags(target)]
    only = frozenset(suite.name for suite in suites.read_suites() if "cpu" in suite.every)
    return [Configuration(f"cpu {target} without {targets[place - 1]}", "cpu",
                          {**cpu_environment(target, "" if target == best else f"*__{target}"), "QUERN_TEST_CPU": best},
                          is_first=False, only=only)
            for place, best in enumerate(targets) if place for target in targets[place:]]


def rank_configuration() -> Configuration:
    """Groups of CPU ranks.  They use no kernels, so one configuration serves every CPU."""
    return Configuration("ranks", "ranks", {"QUERN_TEST_DEVICE": "cpu"}, programs=LIGHT)


# The suites of hosts that also run over a carrier of the engine; test_hosts_carrier and test_hosts_carry have their own.
CARRIED = frozenset({"test_collective_mistakes", "test_hosts", "test_hosts_collective", "test_hosts_collective_ends",
                     "test_hosts_dissent", "test_hosts_ends", "test_hosts_split", "test_hosts_transfer", "test_transfer_ends",
                     "test_transfer_progress"})


def progress_configuration() -> Configuration:
    """The suites of transfers where threads of the library move them, too."""
    return Configuration("ranks with threads of transfers", "ranks",
                         {"QUERN_TEST_DEVICE": "cpu", "QUERN_TEST_PROGRESS": "1", "QUERN_TEST_SCALE": "small"}, programs=LIGHT,
                         only=frozenset({"test_transfer", "test_transfer_ends", "test_hosts_transfer"}))


def carrier_configurations() -> list[Configuration]:
    """Hosts between which the data goes by the stand-in for MPI: one that gets the memory of calls, and one that gets copies."""
    return [Configuration(f"ranks over a carrier that {kind}", "ranks",
                          {"QUERN_TEST_DEVICE": "cpu", "QUERN_TEST_CARRIER": kind, "QUERN_TEST_SCALE": "small"},
                          programs=LIGHT, only=CARRIED)
            for kind in ("borrows", "copies")]


# Without these the library does not load UCX.
UCX_SETTINGS = {"UCX_MEM_EVENTS": "n", "UCX_HANDLE_ERRORS": "none", "UCX_DEBUG_SIGNO": "0", "UCX_VFS_ENABLE": "n",
                "UCX_LOG_LEVEL": "fatal"}


def ucx_configuration() -> Configuration:
    """The same over the UCX of this machine, which another process loads: it would change this one."""
    found = not subprocess.run([sys.executable, "-c", "import ctypes; ctypes.CDLL('libucp.so.0')"], stderr=subprocess.DEVNULL,
                               env={**os.environ, **UCX_SETTINGS}).returncode
    return Configuration("ranks over UCX", "ranks",
                         {"QUERN_TEST_DEVICE": "cpu", "QUERN_TEST_WAYS": "ucx", "QUERN_TEST_SCALE": "small", **UCX_SETTINGS},
                         "" if found else "there is no libucp.so.0: install libucx0", programs=LIGHT,
                         only=CARRIED | {"test_hosts_ucx"})


# The only generation in `--quick`.  The suites that need only one generation also run on it.  It has all features: clusters, bulk
# copies and asynchronous copies.
FIRST_EMULATED = first_with("clusters").name


# The suites of GPU ranks.
PEERLESS = frozenset({"test_barrier_cuda", "test_ragged_cuda", "test_ragged_faults_cuda", "test_idle_cuda", "test_collective_cuda",
                      "test_collective_faults_cuda", "test_chunks_cuda", "test_chunks_faults_cuda", "test_collective_mistakes",
                      "test_ragged_mistakes", "test_chunks_mistakes"})


def emulated_configurations() -> list[Configuration]:
    """Each with approximations that err in its own way."""
    return [
        Configuration(
            f"emulated {target} on {capability}", "emulated",
            {"QUERN_TEST_DEVICE": "cuda", "QUERN_TEST_TARGET": target, "QUERN_TEST_DEVICES": "2",
             "QUERN_TEST_SCALE": "small", "QUERN_EMULATOR": f"{capability},{capability}", "QUERN_EMULATOR_ORDER": order,
             "QUERN_EMULATOR_APPROXIMATE": str(seed), "QUERN_EMULATOR_FRONT": str(int(order == "reverse")),
             "QUERN_EMULATOR_SHARED_KB": str(GPU_TARGETS[target].shared_bytes // 1024), "LD_LIBRARY_PATH": str(EMULATOR),
             ONCE: str(int(target == FIRST_EMULATED))},
            "" if has_nvcc() else NO_NVCC,
            is_first=target == FIRST_EMULATED,
            targets=(*DRIVER, f"build/emulator/{target}.so"))
        for seed, (capability, target, order) in enumerate(emulated_devices(), 1)
    ]


def peerless_configuration() -> Configuration:
    """GPUs that cannot access each other's memory: their ranks go by pinned host memory, which the GPUs see at other addresses."""
    first = next(each for each in emulated_configurations() if each.is_first)
    return Configuration(
        f"{first.name}, without peers", "emulated",
        {**first.environment, PEERS: "none", ONCE: "0", "QUERN_EMULATOR_HOST_POINTERS": "other", "QUERN_EMULATOR_WAITS": "1"},
        first.unavailable, targets=first.targets, only=PEERLESS)


# ---- with sanitizers ------------------------------------------------------------------------------


def instrumented(configurations: list[Configuration]) -> list[Configuration]:
    """The same devices, with AddressSanitizer and UndefinedBehaviorSanitizer in the host library and in the kernels of CPUs.

    The kernels of emulated GPUs are not instrumented: the emulator looks at their accesses itself.  So the first emulated device is
    enough, and the one without peers.  Suites without an operation test the host code: they run on one device of each kind.
    """
    every = [suite for suite in suites.read_suites() if suite.sanitized]
    # Of an allocation five callers are kept: all 30 take a twentieth of the time of suites that allocate much.
    sanitizer = {"QUERN_TEST_SCALE": "small", "UBSAN_OPTIONS": "print_stacktrace=1",
                 "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0:malloc_context_size=5"}
    made = []
    for plain in configurations:
        only = [suite for suite in every
                if (suite.operations or plain.is_first) and (plain.only is None or suite.name in plain.only)]
        if plain.kind == "emulated" and not plain.is_first and plain.only is None:
            continue
        if any(plain.kind in suite.kinds for suite in only):
            made.append(Configuration(
                f"sanitized {plain.name}", plain.kind, {**plain.environment, **sanitizer}, plain.unavailable, plain.is_first,
                instrumented_programs(plain), plain.targets, frozenset(suite.name for suite in only), counts=True))
    return made


def instrumented_programs(plain: Configuration) -> str:
    """Each CPU target has programs of its own, in which only its kernels are instrumented."""
    if plain.programs != LIGHT:
        return "build/address/tests"
    return f"build/address/{plain.environment.get('QUERN_TEST_TARGET') or best_cpu_target()}/tests"


def best_cpu_target() -> str:
    return next(each for each in cpu_configurations() if each.is_first).environment["QUERN_TEST_TARGET"]


# ---- with musl ------------------------------------------------------------------------------------


def with_musl(configurations: list[Configuration]) -> list[Configuration]:
    """The best CPU target and the ranks, built for musl.  The size and the suites are those with sanitizers."""
    only = frozenset(suite.name for suite in suites.read_suites() if suite.sanitized)
    return [Configuration(f"musl {plain.name}", plain.kind, {**plain.environment, "QUERN_TEST_SCALE": "small"},
                          programs="build/musl/tests", only=only)
            for plain in configurations if plain.is_first and not plain.unavailable]


# ---- for another CPU ------------------------------------------------------------------------------

CROSS_ROOT = Path("/usr/aarch64-linux-gnu")   # of Debian's cross compiler
# Tests of what QEMU does not pass on: /proc/cpuinfo, mounts, process_vm_readv, without which ranks of processes copy twice, and
# memory that children do not inherit, so that one keeps its parent's lock.
NOT_IN_QEMU = ("cpu_cache/*", *(f"collective/{name}" for name in (
    "peers_memory_out_of_sight", "private_memory_of_processes_is_read", "processes_that_may_not_be_read",
    "memory_that_cannot_be_read_is_an_error_of_all", "a_process_whose_first_thread_has_ended")),
    "liveness/a_child_does_not_keep_its_parent_alive", "liveness/a_child_of_the_system_call_does_not_either",
    "transfer/moves_while_the_sender_computes")
# Does not end within a minute in QEMU.
TOO_LONG_IN_QEMU = frozenset({"test_transfer_progress"})


def lacks_aarch64() -> str:
    """Why programs for aarch64 cannot be built or run here."""
    if this_host() == "aarch64":
        return ""
    needed = {"aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu", "qemu-aarch64-static": "qemu-user-static"}
    lacking = [package for tool, package in needed.items() if not shutil.which(tool)]
    return f"install {' and '.join(lacking)}" if lacking else ""


def aarch64_runner() -> tuple[str, ...]:
    """What runs its programs; nothing on a machine of aarch64.  QEMU orders memory as this machine does."""
    return ("qemu-aarch64-static", "-L", str(CROSS_ROOT)) if this_host() != "aarch64" else ()


def aarch64_configurations() -> list[Configuration]:
    """The oracles, each CPU target of aarch64, the lesser ones with the suites of kernels, and ranks: all but what takes long."""
    runner, unavailable = aarch64_runner(), lacks_aarch64()
    left_out = suites.LARGE | (TOO_LONG_IN_QEMU if runner else set())
    every = [suite for suite in suites.read_suites() if suite.name not in left_out]
    plain = [Configuration(f"cpu {target.name}", "cpu", cpu_environment(target.name, f"*__{target.name}"), is_first=not place)
             for place, target in enumerate(cpu_targets("aarch64"))]
    return [replace(each, name=f"aarch64 {each.name}", environment={**each.environment, "QUERN_TEST_SCALE": "small"},
                    unavailable=unavailable, programs="build/aarch64/tests", runner=runner,
                    only=frozenset(suite.name for suite in every if each.is_first or suite.operations),
                    leaves_out=NOT_IN_QEMU if runner else ())
            for each in [Configuration("oracle", "oracle"), *plain, rank_configuration()]]


# ---- real GPUs and broken drivers -----------------------------------------------------------------


@dataclass(frozen=True)
class Driver:
    """libcuda.so.1 of this machine, and its GPUs."""

    fault: str = ""                 # why there are none
    version: int = 0                # 12040 for CUDA 12.4
    gpus: tuple[tuple[int, str], ...] = ()   # the compute capability and the name of each
    is_exclusive: bool = False      # one of them serves one process at a time


COMPUTE_MODE, PROHIBITED, EXCLUSIVE_PROCESS = 20, 2, 3    # CU_DEVICE_ATTRIBUTE_COMPUTE_MODE and its values


def remedy(code: int) -> str:
    """What the library says of an error of cuInit."""
    rows = re.findall(r'^    {(\d+), "(.*)"},$', (ROOT / "src/runtime/cuda_driver.c").read_text(), re.MULTILINE)
    return dict(rows).get(str(code), "no remedy is known")


@cache
def real_driver() -> Driver:
    def attribute(number: int, ordinal: int) -> int:
        value = ctypes.c_int()
        cuda.cuDeviceGetAttribute(ctypes.byref(value), number, ordinal)
        return value.value

    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as why:
        return Driver(f"the CUDA driver cannot be opened: {why}")
    version, count, gpus = ctypes.c_int(), ctypes.c_int(), []
    cuda.cuDriverGetVersion(ctypes.byref(version))
    if code := cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return Driver(f"cuInit gives {code}: {remedy(code)}", version.value)
    for ordinal in range(count.value):
        name = ctypes.create_string_buffer(96)
        cuda.cuDeviceGetName(name, 96, ordinal)
        gpus.append((10 * attribute(75, ordinal) + attribute(76, ordinal), name.value.decode()))
    modes = [attribute(COMPUTE_MODE, ordinal) for ordinal in range(count.value)]
    if PROHIBITED in modes:
        return Driver(f"GPU {modes.index(PROHIBITED)} serves no process: its compute mode is prohibited (nvidia-smi -c DEFAULT)")
    return Driver("" if gpus else remedy(100), version.value, tuple(gpus), EXCLUSIVE_PROCESS in modes)


def gpu_configurations() -> list[Configuration]:
    driver = real_driver()
    if driver.fault:
        return [Configuration("gpu", "gpu", unavailable=driver.fault)]
    capability, name = driver.gpus[0]
    target = next((t.name for t in GPU_TARGETS.values() if t.in_library and t.cc_min <= capability <= t.cc_max), "none")
    alike = [ordinal for ordinal, gpu in enumerate(driver.gpus) if gpu[0] == capability]   # suites have one target
    environment = {"QUERN_TEST_DEVICE": "cuda", "QUERN_TEST_TARGET": target, "QUERN_TEST_DEVICES": str(len(alike))}
    if len(alike) < len(driver.gpus):
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(visible[each] if len(visible) > 1 else str(each) for each in alike)
    return [Configuration(f"gpu {name}", "gpu", environment)]


def driver_configurations(garbage: Path) -> list[Configuration]:
    (garbage / "libcuda.so.1").write_text("This is no library.\n")
    configurations = []
    for driver, environment in DRIVERS.items():
        unavailable = "this machine has a driver" if driver == "absent" and real_driver().gpus else ""
        if driver == "behind" and not has_nvcc():
            unavailable = NO_NVCC
        filled = {name: value.format(garbage=garbage) for name, value in environment.items()}
        filled.update(QUERN_TEST_DEVICE="cpu", QUERN_TEST_DRIVER=driver)
        configurations.append(Configuration(f"driver {driver}", "driver", filled, unavailable, targets=DRIVER))
    return configurations


def all_configurations(garbage: Path) -> list[Configuration]:
    oracle, cpu, ranks = Configuration("oracle", "oracle", programs=LIGHT), cpu_configurations(), rank_configuration()
    carried = carrier_configurations()
    drivers, emulated = driver_configurations(garbage), [*emulated_configurations(), peerless_configuration()]
    return [
        oracle,
        *cpu,
        *lesser_cpu_configurations(),
        ranks,
        *carried,
        progress_configuration(),
        ucx_configuration(),
        *drivers,
        *emulated,
        *instrumented([*cpu, ranks, carried[0], *drivers, *emulated]),
        *with_musl([*cpu, ranks]),
        *aarch64_configurations(),
        *gpu_configurations(),
    ]
