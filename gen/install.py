"""Installs what a build has made: libraries, headers, the pkg-config files, the CMake package, the Rust crates and quern_dump.

All files are written beside their places and then renamed: if one cannot be written, nothing below the prefix has changed.  Called
by the build, with the folder of the libraries, and PREFIX and DESTDIR in the environment.
"""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gen import api, plan
from gen.render import ROOT

TEMPLATES = "src/install"
CRATES = "bindings/rust"


class Piece(NamedTuple):
    """A file or a link below the prefix."""

    place: str
    source: Path           # the name, of a link
    mode: int = 0o644
    is_template: bool = False
    is_link: bool = False


def values() -> dict[str, str]:
    """What templates name between @ and @."""
    major, minor, _ = api.version(api.HEADER.read_text())
    operations = ", ".join(name.replace("_", " ") for name in plan.OPERATIONS)
    return {"VERSION": api.version_text(), "MAJOR": str(major), "MINOR": str(minor), "SONAME": api.soname(),
            "OPERATIONS": operations}


def pieces(library: Path) -> Iterator[Piece]:
    versioned = f"libquern.so.{api.version_text()}"
    yield Piece("lib/libquern.a", library / "libquern.a")
    yield Piece(f"lib/{versioned}", library / "libquern.so", 0o755)
    yield Piece(f"lib/{api.soname()}", Path(versioned), is_link=True)
    yield Piece("lib/libquern.so", Path(api.soname()), is_link=True)
    for name in ("quern.h", "quern_mpi.h", "quern_device.cuh"):
        yield Piece(f"include/{name}", ROOT / "include" / name)
    for folder, name in (("lib/pkgconfig", "quern.pc"), ("lib/pkgconfig", "quern-shared.pc"),
                         ("lib/cmake/quern", "quern-config.cmake"), ("lib/cmake/quern", "quern-config-version.cmake")):
        yield Piece(f"{folder}/{name}", ROOT / TEMPLATES / f"{name}.in", is_template=True)
    for path in sorted((ROOT / "bindings/python/quern_dump").glob("*.py")):
        yield Piece(f"share/quern/quern_dump/{path.name}", path)
    for path in sorted((ROOT / CRATES).rglob("*")):
        inside = path.relative_to(ROOT / CRATES)
        if path.is_file() and inside.parts[1] != "target":
            yield Piece(f"share/quern/{inside}", path)
    yield Piece("bin/quern_dump", ROOT / TEMPLATES / "quern_dump.sh", 0o755)


def write(piece: Piece, path: Path, known: dict[str, str]) -> None:
    if piece.is_link:
        path.symlink_to(piece.source)
        return
    if piece.is_template:
        path.write_text(re.sub(r"@([A-Z]+)@", lambda name: known[name[1]], piece.source.read_text()))
    else:
        shutil.copyfile(piece.source, path)
    path.chmod(piece.mode)


def install(library: Path, root: Path) -> None:
    known = values()
    written: dict[Path, Path] = {}
    try:
        for piece in pieces(library):
            place = root / piece.place
            new = place.with_name(f".{place.name}.{os.getpid()}")
            place.parent.mkdir(parents=True, exist_ok=True)
            written[new] = place
            write(piece, new, known)
    except OSError as fault:
        for new in written:
            new.unlink(missing_ok=True)
        reason = f"{piece.place} cannot be written below {root}: {fault.strerror}"
        raise SystemExit(f"quern: {reason}; no file there has changed") from None
    for new, place in written.items():
        if place.is_file() and not new.is_symlink() and filecmp.cmp(new, place, shallow=False):
            new.unlink()   # an engine that is linked with it is not linked again
        else:
            new.replace(place)


def main() -> None:
    root = Path(os.environ.get("DESTDIR", "") + os.environ.get("PREFIX", "/usr/local"))
    install(Path(sys.argv[1]), root)
    print(f"installed below {root}: libquern.a, {api.soname()}, headers, quern.pc, quern-shared.pc, the CMake package, the crates "
          "quern and quern-sys, and quern_dump")


if __name__ == "__main__":
    main()
