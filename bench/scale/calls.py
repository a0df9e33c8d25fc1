"""Connections as src/ranks/hosts makes them: a listener with few places, callers that call again, and the loop of a rank over both.

A pass of the loop takes time for every descriptor that it looks at, so a rank with many connections is slow to answer each of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import simpy

from .protocols import Door
from .world import Bell, World

PAUSE, PATIENCE = 20e6, 3e9  # of connector.c: between two attempts, and for one
MOST_EVICTED = 20000         # handshakes at one listener, after which they are taken to give way to each other for ever
SYN_AGAIN = 1e9              # the kernel repeats a call that has found the backlog full; the second time would be after PATIENCE


class Call:
    """One connection on its way to be made."""

    def __init__(self, caller: Loop, listener: Loop, kind: str) -> None:
        self.caller, self.listener, self.kind = caller, listener, kind
        self.state = "idle"       # what the caller finds when it looks
        self.heard = ""           # what the listener finds
        self.refusals = 0

    def go(self, spent: float) -> float:
        """The caller looks, `spent` into its pass.  Returns what that costs."""
        costs, world = self.caller.world.costs, self.caller.world
        far = world.network.latency
        match self.state:
            case "idle":
                self.state = "calling"
                world.later(spent + costs.connect + far, self.listener.knock(self))
                return costs.connect
            case "connected":
                self.state = "greeted"
                world.later(spent + costs.send + far, self.tell("hello"))
                return costs.send
            case "answered":
                self.state = "proved"
                cost = costs.receive + costs.code + costs.send
                world.later(spent + cost + far, self.tell("proof"))
                return cost
            case "welcome":
                self.state = "done"
                return costs.receive + costs.code
            case "refused":
                self.state = "paused"
                self.refusals += 1
                world.later(spent + PAUSE, self.wake("idle"))
                return costs.attempt
        return costs.attempt

    def tell(self, what: str):
        def arrive() -> None:
            if self.heard != "refused":
                self.heard = what
                self.listener.bell.ring()
        return arrive

    def wake(self, state: str):
        def arrive() -> None:
            self.state = state
            self.caller.bell.ring()
        return arrive


class Loop:
    """What a rank does until its connections are there: looks at its listener and at its calls, then waits for the next event."""

    def __init__(self, world: World, door: Door, start: float = 0.0) -> None:
        self.world, self.bell = world, Bell(world.env)
        self.door, self.start = door, start
        self.queue: deque[Call] = deque()    # in the kernel, not accepted yet
        self.waiting: list[Call] = []        # in the middle of a handshake
        self.opened: list[Call] = []
        self.calls: list[Call] = []
        self.expected = 0                    # connections that others make
        self.others = 0                      # calls that are not simulated, but looked at in each pass
        self.peeks = False                   # whether it asks each connection in each pass whether it has ended
        self.finished: float | None = None
        self.evicted = 0

    # ---- the kernel ----

    def knock(self, call: Call, repetition: int = 0):
        def arrive() -> None:
            if len(self.queue) > self.door.backlog and not repetition:
                self.world.later(SYN_AGAIN, self.knock(call, repetition=1))
            if len(self.queue) > self.door.backlog and repetition:
                self.world.later(PATIENCE - SYN_AGAIN, call.wake("refused"))
            if len(self.queue) > self.door.backlog:
                return
            call.heard = ""
            self.queue.append(call)
            self.bell.ring()
            self.world.later(self.world.network.latency, call.wake("connected"))
        return arrive

    # ---- the listener ----

    def let_in(self) -> float:
        costs, spent = self.world.costs, 0.0
        for _ in range(self.door.places):
            if not self.queue:
                return spent + costs.attempt
            if len(self.waiting) == self.door.places:
                oldest = self.waiting.pop(0)
                oldest.heard = "refused"
                self.evicted += 1
                self.world.stop_if(self.evicted > MOST_EVICTED)
                self.world.later(spent + self.world.network.latency, oldest.wake("refused"))
            self.waiting.append(self.queue.popleft())
            spent += costs.accept
        return spent

    def look(self, call: Call, spent: float) -> tuple[float, bool]:
        """Goes on with a handshake of which something has come.  The cost, and whether it is done."""
        costs, world = self.world.costs, self.world
        is_done = call.heard == "proof"
        call.heard = ""
        spent += costs.receive + (3 * costs.code if is_done else 0) + costs.send  # checks the proof, makes its own and a key
        world.later(spent + world.network.latency, call.wake("welcome" if is_done else "answered"))
        world.counts[call.kind].connections += is_done
        return spent, is_done

    def serve(self) -> Iterator[simpy.Event]:
        """As quern_listener_serve, until it has no more.  A new pass begins after each handshake that is done."""
        attempt, is_done = self.world.costs.attempt, True
        while is_done:
            is_done, looked = False, 0
            yield self.world.env.timeout(self.let_in())
            while not is_done:
                at = next((i for i in range(looked, len(self.waiting)) if self.waiting[i].heard), None)
                if at is None:
                    break
                cost, is_done = self.look(self.waiting[at], (at - looked) * attempt)
                yield self.world.env.timeout(cost)
                looked = at + 1
                if is_done:
                    self.opened.append(self.waiting.pop(at))
            yield self.world.env.timeout(0.0 if is_done else (len(self.waiting) - looked) * attempt)

    # ---- the loop ----

    @property
    def is_complete(self) -> bool:
        return len(self.opened) == self.expected and all(call.state == "done" for call in self.calls)

    def between(self) -> float:
        """What a pass costs beside handshakes: poll and a look at all that is there."""
        costs = self.world.costs
        there = len(self.opened) + len(self.calls) + self.others
        polled = 1 + len(self.waiting) + len(self.calls) + self.others
        return (costs.poll + costs.poll_each * polled + costs.attempt * self.others +
                (costs.attempt * there if self.peeks else 0.0))

    def run(self) -> Iterator[simpy.Event]:
        env = self.world.env
        yield env.timeout(self.start)
        spent = self.others * self.world.costs.connect
        while True:
            self.bell.reset()
            if self.expected:
                yield from self.serve()
            for call in self.calls:
                if call.state != "done":
                    spent += call.go(spent)
            if self.is_complete:
                break
            yield env.timeout(spent + self.between())
            spent = 0.0
            if not self.bell.is_rung:
                yield self.bell.event
        yield env.timeout(spent)
        self.finished = env.now
