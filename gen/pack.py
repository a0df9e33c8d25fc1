"""Kernel packs: the table rows and images of one GPU target in a file that an engine loads (see src/runtime/pack_format.h)."""

from __future__ import annotations

import struct
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count, getpid
from pathlib import Path

from gen import images, plan, selection, spec, toolchain
from gen.arguments import end_of_check
from gen.render import ROOT, Renderer

MAGIC = b"QUERNPAK"
HEADER = struct.Struct("<8sIIIIQQ32sii")
ROW = struct.Struct("<96s64s56sIii5iiiIIIIIII4xqQQ")
PACKS = ROOT / "build" / "packs"
KEY_DTYPES = 5  # QUERN_KEY_DTYPES of src/kernels/kernel.h


def compile_units(target: spec.GpuTarget, units: list[plan.Unit], directory: Path) -> dict[str, Path]:
    """Renders and compiles every unit; the PTX stays beside the fatbin, for the tests to emulate and the audit to read."""
    nvcc, ptxas_12 = toolchain.find_nvcc(), toolchain.find_ptxas_12()
    if nvcc is None:
        raise SystemExit("nvcc not found: a kernel pack needs it (./quern toolkit installs it)")
    renderer = Renderer()
    directory.mkdir(parents=True, exist_ok=True)

    def compile_one(unit: plan.Unit) -> Path:
        out = directory / unit.stem
        with tempfile.NamedTemporaryFile("w", suffix=".cu", dir=directory) as source:
            text = renderer.unit(unit)
            source.write(text)
            source.flush()
            toolchain.ptx(nvcc, target, Path(source.name), out.with_suffix(".ptx"), target.definitions(text))
        toolchain.cubin(nvcc, ptxas_12, target, out.with_suffix(".ptx"), out.with_suffix(".cubin"))
        images.wrap(nvcc, target, out.with_suffix(".cubin"), out.with_suffix(".ptx"), out.with_suffix(".fatbin"))
        return out.with_suffix(".fatbin")

    made = {}
    with ThreadPoolExecutor(cpu_count()) as pool:
        for unit, fatbin in zip(units, pool.map(compile_one, units)):
            made[unit.stem] = fatbin
            print(f"[{len(made)}/{len(units)}] {fatbin.name}", flush=True)
    return made


def row(kernel: plan.Kernel, offset: int, size: int) -> bytes:
    target = kernel.target
    assert isinstance(target, spec.GpuTarget)
    dtypes = [spec.DTYPES[dtype].number if dtype else 0 for dtype in kernel.dtypes]
    dtypes += [0] * (KEY_DTYPES - len(dtypes))
    names = (name.encode() for name in (kernel.name, kernel.symbol, kernel.stem))
    return ROW.pack(*names, kernel.row.bit, target.cc_min, target.cc_max, *dtypes, kernel.task.number, kernel.full, kernel.threads,
                    kernel.elements, kernel.shared_per_column, kernel.shared_per_part, kernel.shared_fixed, kernel.cluster,
                    kernel.waits, kernel.vocab_max, offset, size)


def assemble(target: spec.GpuTarget, units: list[plan.Unit], fatbins: dict[str, bytes]) -> bytes:
    """The bytes of the pack.  Its images were made with the tools that are found."""
    toolkit = toolchain.toolkit_of(target)
    kernels = [(unit, kernel) for unit in units for kernel in unit.kernels]
    begin = images.aligned(HEADER.size + ROW.size * len(kernels))
    contents, places = b"", {}
    for operation in dict.fromkeys(unit.operation for unit in units):
        packed = images.pack({unit.stem: fatbins[unit.stem] for unit in units if unit.operation == operation})
        places[operation] = begin + len(contents), len(packed)
        contents += packed.ljust(images.aligned(len(packed)), b"\0")
    rows = b"".join(row(kernel, *places[unit.operation]) for unit, kernel in kernels)
    body = rows.ljust(begin - HEADER.size, b"\0") + contents

    def header(check: int) -> bytes:
        return HEADER.pack(MAGIC, spec.PACK_VERSION, HEADER.size, ROW.size, len(kernels), HEADER.size + len(body), check,
                           target.name.encode(), toolchain.least_driver(target, toolkit), toolkit)

    return header(images.checksum(header(0) + body)) + body


def units_of(target: spec.GpuTarget, operations: Sequence[str] = tuple(plan.OPERATIONS)) -> list[plan.Unit]:
    return [unit for operation in operations for unit in plan.units(operation, [target])]


def write(target: spec.GpuTarget, units: list[plan.Unit], path: Path) -> int:
    """Returns the number of bytes."""
    fatbins = compile_units(target, units, PACKS / target.name)
    data = assemble(target, units, {stem: fatbin.read_bytes() for stem, fatbin in fatbins.items()})
    new = path.with_name(f".{path.name}.{getpid()}")
    try:
        new.write_bytes(data)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
    return len(data)


def run(name: str, output: str | None, operations: str | None) -> int:
    """python -m gen pack NAME"""
    try:
        target = spec.GPU_TARGETS[selection.chosen("GPU target", name, list(spec.GPU_TARGETS))[0]]
        units = units_of(target, selection.chosen("operation", operations, list(plan.OPERATIONS)))
        path = Path(output) if output else PACKS / f"{name}.qpack"
        if output and not path.parent.is_dir():
            raise selection.BadSelection(f"there is no folder {path.parent} for {path.name}")
    except selection.BadSelection as fault:
        print(f"./quern gen pack: {fault}", file=sys.stderr)
        return 2
    end_of_check()
    size = write(target, units, path)
    rows = sum(len(unit.kernels) for unit in units)
    print(f"{path}: {rows} kernels for {name} (compute capability {target.cc_min / 10:.1f} up), {size:,} bytes")
    return 0
