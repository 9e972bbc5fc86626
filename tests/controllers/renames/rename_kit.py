"""What the tests of renamed fleets share: a fleet `web` that goes on as `builders`."""

from msgspec.structs import replace

from hostler.domain.ids import FleetName, MachineId
from hostler.domain.model.commands import REQUEST_REFUSED
from hostler.domain.model.fleet import Caps, Fleet, FleetRow
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.lab.scenes.fake import FakeScene
from hostler.testing.fakes.planner import MAKE_SERVER, TERMINATE
from hostler.testing.scenes.builders import FLEET, MIN, WEB

READY = Phase.READY
EAGER = Caps(share=1.0, per_hour=1000, per_reclaim=1000)
BUILDERS = FleetName("builders")
OLD = replace(FLEET, size=3, caps=EAGER, reclaim=True, definition='{"size": 3}')
NEW = replace(OLD, name=BUILDERS)
LEFT = replace(OLD, removed=True)
"""The fleet `web` as it was in the file, `builders` in its place, and `web` since then."""


async def grown(rig: FakeScene) -> None:
    """Have `web` make its three machines."""
    async with rig.running():
        await rig.until([READY] * 3, 2 * MIN)
        await rig.pass_by(2 * MIN)


def rename(rig: FakeScene, new: Fleet = NEW, *left: Fleet) -> None:
    """Rename the fleet in the file, while no engine runs."""
    rig.fleet, rig.beside = new, left or (LEFT,)


async def adopt(rig: FakeScene, source: FleetName = WEB) -> Request:
    request = replace(rig.blank(RequestKind.ADOPT_FLEET), source=source)
    return await rig.store.request(request)


async def rows(rig: FakeScene) -> dict[FleetName, FleetRow]:
    return {row.name: row for row in await rig.store.fleets()}


async def ids(rig: FakeScene, fleet: FleetName = BUILDERS) -> set[MachineId]:
    return {machine.id for machine in await rig.store.machines(fleet)}


async def refused(rig: FakeScene) -> list[str]:
    return [entry.event.detail for entry in await rig.events(REQUEST_REFUSED)]


async def has_moved(rig: FakeScene, before: set[MachineId]) -> None:
    """Demand that the machines are the other fleet's, and that nothing else came of it."""
    assert await ids(rig) == before
    assert await rig.store.machines(WEB) == ()
    assert len(rig.calls(MAKE_SERVER)) == 3
    assert not rig.calls(TERMINATE)
    assert await rig.store.orphans() == ()
    assert not rig.metrics.faults()
    found = await rows(rig)
    assert found.keys() == {BUILDERS}
    assert (found[BUILDERS].adopts, found[BUILDERS].former) == (None, (WEB,))
    assert found[BUILDERS].condition == ""
    serials = [machine.serial for machine in await rig.machines()]
    assert len(set(serials)) == 3
    assert max(serials) <= found[BUILDERS].serial
