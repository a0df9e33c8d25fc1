"""The lines of GPU kernels, by the line table of the PTX: read once for each target and kept in build/mutation."""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from mutation.trees import ROOT

sys.path.insert(0, str(ROOT))
from gen import plan, render, toolchain  # noqa: E402

KEPT = ROOT / "build/mutation"
LOCATION = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)", re.MULTILINE)
INLINED = re.compile(r"inlined_at\s+(\d+)\s+(\d+)")
FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]+)"', re.MULTILINE)

Lines = dict[str, list[int]]


def _digest(*folders: str) -> str:
    total = hashlib.sha256()
    for folder in folders:
        paths = sorted((ROOT / folder).rglob("*")) if (ROOT / folder).is_dir() else [ROOT / folder]
        for path in paths:
            if path.is_file() and "__pycache__" not in path.parts:
                total.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def _ptx_lines(text: str) -> dict[str, set[int]]:
    """The lines of src/ that the PTX of a unit contains, those of inlined functions and of their calls included."""
    files = {number: path for number, path in FILE.findall(text)}
    found: dict[str, set[int]] = {}
    for number, line in [*LOCATION.findall(text), *INLINED.findall(text)]:
        path = Path(files.get(number, ""))
        name = str(path.resolve().relative_to(ROOT)) if path.is_absolute() and path.resolve().is_relative_to(ROOT) else str(path)
        if name.startswith("src/"):
            found.setdefault(name, set()).add(int(line))
    return found


@dataclass(frozen=True)
class Unit:
    """The kernels of a target that are compiled together, and the lines of src/ that they contain."""

    target: str
    stem: str
    operation: str
    source: str
    ptx: str        # that the compiler makes for it, of this target or of one with the same text
    bytes: int      # its length: what it costs
    lines: Lines


def _unit(unit: plan.Unit, source: str, definitions: tuple[str, ...], compiled: str) -> Unit:
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "unit.ptx"
        subprocess.run([str(toolchain.find_nvcc()), "-ptx", "-lineinfo", f"-arch={unit.target.virtual_architecture}",
                        *toolchain.NVCC_FLAGS, *(f"-D{each}" for each in definitions), source, "-o", str(out)],
                       cwd=ROOT, check=True, capture_output=True)
        lines = {name: sorted(numbers) for name, numbers in _ptx_lines(out.read_text()).items()}
        return Unit(unit.target.name, unit.stem, unit.operation, source, f"build/{compiled}.ptx", out.stat().st_size, lines)


def kernel_units(target: str, before: Sequence[str]) -> list[Unit]:
    """The units of a target that are compiled from another text than those of the targets before it, the cheapest first."""
    kept_at = KEPT / f"units-{target}.json"
    digest = _digest("src/kernels", "gen", "templates")
    kept = json.loads(kept_at.read_text()) if kept_at.exists() else {}
    if kept.get("digest") != digest:
        every = [unit for operation in plan.OPERATIONS for unit in plan.units(operation) if unit.target.kind == "gpu"]
        sources = render.Sources(render.Renderer(), every)
        texts = {unit.build_stem: (sources.of_unit[unit.build_stem], sources.definitions[unit.build_stem]) for unit in every}
        seen = {texts[unit.build_stem] for unit in every if unit.target.name in before}
        chosen = [unit for unit in every if unit.target.name == target and texts[unit.build_stem] not in seen]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(lambda unit: _unit(unit, *texts[unit.build_stem], sources.compiled[unit.build_stem]), chosen))
        kept = {"digest": digest, "units": [asdict(unit) for unit in found]}
        kept_at.parent.mkdir(parents=True, exist_ok=True)
        kept_at.write_text(json.dumps(kept))
    return sorted((Unit(**unit) for unit in kept["units"]), key=lambda unit: unit.bytes)


def includes(unit: Unit) -> list[str]:
    """The files that a unit was compiled from, by the last build."""
    return subprocess.run(["ninja", "-t", "deps", unit.ptx], cwd=ROOT, capture_output=True, text=True).stdout.split()
