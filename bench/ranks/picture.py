"""The picture of ranks: what a barrier takes with more and more ranks, what an all-to-all moves with longer and longer slices."""

from __future__ import annotations

from pathlib import Path

import report
from figure import FAINT, INK, plotting
from ranks import tables

COLOURS = {"quern": "#c8553d", "quern plan": "#e09f3e", "quern private output": "#b5838d"}
GREYS = ("#1f6f8b", "#6b7f8c", "#3d5a40", "#8d99ae", "#5c4b51", "#a3b18a", "#355070", "#b0a990")
MARKERS = {"threads": "o", "processes": "s", "on one GPU": "D"}


def _lines(records: list[dict]) -> dict[tuple[str, str], list[dict]]:
    """The measurements of each contender and kind of ranks."""
    lines: dict[tuple[str, str], list[dict]] = {}
    for record in records:
        lines.setdefault((record["contender"], record["kind"]), []).append(record)
    return lines


def _colours(records: list[dict]) -> dict[str, str]:
    others = [name for name in dict.fromkeys(record["contender"] for record in records) if name not in COLOURS]
    return COLOURS | {name: GREYS[i % len(GREYS)] for i, name in enumerate(others)}


def _draw_barriers(axes, records: list[dict]) -> None:
    colours = _colours(records)
    for (name, kind), line in _lines(records).items():
        axes.plot([r["ranks"] for r in line], [1e6 * r["seconds"] for r in line], marker=MARKERS[kind], markersize=4,
                  linewidth=1.6 if name == "quern" else 0.8, color=colours[name], label=f"{name}, {kind}",
                  linestyle="-" if kind == "processes" else "--")
    ranks = sorted({record["ranks"] for record in records})
    axes.set_xscale("log", base=2)
    axes.set_xticks(ranks, [str(count) for count in ranks])
    axes.set_yscale("log")
    axes.set_xlabel("ranks")
    axes.set_ylabel("microseconds of one round")
    axes.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))


def _draw_exchanges(axes, records: list[dict], ranks: int) -> None:
    shown = [record for record in records if record["ranks"] == ranks and record["updates"] == 1]
    colours = _colours(shown)
    for (name, _), line in _lines(shown).items():
        line = sorted(line, key=lambda r: r["rows"] * r["row_bytes"])
        axes.plot([r["rows"] * r["row_bytes"] for r in line], [tables.rate(r) for r in line], marker="s", markersize=4,
                  linewidth=1.6 if name in COLOURS else 0.8, color=colours[name], label=name)
    sizes = sorted({record["rows"] * record["row_bytes"] for record in shown})
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [tables.size_text(size) for size in sizes], fontsize=7)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"slice, {ranks} {shown[0]['kind']}")
    axes.set_ylabel("GB/s, read and written, all ranks")
    axes.grid(axis="y", color=FAINT, linewidth=0.5)
    axes.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))


def draw(results: dict, path: Path) -> None:
    plot = plotting()
    barriers, exchanges = (tables.split(operation, results["ranks"])[0] for operation in tables.TABLES)
    panels = [lambda axes: _draw_barriers(axes, barriers)] * bool(barriers)
    panels += [lambda axes, ranks=ranks: _draw_exchanges(axes, exchanges, ranks)
               for ranks in sorted({record["ranks"] for record in exchanges})]
    if not panels:
        raise SystemExit("nothing of the ranks was measured: there is nothing to draw")
    figure, all_axes = plot.subplots(len(panels), 1, figsize=(8.5, 3.6 * len(panels)), layout="constrained", squeeze=False)
    for axes, panel in zip(all_axes[:, 0], panels):
        panel(axes)
    figure.suptitle(report.title(results["machine"]), color=INK)
    figure.savefig(path, metadata={"Date": None})
    plot.close(figure)
