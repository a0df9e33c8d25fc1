"""Receipts (tests/receipts.json): results whose inputs seldom change, each with a hash of its inputs, in groups.  Who has a receipt
with the present hash computes nothing; everything is computed again on demand, and then must come out the same.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "tests/receipts.json"
FOLDERS = (ROOT / "include", ROOT / "src")  # where a quoted #include is searched, after the folder of its own file


@dataclass(frozen=True)
class Unit:
    """What is computed at once."""

    name: str
    inputs: str                   # their hash
    needs: tuple[str, ...] = ()   # the targets of ninja without which it cannot be computed


@dataclass(frozen=True)
class Settled:
    results: dict[str, Any]   # of every unit that has one
    computed: list[str]       # the units that were computed now
    missing: list[str]        # those that could not be computed
    faults: list[str]         # receipts that were wrong: the same inputs have given another result


Compute = Callable[[list[Unit]], dict[str, Any]]


def included(text: str, folder: Path) -> tuple[Path, ...]:
    """The files that a text in this folder includes by their quoted names."""
    found = []
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.MULTILINE):
        paths = [path for place in (folder, *FOLDERS) if (path := place / name).exists()]
        if not paths:
            raise FileNotFoundError(f"{name}, included in {folder}, is in none of the folders")
        found.append(paths[0].resolve())
    return tuple(found)


@functools.cache
def closure(file: Path) -> tuple[Path, ...]:
    """A file and all that it includes, sorted, whatever conditions stand around an #include."""
    found, waiting = set[Path](), [file.resolve()]
    while waiting:
        if (path := waiting.pop()) not in found:
            found.add(path)
            waiting += included(path.read_text(), path.parent) if path.suffix != ".py" else ()
    return tuple(sorted(found))


# A comment, or what may look like one: a string or a character.
COMMENT = re.compile(rb"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


# Space that separates no two words.
SPACE = re.compile(rb"\s+(?=[^\w\s])|(?<=[^\w\s])\s+")


# A function of the public header, which is called by name only.
DECLARATION = re.compile(rb"^QUERN_API\b[^;{]*;", re.MULTILINE)


@functools.cache
def code_of(path: Path) -> bytes:
    """A file's text; of C, CUDA and Promela without comments, public declarations, and space that separates no words."""
    text = path.read_bytes()
    if path.suffix not in (".c", ".h", ".cu", ".cuh", ".pml"):
        return text
    code = COMMENT.sub(lambda found: found[0] if found[0][:1] in b"\"'" else b" ", text).replace(b"\\\n", b" ")
    parts: list[bytes] = []
    for line in filter(None, map(bytes.strip, DECLARATION.sub(b"", code).splitlines())):
        if not parts or b"#" in (line[:1], parts[-1][:1]):
            parts.append(line)
        else:
            parts[-1] += b" " + line
    return b"\n".join(part if part.startswith(b"#") else SPACE.sub(b"", part) for part in parts)


@functools.cache
def _hash_of(file: Path) -> str:
    """Of its code and of all that it includes."""
    total = hashlib.sha256()
    for path in closure(file):
        text = code_of(path)
        total.update(f"{os.path.relpath(path, ROOT)} {len(text)}\n".encode() + text)
    return total.hexdigest()


def digest(*parts: object) -> str:
    """A hash of what JSON can hold, and of files with what they include.  A set is refused: it has another order in each
    process."""
    listed = [_hash_of(part) if isinstance(part, Path) else part for part in parts]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:32]


def _load() -> dict[str, dict[str, dict]]:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def _text(groups: dict[str, dict[str, dict]]) -> str:
    """One unit a line, so that changes of two units merge."""
    def group(entries: dict[str, dict]) -> str:
        lines = (f"{json.dumps(name)}:{json.dumps(entry, separators=(',', ':'))}" for name, entry in sorted(entries.items()))
        return ",\n".join(lines)

    return "{" + ",\n".join(f"{json.dumps(name)}:{{\n{group(entries)}\n}}" for name, entries in sorted(groups.items())) + "}\n"


def _save(group: str, entries: dict[str, dict]) -> None:
    """Replaces one group.  Other processes may replace theirs at the same time."""
    folder = os.open(FILE.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        new = FILE.with_suffix(".new")
        new.write_text(_text({**_load(), group: entries}))
        new.replace(FILE)
    finally:
        os.close(folder)


def changed(group: str, units: Sequence[Unit]) -> list[Unit]:
    """Those without a receipt for their present inputs."""
    kept = _load().get(group, {})
    return [unit for unit in units if kept.get(unit.name, {}).get("inputs") != unit.inputs]


def settle(group: str, units: Sequence[Unit], compute: Compute | None, everything: bool = False) -> Settled:
    """The results of a group, all of whose units are given.  What has no receipt is computed, or everything, and kept.

    compute: returns results by name: None for what has failed, and nothing for what could not be tried.  No compute: nothing can.
    """
    kept = _load().get(group, {})
    due = list(units) if everything and compute else changed(group, units)
    new = json.loads(json.dumps(compute(due))) if due and compute else {}
    inputs = {unit.name: unit.inputs for unit in units}
    entries = {name: entry for name, entry in kept.items() if name in inputs}
    faults = []
    for name, result in new.items():
        old = entries.get(name)
        is_same = old is not None and old["inputs"] == inputs[name]
        if result is not None:
            entries[name] = {"inputs": inputs[name], "result": result}
            if is_same and old != entries[name]:
                faults.append(f"{group}, {name}: the receipt says {old['result']}, and now the same inputs give {result}")
        elif is_same:
            del entries[name]
    if compute and entries != kept:
        _save(group, entries)
    results = {name: entry["result"] for name, entry in entries.items() if entry["inputs"] == inputs[name]}
    return Settled(results, list(new), [unit.name for unit in due if unit.name not in results], faults)
