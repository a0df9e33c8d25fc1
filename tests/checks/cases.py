"""Runs the tests of a check: its functions whose names begin with test_.  The last line is `N passed, N failed`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

FAULTS = (AssertionError, OSError, LookupError, ValueError, subprocess.SubprocessError)


def run(names: dict[str, object], call: Callable[[Callable], None] = lambda test: test()) -> int:
    """The exit status.  names: globals() of the check; call: how a test is called."""
    tests = [test for name, test in names.items() if name.startswith("test_") and callable(test)]
    failed = 0
    for test in tests:
        try:
            call(test)
        except FAULTS as fault:
            print(f"{test.__name__}: {fault!r} {getattr(fault, 'stderr', '') or ''}".rstrip())
            failed += 1
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0
