"""The pictures.

Of kernels, left the roofline (Williams, Waterman and Patterson 2009): operations per byte against operations per second, with the
bandwidth of a plain copy as the roof, and that of the fastest plain loop.  Right the share of the copy's bandwidth that each kernel
reaches, with the loop of the same pattern as a mark.

Of ranks, the time of a barrier over the number of ranks, and the bandwidth of an all-to-all over the length of a slice.
"""

from __future__ import annotations

from pathlib import Path

from report import page, tables

INK, FAINT = "#22303c", "#c9d1d8"


def plotting():
    try:
        import matplotlib
    except ImportError:
        raise SystemExit("the picture needs matplotlib: .venv/bin/python -m pip install matplotlib") from None
    matplotlib.use("svg")
    # Text stays text, and the file does not change from run to run with the same numbers.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "quern", "font.size": 9, "text.color": INK,
                                "axes.edgecolor": FAINT, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
                                "axes.spines.top": False, "axes.spines.right": False})
    import matplotlib.pyplot

    return matplotlib.pyplot


# ---- kernels -----------------------------------------------------------------------------------------------------------------

KERNEL_COLOURS = {"cross_entropy": "#1f6f8b", "adam": "#c8553d"}
KERNEL_MARKERS = {"forward": "o", "forward + gradient": "s", "forward + gradient, options": "^", "gradient later": "v", "step": "D"}


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
                     [_intensity(record) * tables.kernel_rate(record) for record in group], s=26, marker=KERNEL_MARKERS[passed],
                     color=KERNEL_COLOURS[operation], alpha=0.75, linewidths=0, zorder=2, label=f"{operation} {passed}")
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
    shares = [tables.fraction(record, "copy") for record in records]
    axes.barh(places, shares, color=[KERNEL_COLOURS[record["operation"]] for record in records], height=0.62)
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


def draw_kernels(results: dict, path: Path) -> None:
    plot = plotting()
    records = _shown(results)
    if not records:
        raise SystemExit("nothing was measured: there is nothing to draw")
    figure, (roof, shares) = plot.subplots(1, 2, figsize=(13, max(4.5, 0.2 * len(records) + 1.5)), layout="constrained")
    _draw_roof(roof, records)
    _draw_points(roof, records)
    _draw_shares(shares, records)
    threads = f", {records[0]['threads']} threads" if records[0]["threads"] else ""
    figure.suptitle(page.title(results["machine"]) + threads)
    figure.savefig(path, metadata={"Date": None})
    plot.close(figure)


# ---- ranks -------------------------------------------------------------------------------------------------------------------

RANK_COLOURS = {"quern": "#c8553d", "quern plan": "#e09f3e", "quern private output": "#b5838d",
                "quern transfer": "#6d9dc5"}
GREYS = ("#1f6f8b", "#6b7f8c", "#3d5a40", "#8d99ae", "#5c4b51", "#a3b18a", "#355070", "#b0a990")
RANK_MARKERS = {"threads": "o", "processes": "s", "on one GPU": "D"}


def _lines(records: list[dict]) -> dict[tuple[str, str], list[dict]]:
    """The measurements of each contender and kind of ranks."""
    lines: dict[tuple[str, str], list[dict]] = {}
    for record in records:
        lines.setdefault((record["contender"], record["kind"]), []).append(record)
    return lines


def _colours(records: list[dict]) -> dict[str, str]:
    others = [name for name in dict.fromkeys(record["contender"] for record in records) if name not in RANK_COLOURS]
    return RANK_COLOURS | {name: GREYS[i % len(GREYS)] for i, name in enumerate(others)}


def _draw_barriers(axes, records: list[dict]) -> None:
    colours = _colours(records)
    for (name, kind), line in _lines(records).items():
        axes.plot([r["ranks"] for r in line], [1e6 * r["seconds"] for r in line], marker=RANK_MARKERS[kind], markersize=4,
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
                  linewidth=1.6 if name in RANK_COLOURS else 0.8, color=colours[name], label=name)
    sizes = sorted({record["rows"] * record["row_bytes"] for record in shown})
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [tables.size_text(size) for size in sizes], fontsize=7)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"slice, {ranks} {shown[0]['kind']}")
    axes.set_ylabel("GB/s, read and written, all ranks")
    axes.grid(axis="y", color=FAINT, linewidth=0.5)
    axes.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))


def draw_ranks(results: dict, path: Path) -> None:
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
    figure.suptitle(page.title(results["machine"]), color=INK)
    figure.savefig(path, metadata={"Date": None})
    plot.close(figure)
