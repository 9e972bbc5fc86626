"""The extract of what the real API was recorded to answer, and how a body is held against it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
IPV4 = r"\d{1,3}(\.\d{1,3}){3}"
PATTERNS = {
    "uuid": UUID,
    "ipv4": IPV4,
    "ipv6": r"[0-9a-f:]+:[0-9a-f:]*",
    "mac": r"[0-9a-f]{2}(:[0-9a-f]{2}){5}",
    "zone": r"[a-z]{2}-[a-z]{3}-\d",
    "region": r"[a-z]{2}-[a-z]{3}",
    "url": r"https?://\S+",
    "access-key": r"SCW[A-Z0-9]{17}",
    "cidr4": IPV4 + r"/\d+",
    "cidr6": r"[0-9a-f:]+/\d+",
    "text": r"(?s:.*)",
    "date(6frac)Z": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z",
    "date(6frac)±hh:mm": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00",
}
KINDS: Mapping[str, type | tuple[type, ...]] = {
    "bool": bool,
    "int": int,
    "float": (float, int),
    "list": list,
    "obj": dict,
    "null": type(None),
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a shape: the types that were seen, and if it is in every answer."""

    types: frozenset[str]
    always: bool

    def takes(self, value: object) -> bool:
        """Tell if a value is of one of the types."""
        return any(is_a(value, name) for name in self.types)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One route: its status, where the objects of its body stand, and the name of their shape."""

    status: int
    at: str
    shape: str


def is_a(value: object, name: str) -> bool:
    """Tell if a value is of a type that was recorded."""
    if name in KINDS:
        flag = isinstance(value, bool)
        return flag if name == "bool" else isinstance(value, KINDS[name]) and not flag
    if not isinstance(value, str):
        return False
    if name.startswith("="):
        return value == name[1:].replace("~", " ")
    return re.fullmatch(PATTERNS.get(name, r".*"), value) is not None


@cache
def table() -> tuple[dict[tuple[str, str], Recorded], dict[str, dict[str, Field]]]:
    """Read the extract: routes by method and path, and shapes by name."""
    routes: dict[tuple[str, str], Recorded] = {}
    shapes: dict[str, dict[str, Field]] = {}
    section = ""
    for line in Path(__file__).with_name("recorded.txt").read_text().splitlines():
        if line.startswith("[") and line.endswith("]") and " " not in line:
            section = line[1:-1]
        elif line and not line.startswith("#"):
            parts = line.split()
            if section == "routes":
                method, path, status, at, shape = parts
                routes[method, path] = Recorded(int(status), at, shape)
            else:
                shapes.setdefault(section, {}).update(field_of(part) for part in parts)
    return routes, shapes


def field_of(text: str) -> tuple[str, Field]:
    """Read one field of a shape."""
    name, _, types = text.partition(":")
    return name.rstrip("?"), Field(frozenset(types.split("|")), not name.endswith("?"))


def objects_at(body: Any, at: str) -> list[Any]:
    """Return the objects of a body: all of it, those of a list or a map, or one under a key."""
    if at == "-":
        return [body]
    key = at.rstrip("[].*")
    found = body[key]
    if at.endswith("[]"):
        return list(found)
    return list(found.values()) if at.endswith(".*") else [found]


def differences(shape: str, body: Any) -> Iterator[str]:
    """Tell where an object differs from its shape: keys too many or too few, wrong types."""
    fields = table()[1][shape]
    found = dict(flat(body, "", fields))
    for path, values in found.items():
        known = fields.get(path)
        if known is None:
            yield f"{shape} {path}: never recorded"
            continue
        for value in values:
            if not known.takes(value):
                yield f"{shape} {path}: {value!r:.40} is none of {' '.join(sorted(known.types))}"
    for path, known in fields.items():
        above = path.rpartition(".")[0].removesuffix("[]").removesuffix(".*")
        there = not above or any(found.get(above, ()))
        if known.always and there and path not in found and not path.endswith(("[]", "*")):
            yield f"{shape} {path}: is missing"


def flat(value: Any, path: str, fields: Mapping[str, Field]) -> Iterator[tuple[str, list[Any]]]:
    """Return every path of an object with the values that stand there."""
    gathered: dict[str, list[Any]] = {}
    gather(value, path, fields, gathered)
    yield from gathered.items()


def gather(value: Any, path: str, fields: Mapping[str, Field], into: dict[str, list[Any]]) -> None:
    """Add every path below a value to those that were gathered."""
    if path:
        into.setdefault(path, []).append(value)
    if isinstance(value, list):
        for one in cast("list[Any]", value):
            gather(one, path + "[]", fields, into)
    elif isinstance(value, dict):
        is_map = any(known.startswith(f"{path}.*") for known in fields)
        for key, one in cast("dict[str, Any]", value).items():
            name = "*" if is_map else key
            gather(one, f"{path}.{name}" if path else name, fields, into)
