"""Answers: the questions of a refusal, answered by somebody who knows what the fields mean."""

from collections.abc import Iterator, Mapping

from .model import Body, Choice, Field, Schema

_OURS: Mapping[tuple[str, str, str], str] = {
    ("Increase", "reply", "succeeded"): "accepted_count",
    ("Decrease", "reply", "succeeded"): "accepted_ids",
    ("Update", "reply", "instances"): "entries",
}
"""What our words in an override file mean, where the word is not the meaning itself."""
_ZEROS = {'""', "0", "false"}


def answered(schema: Schema, lines: str) -> str:
    """Return the lines with the # taken off those that are true."""
    table, made = "", list[str]()
    for line in lines.splitlines():
        if line.startswith("["):
            table = line.strip("[]").rpartition('".')[2]
        answer = line.removeprefix("# ")
        made.append(answer if answer != line and _is_true(schema, table, answer) else line)
    return "\n".join(made)


def _is_true(schema: Schema, table: str, line: str) -> bool:
    key, _, rest = line.partition(" = ")
    value = rest.partition("   #")[0].strip()
    parts = table.split(".")
    if parts == ["methods"]:
        return schema.rpcs[key].name == value.strip('"')
    if parts == ["states"]:
        states = _states(schema)
        return (value.strip('"'), key) in states
    call, side, *more = parts
    body = schema.bodies[getattr(schema.rpcs[call], side)]
    if more:
        return _settles(schema, _at(schema, body, key.strip('"')), more[0], value)
    return _means(schema, body, _OURS.get((call, side, key), key), value.strip('"'))


def _states(schema: Schema) -> set[tuple[str, str]]:
    """Return what the values of the enum of states mean, where states are of that enum."""
    fields = (one for body in schema.bodies.values() for one in body.fields)
    if not any(one.kind == "State" and one.means in {"state", "states"} for one in fields):
        return set()
    return {(name, means) for name, _, means in schema.choices["State"].values if means}


def _settles(schema: Schema, one: Field | None, kind: str, value: str) -> bool:
    """Tell whether a field may be left unread, or is always what a line says."""
    if one is None:
        return False
    if kind == "unused" or one.demand == "any":
        return one.demand == "any" and (kind == "unused" or value in _ZEROS)
    if one.demand in {"true", "there"}:
        return value == "true"
    choice = schema.choices.get(one.kind)
    return choice is not None and one.demand == "good" and _is_good(choice, value.strip('"'))


def _is_good(choice: Choice, value: str) -> bool:
    return any(name == value and means == "good" for name, _, means in choice.values)


def _means(schema: Schema, body: Body, means: str, name: str) -> bool:
    """Tell whether the field of a name is what our word means, and it alone."""
    meant = {"states"} if means == "entries" else set[str]()
    true = [path for path, one in _walk(schema, body) if one.means in {means, *meant}]
    if not name:
        hidden = any(one.demand == "needed" for _, one in _walk(schema, body))
        return not true and not hidden
    if means in {"id", "state"} and "." not in name:
        entry = schema.bodies.get("Entry")
        true += [one.name for one in entry.fields if one.means == means] if entry else []
    fields = [one for path, one in _walk(schema, body) if path == name]
    plain = all(not one.inverted and one.part == (0, 1) for one in fields)
    return name in true and plain


def _at(schema: Schema, body: Body, name: str) -> Field | None:
    return next((one for path, one in _walk(schema, body) if path == name), None)


def _walk(schema: Schema, body: Body, start: str = "") -> Iterator[tuple[str, Field]]:
    """Go through the fields of a message with their dotted names; an id in a list is its list's."""
    for one in body.fields:
        path = f"{start}{one.name}"
        inner = schema.bodies.get(one.kind)
        if inner is None:
            yield path, one
        elif one.repeated and one.means not in {"", "entries"}:
            yield f"{path}.{inner.fields[0].name}", one
        else:
            yield path, one
            yield from _walk(schema, inner, f"{path}.")
