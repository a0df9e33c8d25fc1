"""Measures copies between the GPUs of this machine, and between each and the host.  A line for each pair; the last one sums up.

Called by command.py, as a program of its own: a GPU that fails ends only this.

    python3 tests/gpu/links.py BYTES
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from ctypes import byref, c_float, c_int, c_size_t, c_uint, c_ulonglong, c_void_p

ROUNDS = 8
PORTABLE = 1   # CU_MEMHOSTALLOC_PORTABLE


class Driver:
    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")

    def __call__(self, name: str, *arguments: object) -> None:
        if error := getattr(self.library, name)(*arguments):
            raise SystemExit(f"{name} gives {error}")


class Gpu:
    """Its primary context, a buffer there, and a clock."""

    def __init__(self, cuda: Driver, ordinal: int, size: int) -> None:
        self.cuda, self.ordinal, self.size = cuda, ordinal, size
        self.context, self.stream, self.buffer = c_void_p(), c_void_p(), c_ulonglong()
        self.events = (c_void_p(), c_void_p())
        cuda("cuDevicePrimaryCtxRetain", byref(self.context), ordinal)
        self.use()
        cuda("cuMemAlloc_v2", byref(self.buffer), c_size_t(size))
        cuda("cuStreamCreate", byref(self.stream), 1)
        for event in self.events:
            cuda("cuEventCreate", byref(event), 0)

    def use(self) -> None:
        self.cuda("cuCtxSetCurrent", self.context)

    def rate(self, copy: Callable[[], None]) -> float:
        """In GB/s, of the copies that a function enqueues on the stream; the first one warms up."""
        self.use()
        copy()
        self.cuda("cuEventRecord", self.events[0], self.stream)
        for _ in range(ROUNDS):
            copy()
        self.cuda("cuEventRecord", self.events[1], self.stream)
        self.cuda("cuEventSynchronize", self.events[1])
        milliseconds = c_float()
        self.cuda("cuEventElapsedTime", byref(milliseconds), *self.events)
        return 1e-6 * ROUNDS * self.size / max(milliseconds.value, 1e-6)


def open_peers(cuda: Driver, gpus: list[Gpu]) -> int:
    """The number of pairs without access to each other's memory: their copies go by the host."""
    closed = 0
    for gpu in gpus:
        gpu.use()
        for peer in gpus:
            can = c_int()
            if peer is not gpu:
                cuda("cuDeviceCanAccessPeer", byref(can), gpu.ordinal, peer.ordinal)
                closed += not can.value
                if can.value:
                    cuda("cuCtxEnablePeerAccess", peer.context, c_uint(0))
    return closed


def main(size: int) -> None:
    cuda, count, host = Driver(), c_int(), c_void_p()
    cuda("cuInit", 0)
    cuda("cuDeviceGetCount", byref(count))
    gpus = [Gpu(cuda, ordinal, size) for ordinal in range(count.value)]
    cuda("cuMemHostAlloc", byref(host), c_size_t(size), c_uint(PORTABLE))
    closed, between, hosts = open_peers(cuda, gpus), [], []
    for to in gpus:
        for source in (gpu for gpu in gpus if gpu is not to):
            rate = to.rate(lambda: cuda("cuMemcpyPeerAsync", to.buffer, to.context, source.buffer, source.context, c_size_t(size),
                                        to.stream))
            print(f"GPU {source.ordinal} to GPU {to.ordinal}: {rate:.1f} GB/s")
            between.append(rate)
        hosts.append(to.rate(lambda: cuda("cuMemcpyHtoDAsync_v2", to.buffer, host, c_size_t(size), to.stream)))
        print(f"host to GPU {to.ordinal}: {hosts[-1]:.1f} GB/s")
        hosts.append(to.rate(lambda: cuda("cuMemcpyDtoHAsync_v2", host, to.buffer, c_size_t(size), to.stream)))
        print(f"GPU {to.ordinal} to host: {hosts[-1]:.1f} GB/s")
    print(f"{len(gpus)} GPUs, GB/s one way: between them {min(between):.0f} to {max(between):.0f}"
          f"{f', {closed} pairs without peer access' if closed else ''}; with the host {min(hosts):.0f} to {max(hosts):.0f}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
