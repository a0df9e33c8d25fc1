"""The picture of a table: the predicted share of copy bandwidth over the vocab, for each chip.  Called by command.py."""

from __future__ import annotations

from pathlib import Path

from report import pictures

from .chips import CHIPS
from .table import Row

COLOURS = {"bf16": "#1f6f8b", "f16": "#7a9e3b", "f32": "#c8553d"}
TICKS = (1, 4, 16, 64, 262)   # thousands
GOALS = (0.8, 0.9)            # on every chip; on A100, H100 and H200


def _points(rows: list[Row], chip: str, dtype: str, aligned: bool) -> list[tuple[int, float]]:
    return sorted((row.use.vocab, row.shares[chip][0]) for row in rows
                  if chip in row.shares and row.chosen and row.kernel.key.get("logits") == dtype and not row.kernel.full
                  and (row.use.vocab % 16 == 0) == aligned)


def draw(rows: list[Row], path: Path) -> None:
    """Lines for vocabs whose rows are aligned, crosses for the others.  Faint lines are the goals."""
    plot = pictures.plotting()
    figure, places = plot.subplots(2, 4, figsize=(11, 5), sharey=True)
    for axes, chip in zip(places.flat, CHIPS):
        for dtype, colour in COLOURS.items():
            points, odd = _points(rows, chip, dtype, True), _points(rows, chip, dtype, False)
            if not points and not odd:
                continue
            axes.plot([vocab / 1000 for vocab, _ in points], [share for _, share in points], color=colour, linewidth=1.2,
                      marker="o", markersize=3, label=dtype)
            axes.scatter([vocab / 1000 for vocab, _ in odd], [share for _, share in odd], color=colour, marker="x", s=24)
        axes.set_title(chip, fontsize=9)
        axes.set_ylim(0, 1.05)
        axes.set_xscale("log")
        axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axes.minorticks_off()
        for goal in GOALS:
            axes.axhline(goal, color=pictures.FAINT, linewidth=0.6, zorder=0)
    places.flat[0].legend(frameon=False)
    figure.supxlabel("vocab, thousands (crosses: odd vocabs, whose rows are not aligned)")
    figure.supylabel("predicted share of copy bandwidth")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plot.close(figure)
