"""Checks the documents against the tree.

Every relative link leads to a file and, after #, to a heading.  Every path, file name, symbol, test, command and option that a
document names exists.  Figures that the sources have are theirs (figures.py).  README.md has at most 150 lines, examples/README.md
has every example, docs/errors.md has every status and every variable of the environment, programs in the documents compile, the
pictures are current, and the cards of README.md have the targets that serve them.  The code that a protocol's model names is there.

    python3 tests/checks/docs.py
"""

import fnmatch
import functools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from figures import wrong_figures
from runner.targets import library_targets, serving

ROOT = Path(__file__).resolve().parent.parent.parent
HEADER = ROOT / "include" / "quern.h"
MOST_README_LINES = 150

# Files that examples name, but that the reader supplies or generates.
FOREIGN_FILES = {"engine.c", "k.cu", "k.cpp", "FILE-ranks.svg", "llm.c", "new.json", "new.svg"}
BUILT = ("build/", "libquern.a", ".venv")
SUFFIXES = "c h cu cuh cpp py sh j2 ninja md svg json pml txt"


# ---- the tree ------------------------------------------------------------------------------------


@functools.cache
def files() -> tuple[str, ...]:
    """All files of the tree, tracked or new, without the outputs of a build."""
    left_out = {".git", ".venv", "build", "__pycache__"}
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in left_out]
        found += [Path(folder, name).relative_to(ROOT).as_posix() for name in names]
    return tuple(sorted(found))


@functools.cache
def folders() -> frozenset[str]:
    return frozenset(parent.as_posix() for name in files() for parent in Path(name).parents)


def documents() -> list[Path]:
    names = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
    globs = ("docs/*.md", "tests/*/README.md", "bench/README.md", "demo/README.md", "examples/README.md")
    names += [name for name in files() if any(fnmatch.fnmatch(name, glob) for glob in globs)]
    return [ROOT / name for name in names]


@functools.cache
def words_of_sources() -> frozenset[str]:
    """All names in the sources.  Documents may also name internal functions and environment variables."""
    words: set[str] = set()
    for name in files():
        if name.endswith((".c", ".h", ".cu", ".cuh", ".cpp", ".py", ".sh", ".j2", ".ninja", "CMakeLists.txt")) or name == "quern":
            if name != "tests/checks/docs.py":
                words |= set(re.findall(r"\w+", (ROOT / name).read_text(errors="replace")))
    return frozenset(words)


@functools.cache
def header_words() -> frozenset[str]:
    return frozenset(re.findall(r"\w+", HEADER.read_text()))


TEST = r"^(?:Test|TEST_[A-Z_]+)\((\w+), (\w+)"


@functools.cache
def tests_by_name() -> frozenset[str]:
    found: set[str] = set()
    for path in (ROOT / "tests" / "suites").glob("*.c"):
        found |= {f"{suite}.{name}" for suite, name in re.findall(TEST, path.read_text(), re.MULTILINE)}
    return frozenset(found)


@functools.cache
def text_of(*globs: str) -> str:
    return "\n".join((ROOT / name).read_text(errors="replace") for name in files()
                     if any(fnmatch.fnmatch(name, glob) for glob in globs))


# ---- a document ----------------------------------------------------------------------------------


def without_fences(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def fences(text: str) -> list[tuple[str, str]]:
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def code_spans(text: str) -> list[str]:
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", without_fences(text))]


def anchors(text: str) -> set[str]:
    """The anchors that GitHub makes for headings."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", without_fences(text), re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        number = sum(name == other.rsplit("-", 1)[0] for other in found)
        found.add(f"{name}-{number}" if name in found else name)
    return found


def wrong_links(document: Path, text: str) -> Iterator[str]:
    for target in re.findall(r"\]\(([^)\s]+)\)", without_fences(text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (document.parent / name).resolve() if name else document
        if not path.exists():
            yield f"the link {target} leads nowhere"
        elif anchor and anchor not in anchors(path.read_text()):
            yield f"the link {target}: {path.name} has no such heading"


@functools.cache
def roots() -> frozenset[str]:
    return frozenset({name.split("/")[0] for name in folders()} - {"."})


@functools.cache
def known_names() -> frozenset[str]:
    return frozenset(files()) | folders()


@functools.cache
def file_names() -> frozenset[str]:
    """Those of the tree, and those of the files that builds and tests name."""
    named = re.findall(r"[\w./-]+", text_of("*.ninja", "quern", "tests/*.py"))
    return frozenset(name.rstrip("/").rpartition("/")[2] for name in (*files(), *named))


def is_path(word: str) -> bool:
    """A word with a slash whose first part is a folder of this tree."""
    return "/" in word and word.split("/")[0] in roots() and not re.search(r"[<>$=:]", word)


def exists(word: str, document: Path) -> bool:
    if word.startswith(BUILT):
        return True
    glob = re.sub(r"\b(NAME|OPERATION|TARGET|operation)\b|<\w+>", "*", word.rstrip("/"))
    inside = (document.parent.relative_to(ROOT) / glob).as_posix()
    known = known_names()
    return any(pattern in known or re.search(r"[*?[]", pattern) and fnmatch.filter(known, pattern) for pattern in (glob, inside))


def wrong_paths(document: Path, text: str) -> Iterator[str]:
    words = {word.strip("'\"(),;") for span in code_spans(text) for word in span.split()}
    words |= set(re.findall(r"\[([^]\s]+)\]\(", without_fences(text)))  # labels of links
    words |= {word.strip("'\"(),;") for language, body in fences(text) if language in ("sh", "") for word in body.split()}
    for word in sorted(words):
        if is_path(word) and not exists(word, document):
            yield f"there is no {word}"
        bare = re.fullmatch(rf"\w[\w.-]*\.({SUFFIXES.replace(' ', '|')})", word)
        if bare and word not in FOREIGN_FILES and word not in file_names():
            yield f"there is no file {word}"


def wrong_symbols(document: Path, text: str) -> Iterator[str]:
    for name in sorted(set(re.findall(r"\b(?:quern|QUERN)_\w+\b(?!\*)", text))):
        if document.name == "CHANGELOG.md" and re.search(rf"replaces {name}\b", text):
            continue  # a former name
        if name not in header_words() and name not in words_of_sources():
            yield f"there is no {name}"


def wrong_tests(text: str) -> Iterator[str]:
    suites = {name.split(".")[0] for name in tests_by_name()}
    for span in code_spans(text):
        suite = re.fullmatch(r"(\w+)\.(\w+)", span)
        if suite and suite.group(1) in suites and suite.group(2) not in SUFFIXES.split() and span not in tests_by_name():
            yield f"there is no test {span}"


def untested_peers() -> Iterator[str]:
    """Each row of docs/peers.md that has a function of Quern has a test of it, and nothing else in the column of tests."""
    rows = re.findall(r"^\| .*\|$", (ROOT / "docs/peers.md").read_text(), re.MULTILINE)
    for theirs, ours, tests, _ in (row.split("|")[1:5] for row in rows):
        spans = code_spans(tests)
        if ours.strip() not in ("Quern", "none", "---") and not spans and tests.strip() != "the same":
            yield f"{theirs.strip()} has no test"
        yield from (f"there is no test {span}" for span in spans if span not in tests_by_name())


def options_of(command: str) -> str:
    """The source that must contain the options of a command."""
    return {"test": text_of("tests/run.py", "tests/runner/*.py"), "bench": text_of("bench/*.py", "bench/*/*.py"),
            "demo": text_of("demo/*.c", "demo/*.txt", "demo/*.py"), "gen": text_of("gen/*.py"),
            **dict.fromkeys(("build", "install"), text_of("gen/selection.py")), "mutate": text_of("tests/mutate.py"),
            "dist": text_of("gen/dist.py"), "gpu": text_of("tests/gpu/command.py")}.get(command, "")


def wrong_commands(text: str) -> Iterator[str]:
    lines = [line for _, body in fences(text) for line in body.splitlines()] + code_spans(text)
    lines += [line[4:] for line in text.splitlines() if line.startswith("    ")]
    for line in lines:
        for call in re.findall(r"\./quern\s+([^#|&;`]*)", line):
            words = re.split(r"\s{3,}", call.strip())[0].split()
            if not words or not re.fullmatch(r"[a-z]+", words[0]):
                continue
            command = words[0]
            if not re.search(rf"^\s*(?:\w+ \| )*{command}(?: \| \w+)*\)", (ROOT / "quern").read_text(), re.MULTILINE):
                yield f"./quern has no command {command}"
            for option in re.findall(r"--[a-z][a-z-]*", call):
                known = options_of(command)
                if option != "--help" and f'{option}"' not in known and option not in re.split(r"[\s=]+", known):
                    yield f"./quern {command} has no option {option}"
            if command == "gen" and len(words) > 1 and f'add_parser("{words[1]}"' not in options_of("gen"):
                yield f"./quern gen has no command {words[1]}"


def wrong_programs(text: str) -> Iterator[str]:
    for language, body in fences(text):
        if language == "c" and body.startswith("#include <quern.h>"):
            command = [os.environ.get("CC", "cc"), "-std=c99", "-Wall", "-Werror", "-fsyntax-only", "-I", str(ROOT / "include"),
                       "-x", "c", "-"]
            compiled = subprocess.run(command, input=body, capture_output=True, text=True)
            if compiled.returncode:
                yield f"a program does not compile:\n{compiled.stderr}"


# ---- all documents -------------------------------------------------------------------------------


def statuses() -> list[str]:
    body = re.search(r"typedef enum quern_status \{(.*?)\} quern_status;", HEADER.read_text(), re.DOTALL)
    return re.findall(r"^\s*(QUERN_\w+) = \d+", body.group(1), re.MULTILINE) if body else []


def wrong_statuses() -> Iterator[str]:
    text = (ROOT / "docs" / "errors.md").read_text()
    if not statuses():
        yield "no status was found in include/quern.h"
    for status in statuses():
        if not re.search(rf"^\| {status} \| .{{10,}}$", text, re.MULTILINE):
            yield f"{status} has no row"


def wrong_variables() -> Iterator[str]:
    rows = "\n".join(re.findall(r"^\| `.*$", (ROOT / "docs" / "errors.md").read_text(), re.MULTILINE))
    read = set(re.findall(r'(?:getenv|quern_variable_number)\("(\w+)"', text_of("src/*/*.c", "src/*/*/*.c")))
    if not read:
        yield "no variable was found in src/"
    for name in sorted(read):
        if f"`{name}`" not in rows:
            yield f"{name} has no row"


def unlisted_examples() -> Iterator[str]:
    text = (ROOT / "examples" / "README.md").read_text()
    for name in files():
        if re.fullmatch(r"examples/[^/]+\.cu?", name) and f"| [{Path(name).name}](" not in text:
            yield f"{name} has no row"


def wrong_models() -> Iterator[str]:
    """A model says in its head which functions and points of which files it models; a file that says so names a model that does."""
    heads = {}
    for path in sorted((ROOT / "tests" / "model").glob("*.pml")):
        lines = re.findall(r"^ \*   (src/\S+) +(.*)$", path.read_text(), re.MULTILINE)
        heads[path.name] = {file for file, _ in lines}
        if not lines and f'"{path.name}"' not in text_of("tests/model/*.pml"):
            yield f"{path.name} does not say what it models"
        for file, names in lines:
            code = re.sub(r"/\*.*?\*/", "", (ROOT / file).read_text(), flags=re.DOTALL)
            for name in names.split():
                known = rf"QUERN_POINT\({name.replace('.', '_').upper()}\)" if "." in name else rf"\b{name}\("
                if not re.search(known, code):
                    yield f"{path.name}: {file} has no {name}"
    for file in files():
        named = re.findall(r"\b(\w+\.pml)", (ROOT / file).read_text()) if file.startswith("src/") else []
        yield from (f"{file}: {name} does not name it" for name in named if file not in heads.get(name, ()))


def wrong_length() -> Iterator[str]:
    count = len((ROOT / "README.md").read_text().splitlines())
    if count > MOST_README_LINES:
        yield f"{count} lines: at most {MOST_README_LINES}"


def wrong_version() -> Iterator[str]:
    numbers = ".".join(re.findall(r"^#define QUERN_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", HEADER.read_text(), re.MULTILINE))
    heading = re.search(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    if not heading or not re.fullmatch(rf"{re.escape(numbers)} \((\d{{4}}-\d\d-\d\d|unreleased)\)", heading[1]):
        yield f"the first heading is {heading and heading[1]!r}: expected {numbers}, as in the header, and a date in brackets"


def unlinked() -> Iterator[str]:
    text = (ROOT / "README.md").read_text()
    for path in sorted((ROOT / "docs").glob("*.md")):
        if f"(docs/{path.name}" not in text:
            yield f"no link leads to docs/{path.name}"


def wrong_cards() -> Iterator[str]:
    """Rows of README.md: capabilities and, for each group of them, the target of the library that serves them."""
    rows = re.findall(r"^\| ([\w ]+, \d[^|]*) \|[^|]*\| (`[^|]*) \|$", (ROOT / "README.md").read_text(), re.MULTILINE)
    named = [name for _, targets in rows for name in re.findall(r"`(\w+)`", targets)]
    for name in {target.name for target in library_targets()} - set(named):
        yield f"no row has {name}"
    for capabilities, targets in rows:
        for group, name in zip(capabilities.split(";"), re.findall(r"`(\w+)`", targets), strict=True):
            for number in re.findall(r"\d+\.\d", group):
                if serving(number) != name:
                    yield f"{number} has {name}: {serving(number)} serves it"


def wrong_picture(script: str = "docs/architecture.py") -> Iterator[str]:
    drawn = subprocess.run([sys.executable, script, "--check"], cwd=ROOT, capture_output=True, text=True)
    if drawn.returncode:
        yield (drawn.stdout + drawn.stderr).strip()


def main() -> int:
    passed = failed = 0

    def count(name: str, faults: Iterator[str]) -> None:
        nonlocal passed, failed
        found = list(dict.fromkeys(faults))
        for fault in found:
            print(f"{name}: {fault}")
        passed, failed = passed + (not found), failed + bool(found)

    for document in documents():
        text, name = document.read_text(), document.relative_to(ROOT).as_posix()
        count(f"{name}, links", wrong_links(document, text))
        count(f"{name}, paths", wrong_paths(document, text))
        count(f"{name}, symbols", wrong_symbols(document, text))
        count(f"{name}, tests", wrong_tests(text))
        count(f"{name}, commands", wrong_commands(text))
        count(f"{name}, programs", wrong_programs(text))
        count(f"{name}, figures", wrong_figures(name, text))
    count("include/quern.h, commands", wrong_commands(HEADER.read_text()))
    count("examples/README.md, examples", unlisted_examples())
    count("docs/peers.md, tests", untested_peers())
    count("tests/model, names", wrong_models())
    count("README.md, length", wrong_length())
    count("README.md, documents", unlinked())
    count("README.md, cards", wrong_cards())
    count("docs/pictures.py", wrong_picture("docs/pictures.py"))
    count("docs/errors.md, statuses", wrong_statuses())
    count("docs/errors.md, variables", wrong_variables())
    count("CHANGELOG.md, version", wrong_version())
    count("docs/architecture.svg", wrong_picture())
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
