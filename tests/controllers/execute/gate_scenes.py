"""Gate scenes: for each check and act, the one thing that goes wrong, and that only it sees.

What a decision would have seen goes wrong after it, while the call waits; what every decision sees
is hidden from it by a planted bug, so that only the gate is left.
"""

import asyncio
from collections.abc import Callable, Iterable
from datetime import timedelta

from gate_kit import NOBODY, Bench, Cell, Scene
from msgspec.structs import replace

from hostler.domain.fleets import reclaim
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import Machine
from hostler.domain.model.resource import Resource
from hostler.domain.model.snapshot import Orphan, RequestKind, Snapshot
from hostler.domain.observation.ownership import Explained, Sorted, sort_out
from hostler.domain.policy.gate import Act
from hostler.ports.store import Fence, Lease
from hostler.testing.scenes.builders import ABROAD, MIN, WEB, ZONE, S, server

D = (Act.ROLLBACK, Act.DELETE, Act.REPAIR, Act.REPLACE)
"""What destroys the parts of machines that have records."""

# ---------------------------------------------------------------- what comes while a call waits


async def taken_over(bench: Bench) -> None:
    """Another installation puts its tag on the server, and the engine sees it."""
    resources = bench.scene.world.resources
    there = resources[bench.target]
    assert there.owner_tag is not None
    tag = replace(there.owner_tag, installation=ABROAD)
    resources[bench.target] = replace(there, owner_tag=tag)
    await bench.scene.pass_by(40 * S)
    resource = bench.state.inventory.resource(bench.target)
    assert resource is not None
    assert resource.owner_tag == tag


async def unseen(bench: Bench) -> None:
    """The zone does not answer for minutes."""
    bench.scene.provider.dead.add(ZONE)
    await bench.scene.pass_by(5 * MIN)


async def protected(bench: Bench) -> None:
    """Somebody asks for the machine's protection."""
    await bench.scene.request(RequestKind.PROTECT, machine=bench.machine)
    await bench.scene.pass_by(1 * S)


async def paused(bench: Bench) -> None:
    """Somebody asks for a pause of the fleet."""
    await bench.scene.request(RequestKind.PAUSE)
    await bench.scene.pass_by(1 * S)


async def not_renewed(bench: Bench) -> None:
    """The lease is renewed no longer, and ends before the call's deadline."""

    async def never(lease: Lease) -> Lease | None:
        del lease
        await asyncio.Event().wait()

    bench.patch.setattr(bench.scene.store, "renew_lease", never)
    left = bench.engine.leases.until(f"fleet/{WEB}") - bench.scene.clock.boot()
    deadline = bench.scene.provider.capabilities.deadline
    await bench.scene.pass_by(timedelta(seconds=left + 1) - deadline)
    assert bench.engine.leases.tenure(f"fleet/{WEB}") is not None, "it is still ours"


async def strangers_come(bench: Bench) -> None:
    """A server in the fleet's name turns up that another installation made."""
    bench.scene.world.add(server(NOBODY, installation=ABROAD))
    await bench.scene.pass_by(40 * S)
    assert bench.state.world[WEB]


async def wave(bench: Bench) -> None:
    """Too many machines are lost at once."""
    bench.state.wave[WEB] = True


# ---------------------------------------------------------------- bugs


def fact_lost(name: str) -> Callable[[Bench], None]:
    """Return a bug by which machines are stored without a fact."""

    def plant(bench: Bench) -> None:
        save = bench.scene.store.save_machine

        async def saved(machine: Machine, events: tuple[Event, ...], fence: Fence) -> Machine:
            return await save(machine.without_fact(name), events, fence)

        bench.patch.setattr(bench.scene.store, "save_machine", saved)

    return plant


def uncounted(bench: Bench) -> None:
    """The fleet's row is stored without the removals that are counted against the caps."""
    save = bench.scene.store.save_fleet

    async def saved(
        row: FleetRow, inserts: tuple[Machine, ...], events: tuple[Event, ...], fence: Fence
    ) -> FleetRow:
        return await save(replace(row, destructions=()), inserts, events, fence)

    bench.patch.setattr(bench.scene.store, "save_fleet", saved)


def foreign_sorted_as_ours(bench: Bench) -> None:
    """The sorting takes another installation's parts for unexplained ones of ours."""

    def sorted_wrong(*arguments: object) -> Sorted:
        found = sort_out(*arguments)  # type: ignore[arg-type]
        return Sorted(strangers=(*found.foreign, *found.strangers))

    resources = bench.scene.world.resources
    for there in list(resources.values()):
        assert there.owner_tag is not None
        tag = replace(there.owner_tag, installation=ABROAD)
        resources[there.id] = replace(there, owner_tag=tag)

    def explained_wrong(strangers: Iterable[Resource], *known: object) -> Explained:
        del known
        return Explained(unexplained=tuple(strangers))

    bench.patch.setattr("hostler.domain.decision.view.sort_out", sorted_wrong)
    bench.patch.setattr("hostler.domain.decision.view.explain", explained_wrong)


def grace_forgotten(bench: Bench) -> None:
    """The decision forgets the grace period of an orphan that is two minutes old."""
    blocked = reclaim.blocked

    def hasty(orphan: Orphan, snapshot: Snapshot) -> str:
        timers = replace(snapshot.fleet.timers, grace=timedelta(0))
        return blocked(orphan, replace(snapshot, fleet=replace(snapshot.fleet, timers=timers)))

    now, resources = bench.scene.clock.now(), bench.scene.world.resources
    for there in list(resources.values()):
        resources[there.id] = replace(there, created=now - 2 * MIN)
    bench.patch.setattr(reclaim, "blocked", hasty)


def seen_once(bench: Bench) -> None:
    """The decision takes one sighting for two."""
    blocked = reclaim.blocked

    def hasty(orphan: Orphan, snapshot: Snapshot) -> str:
        return blocked(replace(orphan, sightings=reclaim.ENOUGH), snapshot)

    bench.patch.setattr(reclaim, "blocked", hasty)


def nothing_forbidden(bench: Bench) -> None:
    """The decision asks neither for the mode of reclaiming nor whose parts are there."""

    def allows(orphan: Orphan, snapshot: Snapshot) -> str:
        del orphan, snapshot
        return ""

    bench.patch.setattr(reclaim, "_forbidden", allows)


def foreign_overlooked(bench: Bench) -> None:
    """The decision does not care that another installation is at work in the fleet's name."""
    nothing_forbidden(bench)
    bench.scene.world.add(server(NOBODY, installation=ABROAD, name="server-abroad"))


def report_only_forgotten(bench: Bench) -> None:
    """The decision reclaims in a fleet that only reports."""
    nothing_forbidden(bench)
    bench.scene.fleet = replace(bench.scene.fleet, reclaim=False)


def slow_call_before(bench: Bench) -> None:
    """The address goes first, and its removal takes longer than what was read again is fresh."""
    resources = bench.scene.world.resources
    for there in list(resources.values()):
        resources[there.id] = replace(there, owner=None)
    bench.scene.provider.answers[NOBODY] = 11 * S


# ---------------------------------------------------------------- the table


def _each(check: str, acts: tuple[Act, ...], scene: Scene) -> dict[Cell, Scene]:
    return {(check, act): scene for act in acts}


SCENES: dict[Cell, Scene] = {
    **_each(
        "G1",
        D,
        Scene(
            words="another installation's tag appears on the server while the call waits",
            spoil=taken_over,
        ),
    ),
    ("G1", Act.RECLAIM): Scene(
        words="a bug sorts another installation's parts among our unexplained ones",
        plant=foreign_sorted_as_ours,
    ),
    **_each(
        "G2",
        D,
        Scene(
            words="the zone answers no observation for minutes while the call waits", spoil=unseen
        ),
    ),
    ("G2", Act.RECLAIM): Scene(
        words="another call of the same removal takes longer than what was read again is fresh",
        plant=slow_call_before,
    ),
    ("G3", Act.RECLAIM): Scene(
        words="a bug forgets the grace period of an orphan two minutes old", plant=grace_forgotten
    ),
    ("G4", Act.RECLAIM): Scene(words="a bug takes one sighting for two", plant=seen_once),
    **_each(
        "G5",
        (Act.DELETE, Act.REPAIR),
        Scene(
            words="somebody asks for the machine's protection while the call waits",
            spoil=protected,
        ),
    ),
    **_each(
        "G5",
        (Act.REPLACE, Act.RECLAIM),
        Scene(words="somebody asks for a pause of the fleet while the call waits", spoil=paused),
    ),
    **_each(
        "G6",
        tuple(Act),
        Scene(
            words="the lease, renewed no longer, would end before the deadline of the call",
            spoil=not_renewed,
        ),
    ),
    **_each(
        "G7",
        (Act.REPAIR, Act.REPLACE),
        Scene(
            words="a bug stores the machine without the fact that the cap was counted",
            plant=fact_lost("allowed"),
        ),
    ),
    ("G7", Act.RECLAIM): Scene(
        words="a bug stores the fleet's row without its counted removals", plant=uncounted
    ),
    ("G8", Act.CREATE): Scene(
        words="another installation's server appears in the fleet's name while the call waits",
        spoil=strangers_come,
    ),
    ("G8", Act.RECLAIM): Scene(
        words="a bug overlooks another installation's server in the fleet's name",
        plant=foreign_overlooked,
    ),
    ("G10", Act.RECLAIM): Scene(
        words="a bug reclaims in a fleet that only reports", plant=report_only_forgotten
    ),
    ("G11", Act.REPAIR): Scene(
        words="a bug stores the machine without the proof of its loss; then a wave begins",
        plant=fact_lost("loss_proved"),
        spoil=wave,
    ),
    ("G11", Act.REPLACE): Scene(words="a loss wave begins while the call waits", spoil=wave),
}
"""What goes wrong in each cell; the paid window (G9) is about hosts, and has its scene there."""
