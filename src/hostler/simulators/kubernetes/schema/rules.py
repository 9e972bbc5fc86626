"""Rules: what a definition forbids in CEL, checked on each part of an object that has a rule."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from hostler.simulators.kubernetes.kinds.kind import Kind
from hostler.simulators.kubernetes.state.body import (
    Body,
    is_list,
    is_mapping,
    mapping,
    metadata_of,
    sequence,
    text_at,
)
from hostler.simulators.kubernetes.state.refusals import Cause, internal

from .cel.evaluation import Failed, Scope, value_of
from .cel.syntax import BadExpression, Name, Node, parsed
from .validation import displayed

RULES = "x-kubernetes-validations"
UNCHECKED = Cause(
    "<nil>",
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)
_BLOCKING = frozenset(
    {
        *("FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong"),
        *("FieldValueTooMany", "FieldValueTypeInvalid"),
    }
)


def broken_rules(
    kind: Kind, item: Body, before: Body | None, causes: list[Cause]
) -> Iterator[Cause]:
    """Return which rules an object breaks; they are not checked where its schema is broken."""
    schema = kind.schema or {}
    if any(cause.reason in _BLOCKING for cause in causes):
        if _has_rules(schema):
            yield UNCHECKED
        return
    yield from _broken(_known(item), _known(before) if before else None, schema, "")


def _known(item: Body) -> Body:
    """Return an object with what rules may know of its metadata."""
    metadata = metadata_of(item)
    known = {name: metadata[name] for name in ("name", "generateName") if name in metadata}
    return {**item, "metadata": known}


def _has_rules(schema: Body) -> bool:
    below = [*mapping(schema.get("properties")).values()]
    below += [mapping(schema.get("items")), mapping(schema.get("additionalProperties"))]
    return RULES in schema or any(_has_rules(mapping(each)) for each in below if each)


def _broken(value: Any, before: Any, schema: Body, path: str) -> Iterator[Cause]:
    for rule in sequence(schema.get(RULES)):
        yield from _checked(mapping(rule), value, before, path)
    if is_mapping(value):
        properties = mapping(schema.get("properties"))
        others = mapping(schema.get("additionalProperties"))
        for name, each in value.items():
            below = mapping(properties.get(name, others))
            here = f"{path}.{name}" if path else name
            yield from _broken(each, mapping(before).get(name), below, here)
    elif is_list(value):
        items = mapping(schema.get("items"))
        old = _by_keys(schema, sequence(before))
        for index, each in enumerate(value):
            was = old.get(_key(schema, each))
            yield from _broken(each, was, items, f"{path}[{index}]")


def _by_keys(schema: Body, items: list[Any]) -> dict[str, Any]:
    return {_key(schema, item): item for item in items} if schema.get(_LIST) == "map" else {}


_LIST = "x-kubernetes-list-type"


def _key(schema: Body, item: Any) -> str:
    keys = sequence(schema.get("x-kubernetes-list-map-keys"))
    return "/".join(text_at(item, str(key)) for key in keys)


def _checked(rule: Body, value: Any, before: Any, path: str) -> Iterator[Cause]:
    text = text_at(rule, "rule")
    node = _tree(text)
    if _names(node, "oldSelf") and before is None:
        return
    scope = {"self": value, "oldSelf": before}
    try:
        if value_of(node, scope) is True:
            return
        why = _message(rule, scope)
    except Failed as failed:
        why = f"rule evaluated with error: {failed}"
    except BadExpression as bad:
        raise internal(f"the simulator does not understand the rule {text!r}: {bad}") from None
    where = text_at(rule, "fieldPath")
    reason = text_at(rule, "reason") or "FieldValueInvalid"
    field = (path + where).lstrip(".") or "<nil>"
    quoted = "" if is_list(value) else f"{displayed(value)}: "
    word = {"FieldValueForbidden": "Forbidden: ", "FieldValueRequired": "Required value: "}.get(
        reason, f"Invalid value: {quoted}"
    )
    yield Cause(field, reason, word + why)


def _message(rule: Body, scope: Scope) -> str:
    if expression := text_at(rule, "messageExpression"):
        return str(value_of(_tree(expression), scope))
    return text_at(rule, "message") or f"failed rule: {text_at(rule, 'rule')}"


@lru_cache(maxsize=1024)
def _tree(text: str) -> Node:
    return parsed(text)


def _names(node: Node, name: str) -> bool:
    """Tell whether an expression uses a variable."""
    if isinstance(node, Name):
        return node.name == name
    return name in repr(node) and f"Name(name='{name}')" in repr(node)


def wrong_rules(schema: Body, place: str) -> Iterator[Cause]:
    """Return which rules of a schema are no expressions."""
    for number, rule in enumerate(sequence(schema.get(RULES))):
        for field in ("rule", "messageExpression"):
            try:
                if text := text_at(rule, field):
                    _tree(text)
            except BadExpression as bad:
                where = f"{place}.{RULES}[{number}].{field}"
                text = f"Invalid value: compilation failed: ERROR: <input>: {bad}"
                yield Cause(where, "FieldValueInvalid", text)
    for name, below in mapping(schema.get("properties")).items():
        yield from wrong_rules(mapping(below), f"{place}.properties[{name}]")
    for name in ("items", "additionalProperties"):
        if is_mapping(below := schema.get(name)):
            yield from wrong_rules(below, f"{place}.{name}")
