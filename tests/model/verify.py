"""Verifies one run of a model with spin, and judges the report."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from model.runs import DEADLOCK, Run

HERE = Path(__file__).resolve().parent
MEMORY_MB = 900  # for one run
SECONDS = 300    # of CPU time, for one step of a run
DEPTH = 100000   # steps on one path


@dataclass
class Outcome:
    run: Run
    fault: str = ""                    # empty: as it must be
    states: int = 0
    seconds: float = 0.0
    reached: frozenset[str] = frozenset()
    unreached: frozenset[str] = frozenset()


def command(words: list[str], directory: Path) -> str:
    """Runs a command and returns its output; raises if it cannot be run.  The exit status of a verifier says nothing."""
    limited = ["sh", "-c", f'ulimit -t {SECONDS} && exec "$@"', "sh", *words]
    done = subprocess.run(limited, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode and (words[0] != "./pan" or done.returncode < 0):
        raise RuntimeError(f"{' '.join(words)}: status {done.returncode} (the limit is {SECONDS} s of CPU time)\n{done.stdout}")
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


def find_statements(report: str) -> tuple[frozenset[str], frozenset[str]]:
    """The statements that the run came to, and those that it did not, but for the ends of processes.

    One of an inline has a state at each place that uses it.  Numbers in it are sizes of the run.
    """
    process, unreached, texts = "", set(), defaultdict(set)
    for line in report.splitlines():
        if named := re.match(r"(?:unreached in )?(?:proctype|init|claim)\s*(\S*)", line):
            process = named[1]
        elif found := re.match(r"\t\S+\.pml:\d+, state (\d+), \"(?!-end-)", line):
            unreached.add((process, found[1]))
        elif found := re.match(r"\tstate\s+(\d+) -.* (\S+\.pml:\d+) => (.*)", line):
            texts[process, found[1]].add(f"{found[2]}: " + re.sub(r"\d+", "#", found[3]))
    reached = frozenset(text for state, each in texts.items() if state not in unreached for text in each)
    return reached, frozenset(text for state in unreached for text in texts[state]) - reached


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
            outcome.reached, outcome.unreached = find_statements(report)
        except RuntimeError as error:
            outcome.fault = str(error)
    outcome.seconds = time.monotonic() - began
    return outcome
