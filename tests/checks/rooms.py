"""Checks the rooms of the source tree: each room includes only the rooms that it may, and includes form no circle.

Reads the `#include "..."` lines of the sources and of the generated kernels, and which files use the names that others define: one
header serves a folder, so its includes do not show which file needs which.  A room is a folder; a file belongs to the innermost
room above it.  Prints each offence with file and line.  The last line is `N passed, N failed`.

`rooms.py ROOT` checks another tree.  `rooms.py --self-test` breaks every rule once in a scratch copy and checks that each offence
is found.
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = {".c", ".h", ".cu", ".cuh"}
INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')

# Each room, lowest first, and the rooms that it may include in addition to itself.  A row may only name rooms of earlier rows.
ROOMS = {
    "include": (),
    "src/os": (),
    "src/kernels": ("include",),
    "src/kernels/cpu": ("include", "src/kernels"),
    "src/kernels/cuda": ("include", "src/kernels"),
    "src/runtime": ("include", "src/os", "src/kernels"),
    "src/cross_entropy": ("include", "src/os", "src/kernels", "src/kernels/cpu", "src/runtime"),
    "src/adam": ("include", "src/os", "src/kernels", "src/runtime"),
    "src/quantize": ("include", "src/os", "src/kernels", "src/runtime"),
    "src/look": ("include", "src/os", "src/kernels", "src/runtime"),
    "src/ranks": ("include", "src/os", "src/kernels", "src/runtime"),
    "src/ranks/hosts": ("include", "src/os", "src/kernels", "src/runtime", "src/ranks"),
    "src/ranks/nccl": ("include", "src/os", "src/kernels", "src/runtime", "src/ranks"),
    "src/ranks/symmetric": ("include", "src/os", "src/kernels", "src/runtime", "src/ranks"),
    "src/ranks/ragged": ("include", "src/os", "src/kernels", "src/runtime", "src/ranks", "src/ranks/hosts", "src/ranks/nccl",
                          "src/ranks/symmetric"),
    "src/ranks/collective": ("include", "src/os", "src/kernels", "src/runtime", "src/ranks", "src/ranks/hosts", "src/ranks/nccl",
                             "src/ranks/symmetric", "src/ranks/ragged"),
    "src/ranks/chunks": ("include", "src/os", "src/kernels", "src/runtime", "src/quantize", "src/ranks", "src/ranks/nccl",
                         "src/ranks/symmetric", "src/ranks/ragged", "src/ranks/collective"),
    "src/ranks/transfer": ("include", "src/os", "src/kernels", "src/runtime", "src/ranks", "src/ranks/hosts", "src/ranks/nccl",
                           "src/ranks/symmetric"),
    "src/ranks/group": ("include", "src/os", "src/kernels", "src/runtime", "src/ranks", "src/ranks/hosts", "src/ranks/nccl",
                        "src/ranks/symmetric", "src/ranks/ragged", "src/ranks/collective", "src/ranks/chunks",
                        "src/ranks/transfer"),
}
ROOM_LIMIT = 19
# Files that belong to a room but lie elsewhere.
MEMBERS = {"generated/operations.h": "src/kernels", "generated/targets.h": "src/kernels", "generated/dtypes.h": "src/kernels",
           "generated/kernel_types.h": "src/kernels",
           "generated/arguments.h": "src/runtime", "generated/structs.h": "src/runtime",
           "generated/layout.h": "src/ranks",
           "generated/adam/legality.h": "src/adam"}

# Folders outside of the rooms, and the rooms that each may include.  Users' programs include only the public header.
KERNELS = ("include", "src/kernels", "src/kernels/cpu", "src/kernels/cuda")
OUTSIDE = {
    "generated": KERNELS,
    "examples": ("include",),
    "demo": ("include",),
    "bench": ("include",),
    "bench/count/dispatch": ("include", "src/runtime"),  # a driver for the library to open
    "tests": tuple(ROOMS),
}


def room_of(path: str) -> str:
    """The innermost room or outside folder that holds a path; empty: none."""
    if path in MEMBERS:
        return MEMBERS[path]
    for folder in Path(path).parents:
        if str(folder) in ROOMS or str(folder) in OUTSIDE:
            return str(folder)
    return ""


def includes(root: Path) -> list[tuple[str, int, str]]:
    """(file, line, included file) of every quoted include that names a file of the tree."""
    found = []
    for top in ("include", "src", *OUTSIDE):
        for path in sorted(p for p in (root / top).rglob("*") if p.suffix in SUFFIXES):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                for base in (path.parent, root / "src", root / "include"):
                    target = base / match[1]
                    if target.is_file():
                        found.append((str(path.relative_to(root)), number, str(target.resolve().relative_to(root.resolve()))))
                        break
    return found


def table_offences() -> list[str]:
    """Checks the table: at most ROOM_LIMIT rooms, and arrows to earlier rows only."""
    offences = []
    if len(ROOMS) > ROOM_LIMIT:
        offences.append(f"{len(ROOMS)} rooms: expected at most {ROOM_LIMIT}")
    below: set[str] = set()
    for room, allowed in ROOMS.items():
        offences += [f"the table lets {room} include {other}, which is not below it" for other in allowed if other not in below]
        below.add(room)
    return offences


def arrow_offences(found: list[tuple[str, int, str]]) -> list[str]:
    offences = []
    for path, line, target in found:
        room, other = room_of(path), room_of(target)
        if room == other or (room in OUTSIDE and other in OUTSIDE):  # includes between folders outside are not checked
            continue
        if not room or not other:
            offences.append(f"{path}:{line}: {path if not room else target} is in no room")
        elif other not in (ROOMS.get(room) or OUTSIDE.get(room, ())):
            offences.append(f"{path}:{line}: {room} may not include {other} ({target})")
    return offences


DECLARED = re.compile(r"^(?!static\b|typedef\b|struct quern_\w+ \{|enum\b)[\w][\w *]*?\b(quern_\w+)(\(|\[\]|,|;)", re.M)
DEFINED = re.compile(
    r"^(?!static\b|extern\b|typedef\b)[\w][\w *]*?\b(quern_\w+)(?:\(.*\n?(?:[^;{]*\n)*?[^;{]*\{|(?:\[\])? = \{)", re.M)
NO_CODE = re.compile(r'/\*.*?\*/|"(?:[^"\\]|\\.)*"', re.S)


def definitions(root: Path) -> dict[str, str]:
    """The file of src that defines each function or table."""
    return {match[1]: str(path.relative_to(root)) for path in sorted((root / "src").rglob("*.c"))
            for match in DEFINED.finditer(path.read_text())}


def uses(root: Path) -> list[tuple[str, int, str]]:
    """(file, line, file that defines it) of every function and table of src that another file of src uses."""
    homes = definitions(root)
    found = []
    for path in sorted((root / "src").rglob("*.c")):
        name = str(path.relative_to(root))
        code = NO_CODE.sub(lambda match: "\n" * match[0].count("\n"), path.read_text())
        for number, line in enumerate(code.splitlines(), 1):
            found += [(name, number, homes[word]) for word in re.findall(r"\bquern_\w+", line) if homes.get(word, name) != name]
    return found


def circle_offences(found: list[tuple[str, int, str]]) -> list[str]:
    """One line for each strongly connected set of files, with a use of each."""
    edges: dict[str, dict[str, str]] = {}
    for path, line, target in found:
        edges.setdefault(path, {}).setdefault(target, f"{path}:{line}")

    def reach(start: str) -> set[str]:
        seen, waiting = set(), list(edges.get(start, ()))
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                waiting += edges.get(node, ())
        return seen

    reached = {node: reach(node) for node in edges}
    circles = {tuple(sorted(other for other in reached[node] if node in reached.get(other, ()))) for node in reached
               if node in reached[node]}
    return ["a circle: " + "; ".join(f"{where} -> {target}" for node in circle for target, where in sorted(edges[node].items())
                                     if target in circle) for circle in sorted(circles)]


def declaration_offences(root: Path) -> list[str]:
    """A function of a private header must be defined in the header's folder.  Else headers could hide arrows."""
    homes = definitions(root)
    offences = []
    for path in sorted((root / "src").rglob("*.h")):
        text, name = path.read_text(), str(path.relative_to(root))
        offences += [f"{name}:{text.count(chr(10), 0, match.start(1)) + 1}: {match[1]} is defined in {homes[match[1]]}"
                     for match in DECLARED.finditer(text)
                     if Path(homes.get(match[1], name)).parent != Path(name).parent]
    return offences


def offences_of(root: Path) -> dict[str, list[str]]:
    used = uses(root)
    return {"the table": table_offences(), "arrows between rooms": arrow_offences(includes(root) + used),
            "circles between files": circle_offences(used), "declarations beside definitions": declaration_offences(root)}


# (the broken rule, the file, a line put in front of it, the text of the offence)
BREAKS = [
    ("an arrow up", "src/os/text.c", '#include "runtime/status.h"', "src/os may not include src/runtime"),
    ("an arrow aside", "src/adam/adam.c", '#include "ranks/handles.h"', "src/adam may not include src/ranks"),
    ("a generated kernel in the runtime", "generated/adam/table.c", '#include "runtime/status.h"',
     "generated may not include src/runtime"),
    ("an example that looks inside", "examples/private.c", '#include "os/text.h"', "examples may not include src/os"),
    ("a demo that looks inside", "demo/private.c", '#include "adam/adam.h"', "demo may not include src/adam"),
    ("a circle in a room", "src/ranks/poison.c", "static const void *circle = quern_member_of;", "a circle: "),
    ("a call up", "src/os/text.c", "static const void *call = quern_fail;", "src/os may not include src/runtime"),
    ("another folder's declaration", "src/os/clock.h", "void quern_member_of(void);", "quern_member_of is defined in"),
]


def self_test() -> int:
    failures = 0
    for name, file, line, expected in BREAKS:
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder)
            for top in ("include", "src", "generated", "examples", "demo"):
                shutil.copytree(ROOT / top, tree / top, ignore=lambda _, names: [n for n in names if Path(n).suffix == ".o"])
            for top in ("bench", "tests"):
                (tree / top).mkdir()
            path = tree / file
            path.write_text(line + "\n" + (path.read_text() if path.exists() else ""))
            lines = [offence for offences in offences_of(tree).values() for offence in offences]
            if not any(expected in offence for offence in lines):
                print(f"{name}: expected an offence with {expected!r}, found {lines}")
                failures += 1
    print(f"{len(BREAKS) - failures} passed, {failures} failed")
    return failures


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        return self_test() != 0
    results = offences_of(Path(sys.argv[1]) if sys.argv[1:] else ROOT)
    for offences in results.values():
        for offence in offences:
            print(offence)
    failed = sum(1 for offences in results.values() if offences)
    print(f"{len(results) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
