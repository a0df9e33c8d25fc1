"""./quern bench --count: counts issue slots from machine code and predicts shares of copy bandwidth.

Needs the machine code that ./quern build leaves, but no GPU.  README.md explains the unit, the rule of the path and the model.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gen.arguments import end_of_check

from . import check, files, table
from .counts import Count
from .flow import Fault
from .machine_code import MachineCode, Missing


def read_arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./quern bench --count", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("operation", nargs="*", metavar="|".join(table.DESCRIBED), help="the operations (default: all)")
    parser.add_argument("--target", default="", metavar="NAME,...", help="only these GPU targets (default: all)")
    parser.add_argument("--vocab", default="", metavar="N,...", help=f"of cross-entropy ({', '.join(map(str, table.VOCABS))})")
    parser.add_argument("--kernel", default="*", metavar="PATTERN",
                        help="only kernels whose names match, 'cross_entropy_bf16_*__sm_90a' for instance")
    parser.add_argument("--all", action="store_true", help="also those that dispatch does not take for many rows; "
                        "with --check: of the machine code in build/, without receipts")
    parser.add_argument("--list", action="store_true", help="print each instruction of the paths with its weight")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rows")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as a page")
    parser.add_argument("--predict", type=Path, metavar="FILE", help="predict shares, low and high, and write them as a page")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="with --predict: draw them, too (needs matplotlib)")
    parser.add_argument("--check", action="store_true",
                        help=f"compare with {files.TABLE.name}; fails where a kernel has become worse")
    arguments = parser.parse_args(words)
    for operation in arguments.operation:
        if operation not in table.DESCRIBED:
            parser.error(f"{operation}: expected {', '.join(table.DESCRIBED)}")
    known = {kernel.target.name for kernel in table.kernels(table.Chosen())}
    for name in filter(None, arguments.target.split(",")):
        if name not in known:
            parser.error(f"--target {name}: expected some of {', '.join(sorted(known))}")
    if arguments.plot and not arguments.predict:
        parser.error("--plot draws what --predict FILE finds")
    if not all(word.isdigit() and int(word) for word in filter(None, arguments.vocab.split(","))):
        parser.error(f"--vocab {arguments.vocab}: expected positive numbers, separated by commas")
    return arguments


def print_listing(row: table.Row) -> None:
    """The paths of a kernel, for a reader who wants to check them."""
    instructions = MachineCode(row.kernel).code.instructions
    print(f"{row.kernel.name}{row.use}: {row.count.slots:.2f} slots")
    for role, weights in row.count.listing:
        print(f"-- {role}: {sum(weights.values()):.1f} instructions a warp")
        for i in sorted(weights):
            print(f"{weights[i]:9.2f}  {instructions[i]}")


HEAD = ("kernel", "use", "slots", "loop", "fixed", "regs", "shared", "blocks")


def print_head() -> None:
    print(f"{HEAD[0]:52} {HEAD[1]:>10} " + " ".join(f"{name:>6}" for name in HEAD[2:]) + "  share of copy bandwidth at most")


def print_row(row: table.Row) -> None:
    shares = ", ".join(f"{name} {share:.2f} ({bound})" for name, (share, bound) in row.shares.items())
    count: Count = row.count
    print(f"{row.kernel.name:52} {row.use.vocab or row.use.form:>10} {count.slots:6.2f} {count.loop:6.2f} {count.fixed:6.2f} "
          f"{row.launch.registers:6} {row.launch.shared:6} {row.blocks if row.blocks is not None else '':>6}  {shares}", flush=True)


def run(arguments: argparse.Namespace) -> int:
    chosen = table.Chosen(tuple(arguments.operation or table.DESCRIBED), tuple(filter(None, arguments.target.split(","))),
                          tuple(map(int, filter(None, arguments.vocab.split(",")))), arguments.kernel, arguments.list)
    kept = []
    show_all = arguments.all or arguments.kernel != "*"
    if not arguments.list:
        print_head()
    for row in table.rows(chosen):
        kept.append(row)
        if arguments.list:
            print_listing(row)
        elif show_all or row.chosen:
            print_row(row)
    if not kept:
        print(f"no described kernel matches {arguments.kernel}", file=sys.stderr)
        return 1
    if unknown := sorted({row.kernel.target.name for row in kept if not row.shares}):
        print(f"no share is predicted for {', '.join(unknown)}: bench/count/chips.py has no chip of theirs", file=sys.stderr)
    files.write(arguments.json, lambda: files.as_json(kept))
    files.write(arguments.markdown, lambda: files.as_markdown(kept))
    return 0


def predict(page: Path, picture: Path | None) -> int:
    from . import predictions

    chips = predictions.by_chip()
    files.write(page, lambda: predictions.as_markdown(chips))
    if picture:
        from .picture import draw

        draw({name: plain for name, (plain, _, _) in chips.items()}, picture)
    return 0


def main(words: list[str]) -> int:
    arguments = read_arguments(words)
    end_of_check()
    try:
        if arguments.predict:
            return predict(arguments.predict, arguments.plot)
        return check.run(arguments.all) if arguments.check else run(arguments)
    except (Fault, Missing) as fault:
        print(f"./quern bench --count: {fault}", file=sys.stderr)
        return 1


