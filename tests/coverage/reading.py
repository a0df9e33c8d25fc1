"""Reads the counts of clang's source-based coverage: the lines that were executed, and the lines and outcomes of conditions that
never came.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The first line of a definition, which begins in the first column; or the whole of it.
FUNCTION = re.compile(r"^[A-Za-z_].*?\b(?P<long>\w+)\([^;]*$|^[A-Za-z_][^=;]*?\b(?P<short>\w+)\([^;{]*\) \{.*\}$")
IGNORED = ("", "{", "}", "} else {", "};")


@dataclass(frozen=True, order=True)
class Place:
    """One line, or one outcome of a condition, named by its text, so that it stays the same when lines move."""

    file: str
    function: str
    text: str       # of the line, or `CONDITION is never true`, or `is never called`

    def __str__(self) -> str:
        return f"{self.file}: {self.function}: {self.text}"


def tool(name: str) -> str:
    """LLVM's tool of the version of clang that compiled the counts."""
    done = subprocess.run(["clang", "-dumpversion"], capture_output=True, text=True, check=True)
    return f"{name}-{done.stdout.split('.')[0].strip()}"


def export(counts: Iterable[Path], objects: list[Path], scratch: Path) -> dict:
    """What llvm-cov says of the sources of these objects, by file."""
    listing, merged = scratch / "counts.txt", scratch / "counts.profdata"
    listing.write_text("".join(f"1,{path}\n" for path in counts))  # a weight, since a path may have a comma
    subprocess.run([tool("llvm-profdata"), "merge", "-sparse", f"-input-files={listing}", "-o", str(merged)], check=True)
    command = [tool("llvm-cov"), "export", "-skip-functions", f"-instr-profile={merged}", str(objects[0]),
               *(word for path in objects[1:] for word in ("-object", str(path)))]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return {str(Path(file["filename"]).relative_to(ROOT)): file for file in json.loads(done.stdout)["data"][0]["files"]}


# ---- one file ---------------------------------------------------------------------------------------


def _lines(segments: list[list]) -> dict[int, int]:
    """The count of each line: the largest of the regions that begin on it, else that of the region around it."""
    by_line: dict[int, list[list]] = defaultdict(list)
    for segment in segments:
        by_line[segment[0]].append(segment)
    found: dict[int, int] = {}
    around: list | None = None
    for line in range(segments[0][0], segments[-1][0] + 1) if segments else ():
        here = by_line.get(line, [])
        begun = [segment[2] for segment in here if segment[3] and segment[4] and not segment[5]]
        skipped = bool(here) and not here[0][3] and here[0][4]
        if not skipped and (begun or (around and around[3])):
            found[line] = max([*begun, *([around[2]] if around and around[3] else [])])
        if here:
            around = here[-1]
    return found


def _outcomes(branches: list[list]) -> dict[tuple[int, int, int, int], tuple[int, int]]:
    """How often each condition was true and false, over all copies of an inline function."""
    total: dict[tuple[int, int, int, int], tuple[int, int]] = {}
    for first, column, last, end, true, false, *_ in branches:
        seen = total.get((first, column, last, end), (0, 0))
        total[first, column, last, end] = (seen[0] + true, seen[1] + false)
    return total


class Source:
    """The text of a file, and the function around each line: empty for macros, whose uses are counted."""

    def __init__(self, file: str) -> None:
        self.lines = (ROOT / file).read_text().splitlines()
        self.functions = [""] * (len(self.lines) + 1)
        self.first: set[int] = set()    # the lines with which functions begin
        name, is_macro = "", False
        for number, line in enumerate(self.lines, 1):
            is_macro = line.startswith("#define") or (is_macro and self.lines[number - 2].endswith("\\"))
            if found := FUNCTION.match(line):
                name = found["long"] or found["short"]
                self.first.add(number)
            self.functions[number] = "" if is_macro else name

    def line(self, number: int) -> str:
        return " ".join(self.lines[number - 1].split())

    def between(self, first: int, column: int, last: int, end: int) -> str:
        text = self.lines[first - 1:last]
        text[-1] = text[-1][:end - 1]
        text[0] = text[0][column - 1:]
        return " ".join(" ".join(text).split())


def executed(record: dict) -> list[int]:
    return sorted(line for line, count in _lines(record["segments"]).items() if count)


def unreached(file: str, record: dict) -> Counter[Place]:
    """A condition that was never reached is not named: its line is, or the condition before it, or its function."""
    source, found = Source(file), Counter[Place]()
    lines = _lines(record["segments"])
    idle = {source.functions[line] for line in source.first if lines.get(line) == 0}
    found.update(Place(file, function, "is never called") for function in idle)
    for line, count in lines.items():
        function = source.functions[line]
        if not count and function and function not in idle and source.line(line) not in IGNORED:
            found[Place(file, function, source.line(line))] += 1
    for (first, column, last, end), (true, false) in _outcomes(record["branches"]).items():
        if bool(true) != bool(false) and source.functions[first]:
            outcome = "false" if true else "true"
            found[Place(file, source.functions[first], f"{source.between(first, column, last, end)} is never {outcome}")] += 1
    return found


def counted(file: str, record: dict) -> dict[tuple[int, ...], tuple[Place, int]]:
    """How often each function, each line and each outcome of a condition came, by their positions."""
    source, found = Source(file), {}
    for line, count in _lines(record["segments"]).items():
        function = source.functions[line]
        if line in source.first:
            found[(line, 0)] = Place(file, function, "is never called"), count
        if function and source.line(line) not in IGNORED:
            found[(line, 1)] = Place(file, function, source.line(line)), count
    for (first, column, last, end), outcomes in _outcomes(record["branches"]).items():
        for name, count in zip(("true", "false"), outcomes):
            if source.functions[first]:
                text = f"{source.between(first, column, last, end)} is never {name}"
                found[(first, column, last, end, name == "true")] = Place(file, source.functions[first], text), count
    return found
