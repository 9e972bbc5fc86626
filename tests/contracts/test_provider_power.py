"""Boxes that are switched keep the promises of the provider kit, over simulated outlets."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

import pytest
from msgspec.structs import replace

from hostler.domain.ids import FleetName, HostId, InstallationId, MachineId, ResourceId, Zone
from hostler.domain.model.capabilities import Cleaning, PowerLimits
from hostler.domain.model.host import allocation_of, host_of
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.resource import OwnerTag
from hostler.ports.power import PowerAction
from hostler.ports.provider import Provider
from hostler.providers.power.provider import Box, PowerBoxes, Rack
from hostler.providers.power.ways import Ways
from hostler.testing.conformance.provider.rig import Ability, Fault, Rig, Thing
from hostler.testing.conformance.provider.suite import CHECKS, Check, Verdict, run_check
from hostler.testing.fakes.power import EVERYTHING, FakeOutlet, FakePower, PowerFault
from hostler.testing.time.clock import RigClock

HOME, ZONE, MANY = InstallationId("home1234"), Zone("rack-1"), 24
SECRET = "geheim-4711"
SETTLES = timedelta(seconds=15)
FAULTS = {
    Fault.BEFORE: PowerFault.HUNG,
    Fault.AFTER: PowerFault.LOST,
    Fault.GARBAGE: PowerFault.NONSENSE,
    Fault.BUSY: PowerFault.BUSY,
}


class RackRig:
    """A rack of outlets, and the bindings that say which machine has which box.

    A thing is a box that is on: what is off costs nothing, and nobody can tell that it is used.
    """

    installation = HOME
    fleet = FleetName("web")
    offer = Offer(type="small", zone=ZONE)
    page = 5
    secrets = (SECRET,)
    words = ("on", "off")
    lacks: Mapping[Ability, str] = {
        Ability.WORDS: "methods translate their words: a box is on, off, or nobody knows",
        Ability.SURPLUS: "a machine has the box that it is bound to, and no second one",
        Ability.FOREIGN: "nothing can be written on a box: it says of nobody that it is his",
        Ability.REFUSE: "an allocation is one part: no other could be kept by it",
        Ability.REMOVE: "the list of boxes is the fleet file's: nobody else takes one out of it",
        Ability.PAGES: "the list of boxes is the fleet file's: it has no pages",
        Ability.DEATH: "the list of boxes is the fleet file's: it never fails",
    }

    def __init__(self, cleaning: Cleaning) -> None:
        self.clock, self.cleaning = RigClock(), cleaning
        self.outlets = {
            f"box-{n:03}": FakeOutlet(self.clock, answer=timedelta(0)) for n in range(1, MANY + 1)
        }
        self.bindings = dict[str, MachineId]()

    async def open(self) -> Provider:
        return PowerBoxes(
            Rack(
                boxes=tuple(_box(name, outlet) for name, outlet in self.outlets.items()),
                fleets={},
                cleaning=self.cleaning,
                limits=PowerLimits(),
                settles=SETTLES,
                deadline=EVERYTHING.deadline,
                soft_wait=timedelta(minutes=3),
                patience=timedelta(seconds=8),
            ),
            self.clock,
        )

    def host_for(self, machine: Machine) -> Machine:
        return replace(machine, host=HostId(self._bound(machine.id)))

    def _bound(self, machine: MachineId) -> str:
        name = next(name for name in self.outlets if name not in self.bindings)
        self.bindings[name] = machine
        return name

    async def things(self) -> tuple[Thing, ...]:
        return tuple(
            Thing(
                id=allocation_of(HostId(name), self.bindings.get(name, MachineId(""))),
                machine=self.bindings.get(name),
            )
            for name, outlet in self.outlets.items()
            if outlet.has_power()
        )

    async def wait(self, time: timedelta) -> None:
        self.clock.pass_by(time)

    async def strike(self, fault: Fault) -> None:
        for name in self.bindings:
            self.outlets[name].befall(FAULTS[fault])

    async def say(self, resource: ResourceId, word: str) -> None:
        self.outlets[host_of(resource)].on = word == "on"

    async def remove(self, resource: ResourceId) -> None:
        raise NotImplementedError

    async def plant(self, owner_tag: OwnerTag) -> ResourceId:
        name = self._bound(owner_tag.machine)
        self.outlets[name].on = True
        return allocation_of(HostId(name), owner_tag.machine)

    async def fail_page(self, number: int) -> None:
        raise NotImplementedError

    async def die(self) -> None:
        raise NotImplementedError

    async def refuse(self, resource: ResourceId | None) -> None:
        raise NotImplementedError


def _box(name: str, outlet: FakeOutlet) -> Box:
    order = dict.fromkeys((*PowerAction, None), ("fake",))
    ways = Ways({"fake": FakePower(outlet, EVERYTHING, SECRET)}, order)
    return Box(name=name, zone=ZONE, type="small", ways=ways, address="192.0.2.1")


@asynccontextmanager
async def rack(cleaning: Cleaning) -> AsyncGenerator[Rig]:
    yield RackRig(cleaning)


@pytest.mark.parametrize("cleaning", [Cleaning.POWER_CYCLE, Cleaning.TRUSTED])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
async def test_power_keeps_the_promise(check: Check, cleaning: Cleaning) -> None:
    result = await run_check(check, partial(rack, cleaning))
    if result.verdict is Verdict.LEFT_OUT:
        assert result.why in RackRig.lacks.values()
    else:
        assert result.verdict is Verdict.PASSED, str(result)
