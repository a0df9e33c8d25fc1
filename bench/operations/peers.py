"""Times other implementations on given shapes: PyTorch's cross-entropy and its fused AdamW; where they can be imported, on a GPU
also torch.compile, Liger and quack, and on a CPU DeepSpeed's Adam.

Usage: peers.py DEVICE SECONDS CASES PROGRAM, where CASES is a JSON list of the measurements to stand beside.  Writes a line of JSON
for each; a package that cannot be imported is one line that says so.  On a CPU steps of Adam take turns with those of PROGRAM,
Quern's benchmark, because what a machine's memory gives changes by the minute.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

Loss = Callable[[Any, Any], Any]
Optimizer = Callable[[list], Any]

LEAST_ROUNDS = 3
LEAST_TURNS = 15
PAUSE = 0.01  # seconds, after which a peer's threads no longer spin
CACHE_BYTES = 256 << 20  # more than a core or a GPU caches


class Unsupported(Exception):
    """The peer has no equivalent."""


# The output of imported packages is kept apart from the lines written here.
results = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def write(line: dict) -> None:
    print(json.dumps(line), file=results, flush=True)


def gpt2_counts(width: int, layers: int) -> list[int]:
    """As in data.c."""
    linear = lambda inputs, outputs: [inputs * outputs, outputs]  # noqa: E731
    layer = [width, width, *linear(width, 3 * width), *linear(width, width), width, width,
             *linear(width, 4 * width), *linear(4 * width, width)]
    return [50257 * width, 1024 * width, *(layer * layers), width, width]


class Torch:
    """PyTorch on one device."""

    def __init__(self, device: str, seconds: float, program: str) -> None:
        import torch

        self.torch, self.device, self.seconds, self.program = torch, device, seconds, program
        self.name = f"PyTorch {torch.__version__}"
        self.dtypes = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32,
                       "all bf16": torch.bfloat16, "all fp32": torch.float32}
        if device != "cpu":
            if not torch.cuda.is_available():
                raise Unsupported("has no CUDA device")
            torch.cuda.set_device(device if ":" in device else f"{device}:0")
        self.others_data = torch.zeros(CACHE_BYTES // 4, device=device)

    def time(self, work: Callable[[], Any]) -> float:
        """Seconds of one run that finds nothing in a cache: by the clock on a CPU, between two events on a GPU."""
        self.others_data.add_(1)
        if self.device == "cpu":
            start = time.perf_counter()
            work()
            return time.perf_counter() - start
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        end.synchronize()
        return 1e-3 * begin.elapsed_time(end)

    def median(self, work: Callable[[], Any]) -> float:
        """Of as many runs as fit, after one that is not counted."""
        self.time(work)
        times: list[float] = []
        while len(times) < LEAST_ROUNDS or sum(times) < self.seconds:
            times.append(self.time(work))
        return sorted(times)[len(times) // 2]

    def in_turn(self, work: Callable[[], Any], case: dict) -> dict:
        """The medians of the work and of Quern's step on the same list, and of the ratio of the two in each turn."""
        command = [self.program, "adam", "--list", case["peer"], "--dtypes", case["dtypes"], "--threads", str(case["threads"])]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin and process.stdout

            def turn() -> tuple[float, float]:
                theirs = self.time(work)
                time.sleep(PAUSE)
                process.stdin.write("\n")
                process.stdin.flush()
                if not (answer := process.stdout.readline()):
                    raise RuntimeError("Quern's benchmark ended")
                return theirs, float(answer)

            turn()
            turns: list[tuple[float, float]] = []
            while len(turns) < LEAST_TURNS or sum(map(sum, turns)) < 2 * self.seconds:
                turns.append(turn())
            process.stdin.close()
        theirs, ours = (statistics.median(column) for column in zip(*turns))
        return {"seconds": theirs, "quern_seconds": ours, "ratio": statistics.median(a / b for a, b in turns)}

    def cross_entropy(self, case: dict, loss_of: Loss) -> dict:
        torch = self.torch
        rows, vocab = map(int, case["peer"].split())
        gradient = case["pass"] != "forward"
        block = torch.randn(1 << 20, device=self.device).to(self.dtypes[case["dtypes"]])
        logits = block.repeat(-(-rows * vocab // block.numel()))[:rows * vocab].view(rows, vocab).requires_grad_(gradient)
        labels = torch.randint(vocab, (rows,), device=self.device)

        def work() -> None:
            logits.grad = None
            with torch.set_grad_enabled(gradient):
                loss = loss_of(logits, labels)
            if gradient:
                loss.backward()

        return {"seconds": self.median(work)}

    def adam(self, case: dict, optimizer_of: Optimizer) -> dict:
        torch = self.torch
        if case["dtypes"] not in self.dtypes:
            raise Unsupported("has no optimizer with these types in one kernel")
        kind, first, second = case["peer"].split()
        counts = gpt2_counts(int(first), int(second)) if kind == "gpt2" else [int(second)] * int(first)
        params = []
        for count in counts:
            param = torch.empty(count, dtype=self.dtypes[case["dtypes"]], device=self.device).uniform_(-0.1, 0.1)
            param.grad = torch.empty_like(param).uniform_(-0.001, 0.001)
            params.append(param)
        step = optimizer_of(params).step
        return self.in_turn(step, case) if self.device == "cpu" else {"seconds": self.median(step)}

    def runs(self, case: dict) -> dict[str, Callable[[], dict]]:
        """The peers of a case, by name."""
        if case["threads"]:
            self.torch.set_num_threads(case["threads"])
        if case["operation"] == "adam":
            names = OPTIMIZERS if self.device == "cpu" else {"PyTorch": OPTIMIZERS["PyTorch"]}
            return {self.name if name == "PyTorch" else name: lambda load=load: self.adam(case, load(self.torch))
                    for name, load in names.items()}
        names = LOSSES if self.device != "cpu" else {"PyTorch": LOSSES["PyTorch"]}
        return {self.name if name == "PyTorch" else name: lambda load=load: self.cross_entropy(case, load(self.torch))
                for name, load in names.items()}


# ---- losses: each loads what it needs, and gives a function of logits and labels ----


def load_eager(torch: Any) -> Loss:
    return lambda logits, labels: torch.nn.functional.cross_entropy(logits, labels, reduction="sum")


def load_compiled(torch: Any) -> Loss:
    return torch.compile(load_eager(torch))


def load_liger(torch: Any) -> Loss:
    from liger_kernel.transformers.cross_entropy import LigerCrossEntropyLoss

    return LigerCrossEntropyLoss(reduction="sum")


def load_quack(torch: Any) -> Loss:
    from quack.cross_entropy import cross_entropy

    return lambda logits, labels: cross_entropy(logits, labels, reduction="sum", inplace_backward=True)


LOSSES: dict[str, Callable[[Any], Loss]] = {"PyTorch": load_eager, "torch.compile": load_compiled, "Liger": load_liger,
                                            "quack": load_quack}


def load_fused(torch: Any) -> Optimizer:
    return lambda params: torch.optim.AdamW(params, lr=1e-5, weight_decay=0.01, fused=True)


def load_deepspeed(torch: Any) -> Optimizer:
    """Compiled when it is first used; its threads are those of the system's OpenMP, which PyTorch's own does not set."""
    from deepspeed.ops.adam import DeepSpeedCPUAdam

    ctypes.CDLL("libgomp.so.1").omp_set_num_threads(torch.get_num_threads())
    return lambda params: DeepSpeedCPUAdam(params, lr=1e-5, weight_decay=0.01, adamw_mode=True,
                                           fp32_optimizer_states=params[0].dtype == torch.float32)


OPTIMIZERS: dict[str, Callable[[Any], Optimizer]] = {"PyTorch": load_fused, "DeepSpeed": load_deepspeed}


def run_case(peer: Torch, case: dict) -> None:
    for name, run in peer.runs(case).items():
        line = {key: case[key] for key in ("operation", "pass", "dtypes", "shape", "threads")} | {"name": name}
        try:
            line |= {key: float(f"{value:.5g}") for key, value in run().items()}
        except Unsupported as why:
            line["skipped"] = str(why)
        except ImportError:
            line["skipped"] = "cannot be imported"
        except Exception as error:  # any error of a peer that lacks a kernel, a compiler or memory
            line["skipped"] = f"failed: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        write(line)
        if peer.device != "cpu":
            peer.torch.cuda.empty_cache()


def main() -> int:
    device, seconds, cases, program = sys.argv[1], float(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4]
    if importlib.util.find_spec("torch") is None:
        write({"message": "PyTorch: not importable"})
        return 0
    try:
        peer = Torch(device, seconds, program)
    except (ImportError, OSError, Unsupported) as why:
        write({"message": f"PyTorch: {why}"})
        return 0
    for case in cases:
        run_case(peer, case)
    return 0


if __name__ == "__main__":
    sys.exit(main())
