"""Which machine takes which host: what is free, what is chosen first, and what is let go again."""

from dataclasses import replace
from datetime import timedelta

import pytest

from hostler.domain.hosts.claims import (
    CLEAN,
    assign,
    clean_name,
    doubted,
    free_hosts,
    is_clean,
    lets_go,
    none_free,
)
from hostler.domain.hosts.claims import offers as open_offers
from hostler.domain.ids import HostId, MachineId, machine_id
from hostler.domain.model.calls import Shows
from hostler.domain.model.host import Free, Host, HostCondition, tenancy
from hostler.domain.model.machine import Ending, Fate, Known, Machine, Offer, Place
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import Part
from hostler.domain.model.transition import Step
from hostler.testing.fakes.planner import SERVER
from hostler.testing.scenes.builders import BEGIN, FLEET, OFFER, ZONE
from hostler.testing.scenes.hosts import (
    BOX,
    MAIN,
    MINE,
    SETTLE,
    box,
    call,
    fleet_seen,
    on_host,
    record,
    tenant,
    view,
)

SECOND = timedelta(seconds=1)
LATER = BEGIN + timedelta(minutes=10)
OTHER = HostId("host-2")
FREE = record(condition=HostCondition.FREE, wiped=BEGIN, name=box().name)


def fits_pool(offer: Offer, part: Part) -> str:
    """Fit what is in the pool."""
    del offer
    return "" if part.note("stage") in {"pool", "parked"} else "it is not in the pool"


def free(
    *parts: Part, hosts: tuple[Host, ...] = (), tied: tuple[HostId, ...] = ()
) -> list[tuple[str, bool]]:
    known = {host.id: host for host in hosts}
    found = free_hosts(FLEET, view(parts), "host", known, tied, fits_pool, BEGIN)
    return [(one.id, one.clean) for one in found]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (None, [(BOX, False)]),
        (record(), [(BOX, False)]),
        (FREE, [(BOX, True)]),
        (replace(FREE, wiped=None), [(BOX, False)]),
        (record(condition=HostCondition.HELD), []),
        (record(condition=HostCondition.WIPING), []),
        (record(condition=HostCondition.RETIRING), []),
        (record(condition=HostCondition.QUARANTINED), []),
        (record(condition=HostCondition.GONE), []),
        (replace(FREE, quarantined_until=LATER), []),
        (replace(FREE, quarantined_until=BEGIN), [(BOX, True)]),
        (replace(FREE, asked=(call("mac.mark.wiping"),)), []),
        (replace(FREE, asked=(call("mac.free", Fate.DONE),)), [(BOX, True)]),
        (replace(FREE, asked=(call("mac.free", Fate.LAPSED),)), [(BOX, True)]),
    ],
)
def test_a_host_is_free_by_its_record_and_clean_only_by_proof(
    host: Host | None, expected: list[tuple[str, bool]]
) -> None:
    """While it is unsure whether a call of ours may still land, a host is nobody's to take."""
    assert free(box(), hosts=(host,) if host else ()) == expected


@pytest.mark.parametrize(("stage", "taken"), [("pool", True), ("parked", False)])
def test_without_a_record_only_a_name_of_the_pool_lets_a_host_be_taken(
    stage: str, *, taken: bool
) -> None:
    """A person may have copied a name of ours onto a host of theirs: it is told, and not wiped."""
    assert bool(free(box(stage))) is taken
    assert free(box(stage), hosts=(record(),)) == [(BOX, False)]


def test_what_is_tied_or_does_not_fit_is_not_free() -> None:
    assert free(box(), tied=(BOX,)) == []
    assert free(box("claimed"), box("other", host=OTHER)) == []
    assert free(tenant()) == []


def test_clean_hosts_come_first_then_those_with_few_strikes_then_our_own() -> None:
    names = [HostId(f"host-{number}") for number in range(1, 6)]
    parts = [box(host=host) for host in names[:4]] + [box("parked", host=names[4])]
    hosts = (
        replace(record(strikes=2), id=names[0]),
        replace(record(strikes=1), id=names[1]),
        replace(FREE, id=names[2], strikes=1, name=parts[2].name),
        replace(FREE, id=names[3], name=parts[3].name),
        replace(FREE, id=names[4], name=parts[4].name),
    )
    order = [one for one, _ in free(*parts, hosts=hosts)]
    assert order == [names[4], names[3], names[2], names[1], names[0]]


@pytest.mark.parametrize(
    ("kept", "shown", "clean"),
    [("a", "a", True), ("a", "b", False), ("", "b", True), ("a", "", True), ("", "", True)],
)
def test_another_password_voids_the_proof(kept: str, shown: str, clean: bool) -> None:
    """Somebody wiped it, and may have used it since; what is sealed says nothing."""
    assert is_clean(replace(FREE, witness=kept), box(witness=shown)) is clean


def test_another_name_in_the_pool_voids_the_proof() -> None:
    """Somebody had it in hand since we put it there."""
    assert not is_clean(FREE, box(host=OTHER))


def waiting(number: int = 1, phase: Phase = Phase.WANTED, **fields: object) -> Machine:
    name = machine_id(number)
    return on_host(phase, name, host=None, places=(), was_ready=None, **fields)


def given(
    *machines: Machine, hosts: tuple[Free, ...] = (), ties: dict[MachineId, HostId] | None = None
) -> tuple[list[Machine], list[tuple[HostId, MachineId]]]:
    steps = tuple(Step(before=m, machine=m, parts=()) for m in machines)
    found = assign(steps, MAIN, fleet_seen(machines, free=hosts, ties=ties))
    takes = [(take.host.id, take.machine) for take in found.takes]
    return [step.machine for step in found.steps], takes


def choice(host: HostId = BOX, *, clean: bool = False, known: Host | None = None) -> Free:
    return Free(part=box(host=host), offer=OFFER, record=known, clean=clean)


def test_a_machine_takes_a_host_and_its_record_is_dirty_from_then_on() -> None:
    (machine,), takes = given(waiting(), hosts=(choice(known=FREE, clean=True),))
    assert takes == [(BOX, machine.id)]
    assert (machine.phase, machine.host) == (Phase.STARTING, BOX)
    assert machine.fact(CLEAN) is not None
    seen = fleet_seen((waiting(),), free=(choice(known=FREE, clean=True),))
    steps = (Step(before=waiting(), machine=waiting(), parts=()),)
    (take,) = assign(steps, MAIN, seen).takes
    assert (take.host.condition, take.host.wiped) == (HostCondition.HELD, None)


def test_a_clean_host_is_so_under_the_name_that_it_bore_and_under_no_other() -> None:
    """Renamed within the pool before its claim, it may have been used: it is wiped first."""
    (machine,), _ = given(waiting(), hosts=(choice(known=FREE, clean=True),))
    assert clean_name(machine) == box().name
    step = Step(before=machine, machine=machine, parts=())
    for shown in ((box(),), ()):
        assert doubted(step, fleet_seen((machine,), shown)).machine is machine
    renamed = replace(box(), name="pool-another")
    after = doubted(step, fleet_seen((machine,), (renamed,)))
    assert after.machine.fact(CLEAN) is None
    assert clean_name(after.machine) == ""
    assert after.machine.host == BOX
    assert after.events[0].reason == Reason.HOST_USED


def test_a_host_whose_disk_is_kept_is_clean_under_any_name() -> None:
    machine = starting(MARK).with_fact(CLEAN, BEGIN)
    step = Step(before=machine, machine=machine, parts=())
    renamed = replace(box(), name="pool-another")
    assert clean_name(machine) == ""
    assert doubted(step, fleet_seen((machine,), (renamed,))).machine is machine


def test_a_host_that_was_not_proved_clean_is_wiped_for_its_machine() -> None:
    (machine,), _ = given(waiting(), hosts=(choice(),))
    assert machine.fact(CLEAN) is None


def test_no_host_is_given_to_two_machines() -> None:
    machines, takes = given(waiting(1), waiting(2), waiting(3), hosts=(choice(), choice(OTHER)))
    assert {host for host, _ in takes} == {BOX, OTHER}
    assert len({machine for _, machine in takes}) == len(takes) == 2
    assert [m.host for m in machines].count(None) == 1


def test_a_tie_from_before_a_crash_is_gone_on_with() -> None:
    """The tie was made, and the machine's record was not saved: the same host is its own."""
    mine = waiting()
    (machine,), takes = given(mine, hosts=(choice(OTHER),), ties={mine.id: BOX})
    assert (machine.host, takes) == (BOX, [])
    assert machine.fact(CLEAN) is None, "anybody may have used it since: it is wiped"


def test_a_machine_that_ends_or_has_a_host_takes_none() -> None:
    ending = Ending(at=BEGIN, actor="me", why="enough")
    for machine in (
        waiting(ending=ending),
        waiting(phase=Phase.STOPPING),
        on_host(Phase.READY),
    ):
        _, takes = given(machine, hosts=(choice(OTHER),), ties={machine.id: BOX})
        assert takes == []


def test_among_equals_each_machine_looks_elsewhere_first() -> None:
    """So two installations that share a pool seldom reach for the same host."""
    hosts = tuple(choice(HostId(f"host-{number}")) for number in range(8))
    chosen = {given(waiting(number), hosts=hosts)[1][0][0] for number in range(1, 30)}
    assert len(chosen) > 4
    again = given(waiting(1), hosts=hosts)[1]
    assert again == given(waiting(1), hosts=tuple(reversed(hosts)))[1], "and always the same way"


def test_machines_are_begun_only_for_hosts_that_no_other_waits_for() -> None:
    seen = fleet_seen((), free=(choice(), choice(OTHER)))
    steps = (Step(before=waiting(), machine=waiting(), parts=()),)
    assert open_offers(5, (), seen) == (OFFER, OFFER)
    assert open_offers(5, steps, seen) == (OFFER,)
    assert open_offers(0, (), seen) == ()


def starting(*asked: object, **fields: object) -> Machine:
    return replace(on_host(Phase.STARTING, was_ready=None, places=(), asked=asked), **fields)


MARK = call("mac.mark.pending", Fate.DONE, aim="pending", shows=Shows.MARK)
LOST = replace(MARK, fate=Fate.LAPSED)


@pytest.mark.parametrize(
    ("machine", "shown", "kept"),
    [
        (starting(MARK), box("other"), False),
        (starting(MARK), box("foreign"), False),
        (starting(MARK), box("claimed", holder=machine_id(9)), False),
        (starting(MARK), box("pending", holder=MINE), True),
        (starting(LOST), box("pool"), True),
        (starting(), box("pool"), True),
        (starting(), box("parked"), True),
        (starting(), box("other"), False),
        (starting(replace(MARK, fate=Fate.OPEN)), box("other"), True),
        (starting(MARK, host=None), box("other"), True),
        (replace(starting(MARK), phase=Phase.READY), box("other"), True),
        (replace(starting(MARK), was_ready=BEGIN), box("other"), True),
    ],
)
def test_a_host_that_became_somebody_elses_before_its_claim_is_let_go(
    machine: Machine, shown: Part, kept: bool
) -> None:
    """Not while a call may still land, nor after the machine was ready: then its tie holds it."""
    seen = fleet_seen((machine,), (shown,), now=LATER)
    step = lets_go(Step(before=machine, machine=machine, parts=()), seen)
    assert (step.machine is machine) is kept
    if not kept:
        assert (step.machine.host, step.machine.asked) == (None, ())
        assert step.machine.fact(CLEAN) is None
        assert step.events[0].reason == Reason.HOST_LOST


def test_a_host_that_another_name_shows_is_let_go_when_our_own_can_come_no_more() -> None:
    """Until then our rename may land over that name, and the host would be nobody's work."""
    machine = starting(replace(MARK, fate=Fate.DONE))
    for late, kept in ((timedelta(0), True), (SECOND, False)):
        seen = fleet_seen((machine,), (box("other"),), now=BEGIN + SETTLE + late)
        step = lets_go(Step(before=machine, machine=machine, parts=()), seen)
        assert (step.machine is machine) is kept


def test_a_host_that_no_look_shows_is_let_go_after_settle() -> None:
    machine = starting(MARK)
    step = Step(before=machine, machine=machine, parts=())
    assert lets_go(step, fleet_seen((machine,), now=BEGIN + SETTLE)).machine.host == BOX
    assert lets_go(step, fleet_seen((machine,), now=BEGIN + SETTLE + SECOND)).machine.host is None


@pytest.mark.parametrize("proved", [False, True])
def test_a_host_that_looks_showed_once_is_let_go_when_it_is_proved_gone(*, proved: bool) -> None:
    """A list that lacks it for once would strand it: claimed, wiped, and nobody's work."""
    known = Known(id=tenancy(BOX, MINE), zone=ZONE, since=BEGIN, absent=BEGIN, gone=proved)
    machine = starting(MARK, places=(Place(slot=SERVER, bound=known.id, known=(known,)),))
    step = Step(before=machine, machine=machine, parts=())
    seen = fleet_seen((machine,), now=BEGIN + 2 * SETTLE)
    assert (lets_go(step, seen).machine.host is None) is proved


def test_it_is_said_why_no_host_can_be_taken() -> None:
    held = record(condition=HostCondition.HELD)
    seen = fleet_seen((), (box("claimed"), box("foreign", host=OTHER)), hosts=(held,))
    assert none_free(seen) == (
        f"no_available_host: no host fits {OFFER} (hosts: 1 foreign, 1 held)"
    )
    assert "none at all" in none_free(fleet_seen(()))


@pytest.mark.parametrize(
    ("stage", "word"),
    [("other", "outside the pool"), ("unnamed", "without a name"), ("pool", "dirty")],
)
def test_a_host_that_somebody_took_out_of_the_pool_is_not_said_to_be_dirty(
    stage: str, word: str
) -> None:
    dirty = record(condition=HostCondition.DIRTY)
    seen = fleet_seen((), (box(stage),), hosts=(dirty,))
    assert none_free(seen).endswith(f"(hosts: 1 {word})")
    if stage == "pool":
        assert none_free(fleet_seen((), (box(stage),))).endswith("(hosts: 1 in the pool)")


def test_a_machine_that_just_let_go_of_its_host_takes_another_in_a_later_turn() -> None:
    """Its tie is loosened first: the store lets it have one host."""
    bare = on_host(Phase.STARTING, host=None, places=(), was_ready=None)
    free_box = (Free(part=box(), offer=OFFER),)

    def takes(before: Machine) -> int:
        step = Step(before=before, machine=bare, parts=())
        return len(assign((step,), MAIN, fleet_seen((before,), free=free_box)).takes)

    assert (takes(on_host(Phase.STARTING, was_ready=None)), takes(bare)) == (0, 1)
