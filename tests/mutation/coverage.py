"""The lines that each job executes: gcov's for code on the CPU, the line table of the PTX for GPU kernels.  Recorded once.

A record is kept in build/mutation/coverage.json until a source of the library or of the job changes.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from mutation.trees import ROOT, Tree
from runner import jobs

sys.path.insert(0, str(ROOT))
from gen import plan, render, toolchain  # noqa: E402

KEPT = ROOT / "build/mutation/coverage.json"
OBJECTS = ("src", "portable", "avx2", "avx512")    # below build/: what is compiled for coverage
LOCATION = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)", re.MULTILINE)
INLINED = re.compile(r"inlined_at\s+(\d+)\s+(\d+)")
FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]+)"', re.MULTILINE)
LIMIT = 1200.0  # seconds for one job; programs with coverage are slower

Lines = dict[str, list[int]]


def _digest(*folders: str) -> str:
    total = hashlib.sha256()
    for folder in folders:
        paths = sorted((ROOT / folder).rglob("*")) if (ROOT / folder).is_dir() else [ROOT / folder]
        for path in paths:
            if path.is_file() and "__pycache__" not in path.parts:
                total.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def _sources_of(job: jobs.Job) -> list[str]:
    suite = f"tests/suites/{job.name}.c"
    return [suite, "tests/harness", "tests/oracle"] if (ROOT / suite).exists() else ["tests/faults", "tests/checks/pack"]


# ---- code on the CPU --------------------------------------------------------------------------------


def coverage_tree() -> Tree:
    tree = Tree(ROOT / "build/mutation/coverage-tree", {
        "CC": "gcc --coverage -fprofile-update=atomic -include tests/mutation/flush.h"})
    is_new = not (tree.root / "build").exists()
    tree.update()
    if is_new:  # the objects of the copied build are without coverage
        for name in (*OBJECTS, "tests"):
            shutil.rmtree(tree.root / "build" / name, ignore_errors=True)
    return tree


def _executed(tree: Tree, prefix: Path) -> Lines:
    """Reads what one run has left below a folder: the counts lie there under their absolute paths, the notes in the tree."""
    found: dict[str, set[int]] = {}
    counts = [path for path in prefix.rglob("*.gcda") if not path.is_relative_to(prefix / str(tree.root / "build/tests")[1:])]
    for path in counts:
        notes = Path("/") / path.relative_to(prefix).with_suffix(".gcno")
        if notes.exists() and not path.with_suffix(".gcno").exists():
            path.with_suffix(".gcno").symlink_to(notes)
    if not counts:
        return {}
    done = subprocess.run(["gcov", "--json-format", "--stdout", *map(str, counts)], cwd=tree.root, capture_output=True, text=True)
    for document in done.stdout.splitlines():
        for file in json.loads(document)["files"] if document.startswith("{") else ():
            name = str((tree.root / file["file"]).resolve().relative_to(tree.root.resolve())) \
                if (tree.root / file["file"]).resolve().is_relative_to(tree.root.resolve()) else ""
            if name.startswith("src/"):
                found.setdefault(name, set()).update(line["line_number"] for line in file["lines"] if line["count"])
    return {name: sorted(lines) for name, lines in found.items()}


def record(every: dict[str, jobs.Job], say: Callable[[str], None]) -> dict[str, Lines]:
    """The lines of src/ that each job executes on the CPU.  A job that fails without a mutant ends the run."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    library = _digest("src", "include", "gen", "templates")
    tree: Tree | None = None
    for number, (name, job) in enumerate(every.items(), 1):
        digest = hashlib.sha256(f"{library} {_digest(*_sources_of(job))}".encode()).hexdigest()
        if kept.get(name, {}).get("digest") == digest:
            continue
        tree = tree or coverage_tree()
        say(f"recording coverage: {number} of {len(every)}: {name}")
        with tempfile.TemporaryDirectory() as scratch:
            if not tree.build(job.targets):
                raise SystemExit(f"mutate: {name} cannot be built with coverage")
            if not tree.run(job, LIMIT, {"GCOV_PREFIX": scratch}):
                raise SystemExit(f"mutate: {name} fails without a mutant")
            kept[name] = {"digest": digest, "lines": _executed(tree, Path(scratch))}
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        KEPT.write_text(json.dumps(kept))
    return {name: kept[name]["lines"] for name in every}


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


def kernel_lines(target: str) -> dict[str, Lines]:
    """The lines of src/ in the GPU kernels of each operation, for one target."""
    kept_at = KEPT.with_name(f"lines-{target}.json")
    digest = _digest("src/kernels", "gen", "templates")
    kept = json.loads(kept_at.read_text()) if kept_at.exists() else {}
    if kept.get("digest") == digest:
        return kept["lines"]
    nvcc = toolchain.find_nvcc()
    units = [unit for operation in plan.OPERATIONS for unit in plan.units(operation)]
    sources = render.Sources(render.Renderer(), units)
    found: dict[str, dict[str, set[int]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "unit.ptx"
        for unit in units:
            if unit.target.name == target:
                definitions = [f"-D{each}" for each in sources.definitions[unit.build_stem]]
                subprocess.run([str(nvcc), "-ptx", "-lineinfo", f"-arch={unit.target.virtual_architecture}", *toolchain.NVCC_FLAGS,
                                *definitions, sources.of_unit[unit.build_stem], "-o", str(out)],
                               cwd=ROOT, check=True, capture_output=True)
                for name, lines in _ptx_lines(out.read_text()).items():
                    found.setdefault(unit.operation, {}).setdefault(name, set()).update(lines)
    kept = {operation: {name: sorted(lines) for name, lines in files.items()} for operation, files in found.items()}
    kept_at.parent.mkdir(parents=True, exist_ok=True)
    kept_at.write_text(json.dumps({"digest": digest, "lines": kept}))
    return kept
