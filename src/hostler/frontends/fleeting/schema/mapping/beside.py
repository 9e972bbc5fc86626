"""Beside: what speaks in the answers of some calls, beside verdicts."""

from collections.abc import Iterator

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from hostler.frontends.fleeting.schema.vocabulary.harmless import (
    about_wrong,
    harmless_at_zero,
    harmless_list,
    harmless_map,
    harmless_name,
)
from hostler.frontends.fleeting.schema.vocabulary.naming import (
    is_part_of_time,
    plain,
    says_when,
    words,
)
from hostler.frontends.fleeting.schema.vocabulary.synonyms import (
    COUNTED_WORDS,
    GOOD,
    LEFT_WORDS,
    NEUTRAL,
    NOERROR,
    NONE_WRONG,
    REST_WORDS,
)

from .absence import CODE, TIMES, has_word, is_marker, speaks_when_unset, unset_words
from .leaves import Leaf, is_map

_OF_ONE = frozenset({"id", "instance"})
_OF_EACH = frozenset({"string", "bool", "enum"})
_NAMED_STATES = frozenset({"integer", "string"})
_STATES = frozenset({"state", "phase", "condition"})
_NAMED_TIMES = frozenset({"integer", "double", "float", "string"})
_WAYS = frozenset({"url", "uri"})
_ADDRESSES = frozenset({"ip", "address", "addr", "host", "hostname", "endpoint", "fqdn"})


def nothing(one: FieldDescriptor) -> bool:
    """Tell that nothing speaks beside verdicts."""
    del one
    return False


def judges(one: FieldDescriptor) -> bool:
    """Tell whether a field says how a call went, where an answer says nothing else.

    That is a flag, an enum or a marker of any name, and what names a state, or says what is left.
    """
    if has_word(one, LEFT_WORDS) and Leaf((one,)).shape in _NAMED_STATES:
        return True
    if one.is_repeated or about_wrong(one.name) or harmless_at_zero(one):
        return False
    kind = one.enum_type
    if kind is not None:
        good = GOOD | NOERROR | (NONE_WRONG if has_word(one, CODE) else frozenset[str]())
        return not good & unset_words(kind, one)
    named = Leaf((one,)).shape in _NAMED_STATES and has_word(one, _STATES)
    return named or one.type == FieldDescriptor.TYPE_BOOL or is_marker(one)


def counts(one: FieldDescriptor) -> bool:
    """Tell whether a field says by its name how many instances there are."""
    if one.is_repeated or Leaf((one,)).shape != "integer":
        return False
    return COUNTED_WORDS.issuperset(words(one.name))


def may_say(one: FieldDescriptor) -> bool:
    """Tell whether a field whose absence can be seen may be what says what was done.

    Not what went wrong: such an answer goes only where all was accepted.
    """
    if harmless_name(one.name) or not (one.is_repeated or one.has_presence):
        return False
    return one.message_type is None or one.message_type.full_name not in TIMES


def reaches(one: FieldDescriptor) -> bool:
    """Tell whether a field is a text that says how to get at something: here, at the instance.

    That is an address of another form, or of which its name does not say from where it is reached.
    """
    text = not one.is_repeated and Leaf((one,)).shape == "string"
    return text and (has_word(one, _WAYS) or plain(one.name) in _ADDRESSES)


def is_time(one: FieldDescriptor) -> bool:
    """Tell whether a field, or every entry of a map, is a time or a span: by its type or its name.

    Left out, it is read as 1970, or as no time at all.
    """
    if about_wrong(one.name) or (one.is_repeated and not is_map(one)):
        return False
    entry = one.message_type if is_map(one) else None
    of = one if entry is None else entry.fields_by_name["value"]
    kind = of.message_type
    if kind is not None and not Leaf((of,)).wrapped:
        return kind.full_name in TIMES or says_when(one.name) or _is_own_time(kind)
    return Leaf((of,)).shape in _NAMED_TIMES and says_when(one.name)


def _is_own_time(kind: Descriptor) -> bool:
    """Tell whether a message is nothing but numbers of seconds, days, or other parts of a time."""
    return bool(kind.fields) and all(
        Leaf((one,)).shape == "integer" and is_part_of_time(one.name) for one in kind.fields
    )


def tells_rest(one: FieldDescriptor) -> bool:
    """Tell whether a field may say what was not accepted of a call, or how many there are.

    A flag, a number, a list or a map: what an answer for a part leaves out says that it was all.
    """
    if one.is_repeated:
        return _lists_rest(one)
    shape = Leaf((one,)).shape
    if shape == "bool":
        return about_wrong(one.name)
    return shape == "integer" and has_word(one, REST_WORDS) and not has_word(one, CODE)


def may_be_of_part(one: FieldDescriptor) -> bool:
    """Tell whether a flag whose absence can be seen may say that less than all was accepted.

    Nobody knows all names of such flags: `all`, `partial`, `quota_exceeded`.
    """
    flag = not one.is_repeated and Leaf((one,)).shape == "bool" and speaks_when_unset(one)
    return flag and not harmless_at_zero(one)


def rest_in_wrong(one: FieldDescriptor) -> Iterator[FieldDescriptor]:
    """Go through what says in a message of what went wrong how many it were, or which."""
    kind = one.message_type if about_wrong(one.name) and not one.is_repeated else None
    for each in kind.fields if kind is not None else ():
        if tells_rest(each) or counts(each):
            yield each


def _lists_rest(one: FieldDescriptor) -> bool:
    """Tell whether a list or a map may be of instances: by their ids, or in the order of them."""
    kind, rest = one.message_type, has_word(one, REST_WORDS)
    if kind is not None and is_map(one):
        by_id = kind.fields_by_name["key"].type == FieldDescriptor.TYPE_STRING
        return rest or (by_id and not harmless_map(one.name))
    if rest and not harmless_list(one.name):
        return True
    if kind is not None and not Leaf((one,)).wrapped:
        return plain(one.name) in NEUTRAL or any(_is_of_one(each) for each in kind.fields)
    return Leaf((one,)).shape in _OF_EACH and not harmless_list(one.name)


def _is_of_one(one: FieldDescriptor) -> bool:
    """Tell whether a field of an entry says of which instance the entry is."""
    text = one.type == FieldDescriptor.TYPE_STRING and not harmless_at_zero(one)
    return has_word(one, _OF_ONE) and (text or one.message_type is not None)
