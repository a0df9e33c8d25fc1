"""Kernels in small blocks for ThreadSanitizer, which can tell 256 threads apart and mistakes threads that share a number for one.

They are compiled into a kernel pack that a race program loads, and their PTX, as it is or with one kind of instruction weakened or
taken out, is translated for the emulator.
"""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from races import ROOT
from gen import pack, plan, spec


class SmallKernel(plan.Kernel):
    """A kernel in blocks of fewer threads than the library's."""

    block_threads: int

    @property
    def geometry(self) -> spec.Geometry:
        return dataclasses.replace(super().geometry, threads=self.block_threads)


def in_small_blocks(unit: plan.Unit, threads: int, kernels: Iterable[plan.Kernel] | None = None) -> plan.Unit:
    """The unit with these of its kernels, or all, in blocks of so many threads."""
    chosen = type("SmallKernel", (SmallKernel,), {"block_threads": threads})
    return dataclasses.replace(unit, kernels=tuple(chosen(k.operation, k.target, k.pairs) for k in kernels or unit.kernels))


def make_pack(target: str, units: list[plan.Unit], directory: Path) -> None:
    """The kernels of these units in DIRECTORY/TARGET.qpack, and their PTX in DIRECTORY/TARGET/."""
    row = spec.GPU_TARGETS[target]
    fatbins = pack.compile_units(row, units, directory / target)
    (directory / f"{target}.qpack").write_bytes(
        pack.assemble(row, units, {stem: fatbin.read_bytes() for stem, fatbin in fatbins.items()}))


def _compile(source: Path) -> Path:
    subprocess.run([sys.executable, "tests/emulator/translate.py", source, "-o", source.with_suffix(".cpp")], check=True, cwd=ROOT)
    subprocess.run(["clang++", "-std=c++17", "-O1", "-g1", "-fPIC", "-ffp-contract=off", "-w", "-fsanitize=thread", "-I",
                    "tests/emulator", "-c", source.with_suffix(".cpp"), "-o", source.with_suffix(".o")], check=True, cwd=ROOT)
    return source.with_suffix(".o")


def emulate(target: str, stems: Iterable[str], packs: Path, directory: Path, pattern: str = "", replacement: str = "",
            only: str | None = None) -> None:
    """The translated kernels for a target, in DIRECTORY/TARGET.so: a pack's PTX with each match of the pattern replaced, in the
    kernels of one stem or of all.  Without a pattern the objects stay in DIRECTORY, for kernels that no pattern changes."""
    sources, objects = [], []
    for stem in stems:
        text, count = (packs / target / f"{stem}.ptx").read_text(), 0
        if pattern and only in (None, stem):
            text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
        if pattern and not count:
            objects.append(packs / f"{target}_{stem}.o")
            continue
        sources.append(directory / f"{target}_{stem}.ptx")
        sources[-1].write_text(text)
    if not sources:
        raise SystemExit(f"no PTX of {target} has {pattern}")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects += pool.map(_compile, sources)
    subprocess.run(["clang++", "-shared", "-fsanitize=thread", *objects, "-o", directory / f"{target}.so"], check=True)
