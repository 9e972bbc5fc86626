"""What a person asked for stands on record, and what an engine decides has its reason."""

from collections import Counter
from datetime import timedelta

from msgspec.structs import replace

from hostler.domain.model.commands import Advance, Decision, SaveFleet, Verdict
from hostler.domain.model.fleet import FleetRow, Setback
from hostler.domain.model.machine import Deletion, Machine, Protection
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.lab.checks.carried_out import ANSWERED, CarriedOut
from hostler.lab.checks.choices import Choices
from hostler.lab.checks.shadow_store import ShadowStore, shadow_for
from hostler.testing.scenes.builders import BEGIN, FLEET, HOME, machine
from hostler.testing.time.clock import BEGINNING

HOUR = timedelta(hours=1)
WEB = replace(FLEET, size=2)
ROW = FleetRow(name=WEB.name, created=BEGIN)


def shadow(*machines: Machine) -> ShadowStore:
    made = shadow_for(HOME, [WEB], 10.0)
    made.rows[WEB.name] = ROW
    made.machines = {one.id: one for one in machines}
    return made


def asked(kind: RequestKind, number: int = 1, **fields: object) -> Request:
    about = {"fleet": WEB.name, "at": BEGIN, "actor": "me", "why": "work", **fields}
    return Request(number=number, kind=kind, **about)  # pyright: ignore[reportArgumentType]


def test_a_protection_stands_as_long_as_it_was_asked_for():
    one, until = machine(1, phase=Phase.READY), BEGIN + HOUR
    request = asked(RequestKind.PROTECT, machine=one.id, until=until)
    for end, wrong in ((until, False), (BEGIN, True)):
        judge = CarriedOut(Counter())
        judge.asked(request)
        saved = replace(one, protection=Protection(until=end, why="work", actor="me"))
        assert bool(judge.taken((1,), shadow(saved))) is wrong


def test_of_two_requests_the_later_one_counts():
    judge, one = CarriedOut(Counter()), machine(1, phase=Phase.READY)
    judge.asked(asked(RequestKind.PROTECT, machine=one.id, until=BEGIN + HOUR))
    judge.asked(asked(RequestKind.UNPROTECT, 2, machine=one.id))
    assert judge.taken((1, 2), shadow(one)) == ()


def test_what_is_there_is_not_refused_and_nothing_waits_for_long():
    judge = CarriedOut(Counter())
    judge.asked(asked(RequestKind.SCALE, size=3))
    assert judge.passed(ANSWERED) == ()
    assert judge.passed(1.0)
    assert judge.refused(1, shadow())
    assert CarriedOut(Counter(store_restored=1), judge.waiting).refused(1, shadow()) == ()


def decision(*machines: Machine, rows: tuple[SaveFleet, ...] = ()) -> Decision:
    advances = (
        Advance(machine=m, changed=True, events=(), verdict=Verdict(machine=m.id, reason=""))
        for m in machines
    )
    return Decision(commands=(*rows, *advances))


def ending(one: Machine) -> Machine:
    deletion = Deletion(at=BEGIN, actor="hostler", why=str(Reason.SCALED_DOWN))
    return replace(one, deletion=deletion, phase=Phase.DRAINING)


def found(victim: Machine, *others: Machine) -> str:
    """Return what is said of a machine that ends as too many while the others stay."""
    judge, held = Choices(Counter(), {}), shadow(victim, *others)
    judge.decided(held, WEB, decision(ending(victim)), 0.0)
    return " ".join(one.text for one in judge.saved(held, victim, ending(victim), 0.0))


def test_who_ends_as_too_many_leaves_enough_and_is_worth_the_least():
    old, older, young = (machine(n, phase=Phase.READY) for n in (1, 2, 3))
    young = replace(young, created=BEGIN + HOUR)
    assert found(young, old, older) == ""
    assert "leaves 1 of 2" in found(young, old)
    assert "younger" in found(old, older, young)
    assert "starting" in found(old, older, replace(young, phase=Phase.STARTING))


def test_a_bound_is_not_over_before_its_time():
    one = machine(1, phase=Phase.STARTING)
    late = replace(one, phase=Phase.FAILED, reason=str(Reason.START_OVERDUE))
    for passed, wrong in ((600.0, False), (300.0, True)):
        judge, held = Choices(Counter(), {}), shadow(one)
        judge.saved(held, None, one, 0.0)
        assert bool(judge.saved(held, one, late, passed)) is wrong


def test_an_offer_is_not_left_alone_for_longer_than_its_failures_make_due():
    one = machine(1, phase=Phase.STARTING)
    failed = replace(one, phase=Phase.FAILED)
    for pause, wrong in ((30, False), (120, True)):
        until = BEGINNING + timedelta(seconds=pause)
        changed = ROW.with_setback(Setback(offer=one.offer, why="refused", until=until))
        made = decision(failed, rows=(SaveFleet(row=changed),))
        assert bool(Choices(Counter(), {}).decided(shadow(one), WEB, made, 0.0)) is wrong
