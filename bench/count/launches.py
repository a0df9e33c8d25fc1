"""What the library's own dispatch launches for a cross-entropy on a chip.  Called by table.py.

dispatch/launches.c calls the library, and dispatch/driver.c, a CUDA driver without a GPU, prints the launches.  So the choice of a
kernel, the blocks of a row and their shared memory are the dispatcher's, and no rule is copied here.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gen.spec import GpuTarget

PROGRAM = Path(__file__).resolve().parents[2] / "build/bench/count/launches"
ROWS = 4096  # of a call, and 1 for the kernels that share a row among blocks
MULTIPROCESSORS = 132


@dataclass(frozen=True)
class Launched:
    """One launch: of which kernel, and for each row."""

    name: str     # without the target
    blocks: int   # of all rows
    cluster: int
    threads: int
    shared: int


def _run(target: GpuTarget, rows: int, vocabs: list[int], kernels: str) -> list[str]:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(PROGRAM.parent), "QUERN_COUNT_CAPABILITY": str(target.cc_min),
                   "QUERN_COUNT_SMS": str(MULTIPROCESSORS), "QUERN_COUNT_SHARED": str(target.shared_bytes),
                   "QUERN_KNOWN_ANSWERS": "0"}
    for name in ("QUERN_KERNEL", "QUERN_LOG"):
        environment.pop(name, None)
    if kernels:
        environment["QUERN_KERNEL"] = kernels
    done = subprocess.run([str(PROGRAM), str(rows), *map(str, vocabs)], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def launched(target: GpuTarget, vocabs: list[int], rows: int = ROWS, kernels: str = "") -> dict[tuple[int, str], Launched]:
    """The launches by vocab and kernel.  With a pattern only kernels that match it are allowed."""
    found = {}
    vocab = 0
    for line in _run(target, rows, vocabs, kernels):
        kind, *words = line.split()
        if kind == "call":
            vocab = int(words[2])
        elif kind == "launch":
            found[vocab, words[0]] = Launched(words[0], *map(int, words[1:]))
    return found
