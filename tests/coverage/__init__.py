"""The map of what no test executes: read from the counts of the sanitized suites.  Called by tests/checks/coverage.py."""
