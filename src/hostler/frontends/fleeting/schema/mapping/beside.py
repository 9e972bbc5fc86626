"""Beside: what speaks in the answers of some calls, beside verdicts."""

from google.protobuf.descriptor import FieldDescriptor

from hostler.frontends.fleeting.schema.vocabulary.harmless import (
    about_wrong,
    harmless_at_zero,
    harmless_name,
)
from hostler.frontends.fleeting.schema.vocabulary.naming import words
from hostler.frontends.fleeting.schema.vocabulary.synonyms import (
    COUNTED_WORDS,
    GOOD,
    NOERROR,
    NONE_WRONG,
)

from .absence import CODE, TIMES, has_word, is_marker, unset_words
from .leaves import Leaf

_WAYS = frozenset({"url", "uri"})


def nothing(one: FieldDescriptor) -> bool:
    """Tell that nothing speaks beside verdicts."""
    del one
    return False


def judges(one: FieldDescriptor) -> bool:
    """Tell whether a field is a flag, an enum or a marker, whatever its name.

    Where an answer says nothing but how a call went, that is what it says.
    """
    if one.is_repeated or about_wrong(one.name) or harmless_at_zero(one):
        return False
    kind = one.enum_type
    if kind is not None:
        good = GOOD | NOERROR | (NONE_WRONG if has_word(one, CODE) else frozenset[str]())
        return not good & unset_words(kind, one)
    return one.type == FieldDescriptor.TYPE_BOOL or is_marker(one)


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
    """Tell whether a field is a text that says how to get at something: here, at the instance."""
    return not one.is_repeated and Leaf((one,)).shape == "string" and has_word(one, _WAYS)
