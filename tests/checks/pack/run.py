"""Follows the recipe for a new GPU generation: makes a pack, translates its PTX for the emulator, and runs test_pack.

test_pack loads the pack.  The library does not have this generation: without the pack, rows of another one serve its devices.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from gen.spec import GPU_TARGETS  # noqa: E402
from runner.targets import serving  # noqa: E402

BUILD = ROOT / "build"
PACKED = next(target for target in GPU_TARGETS.values() if not target.in_library)
TARGET, CAPABILITY = PACKED.name, PACKED.emulated
# What the results depend on besides the text, as tests.ninja has it.
TRANSLATOR = " ".join(map(str, sorted(ROOT.glob("tests/emulator/*.py"))))
HEADERS = "tests/emulator/arithmetic.h tests/emulator/approximations.h tests/emulator/emulator.h"
RULES, EDGES = ((ROOT / name).read_text() for name in ("tests/tests.ninja", "generated/emulator.ninja"))


def optimization(stem: str) -> str:
    """With which the build compiles the unit of the target that serves the device without the pack."""
    edge = re.search(rf"^build \$builddir/emulator/{serving(CAPABILITY)}/{stem}\.o: .*\n(?:  .*\n)*", EDGES, re.MULTILINE)
    return re.search(r"^ *optimize_translated = (\S+)", (edge[0] if edge else "") + RULES, re.MULTILINE)[1]


def compiled(ptx: Path) -> Path:
    """Translates and compiles PTX, or takes what the build has made of the same text by the same command."""
    compiler = [os.environ.get("CXX", "c++"), "-std=c++17", optimization(ptx.stem), "-fPIC", "-ffp-contract=off", "-w", "-I",
                "tests/emulator", "-c"]
    steps = ((".cpp", TRANSLATOR, [sys.executable, "tests/emulator/translate.py"]), (".o", HEADERS, compiler))
    for suffix, files, command in steps:
        source = ptx if suffix == ".cpp" else ptx.with_suffix(".cpp")
        subprocess.run(["sh", "tests/emulator/kept.sh", source, ptx.with_suffix(suffix), BUILD / "emulator" / "kept", files, *command],
                       cwd=ROOT, check=True)
    return ptx.with_suffix(".o")


def emulate(directory: Path) -> None:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, sorted(directory.glob("*.ptx"))))
    subprocess.run([os.environ.get("CXX", "c++"), "-shared", *objects, "-o", directory / f"{TARGET}.so"], check=True)


def main() -> int:
    subprocess.run([sys.executable, "-m", "gen", "pack", TARGET], cwd=ROOT, check=True)
    directory = BUILD / "packs" / TARGET
    emulate(directory)
    environment = {**os.environ, "QUERN_TEST_DEVICE": "cuda", "QUERN_TEST_TARGET": serving(CAPABILITY),
                   "QUERN_TEST_PACK_TARGET": TARGET, "QUERN_EMULATOR": CAPABILITY,
                   "QUERN_EMULATOR_KERNELS": f"{directory}:{BUILD / 'emulator'}", "LD_LIBRARY_PATH": str(BUILD / "emulator"),
                   "QUERN_TEST_PACK": str(BUILD / "packs" / f"{TARGET}.qpack")}
    return subprocess.run([BUILD / "tests" / "test_pack", "--jobs", "2"], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
