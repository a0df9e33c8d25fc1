"""Builds archives with chosen targets and operations (gen/selection.py); checks their symbols, their messages and their size.

Takes the objects of the tree's own build, which must stay current.  Called by tests/run.py.  The last line is `N passed, N failed`.
"""

import os
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import cases
from cases import expect, expect_in, output_of

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tests"))
from gen import api, plan  # noqa: E402
from gen.spec import ARCHITECTURES, GPU_TARGETS  # noqa: E402
from gen.toolchain import find_nvcc  # noqa: E402
from runner.targets import first_with  # noqa: E402

FOLDER = "build/selection"
LARGEST_ENGINE = 3_050_000  # bytes of a stripped engine with all operations for one CPU and one GPU generation
TARGETS = [target.name for target in plan.targets(architecture=ARCHITECTURES[0])]
GPU = first_with("clusters").name
WHOLE = "; `./quern build` makes a library with all kernels"
CC = shlex.split(os.environ.get("CC", "cc"))


def select(*options: str, status: int = 0) -> str:
    return output_of(sys.executable, "-m", "gen.selection", "build", *options, "--folder", FOLDER, status=status)


def engine(folder: Path, library: str = FOLDER, cc: Sequence[str] = CC) -> Path:
    """A stripped program that refers to every function."""
    (folder / "functions.h").write_text("".join(f"FUNCTION({name})\n" for name in api.functions()))
    program = folder / "engine"
    output_of(*cc, "-std=c11", "-O2", "-s", "-I", "include", "-I", str(folder), "tests/checks/selection.c", f"{library}/libquern.a",
              "-lm", "-ldl", "-pthread", "-o", str(program))
    return program


def facts() -> tuple[dict[str, str], int]:
    """What the engine prints, and its bytes."""
    with tempfile.TemporaryDirectory() as name:
        program = engine(Path(name))
        size = program.stat().st_size
        said = output_of(str(program))
    return dict(line.split(": ", 1) for line in said.splitlines() if ": " in line), size


def targets_in_archive() -> set[str]:
    """The targets whose kernels or images the archive defines."""
    return set(re.findall(rf"__({'|'.join(TARGETS)})\b", output_of("nm", "--defined-only", f"{FOLDER}/libquern.a")))


def test_wrong_names_are_listed() -> None:
    expect_in(f"there is no target 'avx513'; there are {', '.join(TARGETS)}", select("--targets", "avx2,avx513", status=2))
    expect_in(f"there is no operation 'adm'; there are {', '.join(plan.OPERATIONS)}", select("--operations", "adm", status=2))
    expect_in("no target is named", select("--targets", ",", status=2))


def test_one_cpu_and_one_gpu_generation_are_small() -> None:
    if not find_nvcc():
        return
    select("--targets", f"avx512,{GPU}")
    expect(targets_in_archive(), {"avx512", GPU})
    said, size = facts()
    expect(said["targets"], f"{GPU} avx512")
    expect(said["operations"], " ".join(plan.OPERATIONS))
    if size > LARGEST_ENGINE:
        raise AssertionError(f"a stripped engine has {size:,} bytes: expected at most {LARGEST_ENGINE:,}")


def test_targets_that_were_not_chosen_are_named() -> None:
    if not find_nvcc():
        return
    select("--targets", GPU)
    said, _ = facts()
    expect(said["prepare adam"], f"QUERN_NO_KERNEL: no target of this build of the library serves cpu: it has {GPU}{WHOLE}")


def test_operations_that_were_not_chosen_are_named() -> None:
    select("--targets", "portable", "--operations", "cross_entropy,barrier")
    expect(targets_in_archive(), {"portable"})
    said, _ = facts()
    expect((said["targets"], said["operations"]), ("portable", "cross_entropy barrier"))
    missing = "QUERN_NO_KERNEL: adam is not in this build of the library, which has cross_entropy barrier" + WHOLE
    expect((said["prepare adam"], said["call adam"]), (missing, missing))
    for call in ("prepare cross_entropy", "call cross_entropy", "prepare barrier"):
        expect(said[call], "QUERN_OK: ")


def test_a_pack_has_the_chosen_operations_and_shows_its_progress() -> None:
    if not find_nvcc():
        return
    with tempfile.TemporaryDirectory() as name:
        said = output_of(sys.executable, "-m", "gen", "pack", GPU, "--operations", "barrier", "-o", f"{name}/one.qpack")
        kernels = sum(len(unit.kernels) for unit in plan.units("barrier", [GPU_TARGETS[GPU]]))
        expect_in("[1/1] barrier.fatbin", said)
        expect_in(f"{kernels} kernels for {GPU}", said)
        expect([path.name for path in Path(name).iterdir()], ["one.qpack"])


def test_the_tree_stays_current() -> None:
    expect_in("no work to do", output_of("ninja", "-n", "build/light/libquern.a"))


if __name__ == "__main__":
    sys.exit(cases.run(globals()))
