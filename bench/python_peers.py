"""Measures the Python package against PyTorch in turns, on this CPU, and prints tables.

    python bench/python_peers.py [--threads N]     in an environment with torch and the wheel

Each figure is the least of several turns, and a turn is at least a few milliseconds of calls.  With one thread it is the CPU time of
the process, else wall time.  The memory of a last layer is what a process of its own takes at most beside its inputs.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F

import quern.torch

TURNS = 9
LEAST_SECONDS = 5e-3   # of a turn
DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32}


def least(clock, *functions, turns: int = TURNS) -> list[float]:
    """Milliseconds of each function, which are run in turns."""
    repeats = []
    for function in functions:
        began = time.perf_counter()
        function()
        repeats.append(max(1, round(LEAST_SECONDS / (time.perf_counter() - began))))
    times = [float("inf")] * len(functions)
    for _ in range(turns):
        for i, (function, count) in enumerate(zip(functions, repeats)):
            began = clock()
            for _ in range(count):
                function()
            times[i] = min(times[i], (clock() - began) * 1e3 / count)
    return times


class Logits(torch.autograd.Function):
    """Logits that a model would have computed: a leaf could not be overwritten."""

    @staticmethod
    def forward(ctx, anchor, values):
        return values.detach()

    @staticmethod
    def backward(ctx, upstream):
        return None, None


def cross_entropy(clock, dtype: torch.dtype, rows: int, vocab: int) -> list[float]:
    """eager, compiled, Quern, Quern in place: loss and gradient."""
    values, labels = torch.randn(rows, vocab).to(dtype), torch.randint(0, vocab, (rows,))
    anchor, logits = torch.zeros((), requires_grad=True), values.clone().requires_grad_()
    compiled = torch.compile(F.cross_entropy)

    def step(function):
        logits.grad = None
        function(logits, labels).backward()

    functions = (lambda: step(F.cross_entropy), lambda: step(compiled), lambda: step(quern.torch.cross_entropy),
                 lambda: quern.torch.cross_entropy(Logits.apply(anchor, values), labels, inplace=True).backward())
    for function in functions:
        function()
    return least(clock, *functions)


# ---- the last layer ----


def layer_inputs(dtype: torch.dtype, rows: int, width: int, vocab: int) -> tuple[torch.Tensor, ...]:
    hidden, matrix = (torch.empty(shape, dtype=dtype).normal_(std=scale).requires_grad_()
                      for shape, scale in (((rows, width), 1.0), ((vocab, width), 0.02)))
    return hidden, matrix, torch.randint(0, vocab, (rows,))


def by_torch(hidden, matrix, labels):
    return F.linear_cross_entropy(hidden, matrix, labels, options=torch.nn.LinearCrossEntropyOptions())


LAYERS = {"torch": by_torch, "quern": lambda hidden, matrix, labels: quern.torch.linear_cross_entropy(hidden, matrix, labels)}


def step_of(name: str, inputs: tuple[torch.Tensor, ...]) -> None:
    inputs[0].grad = inputs[1].grad = None
    LAYERS[name](*inputs).backward()


def peak_of(name: str, dtype: str, *shape: int) -> float:
    """Megabytes, in a process of its own."""
    words = [sys.executable, __file__, "--threads", str(torch.get_num_threads()), "--peak", name, dtype, *map(str, shape)]
    return float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def kilobytes(name: str) -> int:
    return int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def print_peak(name: str, dtype: str, *shape: str) -> None:
    step_of(name, layer_inputs(DTYPES[dtype], 8, 8, 8))   # what is loaded once
    inputs = layer_inputs(DTYPES[dtype], *map(int, shape))
    Path("/proc/self/clear_refs").write_text("5")   # what was most becomes what is now
    before = kilobytes("VmHWM")
    step_of(name, inputs)
    print((kilobytes("VmHWM") - before) / 1024)


def print_layers(clock) -> None:
    print("\n| last layer: loss and gradients | chunked ms | over Quern | chunked MB | Quern MB |\n|---|---|---|---|---|")
    for dtype in DTYPES:
        for shape in ((1024, 768, 32000), (4096, 768, 32000), (1024, 2048, 32000), (4096, 2048, 32000), (1024, 768, 131072)):
            inputs = layer_inputs(DTYPES[dtype], *shape)
            theirs, ours = least(clock, *(lambda name=name: step_of(name, inputs) for name in LAYERS), turns=3)
            peaks = " | ".join(f"{peak_of(name, dtype, *shape):,.0f}" for name in LAYERS)
            sides = " x ".join(f"{each:,}" for each in shape)
            print(f"| {dtype}, {sides} | {theirs:,.0f} | {theirs / ours:.2f} | {peaks} |", flush=True)


def plain_policy(logits: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    log_probs = F.log_softmax(logits.float(), -1)
    return log_probs.gather(1, labels[:, None])[:, 0], -(log_probs.exp() * log_probs).sum(-1)


def print_policy(clock) -> None:
    print("\n| log_prob, entropy, their gradient | log_softmax ms | over Quern |\n|---|---|---|")
    for dtype in DTYPES:
        logits, labels = torch.randn(1024, 32000).to(DTYPES[dtype]).requires_grad_(), torch.randint(0, 32000, (1024,))

        def step(function):
            logits.grad = None
            log_prob, entropy = function(logits, labels)
            (log_prob.sum() + 0.01 * entropy.sum()).backward()

        theirs, ours = least(clock, lambda: step(plain_policy), lambda: step(quern.torch.log_prob_and_entropy))
        print(f"| {dtype}, 1,024 x 32,000 | {theirs:.1f} | {theirs / ours:.2f} |", flush=True)


# ---- the optimizer, and small calls ----


def adamw(clock, dtype: torch.dtype, shapes: list[int]) -> list[float]:
    """PyTorch's fused one, Quern, Quern with rounding to nearest: a whole step."""
    lists = [[torch.nn.Parameter(torch.randn(shape).to(dtype)) for shape in shapes] for _ in range(3)]
    for params in lists:
        for param in params:
            param.grad = torch.randn_like(param)
    optimizers = [torch.optim.AdamW(lists[0], fused=True), quern.torch.AdamW(lists[1]),
                  quern.torch.AdamW(lists[2], rounding="nearest")]
    for optimizer in optimizers:
        optimizer.step()
    return least(clock, *(optimizer.step for optimizer in optimizers))


def overheads(clock) -> list[float]:
    """Microseconds of the smallest calls: the operator with given results, and allocating; the function; F's; both with gradients."""
    logits, labels = torch.randn(4, 16, requires_grad=True), torch.randint(0, 16, (4,))
    given, loss, grad = logits.detach(), torch.empty(()), torch.empty(4, 16)
    options = (labels, None, 16, 2, -100, 0.0, 0.0, 0.0, True, False)
    out, alone = torch.ops.quern.cross_entropy_out.default, torch.ops.quern.cross_entropy_loss.default
    calls = (lambda: out(given, *options, 1.0, loss=loss, grad=grad), lambda: alone(given, *options),
             lambda: quern.torch.cross_entropy(given, labels), lambda: F.cross_entropy(given, labels),
             lambda: quern.torch.cross_entropy(logits, labels).backward(), lambda: F.cross_entropy(logits, labels).backward())

    return [each * 1e3 for each in least(clock, *calls)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--peak", nargs=5, help=argparse.SUPPRESS)   # a layer, its dtype and shape
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.peak:
        return print_peak(*options.peak)
    clock = time.process_time if options.threads == 1 else time.perf_counter
    print(f"torch {torch.__version__}, quern {quern.__version__}, threads: {options.threads}\n")
    print("| loss and gradient | eager ms | over compiled | over Quern | over Quern in place |\n|---|---|---|---|---|")
    for dtype in (torch.bfloat16, torch.float32):
        for rows, vocab in ((1, 32000), (16, 32000), (64, 32768), (1024, 32000), (4096, 32000)):
            eager, *others = cross_entropy(clock, dtype, rows, vocab)
            ratios = " | ".join(f"{eager / each:.2f}" for each in others)
            print(f"| {str(dtype)[6:]}, {rows:,} x {vocab:,} | {eager:.2f} | {ratios} |", flush=True)
    print("\n| AdamW | fused ms | over Quern | over Quern, nearest |\n|---|---|---|---|")
    for dtype in (torch.float32, torch.bfloat16):
        for count, size in ((4, 1 << 23), (10000, 100)):
            fused, *others = adamw(clock, dtype, [size] * count)
            print(f"| {str(dtype)[6:]}, {count:,} x {size:,} | {fused:.2f} | {' | '.join(f'{fused / each:.2f}' for each in others)} |",
                  flush=True)
    print_policy(clock)
    if hasattr(torch.nn, "LinearCrossEntropyOptions"):   # PyTorch 2.13 has it
        print_layers(clock)
    names = ("operator with out=", "operator", "function", "F.cross_entropy", "function and backward", "F and backward")
    print("\n| call of 4 x 16 | us |\n|---|---|")
    print("\n".join(f"| {name} | {each:.1f} |" for name, each in zip(names, overheads(clock))))


if __name__ == "__main__":
    main()
