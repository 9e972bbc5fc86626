"""Match: which field of a schema carries one logical field, and how sure that is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from hostler.frontends.fleeting.schema.vocabulary.enum_values import values
from hostler.frontends.fleeting.schema.vocabulary.names import ID_ALSO, ID_NAMES
from hostler.frontends.fleeting.schema.vocabulary.naming import plain, timed
from hostler.frontends.fleeting.schema.vocabulary.slots import Kind, Need, Slot
from hostler.frontends.fleeting.schema.vocabulary.synonyms import (
    ENUM_WORDS,
    NEUTRAL,
    STATE_HINTS,
    STATES,
)

from .leaves import Leaf, besides, more, unset

Chosen = Mapping[str, str]
"""What the operator says of one message: logical field to dotted name; "" is "there is none"."""
_BEST = {
    Kind.CONFIG: ("bytes", "Struct"),
    Kind.SECRET: ("bytes",),
    Kind.STATE: ("enum",),
}
"""The types to which a proposal goes first."""
NO_CHOICE: Chosen = {}
_ANY_ID = frozenset({*ID_NAMES, *ID_ALSO}) | NEUTRAL
_STATE_WORDS = frozenset(
    word for known in (STATES, STATE_HINTS) for names in known.values() for word in names
)


class Level(StrEnum):
    """How sure a match is, from the surest down."""

    EXACT = "exact"
    NEUTRAL = "neutral"
    OVERRIDE = "override"
    ABSENT = "absent"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What was found for one logical field.

    `reason` says why nothing was, or why it is less than exact; `candidates` are the fields that an
    operator may name, `likely` the one that is proposed, or "" for saying that there is none.
    `settled`: the operator settled it.
    """

    slot: Slot
    level: Level
    leaf: Leaf | None = None
    reason: str = ""
    candidates: tuple[str, ...] = ()
    barred: tuple[str, ...] = ()
    likely: str | None = None
    settled: bool = False

    @property
    def refused(self) -> bool:
        """Whether nothing may be served with this."""
        return self.level is Level.REFUSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message to be matched: its leaves, and from which place of their paths names count.

    `after` is 0, or for the entries of a list the place behind the list.
    """

    leaves: tuple[Leaf, ...]
    after: int = 0
    entry: bool = False

    def suit(self, slot: Slot) -> tuple[Leaf, ...]:
        """Return the leaves whose types can carry a logical field."""
        fit = (leaf for leaf in self.leaves if self._fits(leaf, slot.kind))
        return tuple(leaf for leaf in fit if _enum_fits(leaf, slot))

    def _fits(self, leaf: Leaf, kind: Kind) -> bool:
        return leaf.carries(kind) if self.entry else leaf.suits(kind)


def match(message: Message, slots: Sequence[Slot], chosen: Chosen) -> dict[str, Match]:
    """Return a match for every logical field of a message.

    What the operator says counts first, then names, then neutral names for what is left over.
    """
    found = _all_chosen(message, slots, chosen)
    taken = _taken(found.values())
    for slot in slots:
        if slot.name not in found and (exact := _exact(message, slot, taken)):
            found[slot.name] = exact
    taken |= _taken(found.values())
    for slot in slots:
        if slot.name not in found:
            found[slot.name] = _rest(message, slot, taken)
            taken |= _taken((found[slot.name],))
    return _once({slot.name: _proposed(found[slot.name], found, message) for slot in slots})


def _once(found: dict[str, Match]) -> dict[str, Match]:
    """Return the matches with no field proposed twice: an override that says so is refused."""
    likely = [one.likely or "" for one in found.values() if one.refused]
    return {
        name: replace(one, likely="")
        if one.refused and one.slot.need is Need.EXPECTED and likely.count(one.likely or "") > 1
        else one
        for name, one in found.items()
    }


def _proposed(one: Match, found: Mapping[str, Match], message: Message) -> Match:
    """Return a refusal with a proposal where the others' proposals leave only one field."""
    if not one.refused or one.likely is not None:
        return one
    claimed = {other.likely for other in found.values() if other.refused}
    open_ = [leaf for leaf in message.leaves if leaf.name in one.candidates]
    left = [leaf for leaf in open_ if leaf.name not in claimed]
    best = [leaf for leaf in left if leaf.shape in _BEST.get(one.slot.kind, ())]
    sole = next((choice for choice in (best, left) if len(choice) == 1), None)
    return replace(one, likely=sole[0].name) if sole else one


def _taken(matches: Iterable[Match]) -> set[str]:
    return {m.leaf.name for m in matches if m.leaf is not None}


def _all_chosen(message: Message, slots: Sequence[Slot], chosen: Chosen) -> dict[str, Match]:
    """Return what the operator named; a field that is named twice is refused the second time."""
    found = dict[str, Match]()
    for slot in slots:
        if slot.name not in chosen:
            continue
        one = _chosen(message, slot, chosen)
        if one.leaf is not None and one.leaf.name in _taken(found.values()):
            reason = f"the override names {one.leaf.name} twice"
            one = Match(slot=slot, level=Level.REFUSED, reason=reason)
        found[slot.name] = one
    return found


def _chosen(message: Message, slot: Slot, chosen: Chosen) -> Match:
    """Return what the operator named, if it is there and its type fits."""
    name = chosen[slot.name]
    if not name:
        return _absent_by_override(slot)
    leaf = next((leaf for leaf in message.leaves if leaf.name == name), None)
    fit = _names(message.suit(slot))
    if leaf is None or leaf.name not in fit:
        what = "has no such field" if leaf is None else f"has {leaf.type} there"
        reason = f"the override names {name}, but the message {what}; {slot.kind} is needed"
        return Match(slot=slot, level=Level.REFUSED, reason=reason, candidates=fit)
    word = leaf.barred(message.after)
    reason = f"its name says {word!r}" if word else ""
    return Match(slot=slot, level=Level.OVERRIDE, leaf=leaf, reason=reason, settled=True)


def _absent_by_override(slot: Slot) -> Match:
    if slot.need is Need.CRITICAL:
        reason = f"the override says that there is none, but {slot.need}"
        return Match(slot=slot, level=Level.REFUSED, reason=reason)
    reason = "the override says that there is none"
    return Match(slot=slot, level=Level.ABSENT, reason=reason, settled=True)


def _exact(message: Message, slot: Slot, taken: set[str]) -> Match | None:
    """Return the only field of a known name and type; a refusal for two; None for none."""
    fit = [
        leaf
        for leaf in message.suit(slot)
        if leaf.name not in taken and _is_named(leaf, slot, message) and _clear(leaf, slot, message)
    ]
    if len(fit) == 1:
        return Match(slot=slot, level=Level.EXACT, leaf=fit[0])
    if len(fit) > 1:
        return _refusal(slot, f"{', '.join(_names(fit))} could all be meant", fit)
    return None


def _clear(leaf: Leaf, slot: Slot, message: Message) -> bool:
    """Tell whether all that stands around a field, or says what it is, is known to us."""
    bar = leaf.barred(message.after, own=False)
    if slot.kind is Kind.IDS and leaf.list_at != len(leaf.path) - 1:
        return not bar and _around_list(leaf, slot)
    return not bar and leaf.known(slot.within, message.after)


def _around_list(leaf: Leaf, slot: Slot) -> bool:
    """Tell whether a list of messages is nested in known names, and the id right in its entries."""
    at = leaf.list_at or 0
    outer = Leaf(leaf.path[: at + 1], leaf.list_at)
    return outer.known(slot.within) and len(leaf.path) == at + 2 and not more(leaf, slot)


def _rest(message: Message, slot: Slot, taken: set[str]) -> Match:
    """Return a neutral match, or that there is none, or a refusal."""
    left = [leaf for leaf in message.suit(slot) if leaf.name not in taken]
    if objection := unset(message.leaves, slot, taken):
        return _refusal(slot, objection, left)
    odd = besides(slot, left) or _oddly_named(message, slot, left)
    if odd is None and slot.sole and len(left) == 1 and _is_neutral(left[0], slot, message):
        reason = "its name says little; it is the only field of its type there"
        return Match(slot=slot, level=Level.NEUTRAL, leaf=left[0], reason=reason)
    open_ = [leaf for leaf in left if not leaf.barred(message.after)]
    needed = slot.need in {Need.CRITICAL, Need.ANSWER}
    if needed or (slot.need is Need.EXPECTED and (open_ or odd)):
        return _refusal(slot, odd or _why(left, open_), left)
    return Match(slot=slot, level=Level.ABSENT, reason=odd or "", candidates=_names(open_))


def _oddly_named(message: Message, slot: Slot, left: Sequence[Leaf]) -> str | None:
    """Return why a field of a known name does not count, or None where there is none."""
    for leaf in message.leaves:
        if not _is_named(leaf, slot, message):
            continue
        if leaf in left:
            word = leaf.barred(message.after, own=False)
            inside = f"inside something named {word!r}" if word else "inside an unknown message"
            return f"{leaf.name} has the name, but stands {inside}"
        if leaf not in message.suit(slot) and not (leaf.in_map and slot.kind is not Kind.IDS):
            return f"{leaf.name} has the name, but is {leaf.type}; {slot.kind} is needed"
    return None


def _why(left: Sequence[Leaf], open_: Sequence[Leaf]) -> str:
    if not left:
        return "no field has a type that could hold it"
    if not open_:
        return f"{', '.join(_names(left))} has the type, but its name says something else"
    if len(open_) == 1:
        return f"{open_[0].name} has the type, but a name that is not known"
    return f"{', '.join(_names(open_))} have the type, and no name is known"


def _refusal(slot: Slot, reason: str, left: Sequence[Leaf]) -> Match:
    """Return a refusal with what an operator may choose among, and the likeliest."""
    open_ = [leaf for leaf in left if not leaf.barred()]
    return Match(
        slot=slot,
        level=Level.REFUSED,
        reason=reason,
        candidates=_names(open_),
        barred=tuple(leaf.name for leaf in left if leaf.barred()),
        likely=_likely(slot, open_),
    )


def _likely(slot: Slot, open_: Sequence[Leaf]) -> str | None:
    """Return the field to propose; "" for "there is none"; None where a person must choose.

    That is the best of several known names, else the only hinted one, else the only one of the
    type that is best for it, else for what nothing works without the only one at all.
    """
    named = sorted((rank, leaf.name) for leaf in open_ if (rank := _rank(leaf, slot)) is not None)
    if named and (len(named) == 1 or named[0][0] < named[1][0]):
        return named[0][1]
    hinted = [leaf for leaf in open_ if _hinted(leaf, slot)]
    best = [leaf for leaf in open_ if leaf.shape in _BEST.get(slot.kind, ())]
    needed = slot.need in {Need.CRITICAL, Need.ANSWER}
    for choice in (hinted, best, open_ if needed else ()):
        if len(choice) == 1:
            return choice[0].name
    if needed and open_:
        return None
    return None if slot.need is Need.CRITICAL else ""


def _rank(leaf: Leaf, slot: Slot) -> tuple[int, int] | None:
    """Return how good a known name is, and how deep it stands; None for an unknown one."""
    ids = slot.kind is Kind.IDS and leaf.list_at is not None
    name = _base((leaf.path[leaf.list_at or 0] if ids else leaf.field).name, slot)
    return (slot.names.index(name), len(leaf.path)) if name in slot.names else None


def _hinted(leaf: Leaf, slot: Slot) -> bool:
    known = (*slot.hints, *slot.names, *slot.also)
    ids = slot.kind is Kind.IDS and leaf.list_at is not None
    field = leaf.path[leaf.list_at or 0] if ids else leaf.field
    return _base(field.name, slot) in known


def _names(leaves: Iterable[Leaf]) -> tuple[str, ...]:
    return tuple(leaf.name for leaf in leaves)


def _base(name: str, slot: Slot) -> str:
    return timed(name)[0] if slot.kind in {Kind.TIME, Kind.OPAQUE} else plain(name)


def _is_named(leaf: Leaf, slot: Slot, message: Message) -> bool:
    """Tell whether a field has one of the names that are enough by themselves."""
    if slot.kind is Kind.IDS and leaf.list_at is not None and not message.entry:
        own = plain(leaf.path[leaf.list_at].name)
        return own in slot.names and _is_id(leaf, ID_NAMES)
    return _base(leaf.field.name, slot) in slot.names


def _is_neutral(leaf: Leaf, slot: Slot, message: Message) -> bool:
    """Tell whether a name is on the list for what can be meant in one way only."""
    if leaf.barred(message.after):
        return False
    allowed = frozenset(slot.names) | frozenset(slot.also) | NEUTRAL
    if slot.kind is Kind.IDS and leaf.list_at is not None:
        around = Leaf(leaf.path[: leaf.list_at + 1], leaf.list_at)
        own = plain(around.field.name)
        return (
            own in allowed
            and around.known(slot.within)
            and _is_id(leaf, {*ID_NAMES, *ID_ALSO, *NEUTRAL})
        )
    return plain(leaf.field.name) in allowed and leaf.known(slot.within, message.after)


def _is_id(leaf: Leaf, names: Iterable[str]) -> bool:
    """Tell whether a list's entries are texts, or messages of which this text is the id."""
    behind = leaf.path[(leaf.list_at or 0) + 1 :]
    return not behind or (len(behind) == 1 and plain(behind[0].name) in names)


def _enum_fits(leaf: Leaf, slot: Slot) -> bool:
    """Tell whether an enum has a value that can stand for what is carried."""
    kind = leaf.field.enum_type
    if kind is None:
        return True
    if slot.kind is Kind.STATE:
        return any(word in _STATE_WORDS for word in values(kind))
    return any(word in ENUM_WORDS.get(slot.name, ()) for word in values(kind))
