"""The build file of the suites and the benchmarks for one GPU: with the kernels of its target and of the CPU's, and no others.

Its edges are those of the tree's own build, with another libquern.a; objects are taken from there.  Called by command.py.
"""

import re
from pathlib import Path

from gen.selection import Selection
from gen.spec import ARCHITECTURES, cpu_targets

ROOT = Path(__file__).resolve().parents[2]
EDGE = re.compile(r"^build (\S+): (\w+) (.*)\n((?:  .*\n)*)", re.MULTILINE)
LOOPS = "build/bench/stream.ptx"


def _edges(path: str) -> dict[str, re.Match]:
    """By output."""
    joined = re.sub(r" *\$\n *", " ", (ROOT / path).read_text())
    return {found[1]: found for found in EDGE.finditer(joined)}


def _edge(output: str, rule: str, inputs: str, variables: str = "") -> str:
    return f"build {output}: {rule} {inputs}\n{variables}"


def _suite(edge: re.Match, folder: str, has_criterion: bool) -> str:
    name = edge[1].rpartition("/")[2]
    inputs, variables = edge[3].replace("libquern.a", f"{folder}/libquern.a"), edge[4]
    if not has_criterion:
        inputs = inputs.replace("$builddir/tests/", f"{folder}/tests/") + f" | {folder}/tests/libcriterion.a"
        flags = "".join(re.findall(r"wrapped = (.*)\n", variables))
        variables = f"  wrapped = {flags} -L{folder}/tests\n"
    return _edge(f"{folder}/tests/{name}", edge[2], inputs, variables)


def _stand_in(edges: dict[str, re.Match], folder: str) -> list[str]:
    """What the suites are made of once more, with tests/musl in place of Criterion."""
    flags = "  test_cflags = $test_cflags -I tests/musl\n"
    lines = [_edge(f"{folder}/tests/criterion.o", "test_cc", "tests/musl/criterion.c", flags),
             _edge(f"{folder}/tests/libcriterion.a", "archive", f"{folder}/tests/criterion.o")]
    for output, edge in edges.items():
        if output.startswith("$builddir/tests/") and edge[2] in ("test_cc", "archive"):
            mine, inputs = (text.replace("$builddir/tests/", f"{folder}/tests/") for text in (output, edge[3]))
            lines.append(_edge(mine, edge[2], inputs, flags if edge[2] == "test_cc" else edge[4]))
    return lines


def loops(folder: str) -> str:
    """What the benchmarks compare with."""
    return f"{folder}/stream.cubin"


def ninja(target: str, folder: str, suites: list[str], has_criterion: bool) -> str:
    edges = _edges("generated/tests.ninja")
    names = [each.name for each in cpu_targets(ARCHITECTURES[0])]
    lines = [Selection(",".join([*names, target]), None).ninja(folder)]
    lines += [] if has_criterion else _stand_in(edges, folder)
    lines += [_suite(edges[f"$builddir/tests/{name}"], folder, has_criterion) for name in suites]
    bench = _edges("bench/bench.ninja")["$builddir/quern_bench"]
    inputs = bench[3].partition(" || ")[0].replace("libquern.a", f"{folder}/libquern.a")
    # Machine code loads also where the driver does not know nvcc's PTX.
    lines.append(_edge(loops(folder), "cubin", LOOPS, f"  target = {target}\n"))
    lines.append(_edge(f"{folder}/quern_bench", bench[2], f"{inputs} | {loops(folder)}"))
    return "\n".join(lines)


def write(path: Path, text: str) -> None:
    """An unchanged file keeps its time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
