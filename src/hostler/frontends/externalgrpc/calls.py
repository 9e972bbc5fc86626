"""Calls: what Cluster Autoscaler sends, as plain values, whichever generation it is of."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Protocol, cast

from google.protobuf.message import DecodeError, Message
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from msgspec import Struct

from hostler.config.quantities import quantity

from .schema import field, inner, many, read, text

FAKE = "k8s.io/cluster-autoscaler/fake-node-reason"
"""The annotation of nodes that Cluster Autoscaler makes up for instances without one."""


class State(IntEnum):
    """How an instance stands, by the numbers of the wire."""

    RUNNING = 1
    CREATING = 2
    DELETING = 3


class Trouble(Struct, frozen=True):
    """Why an instance cannot be made; `kind` 1 is out of resources, 99 anything else."""

    code: str
    text: str
    kind: int


class Instance(Struct, frozen=True):
    """One instance of a node group; `id` is the provider id of its node."""

    id: str
    state: State
    trouble: Trouble | None = None


class NodeRef(Struct, frozen=True, kw_only=True):
    """A node that Cluster Autoscaler asks about; `fake` where it made it up."""

    provider_id: str
    name: str
    labels: Mapping[str, str]
    fake: bool

    def __str__(self) -> str:
        """Return what to call it in an error, shortened: it comes from outside."""
        return repr((self.provider_id or self.name)[:120])


class Window(Struct, frozen=True):
    """The time that a price is for."""

    begin: datetime
    end: datetime

    @property
    def hours(self) -> float:
        """Its length in hours; nothing where it ends before it begins."""
        return max(0.0, (self.end - self.begin) / timedelta(hours=1))


class _Time(Protocol):
    seconds: int
    nanos: int


def node_of(message: Message) -> NodeRef:
    """Return the node of an ExternalGrpcNode."""
    return NodeRef(
        provider_id=text(message, "providerID"),
        name=text(message, "name"),
        labels=dict(cast("Mapping[str, str]", field(message, "labels"))),
        fake=FAKE in cast("Mapping[str, str]", field(message, "annotations")),
    )


def window_of(request: Message) -> Window:
    """Return the window that a price is asked for; GRPCError where it is none."""
    return Window(_time(request, "start"), _time(request, "end"))


def _time(request: Message, which: str) -> datetime:
    """Return a time of the newer field, else of the older one."""
    name = next((n for n in (f"{which}Timestamp", f"{which}Time") if request.HasField(n)), None)
    if name is None:
        raise GRPCError(Status.INVALID_ARGUMENT, f"no {which} of the time that the price is for")
    time = cast("_Time", field(request, name))
    try:
        return datetime.fromtimestamp(time.seconds + time.nanos / 1e9, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise GRPCError(Status.INVALID_ARGUMENT, f"{which}: no time: {error}") from error


def requests_of(request: Message) -> Mapping[str, float]:
    """Return what the containers of a pod request, by resource; GRPCError where it is no pod."""
    pod = inner(request, "pod")
    if content := cast("bytes", field(request, "pod_bytes")):
        try:
            pod = read("Pod", content)
        except DecodeError as error:
            raise GRPCError(Status.INVALID_ARGUMENT, "pod_bytes: no pod") from error
    running, first = (_asked(inner(pod, "spec"), name) for name in ("containers", "initContainers"))
    return {
        name: max(sum(running.get(name, ())), max(first.get(name, ()), default=0.0))
        for name in {*running, *first}
    }


def _asked(spec: Message, name: str) -> Mapping[str, list[float]]:
    """Return what each container requests, by resource."""
    found = dict[str, list[float]]()
    for container in many(spec, name):
        requests = cast("Mapping[str, Message]", field(inner(container, "resources"), "requests"))
        for resource, amount in requests.items():
            found.setdefault(resource, []).append(quantity(text(amount, "string")) or 0.0)
    return found
