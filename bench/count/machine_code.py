"""The machine code of a kernel that the build has left: its text, a digest, registers and static shared memory.

Called by table.py, files.py and command.py.
"""

from __future__ import annotations

import functools
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gen import machine_code, plan
from gen.toolchain import find_nvdisasm

from . import sass


class Missing(Exception):
    """The build or the disassembler is missing; the text says what to do."""


def disassembler() -> Path:
    found = find_nvdisasm()
    if not found:
        raise Missing("nvdisasm was not found: ./quern toolkit installs it")
    return found


@functools.lru_cache(maxsize=8)  # the files of one target
def _disassembled(cubin: Path) -> dict[str, sass.Code]:
    done = subprocess.run([str(disassembler()), "-c", "-hex", str(cubin)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Missing(f"{disassembler()}: {done.stderr.strip()}")
    return sass.read(done.stdout)


@dataclass(frozen=True)
class MachineCode:
    """Of one kernel."""

    kernel: plan.Kernel

    @property
    def _file(self) -> Path:
        stem = f"{self.kernel.target.name}/{self.kernel.stem}"
        cubin = machine_code.path(stem, "cubin")
        if not cubin.exists():
            raise Missing(f"build/{stem}.cubin has not been built: ./quern build")
        return cubin

    @property
    def digest(self) -> str:
        return machine_code.digest(machine_code.sections(self._file)[self.kernel.symbol])

    @property
    def code(self) -> sass.Code:
        return _disassembled(self._file)[self.kernel.symbol]

    @property
    def registers(self) -> int:
        return machine_code.reports(self._file.with_suffix(".ptxas"))[self.kernel.symbol][0]

    @property
    def static_shared(self) -> int:
        return machine_code.reports(self._file.with_suffix(".ptxas"))[self.kernel.symbol][3]
