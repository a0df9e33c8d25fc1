"""Systematic mutants of the sources and templates, and the tests that judge them.  Called by tests/mutate.py."""
