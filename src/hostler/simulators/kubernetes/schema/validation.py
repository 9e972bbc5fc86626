"""Validation: which fields of an object break its definition's schema, in the server's words."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from hostler.simulators.kubernetes.state.body import (
    Body,
    is_list,
    is_mapping,
    mapping,
    same,
    sequence,
)
from hostler.simulators.kubernetes.state.refusals import Cause

REQUIRED, INVALID, TYPE = "FieldValueRequired", "FieldValueInvalid", "FieldValueTypeInvalid"


def violations(value: Any, schema: Body, path: str = "") -> Iterator[Cause]:
    """Return all that is wrong with a value."""
    if value is None and schema.get("nullable"):
        return
    if (wrong := _type(value, schema, path)) is not None:
        yield wrong
        if value is None:
            yield from _enumeration(value, schema, path)
        return
    yield from _enumeration(value, schema, path)
    if isinstance(value, str):
        yield from _text(value, schema, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(value, schema, path)
    elif is_list(value):
        yield from _list(value, schema, path)
    elif is_mapping(value):
        yield from _object(value, schema, path)
    yield from _combined(value, schema, path)


def holds(value: Any, schema: Body) -> bool:
    """Tell whether nothing is wrong with a value."""
    return next(violations(value, schema), None) is None


def _type(value: Any, schema: Body, path: str) -> Cause | None:
    wanted = schema.get("type")
    if schema.get("x-kubernetes-int-or-string"):
        fits = isinstance(value, str) or _is(value, "integer")
        wanted = "integer,string"
    else:
        fits = not wanted or _is(value, wanted)
    if fits:
        return None
    found_type = name_of(value)
    message = (
        f'Invalid value: "{found_type}": {path or "<nil>"} in body must be of type '
        f'{wanted}: "{found_type}"'
    )
    return Cause(path or "<nil>", TYPE, message)


def name_of(value: object) -> str:  # noqa: PLR0911 - one for each type
    """Return the JSON type of a value, as messages name it."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return "number"


def _is(value: Any, wanted: str) -> bool:
    match wanted:
        case "object":
            return is_mapping(value)
        case "array":
            return is_list(value)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            return whole and not isinstance(value, bool)
        case _:
            return isinstance(value, int | float) and not isinstance(value, bool)


def displayed(value: Any, found_type: str = "") -> str:
    """Return a value as messages quote it."""
    if is_mapping(value) or is_list(value):
        return f'"{found_type or "object"}"'
    return msgspec.json.encode(value).decode()


def _enumeration(value: Any, schema: Body, path: str) -> Iterator[Cause]:
    choices = sequence(schema.get("enum"))
    if choices and not any(same(value, choice) for choice in choices):
        listed = ", ".join(displayed(choice) for choice in choices)
        message = f"Unsupported value: {displayed(value)}: supported values: {listed}"
        yield Cause(path, "FieldValueNotSupported", message)


def _text(value: str, schema: Body, path: str) -> Iterator[Cause]:
    least, most = schema.get("minLength"), schema.get("maxLength")
    if least is not None and len(value) < least:
        yield _should(path, value, f"should be at least {least} chars long")
    if most is not None and len(value) > most:
        yield Cause(path, "FieldValueTooLong", f"Too long: may not be more than {most} bytes")
    pattern = schema.get("pattern")
    if pattern is not None and re.search(pattern, value, re.ASCII) is None:
        yield _should(path, value, f"should match '{pattern}'")
    if (form := schema.get("format")) in _FORMATS and not _FORMATS[form](value):
        quoted = displayed(value)
        message = f"Invalid value: {quoted}: {path} in body must be of type {form}: {quoted}"
        yield Cause(path, TYPE, message)


def _is_date_time(value: str) -> bool:
    shaped = re.fullmatch(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", value)
    if shaped is None:
        return False
    try:
        datetime.fromisoformat(value.upper().replace("Z", "+00:00")[:19])
    except ValueError:
        return False
    return True


def _is_duration(value: str) -> bool:
    part = r"(\d+(\.\d*)?|\.\d+)\s*(ns|us|µs|μs|ms|s|m|h|d|w)"
    return re.fullmatch(rf"-?({part})+|0", value) is not None


_FORMATS = {"date-time": _is_date_time, "duration": _is_duration}


def _number(value: float, schema: Body, path: str) -> Iterator[Cause]:
    least, most = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum") is True, schema.get("exclusiveMaximum") is True
    if least is not None and (value < least or (above and value == least)):
        word = "greater than" if above else "greater than or equal to"
        yield _should(path, value, f"should be {word} {least}")
    if most is not None and (value > most or (below and value == most)):
        word = "less than" if below else "less than or equal to"
        yield _should(path, value, f"should be {word} {most}")
    step = schema.get("multipleOf")
    if step and value % step:
        yield _should(path, value, f"should be a multiple of {step}")


def _list(value: list[Any], schema: Body, path: str) -> Iterator[Cause]:
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        text = f"Invalid value: {len(value)}: {path} in body should have at least {least} items"
        yield Cause(path, INVALID, text)
    if most is not None and len(value) > most:
        text = f"Too many: {len(value)}: must have at most {most} items"
        yield Cause(path, "FieldValueTooMany", text)
    keys = sequence(schema.get("x-kubernetes-list-map-keys"))
    if schema.get("x-kubernetes-list-type") in {"set", "map"}:
        yield from _duplicates(value, keys, path)
    items = mapping(schema.get("items"))
    for index, each in enumerate(value):
        yield from violations(each, items, f"{path}[{index}]")


def _duplicates(value: list[Any], keys: list[Any], path: str) -> Iterator[Cause]:
    seen = set[bytes]()
    for index, each in enumerate(value):
        named = {key: mapping(each).get(key) for key in keys} if keys else each
        text = msgspec.json.encode(named, order="sorted")
        if text in seen:
            message = f"Duplicate value: {text.decode()}"
            yield Cause(f"{path}[{index}]", "FieldValueDuplicate", message)
        seen.add(text)


def _object(value: Body, schema: Body, path: str) -> Iterator[Cause]:
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and len(value) < least:
        yield _should(path, value, f"should have at least {least} properties")
    if most is not None and len(value) > most:
        yield Cause(
            path, "FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items"
        )
    properties = mapping(schema.get("properties"))
    others = mapping(schema.get("additionalProperties"))
    for name, each in value.items():
        below = mapping(properties.get(name, others))
        yield from violations(each, below, _join(path, name))
    for name in sequence(schema.get("required")):
        if name not in value:
            yield Cause(_join(path, name), REQUIRED, "Required value")


def _combined(value: Any, schema: Body, path: str) -> Iterator[Cause]:
    for below in sequence(schema.get("allOf")):
        yield from violations(value, mapping(below), path)
    some = sequence(schema.get("anyOf"))
    if some and not any(holds(value, mapping(below)) for below in some):
        yield _must(path, value, "must validate at least one schema (anyOf)")
    one = sequence(schema.get("oneOf"))
    if one and sum(holds(value, mapping(below)) for below in one) != 1:
        yield _must(path, value, "must validate one and only one schema (oneOf)")
    if (none := schema.get("not")) is not None and holds(value, mapping(none)):
        yield _must(path, value, "must not validate the schema (not)")


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _should(path: str, value: Any, what: str) -> Cause:
    return Cause(path, INVALID, f"Invalid value: {displayed(value)}: {path} in body {what}")


def _must(path: str, value: Any, what: str) -> Cause:
    return Cause(path or "<nil>", INVALID, f'Invalid value: {displayed(value)}: "{path}" {what}')
