"""Runs jobs side by side: as many as the cores and the memory of this machine hold.  A job takes the part of a core that it used in
earlier runs, so that jobs that mostly wait run beside jobs that compute.
"""

import os
import queue
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from runner.record import Cost

Work = TypeVar("Work")
Result = TypeVar("Result")

LEAST_CORES = 0.25     # of a job, however little it computes
MOST_WAITING = 4       # jobs for each core
SPARE_MB = 512         # memory left for other processes


def _groups(controller: str) -> list[Path]:
    """The folders of this process's control group and its ancestors, of version 1 or 2."""
    found = []
    for line in _text(Path("/proc/self/cgroup")).splitlines():
        number, controllers, name = line.split(":", 2)
        if number == "0" or controller in controllers.split(","):
            root = Path("/sys/fs/cgroup", *([] if number == "0" else [controller]))
            own = root / name.lstrip("/")
            found += [folder for folder in (own, *own.parents) if folder.is_relative_to(root) and folder.is_dir()]
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _number(path: Path) -> float:
    """Infinite if there is no such file, or it sets no limit."""
    text = _text(path).strip()
    return float(text) if text.isdigit() else float("inf")


def _quota() -> float:
    """The cores that the control groups of this process allow."""
    quotas = [float("inf")]
    for folder in _groups("cpu"):
        limit, _, period = _text(folder / "cpu.max").partition(" ")
        if limit.isdigit():
            quotas.append(float(limit) / float(period))
        quotas.append(_number(folder / "cpu.cfs_quota_us") / _number(folder / "cpu.cfs_period_us"))
    return min(quota for quota in quotas if quota == quota)


def cores() -> int:
    """Those that this process may use."""
    return max(1, int(min(len(os.sched_getaffinity(0)), round(_quota(), 0) if _quota() < 1 << 20 else 1 << 20)))


def _free_bytes(folder: Path) -> float:
    """What a control group can still have.  The cache of files makes room."""
    limit = min(_number(folder / name) for name in ("memory.max", "memory.limit_in_bytes"))
    used = min(_number(folder / name) for name in ("memory.current", "memory.usage_in_bytes"))
    cached = re.findall(r"^(?:total_)?(?:in)?active_file (\d+)$", _text(folder / "memory.stat"), re.MULTILINE)
    return limit - used + max(map(int, cached), default=0) if limit < 1 << 60 else float("inf")


def available_mb() -> int:
    """Memory that new processes can have without swapping, by the machine and by the control groups of this process."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", _text(Path("/proc/meminfo")), re.MULTILINE)
    free = int(found.group(1)) * 1024 if found else 1 << 50
    return int(min([free, *map(_free_bytes, _groups("memory"))])) >> 20


def part_of_core(cost: Cost) -> float:
    """What a job of this cost takes.  A job of several busy threads takes them all."""
    return max(LEAST_CORES, cost.cpu / cost.seconds) if cost.seconds > 0.5 else 1.0


class Scheduler(Generic[Work, Result]):
    def __init__(self, cost: Callable[[Work], Cost], run: Callable[[Work], Result], limit: float) -> None:
        """limit: the cores."""
        self.cost, self.run, self.limit = cost, run, limit
        self.ended: queue.Queue[tuple[Work, Result | BaseException] | None] = queue.Queue()
        self.running: list[Work] = []
        self.memory = max(available_mb() - SPARE_MB, 1)

    def _fits(self, work: Work) -> bool:
        if not self.running:
            return True
        costs = [self.cost(each) for each in (*self.running, work)]
        return (sum(part_of_core(cost) for cost in costs) <= self.limit + 0.01
                and sum(cost.peak_mb for cost in costs) <= self.memory and len(costs) <= MOST_WAITING * self.limit)

    def _begin(self, work: Work) -> None:
        self.running.append(work)
        threading.Thread(target=self._run, args=(work,), daemon=True).start()

    def _run(self, work: Work) -> None:
        try:
            self.ended.put((work, self.run(work)))
        except BaseException as fault:  # raised again where the results are read, which would wait for ever
            self.ended.put((work, fault))

    def look_again(self) -> None:
        """Something has changed that work waits for."""
        self.ended.put(None)

    def in_turn(self, waiting: Sequence[Work], is_ready: Callable[[Work], bool] = lambda work: True,
                is_over: Callable[[], bool] = lambda: False) -> Iterator[tuple[Work, Result]]:
        """Each piece of work with its result, as it ends.  Earlier ones begin first if they are ready and fit.

        is_over: no work begins any more.
        """
        left = list(waiting)
        while left or self.running:
            if is_over():
                left.clear()
            for work in list(left):
                if is_ready(work) and self._fits(work):
                    left.remove(work)
                    self._begin(work)
            if not left and not self.running:
                return
            ended = self.ended.get()
            if ended is None:
                continue
            work, result = ended
            self.running.remove(work)
            if isinstance(result, BaseException):
                raise result
            yield work, result
