"""Pin: a mapping that has served, written down, so that a changed runner is noticed."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Struct

from hostler.domain.errors import ConfigError

from .mapping.mapping import ServiceMap
from .mapping.match import Level

_LARGEST = 4_000_000
VERSION = 1
Number = Annotated[int, msgspec.Meta(ge=1, le=VERSION)]


class BadPin(ConfigError):
    """A pin that cannot be used."""


class PinnedField(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A field that carries something of ours."""

    name: str
    numbers: str
    type: str


class PinnedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A method's path, and whether it streams."""

    path: str
    streams: bool


class PinnedService(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One service: methods, mapped fields by `Call.side.field`, states, and what was left alone."""

    methods: dict[str, PinnedCall]
    fields: dict[str, PinnedField]
    states: dict[str, str]
    extra: list[str]


class Pin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was pinned."""

    version: Number
    services: dict[str, PinnedService]


class Differences(Struct, frozen=True, kw_only=True):
    """How a service differs from its pin: what may not be, and what may."""

    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


def pinned(found: ServiceMap) -> PinnedService:
    """Return a service as it is pinned."""
    methods = found.service.methods.items()
    return PinnedService(
        methods={
            name: PinnedCall(path=found.service.path(name), streams=one.server_streaming)
            for name, one in methods
        },
        fields=dict(_fields(found)),
        states=_states(found),
        extra=sorted(
            f"{call.name}.{side}: {leaf.name} {leaf.type} = {leaf.numbers}"
            for call in found.calls.values()
            for side, others in call.extra.items()
            for leaf in others
        ),
    )


def write_pin(path: Path, services: Mapping[str, ServiceMap]) -> None:
    """Write the pin of these services, whole or not at all. OSError where it cannot be written."""
    pin = Pin(version=VERSION, services={n: pinned(one) for n, one in services.items()})
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(canonical(pin), encoding="utf-8")
    partial.replace(path)


def canonical(pin: Pin) -> str:
    """Return a pin as JSON with sorted keys."""
    return json.dumps(msgspec.to_builtins(pin), indent=2, sort_keys=True) + "\n"


def digest(found: ServiceMap) -> str:
    """Return a short name of a mapping: equal for equal mappings."""
    content = json.dumps(msgspec.to_builtins(pinned(found)), sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()[:16]


def read_pin(path: Path) -> Pin | None:
    """Return what was pinned; None where there is no such file. BadPin says what is wrong."""
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(_LARGEST), type=Pin)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadPin(f"the pin {path} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadPin(f"the pin {path} is damaged: {error}") from None


def compare(pin: Pin, found: ServiceMap) -> Differences:
    """Return how a service differs from its pin; a service that was not pinned is all change."""
    before, now = pin.services.get(found.name), pinned(found)
    if before is None:
        known = ", ".join(pin.services)
        return Differences(changed=(f"the service {found.name} is not pinned: {known} is",))
    changed = [
        *_different("method", _described(before.methods), _described(now.methods)),
        *_different("field", _written(before.fields), _written(now.fields)),
        *_different("state", before.states, now.states),
    ]
    added = [
        *_new("method", before.methods, now.methods),
        *_new("field", before.fields, now.fields),
        *_new("state", before.states, now.states),
        *(f"not used, new: {one}" for one in sorted(set(now.extra) - set(before.extra))),
        *(f"not used, removed: {one}" for one in sorted(set(before.extra) - set(now.extra))),
    ]
    return Differences(changed=tuple(changed), added=tuple(added))


def _fields(found: ServiceMap) -> Iterator[tuple[str, PinnedField]]:
    for call, side, one in found.matches():
        if one.leaf is not None and one.level is not Level.REFUSED:
            field = PinnedField(name=one.leaf.name, numbers=one.leaf.numbers, type=one.leaf.type)
            yield f"{call}.{side}.{one.slot.name}", field


def _states(found: ServiceMap) -> dict[str, str]:
    if found.states is None:
        return {}
    names = found.states.names
    return {str(s): f"{names[s]} = {value}" for s, value in found.states.written.items()}


def _described(methods: Mapping[str, PinnedCall]) -> dict[str, str]:
    return {n: f"{m.path}{', a stream' if m.streams else ''}" for n, m in methods.items()}


def _written(fields: Mapping[str, PinnedField]) -> dict[str, str]:
    return {key: f"{f.name} {f.type} = {f.numbers}" for key, f in fields.items()}


def _different(kind: str, before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for key, was in before.items():
        if (is_ := now.get(key)) != was:
            yield f"{kind} {key}: pinned as {was}, now {is_ or 'removed'}"


def _new(kind: str, before: Mapping[str, object], now: Mapping[str, object]) -> Iterator[str]:
    yield from (f"{kind} {key} is new" for key in now if key not in before)
