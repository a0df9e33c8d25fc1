"""What a step costs, in nanoseconds, and the networks.  The costs of a host are measured: bench/scale/costs.c."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

MEASURED = Path(__file__).resolve().parents[1] / "results" / "scale-costs.json"


@dataclass(frozen=True)
class Costs:
    """Of a host's processor."""

    connect: float       # a connection: at the caller, the work of its kernel included
    accept: float
    send: float          # a call that sends few bytes; likewise receive
    receive: float
    send_byte: float
    receive_byte: float
    attempt: float       # a call that finds nothing
    poll: float
    poll_each: float     # for each descriptor
    way: float           # a message between two threads of this machine; not used, but for comparison
    bell: float          # to wake a thread of the host
    code: float          # an HMAC of up to 128 bytes
    code_byte: float     # of each further one
    compare: float       # 16 bytes of a record that lies behind the last one

    def sending(self, size: int) -> float:
        return self.send + size * self.send_byte

    def receiving(self, size: int) -> float:
        return self.receive + size * self.receive_byte


@dataclass(frozen=True)
class Network:
    name: str
    latency: float       # one way, from the end of a send to the first look that finds it
    wire: float          # for each byte, at each end of a host's link


def measured() -> Costs:
    return Costs(**json.loads(MEASURED.read_text()))


# The hosts have cores of their own, as they do not when this machine plays all of them.
LOOPBACK = Network("loopback", 0.0, 0.0)

# 100 Gbit/s.  20 us is assumed; it is of the order that Marty et al. report for TCP within a datacentre (Snap, SOSP 2019).
DATACENTRE = Network("datacentre", 20e3, 8 / 100)

NETWORKS = {network.name: network for network in (LOOPBACK, DATACENTRE)}
