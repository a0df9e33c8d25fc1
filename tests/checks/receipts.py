"""Tests receipts (gen/receipts.py): what is computed again, what is kept, and what a hash depends on.

Called by tests/run.py.  The last line is `N passed, N failed`.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from checks import cases  # noqa: E402
from checks.cases import expect  # noqa: E402
from gen import measured, receipts, toolchain  # noqa: E402
from gen.receipts import Settled, Unit  # noqa: E402

ONE, TWO = Unit("one", "a"), Unit("two", "b")


class Ledger:
    """A file of receipts of the test's own, and what was computed."""

    def __init__(self, folder: Path) -> None:
        self.file, self.asked = folder / "receipts.json", list[str]()

    def settle(self, units: list[Unit], results: dict[str, object] | None, everything: bool = False,
               group: str = "group") -> Settled:
        """results: what computing gives; None: nothing can be computed."""
        def compute(due: list[Unit]) -> dict[str, object]:
            self.asked = [unit.name for unit in due]
            return {name: result for name, result in (results or {}).items() if name in self.asked}

        self.asked = []
        with mock.patch.object(receipts, "FILE", self.file):
            return receipts.settle(group, units, None if results is None else compute, everything)

    @property
    def kept(self) -> dict[str, str]:
        """The inputs and results of the group, as text."""
        entries = json.loads(self.file.read_text())["group"]
        return {name: f"{entry['inputs']} {entry['result']}" for name, entry in entries.items()}


def call(test: Callable) -> None:
    with tempfile.TemporaryDirectory() as folder:
        test(Ledger(Path(folder)))


def test_a_receipt_spares_the_computation(ledger: Ledger) -> None:
    for asked in (["one", "two"], []):
        settled = ledger.settle([ONE, TWO], {"one": 1, "two": {"states": 2}})
        expect((ledger.asked, settled.results, settled.computed), (asked, {"one": 1, "two": {"states": 2}}, asked))
    expect(ledger.kept, {"one": "a 1", "two": "b {'states': 2}"})


def test_changed_inputs_are_computed_again(ledger: Ledger) -> None:
    ledger.settle([ONE, TWO], {"one": 1, "two": 2})
    settled = ledger.settle([Unit("one", "c"), TWO], {"one": 3, "two": 4})
    expect((ledger.asked, settled.results, settled.faults), (["one"], {"one": 3, "two": 2}, []))
    expect(ledger.kept, {"one": "c 3", "two": "b 2"})


def test_everything_is_computed_again_and_compared(ledger: Ledger) -> None:
    ledger.settle([ONE, TWO], {"one": {"4": 1}, "two": 2})
    expect(ledger.settle([ONE, TWO], {"one": {4: 1}, "two": 2}, everything=True).faults, [])
    settled = ledger.settle([ONE, TWO], {"one": {4: 1}, "two": 3}, everything=True)
    expect(ledger.asked, ["one", "two"])
    expect(settled.faults, ["group, two: the receipt says 2, and now the same inputs give 3"])
    expect(ledger.kept["two"], "b 3")


def test_what_fails_has_no_receipt(ledger: Ledger) -> None:
    ledger.settle([ONE, TWO], {"one": 1, "two": 2})
    settled = ledger.settle([ONE, TWO], {"one": None, "two": 2}, everything=True)
    expect((settled.missing, settled.results, ledger.kept), (["one"], {"two": 2}, {"two": "b 2"}))
    # A receipt for other inputs is still right for them.
    settled = ledger.settle([ONE, Unit("two", "c")], {"one": 1, "two": None})
    expect((settled.missing, settled.results, ledger.kept), (["two"], {"one": 1}, {"one": "a 1", "two": "b 2"}))


def test_what_was_not_tried_keeps_its_receipt(ledger: Ledger) -> None:
    ledger.settle([ONE, TWO], {"one": 1, "two": 2})
    settled = ledger.settle([ONE, TWO], {}, everything=True)
    expect((settled.results, settled.computed, ledger.kept), ({"one": 1, "two": 2}, [], {"one": "a 1", "two": "b 2"}))
    for results in ({}, None):
        settled = ledger.settle([Unit("one", "c"), TWO], results)
        expect((settled.missing, settled.results, ledger.kept), (["one"], {"two": 2}, {"one": "a 1", "two": "b 2"}))


def test_what_cannot_be_computed_here_is_missing(ledger: Ledger) -> None:
    settled = ledger.settle([ONE], None, everything=True)
    expect((settled.missing, settled.results, ledger.file.exists()), (["one"], {}, False))
    ledger.settle([ONE], {"one": 1})
    expect(ledger.settle([ONE], None, everything=True).missing, [])


def test_the_receipt_of_what_is_gone_goes(ledger: Ledger) -> None:
    ledger.settle([ONE, TWO], {"one": 1, "two": 2})
    ledger.settle([ONE, TWO], {"one": 1, "two": 2}, group="another")
    ledger.settle([TWO], {})
    expect(ledger.kept, {"two": "b 2"})
    expect(ledger.settle([ONE, TWO], None, group="another").results, {"one": 1, "two": 2})


def test_many_write_at_a_time(ledger: Ledger) -> None:
    """A group of each, one after the other, and none is lost."""
    ledger.file.write_text("{}")
    with ThreadPoolExecutor(4) as pool, mock.patch.object(receipts, "FILE", ledger.file):
        list(pool.map(lambda number: receipts.settle(f"group {number}", [ONE], lambda due: {"one": 1}), range(40)))
    expect(len(json.loads(ledger.file.read_text())), 40)


def test_a_file_counts_with_all_that_it_includes(ledger: Ledger) -> None:
    names = ("a.pml", "b.pml", "c.pml")
    for name, below in zip(names, (*names[1:], "")):
        (ledger.file.parent / name).write_text(f'  #  include "{below}"\nint {name[0]};\n' if below else "int c;\n")

    def digest() -> str:
        for cached in (receipts.closure, receipts.code_of, receipts._hash_of):
            cached.cache_clear()
        return receipts.digest(ledger.file.parent / names[0])

    digests = [digest(), digest()]
    for name in names:
        with (ledger.file.parent / name).open("a") as file:
            file.write("int d;\n")
        digests.append(digest())
    expect([digests.index(each) for each in digests], [0, 0, 2, 3, 4])
    (ledger.file.parent / names[2]).unlink()
    try:
        digest()
    except FileNotFoundError:
        return
    raise AssertionError("a file that is included and does not exist")


def test_the_parts_of_a_hash_do_not_run_together(ledger: Ledger) -> None:
    parts = (("ab", "c"), ("a", "bc"), ("abc",), ("a", "b", "c"))
    expect(len({receipts.digest(*each) for each in parts}), len(parts))


def test_a_set_has_no_hash(ledger: Ledger) -> None:
    try:
        receipts.digest("text", frozenset({"one", "two"}))
    except TypeError:
        return
    raise AssertionError("the hash of a set is another one in each process")


def test_images_depend_on_headers_flags_and_the_compiler(ledger: Ledger) -> None:
    """Those of a target that has its PTX from another one, too."""
    def changes() -> set[str]:
        measured.units.cache_clear()
        return {unit.name for unit in measured.units() if before[unit.name] != unit.inputs}

    before = {unit.name: unit.inputs for unit in measured.units()}
    every, real = set(before), receipts._hash_of
    of_barrier = {name for name in every if name.endswith("/barrier")}

    def with_another_barrier(file: Path) -> str:
        return real(file) + " changed" * (ROOT / "src/kernels/cuda/barrier.cuh" in receipts.closure(file))

    with mock.patch.object(receipts, "_hash_of", with_another_barrier):
        touched = changes()
        expect((of_barrier <= touched, bool(touched - of_barrier), touched == every), (True, True, False))
    sources, one = measured.sources(), "sm_90a/barrier"
    for change in ({"flags": "-DQUERN_CLUSTERS=0"}, {"target": "sm_80"}, {"file": "generated/adam/gradient_norm.cu"}):
        with mock.patch.object(measured, "sources", lambda: {**sources, one: sources[one]._replace(**change)}):
            expect(changes(), {one})
    tools = (("13.1.0", "12.9.86"), ("13.0.88", "12.8.93"))
    for name, value in (("NVCC_FLAGS", ["-O2"]), *(("pinned_versions", lambda each=each: each) for each in tools)):
        with mock.patch.object(toolchain, name, value):
            expect(changes(), every)
    expect(changes(), set())


def test_comments_and_public_functions_are_no_code(ledger: Ledger) -> None:
    """Of host code, whose receipts a new function would make stale."""
    texts = ("struct s { int a; };\n#define ONE 1\nint b;\n",
             "/* A comment. */\nstruct s { int a; };\nQUERN_API int\n f(int);\n#define ONE 1\nQUERN_API void g(void);\nint b;\n",
             "struct s { int a, c; };\n#define ONE 1\nint b;\n")
    codes = []
    for number, text in enumerate(texts):
        path = ledger.file.parent / f"{number}.h"
        path.write_text(text)
        codes.append(receipts.code_of(path))
    expect((codes[1] == codes[0], codes[2] == codes[0]), (True, False))


def test_machine_code_does_not_depend_on_the_public_header(ledger: Ledger) -> None:
    """Each new type there would make the receipts of all images stale."""
    files = {ROOT / source.file for source in measured.sources().values()}
    expect((bool(files), [file.name for file in files if ROOT / "include/quern.h" in receipts.closure(file)]), (True, []))


def test_other_tools_measure_nothing(ledger: Ledger) -> None:
    """It is said in a word, and fails nothing."""
    others = "12.9.86, ptxas 12.4.99"
    with mock.patch.object(receipts, "FILE", ledger.file), mock.patch.object(toolchain, "tools", lambda: others):
        found = measured.measured()
        expect((found.images, found.faults, len(found.skipped)), ({}, [], len(measured.units())))
        expect(found.skipped[0].partition(": ")[2], f"measured with nvcc {toolchain.pinned_tools()} only: here is {others}")
    with mock.patch.object(toolchain, "tools", lambda: others):
        found = measured.measured()
        expect((len(found.images) + len(found.skipped), found.faults), (len(measured.units()), []))


if __name__ == "__main__":
    sys.exit(cases.run(globals(), call))
