"""Places that chance reaches: how often they came differs between runs of the same tests, and was small in one of them.  Called by
tests/checks/coverage.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from coverage import listing, reading
from coverage.reading import Place

FEW = 6   # times: what came more often in every run comes in the next one, too


def _is_listed(place: Place, listed: Counter[Place]) -> bool:
    return place in listed or any(listing.covers(each, place) for each in listed)


def find(runs: list[dict[str, dict]]) -> Iterator[tuple[Place, list[int]]]:
    """The places that are not listed, with their counts in each run, as reading.export gives it."""
    listed = listing.read().places()
    for file in sorted(set.intersection(*(set(run) for run in runs))):
        if not file.startswith("src/"):
            continue
        counts = [reading.counted(file, run[file]) for run in runs]
        rare = {position: (place, [each.get(position, (place, 0))[1] for each in counts])
                for each in counts for position, (place, _) in each.items()}
        rare = {position: (place, times) for position, (place, times) in rare.items()
                if min(times) < FEW and len(set(times)) > 1}
        idle = {place.function for place, _ in rare.values() if place.text == "is never called"}
        for _, (place, times) in sorted(rare.items()):
            whole = place.function in idle and place.text != "is never called"
            if not whole and not _is_listed(place, listed):
                yield place, times


def folders_of(folder: Path, base: Path) -> list[Path]:
    """The counts of a run: those of a folder, and of the suites that only the base has."""
    own = {path.relative_to(folder).parent for path in folder.rglob("*.profraw")}
    others = [path for path in base.rglob("*.profraw") if path.relative_to(base).parent not in own]
    return sorted([*folder.rglob("*.profraw"), *others])
