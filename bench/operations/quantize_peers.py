"""Times PyTorch's casts to FP8 with current scaling on a CPU in turns with those of Quern's benchmark, and writes a row of a table
for each: eager, and compiled by torch.compile where that works.

Usage: quantize_peers.py [PROGRAM [ELEMENTS]], with a Python that can import torch.  PROGRAM is build/quern_bench.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

TURNS = 15
PAUSE = 0.01  # seconds, after which a peer's threads no longer spin
CACHE_ELEMENTS = 64 << 20  # of fp32: more than the cores cache
CODES = {"e4m3": (torch.float8_e4m3fn, 448.0), "e5m2": (torch.float8_e5m2, 57344.0)}


def cast_of(code: torch.dtype, largest: float) -> Callable[[Any], Any]:
    """As torchao and TransformerEngine's fallback have it: the scale from the largest magnitude, then a saturating cast."""
    def cast(x: Any) -> Any:
        scale = largest / x.abs().amax().float()
        return (x.float() * scale).clamp(-largest, largest).to(code), scale.reciprocal()

    return cast


def in_turn(cast: Callable[[Any], Any], x: Any, command: list[str]) -> tuple[float, float, float]:
    """The medians of seconds of both, and of the ratio in each turn."""
    others = torch.zeros(CACHE_ELEMENTS)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        turns = []
        for turn in range(TURNS + 1):
            others.add_(1)
            start = time.perf_counter()
            cast(x)
            theirs = time.perf_counter() - start
            time.sleep(PAUSE)
            process.stdin.write("\n")
            process.stdin.flush()
            ours = float(process.stdout.readline())
            if turn:
                turns.append((theirs, ours))
        process.stdin.close()
    return (*(statistics.median(column) for column in zip(*turns)), statistics.median(a / b for a, b in turns))


def main() -> int:
    program = sys.argv[1] if len(sys.argv) > 1 else "build/quern_bench"
    elements = int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 26
    x = torch.empty(elements, dtype=torch.bfloat16).uniform_(-3, 3)
    print(f"| PyTorch {torch.__version__}, {elements} bf16 elements | threads | PyTorch | Quern | times as fast |")
    print("|---|---:|---:|---:|---:|")
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for name, (code, largest) in CODES.items():
            eager = cast_of(code, largest)
            for kind, cast in (("eager", eager), ("compiled", torch.compile(eager))):
                command = [program, "quantize", "--list", str(elements), "--dtypes", name, "--threads", str(threads)]
                try:
                    theirs, ours, ratio = in_turn(cast, x, command)
                except Exception as error:  # of a compiler that is missing
                    print(f"| {name}, {kind} | {threads} | failed: {str(error).splitlines()[0]} | | |", flush=True)
                    continue
                print(f"| {name}, {kind} | {threads} | {1e3 * theirs:.1f} ms | {1e3 * ours:.1f} ms | {ratio:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
