"""Which machine takes which host: what is free, what is chosen first, and what is let go again."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.decide import decide
from hostler.domain.hosts.claims import (
    ADOPTED,
    CLEAN,
    assign,
    clean_name,
    doubted,
    given_back,
    lets_go,
)
from hostler.domain.hosts.claims import offers as open_offers
from hostler.domain.hosts.free import Fits, free_hosts, is_clean, none_free
from hostler.domain.ids import HostId, MachineId, machine_id
from hostler.domain.model.calls import Shows
from hostler.domain.model.capabilities import (
    Cleaning,
    HostCapabilities,
    Ownership,
    PowerLimits,
)
from hostler.domain.model.commands import Unbind
from hostler.domain.model.host import (
    Free,
    Host,
    HostCondition,
    HostGoal,
    HostPower,
    allocation_of,
)
from hostler.domain.model.machine import (
    LEFT,
    CallState,
    Deletion,
    Fact,
    Known,
    Machine,
    Offer,
    Place,
)
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import Condition, Resource, Stage
from hostler.domain.model.snapshot import Request, RequestKind, Snapshot
from hostler.domain.model.transition import Transition
from hostler.domain.policy.host_keys import HostKey
from hostler.testing.fakes.metal import metal
from hostler.testing.fakes.planner import SERVER, FakePlanner
from hostler.testing.scenes.builders import BEGIN, FLEET, OFFER, ZONE
from hostler.testing.scenes.fields import with_fields
from hostler.testing.scenes.hosts import (
    BOX,
    CAPABILITIES,
    CONSISTENCY_DELAY,
    HIS,
    MAIN,
    MINE,
    account_snapshot,
    box,
    call,
    fleet_snapshot,
    on_host,
    record,
    tenant,
)

SECOND = timedelta(seconds=1)
LATER = BEGIN + timedelta(minutes=10)
OTHER = HostId("host-2")
FREE = record(condition=HostCondition.FREE, wiped=BEGIN, name=box().name)


def fits_pool(offer: Offer, resource: Resource) -> str:
    """Fit what is in the pool."""
    del offer
    return "" if resource.host.stage in {Stage.POOL, Stage.PARKED} else "it is not in the pool"


def _fits_all(offer: Offer, resource: Resource) -> str:
    """Fit whatever it is."""
    del offer, resource
    return ""


def free(
    *resources: Resource,
    hosts: tuple[Host, ...] = (),
    tied: tuple[HostId, ...] = (),
    fits: Fits = fits_pool,
) -> list[tuple[str, bool]]:
    bindings = dict.fromkeys(tied, HIS)
    found = free_hosts(account_snapshot(resources, hosts, bindings=bindings), FLEET, fits)
    return [(one.id, one.clean) for one in found]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (None, [(BOX, False)]),
        (record(), [(BOX, False)]),
        (FREE, [(BOX, True)]),
        (FREE.with_cleaning(wiped=None), [(BOX, False)]),
        (record(condition=HostCondition.ALLOCATED), []),
        (record(condition=HostCondition.WIPING), []),
        (record(condition=HostCondition.RETIRING), []),
        (record(condition=HostCondition.QUARANTINED), []),
        (record(condition=HostCondition.ABSENT), []),
        (FREE.with_health(quarantined_until=LATER), []),
        (FREE.with_health(quarantined_until=BEGIN), [(BOX, True)]),
        (replace(FREE, asked=(call("mac.rename.wiping"),)), []),
        (replace(FREE, asked=(call("mac.free", CallState.DONE),)), [(BOX, True)]),
        (replace(FREE, asked=(call("mac.free", CallState.LAPSED),)), [(BOX, True)]),
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


@pytest.mark.parametrize("stage", ["pool", "parked", "ordered"])
def test_a_dirty_host_that_is_to_be_clean_is_not_free(stage: str) -> None:
    """It is wiped at once: a machine that was made for it lost it to that wipe (seed 5030156).

    So it is after a wipe that was refused (seed 5041196).
    """
    assert free(box(stage), hosts=(record(goal=HostGoal.CLEAN),), fits=_fits_all) == []
    wanted = [] if stage != "pool" else [(BOX, False)]
    assert free(box(stage), hosts=(record(),), fits=_fits_all) == wanted


@pytest.mark.parametrize(
    ("call_state", "seen_after", "is_free"),
    [
        (CallState.DONE, 0, False),
        (CallState.DONE, 60, False),
        (CallState.DONE, 61, True),
        (CallState.LAPSED, 0, True),
        (CallState.REFUSED, 0, True),
    ],
)
def test_a_host_is_not_free_while_a_name_of_ours_may_still_come(
    call_state: CallState, seen_after: int, *, is_free: bool
) -> None:
    """Seed 5031151: the name of a wipe came late, when a machine had the host."""
    renamed = call("mac.rename.wiping", call_state, BEGIN, aim=Stage.WIPING)
    host = replace(FREE, asked=(renamed,))
    seen = BEGIN + seen_after * SECOND
    account = account_snapshot((box("parked"),), (host,), observed=seen)
    assert bool(free_hosts(account, FLEET, fits_pool)) is is_free
    landed = replace(host, asked=(replace(renamed, aim=Stage.PARKED),))
    account = account_snapshot((box("parked"),), (landed,), observed=seen)
    assert free_hosts(account, FLEET, fits_pool)


def test_what_is_bound_or_does_not_fit_is_not_free() -> None:
    assert free(box(), tied=(BOX,)) == []
    assert free(box("claimed"), box("other", host=OTHER)) == []
    assert free(tenant()) == []


@pytest.mark.parametrize(
    ("resource", "is_free"),
    [
        (box(host_key="SHA256:ours"), True),
        (box(), True),
        (box(host_key="SHA256:others"), False),
        (box("", Condition.UNKNOWN), False),
        (box("", Condition.OFF), False),
        (box("other", Condition.UNKNOWN), False),
        (box("foreign"), False),
        (box("wiping"), False),
        (box(condition=Condition.FAILED), False),
    ],
)
def test_a_host_that_no_claim_wipes_is_taken_only_free_and_whole(
    resource: Resource, *, is_free: bool
) -> None:
    known = with_fields(FREE, host_key=HostKey(key="SHA256:ours", at=BEGIN))
    tags = HostCapabilities(ownership=Ownership.TAGS, cleaning=Cleaning.COMMAND)
    capabilities = replace(CAPABILITIES, hosts=tags)
    account = account_snapshot((resource,), (known,), capabilities=capabilities)
    found = free_hosts(account, FLEET, _fits_all)
    assert bool(found) is is_free


def test_among_equals_the_first_offer_of_the_fleet_comes_first() -> None:
    """Whatever the ids: what is written first in the file is preferred."""
    first, second = replace(OFFER, type="large"), replace(OFFER, type="small")
    fleet = replace(FLEET, offers=(first, second))
    resources = (box(host=HostId("a"), type="small"), box(host=HostId("z"), type="large"))

    def fits(offer: Offer, resource: Resource) -> str:
        return "" if offer.type == resource.type else "it is of another type"

    known = [replace(FREE.with_ownership(name=one.name), id=HostId(one.id)) for one in resources]
    found = free_hosts(account_snapshot(resources, known), fleet, fits)
    assert [one.id for one in found] == ["z", "a"]
    worse = known[0], known[1].with_health(strikes=1)
    found = free_hosts(account_snapshot(resources, worse), fleet, fits)
    assert [one.id for one in found] == ["a", "z"], "few strikes before many, whatever the offer"


def test_clean_hosts_come_first_then_those_with_few_strikes_then_our_own() -> None:
    names = [HostId(f"host-{number}") for number in range(1, 6)]
    resources = [box(host=host) for host in names[:4]] + [box("parked", host=names[4])]
    hosts = (
        replace(record(strikes=2), id=names[0]),
        replace(record(strikes=1), id=names[1]),
        replace(FREE.with_health(strikes=1).with_ownership(name=resources[2].name), id=names[2]),
        replace(FREE.with_ownership(name=resources[3].name), id=names[3]),
        replace(FREE.with_ownership(name=resources[4].name), id=names[4]),
    )
    order = [one for one, _ in free(*resources, hosts=hosts)]
    assert order == [names[4], names[3], names[2], names[1], names[0]]


@pytest.mark.parametrize(
    ("recorded", "shows", "clean"),
    [("a", "a", True), ("a", "b", False), ("", "b", True), ("a", "", True), ("", "", True)],
)
def test_another_password_voids_the_proof(recorded: str, shows: str, clean: bool) -> None:
    """Somebody wiped it, and may have used it since; what is sealed says nothing."""
    assert is_clean(FREE.with_cleaning(witness=recorded), box(witness=shows), CAPABILITIES) is clean


def test_another_name_in_the_pool_voids_the_proof() -> None:
    """Somebody had it in hand since we put it there."""
    assert not is_clean(FREE, box(host=OTHER), CAPABILITIES)


def waiting(number: int = 1, phase: Phase = Phase.PENDING, **fields: object) -> Machine:
    name = machine_id(number)
    return on_host(phase, name, host=None, places=(), was_ready=None, **fields)


def assigned(
    *machines: Machine,
    hosts: tuple[Free, ...] = (),
    bindings: dict[MachineId, HostId] | None = None,
) -> tuple[list[Machine], list[tuple[HostId, MachineId]]]:
    transitions = tuple(Transition(before=m, machine=m, resources=()) for m in machines)
    snapshot = fleet_snapshot(machines, free=hosts, bindings=bindings)
    after, binds = assign(transitions, MAIN, snapshot)
    return [transition.machine for transition in after], [(b.host.id, b.machine) for b in binds]


def choice(host: HostId = BOX, *, clean: bool = False, known: Host | None = None) -> Free:
    return Free(resource=box(host=host), offer=OFFER, record=known, clean=clean)


def test_a_machine_takes_a_host_and_its_record_is_dirty_from_then_on() -> None:
    (machine,), binds = assigned(waiting(), hosts=(choice(known=FREE, clean=True),))
    assert binds == [(BOX, machine.id)]
    assert (machine.phase, machine.host) == (Phase.STARTING, BOX)
    assert machine.fact(CLEAN) is not None
    snapshot = fleet_snapshot((waiting(),), free=(choice(known=FREE, clean=True),))
    transitions = (Transition(before=waiting(), machine=waiting(), resources=()),)
    _, (take,) = assign(transitions, MAIN, snapshot)
    assert (take.host.condition, take.host.cleaning.wiped) == (HostCondition.ALLOCATED, None)


def test_a_clean_host_is_so_under_the_name_that_it_bore_and_under_no_other() -> None:
    """Renamed within the pool before its claim, it may have been used: it is wiped first."""
    (machine,), _ = assigned(waiting(), hosts=(choice(known=FREE, clean=True),))
    assert clean_name(machine) == box().name
    transition = Transition(before=machine, machine=machine, resources=())
    for shows in ((box(),), ()):
        assert doubted(transition, fleet_snapshot((machine,), shows)).machine is machine
    renamed = replace(box(), name="pool-another")
    after = doubted(transition, fleet_snapshot((machine,), (renamed,)))
    assert after.machine.fact(CLEAN) is None
    assert clean_name(after.machine) == ""
    assert after.machine.host == BOX
    assert after.events[0].reason == Reason.HOST_USED


@pytest.mark.parametrize(
    ("stage", "was_ready", "clean"),
    [
        (Stage.POOL, None, False),
        (Stage.PARKED, None, False),
        (Stage.CLAIMED, None, True),
        (Stage.NONE, None, True),
        (Stage.POOL, BEGIN, True),
    ],
)
def test_a_clean_host_that_somebody_pools_before_its_machine_is_ready_is_wiped_after_all(
    stage: Stage, was_ready: datetime | None, *, clean: bool
) -> None:
    """Whoever made it anybody's may have used it; a machine that was ready has its own disk."""
    (machine,), _ = assigned(waiting(), hosts=(choice(known=FREE, clean=True),))
    machine = replace(machine, places=(Place(slot=SERVER, attempt=1),))
    machine = machine.with_health(was_ready=was_ready)
    renamed = replace(box(), name="by hand", host=replace(box().host, stage=stage))
    transition = Transition(before=machine, machine=machine, resources=())
    after = doubted(transition, fleet_snapshot((machine,), (renamed,))).machine
    assert (after.fact(CLEAN) is not None) == clean


@pytest.mark.parametrize(
    ("state", "later", "clean"),
    [
        (CallState.DONE, CONSISTENCY_DELAY, True),
        (CallState.DONE, CONSISTENCY_DELAY + timedelta(seconds=1), False),
        (CallState.OPEN, 2 * CONSISTENCY_DELAY, True),
        (CallState.REFUSED, 2 * CONSISTENCY_DELAY, True),
    ],
)
def test_so_is_one_that_bears_its_old_name_again_once_the_claim_must_be_seen(
    state: CallState, later: timedelta, *, clean: bool
) -> None:
    (machine,), _ = assigned(waiting(), hosts=(choice(known=FREE, clean=True),))
    claim = call("mark", state, aim=Stage.PENDING)
    machine = replace(machine, places=(Place(slot=SERVER, attempt=1),), asked=(claim,))
    snapshot = fleet_snapshot((machine,), (box(),), now=BEGIN + later)
    transition = Transition(before=machine, machine=machine, resources=())
    assert (doubted(transition, snapshot).machine.fact(CLEAN) is not None) == clean


def test_a_host_whose_disk_is_kept_is_clean_under_any_name() -> None:
    machine = starting(OWNER_TAG).with_fact(CLEAN, BEGIN)
    transition = Transition(before=machine, machine=machine, resources=())
    renamed = replace(box(), name="pool-another")
    assert clean_name(machine) == ""
    assert doubted(transition, fleet_snapshot((machine,), (renamed,))).machine is machine


def test_a_host_that_was_not_proved_clean_is_wiped_for_its_machine() -> None:
    (machine,), _ = assigned(waiting(), hosts=(choice(),))
    assert machine.fact(CLEAN) is None


def test_no_host_is_given_to_two_machines() -> None:
    machines, binds = assigned(waiting(1), waiting(2), waiting(3), hosts=(choice(), choice(OTHER)))
    assert {host for host, _ in binds} == {BOX, OTHER}
    assert len({machine for _, machine in binds}) == len(binds) == 2
    assert [m.host for m in machines].count(None) == 1


def test_a_binding_from_before_a_crash_is_gone_on_with() -> None:
    """The tie was made, and the machine's record was not saved: the same host is its own."""
    mine = waiting()
    (machine,), binds = assigned(mine, hosts=(choice(OTHER),), bindings={mine.id: BOX})
    assert (machine.host, binds) == (BOX, [])
    assert machine.fact(CLEAN) is None, "anybody may have used it since: it is wiped"


@pytest.mark.parametrize(
    ("fields", "known", "gave_back"),
    [
        ({"since": BEGIN + SECOND}, {}, True),
        ({"facts": (Fact(name=f"{LEFT} {BOX}", at=BEGIN + SECOND),)}, {}, True),
        ({"since": BEGIN + SECOND, "phase": Phase.STOPPING}, {}, True),
        ({}, {}, False),
        ({"facts": (Fact(name=f"{LEFT} {OTHER}", at=BEGIN + SECOND),)}, {}, False),
        ({"facts": (Fact(name=f"{LEFT} {BOX}", at=BEGIN - SECOND),)}, {}, False),
        ({"since": BEGIN + SECOND}, {"since": BEGIN + SECOND}, False),
        ({"since": BEGIN + SECOND}, {"condition": HostCondition.FREE}, False),
        ({"since": BEGIN + SECOND}, {"machine": HIS}, False),
        ({"since": BEGIN + SECOND}, {"since": None}, False),
    ],
)
def test_a_machine_takes_no_host_again_that_it_gave_back(
    fields: dict[str, object], known: dict[str, object], *, gave_back: bool
) -> None:
    """Seed 238043231 of Kubernetes: a webhook refused to unbind it, and it was not clean."""
    mine = with_fields(waiting(phase=Phase.STARTING), **fields)
    usual = {"condition": HostCondition.ALLOCATED, "machine": mine.id}
    hosts = (record(**{**usual, **known}),)
    snapshot = fleet_snapshot((mine,), hosts=hosts, bindings={mine.id: BOX}, free=(choice(OTHER),))
    transition = Transition(before=mine, machine=mine, resources=())
    assert (given_back(transition, snapshot) == BOX) is gave_back
    (after,), binds = assign((transition,), MAIN, snapshot)
    starts = mine.phase is Phase.STARTING
    assert (after.machine.host, binds) == (None if gave_back or not starts else BOX, ())
    lacks = open_offers(5, (transition,), snapshot) == ()
    assert lacks is (gave_back and starts), "one that is bound needs no other"
    assert _unbound(snapshot) is gave_back
    moving = replace(snapshot, moving=frozenset({mine.id}))
    assert given_back(transition, moving) is None


def _unbound(snapshot: Snapshot) -> bool:
    """Tell whether a whole decision unbinds the box."""
    made = decide(snapshot, FakePlanner())
    return any(isinstance(one, Unbind) and one.host == BOX for one in made.commands)


def test_a_machine_that_ends_or_has_a_host_takes_none() -> None:
    deletion = Deletion(at=BEGIN, actor="me", why="enough")
    for machine in (
        waiting(deletion=deletion),
        waiting(phase=Phase.STOPPING),
        on_host(Phase.READY),
    ):
        _, binds = assigned(machine, hosts=(choice(OTHER),), bindings={machine.id: BOX})
        assert binds == []


def test_among_equals_each_machine_looks_elsewhere_first() -> None:
    """So two installations that share a pool seldom reach for the same host."""
    hosts = tuple(choice(HostId(f"host-{number}")) for number in range(8))
    chosen = {assigned(waiting(number), hosts=hosts)[1][0][0] for number in range(1, 30)}
    assert len(chosen) > 4
    again = assigned(waiting(1), hosts=hosts)[1]
    assert again == assigned(waiting(1), hosts=tuple(reversed(hosts)))[1], "and always the same way"


def test_machines_are_begun_only_for_hosts_that_no_other_waits_for() -> None:
    snapshot = fleet_snapshot((), free=(choice(), choice(OTHER)))
    transitions = (Transition(before=waiting(), machine=waiting(), resources=()),)
    assert open_offers(5, (), snapshot) == (OFFER, OFFER)
    assert open_offers(5, transitions, snapshot) == (OFFER,)
    assert open_offers(0, (), snapshot) == ()
    by_request = replace(snapshot, fleet=replace(snapshot.fleet, renews=False))
    assert open_offers(5, transitions, by_request) == (OFFER, OFFER), "requests count them"


def test_a_machine_that_let_go_of_its_host_will_take_another_before_one_is_made_for_it() -> None:
    """A machine was made for a host that another took: in the same decision (seed 5030205).

    Or in the next one, since it was bound to the host that it lost until then (seed 8030004).
    """
    snapshot = fleet_snapshot((), free=(choice(), choice(OTHER)))
    lost = starting(host=None)
    transitions = (Transition(before=lost, machine=lost, resources=()),)
    assert open_offers(5, transitions, snapshot) == (OFFER,)
    bound = replace(snapshot, bindings={lost.id: HostId("host-3")})
    assert open_offers(5, transitions, bound) == (OFFER, OFFER)
    loses = (Transition(before=starting(), machine=lost, resources=()),)
    assert open_offers(5, loses, replace(snapshot, bindings={lost.id: BOX})) == (OFFER,)
    ended = replace(lost, deletion=Deletion(at=BEGIN, actor="ann", why=""))
    transitions = (Transition(before=ended, machine=ended, resources=()),)
    assert open_offers(5, transitions, snapshot) == (OFFER, OFFER)


def starting(*asked: object, **fields: object) -> Machine:
    return with_fields(on_host(Phase.STARTING, was_ready=None, places=(), asked=asked), **fields)


OWNER_TAG = call("mac.rename.pending", CallState.DONE, aim=Stage.PENDING, shows=Shows.OWNER_TAG)
LOST = replace(OWNER_TAG, call_state=CallState.LAPSED)


@pytest.mark.parametrize(
    ("machine", "shows", "unchanged"),
    [
        (starting(OWNER_TAG), box("other"), False),
        (starting(OWNER_TAG), box("foreign"), False),
        (starting(OWNER_TAG), box("claimed", holder=machine_id(9)), False),
        (starting(OWNER_TAG), box("pending", holder=MINE), True),
        (starting(OWNER_TAG), box("wiping", holder=MINE), False),
        (starting(OWNER_TAG), box("retiring", holder=MINE), False),
        (starting(LOST), box("pool"), True),
        (starting(), box("pool"), True),
        (starting(), box("parked"), True),
        (starting(), box("other"), False),
        (starting(), box(""), False),
        (replace(starting(OWNER_TAG), places=on_host().places), box(""), True),
        (starting(replace(OWNER_TAG, call_state=CallState.OPEN)), box("other"), True),
        (starting(OWNER_TAG, host=None), box("other"), True),
        (replace(starting(OWNER_TAG), phase=Phase.READY), box("other"), True),
        (starting(OWNER_TAG).with_health(was_ready=BEGIN), box("other"), True),
    ],
)
def test_a_host_that_became_somebody_elses_before_its_claim_is_let_go(
    machine: Machine, shows: Resource, unchanged: bool
) -> None:
    """Not while a call may still land, nor after the machine was ready: then its tie holds it."""
    snapshot = fleet_snapshot((machine,), (shows,), now=LATER)
    transition = lets_go(Transition(before=machine, machine=machine, resources=()), snapshot)
    assert (transition.machine is machine) is unchanged
    if not unchanged:
        assert (transition.machine.host, transition.machine.asked) == (None, ())
        assert transition.machine.fact(CLEAN) is None
        assert transition.events[0].reason == Reason.HOST_LOST


def test_what_was_known_of_a_host_that_is_let_go_says_nothing_of_the_next() -> None:
    """That it was clean, and that a person named it to be taken as it is."""
    known = starting(OWNER_TAG).with_fact(CLEAN, BEGIN).with_fact(ADOPTED, BEGIN)
    snapshot = fleet_snapshot((known,), (box("foreign"),), now=LATER)
    freed = lets_go(Transition(before=known, machine=known, resources=()), snapshot).machine
    assert (freed.host, freed.fact(CLEAN), freed.fact(ADOPTED)) == (None, None, None)


@pytest.mark.parametrize(("seen", "unchanged"), [(-1, True), (0, True), (1, False)])
def test_an_observation_from_before_it_was_taken_says_nothing_of_a_machines_second_host(
    seen: int, unchanged: bool
) -> None:
    """The machine is starting since it took another, which it lost."""
    machine = replace(starting(), places=on_host().places, since=BEGIN - 60 * SECOND)
    taken = record(condition=HostCondition.ALLOCATED, machine=machine.id, since=BEGIN)
    snapshot = fleet_snapshot((machine,), (box("pool"),), now=BEGIN + seen * SECOND, hosts=(taken,))
    snapshot = replace(snapshot, now=BEGIN + 5 * SECOND)
    transition = lets_go(Transition(before=machine, machine=machine, resources=()), snapshot)
    assert (transition.machine is machine) is unchanged


def test_a_host_that_another_name_shows_is_let_go_when_our_own_can_come_no_more() -> None:
    """Until then our rename may land over that name, and the host would be nobody's work."""
    machine = starting(replace(OWNER_TAG, call_state=CallState.DONE))
    for late, unchanged in ((timedelta(0), True), (SECOND, False)):
        snapshot = fleet_snapshot((machine,), (box("other"),), now=BEGIN + CONSISTENCY_DELAY + late)
        transition = lets_go(Transition(before=machine, machine=machine, resources=()), snapshot)
        assert (transition.machine is machine) is unchanged


def test_a_host_that_no_observation_shows_is_let_go_after_the_consistency_delay() -> None:
    machine = starting(OWNER_TAG)
    transition = Transition(before=machine, machine=machine, resources=())
    assert (
        lets_go(transition, fleet_snapshot((machine,), now=BEGIN + CONSISTENCY_DELAY)).machine.host
        == BOX
    )
    assert (
        lets_go(
            transition, fleet_snapshot((machine,), now=BEGIN + CONSISTENCY_DELAY + SECOND)
        ).machine.host
        is None
    )


@pytest.mark.parametrize("proved", [False, True])
def test_a_host_that_observations_showed_once_is_let_go_when_it_is_proved_gone(
    *, proved: bool
) -> None:
    """A list that lacks it for once would strand it: claimed, wiped, and nobody's work."""
    known = Known(id=allocation_of(BOX, MINE), zone=ZONE, since=BEGIN, absent=BEGIN, deleted=proved)
    machine = starting(OWNER_TAG, places=(Place(slot=SERVER, bound=known.id, known=(known,)),))
    transition = Transition(before=machine, machine=machine, resources=())
    snapshot = fleet_snapshot((machine,), now=BEGIN + 2 * CONSISTENCY_DELAY)
    assert (lets_go(transition, snapshot).machine.host is None) is proved


def test_it_is_said_why_no_host_can_be_taken() -> None:
    held = record(condition=HostCondition.ALLOCATED)
    snapshot = fleet_snapshot((), (box("claimed"), box("foreign", host=OTHER)), hosts=(held,))
    assert none_free(snapshot) == (
        f"no_available_host: no host fits {OFFER} (hosts: 1 allocated, 1 foreign)"
    )
    assert "none at all" in none_free(fleet_snapshot(()))
    silent = fleet_snapshot((), (replace(box(""), status="silent"),), hosts=(FREE,))
    assert none_free(silent).endswith("(hosts: 1 silent)")


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (on_host(Phase.PENDING, host=None), "1 free, 1 free for machines that wait"),
        (on_host(Phase.STARTING, host=None), "1 free, 1 free for machines that wait"),
        (on_host(Phase.STARTING), "2 free"),
        (on_host(Phase.STOPPING, host=None), "2 free"),
        (
            on_host(Phase.PENDING, host=None, deletion=Deletion(actor="ann", at=BEGIN, why="")),
            "2 free",
        ),
    ],
)
def test_what_machines_that_wait_will_take_is_said_to_be_theirs(
    machine: Machine, words: str
) -> None:
    """Ten were said to be free, and none to fit: ten machines waited for their turn to start."""
    hosts = (FREE, replace(FREE, id=OTHER))
    snapshot = fleet_snapshot((machine,), (box(), box(host=OTHER)), hosts=hosts)
    assert none_free(snapshot).endswith(f"(hosts: {words})")


def test_what_a_request_names_and_what_begins_will_take_is_not_said_to_be_free() -> None:
    """Seed 238039370 of Kubernetes: five of six boxes were given, and six were said to be free."""
    hosts = (FREE, replace(FREE, id=OTHER))
    snapshot = fleet_snapshot((), (box(), box(host=OTHER)), hosts=hosts)
    assert none_free(snapshot).endswith("(hosts: 2 free)")
    hold = Request(
        number=1, kind=RequestKind.HOLD, fleet=FLEET.name, at=BEGIN, actor="ann", host=OTHER
    )
    asked = replace(snapshot, requests=(hold,))
    assert none_free(asked).endswith("(hosts: 1 free, 1 named in a request)")
    words = "(hosts: 1 free for machines that wait, 1 named in a request)"
    assert none_free(asked, beginning=1).endswith(words)


def test_a_fleet_that_begins_what_it_can_says_what_becomes_of_the_hosts() -> None:
    snapshot = fleet_snapshot((), (box(),), hosts=(FREE,), free=(choice(known=FREE),))
    asked = replace(snapshot, fleet=replace(snapshot.fleet, size=2))
    condition = decide(asked, FakePlanner()).condition
    assert condition.endswith("(hosts: 1 free for machines that wait)")


@pytest.mark.parametrize(
    ("off_for", "asked_for", "call_state", "cycle", "word"),
    [
        (60, 60, CallState.DONE, None, "free"),
        (59, 60, CallState.DONE, None, "off for too short a time"),
        (60, 59, CallState.DONE, None, "asked just now"),
        (60, 60, CallState.OPEN, None, "asked just now"),
        (60, 60, CallState.DONE, HostGoal.OFF, "to be switched off and on"),
    ],
)
def test_a_free_box_that_may_not_be_switched_on_yet_is_not_said_to_be_free(
    off_for: int, asked_for: int, call_state: CallState, cycle: HostGoal | None, word: str
) -> None:
    """Seed 235001706 of power: no host fitted, and two were said to be free."""
    rested = call("off", call_state, BEGIN - asked_for * SECOND, shows=Shows.REST)
    power = HostPower(on=False, since=BEGIN - off_for * SECOND, cycle=cycle)
    known = record(condition=HostCondition.FREE, power=power, asked=(rested,))
    snapshot = fleet_snapshot((), (box("pool", Condition.OFF),), hosts=(known,))
    limited = replace(
        metal(power=PowerLimits(least_off=60 * SECOND)), consistency_delay=59.5 * SECOND
    )
    assert none_free(replace(snapshot, capabilities=limited)).endswith(f"(hosts: 1 {word})")


@pytest.mark.parametrize(
    ("stage", "word"),
    [("other", "outside the pool"), ("unnamed", "without a name"), ("pool", "dirty")],
)
def test_a_host_that_somebody_took_out_of_the_pool_is_not_said_to_be_dirty(
    stage: str, word: str
) -> None:
    dirty = record(condition=HostCondition.DIRTY)
    snapshot = fleet_snapshot((), (box(stage),), hosts=(dirty,))
    assert none_free(snapshot).endswith(f"(hosts: 1 {word})")
    if stage == Stage.POOL:
        assert none_free(fleet_snapshot((), (box(stage),))).endswith("(hosts: 1 in the pool)")


def test_a_machine_that_just_let_go_of_its_host_takes_another_in_a_later_cycle() -> None:
    """Its tie is loosened first: the store lets it have one host."""
    bare = on_host(Phase.STARTING, host=None, places=(), was_ready=None)
    free_box = (Free(resource=box(), offer=OFFER),)

    def binds(before: Machine) -> int:
        transition = Transition(before=before, machine=bare, resources=())
        return len(assign((transition,), MAIN, fleet_snapshot((before,), free=free_box))[1])

    assert (binds(on_host(Phase.STARTING, was_ready=None)), binds(bare)) == (0, 1)


@pytest.mark.parametrize(
    ("resource", "is_free"),
    [
        (box(), True),
        (box(condition=Condition.OFF), True),
        (box(condition=Condition.UNKNOWN), False),
        (box(condition=Condition.FAILED), False),
        (box("claimed"), False),
    ],
)
def test_a_host_that_its_owner_lists_is_taken_before_it_has_a_record(
    resource: Resource, *, is_free: bool
) -> None:
    """So a plan of a fresh store names the very hosts that the first cycles take."""
    listed = replace(
        CAPABILITIES,
        hosts=HostCapabilities(ownership=Ownership.RECORD, cleaning=Cleaning.POWER_CYCLE),
    )
    found = free_hosts(account_snapshot((resource,), capabilities=listed), FLEET, _fits_any)
    assert bool(found) is is_free


def _fits_any(offer: Offer, resource: Resource) -> str:
    del offer, resource
    return ""


@pytest.mark.parametrize("hosts", [(), (FREE,)])
def test_a_box_whose_power_is_not_ours_or_that_no_record_knows_waits_for_nothing(
    hosts: tuple[Host, ...],
) -> None:
    """One without a record is the pool's; what we do not switch may be off for a second."""
    off = box("pool", Condition.OFF)
    assert none_free(fleet_snapshot((), (off,), hosts=hosts)).endswith(
        "(hosts: 1 free)" if hosts else "(hosts: 1 in the pool)"
    )


def test_a_box_that_was_switched_before_it_was_seen_last_is_said_to_be_so() -> None:
    """However long ago that was by now: no observation shows yet what became of it."""
    rested = call("off", CallState.DONE, BEGIN - SECOND, shows=Shows.REST)
    known = record(
        condition=HostCondition.FREE, power=HostPower(on=False, since=BEGIN), asked=(rested,)
    )
    seen = fleet_snapshot((), (box("pool", Condition.OFF),), hosts=(known,))
    limited = replace(metal(power=PowerLimits()), consistency_delay=60 * SECOND)
    later = replace(seen, capabilities=limited, now=BEGIN + 600 * SECOND)
    assert none_free(later).endswith("(hosts: 1 asked just now)")
