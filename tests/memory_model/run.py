"""The protocols between ranks and threads under C's memory model: the checker's own tests and all programs must pass.

    python3 tests/memory_model/run.py [--weaken [GLOB]]

--weaken makes the order of one access at a time weaker, in the compiled programs, and runs those that execute it, one of which must
fail.  unneeded.txt lists the orders that no program needs, and the accesses that none executes, with the reasons.  GLOB chooses
files.  The last line is `N passed, N failed`.
"""

import argparse
import fnmatch
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/memory_model"
UNNEEDED = Path(__file__).with_name("unneeded.txt")

FENCE = "src/os/futex.h"  # has a function for it

ACCESS = r"quern_fence\(\);|__atomic_\w+\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
ORDERED = re.compile("fence|ACQUIRE|RELEASE|ACQ_REL|SEQ_CST")

TIMES = "3"  # as many executions of a weakened program

NAMES = {0: "RELAXED", 2: "ACQUIRE", 3: "RELEASE", 4: "ACQ_REL", 5: "SEQ_CST"}
ACQUIRE, RELEASE, ACQ_REL, SEQ_CST = 2, 3, 4, 5
BOTH = {ACQUIRE: (0,), RELEASE: (0,), ACQ_REL: (RELEASE, ACQUIRE), SEQ_CST: (ACQ_REL, RELEASE, ACQUIRE)}
WEAKER = {"load": {ACQUIRE: (0,), SEQ_CST: (ACQUIRE, 0)}, "store": {RELEASE: (0,), SEQ_CST: (RELEASE, 0)},
          "update": BOTH, "compare": BOTH, "fence": BOTH, "failure": {ACQUIRE: (0,), SEQ_CST: (ACQUIRE, 0)}}


@dataclass
class Site:
    """An access of the sources, wherever it was compiled into."""

    addresses: set[str] = field(default_factory=set)
    programs: list[str] = field(default_factory=list)


def run(program: str, *words: str) -> tuple[int, str]:
    done = subprocess.run([BUILD / program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def places(addresses: list[str]) -> dict[str, tuple[str, int, int]]:
    """The file, line and column of each address, of the innermost function that is inlined there; of a fence, who calls it."""
    version = subprocess.run(["clang", "-dumpversion"], stdout=subprocess.PIPE, text=True, check=True).stdout.split(".")[0]
    text = subprocess.run([f"llvm-symbolizer-{version}", "-e", BUILD / "protocols", "--functions=none", *addresses],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    frames = [re.findall(r"(?m)^(?:.*/)?((?:src|include)/.*):(\d+):(\d+)$", part) for part in text.strip().split("\n\n")]
    found = {address: [frame for frame in part if frame[0] != FENCE] for address, part in zip(addresses, frames, strict=True)}
    return {address: (part[0][0], int(part[0][1]), int(part[0][2])) for address, part in found.items() if part}


def find_sites() -> dict[tuple[str, int, int, str, int], Site]:
    """The accesses with an order that the programs execute: file, line, column, kind, order."""
    sites: dict[tuple[str, int, int, str, int], Site] = {}
    rows = [line.split() for line in run("protocols", "--sites")[1].splitlines() if line.startswith(("site ", "program "))]
    at = places(sorted({row[1] for row in rows if row[0] == "site"}))
    program = ""
    for row in rows:
        if row[0] == "program":
            program = row[1]
            continue
        _, address, kind, order, failure = row
        for a_kind, an_order, suffix in ((kind, int(order), ""), ("failure", int(failure), "f")):
            if an_order and address in at:
                site = sites.setdefault((*at[address], a_kind, an_order), Site())
                site.addresses.add(address + suffix)
                site.programs += [program] * (program not in site.programs)
    return sites


def name_of(path: str, line: int, kind: str, order: int, weaker: int) -> str:
    text = (ROOT / path).read_text().splitlines()[line - 1].strip() if line else "code of several lines"
    return f"{path}: {text}: {kind} {NAMES[order]} as {NAMES[weaker]}"


def is_noticed(sites: dict[tuple[str, int, int, str, int], Site], path: str, site: Site, weaker: int) -> str:
    """The program that fails; empty: none does.  First is the one that executes most accesses of the file."""
    words = ",".join(f"{address}={weaker}" for address in sorted(site.addresses))
    of_file = [other for key, other in sites.items() if key[0] == path]
    programs = sorted(site.programs, key=lambda program: -sum(program in other.programs for other in of_file))
    return next((program for program in programs if run("protocols", program, "--times", TIMES, "--weaken", words)[0]), "")


def find_unexecuted(sites: dict[tuple[str, int, int, str, int], Site]) -> Iterator[tuple[str, int]]:
    """The file and line of each access with an order in src/ that no program executes."""
    executed = {site[:2] for site in sites}
    for file in sorted((ROOT / "src").rglob("*.[ch]")):
        path, text = str(file.relative_to(ROOT)), file.read_text()
        for call in re.finditer(ACCESS, text) if path != FENCE else ():
            first, last = (text.count("\n", 0, at) + 1 for at in call.span())
            if ORDERED.search(call[0]) and not any((path, line) in executed for line in range(first, last + 1)):
                yield path, first


def check_weakenings(glob: str) -> Iterator[bool]:
    sites = find_sites()
    unneeded = {line: False for line in UNNEEDED.read_text().splitlines() if line and not line.startswith("#")}
    for (path, line, _, kind, order), site in sorted(sites.items()):
        for weaker in WEAKER[kind].get(order, ()) if fnmatch.fnmatch(path, glob) else ():
            name = name_of(path, line, kind, order, weaker)
            fits = [rule for rule in unneeded if fnmatch.fnmatchcase(name, rule)]
            unneeded.update(dict.fromkeys(fits, True))
            noticed = "" if fits else is_noticed(sites, path, site, weaker)
            print(f"{name}: {'unneeded' if fits else 'noticed by ' + noticed if noticed else 'NOT NOTICED'}", flush=True)
            yield bool(noticed or fits)
    for path, line in find_unexecuted(sites) if glob == "*" else ():
        name = f"{path}: {(ROOT / path).read_text().splitlines()[line - 1].strip()}: not executed"
        fits = [rule for rule in unneeded if fnmatch.fnmatchcase(name, rule)]
        unneeded.update(dict.fromkeys(fits, True))
        if not fits:
            print(name)
            yield False
    for rule, fitted in unneeded.items():
        if not fitted and glob == "*":
            print(f"unneeded.txt: {rule}: fits no order")
            yield False


def check_programs() -> Iterator[bool]:
    for program in ("litmus", "protocols"):
        status, output = run(program)
        print(output, end="")
        yield status == 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--weaken", nargs="?", const="*", metavar="GLOB")
    arguments = parser.parse_args()
    results = list(check_weakenings(arguments.weaken) if arguments.weaken else check_programs())
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(not results or not all(results))
