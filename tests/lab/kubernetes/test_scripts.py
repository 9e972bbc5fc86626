"""Scripts in simulations: what a host's disk knows, over a line that breaks, and their judge."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

import pytest
from msgspec.structs import replace

from hostler.access.data_scripts import beginning, following
from hostler.domain.ids import AccountName, HostId, MachineId, ResourceId
from hostler.domain.model.host import Host, host_of
from hostler.domain.model.machine import MachineSpec
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.domain.policy.bootstrap_data import DataRun, DataState
from hostler.lab.checks.shadow_store import ShadowStore, shadow_for
from hostler.lab.checks.trace import Trace
from hostler.lab.harness.gates import Gate
from hostler.lab.harness.process_run import ProcessRun
from hostler.lab.kubernetes.scripts.checker import ScriptsJudge
from hostler.lab.kubernetes.scripts.host import Hosts
from hostler.lab.kubernetes.scripts.scenario import FAILS, KILLED, LINE, SLOW, ScriptsScenario
from hostler.lab.kubernetes.scripts.ssh import LabPreparer
from hostler.lab.metal.checker import MetalChecker
from hostler.lab.metal.environment import ZONE
from hostler.lab.metal.faults import draw_metal
from hostler.lab.metal.ground_truth import MetalTruth
from hostler.lab.scenario.faults import Size
from hostler.ports.preparer import MachineData, Order, Prepared
from hostler.ports.provider import Connection
from hostler.testing.fakes.metal_world import MetalWorld
from hostler.testing.fakes.world import FakeWorld
from hostler.testing.scenes.builders import FLEET, HOME, machine
from hostler.testing.time.clock import SimClock
from hostler.testing.time.loop import Life, SimLoop

BOX, ONE = HostId("box-1"), machine(1)
TEXT = b"#!/bin/sh\necho joined\n"


@dataclass
class Here:
    """A box that is on, one run of an engine that has it on record, and a judge."""

    rates: dict[str, float] = field(default_factory=dict[str, float])
    lasts: tuple[float, float] = (30.0, 30.0)
    laws: list[str] = field(default_factory=list[str])
    shadow: ShadowStore = field(default_factory=lambda: shadow_for(HOME, (FLEET,), 60.0))

    def __post_init__(self) -> None:
        self.loop = SimLoop()
        clock = SimClock(self.loop)
        rack = MetalWorld(FakeWorld(clock))
        rack.add(BOX, ZONE, condition=Condition.UP)
        self.truth = MetalTruth(rack, self.loop)
        scenario = ScriptsScenario(lasts=self.lasts, rates=self.rates)
        self.hosts = Hosts(self.truth, scenario, Random(1), lambda _: None)
        judge = ScriptsJudge(self.hosts, [self.shadow], self._wrong)
        self.judge = self.hosts.judge = judge
        host = Host(id=BOX, account=AccountName("main"), zone=ZONE)
        run = DataRun(machine=ONE.id, state=DataState.ASKED)
        self.shadow.hosts[BOX] = host.with_bootstrap(run=run)
        self.shadow.bindings[BOX] = ONE.id

    def _wrong(self, law: str, _text: str, _machine: str) -> None:
        self.laws.append(law)

    def last(self, seconds: float) -> None:
        self.loop.run_until_complete(asyncio.sleep(seconds))

    def begin(self, name: MachineId = ONE.id, within: int = 600) -> str:
        return self.hosts.begin(BOX, beginning(name, "192.0.2.1", len(TEXT), within), TEXT)

    def word(self) -> str:
        return self.hosts.word(BOX, following(ONE.id, 0))


@pytest.fixture
def begins() -> Iterator[Callable[..., Here]]:
    """Return what makes a scene, and end each in the end."""
    scenes = list[Here]()

    def made(*arguments: object, **options: object) -> Here:
        scenes.append(Here(*arguments, **options))  # pyright: ignore[reportArgumentType] - as the scene takes them
        return scenes[-1]

    yield made
    for scene in scenes:
        scene.loop.close()


@pytest.fixture
def here(begins: Callable[..., Here]) -> Here:
    return begins()


def test_a_script_runs_to_its_end(here: Here) -> None:
    assert here.word() == "waiting"
    assert here.begin() == "hostler: end"
    here.last(29)
    assert here.word() == "running"
    here.last(2)
    assert here.word() == "ended 0"
    assert here.hosts.is_done(BOX, ONE.id)
    assert here.laws == []


def test_what_did_not_arrive_whole_is_not_begun(here: Here) -> None:
    text = beginning(ONE.id, "192.0.2.1", len(TEXT) + 1, 600)
    assert here.hosts.begin(BOX, text, TEXT) == "it did not arrive whole"
    assert here.word() == "waiting"


def test_a_script_whose_box_goes_off_leaves_no_status(here: Here) -> None:
    here.begin()
    here.last(10)
    here.truth.rack.cut(ResourceId(BOX))
    here.truth.rack.switch_on(ResourceId(BOX))
    here.last(120)
    assert here.word() == "ended cut"
    assert not here.hosts.is_done(BOX, ONE.id)


def test_a_box_that_goes_off_after_the_end_of_a_script_changes_nothing(here: Here) -> None:
    here.begin()
    here.last(31)
    here.truth.rack.cut(ResourceId(BOX))
    here.last(60)
    assert here.hosts.is_done(BOX, ONE.id)


@pytest.mark.parametrize(
    ("fault", "word"), [(FAILS, "ended 3"), (KILLED, "ended cut"), (SLOW, "ended late")]
)
def test_a_script_may_end_otherwise(fault: str, word: str, begins: Callable[..., Here]) -> None:
    here = begins({fault: 1.0})
    here.begin()
    here.last(601)
    assert here.word() == word


def test_the_guard_at_the_host_keeps_a_script_from_beginning_again(here: Here) -> None:
    here.begin()
    here.begin()
    assert here.laws == []
    unguarded = beginning(ONE.id, "192.0.2.1", len(TEXT), 600).replace("mkdir", "ls")
    here.hosts.begin(BOX, unguarded, TEXT)
    assert here.laws == ["once"]


def test_a_script_begins_on_its_machines_own_host(here: Here) -> None:
    here.shadow.bindings[BOX] = MachineId("m-another")
    here.begin()
    assert here.laws == ["its-host"]


def test_a_script_begins_once_it_is_on_record(here: Here) -> None:
    here.shadow.hosts[BOX] = here.shadow.hosts[BOX].with_bootstrap(run=DataRun())
    here.begin()
    assert here.laws == ["recorded"]


def test_a_machine_is_ready_once_its_script_has_ended_well(here: Here) -> None:
    starting = replace(ONE, phase=Phase.STARTING, host=BOX, spec=MachineSpec(bootstrap="secret"))
    ready = replace(starting, phase=Phase.READY)
    here.begin()
    here.judge.saved(starting, ready)
    here.judge.provisioned(ONE.id)
    assert here.laws == ["provisioned", "provisioned"]
    here.last(31)
    here.judge.saved(starting, ready)
    here.judge.provisioned(ONE.id)
    assert here.laws == ["provisioned", "provisioned"]


# ---------------------------------------------------------------- the program's session, over it


def _prepared(here: Here, times: int = 1) -> Prepared:
    """Let the program log in so many times at most; return what came of the last time."""
    run = ProcessRun(
        name="a.1",
        clock=SimClock(here.loop),
        gate=Gate(here.loop, Life()),
        checker=MetalChecker(here.truth, Trace(here.loop.time), 60.0, draw_metal(1, Size())),
        shadow=here.shadow,
        holds_lease=lambda: True,
    )
    order = Order(machine=ONE.id, user="admin", data=MachineData(script=TEXT))
    address = next(box.address for box in here.truth.rack.boxes())
    found, preparer = Prepared(), LabPreparer(here.hosts, run)
    for _ in range(times):
        task = preparer.prepare(Connection(address=address), order)
        found = here.loop.run_until_complete(task)
        if found.data is DataState.DONE:
            break
    return found


def test_the_program_runs_a_script_and_waits_for_its_end(here: Here) -> None:
    found = _prepared(here)
    assert (found.well, found.data) == (True, DataState.DONE)
    assert here.laws == []


def test_the_program_comes_back_to_a_script_that_takes_long(begins: Callable[..., Here]) -> None:
    here = begins(lasts=(100.0, 100.0))
    first = _prepared(here)
    assert (first.well, first.data) == (False, DataState.RUNNING)
    assert _prepared(here).data is DataState.DONE


def test_the_program_begins_nothing_again_over_a_line_that_breaks(
    begins: Callable[..., Here],
) -> None:
    here = begins({LINE: 0.5})
    found = _prepared(here, 40)
    assert (found.data, here.laws) == (DataState.DONE, [])


def test_nobody_answers_where_a_box_is_off(here: Here) -> None:
    here.truth.rack.cut(ResourceId(BOX))
    assert not _prepared(here).login
    assert here.hosts.box_at("192.0.2.99") is None
    assert host_of(ResourceId(BOX)) == BOX
    assert here.truth.now < timedelta(minutes=1).total_seconds()
