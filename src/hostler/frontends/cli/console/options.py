"""Options: what several commands take, with their help."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from hostler.config.values import Config
from hostler.domain.errors import RequestRefused
from hostler.domain.ids import HostId, MachineId
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.ports.store import Store

from .format import typed

File = Annotated[Path, Parameter(help="the fleet file")]
Name = Annotated[str, Parameter(help="a machine's id, or its beginning")]
Json = Annotated[bool, Parameter(name="--json", negative=(), help="print one JSON object")]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Which fleet, and how to print."""

    fleet: Annotated[
        str | None, Parameter(help="the fleet's name; needed where the file has several")
    ] = None
    json: Json = False


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Which fleet, how to print, and whether to wait until an engine has taken the wish."""

    fleet: Annotated[
        str | None, Parameter(help="the fleet's name; needed where the file has several")
    ] = None
    why: Annotated[str, Parameter(help="the reason, for the records")] = ""
    wait: Annotated[
        bool, Parameter(help="wait up to 5 s until a running engine has taken the wish")
    ] = True
    json: Json = False


async def find_machine(
    store: Store, config: Config, fleet: str | None, name: str
) -> tuple[Fleet, Machine]:
    """Return a living machine by the beginning of its id, and its fleet, or raise WishRefused."""
    if not name.strip():
        raise RequestRefused("the name is empty: say which machine; hostler status lists them")
    found = [
        (chosen, machine)
        for chosen in config.chosen(fleet)
        for machine in await store.machines(chosen.name)
        if machine.id.startswith(name)
    ]
    exact = [entry for entry in found if entry[1].id == name]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if found:
        ids = ", ".join(machine.id for _, machine in found[:5])
        raise RequestRefused(f"{typed(name)} could be {ids}: write more of the id")
    if await store.machine(MachineId(name)) is not None:
        raise RequestRefused(f"{name} is gone; hostler history tells its life")
    raise RequestRefused(await _host_named(store, name) or _NOBODY.format(typed(name)))


_NOBODY = "no machine {} lives here; hostler status lists those that do"


async def _host_named(store: Store, name: str) -> str:
    """Return what is to be said where a name is a host's and not a machine's, or nothing."""
    host = await find_host(store, name)
    if host is None:
        return ""
    machine = dict(await store.bindings()).get(host.id)
    if machine is not None:
        return f"{name} is a host: name its machine, {machine}"
    return (
        f"{name} is a host that no machine has; hostler explain FILE {host.id} tells of it, and "
        f"hostler pool FILE retire {host.id} gives it up"
    )


async def find_host(store: Store, name: str) -> Host | None:
    """Return the recorded host of this id or whole name, or whose id alone begins so, or None."""
    hosts = await store.hosts()
    found = [host for host in hosts if name in {str(host.id), host.name} and name]
    found = found or [host for host in hosts if begins(host.id, name)]
    return found[0] if len(found) == 1 else None


def begins(host: HostId, name: str) -> bool:
    """Tell whether a name is the beginning of a host's id, as status shows it; not a shorter one.

    Enough to read by; nothing is done to a host for it.
    """
    return len(name) >= _BEGINNING and host.startswith(name)


_BEGINNING = 4
"""How many letters of a host's id must be written at least."""
