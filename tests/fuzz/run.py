"""Fuzzes every public function: tests/fuzz/fuzz.c by libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer.

    python3 tests/fuzz/run.py                       the corpus, then new inputs for --seconds; called by tests/run.py
    python3 tests/fuzz/run.py --calls 10000000      until so many calls were made
    python3 tests/fuzz/run.py --merge FOLDER        keeps of the corpus and a folder of inputs the few that reach the most code

A run fails if a sanitizer or a check of the fuzzer stops it, if a function was never called or never succeeded, or if fewer calls
succeeded than LEAST_SUCCEEDED.  A function `ranks_...` is a call of two or three ranks in threads: ranks.c.  The last line is
`N passed, N failed`, with a test for each function and one for the whole.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "tests" / "fuzz"
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
LEAST_SUCCEEDED = 0.3
LONGEST_INPUT = 400
MOST_INPUTS = 200  # in the corpus; the longest make the most calls
# Functions that cannot succeed here: they need GPUs.
NEVER_SUCCEED = ("quern_symmetric_multicast", "quern_symmetric_view")
# A call is short: an input that takes so many seconds hangs.
TIMEOUT = 20
INTERRUPTED = 128 + signal.SIGINT


@dataclass
class Counts:
    """By the names of functions: how often each was called, and how often it returned QUERN_OK."""

    calls: dict[str, int] = field(default_factory=dict)
    succeeded: dict[str, int] = field(default_factory=dict)

    def add(self, output: str) -> None:
        for name, calls, succeeded in re.findall(r"^called (\w+) (\d+) (\d+)$", output, re.MULTILINE):
            self.calls[name] = self.calls.get(name, 0) + int(calls)
            self.succeeded[name] = self.succeeded.get(name, 0) + int(succeeded)


def options(seed: int) -> list[str]:
    """Output is closed, since fuzz.c checks that the library prints nothing; libFuzzer keeps a copy for its own.  fuzz.c itself
    searches for leaks, at the end and once in some thousand inputs: a search after each takes ten times as long as the input."""
    return ["-close_fd_mask=3", "-len_control=0", f"-max_len={LONGEST_INPUT}", f"-timeout={TIMEOUT}", "-rss_limit_mb=2048",
            f"-seed={seed}", "-artifact_prefix=build/fuzz/", "-detect_leaks=0"]


def fuzz(folders: list[str], seconds: float, seed: int) -> tuple[int, str]:
    """One run of libFuzzer, whose first folder receives what is new.  An interrupt ends it and keeps its output."""
    command = [str(PROGRAM), *options(seed), f"-max_total_time={max(1, round(seconds))}", *folders]
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        fuzzer = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
        try:
            status = fuzzer.wait()
        except KeyboardInterrupt:
            fuzzer.send_signal(signal.SIGINT)
            fuzzer.wait()
            status = INTERRUPTED
        output.seek(0)
        return status, output.read()


def explain(output: str) -> str:
    """The end of a failed run without libFuzzer's progress."""
    lines = [line for line in output.splitlines() if not re.match(r"#\d|\s*NEW_FUNC|called |INFO", line)]
    return "\n".join(lines[:60])


def judge(counts: Counts) -> list[str]:
    """One line for each function that the run did not test, and one if too few calls succeeded."""
    faults = [f"{name} was never called" for name, calls in counts.calls.items() if not calls]
    faults += [f"{name} never succeeded in {counts.calls[name]} calls" for name, succeeded in counts.succeeded.items()
               if not succeeded and counts.calls[name] and name not in NEVER_SUCCEED]
    calls, succeeded = sum(counts.calls.values()), sum(counts.succeeded.values())
    if succeeded < LEAST_SUCCEEDED * calls:
        faults.append(f"{succeeded} of {calls} calls succeeded: expected {LEAST_SUCCEEDED:.0%}")
    return faults


def report(counts: Counts, seconds: float) -> str:
    calls, succeeded = sum(counts.calls.values()), sum(counts.succeeded.values())
    return (f"{calls:,} calls of {len(counts.calls)} functions, {succeeded / max(calls, 1):.0%} QUERN_OK, "
            f"{calls / seconds:,.0f} per second")


def run(arguments: argparse.Namespace) -> int:
    counts, began, seed = Counts(), time.monotonic(), arguments.seed
    with tempfile.TemporaryDirectory() as found:
        while True:
            status, output = fuzz([found, str(CORPUS)], arguments.seconds, seed)
            counts.add(output)
            if status == INTERRUPTED:
                print(f"interrupted: {report(counts, time.monotonic() - began)}")
                return status
            if status:
                print(explain(output))
                print(f"an input in build/fuzz/ ended the run with seed {seed}; a leak may be of an earlier input: see Fuzzing in "
                      "CONTRIBUTING.md\n0 passed, 1 failed")
                return 1
            seed += 1
            if sum(counts.calls.values()) >= arguments.calls:
                break
            print(f"{sum(counts.calls.values()):,} calls", flush=True)
    faults = judge(counts)
    print(*faults, sep="\n", end="\n" if faults else "")
    print(report(counts, time.monotonic() - began))
    print(f"{len(counts.calls) + 1 - len(faults)} passed, {len(faults)} failed")
    return 1 if faults else 0


def merge(folder: str) -> int:
    """Replaces the corpus by the smallest set of inputs that reach the same code."""
    with tempfile.TemporaryDirectory() as kept:
        status = subprocess.run([str(PROGRAM), *options(1), "-merge=1", "-use_counters=0", kept, str(CORPUS), folder], cwd=ROOT,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
        if status:
            return status
        for path in CORPUS.iterdir():
            path.unlink()
        for path in sorted(Path(kept).iterdir(), key=lambda path: -path.stat().st_size)[:MOST_INPUTS]:
            (CORPUS / path.name[:16]).write_bytes(path.read_bytes())
    print(f"{len(list(CORPUS.iterdir()))} inputs, {sum(path.stat().st_size for path in CORPUS.iterdir())} bytes")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzzes every public function.")
    parser.add_argument("--seconds", type=float, default=120, help="for one run of libFuzzer (120)")
    parser.add_argument("--calls", type=int, default=100_000,
                        help="runs again until so many calls were made, on a slow machine (100000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--merge", metavar="FOLDER", help="minimise the corpus together with a folder of inputs")
    arguments = parser.parse_args()
    (ROOT / "build" / "fuzz").mkdir(parents=True, exist_ok=True)
    CORPUS.mkdir(exist_ok=True)
    return merge(arguments.merge) if arguments.merge else run(arguments)


if __name__ == "__main__":
    sys.exit(main())
