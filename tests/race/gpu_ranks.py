"""ThreadSanitizer over GPU ranks on the emulator: the kernels must be silent, and each variant without one of its orders must be
reported (see races.py).

The kernels are compiled for blocks of one warp, into a kernel pack that the program loads (see packs.py).  A variant has one kind
of instruction weakened or taken out, in the PTX of all kernels or of some.
"""

from __future__ import annotations

import fnmatch
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import packs
import races
from gen import plan, spec
from gen.operations import quantize
from runner import targets, texts

OPERATIONS = ("barrier", "ragged_all_to_all", "collective")
OTHERS = ("quantize",)  # whose kernels chunks use

# A glob of QUERN_KERNEL that refuses the 1 of f16 and bf16, with and without an output behind it, and the 5 of e5m2.
ONE_DTYPE = "*[!1]???[!5][!1]?__*"

Machine = tuple[str, str, bool]


def machine(target: spec.GpuTarget, multicast: bool) -> Machine:
    """What runs: a target, its compute capability, and whether signals go by multicast."""
    return target.name, target.emulated, multicast


PLAIN, MULTICAST = (machine(targets.first_with("multimem"), multicast) for multicast in (False, True))
MACHINES = [PLAIN, *(machine(target, "multimem" in target.features)
                     for target in (spec.GPU_TARGETS[name] for name in texts.owners(*OPERATIONS)))]


@dataclass(frozen=True)
class Variant:
    name: str
    pattern: str
    replacement: str
    machine: Machine
    stem: str | None = None  # of the kernels that are changed; None: all


VARIANTS = [
    Variant("signals without release", r"st\.release\.sys(?=\.global\.u64)", "st.relaxed.sys", PLAIN),
    Variant("multicast signals without release", r"multimem\.st\.release", "multimem.st.relaxed", MULTICAST),
    Variant("signals looked at without acquire", r"ld\.acquire\.sys", "ld.relaxed.sys", PLAIN),
    *(Variant(f"words of chunks without release{name}", r"st\.release\.sys", "st.relaxed.sys", machine, "collective_chunks")
      for name, machine in (("", PLAIN), (" behind multicast codes", MULTICAST))),
    *(Variant(f"{what} counted without {order}", r"atom\.acq_rel", f"atom.{other}", PLAIN, stem)
      for order, other in (("release", "acquire"), ("acquire", "release"))
      for what, stem in (("parts of chunks", "collective_chunks"), ("blocks of all-to-alls", "ragged_all_to_all"),
                         ("blocks of collectives", "collective_combine"), ("blocks of moves", "collective_move"))),
    Variant("words of chunks looked at without acquire", r"ld\.acquire\.sys(?=\.global\.u32)", "ld.relaxed.sys", PLAIN,
            "collective_chunk_meeting"),
    Variant("no barriers in the blocks", r"^\s*(bar|barrier)\.sync.*;$", "", PLAIN),
]


def is_used(kernel: plan.Kernel) -> bool:
    """QUERN_KERNEL does not leave out kernels that only serve others, such as those of an amax."""
    return fnmatch.fnmatchcase(kernel.name, ONE_DTYPE) or kernel.key.get("variant") == quantize.AMAX


def units(target: str) -> list[plan.Unit]:
    """The library's kernels in blocks of one warp; of those that differ in their dtype, one."""
    found = [unit for operation in OPERATIONS + OTHERS for unit in plan.units(operation, [spec.GPU_TARGETS[target]])]
    return [packs.in_small_blocks(unit, 32, [kernel for kernel in unit.kernels if is_used(kernel)]) for unit in found]


def stems(target: str) -> list[str]:
    return [unit.stem for unit in units(target)]


def run(machine: Machine, kernels: Path, directory: Path) -> tuple[int, str]:
    target, capability, multicast = machine
    return races.run_emulated("race_gpu_ranks", ",".join([capability] * 3), str(kernels), QUERN_KERNEL=ONE_DTYPE,
                              QUERN_TEST_PACK=str(directory / f"{target}.qpack"), QUERN_EMULATOR_MULTICAST=str(int(multicast)))


def make(machines: Iterable[Machine], directory: Path) -> None:
    for target in sorted({machine[0] for machine in machines}):
        packs.make_pack(target, units(target), directory)
        packs.emulate(target, stems(target), directory, directory)


def check_machines() -> Iterator[bool]:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        make(MACHINES, directory)
        for machine in MACHINES:
            yield races.is_silent(f"{machine[0]}{' by multicast' if machine[2] else ''}", *run(machine, directory, directory))


def check_variants() -> Iterator[bool]:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        make((variant.machine for variant in VARIANTS), directory)
        for variant in VARIANTS:
            with tempfile.TemporaryDirectory() as other:
                packs.emulate(variant.machine[0], stems(variant.machine[0]), directory, Path(other), variant.pattern,
                              variant.replacement, variant.stem)
                yield races.is_reported(variant.name, lambda: run(variant.machine, Path(other), directory))


if __name__ == "__main__":
    sys.exit(races.main(check_machines, check_variants))
