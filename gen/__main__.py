"""./quern gen (python -m gen): list, render, add, check, explain, pack, audit, prefer and measure the kernels of Quern."""

from __future__ import annotations

import argparse
import errno
import fnmatch
import sys

from gen import plan, render
from gen.arguments import end_of_check


def command_list(arguments: argparse.Namespace) -> int:
    """One line per kernel, in the order of the tables."""
    count = 0
    for operation in plan.OPERATIONS:
        for kernel in plan.kernels(operation):
            if fnmatch.fnmatchcase(kernel.name, arguments.glob):
                print(kernel.name)
                count += 1
    if not count:
        print(f"no kernel matches {arguments.glob!r}", file=sys.stderr)
    return 0 if count else 1


def command_render(arguments: argparse.Namespace) -> int:
    """Brings generated/ up to date."""
    if arguments.if_stale and render.is_current():
        return 0
    for line in render.write(render.outputs()):
        if not arguments.quiet:
            print(line)
    return 0


def command_add(arguments: argparse.Namespace) -> int:
    from gen import add

    return add.run(arguments.names)


def command_check(arguments: argparse.Namespace) -> int:
    """Fails when a file in generated/ is stale, missing or an orphan."""
    lines = render.differences(render.outputs())
    for line in lines:
        print(line)
    print("generated/ differs from what the templates give: ./quern gen render" if lines else "generated/ is up to date")
    return 1 if lines else 0


def command_explain(arguments: argparse.Namespace) -> int:
    from gen import explain

    return explain.run(arguments.words)


def command_pack(arguments: argparse.Namespace) -> int:
    from gen import pack

    return pack.run(arguments.target, arguments.output, arguments.operations)


def command_audit(arguments: argparse.Namespace) -> int:
    from gen import audit

    return audit.run(arguments)


def command_prefer(arguments: argparse.Namespace) -> int:
    from gen import prefer

    return prefer.run(arguments.profiles, arguments.output)


def command_sizes(arguments: argparse.Namespace) -> int:
    from gen import selection

    return selection.print_sizes(arguments.check, arguments.all)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="./quern gen",
                                  description="Lists, renders, checks, explains, packs, audits and prefers the kernels of Quern.")
    commands = top.add_subparsers(dest="command", required=True)

    command = commands.add_parser("list", help="the names of all kernels, or of those that match a glob")
    command.add_argument("glob", nargs="?", default="*")
    command.set_defaults(run=command_list)

    command = commands.add_parser("render", help="write generated/")
    command.add_argument("--if-stale", action="store_true", help="do nothing when no input has changed")
    command.add_argument("--quiet", action="store_true")
    command.set_defaults(run=command_render)

    command = commands.add_parser("add", help="add step kernels of Adam that the library does not have from the start")
    command.add_argument("names", nargs="+", metavar="NAME", help="e.g. adam_pbf16_gf16_mbf16_vbf16_master32")
    command.set_defaults(run=command_add)

    command = commands.add_parser("check", help="fail when generated/ is stale or holds an orphan")
    command.set_defaults(run=command_check)

    command = commands.add_parser("explain", help="which row serves a request, and why not the rows before it")
    command.add_argument("words", nargs="+", metavar="NAME | OPERATION target=T key=value ...",
                         help="e.g. adam target=sm_90a param=bf16 grad=bf16 m=bf16 v=bf16 master=f32")
    command.set_defaults(run=command_explain)

    command = commands.add_parser("pack", help="render, compile and write a kernel pack for one GPU target")
    command.add_argument("target", help="a row of GPU_TARGETS in gen/spec.py")
    command.add_argument("-o", "--output", help="default: build/packs/TARGET.qpack")
    command.add_argument("--operations", metavar="NAME,...", help=f"of {', '.join(plan.OPERATIONS)}")
    command.set_defaults(run=command_pack)

    command = commands.add_parser("audit", help="registers, spills, access widths and instructions of every GPU kernel")
    command.add_argument("--check", action="store_true", help="fail on a spill, a narrow main loop or too many registers")
    command.add_argument("--all", action="store_true", help="with --check: of the machine code in build/, without receipts")
    command.add_argument("--json", action="store_true")
    command.set_defaults(run=command_audit)

    command = commands.add_parser("prefer", help="write the rows that dumps have measured as the fastest, for QUERN_PREFER")
    command.add_argument("profiles", nargs="+", metavar="PROFILE", help="the folder of a dump; several, made with other kernels")
    command.add_argument("-o", "--output", default="preferred", help="default: preferred")
    command.set_defaults(run=command_prefer)

    command = commands.add_parser("sizes", help="the kilobytes that each target and operation adds to an engine, as built")
    command.add_argument("--check", action="store_true", help="compare with the table in docs/kernels_and_packs.md")
    command.add_argument("--all", action="store_true", help="with --check: of the images in build/, without receipts")
    command.set_defaults(run=command_sizes)
    return top


def main() -> int:
    arguments = parser().parse_args()
    if arguments.command != "pack":   # which looks at its names first
        end_of_check()
    return int(arguments.run(arguments))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        sys.exit(0)
    except OSError as fault:
        if fault.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        sys.exit(f"quern: {fault.filename or 'a file'} cannot be written: {fault.strerror}")
