"""Large losses: told with the first observation, and proved at the account's rate."""

from datetime import datetime

import pytest
from msgspec.structs import replace

from hostler.controllers.observe.proofs import batch_of, still_asked
from hostler.domain.ids import ResourceId
from hostler.domain.model.fleet import WELL, Caps
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Scope
from hostler.lab.scenes.fake import FakeScene
from hostler.testing.fakes.provider import FakeProvider
from hostler.testing.fakes.world import FakeWorld
from hostler.testing.scenes.builders import FLEET, HOME, MIN, ZONE, S, machine
from hostler.testing.time.clock import UnaskedClock

READY = Phase.READY


def proof(number: int) -> Scope:
    server = ResourceId(f"server-{number}")
    return Scope(ZONE, "server", machine(number).id, (server,), alone=True)


ASKED = tuple(proof(number) for number in range(1, 31))
PROVIDER = FakeProvider(FakeWorld(UnaskedClock()), HOME)


# ---------------------------------------------------------------- what is asked for, and when


@pytest.mark.parametrize(("affordable", "many"), [(0.5, 1), (1, 1), (20, 20), (30, 30), (400, 30)])
def test_as_much_is_asked_for_at_a_time_as_the_rate_allows(affordable: float, many: int) -> None:
    batch = batch_of(ASKED, (), PROVIDER, affordable)
    assert (batch.now, batch.later) == (ASKED[:many], ASKED[many:])


def test_scope_that_lists_by_owner_tag_too_counts_for_two_requests() -> None:
    both = tuple(replace(scope, alone=False) for scope in ASKED)
    assert len(batch_of(both, (), PROVIDER, 20).now) == 10


def test_what_was_asked_for_by_id_is_observed_beside_a_whole_listing() -> None:
    assert batch_of(ASKED, (Scope(ZONE, "server"),), PROVIDER, 400).now == ASKED


def test_id_that_a_due_observation_asks_for_is_not_asked_for_twice() -> None:
    due = replace(ASKED[0], alone=False)
    assert batch_of(ASKED, (due,), PROVIDER, 400).now == ASKED[1:]


def test_what_no_decision_asks_for_any_more_is_forgotten_and_the_oldest_goes_first() -> None:
    first, second, third = ASKED[:3]
    asked = (first, second, third, first)
    assert still_asked((third, second), asked, ()) == (third, second, first)
    assert still_asked((third, second), (second,), ()) == (second,)


def test_second_question_about_an_id_does_not_wait_for_the_first_about_all_others() -> None:
    first, second, third = ASKED[:3]
    assert still_asked((first, second), ASKED[:3], third.known) == (third, first, second)


# ---------------------------------------------------------------- half of a fleet


async def grown(rig: FakeScene) -> None:
    """Wait until all are ready, and then until nothing moves any more."""
    await rig.until([READY] * rig.fleet.size, 10 * MIN)
    await rig.pass_by(2 * MIN)


def lose_half(rig: FakeScene) -> list[ResourceId]:
    lost = [server.id for server in rig.world.servers()[: rig.fleet.size // 2]]
    for server in lost:
        rig.world.remove(server)
    return lost


def fakes(size: int, rate: float) -> FakeScene:
    return FakeScene(replace(FLEET, size=size, caps=Caps()), rate=rate, burst=2 * rate)


def proofs_since(rig: FakeScene, begun: datetime) -> list[Scope]:
    observed = (scopes for at, scopes in rig.provider.observations if at >= begun)
    return [scope for scopes in observed for scope in scopes if scope.alone]


async def condition(rig: FakeScene) -> str:
    (row,) = await rig.store.fleets()
    return row.condition


async def first_doubt(rig: FakeScene) -> None:
    while not any(machine.health.doubt for machine in await rig.machines()):
        await rig.pass_by(0.25 * S)


async def ready(rig: FakeScene) -> int:
    return (await rig.phases()).count(READY)


@pytest.mark.looptime
async def test_half_a_fleet_lost_is_told_with_the_first_observation_that_lacks_it() -> None:
    rig = fakes(60, 20.0)
    async with rig.running():
        await grown(rig)
        lose_half(rig)
        await first_doubt(rig)
        found = await condition(rig)
        assert found.startswith("30 not seen since "), found
        doubts = [m.health.doubt for m in await rig.machines() if m.health.doubt is not None]
        assert f"{doubts[0].since:%H:%M:%S} UTC" in found
        assert len(doubts) == 30, "nothing is believed yet"
        await rig.pass_by(2 * MIN)
        assert await condition(rig) == ""
    events = [stored.event.reason for stored in await rig.events("condition")]
    assert [reason.partition(" since")[0] for reason in events] == ["30 not seen", WELL]


@pytest.mark.looptime
async def test_200_of_400_lost_are_proved_at_the_accounts_rate() -> None:
    """Two requests for each that is missing, and the absence gap between them."""
    rig = fakes(400, 20.0)
    async with rig.running():
        await grown(rig)
        lost = set(lose_half(rig))
        await first_doubt(rig)
        begun = rig.clock.now()
        while await believed(rig, lost):
            await rig.pass_by(0.5 * S)
        took = (rig.clock.now() - begun).total_seconds()
    one_each, gap = 200 / rig.rate, FLEET.timers.absence_gap.total_seconds()
    assert gap < took <= max(one_each, gap) + one_each + 5, took
    asked = [
        s for at, scopes in rig.provider.observations if at >= begun for s in scopes if s.alone
    ]
    assert len(asked) <= 2 * 200 * 1.1, "no id is asked for more often than it must be"


async def believed(rig: FakeScene, lost: set[ResourceId]) -> bool:
    """Tell whether any machine of these servers counts as ready still."""
    machines = (m for m in await rig.machines() if m.phase is READY)
    return any(place.bound in lost for m in machines for place in m.places)


@pytest.mark.looptime
async def test_replacements_begin_while_other_losses_are_still_to_be_proved() -> None:
    rig = fakes(200, 4.0)
    async with rig.running():
        await grown(rig)
        old = {machine.id for machine in await rig.machines()}
        begun, lost = rig.clock.now(), set(lose_half(rig))
        await first_doubt(rig)
        while all(machine.id in old for machine in await rig.machines()):
            await rig.pass_by(0.25 * S)
        assert await believed(rig, lost)
        asked = {s.machine for s in proofs_since(rig, begun)}
        assert len(asked) < 100, "nor does the first one wait until all were asked about once"
        while await ready(rig) < 200:
            await rig.pass_by(1 * S)


@pytest.mark.looptime
async def test_listing_that_lacks_half_for_once_costs_no_machine() -> None:
    rig = fakes(60, 20.0)
    async with rig.running():
        await grown(rig)
        begun = rig.clock.now()
        rig.provider.empty = True
        await first_doubt(rig)
        rig.provider.empty = False
        await rig.pass_by(1 * MIN)
        assert await ready(rig) == 60
        assert await condition(rig) == ""
    asked = [
        s for at, scopes in rig.provider.observations if at >= begun for s in scopes if s.alone
    ]
    assert len(asked) <= 2 * 60, "servers and addresses, once each"


@pytest.mark.looptime
async def test_answers_that_do_not_come_are_asked_for_at_the_usual_cadence_only() -> None:
    rig = fakes(60, 20.0)
    async with rig.running():
        await grown(rig)
        lose_half(rig)
        await first_doubt(rig)
        rig.provider.dead.add(ZONE)
        begun = rig.clock.now()
        await rig.pass_by(5 * MIN)
        assert await ready(rig) == 60, "what could not be asked for is not believed lost"
    rounds = {at for at, scopes in rig.provider.observations if at >= begun and scopes[0].alone}
    assert len(rounds) <= 2 * 5 * 60 / 15
