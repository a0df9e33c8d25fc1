"""Compares the drivers that the build names for its images with the images' own bytes, and builds images for older drivers.  Compares
PTX that is taken from another target with nvcc's.

The table of ABIs here is a second statement, beside gen/toolchain.py, of what drivers load.  Called by tests/run.py.  The last line
is `N passed, N failed`.
"""

from __future__ import annotations

import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import cases

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from gen import plan, toolchain  # noqa: E402
from gen.spec import GPU_TARGETS  # noqa: E402

BUILD = ROOT / "build"
FOLDER = "build/selection_550"
CC = shlex.split(os.environ.get("CC", "cc"))

# EI_OSABI and EI_ABIVERSION of a cubin.  Drivers of CUDA 12 load the first kind, that of 12.9 the second for Blackwell's families.
ABI_OF_12, ABI_OF_13 = (0x33, 7), (0x41, 8)
BLACKWELL = ("sm_100f", "sm_120f", "sm_121")

PROGRAM = r"""
#include <quern.h>
#include <stdio.h>
int main(void) {
    quern_device *device;
    char why[256];
    quern_status status = quern_device_open(QUERN_CUDA, 0, &device);
    if (status == QUERN_OK) status = quern_prepare(device, QUERN_RAGGED_ALL_TO_ALL);
    quern_error_detail(why, sizeof why);
    printf("%s: %s\n", quern_status_string(status), status == QUERN_OK ? "" : why);
    void *volatile linked = (void *)quern_ragged_all_to_all;  /* an operation that is not called is not prepared */
    return !linked;
}
"""


def abi(cubin: Path) -> tuple[int, int]:
    with cubin.open("rb") as file:
        head = file.read(20)
    if head[:4] != b"\x7fELF" or struct.unpack_from("<H", head, 18)[0] != 190:
        raise AssertionError(f"{cubin} is no cubin")
    return head[7], head[8]


def loads_from(target: str, found: tuple[int, int]) -> int:
    if found not in (ABI_OF_12, ABI_OF_13):
        raise AssertionError(f"{target}: OSABI {found[0]:#x}, ABI version {found[1]}: which driver loads it is not known here")
    return 12040 if found == ABI_OF_12 else 12090 if target in BLACKWELL else 13000


def promised(header: Path) -> dict[str, tuple[int, int]]:
    """The driver and the toolkit of each target."""
    return {name: (int(driver), int(made_by)) for name, driver, made_by in
            re.findall(r"#define QUERN_IMAGES_(\w+) \{(\d+), (\d+)\}", header.read_text())}


def gpu_units() -> list[plan.Unit]:
    return [unit for operation in plan.OPERATIONS for unit in plan.units(operation) if unit.target.kind == "gpu"]


def compare(folder: Path, header: Path) -> None:
    drivers = promised(header)
    units = [unit for unit in gpu_units() if (folder / f"{unit.build_stem}.cubin").exists()]
    if not units:
        raise AssertionError(f"{folder} has no cubins")
    for unit in units:
        name = unit.target.name
        if GPU_TARGETS[name].is_virtual:
            numbers = re.search(r"^\.version (\d+)\.(\d+)", (folder / f"{unit.build_stem}.ptx").read_text(), re.MULTILINE)
            needed = 1000 * (int(numbers[1]) + 4) + 10 * int(numbers[2]) if numbers else 0  # PTX ISA 9.0 came with CUDA 13.0
        else:
            needed = loads_from(name, abi(folder / f"{unit.build_stem}.cubin"))
        if drivers[name][0] < needed:
            raise AssertionError(f"{unit.build_stem}: {header.name} promises {drivers[name][0]}, the image needs {needed}")


def prepare(library: str, capability: str, driver: int) -> str:
    """Opens the emulated device under a driver and prepares the all-to-all."""
    with tempfile.TemporaryDirectory() as name:
        source, program = Path(name) / "program.c", Path(name) / "program"
        source.write_text(PROGRAM)
        command = [*CC, "-I", "include", str(source), library, "-lm", "-ldl", "-pthread", "-o", str(program)]
        subprocess.run(command, cwd=ROOT, check=True)
        environment = {**os.environ, "LD_LIBRARY_PATH": str(BUILD / "emulator"), "QUERN_EMULATOR": capability,
                       "QUERN_EMULATOR_FAIL": f"driver_version:{driver}"}
        return subprocess.run([str(program)], env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_the_images_load_on_the_drivers_that_the_build_names() -> None:
    compare(BUILD, BUILD / "nvcc_version.h")


def test_older_drivers_load_images_of_ptxas_12() -> None:
    if not toolchain.find_older_ptxas():
        print("without ptxas 12: images for older drivers are not built")
        return
    targets = [target.name for target in plan.targets() if target.kind == "gpu"]
    command = [sys.executable, "-m", "gen.selection", "--targets", ",".join(targets), "--operations", "barrier,ragged_all_to_all",
               "--driver", "550", "--folder", FOLDER]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    images, versions = ROOT / FOLDER / "images", promised(ROOT / FOLDER / "versions.h")
    compare(images, ROOT / FOLDER / "versions.h")
    for name in targets:
        target = GPU_TARGETS[name]
        if target.is_virtual:
            continue
        old = abi(images / name / "barrier.cubin") == ABI_OF_12
        if old != (name not in BLACKWELL) or versions[name][0] != (12040 if old else 12090):
            raise AssertionError(f"{name}: ABI {abi(images / name / 'barrier.cubin')}, driver {versions[name][0]}")
        if f"{name}: a driver for CUDA 12.{4 if old else 9}" not in done.stdout:
            raise AssertionError(f"{name} is missing in {done.stdout!r}")


def test_the_archives_differ_on_a_driver_of_cuda_12() -> None:
    if not toolchain.find_older_ptxas():
        return
    older, newer = prepare(f"{FOLDER}/libquern.a", "9.0", 12040), prepare("libquern.a", "9.0", 12040)
    if older != "QUERN_OK:":
        raise AssertionError(older)
    if not newer.startswith("QUERN_DRIVER_TOO_OLD: the CUDA driver supports CUDA 12.4"):
        raise AssertionError(newer)


def test_ptx_of_another_target_is_what_nvcc_makes() -> None:
    """For a unit whose PTX differs between the versions of NVVM, and for the one that is compiled for each target, if it is not."""
    text = (ROOT / "generated/kernels.ninja").read_text()
    taken = re.findall(r"^build \$builddir/((\w+)/(?:gradient_norm_combine|barrier)).ptx: ptx_of_other \$builddir/(\S+)$", text, re.M)
    if not taken:
        raise AssertionError("no target has the PTX of another one")
    for stem, target, other in taken:
        edge = re.search(rf"^build \$builddir/{re.escape(other)}: ptx (\S+) .*\n.*\n  flags = (.*)$", text, re.M)
        definitions = [flag.removeprefix("-D") for flag in edge[2].split()]
        with tempfile.TemporaryDirectory() as name:
            own = Path(name) / "own.ptx"
            toolchain.ptx(toolchain.find_nvcc(), GPU_TARGETS[target], Path(edge[1]), own, definitions)
            if own.read_bytes() != (BUILD / f"{stem}.ptx").read_bytes():
                raise AssertionError(f"{stem}: nvcc makes other PTX for {target} than {other}, from which it is taken")


if __name__ == "__main__":
    sys.exit(cases.run(globals()))
