"""Absence: what a field of an answer says by being left out, and what may be said of it.

Where a schema gives a field a default (proto2, editions), a reader takes that for what was said,
though it can be seen that nothing was. A verdict speaks wherever it stands: an `ok` that is not
there says that it did not go well. A flag and an enum speak in a message that is left out, too:
generated code reads them without a look at whether the message is there.
"""

import json
from collections.abc import Callable, Iterator

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from hostler.frontends.fleeting.schema.vocabulary.enum_values import values
from hostler.frontends.fleeting.schema.vocabulary.harmless import (
    about_wrong,
    harmless_at_zero,
)
from hostler.frontends.fleeting.schema.vocabulary.naming import words
from hostler.frontends.fleeting.schema.vocabulary.synonyms import (
    GOOD,
    LISTED_WORDS,
    NOERROR,
    NONE_WRONG,
    OF_INSTANCES,
    UNSET,
    VERDICT_WORDS,
    WELL_WORDS,
    barring,
)

from .leaves import is_map

Path = tuple[FieldDescriptor, ...]
Also = Callable[[FieldDescriptor], bool]
NO_VERDICT = "left out, it does not say that all went well"
_DEEPEST = 6
_GOOGLE = "google.protobuf."
_FLAG = f"{_GOOGLE}BoolValue"
_OF_ANY = frozenset({f"{_GOOGLE}Struct", f"{_GOOGLE}Any"})
_BOOLS = ("true", "false")
CODE = frozenset({"code"})
TIMES = frozenset({f"{_GOOGLE}Timestamp", f"{_GOOGLE}Duration"})
_EMPTY = f"{_GOOGLE}Empty"
_OF_ANSWER = frozenset({"meta", "metadata", "page"})
"""Words that bar a field from being ours, though what they name is about the answer itself."""
_TEXTS = frozenset({FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES})
_UNWRITTEN = frozenset(
    {FieldDescriptor.TYPE_BYTES, FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT}
)
"""Types of which an override file can write zero, and not every other value."""


def speaks(one: FieldDescriptor) -> bool:
    """Tell whether a field that is left out says something that may be wrong."""
    if one.is_repeated or one.message_type is not None:
        return False
    return has_default(one) or not (one.has_presence or harmless_at_zero(one))


def has_default(one: FieldDescriptor) -> bool:
    """Tell whether a field that is left out is read as something else than zero."""
    return bool(one.has_default_value and one.default_value)


def speaks_when_unset(one: FieldDescriptor) -> bool:
    """Tell whether a field says a value where none was set: it is none of the fields of a oneof."""
    oneof = one.containing_oneof
    return has_default(one) or oneof is None or len(oneof.fields) == 1


def has_real_first(one: FieldDescriptor) -> bool:
    """Tell whether a single enum that is not set is read as a value that means something."""
    kind = one.enum_type
    if kind is None or one.is_repeated or not speaks_when_unset(one):
        return False
    return not (UNSET | NONE_WRONG | GOOD) & unset_words(kind, one)


def unset_words(kind: EnumDescriptor, one: FieldDescriptor) -> frozenset[str]:
    """Return the words of the value that an enum says where none was set."""
    unset: object = one.default_value
    return frozenset(
        word for word, meant in values(kind).items() if any(number == unset for _, number in meant)
    )


def unset_text(one: FieldDescriptor) -> str:
    """Return what a field says where it is left out, as TOML would have it."""
    if one.enum_type is not None:
        spelled = (str(v.name) for v in one.enum_type.values if v.number == one.default_value)
        return next(spelled, "nothing")
    if one.message_type is not None and one.message_type.full_name in TIMES:
        return "that there is no time"
    number: object = one.default_value if has_default(one) else 0
    if one.type == FieldDescriptor.TYPE_BOOL:
        return "true" if number else "false"
    if one.type not in _TEXTS:
        return str(number)
    text = number.decode(errors="replace") if isinstance(number, bytes) else number or ""
    return json.dumps(text, ensure_ascii=False)


def absent_text(one: FieldDescriptor) -> str:
    """Return what a field says in a message that is left out."""
    if one.is_repeated:
        return "left empty, it says that there is none"
    return NO_VERDICT if denies(one) else f"left out, it says {unset_text(one)}"


def missing(one: FieldDescriptor, also: Also) -> str:
    """Return what a field says by its absence, that can be seen, or an empty string.

    `also`: what speaks in this answer beside verdicts.
    """
    if not (denies(one) or also(one) or has_real_first(one)):
        return ""
    return absent_text(one) if one.has_presence or not speaks(one) else ""


def denies(one: FieldDescriptor) -> bool:
    """Tell whether a field says by being left out that something did not go well."""
    if about_wrong(one.name):
        return False
    if one.is_repeated:
        return _denies_all(one)
    kind = one.message_type
    if one.enum_type is not None:
        named = _enum_denies(one, one.enum_type)
    elif kind is None or kind.full_name in _OF_ANY or kind.full_name.endswith("Value"):
        named = has_word(one, VERDICT_WORDS) and not (kind is None and harmless_at_zero(one))
    elif kind.full_name in {_EMPTY, *TIMES} or not _of_google(kind):
        named = has_word(one, WELL_WORDS) or bool(WELL_WORDS.intersection(words(kind.name)))
    else:
        named = False
    return named or _is_beside_wrong(one)


def _enum_denies(one: FieldDescriptor, kind: EnumDescriptor) -> bool:
    """Tell whether an enum that is left out says no.

    `NONE` is good news of a code alone, and not beside `OK`.
    """
    unset = unset_words(kind, one)
    if has_word(one, VERDICT_WORDS):
        return not (GOOD | NOERROR) & unset
    good = GOOD | NOERROR if GOOD.intersection(values(kind)) else GOOD | NONE_WRONG
    return has_word(one, CODE) and not good & unset


def _is_read(one: FieldDescriptor) -> bool:
    """Tell whether a flag or an enum says something by being read where its message is not."""
    flag = one.type == FieldDescriptor.TYPE_BOOL and not one.is_repeated
    return has_real_first(one) or (flag and speaks(one))


def _denies_all(one: FieldDescriptor) -> bool:
    """Tell whether an empty list says that nothing went well: its name, or what its entries say."""
    kind = one.message_type
    if kind is not None and is_map(one):
        kind = kind.fields_by_name["value"].message_type
    if has_word(one, LISTED_WORDS) or (not barring(one.name) and _of_instances(one.name)):
        return True
    return kind is not None and not _of_google(kind) and _holds_verdict(kind, _DEEPEST)


def _holds_verdict(kind: Descriptor, deep: int) -> bool:
    """Tell whether the entries of a list say of each how it went."""
    plain = [one for one in kind.fields if not one.is_repeated]
    inner = [one.message_type for one in plain if one.message_type is not None]
    return any(denies(one) for one in plain) or (
        deep > 0 and any(_holds_verdict(one, deep - 1) for one in inner)
    )


def _of_instances(name: str) -> bool:
    """Tell whether a name says of instances, and of nothing else."""
    return OF_INSTANCES.issuperset(words(name))


def _is_beside_wrong(one: FieldDescriptor) -> bool:
    """Tell whether a field is what a oneof says unless it says what went wrong."""
    members = one.containing_oneof.fields if one.containing_oneof is not None else ()
    return any(about_wrong(other.name) for other in members if other is not one)


def has_word(one: FieldDescriptor, known: frozenset[str]) -> bool:
    """Tell whether one of these words is in the name of a field."""
    return bool(known.intersection(words(one.name)))


def _of_google(kind: Descriptor) -> bool:
    return bool(kind.full_name.startswith(_GOOGLE))


def is_marker(one: FieldDescriptor) -> bool:
    """Tell whether a field says something by being there, and nothing else."""
    if one.message_type is not None:
        return one.message_type.full_name == _FLAG or not one.message_type.fields
    return one.type == FieldDescriptor.TYPE_BOOL and one.has_presence and not harmless_at_zero(one)


def denied(message: Descriptor, path: Path, also: Also) -> Iterator[Path]:
    """Go through what says in a message that we leave out that something did not go well.

    `also`: what speaks in this answer beside verdicts.
    """
    named, other = _is_verdict(path[-1]), _of_google(message) or _is_other(path)
    for one in message.fields:
        if one.is_repeated:
            if also(one) and not other:
                yield (*path, one)
            continue
        says = _is_read(one) or also(one) or (named and _is_of_verdict(one))
        if denies(one) or (says and not other):
            yield (*path, one)
        elif one.message_type is not None and len(path) < _DEEPEST:
            yield from denied(one.message_type, (*path, one), also)


def _is_of_verdict(one: FieldDescriptor) -> bool:
    """Tell whether a field of a verdict says something at zero; a code that is zero says none."""
    kind = one.enum_type
    if kind is not None:
        return speaks(one) and not GOOD & unset_words(kind, one)
    return speaks(one) and not has_word(one, CODE)


def _is_verdict(one: FieldDescriptor) -> bool:
    """Tell whether a message is called a verdict, so that whatever is in it is of one."""
    kind = one.message_type
    return has_word(one, VERDICT_WORDS) or (
        kind is not None and bool(VERDICT_WORDS.intersection(words(kind.name)))
    )


def _is_other(path: Path) -> bool:
    """Tell whether a message is of what went wrong, of something else, or one of several.

    That it is not there is the truth.
    """
    for one in path:
        oneof, kind = one.containing_oneof, one.message_type
        names = (one.name, kind.name if kind is not None else "")
        if oneof is not None and len(oneof.fields) > 1:
            return True
        if any(about_wrong(name) or not {"", *_OF_ANSWER} & {barring(name)} for name in names):
            return True
    return False


def required(one: FieldDescriptor, path: Path) -> Iterator[Path]:
    """Go through a field that an answer must have, and through what must be in it."""
    yield path
    inner = one.message_type.fields if one.message_type is not None else ()
    for each in inner if len(path) < _DEEPEST else ():
        if each.is_required:
            yield from required(each, (*path, each))


def values_of(one: FieldDescriptor) -> tuple[str, ...]:
    """Return what an operator may say that a field always is, as TOML.

    Of a message `true` says that it is there, and empty; of that and of a list `false`: it is not.
    """
    if one.is_repeated:
        return ("false",)
    if one.message_type is not None:
        if one.is_required and one.message_type.full_name != _FLAG:
            return ("true",)
        return ("false",) if one.message_type.full_name in TIMES else _BOOLS
    if one.enum_type is not None:
        return tuple(f'"{value.name}"' for value in one.enum_type.values)
    if one.type == FieldDescriptor.TYPE_BOOL:
        return _BOOLS
    zero = '""' if one.type in _TEXTS else "0"
    return (zero,) if one.type in _UNWRITTEN else tuple(dict.fromkeys((zero, unset_text(one))))
