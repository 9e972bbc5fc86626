"""The gate on the path of stray hosts: they are taken into records, and wiped, only with proof.

The command is what a decision with a bug would give.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import gate_host_scenes as hosts
import pytest
from gate_kit import LONG_AGO, NOBODY, without
from hosts_kit import Site
from msgspec.structs import replace

from hostler.controllers.execute.reclaim import Reclaimer
from hostler.domain.fleets.reclaim import placeholder
from hostler.domain.ids import HostId, MachineId
from hostler.domain.model.commands import Reclaim
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import HostCondition
from hostler.domain.model.resource import (
    Observation,
    ObservedScope,
    OrphanClass,
    OwnerTag,
    Resource,
    Scope,
)
from hostler.domain.model.snapshot import Orphan, Snapshot
from hostler.domain.policy.gate import CHECKS, Act
from hostler.testing.scenes.builders import ABROAD, BEGIN, FLEET, HOME, MIN, WEB, ZONE
from hostler.testing.scenes.hosts import BOX, box, fleet_snapshot

pytestmark = pytest.mark.looptime


@dataclass(slots=True)
class Stray:
    """A host under our own name of which no record tells, and the decision to take it back."""

    site: Site
    resource: Resource
    orphan: Orphan
    snapshot: Snapshot

    @classmethod
    async def found(cls, patch: pytest.MonkeyPatch) -> "Stray":
        """Return a stray that may be taken back, with everything in order."""
        tag = OwnerTag(installation=HOME, fleet=WEB, machine=NOBODY, attempt=0)
        resource = replace(box("claimed", holder=NOBODY), owner_tag=tag)
        site = await Site.opened(None, resource)
        site.state.rows[WEB] = FleetRow(name=WEB, created=BEGIN, destructions=(BEGIN,))
        orphan = Orphan(
            resource=resource.id,
            kind="host",
            zone=ZONE,
            fleet=WEB,
            cls=OrphanClass.UNRECORDED,
            first=BEGIN - LONG_AGO,
            last=BEGIN,
            sightings=2,
            installation=HOME,
            machine=NOBODY,
        )
        snapshot = replace(fleet_snapshot((), (resource,)), fleet=replace(FLEET, reclaim=True))
        snapshot = replace(snapshot, took=BEGIN - LONG_AGO)

        async def observe(scopes: tuple[Scope, ...]) -> Observation:
            begun = site.rig.clock.now()
            observed = (ObservedScope(scope=one, begun=begun, complete=True) for one in scopes)
            return Observation(observed=tuple(observed), resources=(resource,))

        patch.setattr(site.provider, "observe", observe)
        return cls(site, resource, orphan, replace(snapshot, now=site.rig.clock.now()))

    async def reclaim(self) -> bool:
        """Carry the decision out; tell whether the host has a record by now, and will be wiped."""
        site = self.site
        reclaimer = Reclaimer(site.ports, site.state, site.budget, site.sender(), site.evidence())
        command = Reclaim(
            placeholder=placeholder(NOBODY, (self.resource,), self.snapshot),
            resources=(self.resource,),
            orphans=(self.orphan,),
        )
        await reclaimer.reclaim(command, self.snapshot, site.tenure("fleet/web"))
        found = site.state.host_records.hosts.get(BOX)
        assert found is None or found.condition is HostCondition.DIRTY
        return found is not None


def of_another(stray: Stray) -> None:
    """It bears the tag of another installation."""
    stray.orphan = replace(stray.orphan, installation=ABROAD)


def young(stray: Stray) -> None:
    """It was first seen a minute ago."""
    stray.orphan = replace(stray.orphan, first=BEGIN - 1 * MIN)


def taken_over(stray: Stray) -> None:
    """It was first seen long ago, by another engine's clock: this one took over a minute ago."""
    stray.snapshot = replace(stray.snapshot, took=BEGIN - 1 * MIN)


def seen_once(stray: Stray) -> None:
    """One observation has shown it."""
    stray.orphan = replace(stray.orphan, sightings=1)


def pause_requested(stray: Stray) -> None:
    """Somebody asks for a pause of the fleet."""
    hosts.pause_requested(stray.site)


def long_wait(stray: Stray) -> None:
    """The lease ends soon when the budget lets it be read again."""
    hosts.long_wait(stray.site)


def uncounted(stray: Stray) -> None:
    """The caps were not counted in what is stored."""
    rows = stray.site.state.rows
    rows[WEB] = replace(rows[WEB], destructions=())


def among_foreign(stray: Stray) -> None:
    """Another installation is at work in the fleet's name."""
    tag = OwnerTag(installation=ABROAD, fleet=WEB, machine=NOBODY, attempt=0)
    foreign = replace(stray.resource, owner_tag=tag)
    stray.snapshot = replace(stray.snapshot, foreign=(foreign,))


def report_only(stray: Stray) -> None:
    """The fleet only reports."""
    stray.snapshot = replace(stray.snapshot, fleet=FLEET)


def slow_records(stray: Stray) -> None:
    """The records are read so slowly that what the provider said is old by then."""
    store, clock = stray.site.rig.store, stray.site.rig.clock
    bindings = store.bindings

    async def slowly() -> tuple[tuple[HostId, MachineId], ...]:
        await clock.sleep(timedelta(seconds=11))
        return await bindings()

    store.bindings = slowly


SPOILERS: dict[str, Callable[[Stray], None]] = {
    "G1": of_another,
    "G2": slow_records,
    "G3": young,
    "G4": seen_once,
    "G5": pause_requested,
    "G6": long_wait,
    "G7": uncounted,
    "G8": among_foreign,
    "G10": report_only,
}


def test_every_check_of_a_reclaim_has_its_spoiler() -> None:
    assert SPOILERS.keys() == {one.id for one in CHECKS if Act.RECLAIM in one.acts}


async def test_a_stray_is_taken_back_where_nothing_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stray = await Stray.found(monkeypatch)
    assert await stray.reclaim()
    assert not stray.site.rig.metrics.refusals


async def test_grace_period_is_counted_from_when_this_engine_took_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stray = await Stray.found(monkeypatch)
    taken_over(stray)
    assert not await stray.reclaim()
    assert set(stray.site.rig.metrics.refusals) == {"G3"}


@pytest.mark.parametrize("check", SPOILERS)
async def test_check_alone_keeps_a_stray_from_being_taken_back(
    check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stray = await Stray.found(monkeypatch)
    SPOILERS[check](stray)
    assert not await stray.reclaim()
    assert set(stray.site.rig.metrics.refusals) == {check}


@pytest.mark.parametrize("check", SPOILERS)
async def test_a_stray_is_taken_back_where_that_one_check_is_missing(
    check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without((check, Act.RECLAIM), monkeypatch)
    stray = await Stray.found(monkeypatch)
    SPOILERS[check](stray)
    assert await stray.reclaim()
    assert not stray.site.rig.metrics.refusals
