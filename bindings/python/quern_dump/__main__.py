"""The command line of quern_dump.

Exit status: 0 if the dumps are equal, 1 if they differ, 2 if one cannot be read or the command line is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from quern_dump.diff import compare
from quern_dump.index import read_index
from quern_dump.tensors import DumpError

EQUAL, DIFFERENT, WRONG = 0, 1, 2


def diff(options: argparse.Namespace) -> int:
    found = compare(options.run, options.other, options.tolerance)
    shown = found.differences if options.all else found.differences[:1]
    sys.stdout.write("".join(shown))
    rest = len(found.differences) - len(shown)
    if rest:
        print(f"{rest} more differences; --all shows them")
    close = f", {found.close} within the tolerance" if options.tolerance else ""
    print(f"{found.equal} tensors equal{close}, {len(found.differences)} differences, {found.not_compared} not compared")
    return DIFFERENT if found.differences else EQUAL


def show(options: argparse.Namespace) -> int:
    for call in read_index(options.run):
        print(f"{call.title()}, step {call.step} on {call.device}: {call.status}{' (captured)' if call.captured else ''}")
        if call.detail:
            print(f"    {call.detail}")
        if call.kernels:
            print(f"    kernels: {' '.join(call.kernels)}")
        if call.arguments:
            print("    " + ", ".join(f"{name} {value}" for name, value in call.arguments.items()))
        for tensor in call.tensors:
            where = f"left out: {tensor.left_out}" if tensor.left_out else f"{tensor.file.name} {tensor.sha256[:16]}"
            print(f"    {tensor.access:3} {tensor.name} {tensor.dtype} {list(tensor.shape)} {where}")
    return EQUAL


def read_options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="quern_dump", description="Shows and compares what quern_dump_at has written.",
                                     epilog="exit status: 0 equal, 1 different, 2 an error")
    commands = parser.add_subparsers(required=True, metavar="show|diff")
    one = commands.add_parser("show", help="print the calls of a dump")
    one.set_defaults(command=show)
    two = commands.add_parser("diff", help="name the first tensor that differs between two dumps")
    two.set_defaults(command=diff)
    for each in (one, two):
        each.add_argument("run", type=Path, help="the folder of a dump")
    two.add_argument("other", type=Path, help="the folder of another one")
    two.add_argument("--all", action="store_true", help="print all differences, not only the first")
    two.add_argument("--tolerance", type=float, default=0.0, metavar="X",
                     help="the relative difference of an element that still counts as none (0: the bits must be equal)")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = read_options(sys.argv[1:] if arguments is None else arguments)
    try:
        return options.command(options)
    except DumpError as error:
        print(f"quern_dump: {error}", file=sys.stderr)
        return WRONG
    except BrokenPipeError:  # `quern_dump show | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EQUAL


if __name__ == "__main__":
    sys.exit(main())
