"""ThreadSanitizer over the emulated kernels: the real ones must be silent, and one without its barriers must be reported.

The broken kernels are the PTX of the library with every bar.sync and bar.warp.sync taken out, translated and compiled like any
other; if that went unnoticed, the silence of the real kernels would mean nothing.  The short ones of fp32 are enough, since the
kernels of all dtypes are of the same templates.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from gen import plan  # noqa: E402
from gen.spec import GPU_TARGETS  # noqa: E402
from runner import targets, texts  # noqa: E402

BUILD = ROOT / "build"
MULTIPROCESSORS = "32"  # so many that three rows of several parts are split, even if a cluster could have each
TARGETS = {name: GPU_TARGETS[name].emulated for name in texts.owners("cross_entropy")}
BROKEN_TARGET = targets.first_with("async_copy")
BROKEN_UNITS = [unit.stem for unit in plan.units("cross_entropy", [BROKEN_TARGET])
                if not unit.stem.endswith(("_full", "_full_rows", "_streamed")) and "f16" not in unit.stem]


def run(capability: str, kernels: Path) -> tuple[int, str]:
    environment = {**os.environ, "QUERN_EMULATOR": capability, "QUERN_EMULATOR_SMS": MULTIPROCESSORS,
                   "QUERN_EMULATOR_KERNELS": f"{kernels}:{BUILD / 'emulator'}", "LD_LIBRARY_PATH": str(BUILD / "emulator"),
                   "TSAN_OPTIONS": "halt_on_error=0 exitcode=66 report_bugs=1"}
    done = subprocess.run([str(BUILD / "tests" / "race")], env=environment, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


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
        subprocess.run([sys.executable, "tests/emulator/translate.py", source, "-o", source.with_suffix(".cpp")], check=True, cwd=ROOT)
        subprocess.run(["clang++", "-std=c++17", "-O1", "-fno-inline", "-g1", "-fPIC", "-ffp-contract=off", "-w", "-fsanitize=thread",
                        "-I", "tests/emulator", "-c", source.with_suffix(".cpp"), "-o", source.with_suffix(".o")], check=True, cwd=ROOT)
        objects.append(source.with_suffix(".o"))
    subprocess.run(["clang++", "-shared", "-fsanitize=thread", *objects, "-o", directory / f"{BROKEN_TARGET.name}.so"], check=True)


def main() -> int:
    failures = 0
    for target, capability in TARGETS.items():
        status, output = run(capability, BUILD / "emulator-thread")
        clean = status == 0 and "WARNING: ThreadSanitizer" not in output
        print(f"race: {target}: {'no race' if clean else 'FAILED'}")
        if not clean:
            print("\n".join(output.splitlines()[-60:]))
            failures += 1
    break_kernels(BUILD / "emulator-race")
    _, output = run(BROKEN_TARGET.emulated, BUILD / "emulator-race")
    reports = output.count("WARNING: ThreadSanitizer: data race")
    print(f"race: {BROKEN_TARGET.name} without its barriers: {reports} data races reported")
    failures += reports == 0
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
