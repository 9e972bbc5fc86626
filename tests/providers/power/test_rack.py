"""A rack as its file says: what is wrong with it, which way is taken, and who waits for whom."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from power_rig import SECRET

from hostler.access.http import AiohttpTransport
from hostler.access.shell import SshShell
from hostler.app.compose import Composed
from hostler.config.values import Config, WrongFile
from hostler.domain.errors import ConfigError
from hostler.domain.ids import AccountName, FleetName, InstallationId, ResourceId, Zone
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.capabilities import Cleaning, PowerLimits
from hostler.domain.model.host import HOST
from hostler.domain.model.machine import Offer
from hostler.domain.model.resource import Condition, Resource, Scope
from hostler.ports.kind import Opening
from hostler.ports.power import PowerAction, PowerCapabilities, PowerReading, PowerState, Turn
from hostler.providers.power.kind import PowerKind
from hostler.providers.power.provider import Box, PowerBoxes, Rack
from hostler.providers.power.ways import Ways
from hostler.testing.fakes.power import FakeOutlet, FakePower, PowerFault
from hostler.testing.scenes.hosts import on_host
from hostler.testing.time.clock import RigClock, SimClock

ZONE = Zone("rack")
PATIENCE = timedelta(seconds=8)
ON_ONLY = PowerCapabilities(actions=frozenset({PowerAction.ON}), query=False)
OUTLET = PowerCapabilities(
    actions=frozenset({PowerAction.ON, PowerAction.OFF_HARD}), query=True, watts=True
)


def order(*names: str) -> dict[PowerAction | None, tuple[str, ...]]:
    return dict.fromkeys((*PowerAction, None), names)


def rack_of(*boxes: Box) -> Rack:
    return Rack(
        boxes=boxes,
        fleets={},
        cleaning=Cleaning.POWER_CYCLE,
        limits=PowerLimits(),
        settles=timedelta(seconds=15),
        deadline=timedelta(seconds=20),
        soft_wait=timedelta(minutes=3),
        patience=PATIENCE,
    )


def box(name: str, ways: Ways) -> Box:
    return Box(name=name, zone=ZONE, type="box", ways=ways, price=0.02)


# ---------------------------------------------------------------- several methods of one box


@pytest.mark.looptime
async def test_each_action_goes_the_first_way_that_can_and_a_query_until_one_knows() -> None:
    clock = SimClock(asyncio.get_running_loop())
    card, plug = FakeOutlet(clock), FakeOutlet(clock)
    ways = Ways(
        {"card": FakePower(card, ON_ONLY), "plug": FakePower(plug, OUTLET)}, order("card", "plug")
    )
    assert ways.actions == {PowerAction.ON, PowerAction.OFF_HARD}
    assert isinstance(await ways.act(PowerAction.ON), Done)
    assert isinstance(await ways.act(PowerAction.OFF_HARD), Done)
    assert [what for _, what in card.journal] == ["on"]
    assert [what for _, what in plug.journal] == ["off_hard"]
    assert (await ways.query(PATIENCE)).text == "off"
    outcome = await ways.act(PowerAction.CYCLE)
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.INVALID


MAINS = replace(OUTLET, feeds=True)


def behind_an_outlet(clock: SimClock, *, on: bool = False) -> tuple[FakeOutlet, FakeOutlet, Ways]:
    """Return a network card, the outlet that its machine hangs on, and the ways by them."""
    card, plug = FakeOutlet(clock), FakeOutlet(clock, on=on)
    methods = {"card": FakePower(card, ON_ONLY), "plug": FakePower(plug, MAINS)}
    return card, plug, Ways(methods, order("card", "plug"))


@pytest.mark.looptime
async def test_a_machine_has_its_outlet_on_before_anything_else_switches_it_on() -> None:
    """Where its power was cut at the outlet, no packet ever woke it again."""
    clock = SimClock(asyncio.get_running_loop())
    card, plug, ways = behind_an_outlet(clock, on=True)
    assert isinstance(await ways.act(PowerAction.OFF_HARD), Done)
    assert isinstance(await ways.act(PowerAction.ON), Done)
    assert plug.has_power()
    assert card.has_power()
    (_, (fed_at, _)), ((sent_at, _),) = plug.journal, card.journal
    assert fed_at <= sent_at


@pytest.mark.looptime
@pytest.mark.parametrize("fault", [PowerFault.UNREACHABLE, PowerFault.DENIED, PowerFault.HUNG])
async def test_an_outlet_that_cannot_be_told_bars_nothing_else_from_switching_on(
    fault: PowerFault,
) -> None:
    clock = SimClock(asyncio.get_running_loop())
    card, plug, ways = behind_an_outlet(clock, on=True)
    plug.befall(fault)
    begun = clock.now()
    assert isinstance(await ways.act(PowerAction.ON), Done)
    assert card.has_power()
    assert clock.now() - begun <= MAINS.deadline / 2 + timedelta(seconds=1)


@pytest.mark.looptime
async def test_where_the_outlet_was_told_a_refusal_does_not_say_that_nothing_happened() -> None:
    """A machine may start as soon as its power comes: only a look can tell."""
    clock = SimClock(asyncio.get_running_loop())
    card, plug, ways = behind_an_outlet(clock)
    card.befall(PowerFault.UNREACHABLE)
    assert isinstance(await ways.act(PowerAction.ON), Unknown)
    assert plug.has_power()
    card.befall(PowerFault.UNREACHABLE)
    plug.befall(PowerFault.BUSY)
    assert isinstance(await ways.act(PowerAction.ON), Refused)


@pytest.mark.looptime
async def test_who_does_not_know_is_asked_before_the_next_and_all_reasons_are_told() -> None:
    clock = SimClock(asyncio.get_running_loop())
    first, second = FakeOutlet(clock), FakeOutlet(clock, on=True)
    ways = Ways({"a": FakePower(first, OUTLET), "b": FakePower(second, OUTLET)}, order("a", "b"))
    first.befall(PowerFault.NONSENSE)
    assert (await ways.query(PATIENCE)).text == "on"
    first.befall(PowerFault.NONSENSE)
    second.befall(PowerFault.DENIED)
    assert (await ways.query(PATIENCE)).text == "nonsense; denied"


@pytest.mark.looptime
async def test_a_way_that_is_silent_does_not_keep_the_next_one_from_being_asked() -> None:
    clock = SimClock(asyncio.get_running_loop())
    controller, plug = FakeOutlet(clock), FakeOutlet(clock, on=True)
    ways = Ways(
        {"bmc": FakePower(controller, OUTLET), "plug": FakePower(plug, OUTLET)},
        order("bmc", "plug"),
    )
    boxes = PowerBoxes(rack_of(box("box-1", ways)), clock)
    controller.befall(PowerFault.HUNG, PowerFault.HUNG)
    begun = clock.now()
    (one,) = (await boxes.observe((Scope(ZONE, HOST.kind),))).resources
    assert one.condition is Condition.UP
    assert clock.now() - begun <= PATIENCE
    plug.befall(PowerFault.NONSENSE)
    (one,) = (await boxes.observe((Scope(ZONE, HOST.kind),))).resources
    assert one.condition is Condition.UNKNOWN
    assert one.status == "no answer within 8 s; nonsense"


@pytest.mark.looptime
async def test_a_way_that_is_slow_counts_before_the_next_one_if_it_answers_in_time() -> None:
    clock = SimClock(asyncio.get_running_loop())
    controller = FakeOutlet(clock, answer=timedelta(seconds=6), on=False)
    plug = FakeOutlet(clock, on=True)
    ways = Ways(
        {"bmc": FakePower(controller, OUTLET), "plug": FakePower(plug, OUTLET)},
        order("bmc", "plug"),
    )
    assert (await ways.query(PATIENCE)).text == "off"
    assert [what for _, what in plug.journal] == ["query"]
    assert (await ways.query(timedelta(seconds=13))).text == "off"
    assert [what for _, what in plug.journal] == ["query"]


# ---------------------------------------------------------------- many boxes


@pytest.mark.looptime
async def test_boxes_that_hang_are_unknown_in_time_and_delay_no_other() -> None:
    clock = SimClock(asyncio.get_running_loop())
    outlets = [FakeOutlet(clock, on=number % 2 == 0) for number in range(500)]
    for outlet in outlets[:5]:
        outlet.befall(PowerFault.HUNG)
    boxes = PowerBoxes(
        rack_of(
            *(
                box(f"box-{number:03}", Ways({"plug": FakePower(outlet, OUTLET)}, order("plug")))
                for number, outlet in enumerate(outlets)
            )
        ),
        clock,
    )
    begun = clock.now()
    observation = await boxes.observe((Scope(ZONE, HOST.kind),))
    assert clock.now() - begun <= timedelta(seconds=8)
    conditions = [one.condition for one in observation.resources]
    assert conditions[:5] == [Condition.UNKNOWN] * 5
    assert set(conditions[5:]) == {Condition.UP, Condition.OFF}
    (observed,) = observation.observed
    assert observed.complete
    assert observed.begun == begun
    again = await boxes.observe((Scope(ZONE, HOST.kind),))
    assert Condition.UNKNOWN not in {one.condition for one in again.resources}


def guests(clock: SimClock, count: int, answer: timedelta) -> list[FakeOutlet]:
    """Return guests of one host, of which one is asked at a time."""
    turn = Turn()
    return [FakeOutlet(clock, on=True, answer=answer, turn=turn) for _ in range(count)]


async def unknown(boxes: PowerBoxes) -> set[str]:
    resources = (await boxes.observe((Scope(ZONE, HOST.kind),))).resources
    assert [one.id for one in resources] == sorted(one.id for one in resources)
    return {one.name for one in resources if one.condition is Condition.UNKNOWN}


@pytest.mark.looptime
async def test_boxes_that_wait_for_each_other_are_all_known_after_some_observations() -> None:
    clock = SimClock(asyncio.get_running_loop())
    outlets = guests(clock, 15, timedelta(seconds=1.5))
    ways = [Ways({"vm": FakePower(outlet, OUTLET)}, order("vm")) for outlet in outlets]
    boxes = PowerBoxes(rack_of(*(box(f"vm-{n:02}", way) for n, way in enumerate(ways))), clock)
    seen = [await unknown(boxes) for _ in range(3)]
    assert all(seen), "there is no time for all of them"
    assert not seen[0].intersection(*seen)


@pytest.mark.looptime
async def test_a_box_that_hangs_does_not_hide_for_ever_those_that_wait_for_it() -> None:
    clock = SimClock(asyncio.get_running_loop())
    outlets = guests(clock, 4, timedelta(seconds=0.1))
    outlets[0].befall(*[PowerFault.HUNG] * 9)
    ways = [Ways({"vm": FakePower(outlet, OUTLET)}, order("vm")) for outlet in outlets]
    boxes = PowerBoxes(rack_of(*(box(f"vm-{n}", way) for n, way in enumerate(ways))), clock)
    seen = [await unknown(boxes) for _ in range(4)]
    assert seen[0].intersection(*seen) == {"vm-0"}


@pytest.mark.looptime
async def test_boxes_that_hang_hide_the_others_once_in_a_while_only() -> None:
    """Seed 131000035 of power: a machine was not believed lost, as it was unknown time and again.

    A box is down once it was seen so twice, and not otherwise between.
    """
    clock = SimClock(asyncio.get_running_loop())
    outlets = guests(clock, 5, timedelta(seconds=0.1))
    for outlet in (outlets[1], outlets[3]):
        outlet.befall(*[PowerFault.HUNG] * 24)
    ways = [Ways({"vm": FakePower(outlet, OUTLET)}, order("vm")) for outlet in outlets]
    boxes = PowerBoxes(rack_of(*(box(f"vm-{n}", way) for n, way in enumerate(ways))), clock)
    seen = [await unknown(boxes) for _ in range(24)]
    for name in ("vm-0", "vm-2", "vm-4"):
        hidden = [name in one for one in seen]
        assert sum(hidden) <= len(seen) / 3
    for outlet in (outlets[1], outlets[3]):
        outlet.script.clear()
    after = [await unknown(boxes) for _ in range(2)]
    assert after[-1] == set(), "who answers again is known again"


@pytest.mark.looptime
async def test_a_box_that_hung_once_is_asked_in_its_turn_again() -> None:
    """Whoever is asked last where there is never time for all would be unknown for ever."""
    clock = SimClock(asyncio.get_running_loop())
    outlets = guests(clock, 15, timedelta(seconds=1.5))
    outlets[0].befall(PowerFault.HUNG)
    ways = [Ways({"vm": FakePower(outlet, OUTLET)}, order("vm")) for outlet in outlets]
    boxes = PowerBoxes(rack_of(*(box(f"vm-{n:02}", way) for n, way in enumerate(ways))), clock)
    seen = [await unknown(boxes) for _ in range(12)]
    assert all(seen), "there is no time for all of them"
    assert not seen[0].intersection(*seen)


class Buggy(FakePower):
    """A method of a package that breaks the port's promise never to raise."""

    async def query(self) -> PowerReading:
        raise ValueError("a field is missing")

    async def act(self, action: PowerAction) -> Outcome:
        raise KeyError(action)


@pytest.mark.looptime
async def test_a_method_with_a_bug_hides_no_other_box() -> None:
    clock = SimClock(asyncio.get_running_loop())
    outlets = FakeOutlet(clock, on=True), FakeOutlet(clock, on=True)
    ways = (
        Ways({"new": Buggy(outlets[0], OUTLET)}, order("new")),
        Ways({"plug": FakePower(outlets[1], OUTLET)}, order("plug")),
    )
    boxes = PowerBoxes(rack_of(box("a", ways[0]), box("b", ways[1])), clock)
    a, b = (await boxes.observe((Scope(ZONE, HOST.kind),))).resources
    assert (a.condition, b.condition) == (Condition.UNKNOWN, Condition.UP)
    assert a.status == "a bug in its power method: ValueError"
    switched = Call(
        kind="box.on", slot=HOST, zone=ZONE, effect=Effect.CHANGE, target=ResourceId("a")
    )
    outcome = await boxes.do(switched)
    assert isinstance(outcome, Unknown)
    assert outcome.text == "a bug in its power method: KeyError"


def switched(name: str) -> Call:
    return Call(kind="box.on", slot=HOST, zone=ZONE, effect=Effect.CHANGE, target=ResourceId(name))


@pytest.mark.looptime
async def test_no_call_is_begun_after_the_time_for_which_the_lease_was_judged() -> None:
    """The gate lets a call go while our lease outlives the deadline; later, others may decide."""
    clock = SimClock(asyncio.get_running_loop())
    outlets = guests(clock, 4, timedelta(seconds=0.1))
    outlets[0].befall(PowerFault.HUNG)
    outlets[1].befall(PowerFault.HUNG)
    ways = [Ways({"vm": FakePower(outlet, OUTLET)}, order("vm")) for outlet in outlets]
    boxes = PowerBoxes(rack_of(*(box(f"vm-{n}", way) for n, way in enumerate(ways))), clock)
    end = clock.now() + timedelta(seconds=20)
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(boxes.do(switched(f"vm-{n}"))) for n in range(4)]
    assert clock.now() <= end
    assert isinstance(calls[0].result(), Unknown)
    for call in calls[1:]:
        outcome = call.result()
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.BUSY
        assert outcome.text == "others are asked there, one at a time: no turn within 10 s"
    await asyncio.sleep(300)
    assert [outlet.journal for outlet in outlets[1:]] == [[], [], []]


class Talkative(FakePower):
    """A controller that has much to say, by a method that passes it on."""

    async def query(self) -> PowerReading:
        reading = await super().query()
        return replace(reading, state=PowerState.UNKNOWN, text="its state is\n" + "x" * 1_000_000)

    async def act(self, action: PowerAction) -> Outcome:
        del action
        return Refused(why=Refusal.INVALID, text="it offers only\n" + "x" * 1_000_000)


@pytest.mark.looptime
async def test_of_what_an_endpoint_says_the_beginning_is_kept() -> None:
    clock = SimClock(asyncio.get_running_loop())
    ways = Ways({"bmc": Talkative(FakeOutlet(clock), OUTLET)}, order("bmc"))
    boxes = PowerBoxes(rack_of(box("a", ways)), clock)
    (a,) = (await boxes.observe((Scope(ZONE, HOST.kind),))).resources
    outcome = await boxes.do(switched("a"))
    assert a.status == f"its state is {'x' * 486}…"
    assert outcome == Refused(why=Refusal.INVALID, text=f"it offers only {'x' * 484}…")


class Endless(FakePower):
    """A method of a package that has no end."""

    async def act(self, action: PowerAction) -> Outcome:
        await asyncio.sleep(3600)
        return await super().act(action)


@pytest.mark.looptime
async def test_a_method_that_has_no_end_is_given_up_at_the_deadline() -> None:
    clock = SimClock(asyncio.get_running_loop())
    endless = Endless(FakeOutlet(clock), OUTLET)
    boxes = PowerBoxes(rack_of(box("a", Ways({"new": endless}, order("new")))), clock)
    begun = clock.now()
    outcome = await boxes.do(switched("a"))
    assert clock.now() - begun == timedelta(seconds=20)
    assert outcome == Unknown(text="no answer within 20 s")


class Slow(FakePower):
    """A way whose end takes its time, such as that of a session."""

    closed = 0

    async def close(self) -> None:
        await asyncio.sleep(3)
        Slow.closed += 1


@pytest.mark.looptime
async def test_all_boxes_are_let_go_of_at_the_same_time() -> None:
    """An engine that ends, or gives way to another one, waits for it."""
    clock = SimClock(asyncio.get_running_loop())
    ways = [Ways({"bmc": Slow(FakeOutlet(clock), OUTLET)}, order("bmc")) for _ in range(50)]
    boxes = PowerBoxes(rack_of(*(box(f"box-{n}", way) for n, way in enumerate(ways))), clock)
    begun, Slow.closed = clock.now(), 0
    await boxes.close()
    assert Slow.closed == 50
    assert clock.now() - begun == timedelta(seconds=3)


class Broken(FakePower):
    """A method of a package that fails to let go."""

    async def close(self) -> None:
        raise ValueError("it was closed already")


@pytest.mark.looptime
async def test_a_method_that_fails_to_let_go_keeps_no_other_from_it() -> None:
    """Else the sessions of all other controllers would stay, and they have few."""
    clock = SimClock(asyncio.get_running_loop())
    broken, slow = (kind(FakeOutlet(clock), OUTLET) for kind in (Broken, Slow))
    both = Ways({"bmc": slow, "new": broken}, order("bmc", "new"))
    alone = Ways({"bmc": slow}, order("bmc"))
    boxes = PowerBoxes(rack_of(box("a", both), box("b", alone)), clock)
    Slow.closed = 0
    await boxes.close()
    assert Slow.closed == 2


@pytest.mark.looptime
async def test_a_box_is_reached_while_it_is_up_or_nobody_can_say() -> None:
    clock = SimClock(asyncio.get_running_loop())
    source = PowerBoxes(rack_of(box("node-1", Ways({}, {}))), clock)
    machine = on_host()
    (place,) = machine.places
    seen = Resource(
        id=place.bound or ResourceId(""),
        slot=place.slot,
        zone=ZONE,
        address="10.0.0.1",
        condition=Condition.UP,
    )
    known = source.connection(machine, (seen,))
    assert known is not None
    assert known.address == "10.0.0.1"
    assert source.connection(machine, (replace(seen, condition=Condition.UNKNOWN),)) == known
    for down in (Condition.STARTING, Condition.OFF, Condition.FAILED, Condition.STANDBY):
        assert source.connection(machine, (replace(seen, condition=down),)) is None
    assert source.connection(machine, (replace(seen, address=""),)) is None
    assert source.connection(machine, ()) is None


@pytest.mark.looptime
async def test_a_check_asks_every_box_of_the_fleets_and_switches_none() -> None:
    clock = SimClock(asyncio.get_running_loop())
    outlets = [FakeOutlet(clock, on=True) for _ in range(3)]
    outlets[1].befall(PowerFault.DENIED)
    boxes = [
        box(f"box-{number}", Ways({"plug": FakePower(outlet, OUTLET)}, order("plug")))
        for number, outlet in enumerate(outlets)
    ]
    boxes[2] = replace(boxes[2], zone=Zone("cellar"))
    rack = PowerBoxes(rack_of(*boxes), clock)
    findings = await rack.check_online({FleetName("nodes"): (Offer(type="box", zone=ZONE),)})
    assert [(one.well, one.about, one.text) for one in findings] == [
        (True, "box box-0", "is on, and draws 40 W"),
        (False, "box box-1", "does not say whether it is on: denied"),
    ]
    assert [[what for _, what in outlet.journal] for outlet in outlets] == [["query"]] * 2 + [[]]


async def test_a_box_that_is_not_in_the_file_is_switched_by_nobody() -> None:
    boxes = PowerBoxes(rack_of(), RigClock())
    call = Call(
        kind="box.on",
        slot=HOST,
        zone=ZONE,
        effect=Effect.CHANGE,
        target=ResourceId("stranger#m-1"),
    )
    outcome = await boxes.do(call)
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.WRONG_STATE
    assert "stranger is not in the fleet file" in outcome.text


# ---------------------------------------------------------------- the fleet file


FILE = """
[provider.rack]
kind = "power"
[[provider.rack.boxes]]
name = "a"
[provider.rack.boxes.shelly]
url = "http://127.0.0.1:9"
user = "admin"
password_env = "PLUG"
[[provider.rack.boxes]]
name = "b"
zone = "cellar"
[provider.rack.boxes.shelly]
url = "http://127.0.0.1:9"
outlet = 1
[provider.rack.boxes.wake-on-lan]
mac = "52:54:00:12:34:56"
[fleet.nodes]
size = 1
zones = ["rack", "cellar"]
"""


def read(folder: Path, text: str) -> Config:
    path = folder / "rack.toml"
    path.write_text(text)
    return Composed().load(path)


def opening(folder: Path, text: str, environment: dict[str, str]) -> Opening:
    config = read(folder, text)
    return Opening(
        name=AccountName("rack"),
        settings=config.accounts[0].settings,
        templates=config.templates,
        installation=InstallationId("home1234"),
        folder=folder,
        environment=environment,
        clock=RigClock(),
        shell=SshShell(),
        connect=AiohttpTransport,
    )


def test_a_rack_is_opened_with_its_boxes_and_outlets_of_one_plug_take_turns(tmp_path: Path) -> None:
    provider = PowerKind().open(opening(tmp_path, FILE, {"PLUG": SECRET}))
    assert isinstance(provider, PowerBoxes)
    assert provider.capabilities.zones == ("rack", "cellar")
    a, b = (one.ways for one in provider._rack.boxes)
    plugs = [ways._methods["shelly"] for ways in (a, b)]
    turns = {id(vars(plug)["_turn"]) for plug in plugs}
    assert len(turns) == 1
    assert SECRET not in repr(provider)


def test_a_secret_that_is_not_there_is_named_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"provider\.rack\.boxes\.a\.shelly\..*PLUG is not set"):
        PowerKind().open(opening(tmp_path, FILE, {}))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ('name = "b"', 'name = "a"', "boxes: expected each name once, and a is not"),
        ('mac = "52:', 'mac = "', "boxes.b.wake-on-lan.mac: expected six bytes"),
        ("outlet = 1", "outlet = 99", "outlet"),
        ('zone = "cellar"', 'on = ["redfish"]', "boxes.b.on: expected methods of this box"),
        ("size = 1", "size = 3", "there are such boxes, 1 fewer"),
        (
            'zones = ["rack", "cellar"]',
            'zones = ["rack", "cellar"]\n[fleet.more]\nsize = 2\nzones = ["cellar"]',
            "fleet.more.size",
        ),
        ('"cellar"]', '"attic"]', "zones: expected zones of boxes (cellar, rack); attic has none"),
    ],
)
def test_every_fault_of_a_box_is_told_with_its_place(
    before: str, after: str, expected: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, FILE.replace(before, after))
    text = " ".join(str(caught.value).replace("provider.rack.", "").split())
    assert expected.replace(":", "") in text.replace(":", "")


@pytest.mark.parametrize(
    ("one", "other", "warnings"),
    [
        (
            'shelly = { url = "http://10.0.0.7" }',
            'shelly = { url = "http://10.0.0.7:80/", deadline = "5s" }',
            1,
        ),
        (
            'shelly = { url = "http://10.0.0.7" }',
            'shelly = { url = "http://10.0.0.7", outlet = 1 }',
            0,
        ),
        (
            'redfish = { url = "https://bmc", system = "1" }',
            'redfish = { url = "https://bmc", system = "2" }',
            0,
        ),
        (
            'ipmi = { address = "bmc", user = "a", password_env = "A" }',
            'ipmi = { address = "bmc", user = "b", password_env = "B" }',
            1,
        ),
        (
            'ipmi = { address = "bmc.lan", user = "a", password_env = "A" }',
            'ipmi = { address = "BMC.lan.", user = "a", password_env = "A" }',
            1,
        ),
        (
            'snmp = { address = "2001:db8::1", outlet = 1, community_env = "A" }',
            'snmp = { address = "2001:DB8:0::1", outlet = 1, community_env = "A" }',
            1,
        ),
        (
            'redfish = { url = "https://bmc" }',
            'redfish = { url = "https://BMC", system = "1" }',
            1,
        ),
        (
            'shelly = { url = "http://10.0.0.7" }',
            'shelly = { url = "http://10.0.0.7" }\nexcluded = "it was replaced by the other one"',
            0,
        ),
        (
            'command = { on = ["/bin/on"], query = ["/bin/q"] }',
            'command = { on = ["/bin/on"], query = ["/bin/q"] }',
            0,
        ),
    ],
)
def test_two_boxes_that_are_switched_by_the_same_are_warned_of(
    one: str, other: str, warnings: int, tmp_path: Path
) -> None:
    """A table that was copied, and not changed: to end one machine took the other's power."""
    tables = "".join(
        f'[[provider.rack.boxes]]\nname = "{name}"\n{table}\n'
        for name, table in (("a", one), ("b", other))
    )
    text = f'[provider.rack]\nkind = "power"\n{tables}[fleet.nodes]\nsize = 1\n'
    found = PowerKind().warnings_of(read(tmp_path, text).accounts[0].settings)
    texts = [one for one in found if "leads where" in one]
    assert len(texts) == warnings
    assert all("of b leads where that of a does" in one for one in texts)


@pytest.mark.parametrize(
    ("one", "other", "warning"),
    [
        ('address = "10.0.0.9"', 'address = "10.0.0.9"', "b has the address of a"),
        ('address = "a.lan"', 'address = "A.lan."', "b has the address of a"),
        ('address = "a.lan"', 'address = "a.lan"\nexcluded = "it was replaced"', ""),
        ('address = "a.lan"', 'address = "b.lan"', ""),
        ('address = "a.lan"', "{ssh}", "ssh of b leads to the address of a"),
        ('address = "a.lan"', 'address = "b.lan"\n{ssh}', "ssh of b leads to the address of a"),
        ("{ssh}", 'address = "a.lan"', "ssh of a leads to the address of b"),
        ('address = "a.lan"\n{ssh}', 'address = "b.lan"', ""),
        (
            'address = "a.lan"',
            'reachability = { address = "a.lan", off_after = "5m" }',
            "reachability of b leads to the address of a",
        ),
    ],
)
def test_two_boxes_that_answer_at_one_address_are_warned_of(
    one: str, other: str, warning: str, tmp_path: Path
) -> None:
    """One that never started was ready as soon as the other one answered."""
    ssh = f'ssh = {{ address = "a.lan", fingerprint = "SHA256:{"A" * 43}" }}'
    tables = "".join(
        f'[[provider.rack.boxes]]\nname = "{name}"\n'
        f'shelly = {{ url = "http://plug-{name}" }}\n{table.replace("{ssh}", ssh)}\n'
        for name, table in (("a", one), ("b", other))
    )
    text = f'[provider.rack]\nkind = "power"\n{tables}[fleet.nodes]\nsize = 1\n'
    found = PowerKind().warnings_of(read(tmp_path, text).accounts[0].settings)
    texts = [one for one in found if "the address of" in one]
    assert len(texts) == bool(warning)
    assert all(warning in one for one in texts)


def test_what_one_method_has_wrong_hides_nothing_of_the_others(tmp_path: Path) -> None:
    """What is of the wrong type was told first, and only who had mended it learnt of the rest."""
    text = """
    [provider.rack]
    kind = "power"
    [[provider.rack.boxes]]
    name = "a"
    type = 3
    wake-on-lan = { mac = "52:54:00:12:34:5g", repeats = 0 }
    redfish = { url = "ftp://x", user = 3 }
    [[provider.rack.boxes]]
    name = "b"
    snmp = { address = "192.0.2.1", outlet = 1, version = "3" }
    shelly = { url = "nothing" }
    [fleet.nodes]
    size = 1
    """
    with pytest.raises(WrongFile) as caught:
        read(tmp_path, text)
    found = [fault.path.removeprefix("provider.rack.") for fault in caught.value.faults]
    assert found == [
        "boxes[0].type",
        "boxes[0].redfish.user",
        "boxes[0].wake-on-lan.repeats",
        "boxes.a.redfish.url",
        "boxes.a.wake-on-lan.mac",
        "boxes.b.shelly.url",
        "boxes.b.snmp.user",
    ]


def test_a_box_that_nothing_switches_on_or_asks_is_refused(tmp_path: Path) -> None:
    text = FILE.partition("[provider.rack.boxes.shelly]")[0] + FILE[FILE.index("[fleet") :]
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text.replace(', "cellar"', ""))
    assert "a method that switches it on" in str(caught.value)
    assert "a method that tells how it stands" in str(caught.value)


def test_a_box_whose_power_is_only_cut_is_warned_of(tmp_path: Path) -> None:
    settings = read(tmp_path, FILE).accounts[0].settings
    warnings = PowerKind().warnings_of(settings)
    assert len(warnings) == 3
    assert warnings[0].startswith("boxes: a is switched off by cutting its power")


PORT = '[provider.rack.boxes.reachability]\naddress = "10.0.0.9"\noff_after = "5m"'


@pytest.mark.parametrize(
    ("more", "warned"),
    [
        ("", True),
        ('query = ["shelly"]', True),
        ('on = ["shelly"]', False),
        (PORT, True),
        (f'query = ["reachability", "shelly"]\n{PORT}', False),
        ('[provider.rack.boxes.redfish]\nurl = "https://10.0.0.10"', False),
    ],
)
def test_a_box_of_which_its_outlet_tells_first_is_sent_no_packet_and_that_is_warned_of(
    more: str, warned: bool, tmp_path: Path
) -> None:
    """An outlet that has power says nothing of a machine that was shut down: it counted as on."""
    text = (
        '[provider.rack]\nkind = "power"\n[[provider.rack.boxes]]\nname = "a"\n'
        f"{more}\n"
        '[provider.rack.boxes.wake-on-lan]\nmac = "52:54:00:12:34:56"\n'
        '[provider.rack.boxes.shelly]\nurl = "http://10.0.0.7"\n[fleet.nodes]\nsize = 1\n'
    )
    warnings = PowerKind().warnings_of(read(tmp_path, text).accounts[0].settings)
    found = [one for one in warnings if "its outlet has power" in one]
    assert bool(found) is warned
    assert all("wake-on-lan of a" in one for one in found)
