"""Where the sanitized suites leave how often they executed each line, build/coverage/CONFIGURATION/SUITE/*.profraw, and what LLVM
says of them.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/coverage"
SOURCES = ("include", "src", "templates", "generated")    # of the library


def objects() -> list[Path]:
    """The objects of the host and of the kernels.  Each is named, since a program contains only those that it calls."""
    return sorted([*(ROOT / "build/address/src").rglob("*.o"), *(ROOT / "build/address").glob("*/*__*.o")])


def everything() -> list[Path]:
    return sorted(FOLDER.rglob("*.profraw"))


def of_suite(configuration: str, suite: str) -> list[Path]:
    return sorted((FOLDER / configuration / suite).glob("*.profraw"))


def problem() -> str:
    """Why the counts cannot be used, or an empty string.  A library that is built again of the same sources has the same lines."""
    if not everything():
        return "there are no counts"
    sources = (path for folder in SOURCES for path in (ROOT / folder).rglob("*") if path.is_file())
    newest = max(sources, key=lambda path: path.stat().st_mtime)
    old = [path for path in everything() if path.stat().st_mtime < newest.stat().st_mtime]
    return f"{old[0].relative_to(ROOT)} is older than {newest.relative_to(ROOT)}" if old else ""


def _tool(name: str) -> str:
    """LLVM's tool of the version of clang that compiled the counts."""
    done = subprocess.run(["clang", "-dumpversion"], capture_output=True, text=True, check=True)
    return f"{name}-{done.stdout.split('.')[0].strip()}"


def _export(counts: Iterable[Path], compiled: list[Path], *options: str) -> str:
    with tempfile.TemporaryDirectory() as scratch:
        listing, merged = Path(scratch) / "counts.txt", Path(scratch) / "counts.profdata"
        listing.write_text("".join(f"1,{path}\n" for path in counts))  # a weight, since a path may have a comma
        subprocess.run([_tool("llvm-profdata"), "merge", "-sparse", f"-input-files={listing}", "-o", str(merged)], check=True)
        command = [_tool("llvm-cov"), "export", "-skip-expansions", *options, f"-instr-profile={merged}", str(compiled[0]),
                   *(word for path in compiled[1:] for word in ("-object", str(path)))]
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def export(counts: Iterable[Path], compiled: list[Path]) -> dict:
    """The files and functions of these objects, as `llvm-cov export` has them."""
    return json.loads(_export(counts, compiled))["data"][0]


def lines(counts: Iterable[Path], compiled: list[Path]) -> dict[str, dict[int, int]]:
    """How often each line of each file was executed; lines without code have no number."""
    found: dict[str, dict[int, int]] = {}
    for row in _export(counts, compiled, "-skip-functions", "-format=lcov").splitlines():
        if row.startswith("SF:"):
            of_file = found.setdefault(name_of(row[3:]), {})
        elif row.startswith("DA:"):
            line, count = row[3:].split(",")[:2]
            of_file[int(line)] = of_file.get(int(line), 0) + int(count)
    return found


def name_of(file: str) -> str:
    return str(Path(file).relative_to(ROOT))


def functions(exported: dict) -> dict[tuple[str, str], int]:
    """How often each function was called, by its file and name, over all copies of an inline one."""
    found: dict[tuple[str, str], int] = {}
    for each in exported["functions"]:
        key = name_of(each["filenames"][0]), each["name"].rsplit(":", 1)[-1]
        found[key] = found.get(key, 0) + each["count"]
    return found
