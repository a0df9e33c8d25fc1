"""ThreadSanitizer over the emulated kernels of cross-entropy: the real ones must be silent, and those without their barriers
must be reported (see races.py).

The broken kernels are the PTX of the library with every bar.sync and bar.warp.sync taken out, translated and compiled like any
other.  The short ones of fp32 are enough, since the kernels of all dtypes are of the same templates.  Those that multiply by an
upstream gradient have no barrier.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import races
from races import BUILD, ROOT
from gen import plan
from gen.spec import GPU_TARGETS
from runner import targets, texts

MULTIPROCESSORS = "32"  # so many that three rows of several parts are split, even if a cluster could have each
TARGETS = {name: GPU_TARGETS[name].emulated for name in texts.owners("cross_entropy")}
BROKEN_TARGET = targets.first_with("async_copy")
BROKEN_UNITS = [unit.stem for unit in plan.units("cross_entropy", [BROKEN_TARGET])
                if not unit.stem.endswith(("_full", "_full_rows", "_streamed", "_upstream")) and "f16" not in unit.stem]


def run(capability: str, kernels: Path) -> tuple[int, str]:
    return races.run_emulated("race", capability, f"{kernels}:{BUILD / 'emulator'}", QUERN_EMULATOR_SMS=MULTIPROCESSORS)


def break_kernels(directory: Path) -> None:
    """Builds the kernels of one target without their barriers."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    objects = []
    for unit in BROKEN_UNITS:
        text = (BUILD / BROKEN_TARGET.name / f"{unit}.ptx").read_text()
        broken, count = re.subn(r"^\s*(bar|barrier)\.(warp\.)?sync.*;$", "", text, flags=re.MULTILINE)
        if not count:
            raise SystemExit(f"{unit}.ptx has no barrier to take out")
        source = directory / f"{unit}.ptx"
        source.write_text(broken)
        subprocess.run([sys.executable, "tests/emulator/translate.py", source, "-o", source.with_suffix(".cpp")], check=True,
                       cwd=ROOT)
        subprocess.run(["clang++", "-std=c++17", "-O1", "-fno-inline", "-g1", "-fPIC", "-ffp-contract=off", "-w",
                        "-fsanitize=thread", "-I", "tests/emulator", "-c", source.with_suffix(".cpp"), "-o",
                        source.with_suffix(".o")], check=True, cwd=ROOT)
        objects.append(source.with_suffix(".o"))
    subprocess.run(["clang++", "-shared", "-fsanitize=thread", *objects, "-o", directory / f"{BROKEN_TARGET.name}.so"], check=True)


def check_kernels() -> Iterator[bool]:
    for target, capability in TARGETS.items():
        yield races.is_silent(target, *run(capability, BUILD / "emulator-thread"))


def check_broken() -> Iterator[bool]:
    break_kernels(BUILD / "emulator-race")
    yield races.is_reported(f"{BROKEN_TARGET.name} without its barriers",
                            lambda: run(BROKEN_TARGET.emulated, BUILD / "emulator-race"))


if __name__ == "__main__":
    sys.exit(races.main(check_kernels, check_broken))
