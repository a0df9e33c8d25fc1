"""Compares what the sanitized suites execute of src/ with the list of what no test executes, tests/coverage/unreached.txt.

    tests/checks/coverage.py             fails for a line or an outcome of a condition that never came and is not listed
    tests/checks/coverage.py --list      prints all that never came, in the form of the list
    tests/checks/coverage.py --rare FOLDER ...
                                         prints what chance reaches: what is not listed, and whose counts in build/coverage and in
                                         these copies of it, of other runs, differ and are small in one

The suites leave their counts in build/coverage.  GPU kernels are not counted: clang does not compile them.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from coverage import counts, listing, rare, reading  # noqa: E402


def records_of(files: list[Path]) -> dict[str, dict]:
    if counts.problem():
        raise SystemExit(f"coverage: {counts.problem()}: run ./quern test --only 'sanitized *'")
    with tempfile.TemporaryDirectory() as scratch:
        return reading.export(files, counts.objects(), Path(scratch))


def print_rare(folders: list[str]) -> int:
    """The copies may have only some suites: the others have the counts of build/coverage."""
    runs = [records_of(counts.everything()), *(records_of(rare.folders_of(Path(folder), counts.FOLDER)) for folder in folders)]
    for place, times in rare.find(runs):
        print(f"{' '.join(str(count) for count in times)} times: {place}")
    return 0


def never_came() -> Counter[reading.Place]:
    records = records_of(counts.everything())
    found: Counter[reading.Place] = Counter()
    for file, record in sorted(records.items()):
        if file.startswith("src/"):
            found.update(reading.unreached(file, record))
    return found


def main() -> int:
    if sys.argv[1:2] == ["--rare"]:
        return print_rare(sys.argv[2:])
    found = never_came()
    if sys.argv[1:] == ["--list"]:
        print("\n".join(str(place) for place in sorted(found.elements())))
        return 0
    listed = listing.read()
    new = found - listed.places()
    new = Counter({place: count for place, count in new.items()
                   if not any(listing.covers(each, place) for each in listed.places())})
    gone = [place for place in sorted(listed.places()) if not listing.exists(place)]
    for place in sorted(new.elements()):
        print(f"no test reaches {place}")
    for place in gone:
        print(f"listed, but not in the source: {place}")
    reached = listed.places() - found
    print(f"{found.total()} places that no test reaches, for {len(listed.reasons)} reasons; "
          f"{reached.total()} of the list were reached")
    print(f"{len(listed.places()) - len(gone)} passed, {len(new) + len(gone)} failed")
    return 1 if new or gone else 0


if __name__ == "__main__":
    sys.exit(main())
