"""Bind: a group put behind the methods of a service that is understood, or a refusal."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from hostler.frontends.fleeting.contract import Group, Handler, Method, Refused
from hostler.frontends.fleeting.schema.mapping.mapping import ServiceMap
from hostler.frontends.fleeting.schema.mapping.services import Service

from .codec import Codec

Begun = Callable[[ServiceMap], None]
"""Told once Init was answered: this mapping serves."""


def bind(found: ServiceMap, group: Group, begun: Begun | None = None) -> tuple[Method, ...]:
    """Return the methods of a service that is mapped whole; ValueError for one that is not."""
    if not found.whole:
        raise ValueError(f"{found.name} is not mapped as a whole")
    bound = _Bound(found, group, begun)
    methods = found.service.methods.items()
    return tuple(_method(found.service, name, one, bound.handler(name)) for name, one in methods)


def refusing(service: Service, reason: str) -> tuple[Method, ...]:
    """Return the methods of a service, every one of which is answered with the reason."""

    async def refuse(request: Message) -> Sequence[Message]:
        del request
        raise Refused(reason)

    return tuple(_method(service, name, one, refuse) for name, one in service.methods.items())


def _method(service: Service, name: str, method: MethodDescriptor, handle: Handler) -> Method:
    return Method(
        path=service.path(name),
        request=GetMessageClass(method.input_type),
        reply=GetMessageClass(method.output_type),
        streams=method.server_streaming,
        handle=handle,
    )


class _Bound:
    """Answers each call from the group."""

    def __init__(self, found: ServiceMap, group: Group, begun: Begun | None) -> None:
        self._found, self._group, self._begun = found, group, begun
        self._codec = Codec(found)

    def handler(self, name: str) -> Handler:
        """Return what answers a method."""
        group = self._group
        handlers: Mapping[str, Handler] = {
            "Init": self._init,
            "Update": self._update,
            "Increase": self._increase,
            "Decrease": self._lists("Decrease", group.decrease),
            "ConnectInfo": self._connect_info,
            "Heartbeat": self._heartbeat,
            "Shutdown": self._shutdown,
            "Suspend": self._lists("Suspend", group.suspend),
            "Resume": self._lists("Resume", group.resume),
        }
        return handlers[name]

    async def _init(self, request: Message) -> Sequence[Message]:
        config, connector = self._codec.begin(request)
        info = await self._group.init(config, connector, self._found.offered)
        reply = self._codec.begun(info)
        if self._begun is not None:
            self._begun(self._found)
        return (reply,)

    async def _update(self, request: Message) -> Sequence[Message]:
        del request
        return self._codec.report(await self._group.update())

    async def _increase(self, request: Message) -> Sequence[Message]:
        asked = self._codec.count(request)
        accepted = await self._group.increase(asked)
        return (self._codec.counted(accepted, asked),)

    async def _connect_info(self, request: Message) -> Sequence[Message]:
        info = await self._group.connect_info(self._codec.instance("ConnectInfo", request))
        return (self._codec.reached(info),)

    async def _heartbeat(self, request: Message) -> Sequence[Message]:
        await self._group.heartbeat(self._codec.instance("Heartbeat", request))
        return (self._codec.done("Heartbeat"),)

    async def _shutdown(self, request: Message) -> Sequence[Message]:
        del request
        await self._group.shutdown()
        return (self._codec.done("Shutdown"),)

    def _lists(
        self, name: str, call: Callable[[Sequence[str]], Awaitable[Sequence[str]]]
    ) -> Handler:
        async def answer(request: Message) -> Sequence[Message]:
            asked = self._codec.ids(name, request)
            accepted = await call(asked)
            return (self._codec.accepted(name, accepted, asked),)

        return answer
