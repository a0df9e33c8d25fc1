"""Proves the protocols of the ranks on models, with spin: every schedule and every interleaving of a few ranks.

Each model (*.pml here) is run as it is, in several sizes, and must hold; then in each broken variant, which must fail in the
stated way: if the broken one passed, the model would prove nothing.  A statement that no correct run reaches is a failure too.
The last line is `N passed, N failed`.

    python3 tests/model/run.py [GLOB]       the runs whose names match, 'sleep*' for instance
    python3 tests/model/run.py --trail NAME the steps by which a broken variant fails
"""

from __future__ import annotations

import argparse
import concurrent.futures
import fnmatch
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKERS = 2
MEMORY_MB = 900  # for one run
TIMEOUT = 300    # seconds for one run
DEPTH = 100000   # steps on one path

DEADLOCK = "a deadlock"

# The correct runs: each model with its sizes.
CORRECT = {
    "barrier": [
        "RANKS=2 ROUNDS=6 FIRST=5",
        "RANKS=3 ROUNDS=2 FIRST=6",
        "RANKS=3 ROUNDS=3 FIRST=5",
        "RANKS=4 ROUNDS=1 FIRST=7",
        "RANKS=3 ROUNDS=3 FIRST=5 LINES",
    ],
    "mismatch": [
        "RANKS=2 ROUNDS=3",
        "RANKS=3 ROUNDS=2",
        "RANKS=2 ROUNDS=3 MULTICAST",
        "RANKS=3 ROUNDS=2 MULTICAST",
    ],
    "sleep": [
        "RANKS=2 ROUNDS=4 SLEEPERS=2",
        "RANKS=3 ROUNDS=2 SLEEPERS=2",
        "RANKS=4 ROUNDS=1 SLEEPERS=1",
        "RANKS=2 ROUNDS=3 SLEEPERS=2 POISON",
        "RANKS=3 ROUNDS=1 SLEEPERS=3 POISON",
        "RANKS=3 ROUNDS=2 SLEEPERS=1 POISON",
    ],
    "sleep_all": [
        "RANKS=2 ROUNDS=5",
        "RANKS=3 ROUNDS=2",
        "RANKS=2 ROUNDS=3 POISON",
        "RANKS=3 ROUNDS=1 POISON",
    ],
    "ragged": [
        "RANKS=2 ROUNDS=3",
        "RANKS=3 ROUNDS=2",
        "RANKS=4 ROUNDS=1",
        "RANKS=3 ROUNDS=2 FETCH",
    ],
    "ragged_brief": [
        "RANKS=2 ROUNDS=4",
        "RANKS=3 ROUNDS=2",
    ],
    "steps": [
        "CALLS=1 PIECES=3",
        "CALLS=2 PIECES=1",
        "CALLS=1 PIECES=1 KILL",
    ],
    "chunks": [
        "RANKS=2 ROUNDS=2",
        "RANKS=2 ROUNDS=2 KILL",
        "RANKS=3 ROUNDS=1 CHUNKS=1 KILL",
        "RANKS=2 ROUNDS=1 CHUNKS=1 HELPERS",
    ],
    "ragged_gpu": [
        "RANKS=2 ROUNDS=3",
        "RANKS=3 ROUNDS=2",
    ],
    "slots": [
        "RANKS=2 ROUNDS=5",
        "RANKS=3 ROUNDS=3",
        "RANKS=2 ROUNDS=5 MULTICAST",
        "RANKS=3 ROUNDS=3 MULTICAST",
    ],
    "expiry": [
        "RANKS=2 ROUNDS=3 KILL",
        "RANKS=3 ROUNDS=2 KILL",
        "RANKS=3 ROUNDS=2 KILL ONE_LIMIT",
        "RANKS=3 ROUNDS=2 ABORT",
        "RANKS=2 ROUNDS=2 KILL ABORT KERNEL",
        "RANKS=3 ROUNDS=1 KERNEL",
    ],
    "hosts": [
        "ROUNDS=3",
        "ROUNDS=2 KILL",
    ],
    "relay": [
        "UNITS=5 WINDOW=2 ROOM=1",
        "UNITS=5 WINDOW=4 ROOM=2",
    ],
    "dissent": [
        "HOSTS=2",
        "HOSTS=3",
    ],
    "rendezvous": [
        "RANKS=2 FAILURES=2 HASTE=1",
        "RANKS=3 FAILURES=1 HASTE=0",
        "RANKS=3 FAILURES=0 HASTE=1",
        "RANKS=2 FAILURES=1 HASTE=0 KILL",
        "RANKS=3 FAILURES=0 HASTE=0 KILL",
    ],
    "shrink": [
        "RANKS=2 DEATHS=1 EXPIRIES=1 FAILURES=1",
        "RANKS=3 DEATHS=2 EXPIRIES=0 FAILURES=0",
        "RANKS=3 DEATHS=1 EXPIRIES=1 FAILURES=0",
        "RANKS=3 DEATHS=1 EXPIRIES=0 FAILURES=1",
    ],
    "quorum": [
        "HOSTS=3 PER=1 DEATHS=1 EXPIRIES=0",
        "HOSTS=2 PER=2 DEATHS=1 EXPIRIES=0",
        "HOSTS=2 PER=2 DEATHS=0 EXPIRIES=0 CUT",
        "HOSTS=3 PER=1 DEATHS=1 EXPIRIES=0 CUT",
        "HOSTS=3 PER=1 DEATHS=0 EXPIRIES=1 CUT",
        "HOSTS=3 PER=1 DEATHS=2 EXPIRIES=0",
    ],
    "transfer": [
        "ROUNDS=2",
        "ROUNDS=2 THREADS",
    ],
    "link": [
        "ROUNDS=2",
        "ROUNDS=3",
    ],
    "carry": [
        "TRANSFERS=2 PIECES=3 SLOTS=2 TAGS=2",
        "TRANSFERS=3 PIECES=2 SLOTS=2 TAGS=3",
    ],
    "stage": [
        "TRANSFERS=2 PIECES=3 CANCELS=2 FAILURES=0",
        "TRANSFERS=2 PIECES=3 CANCELS=1 FAILURES=1",
        "TRANSFERS=3 PIECES=2 CANCELS=1 FAILURES=2",
    ],
}

# The broken variants: model, size, the one thing that is wrong, and how it fails: by a deadlock, or an assertion with this in it.
BROKEN = [
    ("barrier", "RANKS=3 ROUNDS=2 FIRST=6", "SIGNAL_BEFORE_DATA", "data["),
    ("barrier", "RANKS=3 ROUNDS=2 FIRST=6", "NO_EXIT", "data["),
    ("barrier", "RANKS=3 ROUNDS=2 FIRST=6", "COMPARE_EQUAL", DEADLOCK),
    ("barrier", "RANKS=3 ROUNDS=2 FIRST=6", "COMPARE_UNSIGNED", "data["),
    ("barrier", "RANKS=3 ROUNDS=2 FIRST=6", "SELF_CLEARING_FLAGS", DEADLOCK),
    ("barrier", "RANKS=3 ROUNDS=2 FIRST=6", "CENTRAL_COUNTER", "data["),
    ("barrier", "RANKS=3 ROUNDS=2 FIRST=6", "ONE_COUNT_FOR_ALL_PEERS", DEADLOCK),
    ("barrier", "RANKS=3 ROUNDS=2 FIRST=6", "COUNT_RESTARTED", "data["),
    ("barrier", "RANKS=3 ROUNDS=2 FIRST=6", "PAD_OF_ZEROS", "data["),
    ("barrier", "RANKS=3 ROUNDS=2 FIRST=6", "SLOT_SWAPPED", "data["),
    ("barrier", "RANKS=3 ROUNDS=2 FIRST=6", "NON_MEMBERS_AWAITED", DEADLOCK),
    ("mismatch", "RANKS=3 ROUNDS=2", "TAG_AFTER_EPOCH", "odd_rank"),
    ("mismatch", "RANKS=3 ROUNDS=2", "TAG_COMPARED_WHEN_AHEAD", "odd_rank"),
    ("mismatch", "RANKS=3 ROUNDS=2", "TAG_NOT_COMPARED", "poison"),
    ("mismatch", "RANKS=3 ROUNDS=2 MULTICAST", "SLOT_READ_BEFORE_OTHER", "odd_rank"),
    ("mismatch", "RANKS=3 ROUNDS=1 MULTICAST", "OTHER_NOT_READ", DEADLOCK),
    ("sleep", "RANKS=2 ROUNDS=2 SLEEPERS=2", "PUTTER_CLEARS_FLAG", DEADLOCK),
    ("sleep", "RANKS=2 ROUNDS=2 SLEEPERS=2", "WAKE_AT_READ_BEFORE_ARRIVAL", DEADLOCK),
    ("sleep", "RANKS=2 ROUNDS=2 SLEEPERS=2", "ARRIVAL_BEFORE_SIGNAL", DEADLOCK),
    ("sleep", "RANKS=2 ROUNDS=2 SLEEPERS=2", "MISSING_COUNTED_BEFORE_ARRIVALS", DEADLOCK),
    ("sleep", "RANKS=2 ROUNDS=2 SLEEPERS=2", "COMPARE_AND_SLEEP_IN_TWO_STEPS", DEADLOCK),
    ("sleep", "RANKS=2 ROUNDS=2 SLEEPERS=2 POISON", "WAKE_WITHOUT_ARRIVAL", DEADLOCK),
    ("sleep", "RANKS=2 ROUNDS=2 SLEEPERS=2 POISON", "ARRIVAL_WITHOUT_WAKE", DEADLOCK),
    ("sleep_all", "RANKS=3 ROUNDS=2", "CLEARED_AFTER_WAKING", DEADLOCK),
    ("sleep_all", "RANKS=2 ROUNDS=2", "ASKED_BEFORE_FENCE", DEADLOCK),
    ("sleep_all", "RANKS=2 ROUNDS=2", "SAID_AFTER_LOOK", DEADLOCK),
    ("sleep_all", "RANKS=2 ROUNDS=2", "COUNT_READ_LAST", DEADLOCK),
    ("sleep_all", "RANKS=2 ROUNDS=2", "WAKE_WITHOUT_COUNT", DEADLOCK),
    ("sleep_all", "RANKS=2 ROUNDS=2", "COUNT_WITHOUT_WAKE", DEADLOCK),
    ("sleep_all", "RANKS=2 ROUNDS=2 POISON", "WAKE_WITHOUT_COUNT", DEADLOCK),
    ("ragged", "RANKS=3 ROUNDS=2", "NO_ENTRY", "notices["),
    ("ragged", "RANKS=3 ROUNDS=2", "NO_VOTE_MEETING", "bad_rank"),
    ("ragged", "RANKS=3 ROUNDS=2", "VOTE_READ_BEFORE_MEETING", "vote["),
    ("ragged", "RANKS=3 ROUNDS=2", "NO_EXIT", "output["),
    ("ragged", "RANKS=3 ROUNDS=2 FETCH", "NO_EXIT", "inside["),
    ("ragged", "RANKS=3 ROUNDS=2 FETCH", "NOTICES_BEFORE_EXIT", "notices["),
    ("ragged", "RANKS=3 ROUNDS=2", "NO_EXIT_AFTER_BAD_VOTE", "vote["),
    ("ragged", "RANKS=3 ROUNDS=2", "INBOX_BY_PLACE", "inbox["),
    ("ragged_brief", "RANKS=2 ROUNDS=3", "ONE_HALF", "brief["),
    ("ragged_brief", "RANKS=2 ROUNDS=2", "NO_ENTRY", "brief["),
    ("ragged_brief", "RANKS=2 ROUNDS=2", "NO_EXIT", "output["),
    ("ragged_brief", "RANKS=2 ROUNDS=2", "OWN_OFFER_DECIDES", "way["),
    ("steps", "CALLS=1 PIECES=3", "ONE_WINDOW", "staged["),
    ("steps", "CALLS=1 PIECES=2", "NO_MEETING", "staged["),
    ("steps", "CALLS=1 PIECES=2", "RESULTS_A_STEP_EARLY", "arrived["),
    ("chunks", "RANKS=2 ROUNDS=1", "NO_ENTRY", "inside["),
    ("chunks", "RANKS=2 ROUNDS=1", "NO_EXIT", "output["),
    ("chunks", "RANKS=2 ROUNDS=1", "WORD_BEFORE_DATA", "output["),
    ("chunks", "RANKS=2 ROUNDS=2", "VALUE_USED_AGAIN", "output["),
    ("chunks", "RANKS=2 ROUNDS=1 CHUNKS=1 HELPERS", "WORD_BY_EACH_PIECE", "output["),
    ("chunks", "RANKS=2 ROUNDS=1 KILL", "WORDS_STAY", DEADLOCK),
    ("ragged_gpu", "RANKS=2 ROUNDS=2", "EXIT_NOT_AWAITED", "output["),
    ("ragged_gpu", "RANKS=2 ROUNDS=2", "GROUP_GOES_ON", "report["),
    ("ragged_gpu", "RANKS=2 ROUNDS=2", "DISSENT_LOST_WHEN_AHEAD", "judgement["),
    ("slots", "RANKS=2 ROUNDS=3", "SIGNAL_BEFORE_DATA", "slots["),
    ("slots", "RANKS=2 ROUNDS=3", "ONE_SLOT", "slots["),
    ("slots", "RANKS=3 ROUNDS=3 MULTICAST", "HALF_OF_THE_MEETING", "slots["),
    ("slots", "RANKS=3 ROUNDS=3", "HALF_OF_ALL_CALLS", "slots["),
    ("expiry", "RANKS=2 ROUNDS=2", "EXPIRY_WITHOUT_POISON", "failed"),
    ("expiry", "RANKS=2 ROUNDS=2 ONE_LIMIT", "POISON_CHECKED_ONLY_AT_BEGIN", DEADLOCK),
    ("expiry", "RANKS=2 ROUNDS=2", "POISON_BEFORE_TEXT", "text["),
    ("expiry", "RANKS=2 ROUNDS=2", "POISON_OVERWRITTEN", "returned"),
    ("expiry", "RANKS=2 ROUNDS=2", "CLAIM_TAKEN_OVER", "text["),
    ("expiry", "RANKS=2 ROUNDS=2 KERNEL", "KERNEL_STORES_POISON", "returned"),
    ("hosts", "ROUNDS=2", "NO_GATHERING", "entered["),
    ("hosts", "ROUNDS=2", "NO_RELEASE", "entered["),
    ("hosts", "ROUNDS=2", "NOT_HEARD", "entered["),
    ("hosts", "ROUNDS=2", "END_BEFORE_LAST_MESSAGE", "failed"),
    ("hosts", "ROUNDS=2 KILL", "DEATH_NOT_SEEN_IN_MEMORY", DEADLOCK),
    ("relay", "UNITS=5 WINDOW=2 ROOM=1", "CREDIT_NOT_READ", DEADLOCK),
    ("relay", "UNITS=5 WINDOW=2 ROOM=1", "CREDIT_LOST", DEADLOCK),
    ("relay", "UNITS=5 WINDOW=2 ROOM=1", "NO_WAITING", DEADLOCK),
    ("relay", "UNITS=5 WINDOW=2 ROOM=1", "NO_WINDOW", "waiting["),
    ("relay", "UNITS=5 WINDOW=4 ROOM=1", "OVERTAKES", "unit"),
    ("dissent", "HOSTS=2", "FIRST_STAYS", "answer["),
    ("dissent", "HOSTS=2", "NOT_AWAITED", "answer["),
    ("dissent", "HOSTS=3", "ONE_AWAITED", "answer["),
    ("dissent", "HOSTS=3", "ONLY_OWN_TOLD", DEADLOCK),
    ("rendezvous", "RANKS=2 FAILURES=1 HASTE=1", "LOCK_NOT_CHECKED", DEADLOCK),
    ("rendezvous", "RANKS=2 FAILURES=1 HASTE=0", "NAME_COMPARED_WITHOUT_LOCK", "name=="),
    ("rendezvous", "RANKS=2 FAILURES=1 HASTE=0", "POISONED_FILE_JOINED", "has_dead_rank"),
    ("rendezvous", "RANKS=2 FAILURES=1 HASTE=0", "REFUSED_WHEN_READY", "poison"),
    ("shrink", "RANKS=3 DEATHS=1 EXPIRIES=1 FAILURES=0", "COME_WITHOUT_COMPARING", "round_of["),
    ("shrink", "RANKS=3 DEATHS=1 EXPIRIES=1 FAILURES=0", "EXCLUDE_WITHOUT_COMPARING", "round_of["),
    ("shrink", "RANKS=3 DEATHS=1 EXPIRIES=0 FAILURES=1", "EXCLUDED_FROM_ITS_ROUND", DEADLOCK),
    ("shrink", "RANKS=3 DEATHS=1 EXPIRIES=0 FAILURES=0", "ROUND_NEVER_OVER", DEADLOCK),
    ("shrink", "RANKS=3 DEATHS=1 EXPIRIES=0 FAILURES=0", "LEFT_WITHOUT_REFUSING", DEADLOCK),
    ("shrink", "RANKS=3 DEATHS=1 EXPIRIES=0 FAILURES=1", "FAILED_WITHOUT_EXCLUSION", DEADLOCK),
    ("quorum", "HOSTS=3 PER=1 DEATHS=1 EXPIRIES=0 CUT", "NO_QUORUM", "group=="),
    ("quorum", "HOSTS=2 PER=2 DEATHS=0 EXPIRIES=0 CUT", "HALF_WITHOUT_RANK_0", "group=="),
    ("quorum", "HOSTS=3 PER=1 DEATHS=1 EXPIRIES=0 CUT", "MAJORITY_OF_THOSE_THAT_LIVE", "group=="),
    ("quorum", "HOSTS=3 PER=1 DEATHS=1 EXPIRIES=0 CUT", "AGAIN_AFTER_THE_LAST", "group=="),
    ("quorum", "HOSTS=3 PER=1 DEATHS=1 EXPIRIES=0", "STALE_NUMBER", "group!="),
    ("quorum", "HOSTS=2 PER=2 DEATHS=0 EXPIRIES=0 CUT", "NO_LIMIT", DEADLOCK),
    ("transfer", "ROUNDS=1", "END_IS_NOT_SAID", DEADLOCK),
    ("transfer", "ROUNDS=1", "NOT_WITHDRAWN", "rubbish"),
    ("transfer", "ROUNDS=1", "NOT_LOOKED_AFTER_THE_COPY", "rubbish"),
    ("transfer", "ROUNDS=1 THREADS", "NOT_LOOKED_BEFORE_THE_COPY", "gone"),
    ("transfer", "ROUNDS=1 THREADS", "COPY_NOT_AWAITED", "gone"),
    ("transfer", "ROUNDS=1 THREADS", "WITHDRAWN_AFTER_THE_LOOK", "gone"),
    ("transfer", "ROUNDS=1", "RING_BEFORE_THE_WORD", DEADLOCK),
    ("transfer", "ROUNDS=1", "LISTEN_AFTER_THE_LOOK", DEADLOCK),
    ("link", "ROUNDS=2", "FLOWN_FAILS", "cancelled["),
    ("link", "ROUNDS=2", "LEFT_ALONE_IN_NCCL", DEADLOCK),
    ("link", "ROUNDS=2", "ONLY_OWN_FLIGHT_FAILS", DEADLOCK),
    ("link", "ROUNDS=2", "BREAK_NOT_SAID", DEADLOCK),
    ("link", "ROUNDS=2", "OLD_BREAK_OBEYED", "cancelled["),
    ("link", "ROUNDS=2", "BREAK_HEARD_TWICE", "cancelled["),
    ("link", "ROUNDS=2", "GO_BEFORE_CONNECTED", "ready"),
    ("link", "ROUNDS=2", "FORGOTTEN_NOT_SAID", DEADLOCK),
    ("link", "ROUNDS=2", "FORGOTTEN_FAILS", "cancelled["),
    ("link", "ROUNDS=2", "FORGOTTEN_NOT_OBEYED", DEADLOCK),
    ("carry", "TRANSFERS=2 PIECES=3 SLOTS=2 TAGS=2", "READY_BEFORE_THE_RECEIVE", "posted["),
    ("carry", "TRANSFERS=2 PIECES=3 SLOTS=2 TAGS=2", "NONE_NOT_SAID", DEADLOCK),
    ("carry", "TRANSFERS=2 PIECES=3 SLOTS=2 TAGS=2", "NONE_WITHOUT_A_NUMBER", DEADLOCK),
    ("carry", "TRANSFERS=2 PIECES=3 SLOTS=2 TAGS=2", "CANCELLED_WITHOUT_NONE", "posted["),
    ("carry", "TRANSFERS=2 PIECES=3 SLOTS=2 TAGS=2", "BYTES_OF_WHAT_IS_OVER", "slot["),
    ("stage", "TRANSFERS=2 PIECES=3 CANCELS=2 FAILURES=0", "STAGED_BEFORE_THE_END", "state["),
    ("stage", "TRANSFERS=2 PIECES=3 CANCELS=2 FAILURES=0", "TAKEN_BEFORE_THE_COPY", "window["),
    ("stage", "TRANSFERS=2 PIECES=3 CANCELS=2 FAILURES=0", "FREE_BEFORE_TAKEN", "state["),
    ("stage", "TRANSFERS=2 PIECES=3 CANCELS=2 FAILURES=0", "COPY_OUTLIVES_ITS_TRANSFER", "owner["),
    ("stage", "TRANSFERS=2 PIECES=3 CANCELS=2 FAILURES=0", "SAID_OUT_OF_ORDER", "piece_of["),
    ("stage", "TRANSFERS=2 PIECES=3 CANCELS=2 FAILURES=0", "NOT_TAKEN_WHEN_OVER", DEADLOCK),
    ("stage", "TRANSFERS=2 PIECES=3 CANCELS=2 FAILURES=0", "KEPT_BY_WHAT_IS_OVER", DEADLOCK),
    ("stage", "TRANSFERS=1 PIECES=1 CANCELS=0 FAILURES=0", "LISTENING_BEFORE_THE_SOCKET", "listening"),
    ("stage", "TRANSFERS=1 PIECES=1 CANCELS=0 FAILURES=0", "WINDOW_BEFORE_THE_DESCRIPTOR", "in_socket"),
    ("stage", "TRANSFERS=1 PIECES=1 CANCELS=0 FAILURES=0", "ASKED_AGAIN", "asked"),
    ("stage", "TRANSFERS=1 PIECES=1 CANCELS=0 FAILURES=0", "COPIED_BEFORE_IT_IS_OPEN", "opened"),
    ("stage", "TRANSFERS=2 PIECES=2 CANCELS=0 FAILURES=1", "WINDOW_COMES_FOR_EVER", "in_socket"),
    ("stage", "TRANSFERS=2 PIECES=2 CANCELS=0 FAILURES=1", "FORGOTTEN_BY_A_FAILURE", DEADLOCK),
    ("stage", "TRANSFERS=2 PIECES=2 CANCELS=0 FAILURES=1", "SHOWN_ONCE", DEADLOCK),
    ("stage", "TRANSFERS=2 PIECES=2 CANCELS=0 FAILURES=1", "SHOWN_WITH_A_FREE_HALF", DEADLOCK),
]


@dataclass(frozen=True)
class Run:
    model: str
    size: str
    variant: str = ""   # empty: correct
    symptom: str = ""

    @property
    def name(self) -> str:
        return f"{self.model} {self.size}" + (f" {self.variant}" if self.variant else "")

    def definitions(self) -> list[str]:
        return [f"-D{word}" for word in (*self.size.split(), *self.variant.split())]


@dataclass
class Outcome:
    run: Run
    fault: str = ""                    # empty: as it must be
    states: int = 0
    seconds: float = 0.0
    unreached: frozenset[str] = frozenset()


def all_runs() -> list[Run]:
    return [Run(model, size) for model, sizes in CORRECT.items() for size in sizes] + [Run(*broken) for broken in BROKEN]


# ---- one run -------------------------------------------------------------------------------------


def command(words: list[str], directory: Path) -> str:
    """Runs a command and returns its output; raises if it cannot be run.  The exit status of a verifier says nothing."""
    done = subprocess.run(words, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT)
    if done.returncode and words[0] != "./pan":
        raise RuntimeError(f"{' '.join(words)}:\n{done.stdout}")
    return done.stdout


def verify(run: Run, directory: Path) -> str:
    """The verifier's report and its table of statements.

    To compile a verifier takes as long as to run it.  A broken variant fails within few states: its verifier is compiled fast, not
    to be fast.
    """
    for model in HERE.glob("*.pml"):
        shutil.copy(model, directory)
    command(["spin", "-a", *run.definitions(), f"{run.model}.pml"], directory)
    compiler = ["clang", "-O0"] if run.variant else ["gcc", "-Og"]
    command([*compiler, "-w", "-DSAFETY", "-DCOLLAPSE", "-DNOFAIR", f"-DMEMLIM={MEMORY_MB}",
             "-o", "pan", "pan.c"], directory)
    return command(["./pan", f"-m{DEPTH}"], directory) + command(["./pan", "-d"], directory)


def find_unreached(report: str) -> frozenset[str]:
    """The lines that the run never came to, but for the ends of processes.  A line of an inline is at several states of a process."""
    process, unreached, all_states = "", set(), set()
    for line in report.splitlines():
        if named := re.match(r"(?:unreached in )?(?:proctype|init|claim)\s*(\S*)", line):
            process = named[1]
        elif found := re.match(r"\t(\S+\.pml:\d+), state (\d+), \"(?!-end-)", line):
            unreached.add((found[1], process, found[2]))
        elif found := re.match(r"\tstate\s+(\d+) -.* (\S+\.pml:\d+) => ", line):
            all_states.add((found[2], process, found[1]))
    reached = {line for line, *_ in all_states - unreached}
    return frozenset(line for line, *_ in unreached) - reached


def symptom_pattern(symptom: str) -> str:
    return "invalid end state \\(" if symptom == DEADLOCK else rf"assertion violated .*{re.escape(symptom)}"


def describe(symptom: str) -> str:
    return symptom if symptom == DEADLOCK else f"an assertion on {symptom.rstrip('[=')}"


def judge(run: Run, report: str) -> str:
    """The errors in the verifier's report; empty: correct."""
    errors = re.search(r"errors: (\d+)", report)
    if not errors:
        return "the search did not end"
    if run.variant:
        return "" if re.search(symptom_pattern(run.symptom), report) else f"does not fail with {describe(run.symptom)}"
    if errors.group(1) != "0":
        return "fails"
    return "the search was cut short" if re.search(r"max search depth too small|Search not completed|out of memory", report) else ""


def perform(run: Run) -> Outcome:
    began = time.monotonic()
    outcome = Outcome(run)
    with tempfile.TemporaryDirectory() as directory:
        try:
            report = verify(run, Path(directory))
            outcome.fault = judge(run, report)
            if outcome.fault:
                outcome.fault += "\n" + report
            stored = re.search(r"(\S+) states, stored", report)
            outcome.states = int(float(stored.group(1))) if stored else 0
            outcome.unreached = find_unreached(report)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            outcome.fault = str(error)
    outcome.seconds = time.monotonic() - began
    return outcome


def show_trail(run: Run) -> None:
    with tempfile.TemporaryDirectory() as directory:
        verify(run, Path(directory))
        print(command(["spin", "-p", "-g", "-l", "-t", *run.definitions(), f"{run.model}.pml"], Path(directory)))


# ---- all of them ---------------------------------------------------------------------------------


def show(outcome: Outcome) -> None:
    good = f"fails with {describe(outcome.run.symptom)}, as it must" if outcome.run.variant else "holds"
    manner = "FAILED" if outcome.fault else good
    print(f"{outcome.run.name}: {manner} ({outcome.states} states, {outcome.seconds:.1f} s)", flush=True)
    if outcome.fault:
        print(outcome.fault, flush=True)


def find_idle_statements(outcomes: list[Outcome]) -> list[str]:
    """The statements that no correct run of a model reaches: nothing is proved about them."""
    idle = []
    for model in CORRECT:
        unreached = [o.unreached for o in outcomes if o.run.model == model and not o.run.variant and not o.fault]
        idle += sorted(frozenset.intersection(*unreached)) if unreached else []
    return idle


def find_untried_variants(runs: list[Run]) -> list[str]:
    """The switches in the models that no run turns on."""
    tried = {word.partition("=")[0] for run in runs for word in f"{run.size} {run.variant}".split()}
    switches = {name for model in HERE.glob("*.pml") for name in re.findall(r"(?:ifn?def |defined\()(\w+)", model.read_text())}
    return sorted(switches - tried)


def main() -> int:
    parser = argparse.ArgumentParser(description="Proves the protocols of the ranks on models.")
    parser.add_argument("glob", nargs="?", default="*", help="the runs to do, 'sleep*' for instance")
    parser.add_argument("--trail", action="store_true", help="show the steps by which the run fails")
    options = parser.parse_args()
    runs = [run for run in all_runs() if fnmatch.fnmatch(run.name, options.glob)]
    if options.trail:
        for run in runs:
            show_trail(run)
        return 0
    failures, outcomes = 0, []
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for outcome in pool.map(perform, runs):
            show(outcome)
            outcomes.append(outcome)
            failures += bool(outcome.fault)
    complaints = [f"{place}: no correct run comes here" for place in find_idle_statements(outcomes)] if options.glob == "*" else []
    complaints += [f"{name}: a switch that no run turns on" for name in find_untried_variants(all_runs())]
    print(*complaints, sep="\n", end="\n" if complaints else "")
    failures += len(complaints)
    print(f"{len(outcomes) - sum(bool(o.fault) for o in outcomes)} passed, {failures} failed")
    return 1 if failures or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
