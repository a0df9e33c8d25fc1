"""Checks what CONTRIBUTING.md says of every source: lines have at most 132 columns, the files that comments name exist, every
header has a guard of its own, the library moves each descriptor that it opens above those of the standard streams, and the oldest
Python that the commands take can read every file.
Prints each offence with file and line.  The last line is `N passed, N failed`.

`style.py ROOT` checks another tree.
"""

import ast
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = 132

# Whose lines and comments are checked.  Tables that are rendered are as wide as their rows.
FOLDERS = ("src", "gen", "tests")
COMMENTED = (*FOLDERS, "bench", "demo", "examples", "include", "templates")
GUARDED = ("src", "include", "bench", "demo", "examples", "generated", "tests")
C = (".c", ".h", ".cu", ".cuh", ".cpp", ".pml")

COMMENT = {**dict.fromkeys((*C, ".j2"), re.compile(r"/\*.*?\*/|//[^\n]*", re.S)),
           ".py": re.compile(r'"""(?!").*?"""|#[^\n]*', re.S)}
NAME = re.compile(r"(?<![\w./*<-])(?:[\w-]+/)*[\w-]+\.(?:cuh|cu|cpp|c|h|py|sh|j2|ninja|md|pml)\b(?![\w*(/>]|\.\w)")

# Files of others: of systems and libraries, and tests of those whose results a suite repeats.
FOREIGN = re.compile(r"(?:linux|ucp/api)/\w+\.h|(?:cblas|cublas_api|elf|library_types|std\w+)\.h|"
                     r"(?:common_optimizers|test_(?:adam|cpu_adam|fused_optimizer|optim|multi_tensor|cross_entropy|"
                     r"parallel_cross_entropy))\.py|test_cast_current_scaling\.cu|llm\.c|train_gpt2\.c|build/\S+|OUT\.cpp")


def files(root: Path, folders: tuple[str, ...], suffixes: tuple[str, ...]) -> list[Path]:
    return sorted(path for folder in folders for path in (root / folder).rglob("*")
                  if path.suffix in suffixes and "__pycache__" not in path.parts and path.is_file())


def wide_lines(root: Path) -> Iterator[str]:
    for path in files(root, FOLDERS, (*C, ".py")):
        name = str(path.relative_to(root))
        for number, line in enumerate(path.read_text().split("\n"), 1):
            if len(line) > COLUMNS:
                yield f"{name}:{number}: {len(line)} columns: expected at most {COLUMNS}"


def names_of_nothing(root: Path) -> Iterator[str]:
    left_out = {".git", ".venv", "build", "__pycache__"}
    known = {""}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in left_out]
        for name in names:  # by each end of its path; a template by what it renders, too
            parts = (*Path(folder).relative_to(root).parts, name)
            known |= {"/".join(parts[first:]).removesuffix(end) for first in range(len(parts)) for end in ("", ".j2", ".edits")}
    for path in files(root, COMMENTED, tuple(COMMENT)):
        text = path.read_text()
        for comment in COMMENT[path.suffix].finditer(text):
            for word in NAME.finditer(comment[0]):
                if word[0] not in known and not FOREIGN.fullmatch(word[0]):
                    line = text.count("\n", 0, comment.start() + word.start()) + 1
                    yield f"{path.relative_to(root)}:{line}: there is no file {word[0]}"


def shared_guards(root: Path) -> Iterator[str]:
    seen: dict[str, str] = {}
    for path in files(root, GUARDED, (".h", ".cuh")):
        name = str(path.relative_to(root))
        guard = re.search(r"^#ifndef (\w+)\n#define \1\b", path.read_text(), re.M)
        if guard and (other := seen.setdefault(guard[1], name)) != name:
            yield f"{name}: {guard[1]} is the guard of {other}, too"


OPENING = re.compile(r"(\w+\()?(?<![\w.>])(?:open|openat|fopen|opendir|shm_open|memfd_create|socket|accept4?|dup|epoll_create1|"
                     r"eventfd|pidfd_open)\((?!const|enum|void)")


def standard_streams(root: Path) -> Iterator[str]:
    for path in files(root, ("src",), (".c", ".h")):
        text = COMMENT[path.suffix].sub(lambda comment: "\n" * comment[0].count("\n"), path.read_text())
        for call in OPENING.finditer(text):
            if call[1] != "quern_above_two(" and path.name != "descriptor.c":
                line = text.count("\n", 0, call.start()) + 1
                yield f"{path.relative_to(root)}:{line}: {call[0]}: expected quern_above_two around it"


def newer_python(root: Path) -> Iterator[str]:
    found = re.search(r"sys\.version_info < \((\d+), (\d+)\)", (root / "quern").read_text())
    for path in files(root, ("gen", "tests", "bench", "bindings"), (".py",)):
        try:
            ast.parse(path.read_text(), feature_version=(int(found[1]), int(found[2])))
        except SyntaxError as error:
            yield f"{path.relative_to(root)}:{error.lineno}: {error.msg}"


def main() -> int:
    root = Path(sys.argv[1]).resolve() if sys.argv[1:] else ROOT
    offences = [list(rule(root)) for rule in (wide_lines, names_of_nothing, shared_guards, standard_streams, newer_python)]
    print("".join(f"{line}\n" for lines in offences for line in lines), end="")
    failed = sum(bool(lines) for lines in offences)
    print(f"{len(offences) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
