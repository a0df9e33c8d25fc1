"""Builds for aarch64 what is no suite: a library with GPU images, and the demo.  Runs them, in QEMU unless this is such a CPU.

The images are those of this build.  No GPU runs them: a test compares their bytes.  The demo multiplies by aarch64_blas.c, on each
host.  Called by tests/run.py.  The last line is `N passed, N failed`.
"""

from __future__ import annotations

import functools
import os
import sys
import tempfile
from pathlib import Path

import cases
import selection
from cases import check, expect, expect_in, output_of

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tests"))
from gen import images, plan  # noqa: E402
from gen.host import compiler  # noqa: E402
from gen.spec import GPU_TARGETS  # noqa: E402
from gen.toolchain import find_nvcc  # noqa: E402
from runner.devices import aarch64_runner, lacks_aarch64, real_driver  # noqa: E402
from runner.targets import first_with  # noqa: E402

FOLDER = "build/selection_aarch64"
GPU = first_with("clusters").name
CC = compiler("aarch64")
OF_THIS_CPU = "build/demo/portable/language_model"
FEW = ("--corpus=build/corpus.txt", "--steps=6", "--vocab=300", "--context=16", "--batch=2", "--width=32", "--layers=1",
       "--device=cpu", "--threads=1")
TOLERANCE = 1e-4   # of losses near 5.7, which fall by 0.1: only Adam promises the same bits on all targets
PAGE = 0x10000     # bytes, the largest of Linux on aarch64


@functools.cache
def library() -> str:
    """The folder of a library for aarch64 with the kernels of one GPU generation, if there is nvcc."""
    targets = f"neon,{GPU}" if find_nvcc() else "neon"
    output_of(sys.executable, "-m", "gen.selection", "build", "--host", "aarch64", "--targets", targets, "--folder", FOLDER)
    return FOLDER


def run(program: str | Path, *options: str, **environment: str) -> str:
    runner = aarch64_runner() or ("env",)
    variables = [f"{name}={value}" for name, value in environment.items()]
    return output_of(*runner, *(["-E", ",".join(variables)] if aarch64_runner() else variables), str(program), *options)


def test_a_library_has_the_gpu_images_of_this_build() -> None:
    if not find_nvcc():
        return
    with tempfile.TemporaryDirectory() as name:
        program = selection.engine(Path(name), library(), CC)
        said, engine = run(program, QUERN_LOG="3"), program.read_bytes()
    expect_in(f"targets: {GPU} neon\n", said)
    kernel, others = "adam_pf32_gf32_mf32_vf32", len(plan.kernels("adam", [GPU_TARGETS[GPU]])) - 1
    expect_in(f"{kernel}__{GPU} and {others} more of {GPU}: runs on a CUDA device", said)
    expect_in(f"{kernel}__neon: chosen", said)
    shared = (ROOT / library() / "libquern.so").read_bytes()
    for path in (images.path("build", GPU, operation) for operation in plan.OPERATIONS):
        packed = (ROOT / path).read_bytes()
        check(packed in engine and packed in shared, f"the library lacks {path}")


def test_a_shared_library_can_be_loaded_where_pages_are_large() -> None:
    lines = output_of("readelf", "-lW", f"{library()}/libquern.so").splitlines()
    aligned = [int(line.split()[-1], 16) for line in lines if line.split()[:1] == ["LOAD"]]
    check(bool(aligned) and min(aligned) >= PAGE, f"the segments are aligned to {aligned}: expected {PAGE}")


def blas(folder: Path, cc: list[str]) -> str:
    """The folder of a BLAS by its first name of demo/blas.c."""
    folder.mkdir()
    output_of(*cc, "-std=c11", "-O2", "-shared", "-fPIC", "tests/checks/aarch64_blas.c", "-o", str(folder / "libopenblas.so.0"))
    return str(folder)


def test_the_demo_trains_as_on_another_host() -> None:
    of_aarch64 = [f"build/aarch64/demo/{name}/language_model" for name in ("neon", "portable")]
    output_of("ninja", *of_aarch64, OF_THIS_CPU, "build/corpus.txt")
    output_of("ninja", "-f", f"{library()}/build.ninja", f"{FOLDER}/language_model")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, curves = blas(folder / "aarch64", CC), []
        for number, program in enumerate([*of_aarch64, f"{FOLDER}/language_model"]):
            expect_in("loss, text held out", run(program, *FEW, f"--curve={folder}/{number}", LD_LIBRARY_PATH=path))
            curves.append((folder / str(number)).read_text())
        output_of(OF_THIS_CPU, *FEW, f"--curve={folder}/here", LD_LIBRARY_PATH=blas(folder / "x86_64", selection.CC))
        here = (folder / "here").read_text()
    expect(curves[2], curves[0])   # of one archive or another, by the same kernels
    losses = [[float(loss) for loss in text.split()] for text in (here, *curves)]
    for other in losses[1:]:
        check(len(other) == len(losses[0]) > 0 and all(abs(a - b) <= TOLERANCE for a, b in zip(losses[0], other)), f"{losses}")


def test_a_machine_of_aarch64_builds_its_own_demo() -> None:
    """By a uname that names one, and another program in ninja's place."""
    if real_driver().gpus:
        return   # the demo then has the whole library
    with tempfile.TemporaryDirectory() as name:
        for tool, text in (("uname", "echo aarch64"), ("ninja", '[ "$1" = --version ] || { echo "ninja $*" && exit 99; }')):
            (Path(name) / tool).write_text(f"#!/bin/sh\n{text}\n")
            (Path(name) / tool).chmod(0o755)
        said = output_of("./quern", "demo", "--device", "cpu", status=99, PATH=f"{name}:{os.environ['PATH']}",
                         QUERN_CC_AARCH64=" ".join(CC))
    expect_in("ninja -f build.ninja build/aarch64/demo/neon/language_model build/corpus.txt\n", said)


if __name__ == "__main__":
    if reason := lacks_aarch64():
        print(f"{reason}\n0 passed, 0 failed, 1 skipped")
        sys.exit(0)
    sys.exit(cases.run(globals()))
