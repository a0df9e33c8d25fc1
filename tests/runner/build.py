"""Builds the targets of the chosen jobs and shows its progress: ninja's own status on a terminal, a line per minute in a log."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STEP = re.compile(r"^\[(\d+)/(\d+)\] ")


def prepare() -> bool:
    """Updates the ninja files and searches for nvcc.  The choice of jobs depends on both."""
    done = subprocess.run(["ninja", "--quiet", "build/nvcc.txt", "build/nvcc_version.h"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        print(done.stdout, end="")
    return done.returncode == 0


def build(targets: Iterable[str], jobs: int, file: str) -> tuple[bool, float]:
    """Returns whether everything was built, and the CPU time in seconds."""
    command = ["ninja", "-f", file, "-j", str(jobs), *sorted(set(targets))]
    before = os.times()
    built = _on_terminal(command) if sys.stdout.isatty() else _in_log(command)
    after = os.times()
    return built, after.children_user + after.children_system - before.children_user - before.children_system


def _on_terminal(command: list[str]) -> bool:
    return subprocess.run(command, cwd=ROOT).returncode == 0


def _in_log(command: list[str]) -> bool:
    """Prints a line at the beginning, each minute and at the end.  Also prints ninja's output except for its steps."""
    environment = {**os.environ, "NINJA_STATUS": "[%f/%t] "}
    began = said = time.monotonic()
    first, total = True, ""
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace") as process:
        for line in process.stdout or ():
            step, now = STEP.match(line), time.monotonic()
            if not step:
                if not line.startswith("ninja: no work"):
                    print(line, end="", flush=True)
            elif first or now - said >= 60:
                print(f"building: {step[1]} of {step[2]} steps, {(now - began) / 60:.0f} min", flush=True)
                first, said = False, now
            total = step[2] if step else total
    if total and not process.returncode:
        print(f"building: {total} steps done, {(time.monotonic() - began) / 60:.1f} min", flush=True)
    return process.returncode == 0
