"""What ThreadSanitizer says of programs: nothing of the real code, and something of each broken variant.

If a variant went unnoticed, the silence of the real code would mean nothing.  A race does not happen in each run, so a variant has
several.  By default a script runs the real code, with --broken the variants.  The last line is `N passed, N failed`.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from runner.addresses import fixed_addresses  # noqa: E402

BUILD = ROOT / "build"
RACE = "WARNING: ThreadSanitizer: data race"
TRIES = 5  # of a variant
SHOWN = 80  # lines of a program that was not silent


def run(program: Path, *words: str, **environment: str) -> tuple[int, str]:
    """The exit status, and all that was printed."""
    whole = {**os.environ, "TSAN_OPTIONS": "halt_on_error=0 exitcode=66 report_bugs=1", **environment}
    done = subprocess.run([*fixed_addresses(), program, *words], env=whole, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    return done.returncode, done.stdout


def is_silent(name: str, status: int, output: str) -> bool:
    silent = status == 0 and RACE not in output
    print(f"race: {name}: {'no race' if silent else 'FAILED'}", flush=True)
    if not silent:
        print("\n".join(output.splitlines()[:SHOWN]))
    return silent


def is_reported(name: str, attempt: Callable[[], tuple[int, str]], symptoms: tuple[str, ...] = (RACE,)) -> bool:
    """Whether one of several runs reports the variant."""
    for number in range(1, TRIES + 1):
        _, output = attempt()
        if any(symptom in output for symptom in symptoms):
            print(f"race: {name}: reported by run {number}, {output.count(RACE)} data races", flush=True)
            return True
    print(f"race: {name}: NOT REPORTED in {TRIES} runs", flush=True)
    return False


def main(real: Callable[..., Iterable[bool]], broken: Callable[..., Iterable[bool]], words: Iterable[str] = ()) -> int:
    """Runs what the command line says; with words, one of them is its first."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    if words:
        parser.add_argument("word", choices=list(words))
    parser.add_argument("--broken", action="store_true", help="the broken variants instead of the real code")
    arguments = parser.parse_args()
    results = list((broken if arguments.broken else real)(*([arguments.word] if words else [])))
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if results and all(results) else 1
