"""Draws docs/architecture.svg: the rooms of src/ with an arrow for who may include whom, and the way of a kernel into the archive.

    python3 docs/architecture.py            writes docs/architecture.svg
    python3 docs/architecture.py --check    fails if the file differs from the table of rooms

Rooms and arrows come from the table of tests/checks/rooms.py, which compares it with the sources.  An arrow that a longer way
implies is left out.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "checks"))
import svg  # noqa: E402
from rooms import ROOMS  # noqa: E402

# One line for each room; a room that is not listed is drawn without one.
ABOUT = {
    "src/os": "files, text, futex, CPU features",
    "src/kernels": "what host and kernels agree on",
    "src/kernels/cpu": "CPU primitives",
    "src/kernels/cuda": "GPU primitives",
    "src/runtime": "device, driver, dispatch, packs, log",
    "src/look": "traces and dumps",
    "src/cross_entropy": "loss, shards, last layer, BLAS",
    "src/adam": "steps, plans, gradients, states",
    "src/quantize": "casts to 8 bits, plans",
    "src/ranks": "meetings, poison, barrier",
    "src/ranks/group": "create, split, transports",
    "src/ranks/nccl": "NCCL, opened at run time",
    "src/ranks/symmetric": "shared memory of ranks",
    "src/ranks/ragged": "ragged all-to-all",
    "src/ranks/collective": "gathers, reductions",
    "src/ranks/chunks": "casts and gathers in chunks",
}

PIPELINE = (("gen/spec.py", "facts"), ("gen/plan.py", "names, legality"), ("templates/", "text"), ("generated/", "checked in"),
            ("cc, nvcc", "objects, fatbins"), ("libquern.a", "the archive"))

WIDTH, BOX, HEIGHT, GAP, LEVEL, MARGIN, HEADER = 1040, 212, 46, 24, 96, 24, 76

def rooms() -> dict[str, set[str]]:
    """Each room with those that it may include, but for the public header, which all may."""
    return {room: set(used) - {"include"} for room, used in ROOMS.items() if room != "include"}


def reachable(arrows: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = list(arrows[start])
    while waiting:
        room = waiting.pop()
        if room not in found:
            found.add(room)
            waiting += arrows[room]
    return found


def floors(arrows: dict[str, set[str]]) -> dict[str, int]:
    """The floor of each room: one above the highest room that it may include.  The table names these before it."""
    floor: dict[str, int] = {}
    for room, used in arrows.items():
        floor[room] = max((floor[other] + 1 for other in used), default=0)
    return floor


def drawn(arrows: dict[str, set[str]], room: str) -> list[str]:
    return sorted(used for used in arrows[room]
                  if not any(used in reachable(arrows, other) for other in arrows[room] - {used}))


@dataclass(frozen=True)
class Place:
    x: float
    y: float

    @property
    def middle(self) -> float:
        return self.x + BOX / 2


def places(floor: dict[str, int]) -> dict[str, Place]:
    found = {}
    highest = max(floor.values())
    for level in range(highest + 1):
        row = sorted(room for room in floor if floor[room] == level)
        left = (WIDTH - len(row) * BOX - (len(row) - 1) * GAP) / 2
        for i, room in enumerate(row):
            found[room] = Place(left + i * (BOX + GAP), HEADER + MARGIN + (highest - level) * LEVEL)
    return found


def arrow(start: Place, end: Place) -> str:
    top, bottom = start.y + HEIGHT, end.y
    bend = (bottom - top) / 2
    return (f'  <path d="M{start.middle:g} {top:g} C{start.middle:g} {top + bend:g} {end.middle:g} {bottom - bend:g} '
            f'{end.middle:g} {bottom:g}" marker-end="url(#head)"/>')


def pipeline(y: float) -> list[str]:
    width = (WIDTH - 2 * MARGIN - (len(PIPELINE) - 1) * GAP) / len(PIPELINE)
    lines = []
    for i, (name, about) in enumerate(PIPELINE):
        x = MARGIN + i * (width + GAP)
        lines.append(svg.box(x, y, width, HEIGHT, name, about))
        if i:
            lines.append(svg.line((x - GAP, y + HEIGHT / 2), (x, y + HEIGHT / 2), ends="end"))
    return lines


def picture() -> str:
    arrows = rooms()
    place = places(floors(arrows))
    below = max(p.y for p in place.values()) + HEIGHT + 2 * MARGIN
    return svg.picture(
        "The rooms of src/ and the way of a kernel into the archive", WIDTH, below + HEIGHT + MARGIN,
        svg.box(MARGIN, MARGIN, WIDTH - 2 * MARGIN, HEIGHT, "include/quern.h", "the public header, implemented by the rooms below",
                "api"),
        *(arrow(place[room], place[used]) for room in sorted(arrows) for used in drawn(arrows, room)),
        *(svg.box(p.x, p.y, BOX, HEIGHT, room, ABOUT.get(room, "")) for room, p in sorted(place.items())),
        *pipeline(below))


if __name__ == "__main__":
    sys.exit(svg.write_or_check({"architecture.svg": picture()}, sys.argv[1:], "python3 docs/architecture.py"))
