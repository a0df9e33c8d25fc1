"""Proves the protocols of the ranks on models, with spin: every schedule and every interleaving of a few ranks.

Each model (*.pml here) is run as it is, in several sizes, and must hold; then in each broken variant, which must fail in the
stated way: if the broken one passed, the model would prove nothing.  A statement that no correct run reaches is a failure too.
What was proved has a receipt (tests/receipts.json).  If anything ran, the last line is `N passed, N failed`.

    python3 tests/model/run.py              the models that have changed
    python3 tests/model/run.py --all        all
    python3 tests/model/run.py --part 3/24  one part of the runs, of equal cost
    python3 tests/model/run.py GLOB         the runs whose names match, 'sleep*' for instance
    python3 tests/model/run.py --trail GLOB the steps by which a broken variant fails
"""

from __future__ import annotations

import argparse
import concurrent.futures
import fnmatch
import re
import subprocess
import sys
import tempfile
from dataclasses import astuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent)]
from gen import receipts  # noqa: E402
from gen.receipts import Unit  # noqa: E402
from model import verify  # noqa: E402
from model.runs import CORRECT, Run, all_runs  # noqa: E402
from model.verify import Outcome  # noqa: E402

GROUP = "protocol models"
SPIN = "6.5.2"       # of the receipts: the number of states may be another one with another version
WORKERS = 2
SWITCH = r"(?:ifn?def |(?:defined|PICK|ONLY|UNLESS)\()([A-Z]\w+)"
FIXED = 700000       # states: to compile a verifier takes as long as to visit so many


def runs_of(model: str) -> list[Run]:
    return [run for run in all_runs() if run.model == model]


def units() -> list[Unit]:
    return [Unit(model, receipts.digest(SPIN, HERE / "verify.py", HERE / f"{model}.pml",
                                        *map(astuple, runs_of(model)))) for model in CORRECT]


def has_spin_of_receipts() -> bool:
    return f"Version {SPIN} " in subprocess.run(["sh", "-c", "spin -V"], capture_output=True, text=True).stdout


# ---- runs ----


def show(outcome: Outcome) -> None:
    good = f"fails with {verify.describe(outcome.run.symptom)}, as it must" if outcome.run.variant else "holds"
    manner, report = ("FAILED", f"\n{outcome.fault}") if outcome.fault else (good, "")
    print(f"{outcome.run.name}: {manner} ({outcome.states} states, {outcome.seconds:.1f} s){report}", flush=True)


def perform(runs: list[Run]) -> list[Outcome]:
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for outcome in pool.map(verify.perform, runs):
            show(outcome)
            outcomes.append(outcome)
    return outcomes


def find_idle_statements(outcomes: list[Outcome]) -> list[str]:
    """The statements that correct runs of a model have, and none reaches: nothing is proved about them."""
    correct = [outcome for outcome in outcomes if not outcome.run.variant and not outcome.fault]
    return sorted(frozenset().union(*(o.unreached for o in correct)) - frozenset().union(*(o.reached for o in correct)))


def find_untried_variants() -> list[str]:
    """The switches in the models that no run turns on."""
    tried = {word.partition("=")[0] for run in all_runs() for word in f"{run.size} {run.variant}".split()}
    text = "".join(model.read_text() for model in HERE.glob("*.pml"))
    return sorted(set(re.findall(SWITCH, text)) - set(re.findall(r"#define (\w+)", text)) - tried)


def states_of(outcomes: list[Outcome]) -> dict[str, int]:
    return {f"{o.run.size} {o.run.variant}".rstrip(): o.states for o in outcomes}


def part_of(runs: list[Run], number: int, count: int, states: dict[str, dict[str, int]]) -> list[Run]:
    """The runs of one part: the longest first into the emptiest."""
    cost = {run: FIXED + states.get(run.model, {}).get(f"{run.size} {run.variant}".rstrip(), 0) for run in runs}
    parts: list[list[Run]] = [[] for _ in range(count)]
    sums = [0] * count
    for run in sorted(runs, key=lambda run: (-cost[run], run.name)):
        emptiest = sums.index(min(sums))
        parts[emptiest].append(run)
        sums[emptiest] += cost[run]
    return parts[number - 1]


def show_trail(run: Run) -> None:
    with tempfile.TemporaryDirectory() as directory:
        verify.verify(run, Path(directory))
        print(verify.command(["spin", "-p", "-g", "-l", "-t", *run.definitions(), f"{run.model}.pml"], Path(directory)))


# ---- all of them ----


def by_receipts(everything: bool) -> tuple[list[Outcome], list[str]]:
    """Runs the models that have no receipt, or all; also returns what is wrong beside the runs."""
    outcomes: list[Outcome] = []
    faults = []

    def compute(due: list[Unit]) -> dict[str, dict[str, int] | None]:
        outcomes.extend(perform([run for unit in due for run in runs_of(unit.name)]))
        found: dict[str, dict[str, int] | None] = {}
        for unit in due:
            own = [outcome for outcome in outcomes if outcome.run.model == unit.name]
            idle = [f"{place}: no correct run comes here" for place in find_idle_statements(own)]
            faults.extend(idle)
            found[unit.name] = None if idle or any(outcome.fault for outcome in own) else states_of(own)
        is_kept = has_spin_of_receipts()
        return {name: states for name, states in found.items() if is_kept or not states}

    settled = receipts.settle(GROUP, units(), compute, everything)
    print(f"{len(settled.results)} of {len(CORRECT)} models have a receipt")
    return outcomes, faults + settled.faults


def some(runs: list[Run], known: dict[str, dict[str, int]]) -> tuple[list[Outcome], list[str]]:
    """Runs these, and compares them with the receipts of their models."""
    outcomes = perform(runs)
    faults = [f"{outcome.run.name}: {outcome.states} states, the receipt says {said}" for outcome in outcomes
              for name, states in states_of([outcome]).items()
              if (said := known.get(outcome.run.model, {}).get(name, states)) != states and has_spin_of_receipts()]
    return outcomes, faults


def main() -> int:
    parser = argparse.ArgumentParser(description="Proves the protocols of the ranks on models.")
    parser.add_argument("glob", nargs="?", help="the runs to do, 'sleep*' for instance (those of models that have changed)")
    parser.add_argument("--all", action="store_true", help="all models, those with receipts too")
    parser.add_argument("--part", metavar="K/N", type=lambda text: tuple(map(int, text.split("/"))), help="one part of all runs")
    parser.add_argument("--trail", action="store_true", help="show the steps by which the run fails")
    options = parser.parse_args()
    runs = [run for run in all_runs() if fnmatch.fnmatch(run.name, options.glob or "*")]
    if options.trail:
        for run in runs:
            show_trail(run)
        return 0
    known = receipts.settle(GROUP, units(), None).results
    if options.part:
        runs = part_of(runs, *options.part, known)
    outcomes, faults = some(runs, known) if options.part or options.glob else by_receipts(options.all)
    faults += [f"{name}: a switch that no run turns on" for name in find_untried_variants()]
    print(*faults, sep="\n", end="\n" if faults else "")
    failed = sum(bool(outcome.fault) for outcome in outcomes)
    if outcomes or faults:
        print(f"{len(outcomes) - failed} passed, {failed + len(faults)} failed")
    return 1 if failed or faults or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
