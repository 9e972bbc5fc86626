"""Placing: whether all that stands around a field lets it mean what its name says."""

from collections.abc import Iterator, Sequence

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from msgspec import Struct

from hostler.frontends.fleeting.schema.vocabulary.enum_values import values
from hostler.frontends.fleeting.schema.vocabulary.harmless import harmless_name
from hostler.frontends.fleeting.schema.vocabulary.messages import stranger
from hostler.frontends.fleeting.schema.vocabulary.names import ID_ALSO, ID_NAMES, VERDICT_SLOTS
from hostler.frontends.fleeting.schema.vocabulary.naming import is_span, plain, timed, words
from hostler.frontends.fleeting.schema.vocabulary.slots import Kind, Slot
from hostler.frontends.fleeting.schema.vocabulary.synonyms import (
    ENUM_WORDS,
    GOOD,
    NEUTRAL,
    STATE_HINTS,
    STATES,
    UNSETTLED,
    VERDICTS,
)

from .leaves import Leaf, more

_ANY_ID = frozenset({*ID_NAMES, *ID_ALSO}) | NEUTRAL
_STATE_WORDS = frozenset(
    word for known in (STATES, STATE_HINTS) for names in known.values() for word in names
)


_ANYTHING = frozenset({"Struct", "Any", "Value", "ListValue"})
_NAMES_OF_PAIRS = frozenset({"key", "name", "type", "kind"})
_SHORTEST = 3


class Message(Struct, frozen=True, kw_only=True):
    """One message to be matched: its leaves, and from which place of their paths names count.

    `after` is 0, or for the entries of a list the place behind the list. `known` are the words
    that the messages of this call may be named by. `answer`: it is one, so that what is left over
    is left empty.
    """

    leaves: tuple[Leaf, ...]
    after: int = 0
    entry: bool = False
    known: frozenset[str] = frozenset()
    answer: bool = False

    def suit(self, slot: Slot) -> tuple[Leaf, ...]:
        """Return the leaves whose types can carry a logical field."""
        fit = (leaf for leaf in self.leaves if self._fits(leaf, slot.kind))
        return tuple(leaf for leaf in fit if enum_fits(leaf, slot))

    def choice(self, slot: Slot) -> tuple[Leaf, ...]:
        """Return the leaves that an operator may name for it: of a state he may spell any value."""
        if slot.kind is not Kind.STATE:
            return self.suit(slot)
        kinds = (Kind.STATE, Kind.COUNT)
        return tuple(leaf for leaf in self.leaves if any(self._fits(leaf, k) for k in kinds))

    def _fits(self, leaf: Leaf, kind: Kind) -> bool:
        return leaf.carries(kind) if self.entry else leaf.suits(kind)


def enum_fits(leaf: Leaf, slot: Slot) -> bool:
    """Tell whether an enum has a value that can stand for what is carried."""
    kind = leaf.field.enum_type
    if kind is None:
        return True
    if slot.kind is Kind.FLAG:
        return slot.name in VERDICT_SLOTS and good_value(kind) is not None
    if slot.kind is Kind.STATE:
        return says_states(leaf)
    return any(word in ENUM_WORDS.get(slot.name, ()) for word in values(kind))


def says_states(leaf: Leaf) -> bool:
    """Tell whether a field's values are texts, or an enum of which a state is known."""
    kind = leaf.field.enum_type
    if kind is None:
        return leaf.shape == "string"
    return any(word in _STATE_WORDS for word in values(kind))


def good_value(kind: EnumDescriptor) -> int | None:
    """Return the number of the one value that says that all went well; None for none or several.

    None too where another value says that it went well in part, or will: which of them is true of a
    call nobody knows.
    """
    if any(UNSETTLED.intersection(words(value.name)) for value in kind.values):
        return None
    good = {n for word, meant in values(kind).items() if word in GOOD for _, n in meant}
    return good.pop() if len(good) == 1 else None


def objection(leaf: Leaf, slot: Slot, message: Message) -> str:
    """Return what around a field speaks against its name, or an empty string."""
    word = leaf.barred(message.after, own=False)
    if word and word not in slot.allowed:
        return f"inside something named {word!r}"
    if not _in_known_places(leaf, slot, message):
        return "inside an unknown message"
    if name := strange_type(leaf, slot, message.known):
        return f"in {name}, whose name could mean something else"
    return ""


def _in_known_places(leaf: Leaf, slot: Slot, message: Message) -> bool:
    if slot.kind is not Kind.IDS or leaf.list_at in {None, len(leaf.path) - 1}:
        return leaf.known(slot.within, message.after)
    at = leaf.list_at or 0
    outer = Leaf(leaf.path[: at + 1], leaf.list_at)
    return outer.known(slot.within) and len(leaf.path) == at + 2 and not more(leaf, slot)


def strange_type(leaf: Leaf, slot: Slot, known: frozenset[str]) -> str:
    """Return the first message or enum on the way whose name has an unknown word in it."""
    allowed = known | slot.words | (VERDICTS if slot.kind is Kind.FLAG else frozenset[str]())
    return next(filter(None, (stranger(kind, allowed) for kind in _types(leaf))), "")


def _types(leaf: Leaf) -> Iterator[Descriptor | EnumDescriptor | None]:
    yield leaf.path[0].containing_type
    yield from (field.message_type for field in leaf.path[:-1])
    yield leaf.field.enum_type


def base(name: str, slot: Slot) -> str:
    """Return a field's name as it is compared with the names of a logical field."""
    return timed(name)[0] if slot.kind in {Kind.TIME, Kind.OPAQUE} else plain(name)


def is_named(leaf: Leaf, slot: Slot, message: Message) -> bool:
    """Tell whether a field has one of the names that are enough by themselves."""
    if slot.kind is Kind.IDS and leaf.list_at is not None and not message.entry:
        own = plain(leaf.path[leaf.list_at].name)
        return own in slot.names and _is_id(leaf, frozenset(ID_NAMES))
    own = base(leaf.field.name, slot)
    if slot.kind is Kind.TIME and leaf.shape != "Timestamp" and is_span(leaf.field.name):
        return False
    verdict = slot.kind is Kind.FLAG and leaf.field.enum_type is not None and own in VERDICTS
    return verdict or own in slot.names


def is_neutral(leaf: Leaf, slot: Slot, message: Message) -> bool:
    """Tell whether a name is on the list for what can be meant in one way only."""
    if leaf.barred(message.after) or strange_type(leaf, slot, message.known):
        return False
    allowed = frozenset(slot.names) | frozenset(slot.also) | NEUTRAL
    if slot.kind is Kind.IDS and leaf.list_at is not None:
        around = Leaf(leaf.path[: leaf.list_at + 1], leaf.list_at)
        own = plain(around.field.name)
        return own in allowed and around.known(slot.within) and _is_id(leaf, _ANY_ID)
    return plain(leaf.field.name) in allowed and leaf.known(slot.within, message.after)


def is_hinted(leaf: Leaf, slot: Slot) -> bool:
    """Tell whether a name is likely to mean a logical field, or is known to."""
    return base(_named_field(leaf, slot).name, slot) in (*slot.hints, *slot.names, *slot.also)


def is_sure(leaf: Leaf, slot: Slot) -> bool:
    """Tell whether a name is known to mean a logical field, or likely to, and says something."""
    return base(_named_field(leaf, slot).name, slot) in (*slot.names, *slot.hints)


def rivals(leaf: Leaf, slot: Slot, message: Message, taken: set[str]) -> Sequence[Leaf]:
    """Return the other fields that could as well hold what a field is taken for.

    Those are of a fitting type, taken for nothing else, and named by a word of its names.
    """
    return [
        other
        for other in message.suit(slot)
        if other.name not in taken
        and _list_of(other) != _list_of(leaf)
        and not other.barred(message.after)
        and _could_be(other, slot)
    ]


def _list_of(leaf: Leaf) -> str:
    """Return the name of the list that a field is in, or its own."""
    path = leaf.path if leaf.list_at is None else leaf.path[: leaf.list_at + 1]
    return ".".join(field.name for field in path)


def _could_be(leaf: Leaf, slot: Slot) -> bool:
    if is_hinted(leaf, slot):
        return True
    own = frozenset(words(_named_field(leaf, slot).name))
    return any(spelled <= own for spelled in slot.spelled)


def _named_field(leaf: Leaf, slot: Slot) -> FieldDescriptor:
    """Return the field whose name counts: of ids the list, else the field itself."""
    ids = slot.kind is Kind.IDS and leaf.list_at is not None
    return leaf.path[leaf.list_at or 0] if ids else leaf.field


def _is_id(leaf: Leaf, names: frozenset[str]) -> bool:
    """Tell whether a list's entries are texts, or messages of which this text is the id."""
    behind = leaf.path[(leaf.list_at or 0) + 1 :]
    return not behind or (len(behind) == 1 and plain(behind[0].name) in names)


def oddly_named(message: Message, slot: Slot, left: Sequence[Leaf]) -> str | None:
    """Return why a field of a known name does not count, or None where there is none."""
    for leaf in message.leaves:
        if not is_named(leaf, slot, message):
            continue
        if leaf in left:
            return f"{leaf.name} has the name, but stands {objection(leaf, slot, message)}"
        fits = leaf in message.suit(slot) or (leaf.in_map and slot.kind is not Kind.IDS)
        if not fits:
            return f"{leaf.name} has the name, but is {leaf.type}; {slot.kind} is needed"
    return None


def elsewhere(message: Message, slot: Slot, taken: set[str]) -> str | None:
    """Return what of an answer may hold a logical field in a shape that we cannot fill, or None.

    That is a list or a message of its name, and whatever holds values under names of its own.
    """
    for leaf in message.leaves if message.answer else ():
        if leaf.name in taken or leaf in message.suit(slot) or leaf.barred(message.after):
            continue
        if any(harmless_name(field.name) for field in leaf.path) or _is_beside(leaf, taken):
            continue
        if leaf.in_map or leaf.shape in _ANYTHING or _is_pair(leaf):
            return f"{leaf.name} could hold it, which holds values under names of its own"
        around = leaf.path if leaf.list_at is None else leaf.path[: leaf.list_at + 1]
        if any(_is_name(field.name, slot) for field in leaf.path[:-1]):
            return f"{leaf.name} is inside something of its name"
        own = frozenset(_singular(word) for word in words(around[-1].name))
        if leaf.list_at is not None and (own in slot.spelled or _is_name(around[-1].name, slot)):
            return f"{leaf.name} has the name, but is {leaf.type}; {slot.kind} is needed"
        if leaf.list_at is not None and own <= slot.words:
            return f"{leaf.name} could hold it, but is {leaf.type}; {slot.kind} is needed"
    return None


def _is_name(name: str, slot: Slot) -> bool:
    """Tell whether a name is one of a logical field's, or likely to be."""
    return not {plain(name), _singular(name)}.isdisjoint((*slot.names, *slot.also, *slot.hints))


def _singular(name: str) -> str:
    """Return a name as it is of one, as far as that is seen: `addresses` is `address`."""
    own = plain(name)
    for end, rest in (("sses", "ss"), ("ss", "ss"), ("s", "")):
        if own.endswith(end) and len(own) > _SHORTEST:
            return own.removesuffix(end) + rest
    return own


def _is_beside(leaf: Leaf, taken: set[str]) -> bool:
    """Tell whether a field is in a list of which another field is taken."""
    at = leaf.list_at
    start = ".".join(field.name for field in leaf.path[: at + 1]) if at is not None else ""
    return bool(start) and any(name == start or name.startswith(f"{start}.") for name in taken)


def _is_pair(leaf: Leaf) -> bool:
    """Tell whether a field is in a list of names or kinds with their values."""
    if leaf.list_at is None or leaf.list_at == len(leaf.path) - 1:
        return False
    inner = leaf.path[leaf.list_at].message_type
    names = [field.name for field in inner.fields] if inner is not None else []
    return any(plain(name) in _NAMES_OF_PAIRS for name in names)
