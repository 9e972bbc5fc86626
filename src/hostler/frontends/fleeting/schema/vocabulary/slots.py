"""Slots: what a logical field holds, and by which names it may be known."""

from enum import StrEnum

from msgspec import Struct


class Kind(StrEnum):
    """What a logical field holds, which says what types of the schema can carry it."""

    TEXT = "a text"
    WORD = "a text or an enum"
    SECRET = "bytes or a text"  # noqa: S105 - a kind, not a secret
    CONFIG = "bytes, a text or a Struct"
    COUNT = "a whole number"
    FLAG = "a bool"
    IDS = "a list of ids"
    TEXTS = "a list of texts"
    TIME = "a time"
    OPAQUE = "a duration"
    STATE = "a state"


class Need(StrEnum):
    """What it means when a schema has no field for it."""

    CRITICAL = "nothing works without it"
    ANSWER = "without it an answer says that nothing was done"
    CONVEYED = "without it nobody can log in"
    EXPECTED = "it may be missing, but not under a name that nobody knows"
    OPTIONAL = "it may be missing"


class Slot(Struct, frozen=True, kw_only=True):
    """One logical field of a call: what it holds, and by which names it is known.

    `within`: the words that may stand around it, in the names of the messages that it is nested in;
    `spelled`: the words of each name by which it is known; `allowed`: words of NEVER that may stand
    in its name, and around it.
    """

    name: str
    kind: Kind
    names: tuple[str, ...]
    also: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    need: Need = Need.OPTIONAL
    within: frozenset[str] = frozenset()
    spelled: tuple[frozenset[str], ...] = ()
    allowed: frozenset[str] = frozenset()

    @property
    def sole(self) -> bool:
        """Whether its message can mean one thing only, so that a neutral name is enough."""
        return self.need in {Need.CRITICAL, Need.ANSWER}

    @property
    def words(self) -> frozenset[str]:
        """All words of its names, and of those of the messages around it."""
        return self.within.union(self.allowed, *self.spelled)
