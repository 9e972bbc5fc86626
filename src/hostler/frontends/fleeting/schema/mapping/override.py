"""Override: what an operator says of a schema, in TOML; it settles what names cannot.

[Decrease.reply]
succeeded = "victims"       # our field = the schema's field, dotted where it is nested
[Decrease.reply.always]
accepted = true             # a field of the schema's that every answer has like this
[Init.request.unused]
"settings.proxy" = true     # a field of the schema's that nobody needs to read
[states]
creating = "PROVISIONING"   # the name of an enum's value, the text, or the number
[methods]
ConnectInfo = "GetConnectInfo"
["fleet.v2.Machines".Decrease.reply]   # for one of several services only
succeeded = "victims"
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from msgspec import Struct, field

from hostler.domain.errors import ConfigError
from hostler.frontends.fleeting.contract import State
from hostler.frontends.fleeting.schema.vocabulary.names import METHODS, REPLY, REQUEST, SLOTS

from .match import NO_CHOICE, Chosen

Constant = str | bool | int

NAMED_BY = "HOSTLER_FLEETING_OVERRIDE"
"""The variable of the environment that names the file, where it is not in its usual place."""
_LARGEST = 1_000_000
Tables = Mapping[str, Chosen]
_STATES = frozenset(str(state) for state in State)


_TABLES = frozenset((*METHODS, "states", "methods"))
ALWAYS, UNUSED = "always", "unused"
_BESIDE = {REQUEST: UNUSED, REPLY: ALWAYS}


class BadOverride(ConfigError):
    """An override file that cannot be used; the text names every fault."""


class Override(Struct, frozen=True, kw_only=True):
    """What was said: by service ("" for all), then by table name, then by key.

    `fields` is what was said of fields that are none of ours.
    """

    path: str = ""
    tables: Mapping[str, Mapping[str, Chosen]] = field(
        default_factory=dict[str, Mapping[str, Chosen]]
    )
    fields: Mapping[str, Mapping[str, Mapping[str, Constant]]] = field(
        default_factory=dict[str, Mapping[str, Mapping[str, Constant]]]
    )

    def beside(self, service: str, call: str, side: str) -> Mapping[str, Constant]:
        """Return what was said of fields of one message that are none of ours.

        In an answer: what they always are; in a request: that nobody needs to read them.
        """
        name = f"{call}.{side}"
        everywhere = self.fields.get("", {}).get(name, {})
        return {**everywhere, **self.fields.get(service, {}).get(name, {})}

    def message(self, service: str, call: str, side: str) -> Chosen:
        """Return what was said of one message."""
        return self._of(service, f"{call}.{side}")

    def states(self, service: str) -> Chosen:
        """Return what was said of states."""
        return self._of(service, "states")

    def methods(self, service: str) -> Chosen:
        """Return what was said of methods."""
        return self._of(service, "methods")

    @property
    def services(self) -> tuple[str, ...]:
        """The services that were named."""
        return tuple(name for name in self.tables if name)

    def _of(self, service: str, name: str) -> Chosen:
        everywhere = self.tables.get("", {}).get(name, NO_CHOICE)
        return {**everywhere, **self.tables.get(service, {}).get(name, NO_CHOICE)}


NOTHING = Override()


def read_override(path: Path) -> Override:
    """Return what a file says; nothing where there is no file. BadOverride names every fault."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return Override(path=str(path))
    except OSError as error:
        raise BadOverride(f"{path} cannot be read: {error.strerror}") from error
    return parse(content, str(path))


def parse(content: bytes, path: str) -> Override:
    """Return what these bytes say. BadOverride names every fault."""
    if len(content) > _LARGEST:
        raise BadOverride(f"{path} is larger than {_LARGEST:,} bytes")
    try:
        raw: Mapping[str, object] = tomllib.loads(content.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadOverride(f"{path} is not TOML: {error}") from None
    faults = list[str]()
    tables, fields = dict[str, Mapping[str, Chosen]](), dict[str, Beside]()
    services = [name for name, table in raw.items() if _is_service(name, table)]
    for name in ("", *services):
        table, where = (_mapping(raw[name]), f'"{name}".') if name else (raw, "")
        tables[name], fields[name] = _tables(table, where, faults), _fields(table, where, faults)
    if faults:
        raise BadOverride("\n".join((f"{path} is wrong:", *faults)))
    return Override(path=path, tables=tables, fields=fields)


Beside = Mapping[str, Mapping[str, Constant]]


def _is_service(name: str, table: object) -> bool:
    """Tell whether a table is about one service: its name is none of ours, what is in it is."""
    if name in _TABLES or not isinstance(table, dict):
        return False
    return "." in name or bool(_TABLES.intersection(cast("dict[str, object]", table)))


def _tables(raw: Mapping[str, object], where: str, faults: list[str]) -> Mapping[str, Chosen]:
    """Return the tables for one service, or for all."""
    found = dict[str, Chosen]()
    for name, table in raw.items():
        if not where and _is_service(name, table):
            continue
        if not isinstance(table, dict):
            faults.append(f"  {where}{name}: expected a table")
            continue
        for key, entries, known in _parts(name, cast("dict[str, object]", table), where, faults):
            found[key] = _texts(entries, known, f"{where}{key}", faults)
    return found


def _parts(
    name: str, table: Mapping[str, object], where: str, faults: list[str]
) -> Iterator[tuple[str, Mapping[str, object], frozenset[str]]]:
    """Go through the tables under one name, each with the keys that it may have."""
    if name in {"states", "methods"}:
        yield name, _numbered(name, table), _STATES if name == "states" else frozenset(METHODS)
    elif name not in METHODS:
        known = ", ".join((*METHODS, "states", "methods"))
        faults.append(f"  {where}{name}: unknown; known are {known}, and services in quotes")
    else:
        for side, entries in table.items():
            slots = SLOTS.get((name, side))
            if slots is None or not isinstance(entries, dict):
                faults.append(f"  {where}{name}.{side}: expected the table request or reply")
                continue
            known = frozenset(slot.name for slot in slots)
            table_ = cast("dict[str, object]", entries)
            ours = {key: value for key, value in table_.items() if key != _BESIDE[side]}
            yield f"{name}.{side}", ours, known


def _numbered(name: str, table: Mapping[str, object]) -> Mapping[str, object]:
    """Return the table of states with numbers as texts: a state may be a number."""
    if name != "states":
        return table
    numbers = {k: str(v) for k, v in table.items() if isinstance(v, int) and v is not bool(v)}
    return {**table, **numbers}


def _mapping(found: object) -> Mapping[str, object]:
    """Return a table as it is, and anything else as an empty one."""
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}


def _fields(raw: Mapping[str, object], where: str, faults: list[str]) -> Beside:
    """Return what is said of fields that are none of ours, by call and side."""
    found = dict[str, Mapping[str, Constant]]()
    for name, side in SLOTS:
        table = _mapping(_mapping(raw.get(name)).get(side))
        place = f"{where}{name}.{side}.{_BESIDE[side]}"
        if not isinstance(table.get(_BESIDE[side], {}), dict):
            faults.append(f"  {place}: expected a table")
        entries = _mapping(table.get(_BESIDE[side]))
        found[f"{name}.{side}"] = dict(_constants(entries, side, place, faults))
    return found


def _constants(
    entries: Mapping[str, object], side: str, place: str, faults: list[str]
) -> Iterator[tuple[str, Constant]]:
    """Go through what is said of fields: for answers a value, for requests `true`."""
    for key, value in entries.items():
        if side == REQUEST and value is not True:
            faults.append(f"  {place}.{key}: expected true")
        elif not isinstance(value, str | bool | int):
            faults.append(f"  {place}.{key}: expected a text, a whole number, true or false")
        else:
            yield key, value


def _texts(
    entries: Mapping[str, object], known: frozenset[str], where: str, faults: list[str]
) -> Chosen:
    """Return the entries of a table, which are texts under known keys."""
    for key, value in entries.items():
        if key not in known:
            faults.append(f"  {where}.{key}: unknown; known are {', '.join(sorted(known)) or '-'}")
        elif not isinstance(value, str):
            faults.append(f"  {where}.{key}: expected a text")
    return {key: value for key, value in entries.items() if isinstance(value, str)}
