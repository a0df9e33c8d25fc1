"""Compares MLPs of the demo that are split over ranks with whole ones: initial parameters bit for bit, gradients within the error
of 8 bits.

The demo dumps the arguments of Adam in its first step, on one rank and with --tensor-parallel.  The parts of the ranks are put
together.  The losses of a run say little: they hardly change if an MLP gives half of its result.  The last line is
`N passed, N failed`.
"""

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cases import check

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = os.environ.get("QUERN_TEST_PROGRAMS", "build")
sys.path.insert(0, str(ROOT / "bindings/python"))

from quern_dump import tensors  # noqa: E402
from quern_dump.index import read_index  # noqa: E402

LAYERS, WIDTH, HIDDEN = 2, 96, 4 * 96
FIRST_OF_BLOCKS, QKV, OUTPUT, UP, DOWN, TENSORS_PER_BLOCK = 2, 0, 1, 2, 3, 4  # of the demo's list of tensors

# The largest |difference| / |gradient| in norm, of a tensor.  An element of E5M2 has an error of up to 1/8, of E4M3 1/16.  The
# bytes do not depend on the number of ranks, but for an element that another order of fp32 sums moves across a boundary.
TOLERANCE, TOLERANCE_BETWEEN_RUNS = 0.1, 0.01

RUNS = (  # ranks, and how they run
    (2, ("--device=cpu", "--threads=1")),
    (2, ("--device=cpu", "--processes")),
    (3, ("--device=cpu", "--threads=6")),
    (4, ("--device=cpu", "--processes")),
    (2, ("--device=cuda",)),
    (3, ("--device=cuda", "--processes")),
)
EMULATED = {"LD_LIBRARY_PATH": "build/emulator", "QUERN_EMULATOR": "9.0"}  # GPUs; without nvcc there are no kernels for them

Values = Sequence[float]


def run_demo(folder: Path, *options: str) -> None:
    command = [f"{PROGRAMS}/language_model", "--no-comparison", "--steps=1", "--vocab=512", "--context=20", "--batch=12",
               f"--width={WIDTH}", f"--layers={LAYERS}", f"--dump=1:{folder}", *options]
    environment = {**os.environ, **(EMULATED if "--device=cuda" in options else {})}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    check(result.returncode == 0, f"{' '.join(command)} ended with {result.returncode}: {result.stderr}")


def adam_inputs(folder: Path) -> dict[str, Values]:
    """Gradients and master parameters, by names such as grad.3."""
    (call,) = (call for call in read_index(folder) if call.operation == "adam")
    found = {}
    for tensor in call.tensors:
        if tensor.access != "in":
            continue
        stored = tensor.stored()
        found[tensor.name] = tensors.DTYPES[stored.dtype][1](stored.path.read_bytes()[stored.begin:stored.begin + stored.bytes])
    return found


def join(kind: int, parts: list[Values]) -> Values:
    """Rows of `up`, and columns of `down`, of the ranks in order.  Of other tensors all ranks have the same."""
    if kind == UP:
        return [value for part in parts for value in part]
    if kind == DOWN:
        columns = HIDDEN // len(parts)
        return [value for row in range(WIDTH) for part in parts for value in part[row * columns:(row + 1) * columns]]
    check(all(part == parts[0] for part in parts), "ranks have other bits")
    return parts[0]


def distance(values: Values, expected: Values) -> float:
    check(len(values) == len(expected), f"{len(values)} values: expected {len(expected)}")
    return math.dist(values, expected) / math.hypot(*expected)


def kind_of(tensor: int) -> int:
    return (tensor - FIRST_OF_BLOCKS) % TENSORS_PER_BLOCK if tensor >= FIRST_OF_BLOCKS else -1


def joined(ranks: list[dict[str, Values]]) -> dict[str, Values]:
    count = FIRST_OF_BLOCKS + TENSORS_PER_BLOCK * LAYERS
    names = [(kind_of(t), f"{array}.{t}") for t in range(count) for array in ("master", "grad")]
    return {name: join(kind, [rank[name] for rank in ranks]) for kind, name in names}


def compare(found: dict[str, Values], expected: dict[str, Values], tolerance: float) -> float:
    """Returns the largest distance of a gradient."""
    largest = 0.0
    for name, values in found.items():
        if name.startswith("master"):
            check(list(values) == list(expected[name]), f"{name} has other bits")
            continue
        apart = distance(values, expected[name])
        check(apart < tolerance, f"{name} is {apart:.3g} apart: expected less than {tolerance}")
        largest = max(largest, apart)
    return largest


def run_parts(folder: Path, ranks: int, options: tuple[str, ...]) -> dict[str, Values]:
    run_demo(folder, f"--tensor-parallel={ranks}", "--timeout=600", *options)
    return joined([adam_inputs(folder), *(adam_inputs(folder.with_name(f"{folder.name}.{rank}")) for rank in range(1, ranks))])


def check_run(title: str, parts: dict[str, Values], whole: dict[str, Values], first: dict[str, Values]) -> None:
    apart = compare(parts, whole, TOLERANCE)
    check(apart > 0, "no gradient differs: the rows did not pass through 8 bits")
    between = compare(parts, first, TOLERANCE_BETWEEN_RUNS)
    print(f"{title}: gradients up to {apart:.4f} apart, from those of the first run {between:.2g}")


def runs() -> list[tuple[int, tuple[str, ...]]]:
    nvcc = ROOT / "build/nvcc.txt"
    has_kernels = nvcc.exists() and nvcc.read_text().split()[0] != "none"
    return [(ranks, options) for ranks, options in RUNS if has_kernels or "--device=cuda" not in options]


def main() -> int:
    chosen, failures = runs(), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_demo(folder / "whole", "--device=cpu")
        whole, first = adam_inputs(folder / "whole"), {}
        for number, (ranks, options) in enumerate(chosen):
            title = f"{ranks} ranks, {' '.join(options)}"
            try:
                parts = run_parts(folder / str(number), ranks, options)
                first = first or parts
                check_run(title, parts, whole, first)
            except (AssertionError, tensors.DumpError, KeyError, OSError, ValueError) as error:
                print(f"{title}: {error!r}")
                failures += 1
    print(f"{len(chosen) - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
