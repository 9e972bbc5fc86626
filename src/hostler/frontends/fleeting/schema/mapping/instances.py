"""Instances: the shape of Update's answer: a stream, a list or a map of ids with their states."""

from collections.abc import Mapping

from google.protobuf.descriptor import MethodDescriptor
from msgspec import Struct
from msgspec.structs import replace

from hostler.frontends.fleeting.schema.vocabulary.names import (
    UPDATE_BESIDE,
    UPDATE_ID,
    UPDATE_LIST,
    UPDATE_STATE,
    UPDATE_TOTAL,
)
from hostler.frontends.fleeting.schema.vocabulary.naming import plain
from hostler.frontends.fleeting.schema.vocabulary.slots import Kind
from hostler.frontends.fleeting.schema.vocabulary.synonyms import NEUTRAL

from .leaves import Leaf, is_map, leaves
from .match import Chosen, Level, Match, match
from .placing import Message, says_states, strange_type

_INNER = (UPDATE_ID, UPDATE_STATE)


class Entries(Struct, frozen=True, kw_only=True):
    """One way in which an answer could hold instances.

    `at` is the place of the list in the paths, or None for one instance a message.
    """

    name: str
    at: int | None
    level: Level
    matches: Mapping[str, Match]
    leaf: Leaf | None = None

    @property
    def whole(self) -> bool:
        """Whether id and state were found."""
        return not any(m.refused for m in self.matches.values())

    @property
    def barred(self) -> bool:
        """Whether its name says that it is something else."""
        return self.leaf is not None and bool(self.leaf.barred())


class Shape(Struct, frozen=True, kw_only=True):
    """How instances are reported, with the matches for the list, the id and the state."""

    matches: Mapping[str, Match]
    entries: Entries | None = None


def shape(method: MethodDescriptor, chosen: Chosen, known: frozenset[str]) -> Shape:
    """Return the one way in which Update answers, or a refusal that says what is in the way.

    `known` are the words that its messages may be named by.
    """
    all_leaves = leaves(method.output_type)
    inner = {slot.name: chosen[slot.name] for slot in _INNER if slot.name in chosen}
    found = [_list(name, group, inner, known) for name, group in _lists(all_leaves).items()]
    found = [entries for entries in found if entries is not None]
    if method.server_streaming and (single := _single(all_leaves, inner, known)):
        found.append(single)
    way = _named(found, chosen[UPDATE_LIST.name]) if UPDATE_LIST.name in chosen else _sole(found)
    return _with_rest(way, all_leaves, chosen, known)


def _with_rest(way: Shape, found: tuple[Leaf, ...], chosen: Chosen, known: frozenset[str]) -> Shape:
    """Return a way with what stands beside the instances: a verdict, and how many there are."""
    used = {m.leaf.name for m in way.matches.values() if m.leaf is not None}
    left = tuple(leaf for leaf in found if leaf.list_at is None and leaf.name not in used)
    single = way.entries is not None and way.entries.at is None
    slots = [slot for slot in UPDATE_BESIDE if slot is not UPDATE_TOTAL or not single]
    own = {slot.name: chosen[slot.name] for slot in slots if slot.name in chosen}
    rest = match(Message(leaves=left, known=known), slots, own)
    return replace(way, matches={**way.matches, **rest})


def _lists(found: tuple[Leaf, ...]) -> dict[str, tuple[Leaf, ...]]:
    """Return the leaves of every list of messages, and of every map, by its name."""
    groups = dict[str, tuple[Leaf, ...]]()
    for leaf in found:
        if leaf.list_at is not None and leaf.list_at < len(leaf.path) - 1:
            name = ".".join(field.name for field in leaf.path[: leaf.list_at + 1])
            groups[name] = (*groups.get(name, ()), leaf)
    return groups


def _list(
    name: str, group: tuple[Leaf, ...], chosen: Chosen, known: frozenset[str]
) -> Entries | None:
    """Return a list as a way, or None where it cannot hold ids and states at all."""
    at = group[0].list_at or 0
    outer = Leaf(group[0].path[: at + 1], at)
    own = {key: f"{name}.{value}" if value else "" for key, value in chosen.items()}
    if is_map(outer.field):
        matches = _map(group, at, own, known)
    else:
        matches = match(Message(leaves=group, after=at + 1, entry=True, known=known), _INNER, own)
    if matches is None or not _possible(group):
        return None
    matches = {key: _inside(found, name) for key, found in matches.items()}
    level = _level(outer, matches["state"], known)
    return Entries(name=name, at=at, level=level, matches=matches, leaf=outer)


def _inside(found: Match, name: str) -> Match:
    """Return a match whose proposals are written as the override writes them: from the entry."""
    start = f"{name}."
    return replace(
        found,
        candidates=tuple(one.removeprefix(start) for one in found.candidates),
        barred=tuple(one.removeprefix(start) for one in found.barred),
        likely=found.likely.removeprefix(start) if found.likely else found.likely,
        hinted=found.hinted.removeprefix(start) if found.hinted else found.hinted,
    )


def _possible(group: tuple[Leaf, ...]) -> bool:
    """Tell whether there is a text for the id, and something else that may be a state."""
    ids = [leaf for leaf in group if leaf.carries(Kind.TEXT)]
    return bool(ids) and len([leaf for leaf in group if _may_be_state(leaf)]) > 1


def _may_be_state(leaf: Leaf) -> bool:
    """Tell whether a field could say a state, be it one that an operator must spell out."""
    return leaf.carries(Kind.STATE) or leaf.carries(Kind.COUNT)


def _map(
    group: tuple[Leaf, ...], at: int, chosen: Chosen, known: frozenset[str]
) -> dict[str, Match] | None:
    """Return id and state of a map: its key is the id, its value the state or holds it."""
    key = next(
        (leaf for leaf in group if leaf.field.name == "key" and len(leaf.path) == at + 2), None
    )
    if key is None or key.shape != "string":
        return None
    ids = Match(slot=UPDATE_ID, level=Level.EXACT, leaf=key)
    rest = tuple(leaf for leaf in group if leaf is not key)
    if len(rest) == 1 and len(rest[0].path) == at + 2:
        own = Match(slot=UPDATE_STATE, level=Level.EXACT, leaf=rest[0])
        plain_value = rest[0].field.message_type is None
        return {"id": ids, "state": own} if plain_value and _may_be_state(rest[0]) else None
    entry = Message(leaves=rest, after=at + 2, entry=True, known=known)
    state = match(entry, (UPDATE_STATE,), chosen)
    return {"id": ids, **state}


def _level(outer: Leaf, state: Match, known: frozenset[str]) -> Level:
    """Return how sure the name of a list is."""
    own = plain(outer.field.name)
    if outer.barred() or not outer.known(UPDATE_LIST.within):
        return Level.REFUSED
    value = state.leaf if state.level is Level.EXACT else None
    if value and (strange_type(value, UPDATE_STATE, known) or not says_states(value)):
        return Level.REFUSED
    if own in UPDATE_LIST.names:
        return Level.EXACT
    neutral = own in UPDATE_LIST.also or own in NEUTRAL
    return Level.NEUTRAL if neutral else Level.REFUSED


def _single(found: tuple[Leaf, ...], chosen: Chosen, known: frozenset[str]) -> Entries | None:
    """Return the way in which each message of a stream is one instance; None where it cannot be."""
    group = tuple(leaf for leaf in found if leaf.list_at is None)
    if not _possible(group):
        return None
    matches = match(Message(leaves=group, known=known), _INNER, chosen)
    return Entries(name="", at=None, level=Level.EXACT, matches=matches)


def _named(found: list[Entries], name: str) -> Shape:
    """Return the way that the operator named."""
    for entries in found:
        if entries.name == name and entries.leaf is not None:
            own = Match(slot=UPDATE_LIST, level=Level.OVERRIDE, leaf=entries.leaf)
            return Shape(matches={UPDATE_LIST.name: own, **entries.matches}, entries=entries)
    reason = f"the override names {name or 'none'}, which is no list of ids and states"
    return _refused(reason, found)


def _sole(found: list[Entries]) -> Shape:
    """Return the way that names make sure of, or the only one with a neutral name."""
    if any(e.whole for e in found):
        found = [e for e in found if e.whole or e.leaf is not None]
    sure = [e for e in found if e.level is Level.EXACT and e.whole]
    others = [e for e in found if e not in sure and e.leaf is not None and not e.barred]
    if len(sure) == 1 and not others:
        return _shape(sure[0])
    if len(found) == 1 and found[0].level is not Level.REFUSED:
        return _shape(found[0])
    if not found:
        return _refused("the answer holds no list of ids with states", found)
    if len(found) == 1:
        name = found[0].name or "the message itself"
        return _refused(f"{name} could be it, but a name there is not known", found)
    return _refused(f"{_listed(found)} could be it", found)


def _listed(found: list[Entries]) -> str:
    return ", ".join(entries.name or "the message itself" for entries in found)


def _shape(entries: Entries) -> Shape:
    if entries.leaf is None:
        return Shape(matches=entries.matches, entries=entries)
    reason = "" if entries.level is Level.EXACT else "its name says little; it is the only list"
    own = Match(slot=UPDATE_LIST, level=entries.level, leaf=entries.leaf, reason=reason)
    return Shape(matches={UPDATE_LIST.name: own, **entries.matches}, entries=entries)


def _refused(reason: str, found: list[Entries]) -> Shape:
    """Return a refusal; the inner matches of the only way are kept, so that all is said at once."""
    lists = [e for e in found if e.leaf is not None]
    open_ = [e for e in lists if e.leaf is not None and not e.leaf.barred()]
    own = Match(
        slot=UPDATE_LIST,
        level=Level.REFUSED,
        reason=reason,
        candidates=tuple(e.name for e in open_),
        barred=tuple(e.name for e in lists if e not in open_),
        likely=_likely(lists),
    )
    inner = dict(open_[0].matches) if len(open_) == 1 else {}
    return Shape(matches={UPDATE_LIST.name: own, **inner})


def _likely(lists: list[Entries]) -> str | None:
    """Return the only list, if it has a likely name, to propose it."""
    if len(lists) != 1 or lists[0].barred or lists[0].leaf is None:
        return None
    return lists[0].name if plain(lists[0].leaf.field.name) in UPDATE_LIST.hints else None
