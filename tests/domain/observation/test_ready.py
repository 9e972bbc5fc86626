"""What may be called now: nothing whose answer no observation has shown yet."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.machine import Asked, CallState
from hostler.domain.observation.ready import ready
from hostler.testing.fakes.planner import SERVER
from hostler.testing.scenes.builders import BEGIN, ZONE
from hostler.testing.scenes.hosts import call, on_host

SECOND = timedelta(seconds=1)
SWITCH = Call(
    kind="switch", slot=SERVER, zone=ZONE, effect=Effect.CHANGE, once=True, shows=Shows.POWER
)


def asked(shows: Shows) -> Asked:
    done = call("switch", CallState.DONE, BEGIN, shows=shows)
    return replace(done, slot=SERVER)


@pytest.mark.parametrize("shows", [Shows.POWER, Shows.REST, Shows.OWNER_TAG])
def test_what_was_answered_well_is_not_asked_again_before_an_observation_shows_it(
    shows: Shows,
) -> None:
    """A box takes a while to obey, and its controller says that it is still off."""
    machine = on_host(asked=(asked(shows),))
    switch = replace(SWITCH, shows=shows)
    assert ready(machine, (switch,), BEGIN, lambda _: "").calls == ()
    assert ready(machine, (switch,), BEGIN + SECOND, lambda _: "").calls == (switch,)
