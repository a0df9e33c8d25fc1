"""Tries `./quern gpu` on strange machines: stand-ins for nvcc's tools, ninja and suites, and the emulator in place of the driver.
Nothing is compiled.  Called by tests/run.py.  The last line is `N passed, N failed`.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import cases
from cases import expect, expect_in

ROOT = Path(__file__).resolve().parents[2]
sys.path[:1] = [str(ROOT / "tests"), str(ROOT), str(ROOT / "bench")]
from gpu import command, machine  # noqa: E402
from runner import devices  # noqa: E402

SUITE = "test_adam_published"
PASSES = 'for word; do case $word in --tap=*) echo "ok - a::b" >"${word#--tap=}" ;; esac; done'
SAYS = 'echo "release, V{}.1"'
BEGAN = "build (ended with status 9)"   # by ninja's stand-in


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def gpu(out: Path, *options: str, status: int = 1, **environment: str) -> str:
    """The command with nvcc 13.0 and without another ptxas, on an emulated Hopper as its own GPU."""
    script(out / "bin/ninja", 'for word; do case $word in --quiet) exit 1 ;; esac; done; exit 9')   # that of Ubuntu 22.04 is 1.10
    given = {"NVCC": str(script(out / "13/nvcc", SAYS.format("13.0"))), "QUERN_PTXAS12": "none", **environment}
    return cases.output_of(sys.executable, "tests/gpu/command.py", "--out", str(out), "--folder", os.path.relpath(out, ROOT),
                           "--suite", SUITE, *options, status=status, LD_LIBRARY_PATH=str(devices.EMULATOR),
                           PATH=f"{out}/bin:{os.environ['PATH']}", **given)


def test_what_hinders_is_told_before_anything_is_built(out: Path) -> None:
    older = {"NVCC": str(script(out / "12/nvcc", SAYS.format("12.8"))), "QUERN_EMULATOR": "10.0"}
    behind, ptxas = {"QUERN_EMULATOR_FAIL": "driver_version:12080"}, str(script(out / "12/ptxas", SAYS.format("12.9")))
    for environment, words in (
            ({"QUERN_EMULATOR_FAIL": "init:34"}, "needs a GPU: cuInit gives 34: libcuda.so.1 is the toolkit's stub"),
            ({"QUERN_EMULATOR_FAIL": "init:802"}, "cuInit gives 802: NVSwitches are not set up"),
            ({"QUERN_EMULATOR_MODE": "2"}, "GPU 0 serves no process"),
            ({"NVCC": "none"}, "needs nvcc (on the PATH, in /usr/local/cuda/bin, or named by NVCC), or programs"),
            (older, "needs nvcc of CUDA 12.9 or newer for sm_100f: this one is of CUDA 12.8"),
            (behind, "needs a driver for CUDA 13.0, or nvcc of CUDA 12 (NVCC=...), or ptxas of CUDA 12"),
            ({"QUERN_EMULATOR_FAIL": "driver_version:12000"}, "needs a driver for CUDA 13.0: this driver, for CUDA 12.0, loads no"),
            (behind | {"QUERN_PTXAS12": ptxas}, BEGAN), ({}, BEGAN)):
        said = gpu(out, "--only", "build", **environment)
        expect_in(words, said)
        expect("==== build" in said, words == BEGAN)


def test_programs_built_elsewhere_run_without_nvcc(out: Path) -> None:
    script(out / "tests" / SUITE, PASSES)
    script(out / "bin/compute-sanitizer", "exit 86")
    said = gpu(out, "--no-build", "--only", "machine,build,suites,sanitizer", status=0, NVCC="none")
    for words in ("nvcc: none", "build: not run", "suites: passed", "sanitizer: passed", "advice: failed: " + SUITE):
        expect_in(words, said)
    expect_in("needs a folder that it can write", gpu(out, "--no-build", "--out", "/proc/none"))
    expect_in(BEGAN, gpu(out, "--build-for", "sm_80", QUERN_EMULATOR_FAIL="init:100"))
    for_550 = ("--build-for", "sm_80", "--driver", "550")
    expect_in("a driver for CUDA 13.0, or", gpu(out, *for_550))
    expect_in(BEGAN, gpu(out, *for_550, QUERN_PTXAS12=str(script(out / "12/ptxas", SAYS.format("12.9")))))
    expect_in("expected one of CUDA 12", gpu(out, *for_550, QUERN_PTXAS12=str(script(out / "13/ptxas", SAYS.format("13.0")))))


def test_links_between_gpus_are_measured(out: Path) -> None:
    two, failing = {"QUERN_EMULATOR": "9.0,9.0", "QUERN_EMULATOR_PEERS": "none"}, {"QUERN_EMULATOR_FAIL": "cuMemcpyPeerAsync:999"}
    said = gpu(out, "--only", "links", status=0, **two)
    for words in ("GPU 1 to GPU 0: ", "host to GPU 1: ", "2 pairs without peer access; with the host"):
        expect_in(words, said)
    expect_in("cuMemcpyPeerAsync gives 999; python: ", gpu(out, "--only", "links", **two, **failing))
    expect_in("links: not run: there is one GPU", gpu(out, "--only", "links", status=0))


def test_an_exclusive_gpu_serves_one_process_at_a_time(out: Path) -> None:
    expect_in("stress: not run: the GPU serves one process", gpu(out, "--only", "stress", status=0, QUERN_EMULATOR_MODE="3"))
    emulated = machine.emulated(devices.FIRST_EMULATED)
    expect([command.at_a_time(mock.Mock(spec=emulated, is_exclusive=is_exclusive), 4) for is_exclusive in (False, True)], [4, 1])


def test_gpus_of_another_kind_are_left_out(out: Path) -> None:
    driver = devices.Driver("", 13000, ((90, "a"), (75, "b"), (90, "c")))
    for visible, expected in (("", "0,2"), ("4,GPU-5,6", "4,6")):
        with mock.patch.object(devices, "real_driver", lambda: driver), mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES=visible):
            found = devices.gpu_configurations()[0].environment
        expect((found["CUDA_VISIBLE_DEVICES"], found["QUERN_TEST_DEVICES"]), (expected, "2"))


def in_a_folder(test: Callable[[Path], None]) -> None:
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        test(Path(folder))


if __name__ == "__main__":
    sys.exit(cases.run(globals(), in_a_folder))
