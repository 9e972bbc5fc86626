"""Inspecting: a runner's schema shown, and its mapping written down."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from hostler.app.clock import SystemClock
from hostler.domain.errors import HostlerError
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.fleeting.schema.cache import read_cache
from hostler.frontends.fleeting.schema.inspect import as_json, picture
from hostler.frontends.fleeting.schema.learn import Learning, Learnt, learn, relearn, usual
from hostler.frontends.fleeting.schema.pin import write_pin


def here(environment: Mapping[str, str]) -> Learning:
    """Return what learning is given in this process."""
    clock = SystemClock()
    return usual(environment, pid=os.getpid(), root=os.geteuid() == 0, now=clock.now)


async def show_schema(path: Path, override: Path | None, screen: Screen) -> int:
    """Show the schema of a runner, and how it is mapped; return the exit code."""
    learnt = learn(_of(path, override))
    screen.show(picture(learnt), as_json(learnt))
    return int(Exit.FAILED if learnt.refusal else Exit.OK)


async def pin_mapping(
    path: Path | None, file: Path | None, override: Path | None, screen: Screen
) -> int:
    """Write the mapping of a schema down, and return the exit code."""
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
