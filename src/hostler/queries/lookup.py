"""Lookup: the machine or host that somebody named by its id, its beginning, or its whole name."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches

from hostler.domain.errors import ProviderError, Remedy, RequestRefused
from hostler.domain.ids import AccountName, HostId, MachineId, Zone
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.reporting.hosts import HostStatus
from hostler.ports.store import Store

from .history import fleet_events
from .wording import quoted

Unseen = Mapping[tuple[AccountName, Zone], str]
"""Where hosts could not all be observed, with the error."""

_BEGINNING = 4
"""How many letters of a host's id must be given at least."""


async def find_machine(store: Store, fleets: Sequence[Fleet], name: str) -> tuple[Fleet, Machine]:
    """Return a living machine by the beginning of its id, and its fleet, or raise RequestRefused.

    The message says what is there instead, where something is.
    """
    if not name.strip():
        raise RequestRefused("the name is empty: say which machine", Remedy.LIST_MACHINES)
    found = await _living(store, fleets, name)
    exact = [entry for entry in found if entry[1].id == name]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if found:
        raise _ambiguous(name, [machine.id for _, machine in found])
    elsewhere = await store.machine(MachineId(name))
    if elsewhere is not None and elsewhere.phase is not Phase.DELETED:
        raise RequestRefused(f"{name} is a machine of fleet {elsewhere.fleet}")
    deleted = await _deleted(store, fleets, name)
    if len(deleted) == 1:
        raise RequestRefused(f"{deleted[0]} has been deleted", Remedy.SHOW_HISTORY)
    raise await _no_machine(store, name)


async def _living(store: Store, fleets: Iterable[Fleet], name: str) -> list[tuple[Fleet, Machine]]:
    """Return the living machines whose ids begin so, each with its fleet."""
    return [
        (fleet, machine)
        for fleet in fleets
        for machine in await store.machines(fleet.name)
        if machine.id.startswith(name)
    ]


async def _deleted(store: Store, fleets: Iterable[Fleet], name: str) -> list[MachineId]:
    """Return the machine of this id, or those of the fleets' history whose ids begin so."""
    if await store.machine(MachineId(name)) is not None:
        return [MachineId(name)]
    events = [event for fleet in fleets for event in await fleet_events(store, fleet.name, 0)]
    ids = dict.fromkeys(entry.event.machine for entry in events)
    begins = tuple(id_ for id_ in ids if id_ is not None and id_.startswith(name))
    return [machine.id for machine in await store.history(begins)]


def _ambiguous(name: str, ids: Sequence[MachineId]) -> RequestRefused:
    listed = ", ".join(ids[:5])
    return RequestRefused(f"{quoted(name)} could be {listed}: write more of the id")


async def _no_machine(store: Store, name: str) -> RequestRefused:
    """Return why a name is no machine's, which may be that it is a host's."""
    host = await find_host(store, name)
    if host is None:
        return RequestRefused(f"there is no machine {quoted(name)}", Remedy.LIST_MACHINES)
    machine = dict(await store.bindings()).get(host.id)
    if machine is not None:
        return RequestRefused(f"{name} is a host: name its machine, {machine}")
    return RequestRefused(f"{host.id} is a host that no machine has", Remedy.RETIRE_HOST)


async def find_past_machine(store: Store, fleets: Sequence[Fleet], name: str) -> MachineId:
    """Return the machine of this id, deleted or not, or as `find_machine` does.

    The beginning of an id is a living machine's before it is a deleted one's.
    """
    if name.strip() and not await _living(store, fleets, name):
        deleted = await _deleted(store, fleets, name)
        if len(deleted) > 1:
            raise _ambiguous(name, deleted)
        if deleted:
            return deleted[0]
    return (await find_machine(store, fleets, name))[1].id


async def find_host(store: Store, name: str) -> Host | None:
    """Return the host on record of this id or whole name, or the only one whose id begins so."""
    hosts = await store.hosts()
    found = [host for host in hosts if name in {str(host.id), host.ownership.name} and name]
    found = found or [host for host in hosts if _begins(host.id, name)]
    return found[0] if len(found) == 1 else None


def _begins(host: HostId, name: str) -> bool:
    """Tell whether a name is the beginning of a host's id, as status shows it.

    Good enough for reading; nothing is done to a host that is named like this.
    """
    return len(name) >= _BEGINNING and host.startswith(name)


def hosts_named(names: Iterable[str], hosts: Iterable[HostStatus]) -> tuple[HostStatus, ...]:
    """Return the hosts of these ids or whole names, each once; RequestRefused has every mistake.

    A name that several hosts have names none of them.
    """
    known, wrong = tuple(hosts), list[str]()
    chosen = dict[str, HostStatus]()
    for name in names:
        fits = [host for host in known if name in {str(host.id), host.name}]
        if name.strip() and len(fits) == 1:
            chosen[fits[0].id] = fits[0]
        else:
            wrong.append(_mistake(name, fits, known))
    if wrong:
        raise RequestRefused("; ".join(wrong), Remedy.LIST_HOSTS)
    return tuple(chosen.values())


def host_named(name: str, hosts: Iterable[HostStatus]) -> HostStatus:
    """Return the host of this id or whole name, or the only one whose id begins so.

    For reading only: whoever changes a host names it in full. Raises RequestRefused.
    """
    known = tuple(hosts)
    near = [host for host in known if _begins(host.id, name)]
    exact = any(name in {str(host.id), host.name} for host in known)
    return near[0] if len(near) == 1 and not exact else hosts_named((name,), known)[0]


@contextmanager
def as_far_as_seen(unseen: Unseen) -> Generator[None]:
    """Raise ProviderError for what is refused in the block where not all hosts were observed.

    A host that was not found may be one that could not be observed: its name is no mistake then.
    """
    try:
        yield
    except RequestRefused as error:
        if not unseen:
            raise
        raise ProviderError(f"{error}, as far as was observed; {_where(unseen)}") from error


def require_seen(hosts: Iterable[HostStatus], unseen: Unseen) -> None:
    """Raise ProviderError where one of these hosts is where not all could be observed, and lacks.

    How it stands is not known, nor whether it is still there.
    """
    places = {(h.account, h.zone): h.name or h.id for h in hosts if h.resource is None}
    if lacking := {place: error for place, error in unseen.items() if place in places}:
        names = ", ".join(str(places[place]) for place in lacking)
        raise ProviderError(f"{names} could not be observed; {_where(lacking)}")


def _where(unseen: Unseen) -> str:
    """Return where hosts could not be observed, and why."""
    return "; ".join(
        f"could not observe hosts in {zone}: {error}" for (_, zone), error in unseen.items()
    )


def _mistake(name: str, fits: list[HostStatus], known: tuple[HostStatus, ...]) -> str:
    if not name.strip():
        return "a name is empty: say which host"
    if fits:
        ids = ", ".join(str(host.id) for host in fits)
        return f"{len(fits)} hosts are named {quoted(name)}: say which one by its id ({ids})"
    return f"there is no host {quoted(name)}{_similar(name, known)}"


def _similar(name: str, hosts: Iterable[HostStatus]) -> str:
    known = [text for host in hosts for text in (host.name, str(host.id)) if text]
    near = [text for text in known if len(name) >= 4 and text.startswith(name)]
    near += get_close_matches(name, known, n=3, cutoff=0.6)
    listed = ", ".join(dict.fromkeys(near[:3]))
    return f"; there is {listed}" if listed else ""
