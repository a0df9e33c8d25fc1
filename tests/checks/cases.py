"""Runs the tests of a check: its functions whose names begin with test_.  The last line is `N passed, N failed`."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHOWN = 3000   # characters of what a command has printed


def run(names: dict[str, object], call: Callable[[Callable], None] = lambda test: test()) -> int:
    """The exit status.  names: globals() of the check; call: how a test is called."""
    tests = [test for name, test in names.items() if name.startswith("test_") and callable(test)]
    failed = 0
    for test in tests:
        try:
            call(test)
        except Exception as fault:
            print(f"{test.__name__}: {fault!r} {getattr(fault, 'stderr', '') or ''}".rstrip())
            failed += 1
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


def check(condition: bool, text: str) -> None:
    if not condition:
        raise AssertionError(text)


def expect(found: object, expected: object) -> None:
    if found != expected:
        raise AssertionError(f"{found!r}: expected {expected!r}")


def expect_in(part: str, text: str) -> None:
    if part not in text:
        raise AssertionError(f"{part!r} is not in {text!r}")


def output_of(*command: str, status: int = 0, folder: Path = ROOT, **environment: str) -> str:
    """What a command prints, which must end with this status."""
    done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    if done.returncode != status:
        raise AssertionError(f"{' '.join(command)}: status {done.returncode}, expected {status}: {done.stdout[-SHOWN:]}")
    return done.stdout
