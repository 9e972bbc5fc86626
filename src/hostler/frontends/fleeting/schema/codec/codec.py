"""Codec: our calls read from the messages of one schema, and answered in them."""

from collections.abc import Callable, Mapping, Sequence

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from hostler.frontends.fleeting.contract import (
    ConnectInfo,
    Connector,
    Instance,
    ProviderInfo,
    Refused,
)
from hostler.frontends.fleeting.schema.mapping.leaves import Leaf
from hostler.frontends.fleeting.schema.mapping.mapping import CallMap, ServiceMap
from hostler.frontends.fleeting.schema.mapping.times import Raw, moment, to_field
from hostler.frontends.fleeting.schema.vocabulary.names import OPAQUE, REPLY, REQUEST, VERDICT_SLOTS
from hostler.frontends.fleeting.schema.vocabulary.slots import Need

from .fields import (
    Read,
    Write,
    as_bytes,
    is_said,
    put_fixed,
    put_texts,
    raw,
    reader,
    texts,
    word,
    writer,
)
from .reporting import reporter


class Codec:
    """Reads requests and makes replies of a service that is mapped whole."""

    def __init__(self, found: ServiceMap) -> None:
        self._calls = {name: _Call(call) for name, call in found.calls.items()}
        if found.entries is None or found.states is None:
            raise TypeError(f"{found.name} is not mapped")
        update = found.calls["Update"]
        self._update: Callable[[Sequence[Instance]], Sequence[Message]] = reporter(
            found.entries, found.states, update.method
        )

    def report(self, instances: Sequence[Instance]) -> Sequence[Message]:
        """Return the messages of Update's answer."""
        call, replies = self._calls["Update"], self._update(instances)
        if call.has_more:
            for reply in replies:
                call.set(reply, "total", len(instances))
                call.finish(reply)
        return replies

    def begin(self, request: Message) -> tuple[bytes, Connector]:
        """Return the JSON of Init, and the runner's connector_config."""
        call = self._calls["Init"]
        config = as_bytes(call.value(request, "config"))
        return config, _connector(call, request)

    def begun(self, info: ProviderInfo) -> Message:
        """Return Init's answer."""
        call = self._calls["Init"]
        reply = call.reply()
        for name, value in (
            ("id", info.id),
            ("max_size", info.max_size),
            ("version", info.version),
            ("build_info", info.build_info),
        ):
            call.set(reply, name, value)
        call.set_texts(reply, "capabilities", info.capabilities)
        return call.finish(reply)

    def count(self, request: Message) -> int:
        """Return how many Increase asks for; Refused for less than nothing."""
        value = self._calls["Increase"].value(request, "count")
        if not isinstance(value, int) or value < 0:
            raise Refused(f"Increase asks for {value} instances")
        return value

    def counted(self, count: int, asked: int = 0) -> Message:
        """Return Increase's answer; Refused where no field could say that it was not all."""
        call = self._calls["Increase"]
        _require_place(call, count, asked)
        reply = call.reply()
        call.set(reply, "succeeded", count)
        call.set(reply, "failed", max(0, asked - count))
        return call.finish(reply)

    def ids(self, name: str, request: Message) -> tuple[str, ...]:
        """Return the instances that a call is about."""
        return self._calls[name].texts(request, "ids")

    def accepted(self, name: str, ids: Sequence[str], asked: Sequence[str] = ()) -> Message:
        """Return the answer with those accepted; Refused where no field could say which."""
        call = self._calls[name]
        _require_place(call, len({*ids} & {*asked}), len({*asked}))
        reply = call.reply()
        call.set_texts(reply, "succeeded", ids, always=True)
        call.set_texts(reply, "failed", [one for one in dict.fromkeys(asked) if one not in ids])
        return call.finish(reply)

    def instance(self, name: str, request: Message) -> str:
        """Return the one instance that a call is about."""
        return str(self._calls[name].value(request, "id"))

    def reached(self, info: ConnectInfo) -> Message:
        """Return ConnectInfo's answer; of a oneof, the first that has a value is set."""
        call, connector = self._calls["ConnectInfo"], info.connector
        _require_address(call, info)
        reply = call.reply()
        for name, value in (
            ("id", info.id),
            ("os", connector.os),
            ("arch", connector.arch),
            ("protocol", connector.protocol),
            ("protocol_port", connector.protocol_port),
            ("username", connector.username),
            ("key", connector.key),
            ("password", connector.password),
            ("use_static_credentials", connector.use_static_credentials),
            ("external", info.external),
            ("internal", info.internal),
        ):
            call.set(reply, name, value)
        _give_back(call, reply, connector)
        expires = call.leaf(REPLY, "expires")
        if info.expires is not None and expires is not None:
            call.set(reply, "expires", moment(info.expires, expires))
        return call.finish(reply)

    def done(self, name: str) -> Message:
        """Return the answer of a call that says nothing but that it went well."""
        call = self._calls[name]
        return call.finish(call.reply())


class _Call:
    """One call's fields, ready to be read and written."""

    def __init__(self, call: CallMap) -> None:
        self._call = call
        self._class: type[Message] = GetMessageClass(call.method.output_type)
        ours = frozenset(m.leaf.name for m in call.request.values() if m.leaf is not None)
        self._readers: Mapping[str, Read] = {
            name: reader(m.leaf, frozenset() if m.slot.need is Need.CRITICAL else ours)
            for name, m in call.request.items()
            if m.leaf is not None and m.leaf.list_at is None
        }
        self._writers: Mapping[str, Write] = {
            name: writer(m.leaf)
            for name, m in call.reply.items()
            if m.leaf is not None and m.leaf.list_at is None
        }
        self._flags = tuple(name for name in VERDICT_SLOTS if name in self._writers)
        self._fixed = {one.name for one in call.fixed}

    def leaf(self, side: str, name: str) -> Leaf | None:
        """Return the field for a logical one."""
        return self._call.leaf(side, name)

    def value(self, request: Message, name: str) -> object | None:
        """Return a value, or None where the schema has no field for it."""
        read = self._readers.get(name)
        return read(request) if read is not None else None

    def texts(self, request: Message, name: str) -> tuple[str, ...]:
        """Return the texts of a list."""
        leaf = self.leaf(REQUEST, name)
        return texts(leaf)(request) if leaf is not None else ()

    @property
    def has_more(self) -> bool:
        """Whether an answer says anything beside what the call is about."""
        return bool(self._flags or self._call.fixed or self.leaf(REPLY, "total"))

    def reply(self) -> Message:
        """Return an empty answer."""
        return self._class()

    def finish(self, reply: Message) -> Message:
        """Write that all went well, and what the operator has settled."""
        for name in self._flags:
            self._writers[name](reply, True)
        for one in self._call.fixed:
            put_fixed(reply, one.path, one.value)
        return reply

    def set(self, reply: Message, name: str, value: object) -> None:
        """Write a value, if the schema has a field for it; an empty one only where it must be."""
        write, leaf = self._writers.get(name), self.leaf(REPLY, name)
        if leaf is not None and leaf.name in self._fixed:
            return
        if write is None or leaf is None or not (value or _must(leaf)):
            return
        if name == "protocol" and value and not is_said(leaf, value):
            raise Refused(f"{leaf.type} has no value for the protocol {value}")
        write(reply, value)

    def set_texts(
        self, reply: Message, name: str, texts: Sequence[str], *, always: bool = False
    ) -> None:
        """Write texts into a list, if the schema has one; `always`: what is around it is there."""
        leaf = self.leaf(REPLY, name)
        if leaf is not None and (texts or always):
            put_texts(leaf)(reply, texts)


def _require_address(call: _Call, info: ConnectInfo) -> None:
    """Refuse an instance whose only addresses the schema has no place for."""
    addresses = {"external": info.external, "internal": info.internal}
    known = {name: address for name, address in addresses.items() if address}
    if known and not any(call.leaf(REPLY, name) is not None for name in known):
        raise Refused(f"{info.id} has only an {' and '.join(known)} address, and no field holds it")


def _require_place(call: _Call, count: int, asked: int) -> None:
    """Refuse to answer for less than what was asked where the schema has no place to say so."""
    placed = any(call.leaf(REPLY, name) is not None for name in ("succeeded", "failed"))
    if count < asked and not placed:
        raise Refused(f"{count} of {asked} were accepted, and no field of the answer can say so")


def _must(leaf: Leaf) -> bool:
    """Tell whether leaving a field out would say something else than its empty value."""
    field = leaf.field
    return field.is_required or field.has_default_value or leaf.shape == "integer"


def _connector(call: _Call, request: Message) -> Connector:
    """Return what the runner's connector_config says."""

    def text(name: str) -> str:
        leaf, value = call.leaf(REQUEST, name), call.value(request, name)
        if leaf is None or value is None:
            return ""
        if leaf.field.enum_type is not None:
            return word(leaf, value)
        return as_bytes(value).decode(errors="replace")

    port = call.value(request, "protocol_port")
    return Connector(
        os=text("os"),
        arch=text("arch"),
        protocol=text("protocol"),
        protocol_port=port if isinstance(port, int) else 0,
        username=text("username"),
        password=text("password"),
        key=as_bytes(call.value(request, "key")),
        use_static_credentials=call.value(request, "use_static_credentials") is True,
        opaque=tuple(_opaque(call, request)),
    )


def _opaque(call: _Call, request: Message) -> list[tuple[str, object]]:
    """Return the durations, as they are."""
    pairs = ((name, call.leaf(REQUEST, name), call.value(request, name)) for name in OPAQUE)
    return [(name, raw(leaf, value)) for name, leaf, value in pairs if leaf is not None]


def _give_back(call: _Call, reply: Message, connector: Connector) -> None:
    """Write the durations of Init, where they can be said in the field's terms."""
    for name, received in connector.opaque:
        leaf = call.leaf(REPLY, name)
        if leaf is None or not isinstance(received, Raw):
            continue
        value = to_field(received, leaf)
        if value not in {None, 0, "", (0, 0)} or (value == 0 and _must(leaf)):
            call.set(reply, name, value)
