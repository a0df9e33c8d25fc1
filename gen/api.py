"""The public functions and the version, as include/quern.h states them.  Called by the build, for the version script and the soname
of libquern.so, by gen/install.py, and by tests/checks/abi.py."""

from __future__ import annotations

import re
import sys
from pathlib import Path

HEADER = Path(__file__).resolve().parent.parent / "include" / "quern.h"
MACRO = "QUERN_API"

_NOT_CODE = re.compile(r"/\*[\s\S]*?\*/|^#(?:.*\\\n)*.*$", re.M)
_NAME = re.compile(r"\b(quern_\w+)\s*\(")


def statements(header: str) -> list[str]:
    """The declarations of a header outside of braces, each on one line without its semicolon."""
    text = _NOT_CODE.sub("", header).replace('extern "C" {', "")
    while (flat := re.sub(r"\{[^{}]*\}", "", text)) != text:
        text = flat
    return [" ".join(statement.split()) for statement in text.split(";")]


def declarations(header: str) -> dict[str, bool]:
    """Each function that a header declares, in its order, and whether the macro marks it."""
    found = {}
    for statement in statements(header):
        if (name := _NAME.search(statement)) and not statement.startswith("typedef"):
            found[name[1]] = statement.startswith(f"{MACRO} ")
    return found


def functions() -> list[str]:
    return list(declarations(HEADER.read_text()))


def version(header: str) -> tuple[int, int, int]:
    numbers = dict(re.findall(r"^#define QUERN_VERSION_(\w+) (\d+)$", header, re.M))
    return int(numbers["MAJOR"]), int(numbers["MINOR"]), int(numbers["PATCH"])


def version_text() -> str:
    return ".".join(map(str, version(HEADER.read_text())))


def interface() -> str:
    """What programs are linked with.  Before 1.0 a minor version may change the interface."""
    major, minor, _ = version(HEADER.read_text())
    return f"{major}.{minor}" if major == 0 else str(major)


def soname() -> str:
    return f"libquern.so.{interface()}"


def version_script() -> str:
    """Exports the public functions alone, in a node of this interface."""
    return f"QUERN_{interface()} {{\nglobal:\n" + "".join(f"    {name};\n" for name in functions()) + "local:\n    *;\n};\n"


if __name__ == "__main__":
    if asked := {"--soname": soname, "--version": version_text}.get(sys.argv[1]):
        print(asked())
    else:
        Path(sys.argv[1]).write_text(version_script())
