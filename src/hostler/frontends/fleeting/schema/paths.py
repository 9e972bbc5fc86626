"""Around: where the files of the schema room are, unless the environment says otherwise."""

from collections.abc import Mapping
from pathlib import Path

from hostler.frontends.fleeting.config.state import base_of

from .binary.processes import ProcFolder
from .learn import Learning, Now
from .locations import VARIABLE
from .mapping.override import NAMED_BY

PIN = "HOSTLER_FLEETING_PIN"
FOLDER = "schema"
_FILES = {"override": "schema.toml", "pin": "pin.json", "cache": "kept"}


def usual(environment: Mapping[str, str], *, pid: int, root: bool, now: Now) -> Learning:
    """Return what learning is given in the process `pid`; `root`: whether it runs as root."""
    base = base_of(None, environment, root=root)
    places = {key: base / FOLDER / name for key, name in _FILES.items()} if base else {}
    said = {"override": environment.get(NAMED_BY, ""), "pin": environment.get(PIN, "")}
    named = {key: Path(value) for key, value in said.items() if value}
    files = {**places, **named}
    return Learning(
        processes=ProcFolder(pid),
        now=now,
        choice=environment.get(VARIABLE, ""),
        search=environment.get("PATH"),
        override=files.get("override"),
        pin=files.get("pin"),
        cache=files.get("cache"),
        named=tuple(named.values()),
    )
