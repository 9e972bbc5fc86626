"""Inspecting: `hostler fleeting inspect` and `pin`: a runner's schema shown, and written down."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from hostler.app.clock import SystemClock
from hostler.domain.errors import HostlerError
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.guard import guarded
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.fleeting.schema.cache import read_cache
from hostler.frontends.fleeting.schema.inspect import as_json, picture
from hostler.frontends.fleeting.schema.learn import Learning, Learnt, learn, relearn, usual
from hostler.frontends.fleeting.schema.pin import write_pin

Json = Annotated[bool, Parameter(name="--json", negative=(), help="print JSON")]
OverrideFile = Annotated[
    Path | None, Parameter(help="a file of overrides; default: the plugin's own")
]


def inspect(
    path: Annotated[Path, Parameter(help="the runner's executable, or a descriptor set")],
    /,
    *,
    override: OverrideFile = None,
    json: Json = False,
) -> int:
    """Show the schema in a runner's binary, and how the plugin maps it."""
    return guarded(json, lambda screen: _inspect(path, override, screen))


def pin(
    path: Annotated[
        Path | None,
        Parameter(help="the runner's executable; default: the schema that was used last"),
    ] = None,
    /,
    *,
    file: Annotated[
        Path | None,
        Parameter(help="where to write the pin; default: where the plugin looks for it"),
    ] = None,
    override: OverrideFile = None,
    json: Json = False,
) -> int:
    """Pin a mapping, so that the plugin refuses a runner whose schema differs."""
    return guarded(json, lambda screen: _pin(path, file, override, screen))


def here(environment: Mapping[str, str]) -> Learning:
    """Return what learning is given in this process."""
    clock = SystemClock()
    return usual(environment, pid=os.getpid(), root=os.geteuid() == 0, now=clock.now)


async def _inspect(path: Path, override: Path | None, screen: Screen) -> int:
    learnt = learn(_of(path, override))
    screen.show(picture(learnt), as_json(learnt))
    return int(Exit.FAILED if learnt.refusal else Exit.OK)


async def _pin(path: Path | None, file: Path | None, override: Path | None, screen: Screen) -> int:
    learning = here(os.environ)
    place = file or learning.pin
    learnt = _to_pin(path, override, learning)
    if learnt.refusal:
        raise HostlerError(learnt.refusal)
    if place is None:
        raise HostlerError("there is no place for the pin: name one with --file")
    try:
        write_pin(place, {one.name: one for one in learnt.served})
    except OSError as error:
        raise HostlerError(f"{place} cannot be written: {error.strerror}") from error
    names = ", ".join(one.name for one in learnt.served)
    text = f"pinned {names}, from {learnt.origin}, in {place}"
    screen.show(text, {"pin": str(place), "services": [one.name for one in learnt.served]})
    return int(Exit.OK)


def _to_pin(path: Path | None, override: Path | None, learning: Learning) -> Learnt:
    """Return what is to be pinned: what a file says, or what served last; no old pin counts."""
    if path is not None:
        return learn(replace(_of(path, override), pin=None))
    cached = read_cache(learning.cache) if learning.cache is not None else None
    if cached is None:
        raise HostlerError("no schema has served yet on this machine: name the runner's executable")
    learning = replace(learning, named=(), override=override or learning.override)
    return relearn(learning, cached)


def _of(path: Path, override: Path | None) -> Learning:
    learning = here(os.environ)
    named = (override,) if override is not None else ()
    return replace(learning, choice=str(path), override=override or learning.override, named=named)
