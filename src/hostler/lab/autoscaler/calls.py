"""Calls: how Cluster Autoscaler reaches the service: its real handlers, by the wire's bytes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from google.protobuf.message import Message
from grpclib.exceptions import GRPCError
from msgspec import Struct

from hostler.frontends.externalgrpc.calls import FAKE, State
from hostler.frontends.externalgrpc.schema import (
    METHODS,
    SERVICE,
    class_of,
    inner,
    many,
    message,
    number,
    text,
)

from .service import Service

TIMEOUT = 5.0
"""How long, in seconds, one call may take: the client's own default."""


class CallFailed(Exception):
    """A call was refused, or nobody answered it; `refused` says that the service answered so."""

    def __init__(self, why: str, *, refused: bool) -> None:
        self.refused = refused
        super().__init__(why)


class Listed(Struct, frozen=True):
    """A node group as it is listed."""

    id: str
    minimum: int
    maximum: int


class Seen(Struct, frozen=True):
    """One instance as it is listed; `state` by the wire's number, `error` empty without one."""

    id: str
    state: int
    error: str = ""

    @property
    def ends(self) -> bool:
        """Whether it is being deleted."""
        return self.state == State.DELETING


class NodeName(Struct, frozen=True):
    """A node as it is sent: its providerID and name; `fake` where core made it up."""

    provider_id: str
    name: str
    fake: bool = False

    def fields(self) -> Mapping[str, object]:
        """Return the fields of its message."""
        annotations = {FAKE: "unregistered"} if self.fake else {}
        return {"providerID": self.provider_id, "name": self.name, "annotations": annotations}


class _Handler(Protocol):
    """What grpclib has of one call, which it does not type."""

    func: Callable[[object], Awaitable[None]]
    request_type: type[Message]


@dataclass(slots=True)
class _Wire:
    """One call's stream: what is received and sent goes through bytes."""

    request: Message
    reply: bytes = b""

    async def recv_message(self) -> Message:
        """Return the request as it is read."""
        return self.request

    async def send_message(self, reply: Message) -> None:
        """Take the answer as it is written."""
        self.reply = reply.SerializeToString()


@dataclass(slots=True)
class Client:
    """The client of externalgrpc in Cluster Autoscaler: one method for each call of core."""

    service: Service

    async def refresh(self) -> None:
        """Begin a loop."""
        await self._call("Refresh")

    async def groups(self) -> list[Listed]:
        """Return every node group."""
        answer = await self._call("NodeGroups")
        return [_listed(group) for group in many(answer, "nodeGroups")]

    async def group_of(self, node: NodeName) -> Listed | None:
        """Return the group of a node; None where it has none."""
        answer = await self._call("NodeGroupForNode", node=node.fields())
        found = _listed(inner(answer, "nodeGroup"))
        return found if found.id else None

    async def target(self, group: str) -> int:
        """Return how many nodes a group has or will have."""
        return number(await self._call("NodeGroupTargetSize", id=group), "targetSize")

    async def instances(self, group: str) -> list[Seen]:
        """Return the instances of a group."""
        answer = await self._call("NodeGroupNodes", id=group)
        return [_seen(instance) for instance in many(answer, "instances")]

    async def increase(self, group: str, delta: int) -> None:
        """Ask for more nodes."""
        await self._call("NodeGroupIncreaseSize", id=group, delta=delta)

    async def decrease(self, group: str, delta: int) -> None:
        """Ask that so many (a number below 0) that have not come are given up."""
        await self._call("NodeGroupDecreaseTargetSize", id=group, delta=delta)

    async def delete(self, group: str, nodes: Sequence[NodeName]) -> None:
        """Ask for the deletion of nodes."""
        await self._call("NodeGroupDeleteNodes", id=group, nodes=[one.fields() for one in nodes])

    async def _call(self, method: str, **fields: object) -> Message:
        content = message(f"{METHODS[method]}Request", **fields).SerializeToString()
        handler = self.service.handlers().get(f"/{SERVICE}/{method}")
        if handler is None:
            raise CallFailed("nobody listens there", refused=False)
        known = cast("_Handler", cast("object", handler))
        wire = _Wire(known.request_type.FromString(content))
        try:
            async with asyncio.timeout(TIMEOUT):
                await known.func(wire)
        except GRPCError as error:
            raise CallFailed(error.message or str(error.status), refused=True) from error
        except TimeoutError as error:
            raise CallFailed("no answer in time", refused=False) from error
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise CallFailed("the server died", refused=False) from error
        return class_of(f"{METHODS[method]}Response").FromString(wire.reply)


def _listed(group: Message) -> Listed:
    return Listed(text(group, "id"), number(group, "minSize"), number(group, "maxSize"))


def _seen(instance: Message) -> Seen:
    status = inner(instance, "status")
    error = text(inner(status, "errorInfo"), "errorCode")
    return Seen(text(instance, "id"), number(status, "instanceState"), error)
