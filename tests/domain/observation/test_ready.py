"""What may be called now: nothing whose answer no observation has shown yet."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.machine import Asked, CallState
from hostler.domain.observation.ready import Observed, ready
from hostler.testing.fakes.planner import SERVER
from hostler.testing.scenes.builders import BEGIN, ZONE
from hostler.testing.scenes.hosts import call, on_host

SECOND = timedelta(seconds=1)
SWITCH = Call(
    kind="switch", slot=SERVER, zone=ZONE, effect=Effect.CHANGE, once=True, shows=Shows.POWER
)


def observed(at: datetime, delay: timedelta) -> Observed:
    """Return that the newest observation began then, and that calls show so late."""
    return Observed(at, lambda _: delay)


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
    now, later = (observed(at, timedelta(0)) for at in (BEGIN, BEGIN + SECOND))
    assert ready(machine, (switch,), now, lambda _: "").calls == ()
    assert ready(machine, (switch,), later, lambda _: "").calls == (switch,)


@pytest.mark.parametrize(
    ("shows", "waits"), [(Shows.OWNER_TAG, True), (Shows.POWER, False), (Shows.REST, False)]
)
def test_a_name_that_may_still_come_is_waited_for_and_nothing_else_is(
    shows: Shows, *, waits: bool
) -> None:
    machine, switch = on_host(asked=(asked(shows),)), replace(SWITCH, shows=shows)
    late, earlier = 60 * SECOND, BEGIN + 90 * SECOND
    found = ready(machine, (switch,), observed(BEGIN + SECOND, late), lambda _: "", earlier)
    assert found.calls == (() if waits else (switch,))
    assert found.at == (earlier if waits else None), "the latest of what is waited for"
    barred = ready(machine, (switch,), observed(BEGIN + SECOND, late), lambda _: "it may not")
    assert barred.waits == "it may not", "what is in the way says more than that it takes a while"
    over = observed(BEGIN + late + SECOND, late)
    assert ready(machine, (switch,), over, lambda _: "").calls == (switch,)
