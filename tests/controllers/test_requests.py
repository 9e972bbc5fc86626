"""Requests meet in a running engine: nothing that was accepted goes without an effect or a refusal.

Every ordered pair of kinds about one subject is taken in one cycle, and long after one another.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.errors import Fenced, StoreBusy
from hostler.domain.fleets.abandoned import KINDS as REQUESTERS
from hostler.domain.fleets.precedence import TABLES, Precedence, Subject
from hostler.domain.ids import FleetName, HostId, MachineId, machine_id
from hostler.domain.model.capabilities import PowerLimits
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import Caps, Fleet, FleetRow
from hostler.domain.model.hold import HoldKind
from hostler.domain.model.host import Host, HostGoal
from hostler.domain.model.machine import RETIRE_ASKED, Machine
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.lab.scenes.metal import MetalScene
from hostler.ports.store import Fence
from hostler.requests.recording import refusals
from hostler.testing.fakes.metal import FakeMetal, metal
from hostler.testing.scenes.builders import ABROAD, FLEET, MIN, S

pytestmark = pytest.mark.looptime

K = RequestKind
EAGER = Caps(share=1.0, per_hour=1000, per_reclaim=1000)
FIRST, SECOND, NOBODY = machine_id(501), machine_id(502), machine_id(999)
MAKERS = (K.GROW, K.POOL_ADOPT)
ENDS = (K.DELETE, K.RETIRE)
STAYS = {K.SCALE, K.PAUSE, K.PROTECT, K.STANDBY, K.HOLD}
"""What still stands on its subject long after it was asked for, and can be replaced then."""
OPPOSED = {(K.RESUME, K.PAUSE), (K.UNPROTECT, K.PROTECT), (K.LIFT, K.HOLD)}
"""Both are carried out, and the later one undoes what the earlier one came to."""
APART = 10 * MIN
LONG = 60 * MIN
LEFT = FleetName("old")
"""A fleet that left the file, and has nothing."""


class PooledMetal(FakeMetal):
    """A rack whose boxes can be put into a pool."""

    def pool_of(self, fleet: FleetName) -> str:
        """Return how names in the pool begin."""
        del fleet
        return "pool-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two requests about one subject, and how far they are apart."""

    subject: Subject
    earlier: RequestKind
    later: RequestKind
    apart: timedelta

    def __str__(self) -> str:
        return f"{self.subject}-{self.earlier}-{self.later}-{'apart' if self.apart else 'at-once'}"

    @property
    def is_of_machine(self) -> bool:
        """Whether they are about a machine that is asked for by its id: no size undoes them."""
        return self.subject is Subject.MACHINE and self.earlier is not K.POOL_ADOPT

    @property
    def rule(self) -> Precedence:
        """What the table says of them."""
        return TABLES[self.subject].of(self.earlier, self.later)

    @property
    def fleet(self) -> Fleet:
        """A fleet of which both can be asked, as far as there is one."""
        kinds = {self.earlier, self.later}
        grows = self.is_of_machine or (K.GROW in kinds and K.SCALE not in kinds)
        removed = self.subject is Subject.FLEET and K.DELETE in kinds
        return replace(FLEET, caps=EAGER, renews=not grows, removed=removed)

    def is_unmet(self, kind: RequestKind) -> bool:
        """Tell whether the fleet cannot do that, whatever else is asked of it."""
        if self.subject is not Subject.FLEET:
            return False
        unmet = {K.ADOPT, K.ADOPT_FLEET} if self.fleet.removed else {K.ADOPT}
        return kind in unmet or (kind is K.GROW and self.fleet.renews)

    @property
    def refused(self) -> list[bool]:
        """Whether the earlier and the later one are to be refused."""
        earlier = self.is_unmet(self.earlier)
        over = self.subject is Subject.MACHINE and self.earlier in ENDS and bool(self.apart)
        over = over or {self.earlier, self.later} == {K.ADOPT_FLEET}
        barred = not earlier and self.rule is Precedence.REFUSED
        return [earlier, self.is_unmet(self.later) or over or barred]

    @property
    def replaces(self) -> bool:
        """Whether the later one is to be carried out instead of the earlier one."""
        return self.rule is Precedence.REPLACED and not any(self.refused)


PAIRS = [
    Pair(subject=subject, earlier=earlier, later=later, apart=apart)
    for subject, table in TABLES.items()
    for earlier in table.rows
    for later in table.later
    for apart in (timedelta(0), APART)
]


@dataclass(slots=True)
class Meeting(MetalScene):
    """A rack on which two requests meet: what they are about, and what became of it."""

    machine: MachineId = FIRST
    free: HostId = HostId("box-2")
    row: FleetRow | None = None
    record: Machine | None = None
    stored: Host | None = None
    history: list[Event] = field(default_factory=list[Event])

    def __post_init__(self) -> None:
        MetalScene.__post_init__(self)
        self.beside = (replace(FLEET, name=LEFT, removed=True),)
        self.metal = PooledMetal(self.rack, metal(power=PowerLimits(least_on=LONG)))

    async def prepare(self, pair: Pair) -> None:
        """Bring the subject to where the earlier request means something."""
        if pair.earlier is K.GROW or self.fleet.removed:
            return
        if K.CYCLE in {pair.earlier, pair.later}:
            for box in self.rack.boxes():
                self.rack.switch_on(box.id)
        if pair.is_of_machine:
            await self.ask(Subject.FLEET, K.GROW, FIRST)
        elif not self.fleet.renews:
            return
        await self.until([Phase.READY], 5 * MIN)
        (machine,) = await self.machines()
        self.free = HostId({"box-1": "box-2", "box-2": "box-1"}[str(machine.host)])
        if pair.is_of_machine and pair.earlier is K.WAKE:
            await self.request(K.STANDBY, machine=FIRST)
            await self.until([Phase.STANDBY], 5 * MIN)
        if pair.is_of_machine and pair.earlier is K.UNPROTECT:
            await self.request(K.PROTECT, machine=FIRST)
            await self.pass_by(1 * MIN)

    async def ask(self, subject: Subject, kind: RequestKind, made: MachineId) -> Request:
        """Ask this of the subject, as a frontend does; `made` is the id of a new machine."""
        about_host = subject is Subject.HOST or kind is K.POOL_ADOPT
        about_machine = subject is Subject.MACHINE and kind not in MAKERS
        return await self.store.request(
            replace(
                self.blank(kind),
                size=2 if kind is K.SCALE else None,
                machine=self.machine if about_machine else None,
                machines=(made,) if kind in MAKERS else (),
                host=self.free if about_host else None,
                installation=ABROAD if kind is K.ADOPT else None,
                source=LEFT if kind is K.ADOPT_FLEET else None,
                hold=HoldKind.ON if kind is K.HOLD else None,
                until=self.clock.now() + LONG if kind is K.HOLD else None,
            )
        )

    async def read(self, made: MachineId, subject: Subject) -> None:
        """Read what became of the subject."""
        self.row = next(row for row in await self.store.fleets() if row.name == self.fleet.name)
        self.record = await self.store.machine(self.machine if subject is Subject.MACHINE else made)
        self.stored = await self.host(str(self.free))
        self.history = [entry.event for entry in await self.store.events(limit=100_000)]


def _moved(scene: Meeting, reason: Reason) -> bool:
    return any(e.reason == reason and e.machine == scene.machine for e in scene.history)


def _asked(scene: Meeting, request: Request) -> list[Event]:
    return [e for e in scene.history if e.kind == "request" and e.request == request.number]


def _row(scene: Meeting) -> FleetRow:
    assert scene.row is not None
    return scene.row


def _record(scene: Meeting) -> Machine:
    assert scene.record is not None
    return scene.record


def _host(scene: Meeting) -> Host:
    assert scene.stored is not None
    return scene.stored


EFFECTS: dict[tuple[Subject, RequestKind], Callable[[Meeting], bool]] = {
    (Subject.FLEET, K.SCALE): lambda s: _row(s).size == 2,
    (Subject.FLEET, K.GROW): lambda s: s.record is not None,
    (Subject.FLEET, K.PAUSE): lambda s: _row(s).pause is not None,
    (Subject.FLEET, K.RESUME): lambda s: _row(s).pause is None,
    (Subject.FLEET, K.DELETE): lambda s: _row(s).ends,
    (Subject.FLEET, K.ADOPT_FLEET): lambda s: _row(s).former == (LEFT,),
    (Subject.MACHINE, K.GROW): lambda s: s.record is not None,
    (Subject.MACHINE, K.POOL_ADOPT): lambda s: s.record is not None,
    (Subject.MACHINE, K.DELETE): lambda s: s.record is None or s.record.deletion is not None,
    (Subject.MACHINE, K.RETIRE): lambda s: _record(s).fact(RETIRE_ASKED) is not None,
    (Subject.MACHINE, K.STANDBY): lambda s: (
        _moved(s, Reason.TO_STANDBY) or _record(s).goal is Goal.STANDBY
    ),
    (Subject.MACHINE, K.WAKE): lambda s: (
        _moved(s, Reason.WOKEN) or _record(s).goal is not Goal.STANDBY
    ),
    (Subject.MACHINE, K.PROTECT): lambda s: _record(s).protection is not None,
    (Subject.MACHINE, K.UNPROTECT): lambda s: _record(s).protection is None,
    (Subject.HOST, K.POOL_ADD): lambda s: any(
        e.host == s.free and "put in by ann" in e.detail for e in s.history
    ),
    (Subject.HOST, K.POOL_ADOPT): lambda s: s.record is not None,
    (Subject.HOST, K.RETIRE): lambda s: _host(s).goal is HostGoal.RETIRED,
    (Subject.HOST, K.HOLD): lambda s: _host(s).hold is not None,
    (Subject.HOST, K.LIFT): lambda s: _host(s).hold is None,
    (Subject.HOST, K.CYCLE): lambda s: _host(s).power.starts > 0,
}
"""What a request comes to where it is carried out, and none undoes it."""


@pytest.mark.parametrize("pair", PAIRS, ids=str)
async def test_each_of_two_requests_has_its_effect_or_its_refusal(pair: Pair) -> None:
    scene = Meeting(pair.fleet)
    made = {pair.earlier: FIRST, pair.later: SECOND} if pair.earlier != pair.later else {}
    async with scene.running():
        await scene.prepare(pair)
        requests = [await scene.ask(pair.subject, pair.earlier, FIRST)]
        await scene.pass_by(pair.apart)
        requests.append(await scene.ask(pair.subject, pair.later, SECOND))
        await scene.pass_by(APART)
    assert await scene.store.requests() == ()
    found = await refusals(scene.store, 0, {request.number for request in requests})
    assert [request.number in found for request in requests] == pair.refused, found
    for request, refused in zip(requests, pair.refused, strict=True):
        await scene.read(made.get(request.kind, FIRST), pair.subject)
        (asked,) = _asked(scene, request)
        assert (asked.machine, asked.host) == (request.machine, request.host)
        undone = request is requests[0] and (
            pair.rule is Precedence.REPLACED or (pair.earlier, pair.later) in OPPOSED
        )
        if not refused and not undone:
            assert EFFECTS[pair.subject, request.kind](scene), request
    if pair.replaces and (not pair.apart or pair.earlier in STAYS):
        (asked,) = _asked(scene, requests[1])
        assert "(instead of " in asked.detail


def test_every_kind_of_request_is_in_a_table() -> None:
    later = {kind for table in TABLES.values() for kind in table.later}
    earlier = {kind for table in TABLES.values() for kind in table.rows}
    assert later | earlier == set(K) - REQUESTERS
    for table in TABLES.values():
        assert {len(row) for row in table.rows.values()} == {len(table.later)}
        assert set(table.later) <= set(table.rows)


@pytest.mark.parametrize("kind", TABLES[Subject.MACHINE].later)
async def test_what_is_asked_of_a_machine_that_is_not_there_is_refused(kind: RequestKind) -> None:
    scene = Meeting(FLEET, machine=NOBODY)
    async with scene.running():
        request = await scene.ask(Subject.MACHINE, kind, FIRST)
        await scene.pass_by(1 * MIN)
    found = await refusals(scene.store, 0, {request.number})
    assert found == {request.number: f"fleet web has no machine {NOBODY} (any more)"}


@pytest.mark.parametrize("kind", TABLES[Subject.HOST].later)
async def test_what_is_asked_of_a_host_that_is_not_there_is_refused(kind: RequestKind) -> None:
    scene = Meeting(FLEET, free=HostId("box-9"))
    async with scene.running():
        request = await scene.ask(Subject.HOST, kind, FIRST)
        await scene.pass_by(5 * MIN)
    found = await refusals(scene.store, 0, {request.number})
    assert found == {request.number: "complete observations do not show it"}


async def test_what_is_asked_of_a_fleet_that_no_engine_has_stays_recorded() -> None:
    """The command line says so, with an exit code of its own; the fleet may come."""
    scene = Meeting(FLEET)
    async with scene.running():
        await scene.store.request(
            Request(number=0, kind=K.PAUSE, fleet=FleetName("ci"), at=scene.clock.now(), actor="a")
        )
        await scene.pass_by(5 * MIN)
    assert [request.fleet for request in await scene.store.requests()] == ["ci"]


async def test_machines_beyond_the_room_of_their_fleet_are_refused_by_their_ids() -> None:
    scene = Meeting(replace(FLEET, renews=False, maximum=1))
    async with scene.running():
        request = await scene.ask(Subject.FLEET, K.GROW, FIRST)
        more = await scene.store.request(replace(request, machines=(SECOND, NOBODY)))
        await scene.pass_by(1 * MIN)
    found = await refusals(scene.store, 0, {request.number, more.number})
    assert found == {more.number: "the fleet has at most 1 machines"}
    refused = await scene.events("request_refused")
    assert [entry.event.machine for entry in refused] == [SECOND, NOBODY]


async def test_standby_is_not_overtaken_by_the_waking_that_was_asked_for_after_it() -> None:
    """Both wait for a machine that is still coming, and are carried out in their order."""
    scene = Meeting(replace(FLEET, renews=False))
    async with scene.running():
        await scene.ask(Subject.FLEET, K.GROW, FIRST)
        await scene.ask(Subject.MACHINE, K.STANDBY, FIRST)
        await scene.ask(Subject.MACHINE, K.WAKE, FIRST)
        await scene.until([Phase.READY], 5 * MIN)
        await scene.pass_by(1 * MIN)
        assert await scene.phases() == [Phase.READY]
    kinds = [e.event.reason for e in await scene.events("request")]
    assert kinds == ["grow by ann", "standby by ann", "wake by ann"]


async def test_a_request_is_noticed_though_it_could_not_be_read_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing else need be written before it is: stores count what others commit, and no more."""
    scene, asked = Meeting(FLEET), list[Request]()
    async with scene.running():
        await scene.until([Phase.READY], 5 * MIN)
        refusing, read = [True, True], scene.store.requests

        async def requests() -> tuple[Request, ...]:
            if refusing:
                refusing.pop()
                raise StoreBusy("the disk is slow")
            return await read()

        async def revision() -> int:
            return len(asked)

        monkeypatch.setattr(scene.store, "requests", requests)
        monkeypatch.setattr(scene.store, "revision", revision)
        await scene.pass_by(10 * S)
        asked.append(await scene.ask(Subject.FLEET, K.PAUSE, FIRST))
        await scene.pass_by(1 * MIN)
        await scene.read(FIRST, Subject.FLEET)
        assert (_row(scene).pause is not None, refusing) == (True, [])


@pytest.mark.parametrize("times", [1, 3])
async def test_a_request_is_answered_once_though_it_could_not_be_taken_out(
    monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """Power seed 76001580: a process stood still after its save, and others had its lease."""
    scene = Meeting(replace(FLEET, caps=EAGER))
    refusing, take, taken = [True] * times, scene.store.take_requests, list[int]()

    async def take_requests(numbers: tuple[int, ...], fence: Fence) -> None:
        if refusing:
            refusing.pop()
            raise Fenced("another engine has the lease")
        await take(numbers, fence)
        taken.extend(numbers)

    monkeypatch.setattr(scene.store, "take_requests", take_requests)
    async with scene.running():
        first = await scene.ask(Subject.FLEET, K.SCALE, FIRST)
        await scene.until([Phase.READY, Phase.READY], 10 * MIN)
        await scene.store.request(replace(first, number=0, size=1))
        await scene.pass_by(20 * MIN)
        assert (await scene.store.requests(), refusing) == ((), [])
        await scene.read(FIRST, Subject.FLEET)
        assert _row(scene).size == 1, "what was asked for later stands"
        assert len(_asked(scene, first)) == 1
    assert taken == sorted(set(taken)), "what was taken out is not written about again"
