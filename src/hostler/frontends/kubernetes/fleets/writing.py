"""Writing: statuses, finalizers and annotations on objects, only where they differ from what is.

A server that refuses one object, or breaks about it as a webhook may, is left alone about that one
for a while, and stops no other.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

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


V = TypeVar("V")


class _Recent(Generic[V]):
    """Values by the uids of objects, each for so many seconds of boot time and no longer."""

    def __init__(self, lasts: float) -> None:
        self._lasts = lasts
        self._values = OrderedDict[str, tuple[V, float]]()

    def get(self, uid: str, now: float) -> V | None:
        """Return what was put there, while it lasts."""
        self._forget(now)
        found = self._values.get(uid)
        return found[0] if found is not None else None

    def put(self, uid: str, value: V, now: float) -> None:
        """Put a value there; the last ones stand last."""
        self._values[uid] = (value, now + self._lasts)
        self._values.move_to_end(uid)

    def pop(self, uid: str) -> None:
        """Forget one."""
        self._values.pop(uid, None)

    def __iter__(self) -> Iterator[str]:
        """Return the uids, the oldest one first."""
        return iter(self._values)

    def _forget(self, now: float) -> None:
        while self._values and next(iter(self._values.values()))[1] <= now:
            self._values.popitem(last=False)


@dataclass(slots=True)
class Writer:
    """Writes on objects what they lack."""

    client: Client
    clock: Clock
    events: EventRecorder
    _written: _Recent[Fields] = field(default_factory=lambda: _Recent[Fields](TRUSTED))
    _refused: _Recent[bool] = field(default_factory=lambda: _Recent[bool](REFUSED))

    async def safely(self, one: Written, work: Callable[[], Awaitable[None]]) -> None:
        """Have one object that was written meanwhile, or is refused, stop no other."""
        uid = one.metadata.uid
        if self._refused.get(uid, self.clock.boot()):
            return
        try:
            await work()
        except (Conflict, NotFound) as error:
            log.debug("kubernetes.written_meanwhile", object=str(key_of(one)), error=str(error))
        except ApiError as error:
            if error.of_all:
                raise
            self._refused.put(uid, value=True, now=self.clock.boot())
            log.warning("kubernetes.not_written", object=str(key_of(one)), error=str(error))
        else:
            self._refused.pop(uid)

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
        known = self._written.get(uid, self.clock.boot())
        before = known if known is not None else one.status
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
        self._written.put(uid, made, self.clock.boot())
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
