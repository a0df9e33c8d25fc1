"""The tables of the predictions: for docs/ranks.md, and all rows for bench/results/scale.md."""

from __future__ import annotations

from pathlib import Path

from . import networks
from .protocols import PROTOCOLS
from .results import RANKS, SLICES
from .world import Shape

BENCH = Path(__file__).resolve().parents[1]
PAGE, DOCUMENT = BENCH / "results" / "scale.md", BENCH.parent / "docs" / "ranks.md"
BEGIN, END = "<!-- written by ./quern bench --scale -->", "<!-- end -->"


def time(seconds: float | None, none: str = "–") -> str:
    """Three digits, in the unit that suits."""
    if seconds is None:
        return none
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            break
    return f"{float(f'{seconds / scale:.3g}'):,g} {unit}"


def table(head: list[str], rows: list[list[str]]) -> str:
    marks = "|---|" + "---:|" * (len(head) - 1)
    return "\n".join([f"| {' | '.join(head)} |", marks, *(f"| {' | '.join(cells)} |" for cells in rows)]) + "\n"


def creation_of(row: dict, name: str = "seconds") -> str:
    return time(row["creation"][name], "no end") if row["creation"] else "–"


def short_rows(results: dict) -> list[list[str]]:
    chosen = [row for row in results["rows"] if row["network"] == networks.DATACENTRE.name]
    return [[f"{row['hosts']:,}, {row['protocol']}", f"{row['descriptors']:,}", creation_of(row), creation_of(row, "gathered"),
             str(row["barrier"]["most_sent"]), time(row["barrier"]["seconds"]),
             *(time(row["exchanges"][str(size)]["seconds"]) for size in SLICES[:2]), f"{row['monitor']:.1%}"] for row in chosen]


def short(results: dict) -> str:
    return table(["hosts of 8 ranks", "connections a host", "created", "by all-gather", "barrier: messages of a leader", "time",
                  "exchange of 8 B", "of 4 KiB", "monitor, of a core"], short_rows(results))


def hearing_rows(results: dict) -> list[list[str]]:
    rows = []
    for hearing in results["hearings"]:
        if hearing["hosts"] != 64:
            continue
        times = dict.fromkeys(time(hearing[end], "the limit") for end in ("first", "last"))
        rows.append([f"{hearing['phase']}, {hearing['how']}", " to ".join(times), hearing["status"], hearing["named"]])
    return rows


def failures(results: dict) -> str:
    return table(["the last of 64 hosts ends in", "the others hear after", "status", "named"], hearing_rows(results))


def section(results: dict) -> str:
    return f"{BEGIN}\n{short(results)}\n{failures(results)}{END}"


def document(results: dict) -> str:
    """docs/ranks.md with the tables of these results."""
    text = DOCUMENT.read_text()
    before, rest = text.split(BEGIN)
    return before + section(results) + rest.split(END, 1)[1]


def long_rows(results: dict) -> list[list[str]]:
    return [[f"{row['hosts']:,}, {row['protocol']}, {row['network']}", f"{row['connections']:,}", f"{row['descriptors']:,}",
             *(creation_of(row, part) for part in ("meeting", "connecting", "seconds")),
             f"{row['creation'].get('evicted', 0):,}", creation_of(row, "gathered"), f"{row['barrier']['messages']:,}", str(row["barrier"]["most_sent"]),
             time(row["barrier"]["seconds"]), *(cell for size in SLICES for cell in exchange_cells(row["exchanges"][str(size)]))]
            for row in results["rows"]]


def exchange_cells(found: dict) -> list[str]:
    return [f"{found['messages']:,}", f"{found['bytes']:,}", time(found["seconds"])]


def page(results: dict) -> str:
    head = ["hosts, protocol, network", "connections", "connections a host", "meeting", "connecting", "created", "crowded out",
            "by all-gather", "barrier: messages", "of a leader", "time"]
    for size in SLICES:
        head += [f"exchange of {size:,} B: messages", "bytes", "time"]
    about = "\n".join(f"- *{protocol.name}*: {protocol.about}." for protocol in PROTOCOLS.values())
    shape = Shape(2, RANKS)
    return (f"# Groups of many hosts, predicted\n\nHosts of {shape.here} ranks, written by `./quern bench --scale`; "
            "[docs/ranks.md](../../docs/ranks.md#many-hosts-predicted) says what is modelled. *Crowded out* are handshakes at rank 0's "
            "listeners that gave way to newer ones. *No end*: not in 10 s, or 20,000 handshakes gave way at one listener.\n\n"
            f"{about}\n\n{table(head, long_rows(results))}\nA host ends:\n\n{failures(results)}")
