"""A provider joins the simulation with an environment and a checker, whatever its world is."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from hostler.controllers.runtime.settings import Settings
from hostler.domain.ids import InstallationId, Zone
from hostler.domain.model.calls import Call, Outcome, Unknown
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.domain.model.resource import Condition
from hostler.lab.checks.checker import Checker
from hostler.lab.checks.listings import Listed
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.checks.trace import Trace
from hostler.lab.harness.process_run import ProcessRun
from hostler.lab.scenario.environment import Cadence
from hostler.lab.scenario.faults import Disruption, Scenario, Size
from hostler.lab.scenario.run import play
from hostler.lab.simulate.providers import Simulated, engines
from hostler.ports.command import Asker
from hostler.ports.preparer import Preparer
from hostler.ports.provider import Provider
from hostler.simulators.scaleway.faults.rates import FaultRates
from hostler.testing.fakes.provider import FakeProvider
from hostler.testing.fakes.world import FakeWorld
from hostler.testing.invariants import Thing
from hostler.testing.scenes.builders import FLEET
from hostler.testing.time.clock import BEGINNING, SimClock
from hostler.testing.time.loop import SimLoop

SIZE = Size(machines=3, days=0.02)


class World:
    """A fake world as a checker needs it."""

    def __init__(self, loop: SimLoop) -> None:
        self.fake, self._loop = FakeWorld(SimClock(loop)), loop

    @property
    def now(self) -> float:
        return self._loop.time()

    @property
    def faults(self) -> Mapping[str, int]:
        return {}

    def advance(self) -> None:
        self.fake.catch_up()


LISTED: Listed = {"server": ("servers",), "address": ("addresses",)}


class FakeChecker(Checker):
    kinds, listed = ("server", "address"), LISTED

    def __init__(self, world: World, trace: Trace) -> None:
        super().__init__(world, trace, 60.0)
        self._fake = world.fake

    def things(self) -> list[tuple[Thing, Zone]]:
        return [
            (
                Thing(
                    id=one.id,
                    kind=one.slot.kind,
                    created=(self._fake.born[one.id] - BEGINNING).total_seconds(),
                    owner_tag=one.owner_tag,
                    slot=one.slot,
                    owner=one.owner,
                ),
                one.zone,
            )
            for one in self._fake.resources.values()
        ]

    def is_healthy(self, shadow: ShadowStore, machine: Machine) -> bool:
        del shadow
        return any(
            one.owner_tag is not None
            and one.owner_tag.machine == machine.id
            and one.condition is Condition.UP
            for one in self._fake.resources.values()
        )

    def left_of(self, machine: Machine) -> list[Thing]:
        return [t for t, _ in self.things() if t.owner_tag and t.owner_tag.machine == machine.id]


class GatedFake(FakeProvider):
    """The fake provider behind the gate of one run."""

    def __init__(self, run: ProcessRun, world: FakeWorld) -> None:
        super().__init__(world, run.shadow.own)
        self._run = run

    async def do(self, call: Call) -> Outcome:
        await self._run.gate.pass_through("http", before=True)
        if self._run.down:
            return Unknown(text="the network is down")
        self._run.checker.changed = True
        self._run.checker.calls_at_rest.append(call.kind)
        outcome = await super().do(call)
        await self._run.gate.pass_through("http", before=False)
        return outcome


class FakeEnvironment:
    settings = Settings(poll=timedelta(seconds=5))
    cadence = Cadence()
    world: World

    def __init__(self, scenario: Scenario) -> None:
        self.base = scenario

    def open(self, loop: SimLoop, rng: Random) -> None:
        del rng
        self.world = World(loop)

    def checker(self, trace: Trace) -> Checker:
        return FakeChecker(self.world, trace)

    def fleets(self, *, other: bool) -> tuple[Fleet, ...]:
        del other
        return (replace(FLEET, size=self.base.machines),)

    def rewritten(self, fleet: Fleet, disruption: Disruption) -> Fleet:
        del disruption
        return fleet

    def provider(self, run: ProcessRun) -> Provider:
        return GatedFake(run, self.world.fake)

    def answers(self, address: str) -> bool:
        return bool(address)

    def preparer(self, run: ProcessRun) -> Preparer | None:
        del run

    def asker(self, run: ProcessRun) -> Asker | None:
        del run

    def strike(self, own: InstallationId, disruption: Disruption) -> bool | None:
        del own
        if disruption.fault != "deleted_by_hand":
            return None
        servers = self.world.fake.servers()
        if servers:
            self.world.fake.remove(servers[0].id)
        return bool(servers)

    def cease(self) -> None:
        """Nothing strikes in this world by chance."""

    def help(self, checker: Checker) -> None:
        """Nobody is needed."""


def draw(seed: int, size: Size) -> Scenario:
    rng = Random(f"fake {seed}")
    faults = ("crash", "paused", "deleted_by_hand", "network_down")
    return Scenario(
        seed=seed,
        severity="some",
        machines=size.machines or 2,
        span=size.days * 86_400,
        world=FaultRates({}),
        faults=faults,
        disruptions=tuple(
            Disruption(at=300.0 * (n + 1), fault=fault, length=rng.uniform(20, 90))
            for n, fault in enumerate(faults)
        ),
    )


FAKE = Simulated(
    draw=draw,
    course=engines(FakeEnvironment),
    faults=draw(1, SIZE).faults,
    mutants={},
)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_provider_without_http_is_simulated_through_its_environment_alone(
    seed: int, tmp_path: Path
) -> None:
    result = FAKE.run(seed, SIZE, tmp_path)
    assert result.violation is None, "\n".join(result.story)
    assert {"crash", "paused", "deleted_by_hand"} <= result.faults.keys()
    assert result.machine_seconds > 3 * 1000


class LeavingEnvironment(FakeEnvironment):
    """Somebody copies a server into a zone that is never observed."""

    def cease(self) -> None:
        server = self.world.fake.servers()[0]
        copy = replace(server, id=self.world.fake.name("server"), zone=Zone("elsewhere"))
        self.world.fake.add(copy)


def test_checker_of_a_new_provider_finds_what_is_left_on_the_bill(tmp_path: Path) -> None:
    result = play(engines(LeavingEnvironment)(draw(1, SIZE), tmp_path))
    assert result.violation is not None
    assert result.violation.invariant == "L1"
