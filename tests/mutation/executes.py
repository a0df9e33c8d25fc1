"""Which suites execute a changed line, by the kept table tests/runner/executes.json: the suites that call each function on the CPU.

    python3 tests/mutation/executes.py    writes the table of the counts that `./quern test --only 'sanitized *'` has left

Of GPU kernels, which have no counts, and of what suites include, the `#include` lines tell.  A job is a kind of configuration and a
suite, (`cpu`, `test_adam`); each fault of a driver is a kind.  A file that the table lacks is executed by those that call the files
that include its header.  A suite that it lacks may execute every line; one that never runs with sanitizers, and so is not counted,
what others with kernels of its operations do.
Called by tests/mutate.py and tests/run.py.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests")]
from coverage import counts  # noqa: E402
from runner.record import Record, kind_of  # noqa: E402
from runner.suites import Suite, read_suites  # noqa: E402

KEPT = ROOT / "tests/runner/executes.json"
# The first line of a definition, which begins in the first column; or the whole of it.
FUNCTION = re.compile(r"^[A-Za-z_].*?\b(\w+)\([^;]*$|^[A-Za-z_][^=;]*?\b(\w+)\([^;{]*\) \{.*\}$")
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)
HERE = ("cpu", "ranks", "driver", "emulated", "oracle")    # the kinds that need no GPU

Job = tuple[str, str]


# ---- the sources ------------------------------------------------------------------------------------


def functions_at(file: str, lines: Iterable[int]) -> set[str] | None:
    """The functions of which these lines are a part; None if a line is a part of none."""
    path, around, name = ROOT / file, {}, ""
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else (), 1):
        found = FUNCTION.match(line)
        name = (found[1] or found[2]) if found else name
        around[number] = name
        name = "" if line.startswith("}") or (found and line.endswith("}")) else name
    found = {around.get(line, "") for line in lines}
    return None if "" in found else found


def is_library(file: str) -> bool:
    return file.startswith(("src/", "templates/", "generated/"))


@cache
def included(file: Path) -> frozenset[Path]:
    """A file and all of the project that it includes."""
    found, pending = {file}, [file]
    while pending:
        source = pending.pop()
        for name in INCLUDE.findall(source.read_text()):
            places = [folder / name for folder in (source.parent, ROOT / "include", ROOT / "src", ROOT / "tests")]
            new = next((place.resolve() for place in places if place.exists()), None)
            if new and new not in found:
                found.add(new)
                pending.append(new)
    return frozenset(found)


def users(file: str, pattern: str) -> list[Path]:
    """The files of a pattern that include a file."""
    return [path for path in sorted(ROOT.glob(pattern)) if ROOT / file in included(path)]


# ---- the table --------------------------------------------------------------------------------------


class Table:
    """The jobs of each function, `FILE: FUNCTION`; of kernels that are rendered, those of `generated/OPERATION: `."""

    def __init__(self, jobs: list[Job], functions: dict[str, dict[str, frozenset[int]]]) -> None:
        self.jobs, self.functions = jobs, functions
        self.record = Record()
        self.suites = {suite.name: suite for suite in read_suites()}
        self.unknown = {(kind, suite.name) for suite in self.suites.values() for kind in self._kinds(suite)} - set(jobs)

    @classmethod
    def read(cls) -> Table:
        kept = json.loads(KEPT.read_text())
        sets = [unpack(packed) for packed in kept["sets"]]
        functions = {file: {name: sets[int(number)] for number, names in groups.items() for name in names.split(" ")}
                     for file, groups in kept["files"].items()}
        return cls([tuple(job.split(": ")) for job in kept["jobs"]], functions)

    def write(self) -> None:
        sets = sorted({jobs for functions in self.functions.values() for jobs in functions.values()}, key=sorted)
        numbers = {jobs: number for number, jobs in enumerate(sets)}
        files = {}
        for file, functions in sorted(self.functions.items()):
            groups: dict[int, list[str]] = {}
            for name, jobs in sorted(functions.items()):
                groups.setdefault(numbers[jobs], []).append(name)
            files[file] = {str(number): " ".join(names) for number, names in sorted(groups.items())}
        rows = [f"{json.dumps(file)}: {json.dumps(groups, separators=(',', ':'))}" for file, groups in files.items()]
        jobs = json.dumps([": ".join(job) for job in self.jobs])
        KEPT.write_text(f'{{"jobs": {jobs},\n"sets": {json.dumps([pack(each) for each in sets])},\n"files": {{\n'
                        + ",\n".join(rows) + "\n}}\n")

    # ---- what is asked of it ----

    def _known(self, file: str, names: set[str] | None) -> set[Job]:
        """The jobs that call functions of a file; without names, or with a new one, those of all."""
        functions = self.functions.get(file, {})
        chosen = names if names is not None and names <= functions.keys() else functions.keys()
        return {self.jobs[number] for name in chosen for number in functions[name]}

    def _kernels(self, operations: set[str], kind: str) -> set[Job]:
        return {(kind, suite.name) for suite in self.suites.values() if kind in suite.kinds and operations & set(suite.operations)}

    def _of(self, file: str, lines: set[int]) -> set[Job]:
        path = Path(file)
        if file.startswith("tests/"):
            tests = [self.suites[user.stem] for user in users(str(path.with_suffix(".h")), "tests/suites/*.c")]
            tests += [self.suites[path.stem]] if path.parent.name == "suites" and path.stem in self.suites else []
            return {(kind, suite.name) for suite in tests for kind in self._kinds(suite)}
        if path.parts[0] in ("templates", "generated"):
            operation = path.parts[1]
            is_gpu, is_cpu = ".cu" in path.name, ".c" in path.suffixes
            found = self._kernels({operation}, "emulated") if is_gpu or not is_cpu else set()
            return found | (self._known(f"generated/{operation}", None) if not is_gpu else set())
        found = self._known(file, functions_at(file, lines))
        if not found and (path.suffix == ".h" or file not in self.functions):  # declarations, or a file that the table lacks
            headers = [each for each in (path.with_suffix(".h"), path.parent / f"{path.parent.name}.h") if (ROOT / each).exists()]
            found = {job for header in headers[:1] for user in users(str(header), "src/**/*.c")
                     for job in self._known(str(user.relative_to(ROOT)), None)}
        return found | self._kernels({user.parent.name for user in users(file, "generated/*/*.cu")}, "emulated")

    def _kinds(self, suite: Suite) -> list[str]:
        drivers = sorted({kind for kind, _ in self.jobs if kind.startswith("driver ")}) or ["driver"]
        return [kind for each in HERE if each in suite.kinds for kind in (drivers if each == "driver" else [each])]

    def known_for(self, changed: dict[str, set[int]]) -> set[Job]:
        """The jobs that execute a changed line."""
        return {job for file, lines in changed.items() for job in self._of(file, lines) if job[1] in self.suites}

    def jobs_for(self, changed: dict[str, set[int]]) -> list[Job]:
        """The jobs that execute a changed line, the cheapest first; then those that may, since the table lacks them."""
        found = self.known_for(changed)
        operations = {operation for _, name in found for operation in self.suites[name].operations}
        may = {(kind, name) for kind, name in self.unknown if any(map(is_library, changed))
               and (self.suites[name].sanitized or operations & set(self.suites[name].operations))}
        return sorted(found, key=self.cost) + sorted(may - found, key=self.cost)

    def cost(self, job: Job) -> tuple[float, Job]:
        """Seconds of the CPU by the record."""
        return self.record.expected(*job).cpu, job


def pack(jobs: Iterable[int]) -> str:
    return base64.b64encode(sum(1 << job for job in jobs).to_bytes(max(jobs, default=0) // 8 + 1, "little")).decode().rstrip("=")


def unpack(packed: str) -> frozenset[int]:
    bits = int.from_bytes(base64.b64decode(packed + "=" * (-len(packed) % 4)), "little")
    return frozenset(job for job in range(bits.bit_length()) if bits >> job & 1)


# ---- writing it -------------------------------------------------------------------------------------


def kind_without_sanitizers(configuration: str) -> str:
    plain = configuration.removeprefix("sanitized ").removeprefix("musl ").removeprefix("aarch64 ")
    return plain if plain.startswith("driver ") else kind_of(plain)


def objects_of(configuration: str) -> list[Path]:
    """Those of the host, and of the kernels of a CPU target."""
    return [path for path in counts.objects() if "__" not in path.stem or path.stem.rsplit("__", 1)[1] in configuration.split()]


def record() -> Table:
    called: dict[str, dict[str, set[Job]]] = {}
    every: set[Job] = set()
    for folder in sorted({path.parent for path in counts.everything()}):
        configuration, suite = folder.parent.name, folder.name
        job = kind_without_sanitizers(configuration), suite
        every.add(job)
        for (file, name), count in counts.functions(counts.export(counts.of_suite(configuration, suite),
                                                                  objects_of(configuration))).items():
            if file.startswith("generated/"):
                file, name = str(Path(file).parent), ""
            jobs = called.setdefault(file, {}).setdefault(name, set())
            jobs.update({job} if count else ())
    jobs = sorted(every)
    places = {job: number for number, job in enumerate(jobs)}
    return Table(jobs, {file: {name: frozenset(places[job] for job in having) for name, having in functions.items()}
                        for file, functions in called.items() if file.startswith(("src/", "generated/"))})


def main() -> int:
    if problem := counts.problem():
        raise SystemExit(f"executes: {problem}: ./quern test --only 'sanitized *'")
    table = record()
    table.write()
    print(f"{KEPT.relative_to(ROOT)}: {len(table.jobs)} jobs, {sum(map(len, table.functions.values()))} functions, "
          f"{KEPT.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
