"""Tables of measurements: on the terminal as they come, as a page, as JSON."""

from __future__ import annotations

import json

from report import tables
from report.tables import KERNEL_COLUMNS, KERNEL_FOOT, Column


def show_machine(machine: dict) -> None:
    print(title(machine))


def show_head(columns: tuple[Column, ...] = KERNEL_COLUMNS) -> None:
    print("\n" + "  ".join(column.show(column.head) for column in columns).rstrip())


def show_row(record: dict, columns: tuple[Column, ...]) -> None:
    print("  ".join(column.show(column.text(record)) for column in columns).rstrip())


def show_record(record: dict) -> None:
    if "skipped" in record:
        print(f"{record['operation']}  {record['shape']}  skipped: {record['skipped']}")
    else:
        show_row(record, KERNEL_COLUMNS)


def show_rank_records(operation: str, new: list[dict], records: list[dict]) -> None:
    """`records` has the ones for comparison with the new ones."""
    measured, skipped = tables.split(operation, new)
    for record in measured:
        show_row(record, tables.TABLES[operation].columns(records))
    for record in skipped:
        print("skipped: " + tables.skipped_text(record))


def show_peer_head() -> None:
    print("\nOther implementations on the same shapes:")


def _same_case(peer: dict, records: list[dict]) -> dict | None:
    """Our fastest on the shape that a peer had."""
    keys = ("operation", "pass", "dtypes", "shape", "threads")
    ours = [r for r in records if "skipped" not in r and all(r[key] == peer[key] for key in keys)]
    return min(ours, key=lambda r: r["seconds"], default=None)


def _peer_line(peer: dict, records: list[dict]) -> str:
    if "message" in peer:
        return peer["message"]
    what = f"{peer['operation']} {peer['pass']}, {peer['dtypes']}, {peer['shape']}"
    if peer["threads"]:
        what += f", {peer['threads']} thread{'s' * (peer['threads'] > 1)}"
    if "skipped" in peer:
        return f"{what}: {peer['name']} {peer['skipped']}"
    line = f"{what}: {peer['name']} {1e3 * peer['seconds']:.4g} ms"
    if "ratio" in peer:
        line += f", Quern {1e3 * peer['quern_seconds']:.4g} ms in turn with it, {peer['ratio']:.2f} times as fast"
    elif ours := _same_case(peer, records):
        line += f", Quern {1e3 * ours['seconds']:.4g} ms, {peer['seconds'] / ours['seconds']:.2f} times as fast"
    return line


def show_peer(peer: dict, records: list[dict]) -> None:
    print("  " + _peer_line(peer, records))


def show_foot(foot: str) -> None:
    print("\n" + foot)


def show_all(results: dict) -> None:
    show_machine(results["machine"])
    if results["records"]:
        show_head()
        for record in results["records"]:
            show_record(record)
        show_peer_head()
        for peer in results["peers"]:
            show_peer(peer, results["records"])
        show_foot(KERNEL_FOOT)
    ranks = results.get("ranks", [])
    for operation in tables.operations(ranks):
        show_head(tables.TABLES[operation].columns(ranks))
        show_rank_records(operation, ranks, ranks)
        show_foot(tables.TABLES[operation].foot)


def title(machine: dict) -> str:
    unit = "cores" if machine["kind"] == "cpu" else "multiprocessors"
    return f"{machine['machine']}, {machine['units']} {unit}, Quern {machine['library']}"


def as_json(results: dict) -> str:
    """One measurement a line, so that two files can be compared."""
    parts = []
    for key, value in results.items():
        if isinstance(value, list):
            text = "[\n" + ",\n".join("  " + json.dumps(item) for item in value) + "\n]"
        else:
            text = json.dumps(value)
        parts.append(f"{json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _markdown_table(columns: tuple[Column, ...], records: list[dict]) -> list[str]:
    return ["| " + " | ".join(column.head for column in columns) + " |",
            "| " + " | ".join("---" if column.left else "---:" for column in columns) + " |",
            *("| " + " | ".join(column.text(record) for column in columns) + " |" for record in records), ""]


def _kernels_markdown(results: dict) -> list[str]:
    records = results["records"]
    skipped = [record for record in records if "skipped" in record]
    page = _markdown_table(KERNEL_COLUMNS, [record for record in records if "skipped" not in record])
    page += [f"Skipped: {record['operation']}, {record['shape']}: {record['skipped']}.\n" for record in skipped]
    page += ["```", KERNEL_FOOT, "```", ""]
    if results["peers"]:
        page += ["Other implementations on the same shapes:", ""]
        page += [f"- {_peer_line(peer, records)}" for peer in results["peers"]] + [""]
    return page


def _ranks_markdown(operation: str, records: list[dict]) -> list[str]:
    measured, skipped = tables.split(operation, records)
    page = [f"## {operation}", ""] + _markdown_table(tables.TABLES[operation].columns(records), measured)
    page += [f"Skipped: {tables.skipped_text(record)}.\n" for record in skipped]
    return page + ["```", tables.TABLES[operation].foot, "```", ""]


def as_markdown(results: dict) -> str:
    page = [f"# {title(results['machine'])}", ""]
    page += [text for key in ("date", "note") if key in results for text in (results[key], "")]
    if results["records"]:
        page += _kernels_markdown(results)
    for operation in tables.operations(results.get("ranks", [])):
        page += _ranks_markdown(operation, results["ranks"])
    return "\n".join(page)
