"""Whatever refuses a creation, and for however long: an hour's attempts are bounded (S4)."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.model.fleet import Timers
from hostler.lab.scenes.macs import FLEET as MACS
from hostler.lab.scenes.macs import MacRig, play_macs
from hostler.lab.scenes.servers import FLEET as SERVERS
from hostler.lab.scenes.servers import Rig, play
from hostler.simulators.scaleway.faults.rates import Rule
from hostler.simulators.scaleway.state import errors

ALWAYS = 1_000_000
HOUR = 3600.0


def worst(rig: Rig, route: str) -> int:
    """Return how often this was asked in the hour in which it was asked most."""
    times = [line.time for line in rig.world.journal if line.key == route]
    return max(sum(end - HOUR < at <= end for at in times) for end in times)


@pytest.mark.parametrize("fault", ["transient_409", "failed_500", "rate_limited_429"])
def test_claims_in_an_hour_are_bounded(fault: str) -> None:
    """A Mac whose first rename is refused was once asked for that 315 times in an hour."""
    fleet = replace(MACS, size=3)

    async def scene(s: MacRig) -> None:
        s.rig.world.script(Rule(fault=fault, route="mac.update", count=ALWAYS))
        s.hostler(fleet)
        await s.rig.clock.sleep(timedelta(hours=1.5))
        assert fleet.size * 2 <= worst(s.rig, "mac.update") <= fleet.creates_per_hour(fleet.size)

    play_macs(scene, 4)


@pytest.mark.parametrize("fault", ["failed_500", "rate_limited_429"])
@pytest.mark.parametrize("size", [1, 10])
def test_creations_of_servers_in_an_hour_are_bounded(fault: str, size: int) -> None:
    """Of a fleet of ten, 319 were once tried in an hour."""
    fleet = replace(SERVERS, size=size)

    async def scene(rig: Rig) -> None:
        rig.world.script(Rule(fault=fault, route="server.create", count=ALWAYS))
        rig.hostler(fleet)
        await rig.clock.sleep(timedelta(hours=1.5))
        assert size * 2 <= worst(rig, "server.create") <= fleet.creates_per_hour(size)

    play(scene)


def test_an_api_that_asks_for_an_hours_pause_is_asked_every_ten_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was taken for a pause of another clock, and the call made as soon as the account may."""
    busy = errors.Refused(429, None, headers=(("Retry-After", "3600"),))
    monkeypatch.setattr(errors, "rate_limited", lambda: busy)
    fleet = replace(SERVERS, size=1, timers=Timers(start=timedelta(hours=2)))

    async def scene(rig: Rig) -> None:
        rig.world.script(
            Rule(fault="rate_limited_429", route="server.action.poweron", count=ALWAYS)
        )
        rig.hostler(fleet)
        await rig.clock.sleep(timedelta(hours=1.5))
        assert 5 <= worst(rig, "server.action.poweron") <= 6

    play(scene)


def test_after_an_outage_of_an_hour_a_fleet_of_macs_is_soon_ready() -> None:
    """What was tried in vain does not keep the fleet from trying until its hour is over."""
    fleet = replace(MACS, size=2)

    async def scene(s: MacRig) -> None:
        s.rig.world.script(Rule(fault="rate_limited_429", route="mac.update", count=ALWAYS))
        hostler = s.hostler(fleet)
        await s.rig.clock.sleep(timedelta(hours=1))
        s.rig.world.clear_fault_rates()
        await s.ready(hostler, 2, within=timedelta(minutes=30))

    play_macs(scene, 2)
