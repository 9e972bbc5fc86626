"""Values: records that are written anew only where something in them is otherwise."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

V = TypeVar("V", bound="DataclassInstance")


def evolve(value: V, **fields: Any) -> V:
    """Return the record with these fields, or the very record where it has them already.

    Most turns find nothing new, and a record of fifty fields is dear to write anew.
    """
    for name, field in fields.items():
        before = getattr(value, name)
        if before is not field and before != field:
            return replace(value, **fields)
    return value
