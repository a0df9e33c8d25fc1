"""The machine code of a kernel that the build has left: its text, a digest, registers and static shared memory.

Called by table.py, check.py and command.py.
"""

from __future__ import annotations

import functools
import hashlib
import re
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gen import audit, plan
from gen.toolchain import find_nvdisasm

from . import sass

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"


class Missing(Exception):
    """The build or the disassembler is missing; the text says what to do."""


def disassembler() -> Path:
    found = find_nvdisasm()
    if not found:
        raise Missing("nvdisasm was not found: ./quern toolkit installs it")
    return found


@functools.lru_cache(maxsize=8)  # the files of one target
def _disassembled(cubin: Path) -> dict[str, sass.Code]:
    done = subprocess.run([str(disassembler()), "-c", str(cubin)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Missing(f"{disassembler()}: {done.stderr.strip()}")
    return sass.read(done.stdout)


@functools.cache
def _sections(cubin: Path) -> dict[str, bytes]:
    """The sections of an ELF file of 64 bits with code, by their names."""
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


@functools.cache
def _reports(report: Path) -> dict[str, tuple[int, int]]:
    """Registers and static shared memory of each kernel, from ptxas."""
    parts = re.split(r"(?=ptxas info\s*: Compiling entry)", report.read_text())
    return {match[1]: (int(match[5]), int(match[6] or 0)) for part in parts if (match := audit.REPORT.search(part))}


@dataclass(frozen=True)
class MachineCode:
    """Of one kernel."""

    kernel: plan.Kernel

    @property
    def _file(self) -> Path:
        cubin = BUILD / self.kernel.target.name / f"{self.kernel.stem}.cubin"
        if not cubin.exists():
            raise Missing(f"{cubin.relative_to(ROOT)} has not been built: ./quern build")
        return cubin

    @property
    def digest(self) -> str:
        return hashlib.sha256(_sections(self._file)[self.kernel.symbol]).hexdigest()[:10]

    @property
    def code(self) -> sass.Code:
        return _disassembled(self._file)[self.kernel.symbol]

    @property
    def registers(self) -> int:
        return _reports(self._file.with_suffix(".ptxas"))[self.kernel.symbol][0]

    @property
    def static_shared(self) -> int:
        return _reports(self._file.with_suffix(".ptxas"))[self.kernel.symbol][1]
