"""What a loop tells its log: news at once, as a warning where it needs somebody, and once."""

import logging

import pytest
import structlog
from msgspec.structs import replace
from structlog.testing import capture_logs

from hostler.controllers.cycle import gravity
from hostler.domain.ids import CycleId
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import WELL
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Observation, OwnerTag, Scope
from hostler.lab.scenes.fake import FakeScene
from hostler.testing.scenes.builders import BEGIN, FLEET, MIN, S

pytestmark = pytest.mark.looptime


def unknown_since() -> FakeScene:
    """Return a rig of one machine, whose listings show nothing whole until that is deleted."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(20))
    rig = FakeScene(replace(FLEET, size=1))
    observation = rig.provider.observe

    async def failing(scopes: tuple[Scope, ...]) -> Observation:
        snapshot = await observation(scopes)
        hidden = (replace(one, complete=False, error="503") for one in snapshot.observed)
        return replace(snapshot, observed=tuple(hidden))

    rig.provider.observe = failing
    return rig


async def test_a_listing_that_goes_on_failing_is_warned_of_once_until_it_is_whole() -> None:
    rig = unknown_since()
    with capture_logs() as logs:
        async with rig.running():
            await rig.pass_by(10 * MIN)
            failed = [line for line in logs if line["event"] == "observation incomplete"]
            del rig.provider.observe
            await rig.until([Phase.READY], 5 * MIN)
    warned = [line["kind"] for line in failed if line["log_level"] == "warning"]
    assert sorted(warned) == ["address", "server"]
    again = [line["kind"] for line in logs if line["event"] == "observation complete again"]
    assert sorted(again) == ["address", "server"]


async def test_a_listing_that_fails_is_warned_of_once_whatever_tags_are_taken_away() -> None:
    rig = unknown_since()
    failing = rig.provider.observe
    del rig.provider.observe

    def strip(tag: OwnerTag | None) -> None:
        (one,) = rig.world.servers()
        rig.world.resources[one.id] = replace(one, owner_tag=tag)

    async with rig.running():
        await rig.until([Phase.READY], 5 * MIN)
        (server,) = rig.world.servers()
        for tag in (None, server.owner_tag):
            with capture_logs() as logs:
                rig.provider.observe = failing
                await rig.pass_by(2 * MIN)
                strip(tag)
                await rig.pass_by(5 * MIN)
                del rig.provider.observe
                await rig.pass_by(5 * MIN)
            warned = [one for one in logs if one["event"] == "observation incomplete"]
            warned = [one["kind"] for one in warned if one["log_level"] == "warning"]
            assert sorted(warned) == ["address", "server"]
            again = [one["kind"] for one in logs if one["event"] == "observation complete again"]
            assert sorted(again) == ["address", "server"]


async def test_what_blocks_a_fleet_is_a_warning_and_its_end_is_none() -> None:
    rig = unknown_since()
    with capture_logs() as logs:
        async with rig.running():
            await rig.pass_by(1 * MIN)
            del rig.provider.observe
            await rig.until([Phase.READY], 5 * MIN)
            await rig.pass_by(30 * S)
    conditions = [
        (line["log_level"], line["reason"]) for line in logs if line["event"] == "condition"
    ]
    assert conditions[0][0] == "warning"
    assert "could be observed" in conditions[0][1]
    assert conditions[-1] == ("info", "all is well")


@pytest.mark.parametrize(
    ("kind", "reason", "level"),
    [
        ("alarm", "host_taken", logging.ERROR),
        ("release_skipped", "release_skipped", logging.WARNING),
        ("host_taken", "host_taken", logging.WARNING),
        ("condition", "no_available_host: none", logging.WARNING),
        ("condition", WELL, logging.INFO),
        ("moved", "release_skipped", logging.INFO),
    ],
)
async def test_what_somebody_has_to_do_is_a_warning_and_an_alarm_is_an_error(
    kind: str, reason: str, level: int
) -> None:
    event = Event(kind=kind, at=BEGIN, fleet=FLEET.name, cycle=CycleId("t"), reason=reason)
    assert gravity(event) == level
