"""Sweep: machines whose HostlerMachine is gone past its finalizer are told to the engine as such.

Finalizers are taken off by force, owners are collected, namespaces go, a process dies between an
object and its machine: nobody is left then who would ask for the machine's end. Two whole and fresh
readings of the cluster, a gap apart, and one of the object itself must agree; whatever fails begins
that anew. The engine reports such machines, and ends them only where the fleet reclaims.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta

import structlog

from hostler.domain.errors import HostlerError
from hostler.domain.ids import FleetName, MachineId
from hostler.domain.model.fleet import destructions_left
from hostler.domain.model.machine import Machine
from hostler.domain.model.requester import Requester
from hostler.domain.model.resource import OrphanClass
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.ports.clock import Clock
from hostler.requests import machines as requests

from .engine import EngineAccess, FleetAccess
from .looking import Look, Reads, is_gone, look, requester_of
from .names import ACTOR

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.clusterapi")

EVERY = timedelta(seconds=30)
"""How often the cluster is read for this; oftener where a fleet's sightings are closer together."""

_SHORTEST = timedelta(seconds=1)
_GONE = "its HostlerMachine is gone"


@dataclass(slots=True, kw_only=True)
class Sweep:
    """Looks for machines that no object asks for in the namespaces that are read.

    `_missing` is since when nothing was seen to ask for a machine, in boot time; `_written` is the
    last reason for which nothing was concluded.
    """

    server: Reads
    engine: EngineAccess
    clock: Clock
    namespaces: Namespaces
    _missing: dict[MachineId, float] = field(default_factory=dict[MachineId, float])
    _written: str = ""

    async def run(self) -> None:
        """Look for ever; ends by being cancelled."""
        while True:
            try:
                why = await self.once()
            except HostlerError as error:
                self._missing.clear()
                why = str(error)
            self._tell(why)
            await self.clock.sleep(self._pause())

    def _pause(self) -> timedelta:
        """Return when to look again; while no machine is known there is nothing to be read."""
        gaps = (access.machines.fleet.timers.sighting_gap for access, _ in self.engine.by_id())
        return max(_SHORTEST, min(EVERY, min(gaps, default=_SHORTEST)))

    async def once(self) -> str:
        """Look once; return why nothing is concluded of some machines, or an empty string.

        ApiError, StoreError: nothing is concluded at all, and what was seen is to be forgotten.
        """
        held = tuple((a, m) for a, m in self.engine.by_id() if m.deletion is None)
        self._forget_others({machine.id for _, machine in held})
        if not held:
            return ""
        seen = await look(self.server, self.namespaces)
        known = tuple(machine for _, machine in held)
        ours = seen.has_ours(known)
        whys = [await self._compare(access, machine, seen, ours=ours) for access, machine in held]
        if any(machine.health.abandoned for machine in known):
            await self._reclaim(held)
        return next((why for why in whys if why), "")

    async def _compare(
        self, access: FleetAccess, machine: Machine, seen: Look, *, ours: bool
    ) -> str:
        """Say of one machine who asks for it, or that nobody does; return why neither is known."""
        before, owner = machine.spec.requester, seen.owner(machine, self.engine.concerns)
        if owner is not None:
            self._missing.pop(machine.id, None)
            requester = requester_of(owner, seen.cluster, before)
            if requester != before or machine.health.abandoned:
                await self._own(access, machine, requester)
            return ""
        if before is None or not self._concerns(before):
            self._missing.pop(machine.id, None)
            return ""
        if not seen.proves(before, has_ours=ours):
            self._missing.pop(machine.id, None)
            return f"this seems to be another cluster than that of {before}"
        self._missing.setdefault(machine.id, self.clock.boot())
        twice, reported = self._is_missing(access, machine), machine.health.abandoned
        if twice and not reported and await is_gone(self.server, before):
            await self._disown(access, machine, before)
        return ""

    def _is_missing(self, access: FleetAccess, machine: Machine) -> bool:
        """Tell whether nothing asked for a machine for a gap, and no reading failed meanwhile."""
        gap = access.machines.fleet.timers.sighting_gap.total_seconds()
        now = self.clock.boot()
        return now - self._missing.get(machine.id, now) >= gap

    def _concerns(self, requester: Requester) -> bool:
        """Tell whether a requester is an object of those that are read here."""
        return requester.frontend == ACTOR and self.namespaces.has(requester.namespace)

    def _forget_others(self, living: set[MachineId]) -> None:
        for machine in self._missing.keys() - living:
            self._missing.pop(machine)

    async def _own(self, access: FleetAccess, machine: Machine, requester: Requester) -> None:
        author = access.machines.author("its HostlerMachine is there")
        request = requests.own(author, access.machines.fleet, machine.id, requester)
        await access.machines.record(request)
        access.hear()

    async def _disown(self, access: FleetAccess, machine: Machine, requester: Requester) -> None:
        author = access.machines.author(_GONE)
        request = requests.disown(author, access.machines.fleet, machine.id, requester)
        await access.machines.record(request)
        log.warning("machine without its object", machine=machine.id, object=str(requester))
        access.hear()

    # ------------------------------------------------------------ reclaim

    async def _reclaim(self, held: Iterable[tuple[FleetAccess, Machine]]) -> None:
        """Ask for the end of those that nothing keeps, each by readings of that very moment."""
        orphans = await self.engine.store.orphans()
        may = {
            orphan.machine
            for orphan in orphans
            if orphan.cls is OrphanClass.ABANDONED and not orphan.blocked
        }
        asked = Counter[FleetName]()
        for access, machine in held:
            fleet, now = access.machines.fleet, self.clock.now()
            left = destructions_left(fleet, access.machines.row(), now) - asked[fleet.name]
            if left > 0 and machine.id in may and self._is_missing(access, machine):
                asked[fleet.name] += await self._end(access, machine)

    async def _end(self, access: FleetAccess, machine: Machine) -> bool:
        """Read the cluster, then the record, and end the machine if both still say the same."""
        requester = machine.spec.requester
        if requester is None or not await self._is_abandoned(machine, requester):
            return False
        record = await self.engine.store.machine(machine.id)
        if record is None or record.deletion is not None or record.health.abandoned is None:
            return False
        fleet = access.machines.fleet
        if record.spec.requester != requester or not fleet.reclaim or fleet.protected:
            return False
        author = access.machines.author(_GONE)
        await access.machines.record(requests.reclaim(author, fleet, machine.id, requester))
        log.warning("reclaiming a machine", machine=machine.id, object=str(requester))
        access.hear()
        return True

    async def _is_abandoned(self, machine: Machine, requester: Requester) -> bool:
        seen = await look(self.server, self.namespaces)
        ours = seen.has_ours(one for _, one in self.engine.by_id())
        if seen.owner(machine, self.engine.concerns) is not None or not seen.proves(
            requester, has_ours=ours
        ):
            return False
        return await is_gone(self.server, requester)

    def _tell(self, why: str) -> None:
        """Log why nothing is known, once for each reason."""
        before, self._written = self._written, why
        if why and why != before:
            log.warning("no conclusion about machines without objects", why=why)
