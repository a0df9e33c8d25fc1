"""The kept table: results/gpu-counts.json with all rows, and a page for readers.  Called by command.py and check.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from gen.toolchain import tools

from . import bounds, chips
from .launches import ROWS
from .machine_code import MachineCode
from .pipes import PIPES
from .table import Row

TABLE = Path(__file__).resolve().parents[1] / "results/gpu-counts.json"
UNIT = "issue slots of a thread per element: instructions of a warp along its path x 32 / elements"


def as_json(rows: list[Row]) -> str:
    """One row a line, whose pipes are in the order of `pipes`.

    `code` has a digest of each kernel's machine code, by which the check knows what to count again.
    """
    codes = {row.kernel.name: MachineCode(row.kernel).digest for row in rows}
    lines = ",\n".join(json.dumps(row.as_json(), separators=(",", ":")) for row in rows)
    head = {"unit": UNIT, "nvcc": tools(), "pipes": PIPES, "code": codes}
    texts = ",\n".join(f"{json.dumps(name)}:{json.dumps(value, separators=(',', ':'))}" for name, value in head.items())
    return f'{{{texts},\n"rows":[\n{lines}\n]}}\n'


def write(path: Path | None, text: Callable[[], str]) -> None:
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text())


# ---- the page ----


def markdown_table(head: list[str], lines: list[list[str]]) -> str:
    rule = ["---", *("---:" for _ in head[1:])]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, rule, *lines))


def _chips() -> str:
    lines = [[chip.name, chip.target, str(chip.sms), f"{chip.clock:g}", f"{chip.copy:g}", f"{chip.latency:.0f}",
              f"{bounds.needed_in_flight(chip) / 1024:.0f}", f"{bounds.budget(chip, 4):.1f}", chip.source]
             for chip in chips.CHIPS.values()]
    head = ["chip", "target", "SMs", "GHz", "copy, TB/s", "latency, ns", "KiB in flight an SM", "slots for 4 bytes", "source"]
    return markdown_table(head, lines)


def _cells(row: Row) -> list[str]:
    shares = "; ".join(f"{name} {share:.2f}, {bound}" for name, (share, bound) in row.shares.items())
    pipes = sorted(row.count.pipes.items(), key=lambda each: -each[1])[:4]
    flying = f"{row.blocks * row.launch.in_flight / 1024:.0f}" if row.blocks is not None else ""
    use = f"{row.use.vocab:,}" if row.use.vocab else row.use.form
    return [row.kernel.base_name, use, f"{row.count.slots:.1f}", f"{row.count.loop:.1f}", f"{row.count.fixed:.1f}",
            ", ".join(f"{name} {slots:.1f}" for name, slots in pipes), str(row.launch.registers), str(row.launch.shared),
            "" if row.blocks is None else str(row.blocks), flying, shares]


def as_markdown(rows: list[Row]) -> str:
    """The kernels that dispatch takes for many rows, by target."""
    head = ["kernel", "vocab or form", "slots", "in loops", "fixed", "most used pipes", "registers", "shared", "blocks an SM",
            "KiB in flight", "share of copy at most, bound"]
    parts = ["# Issue slots of the GPU kernels, counted\n\nWritten by `./quern bench --count`; the unit and the model are in "
             f"[README.md](../README.md#issue-slots-counted).  Cross-entropy: what dispatch takes for {ROWS:,} rows.  "
             "No GPU has run for this table.\n\n", _chips()]
    for target in dict.fromkeys(row.kernel.target.name for row in rows):
        lines = [_cells(row) for row in rows if row.kernel.target.name == target and row.chosen]
        parts.append(f"\n## {target}\n\n{markdown_table(head, lines)}")
    return "".join(parts)
