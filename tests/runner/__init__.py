"""The runner of all tests, in parts: tests/run.py is its door."""
