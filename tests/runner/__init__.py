"""The parts of the test runner.  tests/run.py is its entry point."""
