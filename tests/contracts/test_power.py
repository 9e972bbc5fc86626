"""The fake of the power port keeps its promises, and each check fires on a method that does not."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.model.calls import Done, Outcome, Refusal, Refused, Unknown
from hostler.ports.power import (
    Power,
    PowerAction,
    PowerCapabilities,
    PowerReading,
    PowerState,
    Turn,
)
from hostler.testing.conformance.power.suite import CHECKS, Check, run_check
from hostler.testing.fakes.power import EVERYTHING, FakeOutlet, FakePower, PowerFault
from hostler.testing.time.clock import SimClock

pytestmark = pytest.mark.looptime

SECRET = "geheim-4711"
Way = Callable[[FakeOutlet, PowerCapabilities], Power]


def sound(outlet: FakeOutlet, capabilities: PowerCapabilities) -> Power:
    return FakePower(outlet, capabilities, SECRET)


@dataclass
class OutletRig:
    """A simulated outlet, and one way to it."""

    outlet: FakeOutlet
    way: Way
    able: PowerCapabilities
    secrets: tuple[str, ...] = (SECRET,)

    @property
    def lacks(self) -> Mapping[PowerFault, str]:
        return {}

    def open(self) -> Power:
        return self.way(self.outlet, self.able)

    def now(self) -> datetime:
        return self.outlet.clock.now()

    def has_power(self) -> bool:
        return self.outlet.has_power()

    def set_power(self, *, on: bool) -> None:
        self.outlet.on = on

    def befall(self, fault: PowerFault) -> None:
        self.outlet.befall(fault)

    def arrived(self) -> tuple[str, ...]:
        return tuple(what for _, what in self.outlet.journal)

    def most_at_once(self) -> int:
        return self.outlet.most_at_once

    async def pass_by(self, time: timedelta) -> None:
        await self.outlet.clock.sleep(time)


def worlds(
    way: Way, able: PowerCapabilities = EVERYTHING
) -> Callable[[], AbstractAsyncContextManager[OutletRig]]:
    @asynccontextmanager
    async def opened() -> AsyncGenerator[OutletRig]:
        yield OutletRig(FakeOutlet(SimClock(asyncio.get_running_loop())), way, able)

    return opened


BLIND = replace(EVERYTHING, actions=frozenset({PowerAction.ON}), query=False, watts=False)
OUTLET = replace(EVERYTHING, actions=frozenset({PowerAction.ON, PowerAction.OFF_HARD}))
ASKED = replace(EVERYTHING, actions=frozenset[PowerAction]())
NOTHING = replace(ASKED, query=False, watts=False)
BY_SSH = replace(BLIND, actions=frozenset({PowerAction.OFF_SOFT}))


@pytest.mark.parametrize(
    "able",
    [EVERYTHING, BLIND, OUTLET, BY_SSH, ASKED],
    ids=["all", "blind", "outlet", "ssh", "asked"],
)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_fake_keeps_the_promise_that(check: Check, able: PowerCapabilities) -> None:
    left_out = await run_check(check, worlds(sound, able))
    refused_all = "it can do everything", "it can be asked"
    assert able is not EVERYTHING or left_out in {"", *refused_all}, "nothing else is left out"


# ------------------------------------------------------------------ the checks themselves


class Mute(FakePower):
    """Accepts everything, and does nothing."""

    async def act(self, action: PowerAction) -> Outcome:
        del action
        return Done()


class SaysOff(FakePower):
    """Takes silence for off."""

    async def query(self) -> PowerReading:
        reading = await super().query()
        if reading.state is PowerState.UNKNOWN:
            return replace(reading, state=PowerState.OFF)
        return reading


class MakesUp(FakePower):
    """Says what it was asked for instead of asking."""

    asked = PowerState.OFF

    async def act(self, action: PowerAction) -> Outcome:
        outcome = await super().act(action)
        self.asked = PowerState.ON if action is PowerAction.ON else PowerState.OFF
        return outcome

    async def query(self) -> PowerReading:
        return replace(await super().query(), state=self.asked)


class Hammers(FakePower):
    """Tries wrong credentials again and again."""

    async def act(self, action: PowerAction) -> Outcome:
        outcome = await super().act(action)
        if isinstance(outcome, Refused) and outcome.why is Refusal.DENIED:
            self.turn = Turn()
            self.outlet.befall(PowerFault.DENIED)
            return await super().act(action)
        return outcome


class Sure(FakePower):
    """Takes a lost answer for a refusal."""

    async def act(self, action: PowerAction) -> Outcome:
        outcome = await super().act(action)
        if isinstance(outcome, Unknown):
            return Refused(why=Refusal.NOT_SENT, text="no answer")
        return outcome


class Trusts(FakePower):
    """Takes every answer for a good one."""

    async def act(self, action: PowerAction) -> Outcome:
        outcome = await super().act(action)
        return Done() if isinstance(outcome, Unknown) else outcome


class Slow(FakePower):
    """Waits beyond its deadline."""

    async def act(self, action: PowerAction) -> Outcome:
        outcome = await super().act(action)
        if isinstance(outcome, Unknown):
            await self.outlet.clock.sleep(self.capabilities.deadline)
        return outcome


class Raises(FakePower):
    """Lets what the outside does through as an error."""

    async def query(self) -> PowerReading:
        reading = await super().query()
        assert reading.state is not PowerState.UNKNOWN, "no answer"
        return reading


class Crowds(FakePower):
    """Has a turn of its own instead of its endpoint's."""

    def __init__(self, outlet: FakeOutlet, capabilities: PowerCapabilities, secret: str) -> None:
        super().__init__(outlet, capabilities, secret)
        self.turn = Turn()


class Fussy(FakePower):
    """Takes what stands already for an error."""

    async def act(self, action: PowerAction) -> Outcome:
        if self.outlet.has_power() is (action is PowerAction.ON):
            return Refused(why=Refusal.WRONG_STATE, text="it is so already")
        return await super().act(action)


class Bold(FakePower):
    """Tries what it cannot do, and tells what it cannot know."""

    async def act(self, action: PowerAction) -> Outcome:
        self.outlet.take_effect(action, timedelta(0))
        return Done()

    async def query(self) -> PowerReading:
        return PowerReading(state=PowerState.OFF, at=self.outlet.clock.now())


class Sticks(FakePower):
    """Never frees its endpoint where a call is given up."""

    stuck = False

    async def query(self) -> PowerReading:
        if self.stuck:
            await self.outlet.clock.sleep(self.capabilities.deadline * 100)
        try:
            return await super().query()
        except asyncio.CancelledError:
            self.stuck = True
            raise


class Boundless(FakePower):
    """Has no deadline."""

    @property
    def capabilities(self) -> PowerCapabilities:
        return replace(super().capabilities, deadline=timedelta(0))


class Tells(FakePower):
    """Shows its secret."""

    def __repr__(self) -> str:
        return f"Tells({self._secret})"


class ClosesOnce(FakePower):
    """Cannot be closed twice."""

    closed = False

    async def close(self) -> None:
        assert not self.closed, "it is closed"
        self.closed = True


class Switches(FakePower):
    """Switches off what it is asked about."""

    async def query(self) -> PowerReading:
        reading = await super().query()
        self.outlet.on = False
        return reading


@dataclass(frozen=True)
class Case:
    """A check, a method that it must catch, and what it says of it."""

    check: str
    broken: type[FakePower]
    why: str
    able: PowerCapabilities = EVERYTHING


CASES = (
    Case("on_gives_power", Mute, "had no effect"),
    Case("a_hard_off_takes_it", Mute, "had no effect"),
    Case("a_soft_off_takes_it", Mute, "had no effect"),
    Case("a_cycle_ends_on", Mute, "never arrived"),
    Case("what_is_ignored_is_not_made_up", MakesUp, "was read as on"),
    Case("a_late_effect_settles", Mute, "the effect came later"),
    Case("a_hung_endpoint_leaves_it_unknown_in_time", Slow, "its deadline is"),
    Case("a_hung_endpoint_leaves_it_unknown_in_time", Trusts, "nothing answered"),
    Case("a_lost_answer_is_not_refused", Sure, "was said to be"),
    Case("a_nonsense_answer_is_unknown", Trusts, "made no sense"),
    Case("wrong_credentials_are_denied_once", Hammers, "it was tried"),
    Case("wrong_credentials_are_denied_once", Crowds, "must be refused"),
    Case("busy_passes_by_itself", Mute, "must be refused"),
    Case("what_cannot_be_reached_has_no_effect", Mute, "must be refused"),
    Case("a_reading_says_how_it_stands", MakesUp, "was read as off"),
    Case("a_reading_changes_nothing", Switches, "a reading switched it"),
    Case("silence_is_not_off", SaysOff, "read as off"),
    Case("silence_is_not_off", Raises, "no answer"),
    Case("nonsense_is_not_off", SaysOff, "read as off"),
    Case("a_denied_reading_is_unknown", SaysOff, "read as off"),
    Case("an_unreachable_endpoint_is_unknown", SaysOff, "read as off"),
    Case("one_call_at_a_time", Crowds, "under way together"),
    Case("a_hung_call_keeps_no_later_one", Raises, "no answer"),
    Case("secrets_stay_secret", Tells, "a secret is shown"),
    Case("closing_twice_is_fine", ClosesOnce, "it is closed"),
    Case("what_stands_already_is_done", Fussy, "of what is so already"),
    Case("capabilities_are_sane", FakePower, "it can do nothing", NOTHING),
    Case("capabilities_are_sane", Boundless, "longer than nothing"),
    Case("what_it_cannot_do_is_refused", Bold, "must be refused", OUTLET),
    Case("what_cannot_be_asked_is_unknown", Bold, "cannot know", BLIND),
    Case("a_cancelled_call_keeps_no_later_one", Sticks, "did not end within"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.broken.__name__}")
async def test_a_broken_method_is_caught(case: Case) -> None:
    def way(outlet: FakeOutlet, capabilities: PowerCapabilities) -> Power:
        return case.broken(outlet, capabilities, SECRET)

    check = next(check for check in CHECKS if getattr(check, "__name__", "") == case.check)
    with pytest.raises(AssertionError, match=case.why):
        await run_check(check, worlds(way, case.able))


def test_every_check_is_seen_to_fire() -> None:
    assert {getattr(check, "__name__", "") for check in CHECKS} == {case.check for case in CASES}


async def test_outcomes_of_a_fake_are_typed() -> None:
    outlet = FakeOutlet(SimClock(asyncio.get_running_loop()))
    power = FakePower(outlet)
    outlet.befall(PowerFault.BUSY)
    outcome = await power.act(PowerAction.ON)
    assert isinstance(outcome, Refused)
    assert outcome.after == timedelta(seconds=5)
    reading = await power.query()
    assert (reading.state, reading.watts) == (PowerState.OFF, 2.0)
