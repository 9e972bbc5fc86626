"""What the person of a simulation does at the end of a run, which no program may do."""

import asyncio
from pathlib import Path

from msgspec.structs import replace

from hostler.domain.ids import FleetName, InstallationId, ResourceId, Zone
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan
from hostler.lab.harness.process import Home
from hostler.lab.scenario.disruptions import Disruptions
from hostler.lab.scenario.faults import Size
from hostler.lab.scenario.operator import Operator
from hostler.lab.scenario.session import Session
from hostler.lab.servers.environment import ServerEnvironment
from hostler.lab.servers.faults import draw_servers
from hostler.testing.time.clock import BEGINNING


class Arrived(Disruptions):
    """Disruptions after a second installation came."""

    @property
    def second(self) -> Home | None:
        return self._session.homes[-1]


def asked_for(session: Session) -> str:
    """Return what the person asks for at the end of a run, line by line."""

    async def help_out() -> None:
        async with asyncio.TaskGroup() as group:
            await Operator(session).help(Arrived(session, group))

    session.loop.run_until_complete(help_out())
    session.loop.close()
    return "\n".join(session.trace.story("", 80))


def orphan(name: str, cls: OrphanClass, installation: InstallationId) -> Orphan:
    return Orphan(
        resource=ResourceId(name),
        kind="address",
        zone=Zone("fr-par-1"),
        fleet=FleetName("web"),
        cls=cls,
        first=BEGINNING,
        last=BEGINNING,
        installation=installation,
    )


def two_homes(folder: Path) -> Session:
    """Return a session whose second installation is to go, and whose first store was lost."""
    session = Session(ServerEnvironment(replace(draw_servers(1, Size()), sqlite=False)), folder)
    session.found_home(replicas=1).shadow.lost = True
    session.found_home(replicas=1)
    return session


def test_orphan_of_the_second_installation_is_adopted_by_it_in_the_end(tmp_path: Path) -> None:
    session = two_homes(tmp_path)
    shadow = session.homes[-1].shadow
    mine = orphan("address-1", OrphanClass.UNRECORDED, shadow.own)
    shadow.orphans[mine.resource] = mine
    assert "operator asks for adopt" in asked_for(session)


def test_second_installation_adopts_nothing_that_a_lost_store_left(tmp_path: Path) -> None:
    session = two_homes(tmp_path)
    lost, shadow = session.homes[0].shadow, session.homes[-1].shadow
    theirs = orphan("address-1", OrphanClass.FOREIGN, lost.own)
    shadow.orphans[theirs.resource] = theirs
    assert "adopt" not in asked_for(session)
