"""Unset: what an answer says by the fields that we would leave alone."""

from collections.abc import Sequence

from hostler.frontends.fleeting.schema.vocabulary.enum_values import values
from hostler.frontends.fleeting.schema.vocabulary.naming import plain
from hostler.frontends.fleeting.schema.vocabulary.slots import Kind, Need, Slot
from hostler.frontends.fleeting.schema.vocabulary.synonyms import GOOD, VERDICTS

from .leaves import Leaf


def more(leaf: Leaf, slot: Slot) -> str:
    """Return what the entries of an answer's list say beside the id, or an empty string.

    Unset, a flag or state beside each id would say of each that it was not done.
    """
    inner = leaf.path[leaf.list_at or 0].message_type
    if slot.need is not Need.ANSWER or slot.kind is not Kind.IDS or inner is None or leaf.wrapped:
        return ""
    return ", ".join(field.name for field in inner.fields if field.name != leaf.field.name)


def besides(slot: Slot, left: Sequence[Leaf]) -> str | None:
    """Return that the entries of an answer's only list say more than an id, or None."""
    found = more(left[0], slot) if len(left) == 1 else ""
    return (
        f"the entries of {left[0].name} also say {found}, which we leave unset" if found else None
    )


def unset(leaves: Sequence[Leaf], slot: Slot, taken: set[str]) -> str:
    """Return why an enum that says how a call went cannot be left alone, or an empty string."""
    if slot.kind is not Kind.FLAG or slot.name not in {"ok", "healthy"}:
        return ""
    found = (_verdict(leaf) for leaf in leaves if leaf.name not in taken)
    return next(filter(None, found), "")


def _verdict(leaf: Leaf) -> str:
    """Return what an enum of an answer says of itself, if that is not that all went well."""
    kind = leaf.field.enum_type
    named = len(leaf.path) == 1 and plain(leaf.field.name) in VERDICTS
    if kind is None or not named or leaf.list_at is not None:
        return ""
    first = [word for word, meant in values(kind).items() if any(n == 0 for _, n in meant)]
    if GOOD.intersection(first):
        return ""
    return f"{leaf.name} stays unset, and {leaf.type} then says {', '.join(first)}"
