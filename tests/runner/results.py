"""Jobs that have passed before with the same bytes: program, what it loads, environment, CPU and system.  They need not run again.

Only suites have such results, and only those that meet the same whatever else the machine does.  build/results.json keeps them.
"""

import hashlib
import json
import os
import platform
import re
from functools import cache
from pathlib import Path

from runner import jobs
from runner.jobs import Count, Job

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "build/results.json"
KEPT = 4000   # the newest


@cache
def _hash(path: Path, changed: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _bytes(path: Path) -> str:
    return _hash(path, path.stat().st_mtime_ns) if path.is_file() else "absent"


@cache
def _machine() -> str:
    flags = re.search(r"^(?:flags|Features)\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return " ".join([platform.release(), *platform.libc_ver(), str(len(os.sched_getaffinity(0))), flags[1] if flags else ""])


def key(job: Job) -> str:
    """Everything on which the result depends."""
    files = [_bytes(ROOT / target) for target in job.targets]
    runner = [_bytes(path) for path in sorted((ROOT / "tests/runner").glob("*.py"))]
    environment = {name: value for name, value in job.environment.items() if name != jobs.COUNTS}
    parts = [job.title, list(job.command), environment, files, runner, _machine()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class Results:
    def __init__(self, is_used: bool) -> None:
        self.is_used, self.found = is_used, 0
        try:
            self.kept: dict[str, list[int]] = json.loads(FILE.read_text())
        except (OSError, ValueError):
            self.kept = {}

    def of(self, job: Job) -> Count | None:
        """The result of the job, whose programs are built, with the same bytes."""
        if not self.is_used or job.is_check or job.by_chance:
            return None
        numbers = self.kept.get(key(job))
        self.found += numbers is not None
        return Count(*numbers) if numbers is not None else None

    def keep(self, job: Job, count: Count) -> None:
        """Only passes."""
        if job.is_check or job.by_chance or count.failed or count.flaky:
            return
        self.kept[key(job)] = [count.passed, 0, count.skipped]
        FILE.write_text(json.dumps(dict(list(self.kept.items())[-KEPT:])))
