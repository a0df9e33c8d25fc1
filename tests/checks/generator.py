"""Tests the generator in a copy of the tree: `gen check` finds each fault, rendering changes only what depends on an edit, and the
recipes for an operation, a data type and a target work (tests/checks/recipes/).
"""

import fnmatch
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
