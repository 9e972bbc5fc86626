"""Writing: statuses, finalizers and annotations on objects, only where they differ from what is.

A server that refuses one object, or breaks about it as a webhook may, is left alone about that one
for a while, and stops no other.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

import structlog

from hostler.frontends.kubernetes.objects.models import Fields, Written
from hostler.kubernetes.client import Client
from hostler.kubernetes.errors import ApiError, Conflict, NotFound
from hostler.kubernetes.objects import Metadata, key_of
from hostler.kubernetes.requests import merge_patch
from hostler.kubernetes.resources import Resource
from hostler.ports.clock import Clock

from .events import EventRecorder
from .status import Condition, differs, document, written_conditions

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.kubernetes")

FINALIZER = "hostler.dev/ends"
TRUSTED = 15.0
"""Seconds for which what was just written is believed to be there, whatever the cache shows."""
REFUSED = 30.0
"""Seconds for which an object is left alone that could not be written."""


@dataclass(slots=True)
class Writer:
    """Writes on objects what they lack."""

    client: Client
    clock: Clock
    events: EventRecorder
    _written: dict[str, tuple[Fields, float]] = field(
        default_factory=dict[str, tuple[Fields, float]]
    )
    _refused: dict[str, float] = field(default_factory=dict[str, float])

    async def safely(self, one: Written, work: Callable[[], Awaitable[None]]) -> None:
        """Have one object that was written meanwhile, or is refused, stop no other."""
        uid = one.metadata.uid
        if self._refused.get(uid, 0.0) > self.clock.boot():
            return
        try:
            await work()
        except (Conflict, NotFound) as error:
            log.debug("kubernetes.written_meanwhile", object=str(key_of(one)), error=str(error))
        except ApiError as error:
            if error.of_all:
                raise
            self._refused[uid] = self.clock.boot() + REFUSED
            log.warning("kubernetes.not_written", object=str(key_of(one)), error=str(error))
        else:
            self._refused.pop(uid, None)

    async def status(
        self,
        resource: Resource[Written],
        one: Written,
        fields: Fields,
        conditions: Iterable[Condition],
        generation: int,
    ) -> None:
        """Write a status where it differs from what is there, or is believed to be there."""
        uid, found = one.metadata.uid, tuple(conditions)
        known, at = self._written.get(uid, (None, -TRUSTED))
        before = known if known is not None and self.clock.boot() - at < TRUSTED else one.status
        made = document(fields, found, generation, before, self.clock.now())
        if not differs(made, before):
            return
        item = Written(
            api_version=resource.api_version,
            kind=resource.kind,
            metadata=Metadata(name=one.metadata.name, namespace=one.metadata.namespace),
            status=made,
        )
        await self.client.apply(resource, item, "status", force=True)
        self._written[uid] = (made, self.clock.boot())
        stood = {one["type"]: one["status"] for one in written_conditions(before)}
        for condition in found:
            if stood.get(condition.type, "False") != condition.status:
                await self.events.record(resource, one, condition)

    async def hold(self, resource: Resource[Written], one: Written) -> None:
        """Have an object stay after its deletion until what it asks for is done."""
        present = one.metadata.finalizers or ()
        if FINALIZER not in present:
            await self._finalizers(resource, one, (*present, FINALIZER))

    async def release(self, resource: Resource[Written], one: Written) -> None:
        """Let an object go that was deleted."""
        present = one.metadata.finalizers or ()
        if FINALIZER in present:
            log.info("kubernetes.released", kind=resource.kind, object=str(key_of(one)))
            others = tuple(name for name in present if name != FINALIZER)
            await self._finalizers(resource, one, others)

    async def annotate(
        self, resource: Resource[Written], one: Written, values: Mapping[str, str | None]
    ) -> None:
        """Set these annotations, None to take one off, unless somebody wrote meanwhile."""
        present = one.metadata.annotations or {}
        changed = {name: value for name, value in values.items() if present.get(name) != value}
        if changed:
            patch = merge_patch({}, one.metadata, {"annotations": changed})
            await self.client.patch(resource, key_of(one), patch)

    async def _finalizers(
        self, resource: Resource[Written], one: Written, names: tuple[str, ...]
    ) -> None:
        patch = merge_patch({}, one.metadata, {"finalizers": list(names)})
        await self.client.patch(resource, key_of(one), patch)
