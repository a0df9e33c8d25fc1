"""The list of what no test reaches: tests/coverage/unreached.txt.

A line `# REASON` opens the places that have this reason.  A place is `FILE: FUNCTION: TEXT`, once for each time that its text
stands in the function.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from coverage.reading import Place, Source

FILE = Path(__file__).with_name("unreached.txt")
ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Listed:
    reasons: dict[str, list[Place]] = field(default_factory=dict)

    def places(self) -> Counter[Place]:
        return Counter(place for places in self.reasons.values() for place in places)


def read() -> Listed:
    listed, reason = Listed(), ""
    for number, line in enumerate(FILE.read_text().splitlines(), 1):
        if line.startswith("# "):
            reason = line[2:]
            if reason in listed.reasons:
                raise SystemExit(f"{FILE.name}:{number}: the reason stands twice")
            listed.reasons[reason] = []
        elif line.strip():
            file, function, text = line.split(": ", 2)
            if not reason:
                raise SystemExit(f"{FILE.name}:{number}: a place without a reason")
            listed.reasons[reason].append(Place(file, function, text))
    return listed


def covers(listed: Place, place: Place) -> bool:
    """Whether a place lies in a listed function that is never called, or is an outcome of a listed line.  Some runs reach that
    line, and then the outcomes that did not come are named.
    """
    if (listed.file, listed.function) != (place.file, place.function):
        return False
    condition, is_outcome, _ = place.text.rpartition(" is never ")
    return listed.text == "is never called" or bool(is_outcome and " is never " not in listed.text and condition in listed.text)


def exists(place: Place) -> bool:
    """Whether the function still has this text."""
    if not (ROOT / place.file).exists():
        return False
    source, text = Source(place.file), place.text.rsplit(" is never ", 1)[0]
    if text == "is never called":
        return place.function in source.functions
    inside = " ".join(source.line(number) for number in range(1, len(source.lines) + 1)
                      if source.functions[number] == place.function)
    return text in inside
