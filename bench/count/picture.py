"""The picture of predicted shares: from low to high over the vocab, for each chip.  Called by command.py."""

from __future__ import annotations

from pathlib import Path

from report import pictures

from .predictions import Predicted

COLOUR = "#1f6f8b"
TICKS = (1, 4, 16, 64, 262)   # thousands


def draw(chips: dict[str, list[Predicted]], path: Path) -> None:
    """The band of cross-entropy of bf16 without options; crosses: what the issue slots and bytes in flight allow at most."""
    plot = pictures.plotting()
    figure, places = plot.subplots(1, len(chips), figsize=(11, 2.9), sharey=True)
    for axes, (name, found) in zip(places.flat, chips.items()):
        vocabs = [each.row.use.vocab / 1000 for each in found]
        axes.fill_between(vocabs, [each.low for each in found], [each.high for each in found], color=COLOUR, alpha=0.35)
        axes.scatter(vocabs, [each.row.shares[name][0] for each in found], color=COLOUR, marker="x", s=16)
        axes.set_title(name, fontsize=9)
        axes.set_ylim(0, 1.05)
        axes.set_xscale("log")
        axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axes.minorticks_off()
        axes.grid(axis="y", color=pictures.FAINT, linewidth=0.4)
    figure.supxlabel("vocab, thousands", fontsize=9)
    figure.supylabel("share of copy bandwidth", fontsize=9)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plot.close(figure)
