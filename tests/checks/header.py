"""Checks that the public header compiles without a warning in every language that can include it, as an engine would: with many
warnings, all of them errors, and not as a system header.  Called by tests/run.py.

Compiles tests/checks/header_user.c, which uses every macro and calls every initialiser, with each compiler and standard below.  A
compiler or standard that is not here is skipped with the reason.  The last line is `N passed, N failed[, N skipped]`.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "quern.h"
USER = ROOT / "tests" / "checks" / "header_user.c"
STRUCTS = ROOT / "generated" / "structs.h"

BOTH = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wcast-qual", "-Wcast-align", "-Wundef",
        "-Wmissing-declarations", "-Werror")
C = (*BOTH, "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wc++-compat")
CXX = (*BOTH, "-Wold-style-cast", "-Wzero-as-null-pointer-constant", "-Wextra-semi")

# Each compiler: its language, its warnings and the standards, each by the names that releases have given it.
COMPILERS = {
    "gcc": ("c", C, ("c99", "c11", "c17", "c2x")),
    "clang": ("c", C, ("c99", "c11", "c17", "c2x")),
    "g++": ("c++", (*CXX, "-Wuseless-cast"), ("c++11", "c++14", "c++17", "c++20", "c++23")),
    "clang++": ("c++", CXX, ("c++11", "c++14", "c++17", "c++20", "c++23")),
}
NAMES = {"c++20": ("c++20", "c++2a"), "c++23": ("c++23", "c++2b"), "c++17": ("c++17", "c++1z"), "c2x": ("c2x", "c23")}


def compiles(compiler: str, standard: str, source: Path, include: Path, *extra: str) -> subprocess.CompletedProcess[str]:
    language, warnings, _ = COMPILERS[compiler]
    return subprocess.run([compiler, "-x", language, f"-std={standard}", *warnings, *extra, f"-I{include}", "-fsyntax-only",
                           str(source)], capture_output=True, text=True)


def standard_name(compiler: str, standard: str, empty: Path) -> str | None:
    """The name by which this release knows a standard; None: it does not."""
    return next((name for name in NAMES.get(standard, (standard,))
                 if compiles(compiler, name, empty, empty.parent).returncode == 0), None)


def check(compiler: str, standard: str, empty: Path, include: Path = HEADER.parent) -> tuple[str, str]:
    """What became of one compiler and standard, and its words: passed, failed or skipped."""
    if not shutil.which(compiler):
        return "skipped", f"{compiler} is not installed"
    name = standard_name(compiler, standard, empty)
    if not name:
        return "skipped", f"this {compiler} knows no {standard}"
    result = compiles(compiler, name, USER, include)
    return ("failed" if result.returncode else "passed"), result.stderr


def missing_uses() -> list[str]:
    """The macros and initialisers of the header that are not in the list that the translation unit uses."""
    header, listed = HEADER.read_text(), re.findall(r"X\((\w+), (\w+)\)", STRUCTS.read_text())
    names = {*re.findall(r"#define (QUERN_\w+_INIT)\b(?!\()", header), *re.findall(r"\b(quern_\w+_init)\(", header)}
    return sorted(names - {macro for _, macro in listed} - {f"{name}_init" for name, _ in listed})


def old_macros(folder: Path) -> Path:
    """The header with a macro as it was: a designated initialiser in every language."""
    text = HEADER.read_text()
    macro = re.search(r"#define QUERN_ADAM_ARGS_INIT .*\n", text)
    assert macro
    (folder / "quern.h").write_text(text.replace(
        macro[0], "#define QUERN_ADAM_ARGS_INIT { .size = sizeof(quern_adam_args), .beta1 = 0.9, .eps = 1e-8 }\n"))
    return folder


def main() -> int:
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as pool:
        empty = Path(scratch) / "empty.c"
        empty.write_text("extern int quern_nothing;\n")
        rows = [(compiler, standard) for compiler, (_, _, standards) in COMPILERS.items() for standard in standards]
        for (compiler, standard), (result, words) in zip(rows, pool.map(lambda row: check(*row, empty), rows)):
            counts[result] += 1
            if result == "failed":
                print(f"header: {compiler} -std={standard}:\n{words[:2000]}")
            elif result == "skipped":
                print(f"header: skipped: {words}")
        old = old_macros(Path(scratch))
        for compiler, standard in (("g++", "c++20"), ("clang++", "c++11")):
            result = check(compiler, standard, empty, old)[0]
            counts["passed" if result == "failed" else "failed" if result == "passed" else "skipped"] += 1
            if result == "passed":
                print(f"header: {compiler} -std={standard} has no warning about designated initialisers: this check sees nothing")
    unused = missing_uses()
    counts["failed" if unused else "passed"] += 1
    if unused:
        print(f"header: {STRUCTS.name} does not list {', '.join(unused)}")
    print(f"{counts['passed']} passed, {counts['failed']} failed" + (f", {counts['skipped']} skipped" if counts["skipped"] else ""))
    return counts["failed"] != 0


if __name__ == "__main__":
    sys.exit(main())
