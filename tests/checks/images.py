"""Compares the drivers that the build names for its images with the images' own bytes, and loads images on drivers of CUDA 12.
Compares PTX that is taken from another target with nvcc's.  All by receipts (tests/receipts.json), or everything with --all.

The table of ABIs here is a second statement, beside gen/toolchain.py, of what drivers load.  Called by tests/run.py.  The last line
is `N passed, N failed`.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from checks import cases  # noqa: E402
from gen import machine_code, measured, receipts, toolchain  # noqa: E402
from gen.receipts import Unit  # noqa: E402
from gen.spec import GPU_TARGETS  # noqa: E402

BUILD = ROOT / "build"
FOLDER = "build/selection"
OLDER, TAKEN = "images on drivers of CUDA 12", "PTX of other targets"  # groups of receipts
OPERATIONS = ("barrier", "ragged_all_to_all")
EMULATED = "sm_90a"
KERNELS = [f"build/emulator/{EMULATED}/{operation}.o" for operation in OPERATIONS]
CC, CXX = (shlex.split(os.environ.get(name, default)) for name, default in (("CC", "cc"), ("CXX", "c++")))

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


def loads_from(target: str, found: tuple[int, int]) -> int:
    if found not in (ABI_OF_12, ABI_OF_13):
        raise AssertionError(f"{target}: OSABI {found[0]:#x}, ABI version {found[1]}: which driver loads it is not known here")
    return 12040 if found == ABI_OF_12 else 12090 if target in BLACKWELL else 13000


def promised(header: str) -> dict[str, tuple[int, int]]:
    """The driver and the toolkit of each target."""
    return {name: (int(driver), int(made_by)) for name, driver, made_by in
            re.findall(r"#define QUERN_IMAGES_(\w+) \{(\d+), (\d+)\}", header)}


def needed(target: str, abi: tuple[int, int], isa: tuple[int, int]) -> int:
    """The oldest driver that loads an image; PTX ISA 9.0 came with CUDA 13.0."""
    return 1000 * (isa[0] + 4) + 10 * isa[1] if GPU_TARGETS[target].is_virtual else loads_from(target, abi)


def prepare(library: str, driver: int) -> str:
    """Opens the emulated device under a driver and prepares the all-to-all, of whose operations alone there are kernels."""
    with tempfile.TemporaryDirectory() as name:
        source, program = Path(name) / "program.c", Path(name) / "program"
        source.write_text(PROGRAM)
        command = [*CC, "-I", "include", str(source), library, "-lm", "-ldl", "-pthread", "-o", str(program)]
        subprocess.run(command, cwd=ROOT, check=True)
        subprocess.run([*CXX, "-shared", *KERNELS, "-o", f"{name}/{EMULATED}.so"], cwd=ROOT, check=True)
        environment = {**os.environ, "LD_LIBRARY_PATH": str(BUILD / "emulator"), "QUERN_EMULATOR": GPU_TARGETS[EMULATED].emulated,
                       "QUERN_EMULATOR_KERNELS": name, "QUERN_EMULATOR_FAIL": f"driver_version:{driver}"}
        return subprocess.run([str(program)], env=environment, capture_output=True, text=True, check=True).stdout.strip()


def select(targets: list[str], folder: str) -> str:
    command = [sys.executable, "-m", "gen.selection", "build", "--targets", ",".join(targets), "--operations", ",".join(OPERATIONS),
               "--folder", folder]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


# ---- what has receipts ----


def taken() -> dict[str, measured.Source]:
    """Of a unit whose PTX differs between the versions of NVVM, and of the one that is compiled for each target, if it is not."""
    return {stem: source for stem, source in measured.sources().items()
            if source.is_taken and stem.split("/")[1] in ("gradient_norm_combine", "barrier")}


def groups() -> dict[str, list[Unit]]:
    images = {unit.name: unit.inputs for unit in measured.units()}
    of_operations = sorted(inputs for name, inputs in images.items() if name.split("/")[1] in OPERATIONS)
    files = ("gen/selection.py", "gen/toolchain.py", *(f"src/runtime/{name}.c" for name in ("device_open", "report", "target")))
    older = receipts.digest(of_operations, Path(__file__), *(ROOT / file for file in files))
    return {OLDER: [Unit("drivers", older, ("build/host.a", "build/emulator/libcuda.so.1", *KERNELS))],
            TAKEN: [Unit(stem, images[stem], (f"build/{stem}.ptx",)) for stem in taken()]}


def make_older(_: list[Unit]) -> dict[str, dict[str, int]]:
    """What is printed of each target; an archive on a driver of CUDA 12.4, and on one that is older."""
    targets = [target.name for target in GPU_TARGETS.values() if target.in_library and not target.is_virtual]
    printed = select(targets, FOLDER)
    drivers = {name: 12090 if name in BLACKWELL else 12040 for name in targets}
    for name, number in drivers.items():
        if (line := f"{name}: a driver for CUDA 12.{number % 1000 // 10}") not in printed:
            raise AssertionError(f"{line!r} is missing in {printed!r}")
    loaded, refused = (prepare(f"{FOLDER}/libquern.a", driver) for driver in (12040, 12030))
    if loaded != "QUERN_OK:":
        raise AssertionError(loaded)
    if not refused.startswith("QUERN_DRIVER_TOO_OLD: the CUDA driver supports CUDA 12.3"):
        raise AssertionError(refused)
    return {"drivers": drivers}


def make_taken(due: list[Unit]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for stem in (unit.name for unit in due):
        source, nvcc = taken()[stem], toolchain.find_nvcc() or Path("nvcc")
        definitions = [flag.removeprefix("-D") for flag in source.flags.split()]
        with tempfile.TemporaryDirectory() as name:
            own = Path(name) / "own.ptx"
            toolchain.ptx(nvcc, GPU_TARGETS[stem.split("/")[0]], Path(source.file), own, definitions)
            same = own.read_bytes() == (BUILD / f"{stem}.ptx").read_bytes()
        found[stem] = "as nvcc makes it" if same else None
    return found


def settled(group: str, compute: receipts.Compute, why: str) -> None:
    """Fails for a unit that has no result, unless it cannot be computed here: why."""
    def tried(due: list[Unit]) -> dict[str, object]:
        if first := measured.not_built([need for unit in due for need in unit.needs]):
            raise AssertionError(f"not built: {first}")
        try:
            return compute(due)
        except AssertionError as fault:
            print(fault)
            return {unit.name: None for unit in due}

    done = receipts.settle(group, groups()[group], None if why else tried, "--all" in sys.argv)
    for name in done.missing if why else ():
        print(f"{group}, {name}: not computed, {why}")
    if done.faults or done.missing and not why:
        raise AssertionError("\n".join(done.faults + [f"{group}: {name} has failed" for name in done.missing]))


def test_the_images_load_on_the_drivers_that_the_build_names() -> None:
    found = measured.measured("--all" in sys.argv)
    print(*found.skipped, sep="\n", end="\n" if found.skipped else "")
    drivers = promised(toolchain.versions(*toolchain.pinned_versions()))
    faults = list(found.faults)
    for stem, image in found.images.items():
        target = stem.split("/")[0]
        if drivers[target][0] < (least := needed(target, image.abi, image.isa)):
            faults.append(f"{stem}: the build promises {drivers[target][0]}, the image needs {least}")
    if faults or not found.images:
        raise AssertionError("\n".join(faults) or "there are no images")


def test_drivers_of_cuda_12_load_the_images() -> None:
    settled(OLDER, make_older, measured.lacking())


def test_without_ptxas_12_the_images_need_the_driver_of_nvcc() -> None:
    drivers = promised(toolchain.versions("13.0.88", toolchain.NONE))
    wrong = {name: driver for name, (driver, _) in drivers.items() if driver != 13000}
    if wrong or drivers.keys() != GPU_TARGETS.keys():
        raise AssertionError(f"{wrong or drivers.keys()}")


def test_ptx_of_another_target_is_what_nvcc_makes() -> None:
    if not taken():
        raise AssertionError("no target has the PTX of another one")
    settled(TAKEN, make_taken, measured.lacking())


if __name__ == "__main__":
    sys.exit(cases.run(globals()))
