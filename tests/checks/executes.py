"""Tests tests/mutation/executes.py, which tells `./quern test --changed` and `./quern mutate` what to run: a small table of its own
with the sources of the tree, and the kept table.  Also tells when counts are too old for both.
"""

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from coverage import counts  # noqa: E402
from mutation import executes  # noqa: E402
from mutation.executes import Table, functions_at, users  # noqa: E402

SOURCE, OTHER = "src/os/sha256.c", "src/os/text.c"
JOBS = [("cpu", "test_text"), ("ranks", "test_group"), ("ranks", "test_sha256")]
FUNCTIONS = {SOURCE: {"quern_sha256_begin": frozenset({1, 2}), "quern_same_digest": frozenset({2})},
             OTHER: {"quern_text_add": frozenset({0, 1})}, "generated/adam": {"": frozenset({0})}}


def line_of(file: str, text: str) -> int:
    return next(number for number, line in enumerate((ROOT / file).read_text().splitlines(), 1) if text in line)


def known(table: Table, file: str, *lines: int) -> list[tuple[str, str]]:
    return [job for job in table.jobs_for({file: set(lines)}) if job not in table.unknown]


def results() -> dict[str, bool]:
    table = Table(JOBS, FUNCTIONS)
    table.cost = lambda job: (JOBS.index(job) if job in JOBS else len(JOBS), job)
    inside, before = line_of(SOURCE, "quern_same_digest("), line_of(SOURCE, "#include")
    others = table.jobs_for({SOURCE: {inside}})[1:]
    of_adam = {("emulated", suite.name) for suite in table.suites.values()
               if "adam" in suite.operations and "emulated" in suite.kinds}
    whole = Table(JOBS, FUNCTIONS)
    whole.unknown = set()
    packed = [frozenset(each) for each in ((), (0,), (7, 8), (1, 300))]
    kept = Table.read()
    return {
        "a line has its function": functions_at(SOURCE, [inside]) == {"quern_same_digest"},
        "a line of no function has none": functions_at(SOURCE, [before, inside]) is None,
        "the jobs of a function": known(table, SOURCE, inside) == [("ranks", "test_sha256")],
        "the jobs of a file, the cheapest first":
            known(table, SOURCE, before) == [("ranks", "test_group"), ("ranks", "test_sha256")],
        "a header without functions: the jobs of those who include it":
            ("ranks", "test_sha256") in known(table, "src/os/sha256.h", line_of("src/os/sha256.h", "struct")),
        "a file that the table lacks: the jobs of those who include its header":
            known(table, "src/os/decimal.c", 1) == [("cpu", "test_text"), ("ranks", "test_group")],
        "what the table lacks comes last": bool(others) and all(job in table.unknown for job in others),
        "kernels of GPUs by the operation": set(known(whole, "src/kernels/cuda/adam_step.cuh", 1)) == of_adam,
        "a template of GPUs": set(known(whole, "templates/adam/adam.cu.j2", 1)) == of_adam,
        "a template of CPUs": known(table, "templates/adam/adam.c.j2", 1) == [("cpu", "test_text")],
        "a suite": ("ranks", "test_group") in table.jobs_for({"tests/suites/test_group.c": {1}}),
        "a harness: the suites that include it": len(users("tests/harness/ranks.h", "tests/suites/*.c")) > 5
            and ("ranks", "test_group") in table.jobs_for({"tests/harness/ranks.c": {1}}),
        "a document": not table.jobs_for({"README.md": {1}}),
        "a packed set": [executes.unpack(executes.pack(each)) for each in packed] == packed,
        "the kept table": bool(kept.jobs) and all(jobs <= set(range(len(kept.jobs)))
                                                  for functions in kept.functions.values() for jobs in functions.values()),
    }


def of_counts() -> dict[str, bool]:
    """Which times of files make counts useless: not that of the library, which is also built again of the same sources."""
    kept = counts.ROOT, counts.FOLDER
    with tempfile.TemporaryDirectory() as scratch:
        counts.ROOT, counts.FOLDER = Path(scratch), Path(scratch) / "build/coverage"
        files = [counts.ROOT / name
                 for name in ("src/os/text.c", "build/coverage/cpu/test_text/1.profraw", "build/address/src/text.o")]
        none = counts.problem()
        for when, file in enumerate(files, 1):
            file.parent.mkdir(parents=True)
            file.touch()
            os.utime(file, (when, when))
        usable = counts.problem()
        os.utime(files[0], (4, 4))
        older = counts.problem()
    counts.ROOT, counts.FOLDER = kept
    return {"no counts": none == "there are no counts", "counts that are older than the library alone": not usable,
            "counts that are older than a source": older.endswith("1.profraw is older than src/os/text.c")}


def main() -> int:
    found = results() | of_counts()
    print("\n".join([*(f"not so: {name}" for name, holds in found.items() if not holds),
                     f"{sum(found.values())} passed, {len(found) - sum(found.values())} failed"]))
    return 0 if all(found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
