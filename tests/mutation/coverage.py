"""The lines that each suite executes: the counts of the sanitized suites for code on the CPU, the line table of the PTX for GPU
kernels.  Both are read once and kept in build/mutation.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from coverage import counts, reading
from mutation.trees import ROOT
from runner import devices

sys.path.insert(0, str(ROOT))
from gen import plan, render, toolchain  # noqa: E402

KEPT = ROOT / "build/mutation/lines.json"
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


# ---- code on the CPU --------------------------------------------------------------------------------


def _executed(profile: list[Path], configuration: devices.Configuration) -> Lines:
    target = configuration.environment.get("QUERN_TEST_TARGET", "")
    objects = [path for path in counts.objects() if not path.stem.count("__") or path.stem.endswith(f"__{target}")]
    with tempfile.TemporaryDirectory() as scratch:
        records = reading.export(profile, objects, Path(scratch))
    found = {file: reading.executed(record) for file, record in records.items() if file.startswith("src/")}
    for file, record in records.items():  # the rendered text of an operation: its lines are not those of the template
        if file.startswith("generated/") and reading.executed(record):
            found[str(Path(file).parent)] = []
    return found


def record(configurations: list[devices.Configuration], say: Callable[[str], None]) -> dict[tuple[str, str], Lines]:
    """The lines of src/ that each suite executes on the CPU, by the names of the configuration without sanitizers and the suite."""
    counted = [each for each in configurations if each.counts and not each.unavailable]
    if counts.problem():
        say("recording the lines of each suite: running the sanitized suites")
        subprocess.run([sys.executable, "tests/run.py", "--only", "sanitized *"], cwd=ROOT, check=False)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    found: dict[tuple[str, str], Lines] = {}
    for each in counted:
        for suite in each.suites():
            profile = counts.of_suite(each.name, suite.name)
            if not profile:
                continue  # left to another target, whose kernels have the same text
            name, stamp = f"{each.name}: {suite.name}", max(path.stat().st_mtime_ns for path in profile)
            if kept.get(name, {}).get("stamp") != stamp:
                kept[name] = {"stamp": stamp, "lines": _executed(profile, each)}
                say(f"read the lines of {name}")
                KEPT.parent.mkdir(parents=True, exist_ok=True)
                KEPT.write_text(json.dumps(kept))
            found[each.name.removeprefix("sanitized "), suite.name] = kept[name]["lines"]
    return found


# ---- GPU kernels ------------------------------------------------------------------------------------


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
    kept_at = KEPT.with_name(f"units-{target}.json")
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
