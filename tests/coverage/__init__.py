"""What the sanitized suites execute, by the counts of clang.  Called by tests/checks/coverage.py and tests/mutation."""
