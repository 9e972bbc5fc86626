"""Promptness: a machine's record follows what truly became of its server, and soon (L2).

Ready is only what answers, or did a moment ago. What is up and answers is ready soon, what is gone
or off is not called ready for long, and what has nothing left in the world is soon at its end.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from hostler.domain.ids import InstallationId, MachineId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.lab.checks.lag import Lag
from hostler.simulators.scaleway.state.records import Server, State
from hostler.simulators.scaleway.world import World
from hostler.testing.invariants import Found, Violation

ANSWERED = 120.0
"""So long ago, in seconds, an answer may be that a machine is called ready for."""

_LEFT_OFF = "its server is off, and nothing is done for it"
_LEFT_THERE = "its server is there, and nothing is done for it"
_LEFT = dict.fromkeys((_LEFT_OFF, _LEFT_THERE), 300.0)
BOUNDS = {"answers": 180.0, "is down": 300.0, "has nothing left": 300.0, **_LEFT}
"""How long, in seconds in which its zone was listed, a record may lag behind the world."""

LARGE = {**BOUNDS, **dict.fromkeys(("has nothing left", *_LEFT), 600.0)}
"""The same of a large fleet, whose proofs wait for the rate, and behind those that hang (199)."""


def server_of(world: World, machine: Machine) -> Server | None:
    """Return the server that a record binds, where there still is one."""
    bound = _bound_of(machine)
    return next((s for s in world.cloud.servers if s.id in bound), None)


def _bound_of(machine: Machine) -> set[str]:
    return {str(p.bound) for p in machine.places if p.slot.kind == "server" and p.bound}


_DOWN = frozenset({Phase.STARTING, Phase.FAILED})


@dataclass(slots=True)
class Promptness:
    """What was true of servers, and for how long records did not say so."""

    world: World
    probed: bool
    large: bool = False
    up: dict[str, float] = field(default_factory=dict[str, float])
    lag: Lag = field(init=False)
    _halted: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self.lag = Lag(LARGE if self.large else BOUNDS)

    def look(self, now: float) -> None:
        """Note which servers are up just now, and answer where that is asked.

        One that stopped in place since the last time was up until then.
        """
        halted = {s.id for s in self.world.cloud.servers if s.state == State.IN_PLACE}
        self.up |= dict.fromkeys(halted - self._halted, now)
        self._halted = halted
        for server in self.world.cloud.servers:
            if server.state == State.RUNNING and (server.guest_up or not self.probed):
                self.up[server.id] = now

    def saved(self, before: Machine | None, after: Machine, now: float) -> Found:
        """Judge a machine that is called ready from now on; its server may be gone since."""
        if after.phase is not Phase.READY or before is None or before.phase not in _DOWN:
            return ()
        self.look(now)
        answered = (self.up[one] for one in _bound_of(after) if one in self.up)
        if any(now - at <= ANSWERED for at in answered):
            return ()
        text = f"{after.id} is called ready, and its server does not answer"
        return (Violation(invariant="ready", text=text, machine=after.id),)

    def check(
        self,
        own: InstallationId,
        machines: Iterable[Machine],
        passed: float,
        alone: Container[MachineId],
    ) -> Found:
        """Judge records in zones that were listed; `passed` is the time since the last check.

        For the machines that are left `alone` nothing was called since then.
        """
        found = ((machine, self._true(machine, idle=machine.id in alone)) for machine in machines)
        return self.lag.check(own, ((one, true) for one, true in found if true), passed)

    def _true(self, machine: Machine, *, idle: bool) -> str:
        """Return what is true of a machine's server that its phase does not say, or nothing."""
        server = server_of(self.world, machine)
        up = server is not None and server.state == State.RUNNING
        match machine.phase:
            case Phase.STARTING if machine.deletion is None and machine.goal is Goal.PRESENT:
                if idle and server is not None and server.state == State.STOPPED:
                    return _LEFT_OFF
                return "answers" if up and self._answers(server) else ""
            case Phase.READY:
                down = server is None or server.state in {State.STOPPED, State.IN_PLACE}
                return "is down" if down else ""
            case Phase.STOPPING if idle and server is not None and not machine.health.stuck:
                stands = server.state in {State.RUNNING, State.STOPPED} and not server.protected
                return _LEFT_THERE if stands else ""
            case Phase.STOPPING:
                return "has nothing left" if self._is_gone(machine) else ""
            case _:
                return ""

    def _answers(self, server: Server | None) -> bool:
        """Tell whether a server answers at the address that its machine was given."""
        reached = server is not None and any(a.kind == "routed_ipv4" for a in server.addresses)
        return not self.probed or (reached and server is not None and server.guest_up)

    def _is_gone(self, machine: Machine) -> bool:
        cloud = self.world.cloud
        known = {k.id.partition("@")[0] for place in machine.places for k in place.known}
        shelves = (cloud.servers, cloud.addresses, cloud.volumes, cloud.locals)
        return not any(shelf.get(one) for one in known for shelf in shelves)
