"""ThreadSanitizer over GPU ranks on the emulator: the kernels must be silent, and each variant without one of its orders must be
reported; if those went unnoticed, the silence of the real kernels would mean nothing.

ThreadSanitizer can tell 256 threads apart at a time, and takes those that share a number for one.  So the kernels are compiled for
blocks of one warp here, into a kernel pack that the program loads.  (It still does not see whether the last block of a launch has
the order of those before it: their numbers are taken over too soon.)  A variant has one kind of instruction in its PTX weakened or
taken out.  The last line is `N passed, N failed`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from gen import pack, plan, spec  # noqa: E402

BUILD = ROOT / "build"
OPERATIONS = ("barrier", "ragged_all_to_all")
RACE = "WARNING: ThreadSanitizer: data race"

# What runs: a target, its compute capability, and whether signals go by multicast.
MACHINES = [("sm_75", "7.5", False), ("sm_90a", "9.0", False), ("sm_90a", "9.0", True), ("sm_100f", "10.0", True)]


@dataclass(frozen=True)
class Variant:
    name: str
    pattern: str
    replacement: str
    machine: tuple[str, str, bool]


PLAIN, MULTICAST = MACHINES[1], MACHINES[2]
VARIANTS = [
    Variant("signals without release", r"st\.release\.sys(?=\.global\.u64)", "st.relaxed.sys", PLAIN),
    Variant("multicast signals without release", r"multimem\.st\.release", "multimem.st.relaxed", MULTICAST),
    Variant("signals looked at without acquire", r"ld\.acquire\.sys", "ld.relaxed.sys", PLAIN),
    Variant("blocks released without release", r"st\.release\.gpu", "st.relaxed.gpu", PLAIN),
    Variant("blocks released without acquire", r"ld\.acquire\.gpu", "ld.relaxed.gpu", PLAIN),
    Variant("no barriers in the blocks", r"^\s*(bar|barrier)\.sync.*;$", "", PLAIN),
]


def run(machine: tuple[str, str, bool], kernels: Path, packs: Path) -> tuple[int, str]:
    target, capability, multicast = machine
    environment = {**os.environ, "QUERN_EMULATOR": ",".join([capability] * 3), "QUERN_EMULATOR_KERNELS": str(kernels),
                   "QUERN_EMULATOR_MULTICAST": str(int(multicast)), "QUERN_EMULATOR_TIMEOUT": "60",
                   "QUERN_TEST_PACK": str(packs / f"{target}.qpack"), "LD_LIBRARY_PATH": str(BUILD / "emulator"),
                   "TSAN_OPTIONS": "halt_on_error=0 exitcode=66 report_bugs=1"}
    done = subprocess.run([BUILD / "tests" / "race_gpu_ranks"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=600)
    return done.returncode, done.stdout


def make_pack(target: str, directory: Path) -> None:
    """The library's kernels in blocks of one warp, with their PTX beside them."""
    for operation in OPERATIONS:
        plan.GEOMETRY[operation] = spec.Geometry(threads=32)
    row = spec.GPU_TARGETS[target]
    units = [unit for operation in OPERATIONS for unit in plan.units(operation, [row])]
    fatbins = pack.compile_units(row, units, directory / target)
    (directory / f"{target}.qpack").write_bytes(
        pack.assemble(row, units, {stem: fatbin.read_bytes() for stem, fatbin in fatbins.items()}))


def build_kernels(target: str, packs: Path, directory: Path, pattern: str = "", replacement: str = "") -> None:
    """What the emulator runs for a target: its PTX, with whatever has the pattern replaced."""
    objects, changes = [], 0
    for operation in OPERATIONS:
        text = (packs / target / f"{operation}.ptx").read_text()
        if pattern:
            text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
            changes += count
        source = directory / f"{operation}.ptx"
        source.write_text(text)
        subprocess.run([sys.executable, "tests/emulator/translate.py", source, "-o", source.with_suffix(".cpp")], check=True, cwd=ROOT)
        subprocess.run(["clang++", "-std=c++17", "-O1", "-g", "-fPIC", "-ffp-contract=off", "-w", "-fsanitize=thread", "-I",
                        "tests/emulator", "-c", source.with_suffix(".cpp"), "-o", source.with_suffix(".o")], check=True, cwd=ROOT)
        objects.append(source.with_suffix(".o"))
    if pattern and not changes:
        raise SystemExit(f"no PTX of {target} has {pattern}")
    subprocess.run(["clang++", "-shared", "-fsanitize=thread", *objects, "-o", directory / f"{target}.so"], check=True)


def check_machine(machine: tuple[str, str, bool], packs: Path) -> bool:
    status, output = run(machine, packs / "real", packs)
    clean = status == 0 and RACE not in output
    print(f"race: {machine[0]}{' by multicast' if machine[2] else ''}: {'no race' if clean else 'FAILED'}", flush=True)
    if not clean:
        print("\n".join(output.splitlines()[:80]))
    return clean


def check_variant(variant: Variant, packs: Path) -> bool:
    with tempfile.TemporaryDirectory() as directory:
        build_kernels(variant.machine[0], packs, Path(directory), variant.pattern, variant.replacement)
        _, output = run(variant.machine, Path(directory), packs)
    print(f"race: {variant.name}: {output.count(RACE)} data races reported", flush=True)
    return RACE in output


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        packs = Path(directory)
        (packs / "real").mkdir()
        for target in sorted({machine[0] for machine in MACHINES}):
            make_pack(target, packs)
            build_kernels(target, packs, packs / "real")
        results = [*(check_machine(machine, packs) for machine in MACHINES), *(check_variant(variant, packs) for variant in VARIANTS)]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
