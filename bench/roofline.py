"""The picture: where each kernel stands under the roof that the memory's bandwidth makes.

Left the roofline (Williams, Waterman and Patterson 2009): operations per byte against operations per second, with the
bandwidth of a plain copy as the roof, and that of the fastest plain loop.  Right the share of the copy's bandwidth that each
kernel reaches, with the loop of the same pattern as a mark.
"""

from __future__ import annotations

from pathlib import Path

import report
from figure import FAINT, INK, plotting

COLOURS = {"cross_entropy": "#1f6f8b", "adam": "#c8553d"}
MARKERS = {"forward": "o", "forward + gradient": "s", "forward + gradient, options": "^", "gradient later": "v", "step": "D"}


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _shown(results: dict) -> list[dict]:
    """The measurements with the most threads: what the machine can do."""
    records = [record for record in results["records"] if "skipped" not in record]
    most = max((record["threads"] for record in records), default=0)
    return [record for record in records if record["threads"] == most]


def _intensity(record: dict) -> float:
    return record["flops_per_element"] / record["bytes_per_element"]


def _draw_roof(axes, records: list[dict]) -> None:
    copy = _median([record["copy_gb_s"] for record in records])
    ends = [min(map(_intensity, records)) / 1.6, max(map(_intensity, records)) * 1.6]
    axes.plot(ends, [copy * end for end in ends], color=INK, linewidth=1.2, zorder=1, label=f"copy, {copy:.3g} GB/s")
    if loops := [record["stream_gb_s"] for record in records if record["stream_gb_s"]]:
        axes.plot(ends, [max(loops) * end for end in ends], color=INK, linewidth=0.8, linestyle="--", zorder=1,
                  label=f"fastest loop, {max(loops):.3g} GB/s")
    for part in (0.5, 0.25):
        axes.plot(ends, [part * copy * end for end in ends], color=FAINT, linewidth=0.8, zorder=0)
        axes.annotate(f"{part:.0%} of it", (ends[1], part * copy * ends[1]), ha="left", va="center", fontsize=7,
                      xytext=(2, 0), textcoords="offset points")


def _draw_points(axes, records: list[dict]) -> None:
    for (operation, passed) in dict.fromkeys((record["operation"], record["pass"]) for record in records):
        group = [record for record in records if (record["operation"], record["pass"]) == (operation, passed)]
        axes.scatter([_intensity(record) for record in group],
                     [_intensity(record) * report.rate(record) for record in group], s=26, marker=MARKERS[passed],
                     color=COLOURS[operation], alpha=0.75, linewidths=0, zorder=2, label=f"{operation} {passed}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("estimated operations per byte that must move")
    axes.set_ylabel("billion operations per second")
    axes.legend(frameon=False, loc="lower right")


def _label(record: dict) -> str:
    target = record["kernel"].rpartition("__")[2]
    return f"{record['operation']} {record['pass']}, {record['dtypes']}, {record['shape']}, {target}"


def _draw_shares(axes, records: list[dict]) -> None:
    places = range(len(records))
    shares = [report.fraction(record, "copy") for record in records]
    axes.barh(places, shares, color=[COLOURS[record["operation"]] for record in records], height=0.62)
    for place, record in zip(places, records):
        if record["stream_gb_s"]:
            loop = record["stream_gb_s"] / record["copy_gb_s"]
            axes.plot([loop, loop], [place - 0.4, place + 0.4], color=INK, linewidth=1.6)
    axes.axvline(1, color=INK, linewidth=0.8)
    axes.set_yticks(places, [_label(record) for record in records], fontsize=7)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    loops = [record["stream_gb_s"] / record["copy_gb_s"] for record in records if record["stream_gb_s"]]
    axes.set_xlim(0, 1.05 * max(1, *shares, *loops))
    axes.set_xlabel("share of the copy's bandwidth; tick: the plain loop")


def draw(results: dict, path: Path) -> None:
    plot = plotting()
    records = _shown(results)
    if not records:
        raise SystemExit("nothing was measured: there is nothing to draw")
    figure, (roof, shares) = plot.subplots(1, 2, figsize=(13, max(4.5, 0.2 * len(records) + 1.5)), layout="constrained")
    _draw_roof(roof, records)
    _draw_points(roof, records)
    _draw_shares(shares, records)
    threads = f", {records[0]['threads']} threads" if records[0]["threads"] else ""
    figure.suptitle(report.title(results["machine"]) + threads)
    figure.savefig(path, metadata={"Date": None})
    plot.close(figure)
