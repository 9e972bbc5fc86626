"""Fields: one value read out of a message, or written into it, wherever the schema keeps it."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol, cast

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from hostler.frontends.fleeting.contract import Refused
from hostler.frontends.fleeting.schema.mapping.leaves import Leaf, is_map
from hostler.frontends.fleeting.schema.mapping.placing import good_value
from hostler.frontends.fleeting.schema.mapping.times import Raw, unit_of
from hostler.frontends.fleeting.schema.vocabulary.enum_values import values
from hostler.frontends.fleeting.schema.vocabulary.naming import plain
from hostler.frontends.fleeting.schema.vocabulary.synonyms import CANONICAL, ENUM_WORDS, UNSET

Read = Callable[[Message], object]
Write = Callable[[Message, object], None]

_WORDS = frozenset(word for words in ENUM_WORDS.values() for word in words)
_NO_VALUES: Mapping[str, tuple[tuple[str, int], ...]] = {}
_WIDTHS = {"int32": 31, "int64": 63, "uint32": 32, "uint64": 64}


class Repeated(Protocol):
    """What a repeated field of messages can do."""

    def add(self) -> Message:
        """Add one entry."""
        ...


def get(message: Message, field: FieldDescriptor) -> object:
    """Return a field's value."""
    value: object = getattr(message, field.name)
    return value


def holder(message: Message, path: Sequence[FieldDescriptor]) -> Message:
    """Return the message at the end of a path."""
    for field in path:
        message = cast("Message", get(message, field))
    return message


def reader(leaf: Leaf, ours: Collection[str] = ()) -> Read:
    """Return what reads a single value: wrappers unpacked, a duration or time as a pair.

    `ours` are the dotted names of all that is read: where another of them is set in its oneof, it
    is None.
    An enum that is not there, or is in a message that is not, is None: its first value may be a
    real one. It raises Refused where the request means another field of the same oneof.
    """
    around, field = leaf.path[:-1], leaf.field

    def read(message: Message) -> object:
        other = _other_set(message, leaf)
        if other and not any(f"{name}.".startswith(f"{other}.") for name in ours):
            raise Refused(f"the request has {other} set, not {leaf.name}: not understood")
        if other or (field.enum_type is not None and not _is_there(message, leaf)):
            return None
        value = get(holder(message, around), field)
        if leaf.wrapped:
            return cast("object", getattr(value, "value"))  # noqa: B009 - a field of the wrapper
        if leaf.shape in {"Duration", "Timestamp"}:
            pair = cast("_Pair", value)
            return pair.seconds, pair.nanos
        return value

    return read


class _Pair(Protocol):
    seconds: int
    nanos: int


def _is_there(message: Message, leaf: Leaf) -> bool:
    """Tell whether a request says something in a field, as far as it can be seen."""
    if leaf.field.has_default_value:
        return True
    at = message
    for field in leaf.path:
        if field.has_presence and not at.HasField(field.name):
            return False
        at = at if field is leaf.field else cast("Message", get(at, field))
    return True


def _other_set(message: Message, leaf: Leaf) -> str:
    """Return the dotted name of what a request chose of a oneof instead of a field, or nothing."""
    at = message
    for place, field in enumerate(leaf.path):
        if (oneof := field.containing_oneof) is not None:
            other = at.WhichOneof(oneof.name)
            if other not in {None, field.name}:
                return ".".join((*(one.name for one in leaf.path[:place]), str(other)))
        if field.message_type is None or field.is_repeated:
            return ""
        at = cast("Message", get(at, field))
    return ""


def texts(leaf: Leaf) -> Callable[[Message], tuple[str, ...]]:
    """Return what reads the texts of a list, or the ids of a list of messages."""
    at = leaf.list_at or 0
    around, listed, behind = leaf.path[:at], leaf.path[at], leaf.path[at + 1 :]
    inner = reader(Leaf(behind)) if behind else None
    wrapped = leaf.wrapped and not behind

    def read(message: Message) -> tuple[str, ...]:
        if other := _other_set(message, leaf):
            raise Refused(f"the request has {other} set, not {leaf.name}: not understood")
        entries = cast("Iterable[Message]", get(holder(message, around), listed))
        if inner is not None:
            return tuple(str(inner(entry)) for entry in entries)
        return tuple(str(getattr(e, "value") if wrapped else e) for e in entries)  # noqa: B009

    return read


def put_texts(leaf: Leaf) -> Callable[[Message, Sequence[str]], None]:
    """Return what writes texts into a list, or ids into a list of messages."""
    at = leaf.list_at or 0
    around, listed, behind = leaf.path[:at], leaf.path[at], leaf.path[at + 1 :]
    inner = writer(Leaf(behind)) if behind else None
    wrapped = leaf.wrapped and not behind

    def write(message: Message, texts: Sequence[str]) -> None:
        held = holder(message, around)
        held.SetInParent()
        entries = get(held, listed)
        if inner is None and not wrapped:
            cast("list[str]", entries).extend(texts)
            return
        for text in texts:
            entry = cast("Repeated", entries).add()
            if inner is not None:
                inner(entry, text)
            else:
                setattr(entry, "value", text)  # noqa: B010 - a field of the wrapper

    return write


def writer(leaf: Leaf) -> Write:
    """Return what writes one value, in the field's own type; a oneof's first field stays."""
    around, field, convert = leaf.path[:-1], leaf.field, _converter(leaf)
    oneofs = any(f.containing_oneof is not None for f in leaf.path)

    def write(message: Message, value: object) -> None:
        if oneofs and _occupied(message, leaf):
            return
        at, own = holder(message, around), convert(value)
        if own is None:
            return
        if leaf.wrapped:
            wrapper = cast("Message", get(at, field))
            wrapper.SetInParent()
            setattr(wrapper, "value", own)  # noqa: B010 - a field of the wrapper
        elif leaf.shape in {"Duration", "Timestamp"}:
            pair = cast("_Pair", get(at, field))
            pair.seconds, pair.nanos = cast("tuple[int, int]", own)
        else:
            setattr(at, field.name, own)

    return write


def put_fixed(message: Message, path: Sequence[FieldDescriptor], value: object) -> None:
    """Write what a field always is, into every entry of the lists and maps on its way.

    Of a list or a message that is whether it is there.
    """
    first, behind = path[0], path[1:]
    if not behind and (first.is_repeated or first.message_type is not None):
        if value:
            cast("Message", get(message, first)).SetInParent()
    elif not behind:
        setattr(message, first.name, value)
    elif is_map(first):
        for entry in cast("Mapping[str, Message]", get(message, first)).values():
            put_fixed(entry, behind[1:], value)
    elif first.is_repeated:
        for entry in cast("Iterable[Message]", get(message, first)):
            put_fixed(entry, behind, value)
    else:
        put_fixed(cast("Message", get(message, first)), behind, value)


def _occupied(message: Message, leaf: Leaf) -> bool:
    """Tell whether another field of a oneof was written before."""
    at = message
    for field in leaf.path:
        oneof = field.containing_oneof
        if oneof is not None and at.WhichOneof(oneof.name) not in {None, field.name}:
            return True
        if field is not leaf.field:
            at = cast("Message", get(at, field))
    return False


def _converter(leaf: Leaf) -> Callable[[object], object | None]:
    """Return what makes a value fit a field's type; None says that it cannot."""
    match leaf.shape:
        case "integer":
            return lambda value: _clamped(value, leaf)
        case "enum":
            return lambda value: _enum(value, leaf)
        case "bytes":
            return lambda value: value.encode() if isinstance(value, str) else value
        case "string":
            return _text
        case _:
            return lambda value: value


def _text(value: object) -> object:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _clamped(value: object, leaf: Leaf) -> int | None:
    """Return a number within the field's range."""
    if not isinstance(value, int):
        return None
    kind = leaf.type.removeprefix("google.protobuf.").removesuffix("Value").lower()
    kind = kind.removeprefix("repeated ").replace("sfixed", "int").replace("sint", "int")
    bits = _WIDTHS[kind.replace("fixed", "uint")]
    low = 0 if kind.startswith(("u", "f")) else -(2**bits)
    return max(low, min(value, 2**bits - 1))


def _enum(value: object, leaf: Leaf) -> int | None:
    """Return the number of an enum's value: given as such, as a verdict, or by its word."""
    kind, wanted = leaf.field.enum_type, str(value)
    if value is True and kind is not None:
        return good_value(kind)
    if isinstance(value, int):
        return value
    known = values(kind) if kind is not None else _NO_VALUES
    spellings = (plain(wanted), *(w for w, ours in CANONICAL.items() if ours == wanted))
    found = (known[one] for one in spellings if one in known)
    return next((meant[0][1] for meant in found if len(meant) == 1), None)


def word(leaf: Leaf, value: object) -> str:
    """Return a text, or what an enum's number stands for in our spelling; "" for its unset value.

    Refused for a value that is none of ours: whoever sent it meant something by it.
    """
    kind = leaf.field.enum_type
    if kind is None:
        return str(value)
    found = [w for w, meant in values(kind).items() if any(n == value for _, n in meant)]
    spelling = next((CANONICAL.get(w, w) for w in found if w in _WORDS), "")
    if not spelling and value != 0 and not UNSET.intersection(found):
        raise Refused(f"the request says {leaf.name} = {', '.join(found) or value}: not understood")
    return spelling


def is_said(leaf: Leaf, value: object) -> bool:
    """Tell whether a field has a way to say a value."""
    return leaf.field.enum_type is None or _enum(value, leaf) is not None


def as_bytes(value: object) -> bytes:
    """Return bytes, the bytes of a text, or the JSON of a Struct."""
    match value:
        case bytes():
            return value
        case str():
            return value.encode()
        case Message():
            return json.dumps(_whole(MessageToDict(value))).encode()
        case _:
            return b""


def _whole(value: object) -> object:
    """Return JSON with whole numbers as they were written: a Struct knows only fractions."""
    match value:
        case dict():
            return {name: _whole(one) for name, one in cast("dict[str, object]", value).items()}
        case list():
            return [_whole(one) for one in cast("list[object]", value)]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def raw(leaf: Leaf, value: object) -> Raw:
    """Return a duration as it is, with what is known of its terms."""
    return Raw(leaf.shape, unit_of(leaf), value)
