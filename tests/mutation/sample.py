"""Chooses mutants by a seed: five of the host's code, then one or two of the kernels for CPUs and one of those for GPUs."""

import fnmatch
import random
from collections.abc import Iterator

from mutation import sites
from mutation.sites import Site
from mutation.trees import ROOT

# The files of each group, and how many of its mutants there are in a round.
GROUPS = {
    "host": (("src/*.c", "src/*.h"), 10),
    "cpu": (("src/kernels/cpu/*", "src/kernels/*.h", "templates/*/*.c.j2"), 3),
    "gpu": (("src/kernels/cuda/*", "templates/*/*.cu.j2"), 2),
}
# Text that the library does not run: the interface of packs to the generator, and the build's own templates.
LEFT_OUT = ("templates/build/*",)


def group_of(file: str) -> str | None:
    if any(fnmatch.fnmatch(file, pattern) for pattern in LEFT_OUT):
        return None
    for group in ("gpu", "cpu", "host"):  # the narrowest first
        if any(fnmatch.fnmatch(file, pattern) for pattern in GROUPS[group][0]):
            return group
    return None


def all_sites(paths: str) -> dict[str, list[list[Site]]]:
    """The mutants of each group by line, so that a line with many operators is not chosen more often than others."""
    found: dict[str, dict[tuple[str, int], list[Site]]] = {group: {} for group in GROUPS}
    for path in sorted([*(ROOT / "src").rglob("*"), *(ROOT / "templates").rglob("*.j2")]):
        file = str(path.relative_to(ROOT))
        group = group_of(file)
        if group and path.is_file() and fnmatch.fnmatch(file, paths):
            for site in sites.sites(file, path.read_bytes()):
                found[group].setdefault((site.file, site.line), []).append(site)
    return {group: list(lines.values()) for group, lines in found.items()}


def sample(seed: int, paths: str) -> Iterator[tuple[str, Site]]:
    """An endless order in which every prefix has the groups in the same proportion.  Each line is used once."""
    chooser = random.Random(seed)
    lines = all_sites(paths)
    for group in lines.values():
        chooser.shuffle(group)
    while any(lines.values()):
        for group, (_, number) in GROUPS.items():
            for _ in range(min(number, len(lines[group]))):
                of_line = lines[group].pop()
                operator = chooser.choice(sorted({site.operator for site in of_line}))
                yield group, chooser.choice([site for site in of_line if site.operator == operator])
