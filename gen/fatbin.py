"""Wraps images for the driver, by gen/toolchain.py; CUDA toolkits of 12.7 and older have a fatbinary without --compress-mode.

The text of gen/toolchain.py is in the keys of all that it has made, so what concerns only other toolkits is here.  Called by ninja
and gen/__main__.py.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from gen import toolchain

OPTION = "--compress-mode"
FOLDER = toolchain.ROOT / "build/older_toolkit"
WITHOUT = f"""for word; do
    shift
    case $word in {OPTION}=*) ;; *) set -- "$@" "$word" ;; esac
done
"""


def knows_option(nvcc: Path) -> bool:
    """Of the fatbinary beside nvcc.  One that cannot be run is left to the build, which shows why."""
    try:
        help_text = subprocess.run([nvcc.resolve().parent / "fatbinary", "--help"], capture_output=True, text=True).stdout
    except OSError:
        return True
    return OPTION in help_text or not help_text


def _write_script(tool: Path, first: str) -> bool:
    """A script in the folder that calls the tool; whether it is new.  Several processes may write it."""
    text, out = f'#!/bin/sh\n{first}exec {shlex.quote(str(tool))} "$@"\n', FOLDER / tool.name
    if out.exists() and out.read_text() == text:
        return False
    new = out.with_name(f"{out.name}.{os.getpid()}")
    new.write_text(text)
    new.chmod(0o755)
    new.replace(out)
    return True


def suited(nvcc: Path) -> Path:
    """nvcc; or, if its fatbinary is older, a script that calls it, beside such scripts for all tools; that of fatbinary leaves the
    option out."""
    if knows_option(nvcc):
        return nvcc
    FOLDER.mkdir(parents=True, exist_ok=True)
    tools = nvcc.resolve().parent
    for tool in filter(Path.is_file, tools.iterdir()):
        if _write_script(tool, WITHOUT if tool.name == "fatbinary" else "") and tool.name == "fatbinary":
            print(f"{tool} has no {OPTION} (CUDA 12.8 has): images are a sixth larger")
    return FOLDER / "nvcc"


def main(arguments: list[str]) -> int:
    """As the step fatbin of gen.toolchain."""
    location, *others = arguments
    if (found := Path(location).read_text().strip()) != "none" and (nvcc := suited(Path(found))) != Path(found):
        location = str(nvcc.with_name("nvcc.txt"))
        Path(location).write_text(f"{nvcc}\n")
    return toolchain.main(["fatbin", location, *others])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
