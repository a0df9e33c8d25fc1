"""Follows the recipe for a new GPU generation: makes a pack, translates its PTX for the emulator, and runs test_pack.

test_pack loads the pack.  The library does not have this generation: without the pack, rows of another one serve its devices.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from gen import plan  # noqa: E402
from gen.spec import GPU_TARGETS  # noqa: E402
from runner.targets import serving  # noqa: E402

BUILD = ROOT / "build"
PACKED = next(target for target in GPU_TARGETS.values() if not target.in_library)
TARGET, CAPABILITY = PACKED.name, PACKED.emulated
LIMIT_SECONDS = 60


def make_pack() -> float:
    begin = time.monotonic()
    subprocess.run([sys.executable, "-m", "gen", "pack", TARGET], cwd=ROOT, check=True)
    return time.monotonic() - begin


def emulate(directory: Path) -> None:
    """Translates and compiles the pack's PTX as the build does for the library's PTX."""
    compiler = os.environ.get("CXX", "c++")
    # Adam's many kernels do little here: to optimize them takes longer than that saves.
    optimized = {unit.stem for operation in plan.OPERATIONS if operation != "adam"
                 for unit in plan.units(operation, [PACKED])}

    def compile_one(ptx: Path) -> Path:
        subprocess.run([sys.executable, "tests/emulator/translate.py", ptx, "-o", ptx.with_suffix(".cpp")], cwd=ROOT, check=True)
        level = "-O1" if ptx.stem in optimized else "-O0"
        subprocess.run([compiler, "-std=c++17", level, "-fPIC", "-ffp-contract=off", "-w", "-I", "tests/emulator", "-c",
                        ptx.with_suffix(".cpp"), "-o", ptx.with_suffix(".o")], cwd=ROOT, check=True)
        return ptx.with_suffix(".o")

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, sorted(directory.glob("*.ptx"))))
    subprocess.run([compiler, "-shared", *objects, "-o", directory / f"{TARGET}.so"], check=True)


def main() -> int:
    seconds = make_pack()
    print(f"pack: made in {seconds:.0f} s (limit {LIMIT_SECONDS} s)")
    directory = BUILD / "packs" / TARGET
    emulate(directory)
    environment = {**os.environ, "QUERN_TEST_DEVICE": "cuda", "QUERN_TEST_TARGET": serving(CAPABILITY),
                   "QUERN_TEST_PACK_TARGET": TARGET, "QUERN_EMULATOR": CAPABILITY,
                   "QUERN_EMULATOR_KERNELS": f"{directory}:{BUILD / 'emulator'}", "LD_LIBRARY_PATH": str(BUILD / "emulator"),
                   "QUERN_TEST_PACK": str(BUILD / "packs" / f"{TARGET}.qpack")}
    return subprocess.run([BUILD / "tests" / "test_pack", "--jobs", "2"], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
