"""Fake metal keeps the promises of the provider kit that boxes in a rack can keep."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import pytest
from msgspec.structs import replace

from hostler.domain.ids import FleetName, HostId, InstallationId, MachineId, ResourceId, Zone
from hostler.domain.model.calls import Call, Outcome, Refusal, Refused
from hostler.domain.model.capabilities import Cleaning
from hostler.domain.model.host import allocation_of, host_of
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.resource import Condition, OwnerTag
from hostler.ports.provider import Provider
from hostler.testing.conformance.provider.rig import Ability, Fault, Rig, Thing
from hostler.testing.conformance.provider.suite import CHECKS, Check, Verdict, run_check
from hostler.testing.fakes.metal import FakeMetal, metal
from hostler.testing.fakes.metal_planner import RELEASE
from hostler.testing.fakes.metal_world import WORDS, MetalWorld
from hostler.testing.fakes.script import Lost
from hostler.testing.fakes.world import FakeWorld, Pace
from hostler.testing.time.clock import RigClock

HOME = InstallationId("home1234")
ZONE = Zone("rack-1")
BUSY = Refused(why=Refusal.BUSY, text="come again")

LEFT_OUT = {
    "a_nonsense_answer_is_not_refused",
    "secrets_stay_secret",
    "surplus_goes_and_the_bound_stays",
    "foreign_resources_are_seen_and_left",
    "cleaning_passes_a_refused_resource",
}
"""What does not apply; the rig says why."""


@dataclass(slots=True)
class Mood:
    """What befalls the next call."""

    fault: Fault | None = None
    dead: bool = False


class Moody(FakeMetal):
    """Fake metal, with its script written by a rig."""

    mood: Mood

    async def do(self, call: Call) -> Outcome:
        if call.kind == RELEASE:
            return await super().do(call)
        fault, self.mood.fault = self.mood.fault, None
        if self.mood.dead or fault is Fault.BEFORE:
            self.befall(call.kind, Lost.BEFORE)
        elif fault is Fault.BUSY:
            self.befall(call.kind, BUSY)
        elif fault is Fault.AFTER:
            self.befall(call.kind, Lost.AFTER)
        return await super().do(call)


class MetalRig:
    """A rack, and the bindings that say which machine has which box.

    A thing is a box that is on: what is off costs nothing, and nobody can tell that it is used.
    """

    installation = HOME
    fleet = FleetName("web")
    offer = Offer(type="small", zone=ZONE)
    page = 5
    secrets = ()
    words = tuple(WORDS)
    lacks: Mapping[Ability, str] = {
        Ability.GARBAGE: "the fake answers in values, which are never nonsense",
        Ability.SECRETS: "the fake has no secrets",
        Ability.SURPLUS: "a machine has the box that it is bound to, and no second one",
        Ability.FOREIGN: "nothing can be written on a box: it says of nobody that it is his",
        Ability.REFUSE: "an allocation is one part: no other could be kept by it",
    }

    def __init__(self, cleaning: Cleaning) -> None:
        self.clock, self.mood = RigClock(), Mood()
        self.rack = MetalWorld(FakeWorld(self.clock, Pace(answer=timedelta(0))))
        self.bindings = dict[ResourceId, MachineId]()
        self.opened = list[FakeMetal]()
        self.capabilities = replace(metal(cleaning, zones=(ZONE,)), page=self.page)

    async def open(self) -> Provider:
        provider = Moody(self.rack, self.capabilities)
        provider.mood = self.mood
        self.opened.append(provider)
        return provider

    def host_for(self, machine: Machine) -> Machine:
        return replace(machine, host=HostId(self._box(machine.id, Condition.OFF)))

    def _box(self, machine: MachineId, condition: Condition) -> ResourceId:
        name = f"box-{len(self.bindings) + 1:03}"
        box = self.rack.add(name, ZONE, condition=condition)
        self.bindings[box] = machine
        return box

    async def things(self) -> tuple[Thing, ...]:
        return tuple(
            Thing(
                id=allocation_of(HostId(box.id), self.bindings[box.id]),
                machine=self.bindings[box.id],
            )
            for box in self.rack.boxes()
            if box.condition is not Condition.OFF
        )

    async def wait(self, time: timedelta) -> None:
        self.clock.pass_by(time)

    async def strike(self, fault: Fault) -> None:
        self.mood.fault = fault

    async def say(self, resource: ResourceId, word: str) -> None:
        box = ResourceId(host_of(resource))
        there = self.rack.world.resources[box]
        self.rack.world.resources[box] = replace(there, status=word)

    async def remove(self, resource: ResourceId) -> None:
        self.rack.remove(ResourceId(host_of(resource)))

    async def plant(self, owner_tag: OwnerTag) -> ResourceId:
        box = self._box(owner_tag.machine, Condition.UP)
        return allocation_of(HostId(box), owner_tag.machine)

    async def fail_page(self, number: int) -> None:
        for provider in self.opened:
            provider.failing_page = number

    async def die(self) -> None:
        self.mood.dead = True
        for provider in self.opened:
            provider.dead.add(ZONE)

    async def refuse(self, resource: ResourceId | None) -> None:
        raise NotImplementedError


@asynccontextmanager
async def rack(cleaning: Cleaning) -> AsyncGenerator[Rig]:
    yield MetalRig(cleaning)


@pytest.mark.parametrize("cleaning", [Cleaning.POWER_CYCLE, Cleaning.COMMAND, Cleaning.TRUSTED])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
async def test_metal_keeps_the_promise(check: Check, cleaning: Cleaning) -> None:
    result = await run_check(check, partial(rack, cleaning))
    if check.name in LEFT_OUT:
        assert result.verdict is Verdict.LEFT_OUT
        assert result.why in MetalRig.lacks.values()
    else:
        assert result.verdict is Verdict.PASSED, str(result)
