"""A fleet that is large for its budget of calls comes up all the same, machine after machine."""

from datetime import timedelta

from msgspec.structs import replace

from hostler.domain.model.fleet import Caps
from hostler.lab.scenes.servers import FLEET, Rig, play


def test_no_machine_grows_old_waiting_for_the_budget() -> None:
    """A start bound that is short against the whole growth gives nothing up: few wait at once."""

    async def scene(rig: Rig) -> None:
        timers = replace(FLEET.timers, start=timedelta(seconds=90))
        fleet = replace(FLEET, size=300, timers=timers, caps=Caps(creates=2000))
        hostler = rig.hostler(fleet)
        await hostler.rests(300, timedelta(minutes=15))
        reasons = {entry.event.reason for entry in await hostler.events()}
        assert "start_overdue" not in reasons
        assert rig.clock.boot() > timers.start.total_seconds()

    play(scene)
