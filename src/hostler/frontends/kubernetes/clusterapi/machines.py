"""Machines: what is decided about each HostlerMachine is done, one object at a time."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol, assert_never

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import FleetName
from hostler.kubernetes.objects import Key, M, Metadata, key_of
from hostler.kubernetes.requests import Patch
from hostler.kubernetes.resources import Resource
from hostler.ports.clock import Clock

from . import patches
from .acts import Act, Adopt, Claim, End, Grow, Leave, Place
from .bootstrap import BootstrapPlace, examined
from .caches import Caches
from .decision import decide
from .engine import EngineAccess
from .looking import Identity, requester_of
from .objects import MACHINES, CoreMachine, HostlerMachine, MachineStatus
from .standing import Standing, View

_ACTS = 8
"""How many acts one object may need in one go; more means that something goes in circles."""

_TEXTS = timedelta(seconds=60)
"""How long a condition's message stands before another one with the same reason replaces it."""


class Api(Protocol):
    """What is needed of a client to act."""

    async def get(self, resource: Resource[M], key: Key) -> M:
        """Return an object, or NotFound."""
        ...

    async def patch(
        self, resource: Resource[M], key: Key, patch: Patch, subresource: str = ""
    ) -> M:
        """Change an object that is there."""
        ...


class _Own(Struct, frozen=True):
    """An object as we wrote it last, and the versions that are older than that."""

    item: HostlerMachine
    before: frozenset[str]


@dataclass(slots=True, kw_only=True)
class MachineReconciler:
    """Brings one HostlerMachine after the other to where it should be; errors go through."""

    api: Api
    caches: Caches
    engine: EngineAccess
    clock: Clock
    identity: Identity
    _written: dict[Key, float] = field(default_factory=dict[Key, float])
    _own: dict[Key, "_Own"] = field(default_factory=dict[Key, "_Own"])

    async def reconcile(self, key: Key) -> timedelta | None:
        """Do what is to be done for an object now; return when to look again in any case."""
        item = self._newest(key)
        if item is None:
            self._written.pop(key, None)
            self._own.pop(key, None)
            return None
        for _ in range(_ACTS):
            decision = decide(await self._view(item))
            if decision.act is None:
                pause = await self._write(item, decision.status)
                return _sooner(decision.again, pause)
            changed = await self._act(item, decision.act)
            if changed is None:
                return None
            item = changed
        return timedelta(seconds=1)

    def _newest(self, key: Key) -> HostlerMachine | None:
        """Return an object as the watch has it, or as we wrote it where the watch lags."""
        item, own = self.caches.items.cache.get(key), self._own.get(key)
        if own is None:
            return item
        if item is not None and item.metadata.resource_version in own.before:
            return own.item
        self._own.pop(key, None)
        return item

    async def _view(self, item: HostlerMachine) -> View:
        owner = self.caches.owner(item.metadata)
        view = View(
            item=item,
            now=self.clock.now(),
            owner=owner,
            cluster=self.caches.cluster(item.metadata, owner),
        )
        fleet, namespace = self._fleet(item), item.metadata.namespace
        standing = self._unless_copied(item, await self.engine.standing(fleet, view.id, namespace))
        rival = self.caches.rival(standing.provider_id, key_of(item))
        view = replace(view, standing=standing, rival=rival)
        if view.needs_bootstrap:
            view = replace(view, bootstrap=await self._bootstrap(item.metadata, owner))
        return view

    def _unless_copied(self, item: HostlerMachine, standing: Standing) -> Standing:
        """Return that a machine is none of this object's where another one, still there, asked.

        Whoever copies an object copies the machine's id with it, and may delete the copy.
        """
        machine = standing.machine
        requester = machine.spec.requester if machine is not None else None
        if machine is None or requester is None or requester.uid in {"", item.metadata.uid}:
            return standing
        other = self.caches.asker(machine.id, requester.uid)
        return Standing(fleet=standing.fleet, issued=True, asker=other) if other else standing

    def _fleet(self, item: HostlerMachine) -> FleetName:
        name = item.spec.fleet_name if item.spec is not None else ""
        return self.engine.fleet_of(item.metadata.namespace, name)

    async def _bootstrap(
        self, metadata: Metadata, owner: CoreMachine | None
    ) -> BootstrapPlace | None:
        """Return where the bootstrap data is, where there is some."""
        if metadata.deletion_timestamp is not None or owner is None or owner.spec is None:
            return None
        name = owner.spec.bootstrap.data_secret_name
        return await examined(self.api, Key(metadata.namespace, name)) if name else None

    # ------------------------------------------------------------ acts

    async def _act(self, item: HostlerMachine, act: Act) -> HostlerMachine | None:
        """Do one act; return the object after it, None where there is nothing more to do."""
        read = item.metadata
        match act:
            case Claim():
                return await self._patch(item, patches.claimed(read, act.machine))
            case Place():
                return await self._patch(item, patches.placed(read, act.provider_id))
            case Grow():
                return await self._grow(item, act)
            case Adopt():
                return await self._adopt(item, act)
            case End():
                await self.engine.end(self._fleet(item), act.machine, retires=act.retires)
                return item
            case Leave():
                await self._patch(item, patches.left(read))
                return None
            case _:
                assert_never(act)

    async def _patch(
        self, item: HostlerMachine, patch: Patch, subresource: str = ""
    ) -> HostlerMachine:
        key = key_of(item)
        changed = await self.api.patch(MACHINES, key, patch, subresource)
        before = self._own[key].before if key in self._own else frozenset[str]()
        version = item.metadata.resource_version
        self._own[key] = _Own(changed, before | {version} - {changed.metadata.resource_version})
        return changed

    async def _grow(self, item: HostlerMachine, act: Grow) -> HostlerMachine | None:
        """Ask for the machine if the object still wants it, by a fresh read.

        The cache may lag: an object that is on its way out would get a machine that nobody ends.
        """
        fresh = await self.api.get(MACHINES, key_of(item))
        same = fresh.metadata.uid == item.metadata.uid
        wants = fresh.spec is not None and fresh.spec.machine_id == act.machine
        if not same or not wants or fresh.metadata.deletion_timestamp is not None:
            return None  # the watch brings it
        if not fresh.metadata.finalizers:
            return fresh
        spec = replace(act.spec, requester=requester_of(fresh, await self.identity.uid()))
        await self.engine.grow(self._fleet(item), act.machine, spec)
        return fresh

    async def _adopt(self, item: HostlerMachine, act: Adopt) -> HostlerMachine:
        """Ask for the host if the object is still as it was, by a fresh read; else return that.

        A person says which host it is, and may have taken that back: then it is decided anew.
        """
        fresh = await self.api.get(MACHINES, key_of(item))
        if fresh.metadata.resource_version != item.metadata.resource_version:
            return fresh
        requester = requester_of(fresh, await self.identity.uid())
        await self.engine.adopt(self._fleet(fresh), act, requester)
        return fresh

    async def _write(self, item: HostlerMachine, status: MachineStatus | None) -> timedelta | None:
        """Write a status where it says something else; return when it may be written if not now."""
        before = item.status or MachineStatus()
        if status is None or status == before:
            return None
        key, now = key_of(item), self.clock.boot()
        last = self._written.get(key)
        if last is not None and _without_texts(status) == _without_texts(before):
            left = timedelta(seconds=last - now) + _TEXTS
            if left > timedelta(0):
                return left
        patch = patches.status_of_machine(item.metadata, status)
        await self._patch(item, patch, "status")
        self._written[key] = now
        return None


def _without_texts(status: MachineStatus) -> MachineStatus:
    conditions = tuple(msgspec.structs.replace(one, message="") for one in status.conditions)
    return msgspec.structs.replace(status, conditions=conditions)


def _sooner(one: timedelta | None, other: timedelta | None) -> timedelta | None:
    known = [each for each in (one, other) if each is not None]
    return min(known, default=None)
