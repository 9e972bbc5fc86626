"""Nearly: what a service lacks that has most of our methods, and lines that would name them.

All is asked at once: also what would be asked of the messages once the methods are named.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from .mapping.mapping import map_service
from .mapping.override import Override
from .mapping.proposals import Proposal, proposals, tables
from .mapping.services import Service, service
from .vocabulary.names import CORE_METHODS
from .vocabulary.naming import word_set, words

_SAYS_NOTHING = word_set("get do call rpc plugin instance instances group the v1 v2 v3 v 1 2 3 4")
"""Words that a method may have beside ours and still be it."""


class Nearly(Struct, frozen=True, kw_only=True):
    """What a service lacks, in a line, and the lines of an override file that would settle it."""

    reason: str
    lines: tuple[str, ...]


def nearly(one: Service, override: Override) -> Nearly:
    """Return what a service lacks, and every line that it needs."""
    lacking = [name for name in CORE_METHODS if name not in one.methods]
    has = ", ".join(method.name for method in one.descriptor.methods)
    methods = [_method(name, one) for name in lacking]
    supposed = [_supposed(options, one) for options in methods]
    renamed = {option.key: option.value.strip('"') for option in supposed if option}
    later = _later(one, renamed, override)
    return Nearly(
        reason=f"{one.name} has no {', '.join(lacking)}; it has {has}",
        lines=tuple(tables([line for options in methods for line in options] + later, one.name)),
    )


def _method(missing: str, one: Service) -> Sequence[Proposal]:
    """Return the sure line for a method, or every other method as a question."""
    sure = [name for name in one.others if _is_surely(name, missing)]
    if len(sure) == 1:
        return [_named(missing, sure[0], question=False)]
    return [_named(missing, name, question=True) for name in sure or one.others]


def _supposed(options: Sequence[Proposal], one: Service) -> Proposal | None:
    """Return the only option, or the only one whose request is named by our method."""
    if len(options) == 1:
        return options[0]
    requests = {method.name: words(method.input_type.name) for method in one.descriptor.methods}
    near = [
        option
        for option in options
        if set(words(option.key)) <= set(requests[option.value.strip('"')])
    ]
    return near[0] if len(near) == 1 else None


def _is_surely(name: str, missing: str) -> bool:
    """Tell whether a method's name is ours with words that say nothing."""
    ours, own = words(missing), words(name)
    rest = [word for word in own if word not in ours]
    return set(ours) <= set(own) and all(word in _SAYS_NOTHING for word in rest)


def _named(missing: str, name: str, *, question: bool) -> Proposal:
    return Proposal(table="methods", key=missing, value=f'"{name}"', question=question)


def _later(one: Service, renamed: Mapping[str, str], override: Override) -> list[Proposal]:
    """Return what would be asked of the messages, once the methods are named."""
    own = dict(override.tables.get(one.name, {}))
    own["methods"] = {**own.get("methods", {}), **renamed}
    named = replace(override, tables={**override.tables, one.name: own})
    found = map_service(service(one.descriptor, named), named)
    return list(proposals(found))


def lines_of(near: Sequence[Nearly]) -> Iterator[str]:
    """Go through the lines of several services."""
    for one in near:
        yield from one.lines
