"""Follows the recipe for a new GPU generation: makes a pack, translates its PTX for the emulator, and runs test_pack, by a receipt
(tests/receipts.json).

test_pack loads the pack.  The library does not have this generation: without the pack, rows of another one serve its devices.

    python3 tests/checks/pack/run.py           if its inputs have changed
    python3 tests/checks/pack/run.py --all     in any case
    python3 tests/checks/pack/run.py --small   with the few kernels that test_pack calls
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from gen import measured, pack, receipts, toolchain  # noqa: E402
from gen.receipts import Unit  # noqa: E402
from gen.render import Renderer  # noqa: E402
from gen.spec import GPU_TARGETS  # noqa: E402
from runner.targets import serving  # noqa: E402

BUILD = ROOT / "build"
GROUP = "kernel pack"
PACKED = next(target for target in GPU_TARGETS.values() if not target.in_library)
TARGET, CAPABILITY = PACKED.name, PACKED.emulated
SMALL = ("adam_pbf16_gbf16", "cross_entropy_f32", "cross_entropy_f32_short", "cross_entropy_stages")
# What the results depend on besides the text, as tests.ninja has it.
TRANSLATOR = " ".join(map(str, sorted(ROOT.glob("tests/emulator/*.py"))))
HEADERS = "tests/emulator/arithmetic.h tests/emulator/approximations.h tests/emulator/emulator.h"
OPTIMIZATION = re.search(r"^optimize_translated = (\S+)", (ROOT / "tests/tests.ninja").read_text(), re.MULTILINE)[1]


def units() -> list[Unit]:
    """The sources of the pack's kernels as they are rendered, their rows, and who writes and reads packs."""
    render, parts = Renderer().unit, []
    for unit in pack.units_of(PACKED):
        parts += [text := render(unit), PACKED.definitions(text), *receipts.included(text, ROOT / "src")]
        parts += [pack.row(kernel, 0, 0).hex() for kernel in unit.kernels]
    files = (ROOT / "gen/pack.py", ROOT / "gen/toolchain.py", ROOT / "src/runtime/pack.c",
             ROOT / "src/runtime/file_bytes.c", Path(__file__))
    inputs = receipts.digest(TARGET, toolchain.pinned_tools(), *parts, *files, Path(__file__).with_name("test_pack.c").read_text())
    needs = ("build/tests/test_pack", "build/emulator/libcuda.so.1", f"build/emulator/{serving(CAPABILITY)}.so")
    return [Unit(TARGET, inputs, needs)]


def compiled(ptx: Path) -> Path:
    """Translates and compiles PTX, or takes what the build has made of the same text by the same command."""
    compiler = [os.environ.get("CXX", "c++"), "-std=c++17", OPTIMIZATION, "-fPIC", "-ffp-contract=off", "-w",
                "-I", "tests/emulator", "-c"]
    steps = ((".cpp", TRANSLATOR, [sys.executable, "tests/emulator/translate.py"]), (".o", HEADERS, compiler))
    for suffix, files, command in steps:
        source = ptx if suffix == ".cpp" else ptx.with_suffix(".cpp")
        subprocess.run([sys.executable, "-m", "gen.store", source, ptx.with_suffix(suffix), files, *command], cwd=ROOT, check=True)
    return ptx.with_suffix(".o")


def emulate(directory: Path) -> None:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, sorted(directory.glob("*.ptx"))))
    subprocess.run([os.environ.get("CXX", "c++"), "-shared", *objects, "-o", directory / f"{TARGET}.so"], check=True)


def load(stems: tuple[str, ...] = ()) -> int:
    """Makes the pack, or one of these units, and runs test_pack with it."""
    directory, path = pack.PACKS / TARGET, pack.PACKS / f"{TARGET}.qpack"
    shutil.rmtree(directory, ignore_errors=True)
    if stems:
        pack.write(PACKED, [unit for unit in pack.units_of(PACKED) if unit.stem in stems], path)
    else:
        subprocess.run([sys.executable, "-m", "gen", "pack", TARGET], cwd=ROOT, check=True)
    emulate(directory)
    environment = {**os.environ, "QUERN_TEST_DEVICE": "cuda", "QUERN_TEST_TARGET": serving(CAPABILITY),
                   "QUERN_TEST_PACK_TARGET": TARGET, "QUERN_EMULATOR": CAPABILITY,
                   "QUERN_EMULATOR_KERNELS": f"{directory}:{BUILD / 'emulator'}", "LD_LIBRARY_PATH": str(BUILD / "emulator"),
                   "QUERN_TEST_PACK": str(path)}
    return subprocess.run([BUILD / "tests" / "test_pack", "--jobs", "2"], env=environment).returncode


def compute(due: list[Unit]) -> dict[str, int | None]:
    """The number of kernels."""
    if first := measured.not_built([need for unit in due for need in unit.needs]):
        print(f"test_pack or what it loads is not built: {first}")
        return {}
    return {TARGET: None if load() else sum(len(unit.kernels) for unit in pack.units_of(PACKED))}


def main() -> int:
    parser = argparse.ArgumentParser(description="Makes a pack and loads it.")
    parser.add_argument("--all", action="store_true", help="also if there is a receipt")
    parser.add_argument("--small", action="store_true", help=f"with {', '.join(SMALL)} alone")
    options = parser.parse_args()
    if options.small:
        return load(SMALL)
    why = measured.lacking()
    done = receipts.settle(GROUP, units(), None if why else compute, options.all)
    state = "loaded now" if done.computed else "has a receipt"
    if done.missing:
        state = f"not made, {why}" if why else "failed"
    print("\n".join([*done.faults, f"the pack of {TARGET}: {state}"]))
    return 1 if done.faults or done.missing and not why else 0


if __name__ == "__main__":
    sys.exit(main())
