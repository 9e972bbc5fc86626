"""Accounting: every field of every message is mapped, harmless, settled by the operator, or told.

In an answer a plain number, text, flag or enum that is left out says zero, empty, false or its
first value. What can be seen to be missing (messages, lists, maps, optional fields, members of a
oneof) says nothing. In a request every field asks for something.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from msgspec import Struct

from hostler.frontends.fleeting.schema.vocabulary.enum_values import values
from hostler.frontends.fleeting.schema.vocabulary.harmless import about_wrong, harmless_unread
from hostler.frontends.fleeting.schema.vocabulary.names import (
    REPLY,
    REQUEST,
    VERDICT_SLOTS,
)
from hostler.frontends.fleeting.schema.vocabulary.slots import Kind
from hostler.frontends.fleeting.schema.vocabulary.synonyms import UNSET

from .absence import (
    Also,
    absent_text,
    denied,
    is_marker,
    missing,
    required,
    speaks,
    speaks_when_unset,
    unset_text,
    unset_words,
    values_of,
)
from .beside import (
    counts,
    is_time,
    judges,
    may_be_of_part,
    may_say,
    nothing,
    reaches,
    rest_in_wrong,
    tells_rest,
)
from .leaves import is_map, type_of
from .match import Level, Match
from .override import Constant

Path = tuple[FieldDescriptor, ...]
Found = Mapping[str, Match]
_REQUIRED = "required, and nothing of ours is it"
_MAY_SAY = "nothing else says what was done, and left out, it may say that nothing was"
_ANNOUNCES = "it may have to come in a stream, and nobody knows when"


class Unaccounted(Struct, frozen=True, kw_only=True):
    """A field that nothing of ours belongs in, though it speaks or asks.

    `answers` are what an operator may say of it, as TOML; `candidate`: it speaks only if a logical
    field that is refused is not it, or is beside it.
    """

    side: str
    name: str
    reason: str
    answers: tuple[str, ...]
    candidate: bool = False


@dataclass(slots=True)
class _Account:
    """One side of a call while it is gone through.

    `streamed`: the way to an instance, or to the list of them, in the messages of a stream.
    `also`: what speaks in it beside verdicts.
    `partial`: it may be for a part of what was asked.
    `bare`: the operator says that nothing in it says what was done.
    `unsaid`: what is ours, and left out as nobody can convert it. `offered`: what an operator may
    say to be a time or a list of ours.
    """

    side: str
    used: Sequence[Path]
    settled: Mapping[str, Constant]
    candidates: frozenset[str]
    streamed: Path = ()
    also: Also = nothing
    partial: bool = False
    bare: bool = False
    unsaid: frozenset[str] = frozenset()
    offered: frozenset[str] = frozenset()
    found: list[Unaccounted] = field(default_factory=list[Unaccounted])

    def holds_candidate(self, path: Path) -> bool:
        """Tell whether a logical field that is refused could be inside a message."""
        start = f"{_dotted(path)}."
        return any(name.startswith(start) for name in self.candidates)

    def add(
        self, path: Path, reason: str, answers: tuple[str, ...], *, later: bool = False
    ) -> bool:
        """Take down one field, unless the operator has settled it; tell whether it was.

        `later`: it will speak once a field beside it is the answer to a question.
        """
        name = _dotted(path)
        around = (_dotted(path[:at]) for at in range(1, len(path)))
        if name in self.settled or any(self.settled.get(n) is False for n in around):
            return False
        self.found.append(
            Unaccounted(
                side=self.side,
                name=name,
                reason=reason,
                answers=answers,
                candidate=later or name in self.candidates,
            )
        )
        return True


_Walk = Callable[[Descriptor, Path, _Account], None]


def unaccounted(
    message: Descriptor,
    side: str,
    found: Found,
    settled: Mapping[str, Constant],
    *,
    streams: bool = False,
) -> tuple[Unaccounted, ...]:
    """Return the fields of a message that speak or ask, and of which nobody knows what.

    `streams`: the message is one of a stream that tells of instances.
    """
    account = _Account(
        side=side,
        used=[one.leaf.path for one in found.values() if one.leaf is not None],
        settled=settled,
        candidates=frozenset(
            name
            for one in found.values()
            if one.level is Level.REFUSED
            for name in (*one.candidates, *one.barred)
        ),
        streamed=_way(found) if streams else (),
        also=_also(found),
        unsaid=frozenset(one.unsaid.name for one in found.values() if one.unsaid is not None),
        offered=frozenset(_offered(found)),
        partial="succeeded" in found,
        bare="succeeded" in found and found["succeeded"].settled and not found["succeeded"].leaf,
    )
    (_asked if side == REQUEST else _answered)(message, (), account)
    if side == REPLY:
        for one in found.values():
            _first_value(one, account)
    return tuple(account.found)


def _offered(found: Found) -> Iterator[str]:
    """Go through what an operator may say to be a time or a list of ours that seems to be none."""
    for one in found.values():
        absent = one.level is Level.ABSENT and not one.settled
        if absent and one.slot.kind in {Kind.TIME, Kind.IDS}:
            yield from (*one.candidates, *one.barred)


def _also(found: Found) -> Also:
    """Return what speaks in an answer beside verdicts, by what of ours there is in it.

    In every answer that is numbers of instances. A time is asked about where it may be ours.
    """
    own, lacks = _by_fields(found), any(_lacks_time(one) for one in found.values())
    return lambda one: (lacks and is_time(one)) or counts(one) or own(one)


def _lacks_time(one: Match) -> bool:
    return one.slot.kind is Kind.TIME and one.level is Level.ABSENT and not one.settled


def _by_fields(found: Found) -> Also:
    if set(VERDICT_SLOTS).issuperset(found):
        return judges
    if "succeeded" in found:
        return tells_rest
    return reaches if "external" in found else nothing


def _asked(message: Descriptor, path: Path, account: _Account) -> None:
    """Go through a request: what is not read is told, as deep as something is read."""
    for one in message.fields:
        here = (*path, one)
        if _is_used(here, account):
            _deeper(one, here, account, _asked)
        elif not harmless_unread(one) and not _otherwise_meant(one, path, account):
            account.add(here, f"{type_of(one)} asks for something that nobody reads", ("true",))
            _asked_later(one, here, account)


def _asked_later(one: FieldDescriptor, here: Path, account: _Account) -> None:
    """Take down what is in a message of which a field may be read, by a later answer."""
    if one.message_type is None or is_map(one) or not account.holds_candidate(here):
        return
    for inner in one.message_type.fields:
        if not harmless_unread(inner):
            account.add((*here, inner), "", ("true",), later=True)
            _asked_later(inner, (*here, inner), account)


def _speaks_later(one: FieldDescriptor, here: Path, account: _Account) -> None:
    """Take down what speaks in a message of which a field may be written, by a later answer."""
    if one.message_type is None or is_map(one) or not account.holds_candidate(here):
        return
    for inner in one.message_type.fields:
        if speaks(inner):
            account.add((*here, inner), "", values_of(inner), later=True)
        _speaks_later(inner, (*here, inner), account)


def _speaks_inside(path: Path, account: _Account) -> None:
    """Take down what speaks in a message, once an operator says that a field of it is ours."""
    kind = path[-1].message_type
    inner = kind.fields if kind is not None else ()
    if not any(_dotted((*path, one)) in account.offered for one in inner):
        return
    for one in inner:
        if speaks(one) and _dotted((*path, one)) not in {each.name for each in account.found}:
            account.add((*path, one), "", values_of(one), later=True)


def _otherwise_meant(one: FieldDescriptor, path: Path, account: _Account) -> bool:
    """Tell whether a field is in a oneof with one that is read: to set it is refused then."""
    oneof = one.containing_oneof
    members = oneof.fields if oneof is not None else ()
    return any(_is_used((*path, other), account) for other in members)


def _answered(message: Descriptor, path: Path, account: _Account) -> None:
    """Go through an answer: what is left out and speaks is told."""
    for one in message.fields:
        here = (*path, one)
        if _is_used(here, account):
            _deeper(one, here, account, _answered)
        elif one.is_required:
            for each in required(one, here):
                account.add(each, _REQUIRED, values_of(each[-1]))
        elif _announces(one, path, account):
            account.add(here, _ANNOUNCES, ("false",) if one.message_type is not None else ())
        else:
            _left_out(one, path, account)


def _left_out(one: FieldDescriptor, path: Path, account: _Account) -> None:
    """Take down what a field says by being left out, or what is inside it."""
    here = (*path, one)
    reason = missing(one, account.also) if _dotted(here) not in account.unsaid else ""
    if account.partial and may_be_of_part(one):
        reason = reason or absent_text(one)
    if account.bare and may_say(one):
        reason = reason or _MAY_SAY
    if reason and not _otherwise_meant(one, path, account):
        later = account.holds_candidate(here)
        added = account.add(here, reason, values_of(one), later=later)
        if added and one.message_type is not None and not is_map(one):
            _speaks_inside(here, account)
    elif not one.is_repeated and one.message_type is not None:
        for each in denied(one.message_type, here, account.also):
            added = account.add(each, absent_text(each[-1]), values_of(each[-1]))
            if added and _dotted(each) in account.offered:
                _speaks_inside(each[:-1], account)
        for inner in rest_in_wrong(one) if account.partial else ():
            account.add((*here, inner), absent_text(inner), values_of(inner))
    elif speaks(one):
        account.add(here, f"left out, it says {unset_text(one)}", values_of(one))
    _speaks_later(one, here, account)


def _way(found: Found) -> Path:
    """Return the way to an instance, or to the list of them."""
    leaf = found["id"].leaf if "id" in found else None
    if leaf is None:
        return ()
    return leaf.path if leaf.list_at is None else (*leaf.path[: leaf.list_at + 1], leaf.field)


def _announces(one: FieldDescriptor, path: Path, account: _Account) -> bool:
    """Tell whether a field is what a stream says by a message that tells of no instance.

    That is what stands beside the instance in a oneof, or beside it as a marker.
    """
    way = account.streamed
    around = not path or (len(path) < len(way) - 1 and _starts(way, path))
    if not way or not around or one.is_repeated or about_wrong(one.name):
        return False
    oneof = one.containing_oneof
    members = oneof.fields if oneof is not None else ()
    if any(_starts(way, (*path, other)) for other in members if other is not one):
        return True
    return is_marker(one)


def _deeper(one: FieldDescriptor, here: Path, account: _Account, walk: _Walk) -> None:
    inner = one.message_type
    deeper = any(len(used) > len(here) and _starts(used, here) for used in account.used)
    if inner is None or not deeper:
        return
    if not is_map(one):
        walk(inner, here, account)
        return
    value = inner.fields_by_name["value"]
    if value.message_type is not None and _is_used((*here, value), account):
        walk(value.message_type, (*here, value), account)


def _first_value(one: Match, account: _Account) -> None:
    """Take down a mapped enum that says something wrong where we have nothing to say."""
    leaf = one.leaf
    if leaf is None or one.slot.kind is not Kind.WORD or leaf.field.enum_type is None:
        return
    kind = leaf.field.enum_type
    known = values(kind)
    if one.slot.name == "protocol" and "ssh" not in known:
        account.add(leaf.path, f"{kind.full_name} has no value for ssh", values_of(leaf.field))
    elif speaks_when_unset(leaf.field):
        usual = UNSET | {"ssh"} if one.slot.name == "protocol" else UNSET
        if not usual.intersection(unset_words(kind, leaf.field)):
            reason = f"where it is not known, it says {unset_text(leaf.field)}"
            account.add(leaf.path, reason, values_of(leaf.field))


def _is_used(path: Path, account: _Account) -> bool:
    """Tell whether something of ours is at a path, or behind it."""
    return any(_starts(used, path) for used in account.used)


def _starts(path: Path, start: Path) -> bool:
    return _names(path[: len(start)]) == _names(start)


def _names(path: Path) -> tuple[str, ...]:
    return tuple(one.full_name for one in path)


def _dotted(path: Path) -> str:
    return ".".join(one.name for one in path)
