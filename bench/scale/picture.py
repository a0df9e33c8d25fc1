"""The picture of the predictions: creation, barrier and connections over the number of hosts.  Called by command.py."""

from __future__ import annotations

from pathlib import Path

from report import pictures

from . import networks
from .results import HOSTS, RANKS

PICTURE = Path(__file__).resolve().parents[1] / "results" / "scale.svg"
COLOURS = {"direct": "#c8553d", "relay": "#1f6f8b"}
LINE = {"marker": "o", "markersize": 3, "linewidth": 1.2}
GOAL = 10   # seconds, for the creation


def _rows(results: dict, protocol: str) -> list[dict]:
    return [row for row in results["rows"] if row["protocol"] == protocol and row["network"] == networks.DATACENTRE.name]


def _creation(axes, rows: list[dict], colour: str, name: str) -> None:
    """A cross at the goal stands for a creation that is not done by then."""
    found = [(row["hosts"], row["creation"].get("seconds")) for row in rows if row["creation"]]
    axes.plot(*zip(*((hosts, time) for hosts, time in found if time)), color=colour, label=name, **LINE)
    late = [hosts for hosts, time in found if time is None]
    axes.scatter(late, [GOAL] * len(late), color=colour, marker="x", s=30, zorder=3)


def _dress(axes, title: str, scale: str = "log") -> None:
    axes.set_title(title, fontsize=9)
    axes.set_xscale("log", base=2)
    axes.set_yscale(scale)
    axes.set_xticks(HOSTS, [f"{hosts:,}" for hosts in HOSTS])
    axes.minorticks_off()


def draw(results: dict, path: Path) -> None:
    plot = pictures.plotting()
    figure, (creation, barrier, connections) = plot.subplots(1, 3, figsize=(11, 3.4))
    for name, colour in COLOURS.items():
        rows = _rows(results, name)
        hosts = [row["hosts"] for row in rows]
        _creation(creation, rows, colour, name)
        barrier.plot(hosts, [row["barrier"]["seconds"] * 1e6 for row in rows], color=colour, **LINE)
        connections.plot(hosts, [row["descriptors"] for row in rows], color=colour, **LINE)
    creation.axhline(GOAL, color=pictures.FAINT, linewidth=0.8, zorder=0)
    _dress(creation, "creation, seconds (cross: no end seen)")
    _dress(barrier, "barrier, microseconds", "linear")
    barrier.set_ylim(0)
    _dress(connections, "connections of a host")
    creation.legend(frameon=False)
    figure.supxlabel(f"hosts of {RANKS} ranks; 20 µs one way, 100 Gbit/s", fontsize=9)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plot.close(figure)
