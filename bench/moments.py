"""What narrow moments of Adam lose, measured with the library itself: the tables of docs/adam.md, as Markdown.

    python3 bench/moments.py build/libquern.so       # some minutes on one core

m: a constant gradient, until m no longer changes.  v: parameters that approach a target over noisy gradients, whose size differs by
up to a factor S among 32 neighbours, which share a scale; the distance that is left, of the quarter with the least gradients.  cost:
the time of a step with m rounded to nearest and stochastically, in turns on one thread.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import statistics
import time
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parent.parent
BETAS = (0.9, 0.95, 0.99, 0.999)
SPREADS = (1, 1e2, 1e3, 1e4, 1e6)
KINDS = (("f32", "f32"), ("bf16", "bf16"), ("e5m2", "e5m2"), ("e4m3", "e5m2"), ("bf16", "e5m2"), ("e4m3", "e4m3"), ("bf16", "e4m3"))
BYTES = {"f32": 4, "bf16": 2, "e4m3": 1, "e5m2": 1}
NEAREST, STOCHASTIC = 1, 2


def load(path: Path):
    """The library and its structs, without the package."""
    spec = importlib.util.spec_from_file_location("quern_c", ROOT / "bindings/python/quern/_c.py")
    assert spec and spec.loader
    c = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(c)
    return c, c.load(str(path))


class Adam:
    """A tensor of fp32 parameters with moments of the given types, on one thread."""

    def __init__(self, c, lib, start: numpy.ndarray, m: str, v: str, rounding: int = 0, **options: float) -> None:
        self.lib, self.device, count = lib, ctypes.c_void_p(), start.size
        self.check(lib.quern_device_open(c.QUERN_CPU, 0, ctypes.byref(self.device)))
        self.check(lib.quern_prepare(self.device, c.QUERN_ADAM))
        self.check(lib.quern_set_threads(self.device, 1, c.quern_parallel_for(), None))
        self.param, self.grad = start.astype(numpy.float32), numpy.zeros(count, numpy.float32)
        self.m, self.v = (numpy.zeros(count * BYTES[kind], numpy.uint8) for kind in (m, v))
        self.scales = numpy.zeros((2, -(-count // 32)), numpy.uint8)
        self.row, self.args = c.quern_adam_tensor(), c.quern_adam_args()
        lib.quern_adam_args_init(ctypes.byref(self.args))
        for field, array in (("param", self.param), ("grad", self.grad), ("m", self.m), ("v", self.v), ("m_scale", self.scales[0]),
                             ("v_scale", self.scales[1])):
            setattr(self.row, field, array.ctypes.data)
        self.row.count, self.args.tensors, self.args.tensor_count = count, ctypes.addressof(self.row), 1
        self.args.param_dtype = self.args.grad_dtype = c.QUERN_F32
        self.args.m_dtype, self.args.v_dtype = (getattr(c, f"QUERN_{kind.upper()}") for kind in (m, v))
        self.args.m_rounding, self.args.seed = rounding, 3
        for name, value in options.items():
            setattr(self.args, name, value)

    def check(self, status: int) -> None:
        text = ctypes.create_string_buffer(256)
        self.lib.quern_error_detail(text, len(text))
        assert status == 0, text.value.decode()

    def step(self) -> None:
        self.args.step += 1
        self.check(self.lib.quern_adam(self.device, ctypes.byref(self.args), None, 0, None))

    def bf16_m(self) -> numpy.ndarray:
        return (self.m.view(numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32)


def share_of_gradient(c, lib, beta1: float, rounding: int) -> float:
    adam = Adam(c, lib, numpy.ones(2048), "bf16", "bf16", rounding, beta1=beta1, lr=1e-5)
    adam.grad[:] = 0.1
    for _ in range(int(15 / (1 - beta1))):
        adam.step()
    return float(adam.bf16_m().astype(numpy.float64).mean() / numpy.float64(numpy.float32(0.1)))


def distance(c, lib, kind: tuple[str, str], spread: float, count: int = 2048, steps: int = 2000) -> float:
    random = numpy.random.default_rng(1)
    slope = (0.01 * numpy.exp(random.uniform(-numpy.log(spread), 0, count))).astype(numpy.float32)
    target = random.standard_normal(count).astype(numpy.float32)
    adam = Adam(c, lib, numpy.zeros(count), *kind)
    for step in range(steps):
        adam.grad[:] = slope * (adam.param - target + 0.3 * random.standard_normal(count).astype(numpy.float32))
        adam.args.lr = 0.01 * (1 - 0.9 * step / steps)
        adam.step()
    left = numpy.abs(adam.param - target)
    return float(numpy.median(left[slope <= numpy.quantile(slope, 0.25)] if spread > 1 else left))


def cost(c, lib, count: int = 1 << 20, turns: int = 25) -> float:
    """How much longer a step takes whose m is rounded stochastically: the median over turns."""
    both = [Adam(c, lib, numpy.ones(count), "bf16", "bf16", rounding, lr=1e-3) for rounding in (NEAREST, STOCHASTIC)]
    ratios = []
    for adam in both:
        adam.grad[:] = 0.1
    for _ in range(turns):
        times = []
        for adam in both:
            begin = time.thread_time()
            adam.step()
            times.append(time.thread_time() - begin)
        ratios.append(times[1] / times[0])
    return statistics.median(ratios)


def table(heads: list[str], rows: list[list[str]]) -> None:
    for row in (heads, ["---"] * len(heads), *rows):
        print("| " + " | ".join(row) + " |")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("library", type=Path, help="a libquern.so")
    c, lib = load(parser.parse_args().library)
    table(["m in bf16, of a constant gradient", *(f"beta1 {beta}" for beta in BETAS)],
          [[name, *(f"{share_of_gradient(c, lib, beta, rounding):.3f}" for beta in BETAS)]
           for name, rounding in (("to nearest", NEAREST), ("stochastic", STOCHASTIC))])
    table(["m, v", *(f"S = {spread:g}" for spread in SPREADS)],
          [[", ".join(kind), *(f"{distance(c, lib, kind, spread):.4f}" for spread in SPREADS)] for kind in KINDS])
    print(f"A step with m rounded stochastically takes {cost(c, lib):.2f} times as long.")


if __name__ == "__main__":
    main()
