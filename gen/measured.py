"""The machine code of all GPU kernels by receipts: who asks for it builds none, unless a source or a flag has changed.

The numbers are those of one version of nvcc, the one that `./quern toolkit` installs.  With another, nothing is measured.
"""

from __future__ import annotations

import functools
import inspect
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gen import machine_code, receipts, toolchain
from gen.machine_code import Image
from gen.receipts import ROOT, Unit

GROUP = "machine code"
_EDGE = re.compile(r"^build \$builddir/(\w+/\w+)\.ptx: (ptx|ptx_of_other) (\S+?)(?:\.ptx)?(?: .*)?\n  target = (\w+)\n(?:  flags = (.*)\n)?",
                   re.MULTILINE)


@functools.cache
def _sources() -> dict[str, tuple[str, str, str]]:
    """For each PTX file, in the order of the build, its source, the target for which nvcc compiles it, and the flags."""
    text = (ROOT / "generated/kernels.ninja").read_text()
    own: dict[str, tuple[str, str, str]] = {}
    others = {}
    for stem, rule, source, target, flags in _EDGE.findall(text):
        if rule == "ptx":
            own[stem] = source, target, flags
        else:
            others[stem] = source.removeprefix("$builddir/")
    return {**own, **{stem: own[other] for stem, other in others.items()}}


@functools.cache
def units() -> tuple[Unit, ...]:
    """One for each image."""
    steps = "".join(inspect.getsource(step) for step in (toolchain.ptx, toolchain.cubin, toolchain.fatbin))
    common = receipts.digest(ROOT / "gen/ptx.py", ROOT / "gen/machine_code.py", steps, toolchain.NVCC_FLAGS, toolchain.pinned())
    return tuple(Unit(stem, receipts.digest(common, stem, ROOT / source, target, flags), (f"build/{stem}.fatbin",))
                 for stem, (source, target, flags) in _sources().items())


def lacking() -> str:
    """Why machine code cannot be measured here; empty: it can."""
    nvcc = toolchain.find_nvcc()
    found = toolchain.version(str(nvcc or "none"))
    return "" if found == toolchain.pinned() else f"measured with nvcc {toolchain.pinned()} only: here is {found}"


def not_built(needs: list[str]) -> str:
    """What ninja would do for these targets; empty: they are current."""
    done = subprocess.run(["ninja", "-n", *needs], cwd=ROOT, capture_output=True, text=True)
    return "" if "ninja: no work to do" in done.stdout else (done.stderr or done.stdout).strip().splitlines()[-1]


@dataclass(frozen=True)
class Measured:
    images: dict[str, Image]   # by the paths of sources below the build folder: sm_90a/barrier
    skipped: list[str]         # what has changed, with another nvcc than that of the receipts
    faults: list[str]


def measured(everything: bool = False) -> Measured:
    faults: list[str] = []

    def compute(due: list[Unit]) -> dict[str, dict]:
        needs = [need for unit in due for need in unit.needs]
        if first := not_built(needs):
            faults.append(f"{len(due)} images have no receipt, {due[0].name} for one, and their machine code is not built: "
                          f"ninja {needs[0]}{' ...' * (len(needs) > 1)} ({first})")
            return {}
        return {unit.name: machine_code.read(unit.name).as_json() for unit in due}

    why = lacking()
    settled = receipts.settle(GROUP, units(), None if why else compute, everything)
    skipped = [f"{name}: {why}" for name in ("all images",) * everything + tuple(settled.missing)] if why else []
    return Measured({name: Image.from_json(result) for name, result in settled.results.items()}, skipped, faults + settled.faults)
