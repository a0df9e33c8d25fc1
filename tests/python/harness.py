"""Runs the functions test_* of a module and prints `N passed, N failed, N skipped`.  For the tests of the Python package, which run
in environments that have nothing else installed.
"""
import fnmatch
import re
import sys
import traceback
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/python.md"


class Skip(Exception):
    """Raised by a test that cannot run here; the text says why."""


def raises(kind: type, text: str, call, *arguments, **options) -> Exception:
    """The call must raise such an exception, whose text has this part."""
    try:
        call(*arguments, **options)
    except kind as failure:
        assert text in str(failure), f"expected {text!r} in {failure}"
        return failure
    raise AssertionError(f"expected {kind.__name__} with {text!r}")


def run_snippets(module: str, most: int) -> None:
    """Runs the document's blocks of Python that import this module, each by itself; there must be so many."""
    blocks = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)
    chosen = [block for block in blocks if re.search(rf"^import (.*, )?{re.escape(module)}$", block, re.MULTILINE)]
    assert len(chosen) == most, f"{len(chosen)} blocks import {module}: expected {most}"
    for block in chosen:
        exec(compile(block, f"{DOCUMENT.name}, {module}", "exec"), {})


def main(module) -> int:
    wanted = sys.argv[1] if len(sys.argv) > 1 else "*"
    passed = failed = skipped = 0
    for name, function in list(vars(module).items()):
        if not name.startswith("test_") or not fnmatch.fnmatch(name, wanted):
            continue
        try:
            function()
            passed += 1
        except Skip as reason:
            skipped += 1
            print(f"{name}: skipped: {reason}")
        except Exception:
            failed += 1
            print(f"{name}:\n{traceback.format_exc()}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0
