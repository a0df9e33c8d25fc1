"""The list of mutants that change no behaviour, although the machine code differs: tests/mutation/equivalent.txt.

A line `# REASON` opens the mutants that have this reason.  A mutant is `FILE: LINE -> MUTATED LINE`, both without the space around
them; it stays the same when lines move.  A number with ±1 behind it stands for two mutants.
"""

import re
from functools import cache
from pathlib import Path

from mutation.sites import Site
from mutation.trees import ROOT

FILE = Path(__file__).with_name("equivalent.txt")


def describe(site: Site) -> str:
    """The lines of the site, before and after."""
    source = (ROOT / site.file).read_bytes()
    first, last = source.rfind(b"\n", 0, site.start) + 1, source.find(b"\n", site.end)
    old, new = source[first:last], source[first:site.start] + site.new.encode() + source[site.end:last]
    return f"{site.file}: {' '.join(old.decode().split())} -> {' '.join(new.decode().split())}"


@cache
def read() -> dict[str, str]:
    """The reason of each mutant."""
    listed: dict[str, str] = {}
    reason = ""
    for number, line in enumerate(FILE.read_text().splitlines(), 1):
        if line.startswith("# "):
            reason = line[2:]
        elif line.strip():
            one_off = [re.sub(r"(\d+)±1", lambda found, step=step: str(int(found[1]) + step), line) for step in (-1, 1)]
            for mutant in dict.fromkeys(one_off):
                if not reason or mutant in listed:
                    raise SystemExit(f"{FILE.name}:{number}: a mutant {'that stands twice' if reason else 'without a reason'}")
                listed[mutant] = reason
    return listed


def stale() -> list[str]:
    """The mutants whose line is not in the source any more."""
    found = []
    for mutant in read():
        file, change = mutant.split(": ", 1)
        path = ROOT / file
        text = " ".join(path.read_text().split()) if path.exists() else ""
        # A line may contain an arrow itself.
        pieces = change.split(" -> ")
        if not any(" -> ".join(pieces[:count]) in text for count in range(1, len(pieces))):
            found.append(mutant)
    return found
