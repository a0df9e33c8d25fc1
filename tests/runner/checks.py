"""The checks beside the suites: commands that report failure by their exit status.

A check may end with its own line `N passed, N failed`.  Called by tests/run.py.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from runner import archives
from runner.addresses import fixed_addresses
from runner.devices import DRIVER, ROOT, best_cpu_target
from runner.targets import first_with
from runner.texts import OPERATIONS, owners

PYTHON = sys.executable
FIRST = first_with("clusters").name


@dataclass(frozen=True)
class Place:
    """The folders of the library and of the programs linked with it: those of the whole build, or of an archive of archives.py."""

    library: str = "."
    faults: str = "build/tests/faults"
    programs: str = "build"
    emulator: str = "build/emulator"

    @staticmethod
    def of(folder: str) -> Place:
        return Place(folder, folder, folder, f"{folder}/emulator")


def emulated(*targets: str) -> tuple[str, ...]:
    return (*DRIVER, *(f"build/emulator/{target}.so" for target in targets))


LIBRARY = ("{library}/libquern.a",)
LIBRARIES = (*LIBRARY, "{library}/libquern.so")
EXAMPLES = tuple(f"{{programs}}/examples/{path.stem}" for path in sorted((ROOT / "examples").glob("*.c")))
PROGRAMS = (*EXAMPLES, "{programs}/language_model")
TEXT = "build/corpus.txt"  # of the demo
EMULATED = emulated(FIRST)
ON_EMULATOR = ("env", "LD_LIBRARY_PATH=build/emulator", "QUERN_EMULATOR_KERNELS=build/emulator:{emulator}")
# An older GPU, whose barrier a check also needs: archives.py.
OLDER = f"{{emulator}}/{archives.OLDER}.so"
FAULTS, POINTS = "build/tests/faults/faults", "build/tests/faults/points"
RACE_KERNELS, RACE_THREADS = "build/tests/race_kernels", "build/tests/race_threads"
MEMORY_MODEL = ("build/memory_model/litmus", "build/memory_model/protocols")
FUZZER = f"build/address/{best_cpu_target()}/fuzz"
SILENT = (*fixed_addresses(), "env", "TSAN_OPTIONS=halt_on_error=1 exitcode=66", "QUERN_KERNEL=*__portable")


@dataclass(frozen=True)
class Check:
    """In commands and targets the names of a Place are its folders, {number} is the commit's, and
    {eighth} one of 1 to 8."""

    name: str
    command: tuple[str, ...]
    targets: tuple[str, ...] = ()  # of ninja
    gate: tuple[str, ...] | None = ()   # what the gate runs: (): the same, None: nothing
    deep_only: bool = False        # needs the whole library, or all counts: in no part of the gates
    with_nvcc: bool = False        # skipped in a build without nvcc
    quick: bool = False            # takes seconds: part of --quick
    runs_ninja: bool = False       # in this tree: one such check at a time
    with_nvdisasm: bool = False    # skipped without the disassembler of machine code
    with_counts: bool = False      # reads what the sanitized suites have left
    by_chance: bool = False        # what it meets differs from run to run

    @property
    def is_last(self) -> bool:
        """Whether it runs after all others."""
        return self.with_counts

    def filled(self, words: tuple[str, ...], place: Place, number: int) -> tuple[str, ...]:
        return tuple(word.format(**vars(place), number=number, eighth=number % 8 + 1) if "{" in word else word for word in words)


CHECKS = (
    Check("generated files", (PYTHON, "-m", "gen", "check"), quick=True),
    Check("mutants", (PYTHON, "tests/checks/mutants.py", "--check"), quick=True),
    Check("jobs of a change", (PYTHON, "tests/checks/executes.py"), quick=True),
    Check("receipts", (PYTHON, "tests/checks/receipts.py"), quick=True),
    Check("generator", (PYTHON, "tests/checks/generator.py"),
          ("build/tests/harness.a", "build/light/tables.a", "build/light/kernels.a", DRIVER[0]), quick=True),
    Check("static audit", (PYTHON, "-m", "gen", "audit", "--check", "--all"),
          gate=(PYTHON, "-m", "gen", "audit", "--check"), quick=True),
    Check("style", (PYTHON, "tests/checks/style.py"), quick=True),
    Check("rooms", (PYTHON, "tests/checks/rooms.py"), quick=True),
    Check("documentation", (PYTHON, "tests/checks/docs.py"), quick=True),
    Check("usage", ("sh", "tests/checks/usage.sh"), quick=True),
    Check("header", (PYTHON, "tests/checks/header.py"), quick=True),
    Check("archive", (PYTHON, "tests/checks/abi.py", "archive"), LIBRARY, quick=True),
    Check("visibility", (PYTHON, "tests/checks/abi.py", "visibility"), LIBRARIES, quick=True),
    Check("selection", (PYTHON, "tests/checks/selection.py"), ("build/light/libquern.a",), quick=True, runs_ninja=True),
    Check("kernels with musl", ("test", "-d", "build/musl/portable"), ("musl_kernels",), deep_only=True),
    Check("aarch64", (PYTHON, "tests/checks/aarch64.py"), gate=None, runs_ninja=True),
    Check("distribution", (PYTHON, "tests/checks/dist.py"), quick=True),
    Check("install", (PYTHON, "tests/checks/install.py"), ("build/light/libquern.a",), quick=True, runs_ninja=True),
    Check("packages", (PYTHON, "tests/checks/packages.py"), ("build/light/libquern.a",), quick=True, runs_ninja=True),
    Check("images", (PYTHON, "tests/checks/images.py", "--all"), gate=(PYTHON, "tests/checks/images.py"), runs_ninja=True),
    Check("nccl", (PYTHON, "tests/checks/foreign.py", "nccl"), quick=True),
    Check("ucx", (PYTHON, "tests/checks/foreign.py", "ucx"), quick=True),
    Check("breaks of ucx", (PYTHON, "tests/checks/foreign.py", "ucx", "--self-test"), quick=True),
    Check("breaks of nccl", (PYTHON, "tests/checks/foreign.py", "nccl", "--self-test"), quick=True),
    Check("sizes", (PYTHON, "-m", "gen", "sizes", "--check", "--all"),
          ("build/host.a", *(f"build/{name}/{name}_table.o" for name in OPERATIONS)),
          gate=(PYTHON, "-m", "gen", "sizes", "--check"), quick=True),
    Check("consumers", ("sh", "tests/consumers/run.sh"), LIBRARIES, quick=True, runs_ninja=True),
    Check("python package", (PYTHON, "tests/python/run.py", *LIBRARY), (*LIBRARY, *EMULATED), quick=True),
    Check("python frameworks", (PYTHON, "tests/python/run.py", *LIBRARY, "--frameworks"), (*LIBRARY, *EMULATED),
          deep_only=True),
    Check("mpi", ("sh", "tests/mpi/run.sh"), LIBRARY, gate=None),
    Check("two engines", (PYTHON, "tests/consumers/two_engines.py"), LIBRARIES, quick=True, runs_ninja=True),
    Check("bytes of the benchmarks", (PYTHON, "bench/run.py", "--self-test"), ("bench",), deep_only=True),
    Check("counter", (PYTHON, "tests/checks/counter.py"), quick=True),
    Check("issue slots", (PYTHON, "bench/run.py", "--count", "--check", "--all"), ("bench-count",), with_nvdisasm=True,
          gate=(PYTHON, "bench/run.py", "--count", "--check")),
    Check("gpu command", (PYTHON, "tests/checks/gpu.py"), ("libquern.a", "build/tests/test_adam_published", "bench", *EMULATED),
          with_nvcc=True, runs_ninja=True, deep_only=True),
    Check("first contact", (PYTHON, "tests/checks/first_contact.py"), DRIVER[:1], quick=True),
    Check("examples", ("sh", "tests/checks/examples.sh"), (*PROGRAMS, *EMULATED),
          gate=("sh", "tests/checks/examples.sh", "{number}")),
    Check("tensor parallelism", (PYTHON, "tests/checks/tensor_parallel.py"), (*PROGRAMS, TEXT, *EMULATED), gate=None),
    Check("looking inside", (PYTHON, "tests/checks/look.py"), (*PROGRAMS, TEXT), gate=None),
    Check("fuzzing", (PYTHON, "tests/fuzz/run.py", "--runs", "50000", "--seed", "{number}"), (FUZZER,), by_chance=True,
          gate=(PYTHON, "tests/fuzz/run.py", "--seed", "{number}")),
    Check("convergence", (PYTHON, "bench/convergence.py", "--check"), PROGRAMS, gate=None),
    Check("emulator", ("env", f"DRIVER={DRIVER[0]}", "sh", "tests/emulator/self_test/build.sh", "build/emulator-self-test"), DRIVER,
          with_nvcc=True, gate=None),
    Check("kernel pack", (PYTHON, "tests/checks/pack/run.py", "--all"), with_nvcc=True, gate=(PYTHON, "tests/checks/pack/run.py")),
    *(Check(name, (PYTHON, "tests/race/kernels.py", *words), (RACE_KERNELS, *targets), with_nvcc=True, deep_only=True,
            by_chance=targets == DRIVER) for name, words, targets in (
                ("data races", ("cross_entropy",), ("emulator-thread", *emulated(*owners("cross_entropy")))),
                ("races that must be found", ("cross_entropy", "--broken"), emulated(*owners("cross_entropy"))),
                ("races of Adam that must be found", ("adam", "--broken"), emulated(*owners("adam"))),
                ("data races of Adam", ("adam",), emulated(*owners("adam"))),
                ("data races of GPU ranks", ("gpu_ranks",), DRIVER),
                ("races of GPU ranks that must be found", ("gpu_ranks", "--broken"), DRIVER))),
    Check("coverage", (PYTHON, "tests/checks/coverage.py"), with_counts=True, deep_only=True),
    Check("unloading", ("build/tests/unloading/host",), ("build/tests/unloading/host",),
          gate=("env", "QUERN_TEST_SCALE=small", "build/tests/unloading/host")),
    Check("protocol models", (PYTHON, "tests/model/run.py", "--all"), gate=(PYTHON, "tests/model/run.py")),
    Check("memory model", (PYTHON, "tests/memory_model/run.py"), MEMORY_MODEL),
    Check("weaker memory orders", (PYTHON, "tests/memory_model/run.py", "--weaken"), MEMORY_MODEL, gate=None),
    Check("data races of ranks", (PYTHON, "tests/race/threads.py"), (RACE_THREADS,), by_chance=True),
    Check("races of ranks that must be found", (PYTHON, "tests/race/threads.py", "--broken"), (RACE_THREADS,), gate=None,
          by_chance=True),
    *(Check(f"faults of {name}", (*environment, FAULTS, *words), (FAULTS,), by_chance=True,
            gate=(*environment, FAULTS, *words, "--part", "{eighth}/8")) for name, environment, words in (
                ("ranks", (), ("ranks",)), ("hosts", (), ("hosts", "0", "60")),
                ("hosts over a carrier", ("env", "QUERN_TEST_CARRIER=borrows"), ("hosts", "0", "40")))),
    Check("races of ranks", (POINTS, "races"), (POINTS,), quick=True, by_chance=True),
    *(Check(f"points of {name}", (POINTS, word, "--deep"), (POINTS,), by_chance=True, gate=(POINTS, word))
      for name, word in (("ranks", "groups"), ("splits", "splits"), ("transfers", "transfers"), ("exchanges", "exchanges"))),
    *(Check(f"points of {word}", (*ON_EMULATOR, "{faults}/gpu_points", word, "--deep"), ("{faults}/gpu_points", *EMULATED),
            by_chance=True, gate=(*ON_EMULATOR, "{faults}/gpu_points", word))
      for word in ("windows", "reductions", "graphs", "fabric")),
    Check("data races at points", (*SILENT, f"{POINTS}_thread", "groups", "2 threads"), (f"{POINTS}_thread",),
          gate=None, by_chance=True),
    Check("meeting place of ranks", (FAULTS, "meeting_place"), (FAULTS,), by_chance=True),
    *(Check(name, (FAULTS, word), (FAULTS,), by_chance=True, gate=(FAULTS, word, "--part", "{eighth}/8"))
      for name, word in (("faults of ranks that shrink", "shrinks"), ("strangers in the memory of ranks", "scribbles"))),
    Check("symmetric memory of ranks", (*ON_EMULATOR, "{faults}/symmetric_processes", "symmetric"),
          ("{faults}/symmetric_processes", OLDER, *EMULATED), by_chance=True),
)
