"""Events: what became of an object, for `kubectl describe` and `kubectl events`; each kind once.

The same thing that happens again is counted on the event that is there.
"""

import hashlib
from collections.abc import Mapping

import msgspec
import structlog

from hostler.frontends.kubernetes.objects.models import Written
from hostler.kubernetes.client import Client
from hostler.kubernetes.errors import AlreadyExists, ApiError
from hostler.kubernetes.objects import Key, Metadata, micro_time
from hostler.kubernetes.requests import merge_patch
from hostler.kubernetes.resources import Resource
from hostler.ports.clock import Clock

from .status import ACCEPTED, Condition

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.kubernetes")

CONTROLLER = "hostler.dev/hostler"
_LONGEST = 1024
"""How many bytes a note may have: Kubernetes' NoteLengthLimit (pkg/apis/core/validation)."""


class Series(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How often the same happened, and when last."""

    count: int
    last_observed_time: str


class Happened(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An Event of events.k8s.io/v1; dates are MicroTimes."""

    metadata: Metadata
    event_time: str | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    type: str = ""
    note: str = ""
    regarding: Mapping[str, str] | None = None
    series: Series | None = None


EVENTS = Resource(
    group="events.k8s.io", version="v1", plural="events", kind="Event", model=Happened
)


class EventRecorder:
    """Writes Events about objects; `instance` is which process it was."""

    def __init__(self, client: Client, clock: Clock, instance: str) -> None:
        self._client, self._clock, self._instance = client, clock, instance[:128]

    async def record(self, resource: Resource[Written], one: Written, about: Condition) -> None:
        """Record that a condition came to hold, or ceased to; what cannot be recorded is logged."""
        normal = about.holds is not False or about.type != ACCEPTED
        event = self._event(resource, one, about, "Normal" if normal else "Warning")
        try:
            await self._record(event)
        except ApiError as error:
            log.info("kubernetes.no_event", object=one.metadata.name, error=str(error))

    async def _record(self, event: Happened) -> None:
        try:
            await self._client.create(EVENTS, event)
        except AlreadyExists:
            await self._again(Key(event.metadata.namespace, event.metadata.name))

    def _event(
        self, resource: Resource[Written], one: Written, about: Condition, kind: str
    ) -> Happened:
        note = _within(about.message) or f"{about.type} is {about.status}"
        parts = (one.metadata.uid, about.type, about.status, about.reason, note)
        digest = hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]
        return Happened(
            metadata=Metadata(
                name=f"{one.metadata.name[:200]}.{digest}", namespace=one.metadata.namespace
            ),
            event_time=micro_time(self._clock.now()),
            reporting_controller=CONTROLLER,
            reporting_instance=self._instance,
            action="Reconcile",
            reason=about.reason[:128],
            type=kind,
            note=note,
            regarding={
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "name": one.metadata.name,
                "namespace": one.metadata.namespace,
                "uid": one.metadata.uid,
            },
        )

    async def _again(self, key: Key) -> None:
        found = await self._client.get(EVENTS, key)
        count = found.series.count if found.series is not None else 1
        series = {"count": count + 1, "lastObservedTime": micro_time(self._clock.now())}
        await self._client.patch(EVENTS, key, merge_patch({"series": series}, found.metadata))


def _within(message: str) -> str:
    """Return as many whole letters of a message as a note has room for."""
    return message.encode()[:_LONGEST].decode(errors="ignore")
