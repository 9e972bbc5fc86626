"""Properties of decide, over worlds and histories that nobody thought of."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hostler.domain.decide import decide
from hostler.domain.ids import MachineId, ResourceId, is_machine_id, jitter, machine_id
from hostler.domain.model.calls import Effect
from hostler.domain.model.commands import Advance, Decision, Reclaim, SaveFleet
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase, legal
from hostler.domain.model.resource import Condition, Resource
from hostler.domain.model.snapshot import RequestKind
from hostler.domain.observation.certainty import reconcile, resources_of
from hostler.domain.policy.billing import Billing, cost_between
from hostler.testing.fakes.planner import SERVER
from hostler.testing.scenes.builders import (
    ABROAD,
    BEGIN,
    CAPABILITIES,
    FLEET,
    HOME,
    S,
    address,
    machine,
    server,
)
from hostler.testing.scenes.fleet import Scene

PHASES = [phase for phase in Phase if phase is not Phase.DELETED]
CONDITIONS = list(Condition)
RESTS = (Phase.READY, Phase.STOPPING, Phase.STANDBY)
NAMES = tuple(MachineId(f"m-named-{number}") for number in range(8))


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """Draw a fleet of up to six machines in any phases, whose parts stand, or not, somehow."""
    scene = Scene(fleet=replace(FLEET, size=draw(st.integers(0, 6))))
    if draw(st.booleans()):
        scene.fleet = replace(scene.fleet, size=0, renews=False, maximum=draw(st.integers(0, 6)))
        scene.capabilities = replace(CAPABILITIES, standby=True)
    for number in range(1, draw(st.integers(0, 6)) + 1):
        _people(scene, number, draw)
    if draw(st.booleans()):
        whose = draw(st.sampled_from([HOME, ABROAD]))
        scene.exist(server(machine(90), draw(st.sampled_from(CONDITIONS)), installation=whose))
    scene.observe(complete=draw(st.booleans()))
    scene.later(draw(st.integers(0, 200)) * S)
    scene.observe(complete=draw(st.booleans()))
    return scene


def _people(scene: Scene, number: int, draw: st.DrawFn) -> None:
    entry = machine(number, draw(st.sampled_from(PHASES)), BEGIN + draw(st.integers(0, 600)) * S)
    if draw(st.booleans()):
        entry = entry.with_health(was_ready=None)
    if scene.capabilities.standby and entry.phase in RESTS and draw(st.booleans()):
        entry = replace(entry, goal=Goal.STANDBY)
    scene.add(entry)
    if draw(st.integers(0, 4)):
        up = server(entry, draw(st.sampled_from(CONDITIONS)))
        scene.exist(up)
        if draw(st.booleans()):
            scene.exist(address(entry, owner=up.id))
    if not draw(st.integers(0, 3)):
        scene.exist(server(entry, attempt=2, name=f"other-{entry.id}"))


def advances(decision: Decision) -> list[Advance]:
    return [c for c in decision.commands if isinstance(c, Advance)]


@given(scenes())
def test_deciding_is_pure_and_does_not_depend_on_the_order_of_resources(scene: Scene) -> None:
    snapshot = scene.snapshot()
    first, second = decide(snapshot, scene.planner), decide(snapshot, scene.planner)
    assert first == second
    shuffled = Scene(fleet=scene.fleet, now=scene.now, row=scene.row, machines=scene.machines)
    shuffled.issued = scene.issued
    shuffled.inventory = replace(
        scene.inventory, sightings=dict(reversed(list(scene.inventory.sightings.items())))
    )
    assert decide(shuffled.snapshot(), scene.planner) == decide(scene.snapshot(), scene.planner)


@given(scenes())
def test_every_move_is_in_the_table(scene: Scene) -> None:
    before = {m.id: m.phase for m in scene.machines.values()}
    decision = scene.decide()
    assert not decision.alarms
    for advance in advances(decision):
        phase = before[advance.machine.id]
        for event in advance.events:
            if event.kind == "moved":
                start, end = event.detail.split(":")[0].split(">")
                assert start == phase
                assert legal(phase, Phase(end))
                phase = Phase(end)
        assert advance.machine.phase is phase


@given(scenes())
def test_count_never_exceeds_what_is_wanted_nor_the_maximum(scene: Scene) -> None:
    decision = scene.reconcile()
    made = sum(len(c.inserts) for c in decision.commands if isinstance(c, SaveFleet))
    if made and scene.fleet.renews:
        assert sum(m.wanted for m in scene.machines.values()) <= scene.fleet.size
        assert sum(m.in_maximum for m in scene.machines.values()) <= scene.fleet.most(
            scene.fleet.size
        )


@given(scenes(), st.integers(1, 8))
def test_what_is_asked_for_by_name_is_recorded_up_to_the_maximum(scene: Scene, many: int) -> None:
    scene.fleet = replace(scene.fleet, size=0, renews=False, maximum=6)
    held = sum(m.in_maximum for m in scene.machines.values())
    stuck = sum(m.health.stuck for m in scene.machines.values())
    assert stuck <= scene.fleet.caps.stuck
    scene.ask_for(*NAMES[:many])
    scene.reconcile()
    made = set(scene.machines) & set(NAMES)
    assert made == set(NAMES[: min(many, max(0, 6 - held))])


@given(scenes(), st.integers(0, 9))
def test_group_makes_and_ends_nothing_that_nobody_asked_for(scene: Scene, size: int) -> None:
    """Whatever size is in the row; what broke is cleaned up, and gone."""
    scene.fleet = replace(scene.fleet, size=0, renews=False, maximum=6)
    scene.row = replace(scene.row, size=size)
    before = dict(scene.machines)
    decision = scene.reconcile()
    assert not any(c.inserts for c in decision.commands if isinstance(c, SaveFleet))
    for entry in scene.machines.values():
        assert entry.id in before
        assert entry.deletion == before[entry.id].deletion or before[entry.id].goal is Goal.STANDBY


@given(scenes())
def test_no_call_is_for_a_resource_that_a_wanted_record_is_bound_to(scene: Scene) -> None:
    decision = scene.reconcile()
    bound = {
        place.bound
        for m in scene.machines.values()
        if m.wanted
        for place in m.places
        if place.bound
    }
    for advance in advances(decision):
        if advance.goal is None:
            continue
        resources = resources_of(advance.machine, scene.snapshot())
        calls = scene.planner.next_calls(advance.goal, advance.machine, resources, scene.now)
        destroyed = {call.target for call in calls if call.effect is Effect.DESTROY}
        assert not destroyed & bound
    reclaimed = {p.id for c in decision.commands if isinstance(c, Reclaim) for p in c.resources}
    assert not reclaimed & bound


@given(scenes())
def test_foreign_resources_are_in_no_command(scene: Scene) -> None:
    foreign = server(machine(90), installation=ABROAD)
    for command in scene.decide().commands:
        if isinstance(command, Reclaim):
            assert all(p.owner_tag and p.owner_tag.installation == HOME for p in command.resources)
        if isinstance(command, Advance):
            assert foreign.id not in command.machine.ids()
        if isinstance(command, SaveFleet) and foreign.id in scene.inventory.sightings:
            owner_tag = scene.inventory.sightings[foreign.id].resource.owner_tag
            assert owner_tag
            assert not command.inserts


@given(scenes())
def test_every_machine_is_spoken_of_once(scene: Scene) -> None:
    decision = scene.decide()
    spoken = [verdict.machine for verdict in decision.verdicts]
    assert sorted(spoken) == sorted(scene.machines)


@given(scenes(), st.sampled_from(list(RequestKind)), st.integers(1, 7), st.integers(0, 9))
def test_no_request_raises_or_is_passed_over(
    scene: Scene, kind: RequestKind, number: int, size: int
) -> None:
    whole = kind in {RequestKind.SCALE, RequestKind.PAUSE, RequestKind.RESUME, RequestKind.ADOPT}
    request = scene.request(kind, None if whole else machine_id(number), size)
    rows = [c for c in scene.reconcile().commands if isinstance(c, SaveFleet)]
    assert rows
    assert request.number in rows[0].requests


@given(scenes())
def test_reconciling_twice_changes_nothing_more(scene: Scene) -> None:
    snapshot = scene.snapshot()
    for entry in snapshot.machines:
        once = reconcile(entry, snapshot)
        assert reconcile(once, snapshot) == once


@given(scenes())
def test_machines_in_flight_are_left_alone(scene: Scene) -> None:
    scene.moving = set(scene.machines)
    assert not advances(scene.decide())


@settings(max_examples=25)
@given(scenes(), st.integers(1, 60))
def test_world_that_obeys_comes_to_rest_where_it_was_asked_to(scene: Scene, seed: int) -> None:
    """L1: when faults cease and wishes stop, the fleet is what was wished, and decides nothing."""
    scene.requests.clear()
    if scene.snapshot().foreign or scene.snapshot().unexplained:
        return
    timers = replace(scene.fleet.timers, drain=600 * S)  # so that what drains is over at the end
    scene.fleet = replace(scene.fleet, size=seed % 4, timers=timers)
    wanted = [Phase.READY] * (seed % 4)
    for _ in range(200):
        scene.observe()
        decision = scene.reconcile()
        for advance in advances(decision):
            scene.observe_one(*advance.close)
        for entry in tuple(scene.machines.values()):
            obey(scene, entry)
        scene.later(10 * S)
    phases = [m.phase for m in scene.machines.values() if m.phase is not Phase.STANDBY]
    assert phases == (wanted if scene.fleet.renews else [Phase.READY] * len(phases))
    scene.observe()
    assert not scene.decide().commands


def obey(scene: Scene, entry: Machine) -> None:
    """Let the world do for a machine what its phase asks for, without calls."""
    mine = [p for p in scene.resources.values() if p.owner_tag and p.owner_tag.machine == entry.id]
    if entry.phase is Phase.STOPPING and entry.goal is Goal.STANDBY:
        scene.exist(*(replace(p, condition=Condition.STANDBY) for p in mine if p.slot == SERVER))
    elif entry.phase is Phase.STOPPING:
        scene.vanish(*(p.id for p in mine))
    if entry.phase is Phase.STARTING:
        bound = {place.bound for place in entry.places}
        for resource in mine:
            if bound and resource.id not in bound:
                scene.vanish(resource.id)
        _stand(scene, entry, mine)
    if entry.phase is Phase.READY:
        surplus = [p.id for p in mine if entry.bound(p.slot) not in {None, p.id}]
        scene.vanish(*surplus)


def _stand(scene: Scene, entry: Machine, mine: list[Resource]) -> None:
    up = server(entry, name=entry.bound(server(entry).slot) or server(entry).id)
    if not entry.places or any(p.slot.kind == "server" for p in mine):
        scene.exist(up)
        scene.exist(address(entry, owner=up.id))


# ---------------------------------------------------------------- small values


@given(st.integers(0, 2**50 - 1))
def test_machine_ids_are_what_they_look_like(number: int) -> None:
    assert is_machine_id(machine_id(number))
    assert machine_id(number + 2**50) == machine_id(number)


@given(st.text())
def test_nothing_else_passes_for_a_machine_id(text: str) -> None:
    assert is_machine_id(text) == (
        text.startswith("m-")
        and len(text) == 12
        and set(text[2:]) <= set("abcdefghijklmnopqrstuvwxyz234567")
    )


@given(st.text(), st.integers(0, 10_000))
def test_jitter_is_fixed_and_within_its_bounds(key: str, most: int) -> None:
    limit = timedelta(milliseconds=most)
    assert timedelta(0) <= jitter(key, limit) <= limit
    assert jitter(key, limit) == jitter(key, limit)


@given(st.lists(st.tuples(st.integers(0, 3600), st.floats(0, 10)), max_size=8))
def test_cost_is_the_sum_over_all_prices(changes: list[tuple[int, float]]) -> None:
    billing = Billing()
    now, price, expected = BEGIN, 0.0, 0.0
    for seconds, after in changes:
        expected += cost_between(price, now, now + seconds * S)
        now += seconds * S
        billing, price = billing.repriced(after, now), after
    assert abs(billing.cost(now) - expected) < 1e-6
    assert cost_between(5.0, None, now) == 0.0
    assert cost_between(5.0, now, BEGIN) == 0.0
    assert ResourceId("x") == "x"
