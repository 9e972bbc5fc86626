"""The end of a Fleet's object: it stays until no engine looks after anything of its fleet.

What engines run is read before what a fleet has: one that still runs it may make a machine.
"""

from hostler.config.values import Config
from hostler.domain.model.fleet import FleetRow
from hostler.frontends.kubernetes.objects.assembly import FLEET, Place
from hostler.ports.engine_record import engine_record_of
from hostler.ports.store import Store

from .reported import Reported


async def never_ran(of: Reported, name: str) -> bool:
    """Tell whether no engine has had a fleet, and none is about to. StoreError goes through.

    One that is deleted right after it was made may be run for a moment still: then it gets a
    row, and maybe machines, and its object says what becomes of them. The rows are read last.
    """
    path = _path(name)
    if path in of.source.paths() or of.reloads() or await _is_run(of.store, path):
        return False
    return all(str(row.name) != name for row in await of.store.fleets())


async def is_let_go(of: Reported, row: FleetRow, config: Config) -> bool:
    """Tell whether no engine has a fleet any more, though it is not marked as removed.

    No engine runs what holds nothing, nor that whose provider is not in force. StoreError goes
    through.
    """
    known = config.known(row.name) is not None
    return not known and not await _is_run(of.store, _path(str(row.name)), unknown=True)


async def holds_nothing(of: Reported, row: FleetRow, config: Config) -> bool:
    """Tell whether an engine has let a fleet go that has nothing to look after.

    What it holds is read after what is run, for an engine that still has the fleet may make a
    machine. StoreError goes through.
    """
    return await is_let_go(of, row, config) and not (await of.held(row)).needs_engine


async def _is_run(store: Store, path: str, *, unknown: bool = False) -> bool:
    """Tell whether the engine has a table, or `unknown` where nobody has written which."""
    runs = await engine_record_of(store)
    return unknown if runs is None else path in runs.tables


def _path(fleet: str) -> str:
    return Place(FLEET, fleet).path
