"""Reads the index of a dump: the calls in the order in which they were made."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from quern_dump.tensors import DumpError, Stored, read_header


@dataclass(frozen=True)
class Tensor:
    """A tensor of a call, as the index has it."""

    name: str
    access: str  # "in" or "out"
    dtype: str
    shape: tuple[int, ...]
    sha256: str | None
    file: Path | None
    left_out: str | None  # why it has no file

    def stored(self) -> Stored:
        assert self.file
        found = read_header(self.file).get(self.name)
        if not found:
            raise DumpError(f"{self.file}: has no tensor {self.name}, which the index has")
        return found


@dataclass(frozen=True)
class Call:
    sequence: int
    step: int
    operation: str
    device: str
    rank: int | None
    kernels: tuple[str, ...]
    arguments: dict[str, object]
    status: str
    detail: str
    captured: bool
    tensors: tuple[Tensor, ...]

    def title(self) -> str:
        rank = "" if self.rank is None else f" of rank {self.rank}"
        return f"call {self.sequence}, {self.operation}{rank}"


def read_tensor(folder: Path, row: dict) -> Tensor:
    file = row.get("file")
    if file is not None and (Path(file).name != file or file in ("", ".", "..")):
        raise DumpError(f"{folder}: the file {file!r} is not in the folder of the dump")
    if (file is None) == ("left_out" not in row):
        raise DumpError(f"{folder}: the tensor {row.get('name')} has neither a file nor a reason why it was left out")
    return Tensor(row["name"], row["access"], row["dtype"], tuple(row["shape"]), row.get("sha256"),
                  folder / file if file is not None else None, row.get("left_out"))


def read_call(folder: Path, row: dict) -> Call:
    return Call(row["sequence"], row["step"], row["operation"], row["device"], row.get("rank"), tuple(row["kernels"]),
                row["arguments"], row["status"], row.get("detail", ""), row.get("captured", False),
                tuple(read_tensor(folder, each) for each in row["tensors"]))


def read_index(folder: Path) -> list[Call]:
    """All calls, sorted by their sequence numbers: lines of threads may be in another order."""
    path, calls = folder / "index.jsonl", []
    try:
        lines = path.read_text().splitlines()
    except (OSError, ValueError) as error:
        raise DumpError(f"{path}: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            calls.append(read_call(folder, json.loads(line)))
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise DumpError(f"{path}:{number}: {error!r}") from error
    return sorted(calls, key=lambda call: call.sequence)
