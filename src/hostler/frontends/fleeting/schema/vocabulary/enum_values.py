"""Values: what the values of an enum mean, once its own name and the common prefix are gone."""

from collections.abc import Mapping, Sequence

from google.protobuf.descriptor import EnumDescriptor

from .naming import words
from .synonyms import NEVER, OTHERS_STATES


def values(kind: EnumDescriptor) -> Mapping[str, tuple[tuple[str, int], ...]]:
    """Return the plain word of each value, with the names and numbers that it stands for.

    `INSTANCE_STATE_TIMED_OUT` of the enum `InstanceState` is `timedout`. Two names of one number
    under one word are one; a word with two numbers has both, and means neither.
    """
    parts = {value.name: words(value.name) for value in kind.values}
    cut = _common(tuple(parts.values()))
    found = dict[str, dict[int, str]]()
    for value in kind.values:
        word = "".join(_without(parts[value.name], cut, words(kind.name)))
        found.setdefault(word, {}).setdefault(value.number, value.name)
    return {word: tuple((n, i) for i, n in numbers.items()) for word, numbers in found.items()}


def _without(
    parts: tuple[str, ...], cut: tuple[str, ...], name: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the words behind the enum's name, whole or in part, or behind the common prefix.

    A prefix that turns the meaning round stays: `NOT_RUNNING` and `DESIRED_RUNNING` are not ours.
    """
    for prefix in (cut, name, name[-1:]):
        if not prefix or (NEVER | OTHERS_STATES).intersection(prefix):
            continue
        if parts[: len(prefix)] == prefix and len(parts) > len(prefix):
            parts = parts[len(prefix) :]
    return parts


def _common(names: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the words that all begin with, of two values or more; never all words of one."""
    if len(names) < 2:
        return ()
    found = list[str]()
    for column in zip(*names, strict=False):
        if len(set(column)) > 1:
            break
        found.append(column[0])
    return tuple(found) if all(len(name) > len(found) for name in names) else ()
