"""A failure at any call of a creation, before or after its effect, leaves nothing behind."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import ResourceId
from hostler.domain.model.fleet import Timers
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Slot
from hostler.lab.scenes.servers import ALL_RESOURCES, FLEET, Hostler, Rig, play
from hostler.ports.http import HttpRequest, Response
from hostler.ports.metrics import Count
from hostler.simulators.scaleway.faults.rates import Rule

MINUTE = timedelta(minutes=1)
CREATION = (
    ("ip.create", 1),
    ("ip.create", 2),
    ("server.create", 1),
    ("volume.update", 1),
    ("volume.update", 2),
    ("user_data.set", 1),
    ("nic.create", 1),
    ("server.action.poweron", 1),
)
HARM = (
    "request_lost",
    "reply_lost",
    "truncated_json",
    "html_5xx",
    "hung",
    "effect_delayed",
    "rate_limited_429",
    "forbidden_for_rate_limit",
)
WITHOUT_A_BODY = {("user_data.set", "truncated_json")}
"""A 204 has no body that could break off."""
PARTS = 1 + 2 + 2


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize(("route", "nth"), CREATION)
def test_one_failure_at_each_call_makes_nothing_double(route: str, nth: int, harm: str) -> None:
    """Struck once at this call, the machine is made all the same, once, and goes without a rest."""

    async def scene(rig: Rig) -> None:
        rig.world.script(Rule(fault=harm, route=route, after=nth))
        hostler = rig.hostler(template=ALL_RESOURCES)
        await hostler.rests(1, 15 * MINUTE)
        assert rig.world.faults.get(harm) == 1 or (route, harm) in WITHOUT_A_BODY
        assert len(rig.world.leaks()) == PARTS
        await hostler.leaves_nothing(10 * MINUTE)

    play(scene)


@pytest.mark.parametrize("harm", ["request_lost", "rate_limited_429"])
@pytest.mark.parametrize("route", sorted({route for route, _ in CREATION}))
def test_a_failure_that_lasts_is_rolled_back_whole(route: str, harm: str) -> None:
    """Struck at every try, the machine is given up at its start bound; nothing of it stays."""

    async def scene(rig: Rig) -> None:
        rig.world.script(Rule(fault=harm, route=route, count=100_000))
        patient = replace(FLEET, timers=Timers(start=2 * MINUTE))
        hostler = rig.hostler(patient, template=ALL_RESOURCES)
        first = await _first(hostler)
        await hostler.scale(1)
        while (await hostler.machine(first.id)).phase is not Phase.DELETED:
            await rig.clock.sleep(timedelta(seconds=5))
            assert rig.clock.boot() < 3600
        kinds = [
            entry.event.kind for entry in await hostler.events() if entry.event.machine == first.id
        ]
        assert kinds.count("rollback_started") == 1
        assert kinds.count("rollback_done") == 1
        await hostler.leaves_nothing(15 * MINUTE)

    play(scene)


def test_power_on_answers_500_and_everything_goes() -> None:
    """The record holds the server's id before the failure; all parts go after it."""

    async def scene(rig: Rig) -> None:
        rig.world.script(Rule(fault="html_5xx", route="server.action.poweron", count=100_000))
        hostler = rig.hostler(replace(FLEET, timers=Timers(start=2 * MINUTE)))
        first = await _first(hostler)
        known = await _bound_when_switched_on(hostler, first)
        assert known == [ResourceId(rig.servers()[0].id)]
        assert {leak.kind for leak in rig.world.leaks()} == {"server", "address", "volume"}
        while (await hostler.machine(first.id)).phase is not Phase.DELETED:
            await rig.clock.sleep(timedelta(seconds=5))
        removed = [
            entry.event.reason
            for entry in await hostler.events()
            if entry.event.kind == "resource_removed" and entry.event.machine == first.id
        ]
        assert {"ip.delete", "volume.delete"} <= set(removed)
        await hostler.leaves_nothing(15 * MINUTE)

    play(scene)


@pytest.mark.parametrize("harm", ["locked_423", "transient_409", "volume_delete_refused"])
@pytest.mark.parametrize("route", ["server.action.terminate", "ip.delete", "volume.delete"])
def test_a_busy_resource_does_not_keep_the_others(route: str, harm: str) -> None:
    """Cleaning goes on past a part that refuses, and comes back to it until it goes too."""

    async def scene(rig: Rig) -> None:
        hostler = rig.hostler()
        await hostler.rests(1, 5 * MINUTE)
        if harm == "volume_delete_refused" and route != "volume.delete":
            return
        rig.world.script(Rule(fault=harm, route=route, count=3, spell=20.0))
        await hostler.leaves_nothing(15 * MINUTE)
        assert rig.world.faults.get(harm, 0) >= 1

    play(scene)


@pytest.mark.parametrize("route", ["ip.delete", "volume.delete"])
def test_a_resource_that_one_deletion_does_not_find_is_not_gone_for_empty_lists(route: str) -> None:
    """A flickering 404 hides nothing: *gone* waits for the part's own answers, and it goes too."""

    async def scene(rig: Rig) -> None:
        hostler = rig.hostler()
        await hostler.rests(1, 5 * MINUTE)
        (machine,) = await hostler.machines()
        rig.world.script(Rule(fault="not_found_flicker", route=route))
        await hostler.scale(0)
        while not rig.world.faults.get("not_found_flicker"):
            await rig.clock.sleep(timedelta(milliseconds=100))
        rig.world.script(Rule(fault="empty_list", spell=180.0))
        while (await hostler.machine(machine.id)).phase is not Phase.DELETED:
            await rig.clock.sleep(timedelta(milliseconds=100))
            assert rig.clock.boot() < 3600
        assert rig.world.faults.get("empty_list")
        assert not rig.world.leaks()

    play(scene)


def test_cleaning_twice_makes_no_further_call() -> None:
    """Each part of a machine is asked to go exactly once when nothing fails."""

    async def scene(rig: Rig) -> None:
        hostler = rig.hostler()
        await hostler.rests(1, 5 * MINUTE)
        await hostler.leaves_nothing(10 * MINUTE)
        ends = {
            kind: n
            for (_, kind, _), n in rig.metrics.series(Count.CALLS).items()
            if "delete" in kind or "terminate" in kind
        }
        assert ends == {"ip.delete": 1, "server.terminate": 1, "volume.delete": 1}

    play(scene)


async def _bound_when_switched_on(hostler: Hostler, machine: Machine) -> list[ResourceId | None]:
    """Return which server the stored record held at the moment when power-on was sent."""
    known, send = list[ResourceId | None](), hostler.wire.send

    async def watched(request: HttpRequest, deadline: timedelta) -> Response:
        if request.path.endswith("/action") and not known:
            stored = await hostler.machine(machine.id)
            known.append(stored.bound(Slot("server")))
        return await send(request, deadline)

    hostler.wire.send = watched
    while not known:
        await hostler.rig.clock.sleep(timedelta(milliseconds=10))
    return known


async def _first(hostler: Hostler) -> Machine:
    while not (living := await hostler.machines()):
        await hostler.rig.clock.sleep(timedelta(milliseconds=100))
    return living[0]
