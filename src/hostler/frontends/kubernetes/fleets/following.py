"""Following: the objects of a namespace as they change, in one view."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping

from hostler.frontends.kubernetes.objects.models import FLEETS, HOSTS, PROVIDERS, Written
from hostler.kubernetes.cache import Change
from hostler.kubernetes.client import Client
from hostler.kubernetes.informer import Informer, Surroundings
from hostler.kubernetes.requests import Selection
from hostler.kubernetes.resources import Resource

KINDS: Mapping[str, Resource[Written]] = {
    resource.kind: resource for resource in (FLEETS, PROVIDERS, HOSTS)
}


class Followed:
    """All objects of these kinds in a namespace; `changed` is set by what people write.

    What is written on them by us changes no generation, and sets nothing.
    """

    def __init__(
        self, client: Client, namespace: str, around: Surroundings, kinds: Collection[str]
    ) -> None:
        selection = Selection(namespace=namespace)
        self.changed = asyncio.Event()
        self._informers = {
            kind: Informer(client, resource, around, selection)
            for kind, resource in KINDS.items()
            if kind in kinds
        }
        for informer in self._informers.values():
            informer.on_change(self._heed)

    def of(self, kind: str) -> tuple[Written, ...]:
        """Return all objects of a kind, by name."""
        informer = self._informers.get(kind)
        found = informer.cache if informer is not None else ()
        return tuple(sorted(found, key=lambda one: one.metadata.name))

    async def synced(self) -> None:
        """Return when all that there is was read once."""
        for informer in self._informers.values():
            await informer.synced.wait()

    def runs(self) -> tuple[Callable[[], Coroutine[None, None, None]], ...]:
        """Return what is to be run, each in a task of its own, for ever."""
        return tuple(informer.run for informer in self._informers.values())

    def _heed(self, change: Change[Written]) -> None:
        if change.old is None or change.new is None or _written_by_people(change.old, change.new):
            self.changed.set()


def _written_by_people(old: Written, new: Written) -> bool:
    return (old.metadata.generation, old.ends) != (new.metadata.generation, new.ends)
