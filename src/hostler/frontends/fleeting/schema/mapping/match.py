"""Match: which field of a schema carries one logical field, and how sure that is."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from hostler.frontends.fleeting.schema.vocabulary.harmless import harmless_at_zero
from hostler.frontends.fleeting.schema.vocabulary.slots import Kind, Need, Slot

from .leaves import Leaf, besides
from .placing import (
    Message,
    elsewhere,
    is_hinted,
    is_named,
    is_neutral,
    is_sure,
    objection,
    oddly_named,
    rivals,
)

Chosen = Mapping[str, str]
"""What the operator says of one message: logical field to dotted name; "" is "there is none"."""
NO_CHOICE: Chosen = {}
_NEEDED = frozenset({Need.CRITICAL, Need.ANSWER, Need.CONVEYED})


class Level(StrEnum):
    """How sure a match is, from the surest down."""

    EXACT = "exact"
    NEUTRAL = "neutral"
    OVERRIDE = "override"
    ABSENT = "absent"
    REFUSED = "refused"


class Match(Struct, frozen=True, kw_only=True):
    """What was found for one logical field.

    `reason` says why nothing was, or why it is less than exact; `candidates` are the fields that an
    operator may name, `likely` the one that is proposed, None where a person must choose, `hinted`
    the only one whose name suggests itself.
    `settled`: the operator settled it. `unsaid`: its field, where nothing can be said in it.
    """

    slot: Slot
    level: Level
    leaf: Leaf | None = None
    reason: str = ""
    candidates: tuple[str, ...] = ()
    barred: tuple[str, ...] = ()
    likely: str | None = None
    hinted: str | None = None
    settled: bool = False
    unsaid: Leaf | None = None

    @property
    def refused(self) -> bool:
        """Whether nothing may be served with this."""
        return self.level is Level.REFUSED


def match(message: Message, slots: Sequence[Slot], chosen: Chosen) -> dict[str, Match]:
    """Return a match for every logical field of a message.

    What the operator says counts first, then names, then neutral names for what is left over. Two
    fields that could be the same are a refusal, whatever their types.
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
    sole = {slot.name: _alone(found[slot.name], message, taken) for slot in slots}
    return _once(sole)


def _alone(one: Match, message: Message, taken: set[str]) -> Match:
    """Return a match, refused where another field could hold the same."""
    if one.leaf is None or one.level not in {Level.EXACT, Level.NEUTRAL}:
        return one
    others = rivals(one.leaf, one.slot, message, taken)
    if not others:
        return one
    both = (one.leaf, *others)
    refused = _refusal(one.slot, f"{', '.join(_names(both))} could all be meant", both, message)
    return replace(refused, likely=None)


def _once(found: dict[str, Match]) -> dict[str, Match]:
    """Return the matches with nothing proposed that could as well be something else we lack."""
    refused = [one for one in found.values() if one.refused]
    return {
        name: replace(one, likely=None)
        if any(one.likely in other.candidates for other in refused if other is not one)
        else one
        for name, one in found.items()
    }


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
    fit = _names(message.choice(slot))
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
        if leaf.name not in taken
        and is_named(leaf, slot, message)
        and not objection(leaf, slot, message)
    ]
    if len(fit) == 1:
        return Match(slot=slot, level=Level.EXACT, leaf=fit[0])
    if len(fit) > 1:
        reason = f"{', '.join(_names(fit))} could all be meant"
        return _refusal(slot, reason, fit, message)
    return None


def _rest(message: Message, slot: Slot, taken: set[str]) -> Match:
    """Return a neutral match, or that there is none, or a refusal."""
    left = [leaf for leaf in message.suit(slot) if leaf.name not in taken]
    odd = besides(slot, left) or oddly_named(message, slot, left)
    if odd is None and slot.need is Need.EXPECTED:
        odd = elsewhere(message, slot, taken)
    if odd is None and _is_sole(left, slot, message) and is_neutral(left[0], slot, message):
        reason = "its name says little; it is the only field of its type there"
        return Match(slot=slot, level=Level.NEUTRAL, leaf=left[0], reason=reason)
    open_ = [leaf for leaf in left if not leaf.barred(message.after) and not _says_little(leaf)]
    unread = open_ or (slot.kind is Kind.TEXTS and left)  # a list that is left out says nothing
    if slot.need in _NEEDED or (slot.need is Need.EXPECTED and (unread or odd)):
        choice = [leaf for leaf in message.choice(slot) if leaf.name not in taken]
        return _refusal(slot, odd or _why(left, open_), choice, message)
    return Match(
        slot=slot,
        level=Level.ABSENT,
        reason=odd or "",
        candidates=_names(open_),
        barred=tuple(leaf.name for leaf in left if leaf not in open_),
    )


def _is_sole(left: Sequence[Leaf], slot: Slot, message: Message) -> bool:
    """Tell whether a message means one thing only, and one field alone could hold it."""
    return slot.sole and len(left) == 1 and not _says_of_all(left[0], slot, message)


def _says_of_all(leaf: Leaf, slot: Slot, message: Message) -> bool:
    """Tell whether a field may be of all that was asked: a `count` beside what `failed` of it."""
    own = slot.need is not Need.ANSWER or is_sure(leaf, slot)
    return not own and len(message.suit(slot)) > 1


def _says_little(leaf: Leaf) -> bool:
    """Tell whether a field is one of those that an answer may have beside ours."""
    return leaf.field.message_type is None and harmless_at_zero(leaf.field)


def _why(left: Sequence[Leaf], open_: Sequence[Leaf]) -> str:
    if not left:
        return "no field has a type that could hold it"
    if not open_:
        return f"{', '.join(_names(left))} has the type, but its name says something else"
    if len(open_) == 1:
        return f"{open_[0].name} has the type, but a name that is not known"
    return f"{', '.join(_names(open_))} have the type, and no name is known"


def _refusal(slot: Slot, reason: str, left: Sequence[Leaf], message: Message) -> Match:
    """Return a refusal with what an operator may choose among, and the likeliest."""
    open_ = [leaf for leaf in left if not leaf.barred(message.after)]
    hinted = [leaf.name for leaf in open_ if is_hinted(leaf, slot)]
    return Match(
        slot=slot,
        level=Level.REFUSED,
        reason=reason,
        candidates=_names(open_),
        barred=tuple(leaf.name for leaf in left if leaf not in open_),
        likely=_likely(slot, left, message),
        hinted=hinted[0] if len(hinted) == 1 else None,
    )


def _likely(slot: Slot, left: Sequence[Leaf], message: Message) -> str | None:
    """Return the field to propose: the only one that it can be, with a likely name and place."""
    open_ = [leaf for leaf in left if not leaf.barred(message.after) and not _says_little(leaf)]
    hinted = [leaf for leaf in left if is_hinted(leaf, slot)]
    if len(open_) != 1 or hinted != open_ or objection(open_[0], slot, message):
        return None
    if _says_of_all(open_[0], slot, message):
        return None
    return open_[0].name if open_[0] in message.suit(slot) else None


def _names(leaves: Iterable[Leaf]) -> tuple[str, ...]:
    return tuple(leaf.name for leaf in leaves)
