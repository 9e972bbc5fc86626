"""Looking: which machines the objects of a cluster ask for, by one whole and fresh reading.

No cache is asked: a watch that was cut may be behind by minutes, and what is concluded here is that
nobody asks for a machine.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from msgspec.structs import replace

from hostler.domain.model.machine import Machine
from hostler.domain.model.requester import Requester
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.kubernetes.errors import Forbidden, KindNotServed, NotFound
from hostler.kubernetes.objects import Key, Listing, M
from hostler.kubernetes.requests import Selection
from hostler.kubernetes.resources import Resource

from .names import ACTOR, SYSTEM
from .objects import MACHINES, NAMESPACES, HostlerMachine

Concerns = Callable[[Machine, str], bool]
"""Tells whether a machine is any matter of the objects of a namespace."""


class Reads(Protocol):
    """What is needed of a client to look: each answer is the server's own, never a cached one."""

    async def get(self, resource: Resource[M], key: Key) -> M:
        """Return an object, or NotFound."""
        ...

    async def list_all(self, resource: Resource[M], selection: Selection) -> Listing[M]:
        """Return all objects as of one version."""
        ...


@dataclass(slots=True)
class Identity:
    """Which cluster this is, read once; ApiError goes through, so that it is read again."""

    server: Reads
    _uid: str | None = field(default=None)

    async def uid(self) -> str:
        """Return the uid of the system's namespace; empty where that may not be read."""
        if self._uid is None:
            self._uid = await system_uid(self.server)
        return self._uid


async def system_uid(server: Reads) -> str:
    """Return the uid of the system's namespace as of now; empty where that may not be read."""
    try:
        return (await server.get(NAMESPACES, Key("", SYSTEM))).metadata.uid
    except (Forbidden, NotFound):
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """All HostlerMachines of the namespaces of a cluster that are read, at one moment.

    `by_id` are those that ask for each machine, `by_uid` those that do not say which, each with its
    place in `items`.
    """

    cluster: str
    items: tuple[HostlerMachine, ...]
    by_id: Mapping[str, list[int]] = field(init=False, repr=False)
    by_uid: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Note where each one is: thousands are looked for, one after the other."""
        by_id, by_uid = dict[str, list[int]](), dict[str, int]()
        for place, item in enumerate(self.items):
            if item.spec is not None and item.spec.machine_id:
                by_id.setdefault(item.spec.machine_id, []).append(place)
            else:
                by_uid.setdefault(item.metadata.uid, place)
        object.__setattr__(self, "by_id", by_id)
        object.__setattr__(self, "by_uid", by_uid)

    def owner(self, machine: Machine, concerns: Concerns) -> HostlerMachine | None:
        """Return the object that asks for a machine, wherever it was moved to; None: none does.

        Of several that name its id it is the one that asked: the others are copies.
        An object of a namespace that the machine does not concern asks for nothing by its id.
        """
        requester = machine.spec.requester
        by_uid = self.by_uid.get(requester.uid) if requester is not None else None
        places = (*self.by_id.get(machine.id, ()), *(() if by_uid is None else (by_uid,)))
        found = (self.items[place] for place in sorted(places))
        able = [one for one in found if concerns(machine, one.metadata.namespace)]
        uid = requester.uid if requester is not None else ""
        return next((one for one in able if one.metadata.uid == uid), next(iter(able), None))

    def has_ours(self, machines: Iterable[Machine]) -> bool:
        """Tell whether any object asks for one of these machines."""
        return any(machine.id in self.by_id for machine in machines)

    def proves(self, requester: Requester, *, has_ours: bool) -> bool:
        """Tell whether what it lacks is lacking where the requester was.

        Either it is the very cluster; or, where that cannot be told, it has other objects that ask
        for machines of ours (`has_ours`): an empty list might be anybody's.
        """
        if requester.cluster and self.cluster:
            return requester.cluster == self.cluster
        return has_ours


async def look(server: Reads, namespaces: Namespaces) -> Look:
    """Read everything afresh. ApiError: nothing is known, least of all that something is gone."""
    cluster = await system_uid(server)
    items = list[HostlerMachine]()
    for selection in namespaces.selections:
        items += (await server.list_all(MACHINES, selection)).items
    return Look(cluster=cluster, items=tuple(items))


async def is_gone(server: Reads, requester: Requester) -> bool:
    """Tell whether an object is not there any more, whatever a list says; ApiError: unknown."""
    try:
        found = await server.get(MACHINES, Key(requester.namespace, requester.name))
    except KindNotServed:
        raise
    except NotFound:
        return True
    return found.metadata.uid != requester.uid


def requester_of(item: HostlerMachine, cluster: str, before: Requester | None = None) -> Requester:
    """Return an object as who asks; a cluster that cannot be told now stays the one of before."""
    found = Requester(
        frontend=ACTOR,
        cluster=cluster,
        kind=MACHINES.kind,
        namespace=item.metadata.namespace,
        name=item.metadata.name,
        uid=item.metadata.uid,
    )
    return replace(found, cluster=before.cluster) if before is not None and not cluster else found
