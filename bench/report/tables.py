"""The columns of the tables, for kernels and for ranks, and the ratios in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    head: str
    width: int  # on the terminal
    left: bool
    text: Callable[[dict], str]  # of a record

    def show(self, text: str) -> str:
        return text.ljust(self.width) if self.left else text.rjust(self.width)


def _spread(record: dict) -> str:
    return f"{50 * (record['seconds_high'] - record['seconds_low']) / record['seconds']:.0f}%"


# ---- kernels -----------------------------------------------------------------------------------------------------------------

KERNEL_FOOT = """\
The gradient overwrites the logits.  +-: half of the distance between the quartiles of the rounds.
B/elem: the bytes per logit or parameter that the operation must move, each input read and each output written once;
        GB/s is these bytes over the time, whatever was really moved.
of copy: GB/s over the bandwidth of a plain copy (bytes read + bytes written), measured in the same rounds.
of loop: GB/s over the bandwidth of a plain loop with the same reads and writes over the same memory: only reading for the
        forward pass, in place for the gradient, Adam's mix of arrays for a step.
options: label smoothing, z-loss, softcap and class weights; x plain: its time over that of the pass without them.
goal: what a kernel for AVX2 shall reach with two threads, of the loop or, with options, in times plain at most."""


def kernel_rate(record: dict) -> float:
    """GB/s."""
    return 1e-9 * record["elements"] * record["bytes_per_element"] / record["seconds"]


def fraction(record: dict, of: str) -> float | None:
    """Of the measured bandwidth "copy" or "stream"; None when that was not measured."""
    bandwidth = record[f"{of}_gb_s"]
    return kernel_rate(record) / bandwidth if bandwidth else None


def _fraction_text(record: dict, of: str) -> str:
    value = fraction(record, of)
    return "-" if value is None else f"{value:.2f}"


def _plain_text(record: dict) -> str:
    """The time over that of the same pass without options."""
    return f"{record['seconds'] / record['plain_seconds']:.2f}" if "plain_seconds" in record else "-"


# What AVX2 kernels shall reach with two threads: of the loop or, with options, at most so many times the pass without them.
GOALS_OF_AVX2 = {
    ("forward + gradient", "bf16", "4194 x 32000"): 0.85,
    ("forward + gradient, options", "bf16", "4194 x 32000"): 1.6,
    ("forward + gradient", "f32", "2048 x 32768"): 0.90,
    ("step", "all bf16", "GPT-2 124M, 148 tensors"): 0.90,
    ("step", "bf16, fp32 master", "GPT-2 124M, 148 tensors"): 0.92,
    ("step", "bf16, remainder", "GPT-2 124M, 148 tensors"): 0.90,
    ("step", "bf16, e4m3 m, v", "GPT-2 124M, 148 tensors"): 0.6,
    ("step", "bf16, f16 m, v", "GPT-2 124M, 148 tensors"): 0.7,
    ("step", "all fp32", "GPT-2 124M, 148 tensors"): 1.0,
}


def _goal_text(record: dict) -> str:
    goal = GOALS_OF_AVX2.get((record["pass"], record["dtypes"], record["shape"]))
    if goal is None or record["threads"] != 2 or not record["kernel"].endswith("__avx2"):
        return "-"
    reached = (record["seconds"] / record["plain_seconds"] <= goal if "plain_seconds" in record
               else (fraction(record, "stream") or 0) >= goal)
    return f"{goal:.2f}{'' if reached else ' missed'}"


KERNEL_COLUMNS = (
    Column("operation", 41, True, lambda r: f"{r['operation']} {r['pass']}"),
    Column("dtypes", 17, True, lambda r: r["dtypes"]),
    Column("shape", 26, True, lambda r: r["shape"]),
    Column("threads", 7, False, lambda r: str(r["threads"] or "-")),
    Column("ms", 9, False, lambda r: f"{1e3 * r['seconds']:.4g}"),
    Column("+-", 4, False, _spread),
    Column("B/elem", 6, False, lambda r: str(r["bytes_per_element"])),
    Column("GB/s", 6, False, lambda r: f"{kernel_rate(r):.4g}"),
    Column("of copy", 7, False, lambda r: _fraction_text(r, "copy")),
    Column("of loop", 7, False, lambda r: _fraction_text(r, "stream")),
    Column("x plain", 7, False, _plain_text),
    Column("goal", 11, False, _goal_text),
    Column("kernel", 0, True, lambda r: r["kernel"]),
)


# ---- ranks -------------------------------------------------------------------------------------------------------------------

PING_PONG = "ping-pong"
SPINNING = ("counter, no sleep", "put-to-all, no sleep")
STREAMING, PLAIN, MPI = "streaming copy", "memcpy", "MPI_Alltoallv"

BARRIER_FOOT = """\
us: of one round, as the slowest rank saw it: the median of batches of rounds, and of these the median over all turns; best: the
        fastest turn.  p99, longest: of single rounds, which contain a look at the clock.
of ping-pong: us over that of a cache line that goes from one rank to the other and back, measured next to it in the same turn;
        the median over the turns; bests: the fastest turn over the fastest of the ping-pong.
of spinning: how many times as fast as the faster of the two barriers that spin without sleep.
fair: the longest single round of any rank over the typical one: how far a rank fell behind."""

EXCHANGE_FOOT = """\
GB/s: each row read once and written once, by all ranks together, over the time from the first rank's start to the last one's end.
of stream, of memcpy: over the bandwidth of copies of the same bytes by the same ranks at the same time: from the same inputs to
        the same outputs, with stores past the caches or as the C library does it.
of MPI: over MPI_Alltoallv of the same bytes, each measured by the streaming copy of its own program.
of 1: the time over that of the same exchange in one update per peer."""


def same_case(record: dict, records: list[dict]) -> list[dict]:
    keys = ("operation", "kind", "ranks", "rows", "row_bytes")
    return [other for other in records
            if "skipped" not in other and all(other.get(key) == record.get(key) for key in keys)]


def contender(record: dict, records: list[dict], *names: str) -> dict | None:
    """The fastest of the named contenders in the same case, in one update."""
    found = [other for other in same_case(record, records)
             if other["contender"] in names and other.get("updates", 1) == 1]
    return min(found, key=lambda other: other["seconds"], default=None)


def times_as_fast(record: dict, records: list[dict], *names: str) -> float | None:
    other = contender(record, records, *names)
    return other["seconds"] / record["seconds"] if other else None


def bandwidth_of(record: dict, records: list[dict], name: str) -> float | None:
    """Over that of another contender, each by the streaming copy of its own program where there was one."""
    other = contender(record, records, name)
    if not other:
        return None
    if record["of_stream"] and other["of_stream"]:
        return record["of_stream"] / other["of_stream"]
    return other["seconds"] / record["seconds"]


def of_one_update(record: dict, records: list[dict]) -> float | None:
    """The time over that of the same contender in one update."""
    bandwidth = bandwidth_of(record, records, record["contender"]) if record["updates"] > 1 else None
    return 1 / bandwidth if bandwidth else None


def rate(record: dict) -> float:
    """GB/s."""
    return 1e-9 * record["bytes"] / record["seconds"]


def size_text(size: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _microseconds(seconds: float) -> str:
    """0: not measured."""
    return "-" if seconds == 0 else f"{1e6 * seconds:.4g}" if seconds < 0.01 else f"{1e6 * seconds:.0f}"


def fairness(record: dict) -> float | None:
    return record["longest_seconds"] / record["single_seconds"] if record["single_seconds"] else None


def barrier_columns(records: list[dict]) -> tuple[Column, ...]:
    return (
        Column("ranks", 13, True, lambda r: f"{r['ranks']} {r['kind']}"),
        Column("barrier", 24, True, lambda r: r["contender"]),
        Column("us", 9, False, lambda r: _microseconds(r["seconds"])),
        Column("best", 9, False, lambda r: _microseconds(r["best_seconds"])),
        Column("p99", 9, False, lambda r: _microseconds(r["p99_seconds"])),
        Column("longest", 9, False, lambda r: _microseconds(r["longest_seconds"])),
        Column("of ping-pong", 12, False, lambda r: _ratio(r["of_ping_pong"])),
        Column("bests", 5, False, lambda r: _ratio(r["best_of_ping_pong"])),
        Column("of spinning", 11, False, lambda r: _ratio(times_as_fast(r, records, *SPINNING))),
        Column("fair", 7, False, lambda r: _ratio(fairness(r))),
    )


def exchange_columns(records: list[dict]) -> tuple[Column, ...]:
    return (
        Column("ranks", 13, True, lambda r: f"{r['ranks']} {r['kind']}"),
        Column("slice", 8, False, lambda r: size_text(r["rows"] * r["row_bytes"])),
        Column("row", 6, False, lambda r: size_text(r["row_bytes"])),
        Column("updates", 7, False, lambda r: str(r["updates"])),
        Column("exchange", 25, True, lambda r: r["contender"]),
        Column("ms", 9, False, lambda r: f"{1e3 * r['seconds']:.4g}"),
        Column("best", 9, False, lambda r: f"{1e3 * r['best_seconds']:.4g}"),
        Column("+-", 4, False, _spread),
        Column("GB/s", 6, False, lambda r: f"{rate(r):.4g}"),
        Column("of stream", 9, False, lambda r: _ratio(r["of_stream"])),
        Column("of memcpy", 9, False, lambda r: _ratio(bandwidth_of(r, records, PLAIN))),
        Column("of MPI", 6, False, lambda r: _ratio(bandwidth_of(r, records, MPI))),
        Column("of 1", 5, False, lambda r: _ratio(of_one_update(r, records))),
    )


@dataclass(frozen=True)
class Table:
    columns: Callable[[list[dict]], tuple[Column, ...]]  # of all records, which those in the table are compared with
    foot: str


TABLES = {"barrier": Table(barrier_columns, BARRIER_FOOT), "ragged_all_to_all": Table(exchange_columns, EXCHANGE_FOOT)}


def operations(records: list[dict]) -> list[str]:
    return [operation for operation in TABLES if any(record["operation"] == operation for record in records)]


def split(operation: str, records: list[dict]) -> tuple[list[dict], list[dict]]:
    """The measurements of an operation, and what was skipped of it."""
    mine = [record for record in records if record["operation"] == operation]
    return [r for r in mine if "skipped" not in r], [r for r in mine if "skipped" in r]


def skipped_text(record: dict) -> str:
    where = f"{record['ranks']} {record['kind']}"
    if "rows" in record:
        where += f", {record['rows']} rows of {record['row_bytes']} bytes"
    return f"{record['operation']}, {where}, {record['contender']}: {record['skipped']}"
