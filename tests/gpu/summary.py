"""The ten lines at the end: what passed, and the share of the copy's bandwidth beside the one predicted.  Called by command.py."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path

from count.chips import CHIPS
from report import tables

COUNTS = Path(__file__).resolve().parents[2] / "bench/results/gpu-counts.json"

# A line each, with the passes that it has.
SHARES = (("cross_entropy", "forward"), ("cross_entropy", "forward + gradient", "forward + gradient, options"),
          ("cross_entropy", "gradient later"), ("adam", "step"))
# Passes that do not run what is counted of their kernel, and the variant that they run; None: not counted.
OTHER_KERNELS = {"forward": None, "gradient later": "gradient"}


@dataclass
class Result:
    """Of a stage."""

    stage: str
    fault: str = ""      # empty: it passed
    text: str = ""
    seconds: float = 0.0
    ran: bool = True

    def __str__(self) -> str:
        if not self.ran:
            return "not run" + (f": {self.text}" if self.text else "")
        return f"{self.fault or 'passed'}, {self.seconds:.0f} s" + (f"; {self.text}" if self.text else "")


def chip_of(gpu: str) -> str:
    """The chip of the counter's table that a GPU is; empty: none."""
    return next((name for name in sorted(CHIPS, key=len, reverse=True) if re.search(rf"\b{name}\b", gpu)), "")


class Predictions:
    def __init__(self, chip: str) -> None:
        rows = [row for row in json.loads(COUNTS.read_text())["rows"] if chip in row["share"]]
        self.shares = {(f"{row['kernel']}__{row['target']}", row.get("vocab", 0)): row["share"][chip] for row in rows}

    def of(self, record: dict) -> float | None:
        """That of the kernel at the nearest vocab.  The table has the loss with its gradient, and the gradient alone."""
        kernel, vocab = record["kernel"], 0
        if record["operation"] == "cross_entropy":
            vocab = int(record["peer"].split()[1])
            if record["pass"] in OTHER_KERNELS:
                variant = OTHER_KERNELS[record["pass"]]
                kernel = re.sub(r"^(cross_entropy_[a-z0-9]+)_[a-z]+", rf"\1_{variant}", kernel) if variant else ""
        near = [at for name, at in self.shares if name == kernel]
        return self.shares[kernel, min(near, key=lambda at: abs(math.log((at + 1) / (vocab + 1))))] if near else None


def _range(values: list[float]) -> str:
    ordered = sorted(values)
    return f"{ordered[len(ordered) // 2]:.2f} ({ordered[0]:.2f} to {ordered[-1]:.2f})"


def _pass_text(records: list[dict], name: str, predictions: Predictions | None) -> str:
    """The median and the range over the shapes."""
    mine = [record for record in records if record["pass"] == name]
    reached = [share for record in mine if (share := tables.fraction(record, "copy")) is not None]
    if not reached:
        return "not measured"
    expected = [share for record in mine if predictions and (share := predictions.of(record)) is not None]
    return f"{_range(reached)}, predicted {_range(expected) if expected else 'for no such chip' if not predictions else 'nothing'}"


def share_lines(results: dict, gpu: str) -> list[str]:
    chip = chip_of(gpu)
    predictions = Predictions(chip) if chip else None
    lines = []
    for operation, *passes in SHARES:
        records = [record for record in results.get("records", []) if record["operation"] == operation and "skipped" not in record]
        texts = [_pass_text(records, name, predictions) for name in passes]
        lines.append(f"{operation} {passes[0]}, of copy: {'; with options '.join(texts)}")
    return lines


def exchange_text(results: dict) -> str:
    """The all-to-all, of copies of the same bytes by the driver; no counter predicts it."""
    records, _ = tables.split("ragged_all_to_all", results.get("ranks", []))
    mine = [record for record in records if record["contender"].startswith("quern")]
    reached = [share for record in mine if (share := tables.bandwidth_of(record, records, tables.PLAIN)) is not None]
    return f"; ragged_all_to_all, of copy: {_range(reached)}" if reached else ""


def verdict(results: list[Result], folder: Path, seconds: float) -> str:
    failed = [f"{result.stage} ({result.fault})" for result in results if result.ran and result.fault]
    passed = sum(result.ran and not result.fault for result in results)
    return (f"FAILED: {', '.join(failed)}" if failed else f"{passed} stages passed") + f"; {seconds:.0f} s; {folder}"


def ten_lines(results: list[Result], measured: dict, gpu: str, folder: Path, seconds: float) -> list[str]:
    by_stage = {result.stage: result for result in results}

    def line(*stages: str) -> str:
        return "; ".join(f"{stage}: {by_stage.get(stage, Result(stage, ran=False))}" for stage in stages)

    return [line("machine"), line("build"), line("suites"), line("stress", "sanitizer", "links", "python"), line("benchmarks"),
            *share_lines(measured, gpu), verdict(results, folder, seconds)]
