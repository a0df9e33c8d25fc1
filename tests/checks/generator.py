"""Tests the generator in a copy of the tree: `gen check` finds each fault, rendering changes only what depends on an edit, and the
recipes for an operation, a data type and a target work (tests/checks/recipes/).
"""

import fnmatch
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/checks/recipes"))
import recipe  # noqa: E402

PARTS = ("gen", "templates", "bindings", "generated", "include", "src", "tests", "packaging")


def gen(tree: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-m", "gen", *arguments], cwd=tree, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def expect(status: int, text: str, got: tuple[int, str]) -> None:
    if got[0] != status or text not in got[1]:
        raise AssertionError(f"status {got[0]}, expected {status} and {text!r}:\n{got[1]}")


def contents(tree: Path) -> dict[str, bytes]:
    return {str(path.relative_to(tree)): path.read_bytes() for path in (tree / "generated").rglob("*") if path.is_file()}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    if old not in text:
        raise AssertionError(f"{path.name} has no {old!r}")
    path.write_text(text.replace(old, new, 1))


def test_checked_in_files_are_current(tree: Path) -> None:
    expect(0, "up to date", gen(tree, "check"))


def test_a_touched_file_is_stale(tree: Path) -> None:
    with (tree / "generated/adam/table.c").open("a") as file:
        file.write("\n")
    expect(1, "stale: generated/adam/table.c", gen(tree, "check"))


def test_an_orphan_is_found_and_removed(tree: Path) -> None:
    (tree / "generated/adam/old.c").write_text("")
    expect(1, "orphan: generated/adam/old.c", gen(tree, "check"))
    expect(0, "removed generated/adam/old.c", gen(tree, "render"))
    expect(0, "up to date", gen(tree, "check"))


def test_a_missing_file_is_found(tree: Path) -> None:
    (tree / "generated/cross_entropy/images.S").unlink()
    expect(1, "missing: generated/cross_entropy/images.S", gen(tree, "check"))


def test_rendering_from_nothing_gives_the_same_bytes(tree: Path) -> None:
    before = contents(tree)
    shutil.rmtree(tree / "generated")
    gen(tree, "render")
    assert contents(tree) == before


def test_a_template_renders_only_its_kernels(tree: Path) -> None:
    before = contents(tree)
    edit(tree / "templates/adam/adam.c.j2", "gradients on a CPU", "gradients on the CPU")
    gen(tree, "render")
    changed = {name for name, text in contents(tree).items() if before.get(name) != text}
    strangers = {name for name in changed if not name.startswith("generated/adam/adam_") or not name.endswith(".c")}
    assert len(changed) == 13 and strangers == {"generated/inputs.sha256"}, changed


def test_a_cpu_source_serves_all_targets(tree: Path) -> None:
    """One text is compiled for each instruction set: no source has a target in its name."""
    assert not [path for path in contents(tree) if path.endswith(".c") and "__" in path]


def test_the_layout_of_shared_memory_has_a_number(tree: Path) -> None:
    """Of two builds that disagree about it, neither joins a group of the other."""
    def number() -> bytes:
        gen(tree, "render")
        return contents(tree)["generated/layout.h"]

    before = number()
    edit(tree / "src/ranks/segment.h", "The segment: the shared", "The segment: the common")
    assert number() == before, "a comment counts"
    edit(tree / "src/kernels/collective.h", "QUERN_RANK_LIMIT = 128", "QUERN_RANK_LIMIT = 129")
    changed = number()
    edit(tree / "src/ranks/segment.h", "QUERN_MAILBOX_BYTES = 1024", "QUERN_MAILBOX_BYTES = 1025")
    assert len({before, changed, number()}) == 3, "a change of a header does not count"


def test_a_new_source_belongs_to_the_build(tree: Path) -> None:
    (tree / "src/os/new.c").write_text("")
    expect(1, "stale: generated/host.ninja", gen(tree, "check"))


def test_a_new_suite_belongs_to_the_tests(tree: Path) -> None:
    (tree / "tests/suites/test_new.c").write_text("")
    expect(1, "stale: generated/tests.ninja", gen(tree, "check"))


def test_a_misspelt_name_in_a_template_is_an_error(tree: Path) -> None:
    edit(tree / "templates/adam/adam.c.j2", "kernel.base_name", "kernal.base_name")
    status, output = gen(tree, "render")
    assert status != 0 and "undefined" in output, output


def test_names_are_unique_and_listed(tree: Path) -> None:
    status, output = gen(tree, "list")
    names = output.split()
    assert status == 0 and len(names) == len(set(names)) > 700, len(names)
    assert all("__" in name for name in names)
    expect(1, "no kernel matches", gen(tree, "list", "nothing*"))


def test_kernels_are_added_by_name(tree: Path) -> None:
    name = "adam_pbf16_gf16_mbf16_vf32_master32"
    request = ("explain", "adam", "target=sm_90a", "param=bf16", "grad=f16", "m=bf16", "v=f32", "master=f32")
    before = contents(tree)
    expect(1, f"./quern gen add {name} adds one", gen(tree, *request))
    expect(0, f"added {name}", gen(tree, "add", f"{name}__sm_80", name))
    expect(0, "up to date", gen(tree, "check"))
    after = contents(tree)
    assert f" {name}, ".encode() in after["generated/adam/rows_cpu.h"]
    assert {path for path in after if path not in before} >= {"generated/adam/adam_pbf16_gf16.c"}
    expect(0, f"{name}__sm_90a: chosen", gen(tree, *request))
    expect(0, "is there already", gen(tree, "add", name))
    expect(0, "is there already", gen(tree, "add", "adam_pf32_gf32_mf32_vf32"))
    assert contents(tree) == after
    (tree / "gen/added_kernels.txt").write_text("")
    gen(tree, "render")
    assert {path for path, text in contents(tree).items() if before.get(path) != text} == {"generated/inputs.sha256"}


def test_a_kernel_that_cannot_exist_is_not_added(tree: Path) -> None:
    before = (tree / "gen/added_kernels.txt").read_text()
    expect(2, "no step kernel of Adam has that name", gen(tree, "add", "adam_pbf16"))
    expect(2, "no step kernel of Adam has that name", gen(tree, "add", "adam_gradient_norm_f32"))
    expect(2, "only bf16 and its remainder", gen(tree, "add", "adam_pf32_gf32_mf32_vf32_remainder"))
    expect(2, "would hold the same values twice", gen(tree, "add", "adam_pf32_gf32_mf32_vf32_master32_full"))
    expect(2, "only a full kernel knows scales", gen(tree, "add", "adam_pf32_gf32_mf16_vf16"))
    expect(2, "it must be one of", gen(tree, "add", "adam_pe4m3_gf32_mf32_vf32"))
    expect(2, "no target has the name 'avx9'", gen(tree, "add", "adam_pbf16_gf16_mbf16_vbf16__avx9"))
    assert (tree / "gen/added_kernels.txt").read_text() == before


def test_a_new_generation_is_one_row(tree: Path) -> None:
    """One flag makes sm_121 part of the library.  It shares the existing sources."""
    before = contents(tree)
    edit(tree / "gen/spec.py", ', "sm_120f", in_library=False, driver=12090)', ', "sm_120f", driver=12090)')
    gen(tree, "render")
    after = contents(tree)
    assert set(after) == set(before), "a generation whose features are known needs no source of its own"
    assert b"#define TARGET sm_121\n" in after["generated/targets.h"]
    assert "adam_pbf16_gbf16_mbf16_vbf16__sm_121" in gen(tree, "list")[1]
    expect(0, "sm_121: chosen", gen(tree, "explain", "adam", "target=sm_121", "param=f32", "grad=f32", "m=f32", "v=f32"))


NOT_COMPARED = "no problem was measured with two rows of the same bits"
SLOW, FAST, OTHER = (f"adam_pf32_gf32_mf32_vf32__{target}" for target in ("avx512", "avx2", "portable"))


def call_of(kernel: str, nanoseconds: int, **changes: object) -> dict:
    """A line of a dump's index: one call with one kernel."""
    launch = {"kernel": kernel, "digest": kernel[-1] * 64, "task": 0, "bits": "exact", "threads": 2, "nanoseconds": nanoseconds}
    call = {"sequence": 0, "step": 1, "operation": "adam", "device": "cpu", "device_name": "a CPU", "launches": [launch],
            "arguments": {"param_dtype": "f32", "tensor_count": 1, "step": 1, "lr": 0.001}, "status": "QUERN_OK",
            "tensors": [{"name": "grad.0", "access": "in", "dtype": "F32", "shape": [700]}]}
    launch.update({name: changes.pop(name) for name in list(changes) if name in launch or name == "grid"})
    call["arguments"] = {**call["arguments"], **changes.pop("arguments", {})}
    return {**call, **changes}


def prefer(tree: Path, *profiles: list[dict] | str) -> tuple[int, str, str]:
    """The status, what is printed, and the file."""
    output = tree / "preferred"
    output.unlink(missing_ok=True)
    for number, profile in enumerate(profiles):
        (tree / f"run{number}").mkdir(exist_ok=True)
        text = profile if isinstance(profile, str) else "".join(json.dumps(line) + "\n" for line in profile)
        (tree / f"run{number}/index.jsonl").write_text(text)
    status, text = gen(tree, "prefer", *(str(tree / f"run{number}") for number in range(len(profiles))), "-o", str(output))
    return status, text, output.read_text() if output.exists() else ""


def test_the_faster_row_is_preferred(tree: Path) -> None:
    """By the sum over problems of the median of each row; a step number and a learning rate make no other problem."""
    large = {"arguments": {"tensor_count": 2}}
    slow = [call_of(SLOW, time) for time in (900, 1000, 5000)] + [call_of(SLOW, 10000, **large)]
    fast = [call_of(FAST, time, arguments={"step": 2, "lr": 1}) for time in (1100, 1200, 100)] + [call_of(FAST, 7900, **large)]
    status, text, file = prefer(tree, slow, fast)
    line = (f"adam on a CPU: {FAST} takes 9.0 us, 18.2 % less than {SLOW}; 2 problems, 1 or more measurements of each row")
    assert status == 0 and line in text, (status, text)
    assert file == f"quern preferred rows 1\n# {line}\n{FAST} {'2' * 64}\nend 1\n", file
    status, _, file = prefer(tree, [*slow, *fast, call_of(SLOW, 1, status="QUERN_SYSTEM_ERROR")])
    assert status == 0 and f"\n{FAST} " in file, "one dump with both rows, and a call that failed"
    launches = [*call_of(FAST, 600)["launches"], *call_of(FAST, 600)["launches"]]
    status, _, file = prefer(tree, [call_of(SLOW, 1000)], [call_of(FAST, 0, launches=launches)])
    assert status == 0 and f"\n{SLOW} " in file, "the launches of a call are added"


def test_rows_that_are_not_compared(tree: Path) -> None:
    one = [call_of(SLOW, 1000)]
    for other, why in (
        (one, f"no problem was measured with two rows of the same bits; the rows are {SLOW}\n"),
        ([call_of(FAST, 1, bits="avx2")], f"adam on a CPU: the bits would change among {FAST}, {SLOW}\n"),
        ([call_of(FAST, 1, task=3)], NOT_COMPARED),
        ([call_of(FAST, 1, threads=1)], NOT_COMPARED),
        ([call_of(FAST, 1, device_name="another CPU")], f"adam on another CPU: {NOT_COMPARED}"),
        ([call_of(FAST, 1, arguments={"tensor_count": 2})], NOT_COMPARED),
        ([call_of(FAST, 1, arguments={"param_dtype": "bf16"})], NOT_COMPARED),
        ([call_of(FAST, 1, tensors=[])], NOT_COMPARED),
        ([call_of(FAST, 1, launches=[{"kernel": FAST, "grid": [1, 1, 1]}])], NOT_COMPARED),
        ([call_of(FAST, 1000)], f"{FAST} and {SLOW} take the same time"),
        ([call_of(FAST, 1), *(call_of(row, 1, arguments={"tensor_count": 2}) for row in (FAST, OTHER))],
         f"the problems were measured with other rows each: expected the same of {FAST}, {SLOW}, {OTHER}"),
    ):
        status, text, file = prefer(tree, one, other)
        assert status == 1 and why in text and "no row can be preferred" in text and not file, (status, why, text)


def test_profiles_that_cannot_be_read(tree: Path) -> None:
    old = call_of(SLOW, 1)
    del old["launches"]
    own = [call_of(row, 1) for row in (SLOW, FAST)]
    for call in own:
        del call["launches"][0]["bits"]
    assert f"the bits would change among {FAST}, {SLOW}" in prefer(tree, own)[1]
    for profile, why in (([old], "run0/index.jsonl:1: expected a call with its launches"), ("[", "expected the folder of a dump"),
                         ("[1]\n", "index.jsonl:1: expected a call"), ("[" * 100000, "expected the folder of a dump"),
                         ([call_of(SLOW, 1, arguments={}, tensors=None)], "expected the keys of a dump")):
        status, text, file = prefer(tree, profile)
        assert status == 2 and why in text and "Traceback" not in text and not file, (status, why, text)
    expect(2, "No such file", gen(tree, "prefer", str(tree / "none")))


def copy(source: Path, to: Path) -> None:
    """A file or folder of the tree, without what is built."""
    ignored = shutil.ignore_patterns("__pycache__")
    if source.is_dir() and source.name not in (".git", ".venv", "build"):
        shutil.copytree(source, to, ignore=ignored, symlinks=True)
    elif source.is_file() and source.name != ".git":
        shutil.copy2(source, to)


def main() -> int:
    tests: list[Callable[[Path], None]] = [test for name, test in sorted(globals().items()) if name.startswith("test_")]
    tests += recipe.TESTS
    chosen = sys.argv[1:] or ["*"]
    tests = [test for test in tests if any(fnmatch.fnmatchcase(test.__name__, glob) for glob in chosen)]
    failed = 0
    for test in tests:
        with tempfile.TemporaryDirectory() as directory:
            for part in sorted(path.name for path in ROOT.iterdir()) if test in recipe.TESTS else PARTS:
                copy(ROOT / part, Path(directory) / part)
            try:
                test(Path(directory))
            except AssertionError as error:
                print(f"{test.__name__}: {error}")
                failed += 1
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
