"""Rounds: each Node of an engine's machines is brought to what it should be, again and again.

That is labels, annotations and taints, a cordon of ours whose reason has passed, what Cluster
Autoscaler left on the Node of a machine before, Nodes whose machines have ended, and a protection
for machines that must not end. Only for a fleet that this process leads is anything written.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import structlog

from hostler.config.node_tables import NodeTable
from hostler.domain.ids import AccountName, HostId, MachineId, Zone
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.kubernetes.client import Client
from hostler.kubernetes.errors import ApiError, Conflict, NotFound
from hostler.kubernetes.objects import key_of
from hostler.kubernetes.requests import merge_patch
from hostler.ports.clock import Clock
from hostler.requests.machines import protect
from hostler.requests.recording import Author, record

from .autoscaler import protecting
from .drainer import remove
from .fleets import Attached, ManagedFleet
from .objects import NODES, Node
from .sizes import Sizes
from .standing import NodeIndex, Standing, id_of, index, is_of_host, standing
from .upkeep import (
    Change,
    change_of,
    goes_after_its_machine,
    guarded,
    may_go,
    owner_of,
    retained,
)

Guards = tuple[tuple[Node, str], ...]
"""Nodes that are never to be ended, each with why."""

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler")

EVERY = timedelta(seconds=30)
"""How often all Nodes are gone over."""

_ANEW = timedelta(hours=1)
"""When less than this is left of a protection, it is asked for anew."""
_ANSWER = timedelta(minutes=2)
"""How long a protection that was asked for may take to be on record."""


@dataclass(slots=True, kw_only=True)
class Rounds:
    """Goes over the Nodes of one engine's fleets.

    `own_node` is the Node on which this process runs, empty where it runs elsewhere. `observed` are
    the machines' Nodes as they stood the last time, `nodes` all that were there then, None before
    that, and `_refused` why some could not be written.
    """

    client: Client
    clock: Clock
    attached: Attached
    own_node: str = ""
    sizes: Sizes = field(default_factory=Sizes)
    observed: Mapping[MachineId, Standing] = field(default_factory=dict[MachineId, Standing])
    nodes: NodeIndex | None = None
    _guards: dict[AccountName, Guards | None] = field(
        default_factory=dict[AccountName, Guards | None]
    )
    _protecting: dict[MachineId, datetime] = field(default_factory=dict[MachineId, datetime])
    _refused: dict[str, str] = field(default_factory=dict[str, str])

    async def go_over(self) -> None:
        """Go over all Nodes once. Raises ApiError and StoreError."""
        nodes = await self.look()
        self._refused = {name: why for name, why in self._refused.items() if name in nodes.by_name}
        living, observed = set[str](), dict[MachineId, Standing]()
        joined = dict[str, ManagedFleet]()
        for fleet in self.attached.fleets:
            for machine, node in fleet.pairs(nodes):
                living.add(node.metadata.uid)
                if provider_id := id_of(node):
                    joined[provider_id] = fleet
                observed[machine.id] = self._noted(machine, standing(node))
                self.sizes.learn(fleet.fleet.name, node)
                if fleet.records.leads:
                    await self._safely(node, partial(self._keep, fleet, machine, node))
        self.observed = observed
        for node in nodes.by_name.values():
            if node.metadata.uid not in living:
                await self._safely(node, partial(self._remove, node, joined.get(id_of(node))))

    async def look(self) -> NodeIndex:
        """Return all Nodes as they are now, and remember them. Raises ApiError."""
        self.nodes, self._guards = index((await self.client.list_all(NODES)).items), {}
        return self.nodes

    def guarded(
        self, account: AccountName, hosts: Iterable[tuple[Zone, HostId]]
    ) -> Mapping[HostId, str] | None:
        """Return which of these hosts have Nodes that are never to be ended; see the port.

        Of several fleets that may have a host one suffices that was told to end such a Node. Where
        that is so, and we run nowhere there, nothing need be known: so a cluster can be founded.
        """
        if account not in self._guards:
            tables = [one.table for one in self.attached.fleets if one.fleet.account == account]
            self._guards[account] = self._guards_by(tables)
        guards = self._guards[account]
        if guards is None:
            return None
        return {
            host: why
            for zone, host in (hosts if guards else ())
            for node, why in guards
            if is_of_host(node, zone, host)
        }

    def _guards_by(self, tables: Collection[NodeTable]) -> Guards | None:
        """Return the Nodes that are never to be ended, by what all of these tables say."""
        may_end = any(table.managed and table.managed.control_plane for table in tables)
        if self.nodes is None:
            return () if may_end and not self.own_node else None
        nodes = self.nodes.by_name.values() if tables else ()
        whys = ((node, min(guarded(node, self.own_node, one) for one in tables)) for node in nodes)
        return tuple((node, why) for node, why in whys if why)

    async def _safely(self, node: Node, work: Callable[[], Awaitable[None]]) -> None:
        """Have one Node that is refused, as a webhook may, stop no other; that is logged once.

        Where no answer comes the round ends: each of the others would be waited for as long.
        """
        name = node.metadata.name
        before = self._refused.pop(name, "")
        try:
            await work()
        except ApiError as error:
            if not error.code:
                raise
            self._refused[name] = str(error)
            if str(error) != before:
                log.warning("node not written", node=name, error=str(error))

    def _noted(self, machine: Machine, now: Standing) -> Standing:
        """Log how a Node stands where that changed."""
        before = self.observed.get(machine.id)
        if before is None or before.readiness is not now.readiness:
            age = now.age(self.clock.now())
            seconds = None if age is None else round(age.total_seconds())
            stands = str(now.readiness)
            log.info("node seen", machine=machine.id, stands=stands, age=seconds, why=now.text)
        return now

    async def _keep(self, fleet: ManagedFleet, machine: Machine, node: Node) -> None:
        """Write what a Node lacks; where somebody wrote in between, the next round does."""
        if why := guarded(node, self.own_node, fleet.table):
            await self._protect(fleet, machine, why)
        protected = fleet.autoscaled and machine.is_protected(self.clock.now())
        more = protecting(node, machine, protected=protected)
        table = fleet.table_of(machine)
        change = change_of(node, machine, table, self.attached.installation, more)
        await self._write(node, change, machine.id)

    async def _write(self, node: Node, change: Change, machine: MachineId) -> None:
        if not change:
            return
        spec = {"spec": dict(change.spec)} if change.spec else {}
        patch = merge_patch(spec, node.metadata, change.metadata)
        with suppress(Conflict, NotFound):
            await self.client.patch(NODES, key_of(node), patch)
            log.info("node changed", node=node.metadata.name, machine=machine)

    async def _protect(self, fleet: ManagedFleet, machine: Machine, why: str) -> None:
        """Ask that a machine is left alone, for as long as may be asked for at once."""
        now, protection = self.clock.now(), machine.protection
        if protection is not None and protection.until > now + _ANEW:
            return
        asked = self._protecting.get(machine.id)
        if asked is not None and timedelta(0) <= now - asked < _ANSWER:
            return
        author = Author(name="hostler", at=now, why=why)
        await record(self.attached.store, (protect(author, fleet.fleet, machine),))
        self._protecting[machine.id] = now

    async def _remove(self, node: Node, joined: ManagedFleet | None) -> None:
        """Remove the Node of a machine of ours that is in the history, and of nobody living.

        Or of one whose start was tried again elsewhere: it has another Node by now, or another
        host, or it still waits for what it could run on. The same where its host has `joined` again
        under another name, as a Node of this fleet: of two with one provider ID Cluster API's core
        takes neither.

        One that stays for the next machine of its box counts as deleted meanwhile, where Cluster
        Autoscaler asks for the machines: else it would be one that is not ready.
        """
        if joined is not None:
            if joined.managed.remove and joined.records.leads and may_go(node):
                await remove(self.client, node)
            return
        name = owner_of(node, self.attached.installation)
        found = await self.attached.store.machine(name) if name is not None else None
        if found is None:
            return
        self.sizes.learn(found.fleet, node)
        ended = found.phase is Phase.DELETED
        left = ended or found.id in self.observed or _lacks_all(found) or _has_other(found, node)
        if not left or not may_go(node):
            return
        fleets = (one for one in self.attached.fleets if one.fleet.name == found.fleet)
        fleet = next(fleets, None)
        if fleet is None:  # it is gone, and nobody leads it: of its last machine nothing changes
            if ended and goes_after_its_machine(node):
                await remove(self.client, node)
            return
        if not fleet.records.leads:
            return
        if fleet.managed.remove:
            await remove(self.client, node)
        elif fleet.autoscaled:
            await self._write(node, retained(node, self.clock.now()), found.id)


def _lacks_all(machine: Machine) -> bool:
    """Tell whether a machine that starts has nothing yet, or no more, that could be a Node."""
    starts = machine.phase in {Phase.PENDING, Phase.STARTING}
    return starts and machine.host is None and not any(place.bound for place in machine.places)


def _has_other(machine: Machine, node: Node) -> bool:
    """Tell whether a machine that starts has another host by now than the one of a Node."""
    starts = machine.phase in {Phase.PENDING, Phase.STARTING} and machine.host is not None
    return starts and not is_of_host(node, machine.offer.zone, str(machine.host))
