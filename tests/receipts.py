"""Lists what the checks with receipts would compute, and the targets of ninja which that needs: before anything is built.

    python3 tests/receipts.py                      what has changed, of all checks; exit status 1 if anything has
    python3 tests/receipts.py --changed 'sizes'    of one check
    python3 tests/receipts.py --needs 'sizes'      the targets of ninja for that, one a line
    ... --all                                      as if nothing had a receipt
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "bench")]
from checks import images  # noqa: E402
from checks.pack import run as pack  # noqa: E402
from count import check as slots  # noqa: E402
from gen import measured, receipts  # noqa: E402
from gen.machine_code import Image  # noqa: E402
from gen.receipts import Unit  # noqa: E402
from model import run as models  # noqa: E402

Groups = dict[str, Sequence[Unit]]


def machine_code() -> Groups:
    return {measured.GROUP: measured.units()}


def counted() -> Groups:
    """Code that has changed is among the machine code: whether its slots are counted shows when it is built."""
    known = receipts.settle(measured.GROUP, measured.units(), None).results
    images_of = {name: Image.from_json(result) for name, result in known.items()}
    return {**machine_code(), slots.GROUP: slots.comparison(images_of).units()}


# By the names of tests/runner/checks.py.
CHECKS: dict[str, Callable[[], Groups]] = {
    "static audit": machine_code,
    "sizes": lambda: {measured.PACKED: measured.packed_units()},
    "images": lambda: {**machine_code(), **images.groups()},
    "issue slots": counted,
    "kernel pack": lambda: {pack.GROUP: pack.units()},
    "protocol models": lambda: {models.GROUP: models.units()},
}


def changed(check: str, everything: bool = False) -> list[Unit]:
    """What the check would compute."""
    return [unit for group, units in CHECKS[check]().items() for unit in (units if everything else receipts.changed(group, units))]


def needs(check: str, everything: bool = False) -> list[str]:
    """The targets of ninja without which it cannot compute that."""
    return list(dict.fromkeys(target for unit in changed(check, everything) for target in unit.needs))


def main() -> int:
    parser = argparse.ArgumentParser(description="Lists what the checks with receipts would compute.")
    parser.add_argument("--changed", metavar="CHECK", choices=CHECKS, help="the names of what one check would compute")
    parser.add_argument("--needs", metavar="CHECK", choices=CHECKS, help="the targets of ninja that one check needs for it")
    parser.add_argument("--all", action="store_true", help="as if nothing had a receipt")
    options = parser.parse_args()
    if options.needs:
        print("".join(f"{target}\n" for target in needs(options.needs, options.all)), end="")
        return 0
    found = {check: changed(check, options.all) for check in ([options.changed] if options.changed else CHECKS)}
    for check, units in found.items():
        print("".join(f"{unit.name}\n" if options.changed else f"{check}: {unit.name}\n" for unit in units), end="")
    return 1 if any(found.values()) and not options.changed else 0


if __name__ == "__main__":
    sys.exit(main())
