"""Trains the demo's model with Adam's moments kept in fp32, in bf16 as Quern does it, and in bf16 with v rounded to nearest, and
compares the losses.

Everything else is the same: initial weights, batches, learning rates, and parameters in bf16 with an fp32 master copy.  The model
is small, so that a run of 20,000 steps takes seconds; each is repeated from other seeds.  With --check a shorter run of one seed
must show what the documentation says, and the last line counts.
"""

from __future__ import annotations

import argparse
import os
import concurrent.futures
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from report.pictures import FAINT, plotting  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "build/convergence.txt"
MODEL = ["--vocab", "512", "--width", "32", "--layers", "1", "--context", "16", "--batch", "8", "--beta2", "0.999",
         "--device", "cpu", "--threads", "1", "--no-comparison"]

# The demo's --moments, what the picture calls it, and its colour.
MOMENTS = {
    "f32": ("fp32", "#22303c"),
    "bf16": ("bf16, v stochastic (the default)", "#1f6f8b"),
    "nearest": ("bf16, v to nearest", "#c8553d"),
}

POINTS = 200                      # of a curve as it is kept: means over so many equal parts of the run
CLOSE, APART = 0.01, 0.01         # what bf16 must stay within, and nearest rounding go beyond, of fp32's loss
CHECK_STEPS, CHECK_SEED = 10000, 1


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=20000, metavar="N", help="of each run (20000)")
    parser.add_argument("--seeds", type=int, default=4, metavar="N", help="how many runs of each kind (4)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the curves")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw them (needs matplotlib)")
    parser.add_argument("--from", dest="source", type=Path, metavar="FILE", help="train nothing: take what --json wrote")
    parser.add_argument("--check", action="store_true", help="whether a short run shows what the documentation says")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="runs at a time (2)")
    parser.add_argument("--program", type=Path, default=ROOT / os.environ.get("QUERN_TEST_PROGRAMS", "build") / "language_model", help=argparse.SUPPRESS)
    return parser.parse_args()


# ---- training ------------------------------------------------------------------------------------


def _means(losses: list[float], parts: int) -> list[float]:
    """The means over equal parts of a run."""
    cuts = [len(losses) * i // parts for i in range(parts + 1)]
    return [round(sum(losses[a:b]) / (b - a), 5) for a, b in zip(cuts, cuts[1:])]


def _train(program: Path, moments: str, seed: int, steps: int) -> list[float]:
    """The loss of each step."""
    with tempfile.NamedTemporaryFile(mode="r", suffix=".txt") as curve:
        command = [str(program), *MODEL, "--corpus", str(CORPUS), "--moments", moments, "--seed", str(seed), "--steps", str(steps),
                   "--curve", curve.name]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            raise SystemExit(f"{' '.join(command)} ended with status {run.returncode}:\n{run.stdout[-2000:]}{run.stderr}")
        return [float(line) for line in curve]


def train_all(program: Path, seeds: range, steps: int, jobs: int) -> dict:
    """Curves by moments, one for each seed."""
    subprocess.run([sys.executable, str(ROOT / "demo/corpus.py"), str(CORPUS)], check=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = {(moments, seed): pool.submit(_train, program, moments, seed, steps) for moments in MOMENTS for seed in seeds}
        return {
            "steps": steps,
            "seeds": list(seeds),
            "curves": {moments: [_means(runs[moments, seed].result(), POINTS) for seed in seeds] for moments in MOMENTS},
        }


# ---- results -------------------------------------------------------------------------------------


def final_losses(results: dict, moments: str) -> list[float]:
    """The mean over the last tenth of each run."""
    last = POINTS // 10
    return [sum(curve[-last:]) / last for curve in results["curves"][moments]]


def differences(results: dict, moments: str) -> list[float]:
    """The relative excess of each seed's loss over that with fp32 moments."""
    return [loss / reference - 1 for loss, reference in zip(final_losses(results, moments), final_losses(results, "f32"))]


def show(results: dict) -> None:
    runs = len(results["seeds"])
    print(f"{results['steps']} steps, {runs} run{'s' if runs > 1 else ''}: "
          "loss over the last tenth, and how much more than fp32's\n")
    for moments, (name, _) in MOMENTS.items():
        losses, more = final_losses(results, moments), differences(results, moments)
        print(f"  {name:34} {sum(losses) / runs:.4f}   {min(more):+.2%} to {max(more):+.2%}")


def draw(results: dict, path: Path) -> None:
    plot = plotting()
    figure, (whole, apart) = plot.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    steps = [results["steps"] * (i + 0.5) / POINTS for i in range(POINTS)]
    runs = len(results["seeds"])
    for moments, (name, colour) in MOMENTS.items():
        curves = results["curves"][moments]
        mean = [sum(points) / runs for points in zip(*curves)]
        whole.plot(steps, mean, color=colour, linewidth=1.2, linestyle="--" if moments == "bf16" else "-", label=name)
        for curve, reference in zip(curves, results["curves"]["f32"]):
            more = [100 * (point / other - 1) for point, other in zip(curve, reference)]
            apart.plot(steps, more, color=colour, linewidth=0.9, alpha=0.8)
    whole.set_ylabel(f"loss, mean of {runs} runs")
    apart.set_ylabel("more loss than with fp32 moments, %")
    apart.axhline(100 * CLOSE, color=FAINT, linewidth=0.8)
    whole.legend(frameon=False)
    for axes in (whole, apart):
        axes.set_xlabel("step")
        axes.set_xlim(0, results["steps"])
    figure.savefig(path, metadata={"Date": None})
    plot.close(figure)


def check(program: Path, jobs: int) -> int:
    """Checks the documented claims for one seed."""
    results = train_all(program, range(CHECK_SEED, CHECK_SEED + 1), CHECK_STEPS, jobs)
    show(results)
    bf16, nearest = differences(results, "bf16")[0], differences(results, "nearest")[0]
    claims = {
        f"bf16 moments with a stochastic v end within {CLOSE:.0%} of fp32's loss": abs(bf16) <= CLOSE,
        f"with v to nearest they do not, and end more than {APART:.0%} above it": nearest > APART,
    }
    for claim, holds in claims.items():
        if not holds:
            print(f"\nnot true: {claim}")
    print(f"\n{sum(claims.values())} passed, {len(claims) - sum(claims.values())} failed")
    return 0 if all(claims.values()) else 1


def main() -> int:
    chosen = read_arguments()
    if chosen.check:
        return check(chosen.program, chosen.jobs)
    results = json.loads(chosen.source.read_text()) if chosen.source else train_all(
        chosen.program, range(1, chosen.seeds + 1), chosen.steps, chosen.jobs)
    show(results)
    if chosen.json:
        chosen.json.write_text(json.dumps(results, separators=(",", ":")).replace("],[", "],\n[") + "\n")
    if chosen.plot:
        draw(results, chosen.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
