"""Follows the recipes for an operation, a data type and a target in a copy of the tree, with the files of this folder, compiles
all that depends on them for every CPU target, and runs the quick checks of the copy.

A file `NAME` is added to the tree.  A file `NAME.edits` changes the file NAME: the lines between <<<< and ==== are replaced by the
lines up to >>>>.  Steps that need nvcc or the emulator are skipped with a message if these are missing.  Called by
tests/checks/generator.py.
"""

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
CFLAGS = ["-std=c11", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-I", "include",
          "-I", "src"]
OF_TESTS = ("-D_GNU_SOURCE=", "-I", "tests")
GPU_TARGET = "sm_80"
TESTS_OF_HEADER = ("tests/harness", "tests/header", "tests/fields", "tests/oracle", "tests/fuzz")
# Of the tree itself: `ninja` makes them.
HARNESS, TABLES, KERNELS = (ROOT / "build" / name for name in ("tests/harness.a", "light/tables.a", "light/kernels.a"))


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

    def sources(self, *folders: str) -> list[str]:
        return sorted(str(path.relative_to(self.path)) for folder in folders for path in (self.path / folder).rglob("*.c"))

    def look_at(self, sources: list[str], *flags: str) -> None:
        """Compiles sources to nothing, twenty at a time: an error is all that counts."""
        parts = [sources[first:first + 20] for first in range(0, len(sources), 20)]
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(lambda part: self.run(os.environ.get("CC", "cc"), *CFLAGS, *flags, "-fsyntax-only", *part), parts))

    def compile_all_kernels(self) -> None:
        """Every kernel source for every CPU target, and the tables."""
        text = (self.path / "generated/kernels.ninja").read_text()
        found: dict[str, list[str]] = {}
        for source, flags in re.findall(r"^build \S+: cc_kernel (\S+).*\n  flags = (.*)\n", text, re.M):
            found.setdefault(flags, []).append(source)
        counts = {flags: len(sources) for flags, sources in found.items()}
        assert len(counts) == len(CPU_TARGETS) and len(set(counts.values())) == 1, counts
        (self.path / "build").mkdir(exist_ok=True)
        (self.path / "build/intrinsics.h").write_text("#include <immintrin.h>\n")
        for flags, sources in found.items():
            own = flags.split()
            if any(flag.startswith("-m") for flag in own):  # most of what these sources include, once for all of them
                self.run(os.environ.get("CC", "cc"), *CFLAGS, *own, "-x", "c-header", "build/intrinsics.h", "-o",
                         "build/intrinsics.h.gch")
                own += ["-include", "build/intrinsics.h"]
            self.look_at(sources, *own)
        self.look_at([name for name in self.sources("generated") if name.endswith("/table.c")])

    def check(self) -> None:
        """All quick checks of the copy.  Pictures that follow from tables are drawn first."""
        self.run(sys.executable, "docs/architecture.py")
        self.gen("check")
        for check in ("rooms.py", "header.py", "docs.py", "style.py"):
            self.run(sys.executable, f"tests/checks/{check}")
        self.run(sys.executable, "tests/run.py", "--list")

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
        """PTX, cubin and packed image of an operation of one unit, by the generator's own tools; False without nvcc."""
        source, flags = self.edge(f"{target}/{stem}.ptx")
        if source.startswith("$builddir/"):  # the PTX of another target, which the same source and flags give
            source, flags = self.edge(source.removeprefix("$builddir/"))
        (self.path / f"build/{target}").mkdir(parents=True, exist_ok=True)
        definitions = [flag.removeprefix("-D") for flag in flags]
        self.python(f"""
from pathlib import Path
from gen import images, spec, toolchain
target, out = spec.GPU_TARGETS[{target!r}], Path("build/{target}/{stem}")
nvcc = Path({str(find_nvcc())!r})  # of the tree itself: a copy has no .venv, and so no other ptxas
toolchain.ptx(nvcc, target, Path({source!r}), out.with_suffix(".ptx"), {definitions!r})
toolchain.cubin(nvcc, None, target, out.with_suffix(".ptx"), out.with_suffix(".cubin"))
images.wrap(nvcc, target, out.with_suffix(".cubin"), out.with_suffix(".ptx"), out.with_suffix(".fatbin"))
out.with_suffix(".packed").write_bytes(images.pack({{out.name: out.with_suffix(".fatbin").read_bytes()}}))
""")


def edited(name: str, text: str, edits: str) -> str:
    pairs = EDIT.findall(edits)
    assert pairs, f"{name}: no edits"
    for old, new in pairs:
        assert text.count(old) == 1, f"{name}: these lines are there {text.count(old)} times:\n{old}"
        text = text.replace(old, new)
    return text


def cpu_targets() -> list[str]:
    """Those that this machine can run."""
    features = Path("/proc/cpuinfo").read_text().split()
    needed = {"avx512": "avx512bw", "avx2": "avx2", "portable": features[0]}
    return [target for target, feature in needed.items() if feature in features]


def missing_for_gpus() -> str:
    """The reason why the GPU part of a recipe cannot run here; empty: it can."""
    if find_nvcc() is None:
        return "nvcc was not found"
    return "" if (ROOT / "build/emulator/libcuda.so.1").exists() else "the emulator is not built"


# ---- an operation --------------------------------------------------------------------------------


def build_library(tree: Tree, gpu: bool) -> None:
    """Builds libquern.a with the new operation: compiles the host library, and links the tree's own kernels and the new ones."""
    targets = tree.python("from gen import plan\nprint(*[t.name for t in plan.targets() if t.kind == 'gpu'])").split()
    for target in targets:  # no packed images, as in a build without nvcc
        (tree.path / f"build/{target}").mkdir(parents=True, exist_ok=True)
        (tree.path / f"build/{target}/scale.packed").touch()
    if gpu:
        tree.compile_ptx(GPU_TARGET, "scale")
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        objects = list(pool.map(lambda name: tree.compile(name, f"build/{name}.o"), tree.sources("src")))
    objects += [tree.compile_kernel(target, "scale") for target in ("avx512", "avx2", "portable")]
    objects.append(tree.compile("generated/scale/table.c", "build/scale_table.o"))
    objects.append(tree.compile("generated/build_info.c", "build/build_info.o", "-include", f"{ROOT}/build/nvcc.h", "-include",
                                f"{ROOT}/build/nvcc_version.h"))
    objects.append(tree.compile("generated/scale/images.S", "build/scale_images.o", "-Wa,-I,build", "-DQUERN_HAS_NVCC=1"))
    tree.run("ar", "rcs", "build/libscale.a", *objects)


def test_an_operation_takes_eleven_files(path: Path) -> None:
    """By hand: a spec row, two templates, a source, the bit and prototype in quern.h, a suite with its oracle, a page of docs and a
    link to it, a room, the extents of pointers and the values of the fuzzer."""
    tree = Tree(path)
    tree.follow("operation", 11)
    tree.gen("render")
    names = tree.gen("list", "scale_*").split()
    assert f"scale_f32__{GPU_TARGET}" in names and "scale_f32__portable" in names, names
    assert f"scale_f32__{GPU_TARGET}: chosen" in tree.gen("explain", "scale", f"target={GPU_TARGET}", "dtype=f32")
    tree.check()
    tree.look_at([*tree.sources(*TESTS_OF_HEADER), "tests/suites/test_structs.c"], *OF_TESTS)
    for needed in (HARNESS, TABLES, KERNELS):
        assert needed.exists(), f"ninja {needed.relative_to(ROOT)} makes what this test links"
    unavailable = missing_for_gpus()
    build_library(tree, not unavailable)
    tree.compile("tests/suites/test_scale.c", "build/test_scale.o", *OF_TESTS)
    tree.run(os.environ.get("CC", "cc"), "build/test_scale.o", HARNESS, "build/libscale.a", TABLES, KERNELS, "-lcriterion", "-lm",
             "-ldl", "-pthread", "-o", "build/test_scale")
    for target in cpu_targets():
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


def test_a_data_type_takes_two_files(path: Path) -> None:
    """By hand: its row and its constant in quern.h.  Then logits, parameters, gradients, moments and copies can have it."""
    tree = Tree(path)
    tree.follow("dtype", 2)
    tree.gen("render")
    for name in ("adam_gradient_norm_e6m9", "cross_entropy_e6m9", "quantize_e6m9_e4m3", "collective_e6m9"):
        assert f"{name}__portable" in tree.gen("list", f"{name}*"), name
    tree.gen("add", "adam_pe6m9_ge6m9_me6m9_ve6m9_full")
    tree.check()
    tree.look_at(tree.sources("src"))
    tree.compile_all_kernels()
    tree.look_at(tree.sources(*TESTS_OF_HEADER), *OF_TESTS)
    for target in cpu_targets():
        kernel = tree.compile_kernel(target, "gradient_norm")
        sources = ("tests/checks/recipes/numeric_dtype.c", "src/runtime/storage.c", "src/runtime/look.c", "tests/oracle/dtype.c")
        tree.run(os.environ.get("CC", "cc"), *CFLAGS, "-fsanitize=address,undefined", f"-DQUERN_TARGET={target}", *OF_TESTS,
                 *sources, kernel, "-lm", "-o", "build/numeric")
        tree.run("build/numeric")
    if find_nvcc() is None:
        print("the data type's GPU kernels were left out: nvcc was not found")
        return
    tree.compile_ptx(GPU_TARGET, "collective_combine")
    assert "collective_e6m9" in (tree.path / f"build/{GPU_TARGET}/collective_combine.ptx").read_text()


def test_formats_have_the_values_of_their_definition(path: Path) -> None:
    """The conversions that a new data type gets, of every CPU target and of GPUs, for each number of exponent bits."""
    tree = Tree(path)
    (tree.path / "build").mkdir()
    flags = {target: tree.edge(f"{target}/gradient_norm__{target}.o")[1] for target in cpu_targets()}
    for target, own in flags.items():  # gcc's -O1 leaves the upper halves of vectors dirty, and each call of libm is slow
        tree.run(os.environ.get("CC", "cc"), *CFLAGS, "-O2", *own, "tests/checks/recipes/formats.c", "-lm", "-o", "build/formats")
        tree.run("build/formats")
    tree.run(os.environ.get("CXX", "c++"), "-std=c++17", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror",
             "-Wno-unknown-pragmas", "-I", "include", "-I", "src", "tests/checks/recipes/formats.cpp", "-o", "build/formats")
    tree.run("build/formats")


def test_a_format_without_conversions_is_refused(path: Path) -> None:
    """8 bits, scales or another range need a text of their own."""
    tree = Tree(path)
    said = tree.python("""
from gen.spec import Dtype
for row in ({"bits": 8, "exponent": 3}, {"bits": 16, "exponent": 8}, {"bits": 16, "exponent": 1},
            {"bits": 16, "exponent": 6, "is_scaled": True}, {"bits": 16, "exponent": 6, "has_infinity": False}):
    try:
        print("took", Dtype("new", 9, **row))
    except ValueError as error:
        print(error)
""")
    assert said.count("another type needs its own text") == 5, said


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


# ---- a CPU target ----


def test_a_cpu_target_takes_five_files(path: Path) -> None:
    """By hand: its row, and, as no other target requires these instructions, their bit, how it is read, and two rows of tests."""
    tree = Tree(path)
    tree.follow("cpu_target", 5)
    tree.gen("render")
    tree.check()
    jobs = tree.run(sys.executable, "tests/run.py", "--list")
    assert ("cpu avx512_bmi2" in jobs) == ("avx512" in cpu_targets()), "a target has jobs where the machine runs it, and only there"
    assert "adam_pf32_gf32_mf32_vf32__avx512_bmi2: chosen" in tree.gen("explain", "adam", "target=avx512_bmi2", "param=f32",
                                                                       "grad=f32", "m=f32", "v=f32")
    tree.look_at([*tree.sources("src"), "tests/suites/test_cpu_features.c"], *OF_TESTS)
    kernels = [tree.compile_kernel(target, "gradient_norm") for target in ("avx512_bmi2", "avx512")]
    plain, other = ((tree.path / kernel).read_bytes() for kernel in kernels)
    assert b"__avx512_bmi2" in plain and b"__avx512_bmi2" not in other


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
    tree.run(sys.executable, "tests/run.py", "--list")
    tree.compile("generated/cross_entropy/table.c", "build/table.o")


TESTS = [test for name, test in sorted(globals().items()) if name.startswith("test_")]
