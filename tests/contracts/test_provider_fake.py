"""The fake that other tests rest on keeps the promises of the provider kit."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest

from hostler.domain.ids import FleetName, InstallationId, ResourceId, Zone
from hostler.domain.model.calls import Call, Outcome, Refusal, Refused
from hostler.domain.model.machine import Offer
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import Condition, OwnerTag, Resource, Slot
from hostler.ports.provider import Provider
from hostler.testing.conformance.provider.rig import Ability, Fault, Rig, Thing
from hostler.testing.conformance.provider.suite import CHECKS, Check, Verdict, run_check
from hostler.testing.fakes.provider import FakeProvider
from hostler.testing.fakes.script import Lost
from hostler.testing.fakes.world import FakeWorld, Pace
from hostler.testing.time.clock import RigClock

HOME = InstallationId("home1234")
ZONE = Zone("z-1")
SERVER = Slot("server")
NOW = timedelta(0)
BUSY = Refused(why=Refusal.BUSY, text="come again")

LEFT_OUT = {
    "every_status_has_a_meaning",
    "a_strange_status_changes_nothing",
    "a_nonsense_answer_is_not_refused",
    "a_failed_page_keeps_the_rest",
    "secrets_stay_secret",
}


@dataclass(slots=True)
class Mood:
    """What befalls the next call."""

    fault: Fault | None = None
    refused: ResourceId | None = None
    dead: bool = False


class Moody(FakeProvider):
    """The fake, with its script written by a rig."""

    mood: Mood

    async def do(self, call: Call) -> Outcome:
        fault, self.mood.fault = self.mood.fault, None
        if self.mood.dead or fault is Fault.BEFORE:
            self.befall(call.kind, Lost.BEFORE)
        elif fault is Fault.BUSY or (call.target and call.target == self.mood.refused):
            self.befall(call.kind, BUSY)
        elif fault is Fault.AFTER:
            self.befall(call.kind, Lost.AFTER)
        return await super().do(call)


class FakeRig:
    """One fake world."""

    installation = HOME
    fleet = FleetName("web")
    offer = Offer(type="small", zone=ZONE)
    page = 100
    secrets = ()
    words = ()
    lacks: Mapping[Ability, str] = {
        Ability.WORDS: "the fake speaks in our own words",
        Ability.GARBAGE: "the fake answers in values, which are never nonsense",
        Ability.PAGES: "the fake has no pages",
        Ability.SECRETS: "the fake has no secrets",
    }

    def __init__(self) -> None:
        self.clock, self.mood = RigClock(), Mood()
        self.world = FakeWorld(self.clock, Pace(answer=NOW))
        self.opened = list[FakeProvider]()

    async def open(self) -> Provider:
        capabilities = Capabilities(main=SERVER, kinds=("server", "address"), zones=(ZONE,))
        provider = Moody(self.world, HOME, capabilities)
        provider.mood = self.mood
        self.opened.append(provider)
        return provider

    async def things(self) -> tuple[Thing, ...]:
        self.world.catch_up()
        return tuple(
            Thing(
                id=resource.id, machine=resource.owner_tag.machine if resource.owner_tag else None
            )
            for resource in self.world.resources.values()
        )

    async def wait(self, time: timedelta) -> None:
        self.clock.pass_by(time)

    async def strike(self, fault: Fault) -> None:
        self.mood.fault = fault

    async def remove(self, resource: ResourceId) -> None:
        self.world.remove(resource)

    async def plant(self, owner_tag: OwnerTag) -> ResourceId:
        resource = Resource(
            id=self.world.name("planted"),
            slot=SERVER,
            zone=ZONE,
            owner_tag=owner_tag,
            status="off",
            condition=Condition.OFF,
            allowed=("poweron", "delete"),
        )
        return self.world.add(resource).id

    async def refuse(self, resource: ResourceId | None) -> None:
        self.mood.refused = resource

    async def die(self) -> None:
        self.mood.dead = True
        for provider in self.opened:
            provider.dead.add(ZONE)

    async def say(self, resource: ResourceId, word: str) -> None:
        raise NotImplementedError

    async def fail_page(self, number: int) -> None:
        raise NotImplementedError


@asynccontextmanager
async def fake_world() -> AsyncGenerator[Rig]:
    yield FakeRig()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
async def test_the_fake_keeps_the_promise(check: Check) -> None:
    result = await run_check(check, fake_world)
    if check.name in LEFT_OUT:
        assert result.verdict is Verdict.LEFT_OUT
        assert result.why in FakeRig.lacks.values()
    else:
        assert result.verdict is Verdict.PASSED, str(result)
