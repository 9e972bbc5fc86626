"""Following: the objects of the namespaces that are read as they change, in one view."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping

from hostler.frontends.kubernetes.objects.models import FLEETS, HOSTS, PROVIDERS, Written
from hostler.kubernetes.cache import Change
from hostler.kubernetes.client import Client
from hostler.kubernetes.informer import Informers, Surroundings
from hostler.kubernetes.objects import key_of
from hostler.kubernetes.requests import Selection
from hostler.kubernetes.resources import Resource

from .writing import FINALIZER

Selections = Mapping[str, Iterable[Selection]]
"""What is read of each kind."""

KINDS: Mapping[str, Resource[Written]] = {
    resource.kind: resource for resource in (FLEETS, PROVIDERS, HOSTS)
}


class Followed:
    """All objects of what is read of each kind; `changed` is set by what people write.

    What is written on them by us changes no generation, and sets nothing; but that we hold one.
    """

    def __init__(self, client: Client, around: Surroundings, selections: Selections) -> None:
        self.changed = asyncio.Event()
        self._informers = {
            kind: Informers(client, resource, around, selections[kind])
            for kind, resource in KINDS.items()
            if kind in selections
        }
        for informer in self._informers.values():
            informer.on_change(self._heed)

    def of(self, kind: str) -> tuple[Written, ...]:
        """Return all objects of a kind, by namespace and name."""
        informer = self._informers.get(kind)
        found = informer.cache if informer is not None else ()
        return tuple(sorted(found, key=key_of))

    async def synced(self) -> None:
        """Return when all that there is was read once."""
        for informer in self._informers.values():
            await informer.synced()

    async def list_anew(self) -> None:
        """Return when all that there is from now on was read."""
        async with asyncio.TaskGroup() as group:
            for informer in self._informers.values():
                group.create_task(informer.list_anew())

    def runs(self) -> tuple[Callable[[], Coroutine[None, None, None]], ...]:
        """Return what is to be run, each in a task of its own, for ever."""
        return tuple(informer.run for informer in self._informers.values())

    def _heed(self, change: Change[Written]) -> None:
        if change.old is None or change.new is None or _read(change.old) != _read(change.new):
            self.changed.set()


def is_held(one: Written) -> bool:
    """Tell whether an object that is deleted stays until what it asks for is done."""
    return FINALIZER in (one.metadata.finalizers or ())


def _read(one: Written) -> tuple[int, bool, bool]:
    """Return what of an object counts for what is in force."""
    return one.metadata.generation, one.ends, is_held(one)
