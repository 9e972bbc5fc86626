"""Fields that may be left alone: what they say at zero, or ask for, changes nothing.

The whole name must be known: `error` is harmless at zero, `error_cleared` is not.
"""

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor

from .enum_values import values
from .naming import plain, word_set, words
from .synonyms import NONE_WRONG


def _list(text: str) -> frozenset[str]:
    return frozenset(plain(name) for name in text.split())


_WRONG = word_set(
    """
    error errors err errs failed fail failure failures unhealthy dead broken lost rejected refused
    denied skipped invalid warning warnings ignored declined
    """
)
"""Words that say of what went wrong: zero of it is what we mean."""
_ABOUT_WRONG = word_set(
    """
    code codes message messages msg text texts reason reasons detail details string description info
    kind type any has is was last at time since
    """
)
"""Words that may stand beside one of them without turning it round."""
_TEXTS = _list(
    """
    message msg note notes comment comments description detail details reason hint text title
    homepage url documentation docs debug debug_info log logs trace trace_id span_id traceparent
    request_id correlation_id next_page_token page_token next_page next_cursor zone region location
    datacenter locale locales language languages
    """
)
"""Texts for persons, for tracing, and about places: an empty one says nothing."""
_FLAGS = _list(
    """
    has_more more_pages truncated dry_run cached deprecated
    """
)
"""What an unset flag rightly denies: not `partial`, as some may be all that we take."""
_KEYED = _list(
    """
    attributes labels tags annotations metadata meta properties headers extra extras
    """
)
"""Maps by other keys than the ids of instances."""
_FAULTS = word_set("error errors err errs warning warnings")
"""Words for what is told to persons of what went wrong, where others are of whom it went so."""
_TOLD = word_set("message messages msg text texts reason reasons detail details description")
_ASKED = _list(
    """
    trace trace_id trace_context span_id traceparent correlation_id locale locales
    language languages user_agent client_version runner_version host_version client_name
    reason note comment refresh metadata meta
    """
)
"""What may stand in a request without being read: it asks for nothing that we would not do.

Not `request_id`: in many styles it asks that a call which is repeated is carried out once.
"""


def harmless_at_zero(field: FieldDescriptor) -> bool:
    """Tell whether a field of an answer says nothing wrong when it is left at zero.

    A number of failures is not harmless: zero is wrong of a call of which a part was accepted.
    """
    if field.enum_type is not None:
        return about_wrong(field.name) and _zero_is_none(field.enum_type)
    own = plain(field.name)
    if field.type == FieldDescriptor.TYPE_BOOL:
        return own in _FLAGS or about_wrong(field.name)
    if field.type in {FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES}:
        return own in _TEXTS or about_wrong(field.name)
    return about_wrong(field.name) and "code" in words(field.name)


def harmless_unread(field: FieldDescriptor) -> bool:
    """Tell whether a field of a request may be left unread."""
    return plain(field.name) in _ASKED


def harmless_name(name: str) -> bool:
    """Tell whether a name says of texts for persons, of tracing, or of what went wrong."""
    return plain(name) in _TEXTS or about_wrong(name)


def harmless_list(name: str) -> bool:
    """Tell whether a list that is left empty says by its name that it is for persons.

    >>> [harmless_list(name) for name in ("warnings", "notes", "failure_reasons", "failed")]
    [True, True, True, False]
    """
    own = words(name)
    if about_wrong(name):
        return _FAULTS.issuperset(_WRONG.intersection(own)) or bool(_TOLD.intersection(own))
    return not {plain(name), plain(name).removesuffix("s")}.isdisjoint(_TEXTS)


def harmless_map(name: str) -> bool:
    """Tell whether a map that is left empty says by its name that its keys are no instances."""
    return plain(name) in _KEYED


def about_wrong(name: str) -> bool:
    """Tell whether a name says of what went wrong, and nothing else.

    >>> [about_wrong(name) for name in ("error_code", "has_failed", "error_cleared")]
    [True, True, False]
    """
    parts = words(name)
    return bool(_WRONG.intersection(parts)) and all(p in _WRONG | _ABOUT_WRONG for p in parts)


def _zero_is_none(kind: EnumDescriptor) -> bool:
    zero = [word for word, meant in values(kind).items() if any(n == 0 for _, n in meant)]
    return bool(NONE_WRONG.intersection(zero))
