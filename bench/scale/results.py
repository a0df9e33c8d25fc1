"""All that is predicted, as one object for JSON: the source of the tables and of the picture."""

from __future__ import annotations

import ast
import hashlib
import json
import math
from dataclasses import asdict
from pathlib import Path

from . import barrier, creation, exchange, failures, networks, sizes
from .networks import DATACENTRE, LOOPBACK, Costs, Network
from .protocols import PROTOCOLS, Protocol
from .world import Shape

HERE = Path(__file__).resolve().parent
FILE = HERE.parent / "results" / "scale.json"
RANKS = 8                                # of each host
HOSTS = (2, 4, 16, 64, 512, 4096)
SLICES = (8, 4096, 1 << 20)
SMALL = 16                               # hosts: up to here every message of an exchange is simulated
DIRECT_HOSTS = LOOPBACK_HOSTS = 64       # up to here the creation of direct groups, and all hosts on a loopback
MODEL = ("networks", "sizes", "world", "calls", "protocols", "creation", "barrier", "exchange", "failures", "results")


def digest() -> str:
    """Of the model, without its comments, and of the measured costs: a result is of these."""
    parts = [ast.dump(ast.parse((HERE / f"{name}.py").read_text())) for name in MODEL] + [networks.MEASURED.read_text()]
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:16]


def finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def predict_creation(shape: Shape, costs: Costs, network: Network, protocol: Protocol) -> dict:
    if not protocol.is_relayed and shape.hosts > DIRECT_HOSTS:
        return {}
    met = creation.create(shape, costs, network, protocol)
    gathered = creation.create(shape, costs, network, protocol, "gather")
    return {"seconds": finite(met.seconds), "meeting": finite(met.meeting), "connecting": finite(met.connecting),
            "evicted": met.evicted, "gathered": finite(gathered.seconds)}


def predict_exchange(shape: Shape, costs: Costs, network: Network, protocol: Protocol, size: int) -> dict:
    way = exchange.run if shape.hosts <= SMALL else exchange.predict
    return asdict(way(shape, costs, network, protocol, sizes.exchange_frames(shape.ranks, size)))


def row(hosts: int, network: Network, protocol: Protocol, costs: Costs) -> dict:
    shape = Shape(hosts, RANKS)
    return {"hosts": hosts, "network": network.name, "protocol": protocol.name,
            "connections": sum(protocol.connections(shape).values()), "descriptors": protocol.descriptors(shape),
            "monitor": failures.share_of_monitor(shape, costs),
            "creation": predict_creation(shape, costs, network, protocol),
            "barrier": asdict(barrier.run(shape, costs, network, protocol)),
            "exchanges": {str(size): predict_exchange(shape, costs, network, protocol, size) for size in SLICES}}


def keys(most_hosts: int = max(HOSTS)) -> list[tuple[int, Network, Protocol]]:
    return [(hosts, network, protocol) for hosts in HOSTS if hosts <= most_hosts for network in (DATACENTRE, LOOPBACK)
            if network is DATACENTRE or hosts <= LOOPBACK_HOSTS for protocol in PROTOCOLS.values()]


def hearings(hosts: int, costs: Costs) -> list[dict]:
    found = failures.all_of(Shape(hosts, RANKS), costs, DATACENTRE)
    return [asdict(hearing) | {"first": finite(hearing.first), "last": finite(hearing.last), "hosts": hosts} for hearing in found]


def predict() -> dict:
    costs = networks.measured()
    return {"digest": digest(), "rows": [row(*key, costs) for key in keys()],
            "hearings": [hearing for hosts in (2, 64, 4096) for hearing in hearings(hosts, costs)]}


def as_json(results: dict) -> str:
    lines = {name: ",\n  ".join(json.dumps(one) for one in results[name]) for name in ("rows", "hearings")}
    return (f'{{"digest": "{results["digest"]}",\n "rows": [\n  {lines["rows"]}],\n "hearings": [\n  {lines["hearings"]}]}}\n')


def read() -> dict:
    return json.loads(FILE.read_text())
