"""Fleet file: what an engine needs to drive a simulated rack, and the secrets beside it."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from .machine import Machine
from .place import KEY_FILE, SECRET_FILE, Keys
from .protocols import Tables

HEAD = "# Written by `hostler simulator power`, and written anew whenever it starts.\n"
PRICE = 0.25
"""Euros for a kilowatt-hour."""


class Terms(Struct, frozen=True, kw_only=True):
    """How an engine treats a rack, in seconds: `look` is between two looks at what moves."""

    settles: float = 2.0
    deadline: float = 5.0
    patience: float = 3.0
    look: float = 0.5


class Systems(Struct, frozen=True, kw_only=True):
    """The systems of the machines: the port that is open while one is up, and how long it takes."""

    port: int
    boot: float
    shutdown: float


class NotOurs(Exception):
    """A file stands there that no simulator wrote."""


def text(boxes: Mapping[str, tuple[Machine, Tables]], systems: Systems, terms: Terms) -> str:
    """Return the fleet file. Durations are those of the rack, with some to spare."""
    parts = [
        HEAD,
        "# `hostler scale FILE 5` asks for five machines.\n\n",
        *_lines("provider.rack", _rack(systems, terms)),
        *(line for name, entry in boxes.items() for line in _box(name, *entry, terms)),
        *_lines("fleet.nodes", {"size": 3}),
        f'ready = {{ probe = "tcp", port = {systems.port} }}\n\n',
        *_lines("fleet.nodes.timers", _timers(systems, terms)),
        "\n",
        *_lines("engine", _engine(terms)),
    ]
    return "".join(parts)


def write(path: Path, content: str, keys: Keys) -> None:
    """Write the file and its secrets, which nobody else may read; raise OSError or `NotOurs`.

    What another hand wrote there is left alone.
    """
    if path.exists() and not path.read_text(encoding="utf-8").startswith(HEAD):
        raise NotOurs(f"{path} is there, and no simulator wrote it: name another file")
    _write_secret(path.with_name(SECRET_FILE), keys.secret.encode())
    _write_secret(path.with_name(KEY_FILE), keys.user.export_private_key())
    path.write_text(content, encoding="utf-8")


def _write_secret(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)
    path.touch(mode=0o600, exist_ok=False)
    path.write_bytes(content)


def _rack(systems: Systems, terms: Terms) -> Mapping[str, object]:
    soft_wait = systems.shutdown + terms.deadline
    return {
        "kind": "power",
        "soft_wait": _span(soft_wait),
        "patience": _span(terms.patience),
        "quiet": "0s",
    }


def _engine(terms: Terms) -> Mapping[str, object]:
    look, twice = _span(terms.look), _span(2 * terms.look)
    return {"quiet": _span(4 * terms.look), "busy_first": look, "busy_last": twice, "rare": twice}


def _timers(systems: Systems, terms: Terms) -> Mapping[str, object]:
    return {
        "start": _span(4 * systems.boot + 60),
        "stop": _span(4 * systems.shutdown + 60),
        "absence_gap": "1s",
        "wave_window": "5s",
        "probe_every": _span(terms.look),
        "tries": ("1s", "2s", "4s"),
    }


def _box(name: str, machine: Machine, tables: Tables, terms: Terms) -> Iterator[str]:
    price = round(machine.watts[1] / 1000 * PRICE, 6)
    named = {"name": name, "address": machine.address, "price": price}
    bounds = {"settles": _span(terms.settles), "deadline": _span(terms.deadline)}
    yield "\n[[provider.rack.boxes]]\n"
    yield from _keys({**named, **tables.order})
    for method, table in tables.methods.items():
        yield from _lines(f"provider.rack.boxes.{method}", {**table, **bounds})
    yield "\n"


def _lines(table: str, keys: Mapping[str, object]) -> Iterator[str]:
    yield f"[{table}]\n"
    yield from _keys(keys)


def _keys(keys: Mapping[str, object]) -> Iterator[str]:
    for key, value in keys.items():
        yield f"{key} = {json.dumps(value)}\n"


def _span(seconds: float) -> str:
    return f"{seconds:.0f}s" if seconds == int(seconds) else f"{seconds * 1000:.0f}ms"
