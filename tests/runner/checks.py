"""The checks beside the suites: commands that report failure by their exit status.

A check may end with its own line `N passed, N failed`.  Called by tests/run.py.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from runner.devices import DRIVER, best_cpu_target
from runner.targets import GPU_TARGETS, first_with, serving
from runner.texts import owners

PYTHON = sys.executable
LIBRARY = ("libquern.a",)
LIBRARIES = (*LIBRARY, "libquern.so")
PROGRAMS = ("examples", "build/language_model")


def emulated(*targets: str) -> tuple[str, ...]:
    return (*DRIVER, *(f"build/emulator/{target}.so" for target in targets))


@dataclass(frozen=True)
class Check:
    name: str
    command: tuple[str, ...]
    targets: tuple[str, ...] = ()  # of ninja
    with_nvcc: bool = False        # skipped in a build without nvcc
    quick: bool = False            # takes seconds: part of --quick
    runs_ninja: bool = False       # in this tree: one such check at a time
    with_nvdisasm: bool = False    # skipped without the disassembler of machine code
    with_counts: bool = False      # reads what the sanitized suites have left

    @property
    def is_last(self) -> bool:
        """Whether it runs after all others."""
        return self.with_counts


# A device of the generation that is built only as a pack.
PACKED = next(target.emulated for target in GPU_TARGETS.values() if not target.in_library)

CHECKS = (
    Check("generated files", (PYTHON, "-m", "gen", "check"), quick=True),
    Check("mutants", (PYTHON, "tests/checks/mutants.py", "--check"), quick=True),
    Check("generator", (PYTHON, "tests/checks/generator.py"), quick=True),
    Check("static audit", (PYTHON, "-m", "gen", "audit", "--check"), LIBRARY, with_nvcc=True, quick=True),
    Check("rooms", (PYTHON, "tests/checks/rooms.py"), quick=True),
    Check("documentation", (PYTHON, "tests/checks/docs.py"), quick=True),
    Check("usage", ("sh", "tests/checks/usage.sh"), quick=True),
    Check("header", (PYTHON, "tests/checks/header.py"), quick=True),
    Check("archive", (PYTHON, "tests/checks/abi.py", "archive"), LIBRARY, quick=True),
    Check("visibility", (PYTHON, "tests/checks/abi.py", "visibility"), LIBRARIES, quick=True),
    Check("selection", (PYTHON, "tests/checks/selection.py"), LIBRARY, quick=True, runs_ninja=True),
    Check("images", (PYTHON, "tests/checks/images.py"), (*LIBRARY, *emulated(first_with("clusters").name)), with_nvcc=True,
          runs_ninja=True),
    Check("nccl", (PYTHON, "tests/checks/nccl.py"), quick=True),
    Check("ucx", (PYTHON, "tests/checks/ucx.py"), quick=True),
    Check("breaks of ucx", (PYTHON, "tests/checks/ucx.py", "--self-test"), quick=True),
    Check("breaks of nccl", (PYTHON, "tests/checks/nccl.py", "--self-test"), quick=True),
    Check("sizes", (PYTHON, "-m", "gen", "sizes", "--check"), LIBRARY, with_nvcc=True, quick=True),
    Check("consumers", ("sh", "tests/consumers/run.sh"), LIBRARIES, quick=True, runs_ninja=True),
    Check("mpi", ("sh", "tests/mpi/run.sh"), LIBRARY),
    Check("two engines", (PYTHON, "tests/consumers/two_engines.py"), LIBRARIES, quick=True, runs_ninja=True),
    Check("scale", (PYTHON, "tests/checks/scale.py"), ("build/tests/traffic/group",)),
    Check("bytes of the benchmarks", (PYTHON, "bench/run.py", "--self-test"), ("bench",), quick=True),
    Check("counter", (PYTHON, "tests/checks/counter.py"), quick=True),
    Check("issue slots", (PYTHON, "bench/run.py", "--count", "--check"), (*LIBRARY, "bench-count"), with_nvcc=True,
          with_nvdisasm=True),
    Check("gpu command", (PYTHON, "tests/checks/gpu.py"),
          (*LIBRARY, "build/tests/test_adam_published", "bench", *emulated(first_with("clusters").name)), with_nvcc=True,
          runs_ninja=True),
    Check("examples", ("sh", "tests/checks/examples.sh"), (*PROGRAMS, *emulated(first_with("clusters").name))),
    Check("tensor parallelism", (PYTHON, "tests/checks/tensor_parallel.py"),
          (*PROGRAMS, *emulated(first_with("clusters").name))),
    Check("looking inside", (PYTHON, "tests/checks/look.py"), PROGRAMS),
    Check("fuzzing", (PYTHON, "tests/fuzz/run.py"), (f"build/address/{best_cpu_target()}/fuzz",)),
    Check("convergence", (PYTHON, "bench/convergence.py", "--check"), PROGRAMS),
    Check("emulator", ("env", f"DRIVER={DRIVER[0]}", "sh", "tests/emulator/self_test/build.sh", "build/emulator-self-test"), DRIVER,
          with_nvcc=True),
    Check("kernel pack", (PYTHON, "tests/checks/pack/run.py"), ("build/tests/test_pack", *emulated(serving(PACKED))),
          with_nvcc=True),
    Check("data races", (PYTHON, "tests/race/run.py"), ("build/tests/race", "emulator-thread", *emulated(*owners("cross_entropy"))),
          with_nvcc=True),
    Check("data races of Adam", (PYTHON, "tests/race/adam.py"), ("build/tests/race_adam", *emulated(*owners("adam"))),
          with_nvcc=True),
    Check("coverage", (PYTHON, "tests/checks/coverage.py"), (), with_counts=True),
    Check("unloading", ("build/tests/unloading/host",), ("build/tests/unloading/host",)),
    Check("protocol models", (PYTHON, "tests/model/run.py")),
    Check("data races of ranks", (PYTHON, "tests/race/ranks.py"), ("build/tests/race_ranks", "build/tests/race_idle")),
    Check("data races of looking", ("env", "TSAN_OPTIONS=halt_on_error=1 exitcode=66", "QUERN_KERNEL=*__portable",
                                    "build/tests/race_look"), ("build/tests/race_look",)),
    Check("data races of GPU ranks", (PYTHON, "tests/race/gpu_ranks.py"), ("build/tests/race_gpu_ranks", *DRIVER), with_nvcc=True),
    Check("faults of ranks", ("build/tests/faults/faults",), ("build/tests/faults/faults",)),
    Check("faults of hosts", ("build/tests/faults/faults", "hosts", "0", "60"), ("build/tests/faults/faults",)),
    Check("faults of hosts over a carrier",
          ("env", "QUERN_TEST_CARRIER=borrows", "build/tests/faults/faults", "hosts", "0", "40"), ("build/tests/faults/faults",)),
    Check("races of ranks", ("build/tests/faults/races",), ("build/tests/faults/races",), quick=True),
    Check("points of ranks", ("build/tests/faults/pairs",), ("build/tests/faults/pairs",)),
    Check("points of carriers", ("build/tests/faults/carriers",), ("build/tests/faults/carriers",)),
    Check("points of transfers", ("build/tests/faults/transfers",), ("build/tests/faults/transfers",)),
    Check("points of windows", ("env", "LD_LIBRARY_PATH=build/emulator", "build/tests/faults/windows"),
          ("build/tests/faults/windows", *emulated(first_with("clusters").name))),
    Check("points of reductions", ("env", "LD_LIBRARY_PATH=build/emulator", "build/tests/faults/reductions"),
          ("build/tests/faults/reductions", *emulated(first_with("clusters").name))),
    Check("data races at points", ("env", "TSAN_OPTIONS=halt_on_error=1 exitcode=66", "QUERN_KERNEL=*__portable",
                                   "build/tests/faults/pairs_thread", "2 threads"), ("build/tests/faults/pairs_thread",)),
    Check("meeting place of ranks", ("build/tests/faults/meeting_place",), ("build/tests/faults/meeting_place",)),
    Check("faults of ranks that shrink", ("build/tests/faults/shrinks",), ("build/tests/faults/shrinks",)),
    Check("strangers in the memory of ranks", ("build/tests/faults/scribbles",), ("build/tests/faults/scribbles",)),
    Check("symmetric memory of ranks", ("env", "LD_LIBRARY_PATH=build/emulator", "build/tests/faults/symmetric_processes"),
          ("build/tests/faults/symmetric_processes", *emulated(first_with("clusters").name))),
)
