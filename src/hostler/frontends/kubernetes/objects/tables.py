"""Tables: an object's spec as the table that the fleet file would have, and faults the other way.

Values are not judged here: a table is decoded as the file's are, so that every fault is found in
one place and is worded the same.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Protocol, cast, get_args, get_origin

from msgspec import Struct
from msgspec.structs import FieldInfo

from hostler.config.decode import known_keys
from hostler.config.structure import bare_of, names_file, struct_of
from hostler.domain.errors import ConfigError
from hostler.frontends.kubernetes.definitions.notation import (
    key_in_object,
    keys_by_name,
    names_secret,
)

from .models import Fields

_INDEX = re.compile(r"^([^\[]*)(.*)$", re.DOTALL)


class PlacesSecrets(Protocol):
    """Where the secrets of one object are; both raise ConfigError where there is none."""

    def variable(self, key: str) -> str:
        """Return the environment variable that has the value of this key."""
        ...

    def file(self, key: str) -> str:
        """Return the file that has it."""
        ...


class Layout(Struct, frozen=True, kw_only=True):
    """How a table is shared out in an object: what is common, and the section of one kind."""

    common: type[object]
    section: str
    own: type[object]

    def place(self, path: str) -> str:
        """Return where in the object a key of the table stands: `spec.scaleway.publicIpv4`."""
        first, *_ = path.split(".")
        common = _without_index(first) in known_keys(self.common)
        inner = ".".join(_in_object(segment) for segment in path.split("."))
        parts = ("spec", *(() if common or not path else (self.section,)), inner)
        return ".".join(part for part in parts if part)


class _Translation:
    """The values of one object on their way into a table, and what is wrong with its secrets."""

    def __init__(self, secrets: PlacesSecrets) -> None:
        self._secrets = secrets
        self.problems = list[str]()

    def table(self, spec: Fields, struct: type[object]) -> dict[str, object]:
        """Return a table of this Struct; keys that it has not stay, and are faults there."""
        known = keys_by_name(struct)
        made = dict[str, object]()
        for key, value in spec.items():
            field = known.get(key)
            if field is None:
                made[key] = value
            else:
                made[field.encode_name] = self._value(value, field)
        for field in known.values():
            if _has_usual_variable(field) and field.encode_name not in made:
                self._add_usual(made, field)
        return made

    def _value(self, value: object, field: FieldInfo) -> object:
        if names_secret(field) and isinstance(value, str):
            return self._secret(value, field)
        return self._inner(value, field.type)

    def _inner(self, value: object, kind: object) -> object:
        bare = bare_of(kind, value)
        struct = struct_of(bare)
        if struct is not None and isinstance(value, Mapping):
            return self.table(cast("Fields", value), struct)
        if get_origin(bare) is tuple and isinstance(value, list):
            (item, *_) = get_args(bare)
            return [self._inner(one, item) for one in cast("list[object]", value)]
        return value

    def _secret(self, key: str, field: FieldInfo) -> str:
        try:
            if names_file(field):
                return self._secrets.file(key)
            return self._secrets.variable(key)
        except ConfigError as error:
            self.problems.append(f"{key_in_object(field.encode_name)}: {error}")
            return key

    def _add_usual(self, made: dict[str, object], field: FieldInfo) -> None:
        """Have the usual variable's name be a key of the Secret too: no other place is looked at.

        Where a file is named instead, no variable is needed.
        """
        file = field.encode_name.removesuffix("_env") + "_file"
        if not made.get(file):
            made[field.encode_name] = self._secret(cast("str", field.default), field)


def _has_usual_variable(field: FieldInfo) -> bool:
    return field.encode_name.endswith("_env") and isinstance(field.default, str)


def table_of_spec(
    spec: Fields, layout: Layout, secrets: PlacesSecrets
) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the table that a spec is, and what is wrong with its secrets."""
    translation = _Translation(secrets)
    common = keys_by_name(layout.common)
    made = translation.table(
        {key: value for key, value in spec.items() if key in common}, layout.common
    )
    section = spec.get(layout.section, {})
    if isinstance(section, Mapping):
        made |= translation.table(cast("Fields", section), layout.own)
    return made, tuple(translation.problems)


def wrong_sections(kinds: Iterable[str], spec: Fields, layout: Layout, why: str) -> tuple[str, ...]:
    """Return which sections of other kinds a spec has, and `why` its own is another."""
    sections = (key_in_object(kind) for kind in kinds)
    found = (name for name in sections if name in spec and name != layout.section)
    return tuple(f"spec.{name}: expected spec.{layout.section}: {why}" for name in found)


def _without_index(segment: str) -> str:
    match = _INDEX.match(segment)
    return match[1] if match is not None else segment


def _in_object(segment: str) -> str:
    bare = _without_index(segment)
    return key_in_object(bare) + segment[len(bare) :]
