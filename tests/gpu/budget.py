"""The time of the whole command, divided among its stages, and programs that end within it.  Called by command.py."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GRACE = 10.0  # seconds that a stopped program has to write what it knows

# The parts of the time.  What a stage leaves is divided among those that follow.
SHARES = {"machine": 0.1, "build": 5.0, "suites": 4.0, "stress": 0.5, "sanitizer": 1.0, "links": 0.3, "python": 0.5,
          "benchmarks": 3.5, "report": 0.2}


@dataclass
class Budget:
    seconds: float
    stages: list[str]  # that are still to come
    began: float = field(default_factory=time.monotonic)

    @property
    def grace(self) -> float:
        return min(GRACE, self.seconds / 10)

    def take(self, stage: str) -> float:
        """The seconds of a stage that begins now."""
        left = self.began + self.seconds - self.grace - time.monotonic()
        part = SHARES[stage] / sum(SHARES[name] for name in self.stages)
        self.stages.remove(stage)
        return max(left * part, 0.1)


def _end(process: subprocess.Popen, grace: float) -> None:
    """First asks: ninja then ends its compilers, which are in groups of their own, and the benchmarks write what they have."""
    for signum, wait in ((signal.SIGTERM, grace), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, signum)
            process.wait(wait)
        except ProcessLookupError:
            process.wait()
        except subprocess.TimeoutExpired:
            pass


def run(command: list[str], seconds: float, grace: float, log: Path, environment: dict[str, str] | None = None) -> str:
    """Why a program failed; empty: it did not.  Its output is in the log."""
    with log.open("wb") as printed:
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
                                   stdout=printed, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            return f"stopped after its {seconds:.0f} s"
        finally:
            if process.returncode is None:
                _end(process, grace)
    return f"ended with status {status}" if status else ""
