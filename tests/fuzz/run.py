"""Fuzzes every public function: tests/fuzz/fuzz.c by libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer.

    python3 tests/fuzz/run.py                           the corpus, then 6,000 inputs made of it
    python3 tests/fuzz/run.py --runs 1000000 --seed 7   as many as one wants; the seed decides which
    python3 tests/fuzz/run.py --found FOLDER            keeps there what reached new code
    python3 tests/fuzz/run.py --merge FOLDER            keeps of the corpus and a folder of inputs the few that reach the most code

A run fails if a sanitizer or a check of the fuzzer stops it, if the corpus does not call each function with success, or if fewer
calls succeeded than LEAST_SUCCEEDED.  A function `ranks_...` is a call of two or three ranks in threads: ranks.c.  The last line is
`N passed, N failed`, with a test for each function, and two for the corpus and the new inputs.
"""

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from runner.addresses import fixed_addresses  # noqa: E402
from runner.devices import best_cpu_target  # noqa: E402

PROGRAM = ROOT / "build" / "address" / best_cpu_target() / "fuzz"
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
LEAST_SUCCEEDED = 0.3
LONGEST_INPUT = 400
MOST_INPUTS = 200  # in the corpus; the longest make the most calls
# Functions that cannot succeed here: they need GPUs.
NEVER_SUCCEED = ("quern_symmetric_multicast", "quern_symmetric_view", "quern_transfer_wait_on")
# A call is short: an input that takes so many seconds hangs, however busy the machine is.
TIMEOUT = 600
INTERRUPTED = 128 + signal.SIGINT

# By the name of a function: how often it was called, and how often it succeeded.
Counts = dict[str, tuple[int, int]]


def options(seed: int) -> list[str]:
    """Output is closed, since fuzz.c checks that the library prints nothing; libFuzzer keeps a copy for its own.  fuzz.c itself
    searches for leaks, at the end and once in some thousand inputs: a search after each takes ten times as long as the input."""
    return ["-close_fd_mask=3", "-len_control=0", f"-max_len={LONGEST_INPUT}", f"-timeout={TIMEOUT}", "-rss_limit_mb=2048",
            f"-seed={seed}", "-artifact_prefix=build/fuzz/", "-detect_leaks=0"]


def fuzz(folders: list[str], runs: int, seed: int) -> tuple[int, str]:
    """One run of libFuzzer, whose first folder receives what is new.  An interrupt ends it and keeps its output."""
    command = [*fixed_addresses(), str(PROGRAM), *options(seed), f"-runs={runs}", *folders]
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


def read_counts(output: str) -> Counts:
    found = re.findall(r"^called (\w+) (\d+) (\d+)$", output, re.MULTILINE)
    return {name: (int(calls), int(succeeded)) for name, calls, succeeded in found}


def explain(output: str) -> str:
    """The end of a failed run without libFuzzer's progress."""
    lines = [line for line in output.splitlines() if not re.match(r"#\d|\s*NEW_FUNC|called |INFO", line)]
    return "\n".join(lines[:60])


def total(counts: Counts) -> tuple[int, int]:
    return sum(calls for calls, _ in counts.values()), sum(succeeded for _, succeeded in counts.values())


def judge_functions(counts: Counts) -> list[str]:
    """One line for each function that the corpus does not test: which inputs it has is written, and not left to chance."""
    faults = [f"the corpus never calls {name}" for name, (calls, _) in counts.items() if not calls]
    return faults + [f"{name} succeeds in none of {calls} calls of the corpus" for name, (calls, succeeded) in counts.items()
                     if calls and not succeeded and name not in NEVER_SUCCEED]


def judge_share(counts: Counts) -> list[str]:
    calls, succeeded = total(counts)
    if succeeded >= LEAST_SUCCEEDED * calls:
        return []
    return [f"{succeeded} of {calls} calls succeeded: expected {LEAST_SUCCEEDED:.0%}"]


def report(counts: Counts, seconds: float) -> str:
    calls, succeeded = total(counts)
    return (f"{calls:,} calls of {len(counts)} functions, {succeeded / max(calls, 1):.0%} QUERN_OK, "
            f"{calls / seconds:,.0f} per second")


def run(arguments: argparse.Namespace) -> int:
    faults, tests = [], 0
    with tempfile.TemporaryDirectory() as temporary:
        found = arguments.found or temporary
        for folders, runs in (([str(CORPUS)], 0), ([found, str(CORPUS)], arguments.runs)):
            began = time.monotonic()
            status, output = fuzz(folders, runs, arguments.seed)
            counts = read_counts(output)
            print(report(counts, time.monotonic() - began), flush=True)
            if status == INTERRUPTED:
                return status
            if status:
                print(explain(output))
                print(f"an input ended the run with seed {arguments.seed} and status {status}; a leak may be of an earlier input.  "
                      f"To repeat it: {PROGRAM.relative_to(ROOT)} build/fuzz/...\n0 passed, 1 failed")
                return 1
            faults += judge_share(counts) + (judge_functions(counts) if not runs else [])
            tests += 1 + (len(counts) if not runs else 0)
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{tests - len(faults)} passed, {len(faults)} failed")
    return 1 if faults else 0


def merge(folder: str) -> int:
    """Replaces the corpus by the smallest set of inputs that reach the same code."""
    with tempfile.TemporaryDirectory() as kept:
        command = [*fixed_addresses(), str(PROGRAM), *options(1), "-merge=1", "-use_counters=0", kept, str(CORPUS), folder]
        status = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
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
    parser.add_argument("--runs", type=int, default=6000, help="inputs, with those of the corpus (6000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--found", metavar="FOLDER", help="where inputs go that reach new code")
    parser.add_argument("--merge", metavar="FOLDER", help="minimise the corpus together with a folder of inputs")
    arguments = parser.parse_args()
    (ROOT / "build" / "fuzz").mkdir(parents=True, exist_ok=True)
    CORPUS.mkdir(exist_ok=True)
    return merge(arguments.merge) if arguments.merge else run(arguments)


if __name__ == "__main__":
    sys.exit(main())
