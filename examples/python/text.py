"""The demo's text as tokens, and the size of the models: for gpt_torch.py and gpt_jax.py.

A token is a pair of bytes.  The text is that of `./quern demo`: build/corpus.txt, or any file that is given.
"""
import argparse
from pathlib import Path

import numpy

LAYERS, HEADS, WIDTH, LENGTH, BATCH = 2, 4, 128, 128, 8


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--plain", action="store_true", help="the framework's own loss and optimizer")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--text", type=Path, default=Path(__file__).resolve().parents[2] / "build/corpus.txt",
                        help="build/corpus.txt, which `python3 demo/corpus.py build/corpus.txt` writes")
    return parser.parse_args()


def tokens(path):
    """The text as numbers of its distinct pairs of bytes, and how many of those there are."""
    data = path.read_bytes()
    pairs, numbers = numpy.unique(numpy.frombuffer(data[:len(data) // 2 * 2], numpy.uint16), return_inverse=True)
    return numbers.astype(numpy.int64), len(pairs)


def batches(numbers, steps):
    """Inputs and targets [BATCH, LENGTH] of each step, the same in every run."""
    random = numpy.random.default_rng(0)
    for _ in range(steps):
        starts = random.integers(0, len(numbers) - LENGTH - 1, BATCH)
        rows = numbers[starts[:, None] + numpy.arange(LENGTH + 1)]
        yield rows[:, :-1], rows[:, 1:]


def peak_mb():
    """The most memory that this process has had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024
