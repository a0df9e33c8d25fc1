"""The machine code of all GPU kernels and the sizes of their packed images by receipts: who asks for them builds none, unless a
source or a flag has changed.

The numbers are those of the versions of nvcc and ptxas that `./quern toolkit` installs.  With others, nothing is measured.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import re
import subprocess
from dataclasses import dataclass
from typing import NamedTuple

from gen import images, machine_code, plan, receipts, toolchain
from gen.machine_code import Image
from gen.receipts import ROOT, Unit

GROUP, PACKED = "machine code", "packed images"
_EDGE = re.compile(r"^build \$builddir/(\w+/\w+)\.ptx: (ptx|ptx_of_other) (\S+?)(?:\.ptx)?(?: .*)?\n"
                   r"  target = (\w+)\n(?:  flags = (.*)\n)?", re.MULTILINE)


class Source(NamedTuple):
    """Of the PTX of an image."""

    file: str
    target: str      # for which nvcc compiles it
    flags: str
    is_taken: bool   # from the image of that target


@functools.cache
def sources() -> dict[str, Source]:
    """In the order of the build."""
    text = (ROOT / "generated/kernels.ninja").read_text()
    own: dict[str, Source] = {}
    others = {}
    for stem, rule, source, target, flags in _EDGE.findall(text):
        if rule == "ptx":
            own[stem] = Source(source, target, flags, is_taken=False)
        else:
            others[stem] = source.removeprefix("$builddir/")
    return {**own, **{stem: own[other]._replace(is_taken=True) for stem, other in others.items()}}


@functools.cache
def units() -> tuple[Unit, ...]:
    """One for each image."""
    steps = "".join(inspect.getsource(step) for step in (toolchain.ptx, toolchain.cubin, toolchain.takes_ptxas_12))
    common = receipts.digest(ROOT / "gen/ptx.py", ROOT / "gen/machine_code.py", steps, toolchain.NVCC_FLAGS,
                             toolchain.pinned_tools())
    return tuple(Unit(stem, receipts.digest(common, stem, ROOT / source.file, *source[1:]), (f"build/{stem}.cubin",))
                 for stem, source in sources().items())


def lacking() -> str:
    """Why machine code cannot be measured here; empty: it can."""
    found, pinned = toolchain.tools(), toolchain.pinned_tools()
    return "" if found == pinned else f"measured with nvcc {pinned} only: here is {found}"


def not_built(needs: list[str]) -> str:
    """What ninja would do for these targets; empty: they are current."""
    done = subprocess.run(["ninja", "-n", *needs], cwd=ROOT, capture_output=True, text=True)
    return "" if "ninja: no work to do" in done.stdout else (done.stderr or done.stdout).strip().splitlines()[-1]


def _not_hashed(due: list[Unit]) -> list[str]:
    """The files of the tree that nvcc has read and that are no inputs of a receipt, by the dependencies that ninja keeps."""
    files = [f"build/{unit.name}.ptx" for unit in due]
    done = subprocess.run(["ninja", "-t", "deps", *files], cwd=ROOT, capture_output=True, text=True)
    faults = []
    for stem, listed in re.findall(r"^build/(\S+)\.ptx: #deps .*\n((?: +.*\n)*)", done.stdout, re.MULTILINE):
        read = {(ROOT / name).resolve() for name in map(str.strip, listed.splitlines())}
        missing = sorted(path for path in read.difference(receipts.closure(ROOT / sources()[stem].file))
                         if path.is_relative_to(ROOT) and not path.is_relative_to(ROOT / ".venv"))
        faults += [f"{stem}: nvcc reads {path.relative_to(ROOT)}, on which its receipt does not depend" for path in missing]
    return faults


@dataclass(frozen=True)
class Measured:
    images: dict[str, Image]   # by the paths of sources below the build folder: sm_90a/barrier
    skipped: list[str]         # what has changed, with other tools than those of the receipts
    faults: list[str]


def measured(everything: bool = False) -> Measured:
    faults: list[str] = []

    def compute(due: list[Unit]) -> dict[str, dict]:
        needs = [need for unit in due for need in unit.needs]
        if first := not_built(needs):
            faults.append(f"{len(due)} images have no receipt, {due[0].name} for one, and their machine code is not built: "
                          f"ninja {needs[0]}{' ...' * (len(needs) > 1)} ({first})")
            return {}
        faults.extend(_not_hashed(due))
        return {} if faults else {unit.name: machine_code.read(unit.name).as_json() for unit in due}

    why = lacking()
    settled = receipts.settle(GROUP, units(), None if why else compute, everything)
    skipped = [f"{name}: {why}" for name in ("all images",) * everything + tuple(settled.missing)] if why else []
    return Measured({name: Image.from_json(result) for name, result in settled.results.items()}, skipped, faults + settled.faults)


@functools.cache
def packed_units() -> tuple[Unit, ...]:
    """One for each operation and GPU target."""
    inputs = {unit.name: unit.inputs for unit in units()}
    found = []
    targets = [target for target in plan.targets() if target.kind == "gpu"]
    for target, operation in itertools.product(targets, plan.OPERATIONS):
        of_sources = [inputs[unit.build_stem] for unit in plan.units(operation, [target])]
        digest = receipts.digest(ROOT / "gen/images.py", of_sources)
        found.append(Unit(f"{target.name}/{operation}", digest, (images.path("build", target.name, operation),)))
    return tuple(found)


@dataclass(frozen=True)
class Packed:
    bytes: dict[str, int]      # by target and operation: sm_90a/barrier
    skipped: list[str]
    faults: list[str]


def packed(everything: bool = False) -> Packed:
    faults: list[str] = []

    def compute(due: list[Unit]) -> dict[str, int]:
        needs = [need for unit in due for need in unit.needs]
        if first := not_built(needs):
            faults.append(f"{len(due)} packed images have no receipt, {due[0].name} for one, and are not built: ninja {needs[0]} "
                          f"({first})")
            return {}
        return {unit.name: (ROOT / unit.needs[0]).stat().st_size for unit in due}

    why = lacking()
    settled = receipts.settle(PACKED, packed_units(), None if why else compute, everything)
    skipped = [f"{name}: {why}" for name in settled.missing] if why else []
    return Packed(dict(settled.results), skipped, faults + settled.faults)
