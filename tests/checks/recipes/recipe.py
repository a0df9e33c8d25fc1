"""Follows the recipes for an operation, a data type and a GPU target in a copy of the tree, with the files of this folder.

A file `NAME` is added to the tree.  A file `NAME.edits` changes the file NAME: the lines between <<<< and ==== are replaced by the
lines up to >>>>.  Steps that need nvcc or the emulator are skipped with a message if these are missing.  Called by
tests/checks/generator.py.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from gen.toolchain import find_nvcc  # noqa: E402
from runner.targets import CPU_TARGETS, lacking_flags  # noqa: E402

EDIT = re.compile(r"<<<<\n(.*?)====\n(.*?)>>>>\n", re.S)
CFLAGS = ["-std=c11", "-O1", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-I", "include",
          "-I", "src"]
GPU_TARGET = "sm_80"


class Tree:
    """A copy of the tree in which a recipe is followed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.touched: list[str] = []

    def follow(self, recipe: str, limit: int) -> None:
        """Adds and edits the files of a recipe.  Fails if they are more than the recipe promises."""
        for source in sorted(path for path in (HERE / recipe).rglob("*") if path.is_file() and "__pycache__" not in path.parts):
            name = str(source.relative_to(HERE / recipe)).removesuffix(".edits")
            to = self.path / name
            if source.suffix == ".edits":
                to.write_text(edited(name, to.read_text(), source.read_text()))
            else:
                assert not to.exists(), f"{name} is there already"
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_text(source.read_text())
            self.touched.append(name)
        assert 0 < len(self.touched) <= limit, f"{recipe}: {len(self.touched)} files by hand, more than {limit}: {self.touched}"

    def run(self, *command: str | Path, **environment: str) -> str:
        done = subprocess.run([str(part) for part in command], cwd=self.path, capture_output=True, text=True,
                              env={**os.environ, **environment})
        assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout + done.stderr

    def gen(self, *arguments: str) -> str:
        return self.run(sys.executable, "-m", "gen", *arguments)

    def python(self, text: str) -> str:
        return self.run(sys.executable, "-c", text)

    def compile(self, source: str, out: str, *flags: str) -> str:
        (self.path / out).parent.mkdir(parents=True, exist_ok=True)
        self.run(os.environ.get("CC", "cc"), *CFLAGS, *flags, "-c", source, "-o", out)
        return out

    def edge(self, output: str) -> tuple[str, list[str]]:
        """The source and the flags of a kernel's object or PTX in generated/kernels.ninja."""
        text = (self.path / "generated/kernels.ninja").read_text()
        match = re.search(rf"^build \$builddir/{re.escape(output)}: \w+ (\S+).*\n((?:  .*\n)*)", text, re.M)
        assert match, f"generated/kernels.ninja does not make {output}"
        flags = re.search(r"^  flags = (.*)$", match[2], re.M)
        return match[1], flags[1].split() if flags else []

    def compile_kernel(self, target: str, stem: str) -> str:
        output = f"{target}/{stem}__{target}.o"
        source, flags = self.edge(output)
        return self.compile(source, f"build/{output}", *flags)

    def compile_ptx(self, target: str, stem: str) -> None:
        """PTX, cubin and fatbin of one unit, by the generator's own tools; False without nvcc."""
        source, flags = self.edge(f"{target}/{stem}.ptx")
        if source.startswith("$builddir/"):  # the PTX of another target, which the same source and flags give
            source, flags = self.edge(source.removeprefix("$builddir/"))
        (self.path / f"build/{target}").mkdir(parents=True, exist_ok=True)
        definitions = [flag.removeprefix("-D") for flag in flags]
        self.python(f"""
from pathlib import Path
from gen import spec, toolchain
target, out = spec.GPU_TARGETS[{target!r}], Path("build/{target}/{stem}")
nvcc = Path({str(find_nvcc())!r})  # of the tree itself: a copy has no .venv
toolchain.ptx(nvcc, target, Path({source!r}), out.with_suffix(".ptx"), {definitions!r})
toolchain.cubin(nvcc, target, out.with_suffix(".ptx"), out.with_suffix(".cubin"))
toolchain.fatbin(nvcc, target, out.with_suffix(".cubin"), out.with_suffix(".ptx"), out.with_suffix(".fatbin"))
""")


def edited(name: str, text: str, edits: str) -> str:
    pairs = EDIT.findall(edits)
    assert pairs, f"{name}: no edits"
    for old, new in pairs:
        assert text.count(old) == 1, f"{name}: these lines are there {text.count(old)} times:\n{old}"
        text = text.replace(old, new)
    return text


def missing_for_gpus() -> str:
    """The reason why the GPU part of a recipe cannot run here; empty: it can."""
    if find_nvcc() is None:
        return "nvcc was not found"
    return "" if (ROOT / "build/emulator/libcuda.so.1").exists() else "the emulator is not built"


# ---- an operation --------------------------------------------------------------------------------


def build_library(tree: Tree, gpu: bool) -> None:
    """Builds libquern.a with the new operation: compiles the host library, and links the tree's own kernels and the new ones."""
    targets = tree.python("from gen import plan\nprint(*[t.name for t in plan.targets() if t.kind == 'gpu'])").split()
    for target in targets:  # an empty image, as in a build without nvcc
        (tree.path / f"build/{target}").mkdir(parents=True, exist_ok=True)
        (tree.path / f"build/{target}/scale.fatbin").touch()
    if gpu:
        tree.compile_ptx(GPU_TARGET, "scale")
    hosts = sorted(str(path.relative_to(tree.path)) for path in (tree.path / "src").rglob("*.c"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda name: tree.compile(name, f"build/{name}.o"), hosts))
    objects += [tree.compile_kernel(target, "scale") for target in CPU_TARGETS]
    objects.append(tree.compile("generated/scale/table.c", "build/scale_table.o"))
    objects.append(tree.compile("generated/scale/images.S", "build/scale_images.o", "-Wa,-I,build", "-DQUERN_HAS_NVCC=1"))
    tree.run("ar", "rcs", "build/libscale.a", *objects)


def test_an_operation_takes_seven_files(path: Path) -> None:
    """By hand: a spec row, two templates, a source, the bit and prototype in quern.h, a suite with its oracle, a page of docs."""
    tree = Tree(path)
    tree.follow("operation", 7)
    tree.gen("render")
    names = tree.gen("list", "scale_*").split()
    assert f"scale_f32__{GPU_TARGET}" in names and "scale_f32__portable" in names, names
    assert f"scale_f32__{GPU_TARGET}: chosen" in tree.gen("explain", "scale", f"target={GPU_TARGET}", "dtype=f32")
    unavailable = missing_for_gpus()
    build_library(tree, not unavailable)
    tree.compile("tests/suites/test_scale.c", "build/test_scale.o", "-I", str(ROOT / "tests"))
    tree.run(os.environ.get("CC", "cc"), "build/test_scale.o", ROOT / "build/tests/harness.a", "build/libscale.a",
             ROOT / "build/kernels.a", "-lcriterion", "-lm", "-ldl", "-pthread", "-o", "build/test_scale")
    for target in CPU_TARGETS:
        if not lacking_flags(target):
            tree.run("build/test_scale", "-j1", QUERN_TEST_DEVICE="cpu", QUERN_TEST_TARGET=target)
    if unavailable:
        print(f"the operation's GPU kernel was left out: {unavailable}")
    else:
        run_on_emulator(tree)


def run_on_emulator(tree: Tree) -> None:
    """Runs the suite on an emulated device, checks the kernel's line of the audit, and runs the suite with a pack."""
    directory = tree.path / "build/emulator"
    directory.mkdir()
    tree.run(sys.executable, ROOT / "tests/emulator/translate.py", f"build/{GPU_TARGET}/scale.ptx", "-o", "build/scale.cpp")
    tree.run(os.environ.get("CXX", "c++"), "-std=c++17", "-O1", "-fPIC", "-ffp-contract=off", "-w", "-shared", "-I",
             ROOT / "tests/emulator", "build/scale.cpp", "-o", directory / f"{GPU_TARGET}.so")
    capability = tree.python(f"from gen.spec import GPU_TARGETS\nprint(GPU_TARGETS[{GPU_TARGET!r}].emulated)").strip()
    environment = {"QUERN_TEST_DEVICE": "cuda", "QUERN_TEST_TARGET": GPU_TARGET, "QUERN_EMULATOR": capability,
                   "QUERN_EMULATOR_KERNELS": str(directory), "LD_LIBRARY_PATH": str(ROOT / "build/emulator")}
    tree.run("build/test_scale", "-j1", **environment)
    tree.run(sys.executable, "-c", f"""
from pathlib import Path
from gen import pack, plan, spec
target = spec.GPU_TARGETS[{GPU_TARGET!r}]
units = plan.units("scale", [target])
fatbin = Path("build/{GPU_TARGET}/scale.fatbin").read_bytes()
Path("build/scale.qpack").write_bytes(pack.assemble(target, units, {{"scale": fatbin}}))
""")
    log = tree.path / "build/log"
    tree.run("build/test_scale", "-j1", QUERN_TEST_PACK="build/scale.qpack", QUERN_LOG=f"2:{log}", **environment)
    assert "loaded build/scale.qpack: 1 kernels" in log.read_text(), log.read_text()
    audit = tree.gen("audit")
    assert f"scale_f32__{GPU_TARGET}" in audit, audit


# ---- a data type ---------------------------------------------------------------------------------


def test_a_data_type_takes_four_files(path: Path) -> None:
    """By hand: its row, its constant in quern.h, its conversions on a CPU and on a GPU.  Then gradients can have the type."""
    tree = Tree(path)
    tree.follow("dtype", 4)
    tree.gen("render")
    assert "adam_gradient_norm_e6m9__portable" in tree.gen("list", "adam_gradient_norm_*")
    tree.compile("src/runtime/dtype.c", "build/dtype.o")
    kernel = tree.compile_kernel("portable", "gradient_norm")
    tree.run(os.environ.get("CC", "cc"), HERE / "numeric_dtype.c", kernel, "-lm", "-o", "build/numeric")
    tree.run("build/numeric")
    unavailable = missing_for_gpus()
    if unavailable:
        print(f"the data type's GPU kernel was left out: {unavailable}")
        return
    tree.compile_ptx(GPU_TARGET, "gradient_norm")
    assert "adam_gradient_norm_e6m9" in (tree.path / f"build/{GPU_TARGET}/gradient_norm.ptx").read_text()


def test_a_column_that_a_data_type_lacks_is_an_error(path: Path) -> None:
    """A template that uses the minus infinity of a type does not render if the type has none."""
    tree = Tree(path)
    text = tree.path / "templates/cross_entropy/probe.c.j2"
    text.write_text("${ dtypes['e4m3'].minus_infinity }\n")
    said = tree.python("""
from gen.render import Renderer
for text in ("cross_entropy/probe.c.j2",):
    try:
        print("rendered", Renderer()(text))
    except ValueError as error:
        print(error)
""")
    assert "a template prints None" in said, said


# ---- a GPU target --------------------------------------------------------------------------------


def test_a_target_takes_one_file(path: Path) -> None:
    """By hand: one row.  The target shares the existing sources, and the tests derive the device on which it is emulated."""
    tree = Tree(path)
    before = {path for path in (tree.path / "generated").rglob("*")}
    tree.follow("target", 1)
    tree.gen("render")
    assert {path for path in (tree.path / "generated").rglob("*")} == before, "its features are known: it needs no source"
    emulated = tree.python("from gen.spec import GPU_TARGETS\n"
                           "print(*[f'{t.name}={t.emulated}' for t in GPU_TARGETS.values()])").split()
    assert "sm_110f=11.0" in emulated and "compute_90=13.0" in emulated, emulated
    assert len({each.split("=")[1] for each in emulated}) == len(emulated), emulated
    assert "adam_pf32_gf32_mf32_vf32__sm_110f" in tree.gen("list")
    tree.compile("generated/cross_entropy/table.c", "build/table.o")


TESTS = [test for name, test in sorted(globals().items()) if name.startswith("test_")]
