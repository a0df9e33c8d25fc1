"""What the build has made of one source of GPU kernels: the registers that ptxas reports, the widths of accesses in the PTX, a
digest of the machine code, and the version of the image.
"""

from __future__ import annotations

import functools
import hashlib
import re
import struct
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gen import ptx

BUILD = Path(__file__).resolve().parent.parent / "build"
_REPORT = re.compile(r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
                     r"(\d+) bytes spill loads.*?Used (\d+) registers(?:.*?(\d+) bytes smem)?", re.S)


@dataclass(frozen=True)
class Code:
    """Of one kernel."""

    registers: int
    spills: int              # bytes that are stored and loaded
    stack: int
    shared: int              # static
    loads: dict[int, int]    # from global memory: how many of how many bytes
    stores: dict[int, int]
    digest: str


@dataclass(frozen=True)
class Image:
    """Of one source and target."""

    abi: tuple[int, int]     # EI_OSABI and EI_ABIVERSION of its machine code
    isa: tuple[int, int]     # the version of its PTX
    kernels: dict[str, Code]  # by their symbols

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Image:
        def widths(found: dict[str, int]) -> dict[int, int]:
            return {int(size): count for size, count in found.items()}

        kernels = {name: Code(*numbers, widths(loads), widths(stores), digest)
                   for name, (*numbers, loads, stores, digest) in values["kernels"].items()}
        return cls(tuple(values["abi"]), tuple(values["isa"]), kernels)

    def as_json(self) -> dict[str, Any]:
        return {"abi": self.abi, "isa": self.isa,
                "kernels": {name: list(vars(code).values()) for name, code in self.kernels.items()}}


@functools.cache
def sections(cubin: Path) -> dict[str, bytes]:
    """The code of each kernel in an ELF file of 64 bits."""
    data = cubin.read_bytes()
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, number, of_names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(number)]
    names = headers[of_names][4]
    found = {}
    for name, _, _, _, offset, length in headers:
        end = data.index(b"\0", names + name)
        text = data[names + name:end].decode()
        if text.startswith(".text."):
            found[text.removeprefix(".text.")] = data[offset:offset + length]
    return found


def digest(code: bytes) -> str:
    return hashlib.sha256(code).hexdigest()[:10]


def abi(cubin: Path) -> tuple[int, int]:
    with cubin.open("rb") as file:
        head = file.read(20)
    if head[:4] != b"\x7fELF" or struct.unpack_from("<H", head, 18)[0] != 190:
        raise ValueError(f"{cubin} is no cubin")
    return head[7], head[8]


@functools.cache
def reports(report: Path) -> dict[str, tuple[int, ...]]:
    """Registers, spilled bytes, stack and static shared memory of each kernel, from ptxas."""
    # One kernel's part of the report at a time, so that a value missing there is not taken from the next.
    found = {}
    for part in re.split(r"(?=ptxas info\s*: Compiling entry)", report.read_text()):
        if match := _REPORT.search(part):
            stack, stored, loaded, registers, shared = (int(number or 0) for number in match.groups()[1:])
            found[match[1]] = registers, stored + loaded, stack, shared
    return found


def path(stem: str, extension: str) -> Path:
    """stem: sm_90a/barrier, for instance."""
    return BUILD / f"{stem}.{extension}"


def read(stem: str) -> Image:
    text, cubin = path(stem, "ptx").read_text(), path(stem, "cubin")
    numbers, codes = reports(path(stem, "ptxas")), sections(cubin)
    kernels = {}
    for symbol, blocks in ptx.kernels(text).items():
        widths = (dict(sorted(Counter(size for block in blocks.values() for size in getattr(block, way)).items()))
                  for way in ("loads", "stores"))
        kernels[symbol] = Code(*numbers[symbol], *widths, digest(codes[symbol]))
    isa = re.search(r"^\.version (\d+)\.(\d+)", text, re.MULTILINE)
    if not isa:
        raise ValueError(f"build/{stem}.ptx names no version")
    return Image(abi(cubin), (int(isa[1]), int(isa[2])), kernels)
