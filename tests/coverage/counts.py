"""Where the sanitized suites leave how often they executed each line: build/coverage/CONFIGURATION/SUITE/*.profraw."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/coverage"


def objects() -> list[Path]:
    """The objects of the host and of the kernels.  Each is named, since a program contains only those that it calls."""
    return sorted([*(ROOT / "build/address/src").rglob("*.o"), *(ROOT / "build/address").glob("*/*__*.o")])


def everything() -> list[Path]:
    return sorted(FOLDER.rglob("*.profraw"))


def of_suite(configuration: str, suite: str) -> list[Path]:
    return sorted((FOLDER / configuration / suite).glob("*.profraw"))


def problem() -> str:
    """Why the counts cannot be used, or an empty string."""
    if not everything():
        return "there are no counts"
    newest = max((path.stat().st_mtime for path in objects()), default=0.0)
    old = [path for path in everything() if path.stat().st_mtime < newest]
    return f"{old[0].relative_to(ROOT)} is older than the library" if old else ""
