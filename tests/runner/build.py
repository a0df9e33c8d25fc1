"""Builds the targets of the chosen jobs, shows the progress once a minute, and tells which targets are ready meanwhile."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STEP = re.compile(r"^\[(\d+)/(\d+)\] (\S+) (\S+)")
# Mean CPU seconds of a step by its word and the start of its output, the longest start that fits; from a build on two quiet cores.
COSTS: dict[str, float] = json.loads((Path(__file__).parent / "steps.json").read_text())
KNOWN_SECONDS = 120  # before what is built scales the estimate: the first checks run beside the first steps


def prepare() -> bool:
    """Updates the ninja files and searches for nvcc.  The choice of jobs depends on both."""
    done = subprocess.run(["ninja", "build/nvcc.txt", "build/nvcc_version.h"], cwd=ROOT, stdout=subprocess.PIPE,
                          text=True)
    if done.returncode:
        print(done.stdout, end="")
    return done.returncode == 0


def cost_of(word: str, output: str) -> float:
    """`CC build/musl` is an entry, and `CC` is one."""
    name, parts = f"{word} {output}", output.split("/")
    for count in range(len(parts), 0, -1):
        if (found := COSTS.get(f"{word} {'/'.join(parts[:count])}")) is not None:
            return found
    return COSTS.get(name, COSTS.get(word, 0.1))


class Build:
    """A run of ninja.  Its outputs are complete when it says so: a target that it does not make is complete from the beginning."""

    def __init__(self, targets: Iterable[str], jobs: int, file: str, changed: Callable[[], None] = lambda: None) -> None:
        """changed: called when a step or the whole has ended."""
        self.command, self.jobs, self.changed = ["ninja", "-f", file, "-j", str(jobs)], jobs, changed
        self.targets = sorted(set(targets))
        planned = subprocess.run([*self.command, "-n", *self.targets], cwd=ROOT, capture_output=True, text=True)
        self.is_planned = planned.returncode == 0  # else steps decide what other steps there are
        self.pending = {step[4]: cost_of(step[3], step[4]) for line in planned.stdout.splitlines() if (step := STEP.match(line))}
        self.all = sum(self.pending.values())
        self.left, self.began = self.all, time.monotonic()
        self.over, self.is_built, self.fault = False, False, ""
        self.cpu = 0.0
        self.thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> Build:
        self.thread.start()
        return self

    def is_ready(self, targets: Iterable[str]) -> bool:
        """Names without a folder may be groups of targets: they are ready at the end."""
        return self.is_built or self.is_planned and not any(target in self.pending or "/" not in target for target in targets)

    def remaining(self) -> float:
        """Seconds."""
        passed, done = time.monotonic() - self.began, (self.all - self.left) / self.jobs
        return self.left / self.jobs * (KNOWN_SECONDS + passed) / (KNOWN_SECONDS + done)

    def _run(self) -> None:
        environment, said = {**os.environ, "NINJA_STATUS": "[%f/%t] "}, 0.0
        failed: list[str] = []
        with subprocess.Popen([*self.command, *self.targets], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as process:
            for line in process.stdout or ():
                step = STEP.match(line)
                if not step:
                    if not line.startswith("ninja: no work"):
                        failed.append(line)
                    continue
                self.left -= self.pending.pop(step[4], 0.0)
                if time.monotonic() - said >= 60:
                    said = time.monotonic()
                    done = 100 * (1 - self.left / max(self.all, 1e-9))
                    print(f"building: {step[1]} of {step[2]} steps, {done:.0f} % of the work, "
                          f"{self.remaining() / 60:.0f} min left", flush=True)
                self.changed()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu = usage.ru_utime + usage.ru_stime
        self.is_built = process.returncode == 0
        self.fault = "" if self.is_built else "".join(failed)
        if self.all:
            end, minutes = "done" if self.is_built else "failed", (time.monotonic() - self.began) / 60
            print(f"building: {end} after {minutes:.1f} min", flush=True)
        self.over = True
        self.changed()
