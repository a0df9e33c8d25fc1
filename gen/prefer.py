"""Writes the file of QUERN_PREFER: of rows with the same bits, the one that dumps have measured as the fastest.

A dump has a line for each call (docs/looking_inside.md).  Its launches name their kernels, with the time of each.  Two rows are
compared if the dumps have both for the same problem, which is the operation, the machine, the sizes, types and flags of the call.
The library itself says which rows have the same bits: src/runtime/preferred.h.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

# Numbers that change from step to step, and no time.
PASSING = {"step", "seed", "offset", "ready_value", "lr", "grad_scale"}


class BadProfile(Exception):
    """A dump cannot be read; the text says why."""


@dataclass(frozen=True)
class Row:
    name: str
    digest: str


@dataclass
class Class:
    """Problems that the same rows serve with the same bits: nanoseconds by problem and row."""

    title: str
    bits: str | None                    # None: each row has bits of its own
    times: dict[str, dict[Row, list[int]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))


def read_lines(profile: Path) -> list[dict]:
    path = profile / "index.jsonl" if profile.is_dir() else profile
    try:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
    except (OSError, ValueError, RecursionError) as error:
        raise BadProfile(f"{path}: {error}: expected the folder of a dump") from error
    for number, line in enumerate(lines, 1):
        launches = line.get("launches") if isinstance(line, dict) else None
        if not isinstance(launches, list) or not all(isinstance(launch, dict) for launch in launches):
            raise BadProfile(f"{path}:{number}: expected a call with its launches, as this version of the library dumps it")
    return lines


def problem_of(call: dict) -> tuple[str, str]:
    """The types of a call, and all of it that decides how long it takes: equal texts for equal problems."""
    arguments = {name: value for name, value in call["arguments"].items() if isinstance(value, (int, str)) and name not in PASSING}
    tensors = [[tensor["name"], tensor["access"], tensor["dtype"], tensor["shape"]] for tensor in call["tensors"]]
    where = [call["operation"], call["device_name"], call.get("ranks", 0)]
    threads = sorted({launch["threads"] for launch in call["launches"] if "threads" in launch})
    types = {name: value for name, value in arguments.items() if isinstance(value, str)}
    return json.dumps([*where, types], sort_keys=True), json.dumps([*where, threads, arguments, tensors], sort_keys=True)


def add_call(classes: dict[tuple, Class], call: dict) -> None:
    """Adds the time that each row takes in a call, with all launches of it."""
    types, problem = problem_of(call)
    sums: dict[tuple[str, int, Row], int] = defaultdict(int)
    for launch in call["launches"]:
        if "kernel" in launch and "nanoseconds" in launch:
            sums[launch.get("bits"), launch["task"], Row(launch["kernel"], launch["digest"])] += launch["nanoseconds"]
    for (bits, task, row), nanoseconds in sums.items():
        title = f"{call['operation']} on {call['device_name']}"
        classes.setdefault((types, task, bits), Class(title, bits)).times[problem][row].append(nanoseconds)


def other_bits(classes: dict[tuple, Class]) -> list[str]:
    """Lines about rows that serve the same calls with other bits: neither may replace the other."""
    by_types: dict[tuple, list[Class]] = defaultdict(list)
    for (types, task, _), one in classes.items():
        by_types[types, task].append(one)
    lines = []
    for several in by_types.values():
        names = sorted({row.name for one in several for rows in one.times.values() for row in rows})
        if len(names) > 1 and (len(several) > 1 or several[0].bits is None):
            lines.append(f"{several[0].title}: the bits would change among {', '.join(names)}")
    return lines


def choose(one: Class) -> tuple[Row | None, str]:
    """The fastest row over all problems that several rows have served; else None.  And a line about it."""
    compared = {problem: rows for problem, rows in one.times.items() if len(rows) > 1}
    names = sorted({row.name for rows in one.times.values() for row in rows})
    if one.bits is None or not compared:
        return None, f"{one.title}: no problem was measured with two rows of the same bits; the rows are {', '.join(names)}"
    rows = {frozenset(rows) for rows in compared.values()}
    if len(rows) > 1:
        return None, f"{one.title}: the problems were measured with other rows each: expected the same of {', '.join(names)}"
    totals = {row: sum(statistics.median(times[row]) for times in compared.values()) for row in rows.pop()}
    best, second = sorted(totals, key=lambda row: (totals[row], row.name))[:2]
    fewest = min(len(times) for rows in compared.values() for times in rows.values())
    if totals[best] == totals[second]:
        return None, f"{one.title}: {best.name} and {second.name} take the same time"
    margin = 100 * (totals[second] - totals[best]) / totals[second]
    return best, (f"{one.title}: {best.name} takes {totals[best] / 1000:.1f} us, {margin:.1f} % less than {second.name}; "
                  f"{len(compared)} problems, {fewest} or more measurements of each row")


def run(profiles: list[str], output: str) -> int:
    """./quern gen prefer ..."""
    classes: dict[tuple, Class] = {}
    try:
        for profile in profiles:
            for call in read_lines(Path(profile)):
                if call["status"] == "QUERN_OK":
                    add_call(classes, call)
    except BadProfile as error:
        print(f"prefer: {error}", file=sys.stderr)
        return 2
    except (KeyError, TypeError, AttributeError) as error:
        print(f"prefer: {profile}: {error!r}: expected the keys of a dump", file=sys.stderr)
        return 2
    chosen: dict[Row, str] = {}
    for line in other_bits(classes):
        print(line, file=sys.stderr)
    for one in classes.values():
        row, line = choose(one)
        print(line, file=sys.stderr)
        if row:
            chosen.setdefault(row, line)
    if not chosen:
        print("prefer: no row can be preferred: expected dumps of the same calls with several rows of the same bits "
              "(docs/looking_inside.md)", file=sys.stderr)
        return 1
    rows = [f"# {line}\n{row.name} {row.digest}\n" for row, line in chosen.items()]
    Path(output).write_text("quern preferred rows 1\n" + "".join(rows) + f"end {len(rows)}\n")
    print(f"wrote {output}: QUERN_PREFER={output} puts {len(rows)} rows first", file=sys.stderr)
    return 0
