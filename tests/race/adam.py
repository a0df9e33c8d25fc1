"""ThreadSanitizer over Adam's emulated kernels: they must be silent, and each variant without one of its orders must be reported
(see races.py).

All step kernels of a form have the same code between their threads, so that one plain and one full row stand for them, in blocks of
two warps (see packs.py).  Races between blocks are only sometimes seen: here a block starts when the one before it has ended,
and ThreadSanitizer soon forgets threads that have ended.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import packs
import races
from gen import plan, spec
from runner import targets, texts

PLAIN, FULL, COMBINE = "adam_pbf16_gbf16", "adam_pf32_gf32_full", "gradient_norm_combine"
KERNELS = ("adam_pbf16_gbf16_mbf16_vbf16", "adam_pf32_gf32_me4m3_ve4m3_full", "adam_gradient_norm_bf16", "adam_gradient_norm_f32",
           "adam_gradient_norm_combine", "adam_gradient_accumulate_bf16")
MACHINES = {name: spec.GPU_TARGETS[name].emulated for name in texts.owners("adam")}


@dataclass(frozen=True)
class Variant:
    name: str
    unit: str         # whose PTX is changed
    pattern: str
    replacement: str


BROKEN_TARGET = targets.first_with("async_copy").name
VARIANTS = [
    Variant("a step that is used before it is there", PLAIN, r"^\s*(bar|barrier)\.sync.*;$", ""),
    Variant("a tile that is used before it is there", PLAIN, r"^\s*bar\.warp\.sync.*;$", ""),
    Variant("scales that are stored before they are read", FULL, r"^\s*bar\.warp\.sync.*;$", ""),
    Variant("sums that are added before they are there", COMBINE, r"^\s*(bar|barrier)\.sync.*;$", ""),
]


def units(target: str) -> list[plan.Unit]:
    """Those of KERNELS, in blocks of two warps."""
    chosen = [(unit, [kernel for kernel in unit.kernels if kernel.symbol in KERNELS])
              for unit in plan.units("adam", [spec.GPU_TARGETS[target]])]
    return [packs.in_small_blocks(unit, 64, kernels) for unit, kernels in chosen if kernels]


def run(target: str, directory: Path, *kernels: Path) -> tuple[int, str]:
    """What is in none of these directories is prepared but never called: it needs no ThreadSanitizer."""
    searched = ":".join(str(path) for path in (*kernels, directory, races.BUILD / "emulator"))
    return races.run_emulated("race_adam", MACHINES[target], searched, QUERN_TEST_PACK=str(directory / f"{target}.qpack"),
                              QUERN_EMULATOR_SMS="1")


def make(target: str, directory: Path) -> None:
    chosen = units(target)
    packs.make_pack(target, chosen, directory)
    packs.emulate(target, [unit.stem for unit in chosen], directory, directory)


def check_machines() -> Iterator[bool]:
    for target in MACHINES:
        with tempfile.TemporaryDirectory() as name:
            make(target, Path(name))
            yield races.is_silent(target, *run(target, Path(name)))


def check_variants() -> Iterator[bool]:
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as other:
        directory, broken = Path(name), Path(other)
        make(BROKEN_TARGET, directory)
        for variant in VARIANTS:
            packs.emulate(BROKEN_TARGET, [variant.unit], directory, broken, variant.pattern, variant.replacement)
            yield races.is_reported(variant.name, lambda: run(BROKEN_TARGET, directory, broken))


if __name__ == "__main__":
    sys.exit(races.main(check_machines, check_variants))
