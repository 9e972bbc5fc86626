"""Reported: what a reporter is given, and what all that it writes is looked up by."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from hostler.config.values import Config
from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import FleetRow
from hostler.frontends.kubernetes.nodes.standing import Standing
from hostler.frontends.kubernetes.objects.assembly import Place, Verdict
from hostler.frontends.kubernetes.objects.models import Written
from hostler.frontends.kubernetes.objects.reach import provider_key
from hostler.ports.clock import Clock
from hostler.ports.store import Store
from hostler.queries.removed import RemovedFleet, held_of

from .following import Followed
from .source import Source


def _no_node(machine: MachineId) -> Standing | None:
    del machine
    return None


class Reported(Struct, frozen=True, kw_only=True):
    """What a reporter is given: records, objects, what is in force, and whether we write at all.

    `with_removed` adds the fleets that the store holds and nobody asks for any more; `node` tells
    how the Node of a machine stands, `reloads` whether an engine is about to run other tables.
    """

    followed: Followed
    source: Source
    store: Store
    clock: Clock
    leads: Callable[[], bool]
    with_removed: Callable[[Config, Store], Awaitable[Config]]
    reloads: Callable[[], bool]
    node: Callable[[MachineId], Standing | None] = _no_node

    def name(self, one: Written) -> str:
        """Return how the engine calls an object."""
        return self.source.namespaces.name_of(one.metadata)

    def provider_name(self, host: Written) -> str:
        """Return how the engine calls the provider that a Host names."""
        key = provider_key(host)
        return self.source.namespaces.name(key.namespace, key.name)

    def verdict(self, one: Written, place: Place) -> tuple[Verdict | None, int]:
        """Return what is said of an object, and of which generation; None where it is not judged.

        Another one of its name may have been.
        """
        judged = self.source.judged
        if (generation := judged.generations.get(one.metadata.uid)) is None:
            return None, 0
        return judged.assembly.verdicts.get(place), generation

    async def held(self, row: FleetRow) -> RemovedFleet:
        """Return the machines of a fleet, the hosts that it bought, and its orders under way.

        A host stays on the bill when its last machine has left it, until an engine gives it up.
        """
        return await held_of(self.store, row, (await self.store.hosts(), ()), self.clock.now())
