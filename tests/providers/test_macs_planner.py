"""The pure half: which calls come next from where a host's name and status say it is."""

from datetime import datetime, timedelta
from itertools import product

import pytest
from macs_kit import (
    CONSISTENCY_DELAY,
    FLEET,
    HOST,
    MACHINE,
    NOW,
    OTHER,
    STRANGER,
    asked,
    host_resource,
    mac,
    machine,
    name,
    reader,
    record,
    tagged,
    tenancy_part,
)
from msgspec.structs import replace

from hostler.domain.hosts.claims import CLEAN
from hostler.domain.machines.bootstrap import REBOOT
from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.host import HOST as HOST_SLOT
from hostler.domain.model.host import HostGoal, HostOrigin, ReleasePolicy, allocation_of
from hostler.domain.model.machine import RESTED, RETIRE, Asked, CallState, Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Resource, Stage
from hostler.providers.scaleway.macs.api.networks import Attached
from hostler.providers.scaleway.macs.plan import host_calls, machine_calls
from hostler.providers.scaleway.macs.plan.names import STAGES
from hostler.providers.scaleway.macs.plan.read import SERVER
from hostler.providers.scaleway.macs.plan.statuses import STATUSES

LATER = NOW + timedelta(minutes=30)
STATES = (*STATUSES, "unknown_status", "hibernating", "")
TEXTS = {
    **{str(stage): name(stage) for stage in STAGES},
    "another machine's": name(machine=OTHER),
    "foreign": name(installation=STRANGER),
    "damaged": name()[:-1],
    "pool": "pool-1",
    "unnamed": "apple-silicon-brave-einstein",
    "other": "mine",
}
TERMINATE = ReleasePolicy.TERMINATE
NOT_OURS = ("foreign", "damaged", "unnamed", "other")
PASTS: tuple[tuple[Asked, ...], ...] = (
    (),
    (tagged(Stage.PENDING),),
    (
        tagged(Stage.PENDING),
        asked(machine_calls.REINSTALL, CallState.OPEN, NOW + CONSISTENCY_DELAY),
    ),
    (
        tagged(Stage.PENDING),
        asked(machine_calls.REINSTALL, CallState.DONE, NOW + CONSISTENCY_DELAY),
    ),
    (tagged(Stage.CLAIMED),),
    (tagged(Stage.RELEASING),),
    (
        tagged(Stage.RELEASING),
        asked(machine_calls.REINSTALL, CallState.DONE, NOW + CONSISTENCY_DELAY),
    ),
    (
        tagged(Stage.RELEASING),
        asked(machine_calls.REINSTALL, CallState.LAPSED, NOW + CONSISTENCY_DELAY),
    ),
)


def calls(goal: Goal, of: Machine, *resources: Resource) -> tuple[Call, ...]:
    return machine_calls.next_calls(goal, of, resources, LATER, CONSISTENCY_DELAY)


def kinds(goal: Goal, of: Machine, *resources: Resource) -> list[str]:
    return [call.kind for call in calls(goal, of, *resources)]


def every_part() -> list[tuple[str, str, Resource]]:
    """Return the machine's host under every sort of name, in every status."""
    found = list[tuple[str, str, Resource]]()
    for (what, text), status in product(TEXTS.items(), STATES):
        resource = reader().renamed(mac(name=text, status=status), MACHINE)
        if resource is not None:
            found.append((what, status, resource))
    return found


@pytest.mark.parametrize("goal", Goal)
@pytest.mark.parametrize("past", PASTS)
def test_every_name_status_and_past_has_an_answer_that_harms_nobody(
    goal: Goal, past: tuple[Asked, ...]
) -> None:
    """Total; nothing under a name that is not ours; a wipe only of what is at rest, and tied."""
    for what, status, resource in every_part():
        for facts in (machine(asked=past), machine(asked=past, was_ready=NOW)):
            for call in calls(goal, facts, resource):
                where = f"{goal} {what} {status}: {call}"
                assert what not in NOT_OURS, where
                assert call.once, where
                assert call.arg("expect") == resource.name, where
                assert call.target == resource.id == allocation_of(HOST, MACHINE), where
                assert call.kind != machine_calls.FREE, where
                if call.kind == machine_calls.REINSTALL:
                    assert status in {"ready", "error"}, where
                    assert call.shows is Shows.WIPE, where
                if goal is not Goal.ABSENT:
                    assert call.effect is Effect.CHANGE, where
                else:
                    assert call.effect is Effect.DESTROY, where


@pytest.mark.parametrize("goal", Goal)
def test_without_a_host_nothing_is_asked(goal: Goal) -> None:
    assert not calls(goal, machine(host=None))
    assert not calls(goal, machine(host=None), tenancy_part(Stage.CLAIMED))


def test_a_claim_begins_with_an_owner_tag_that_makes_the_allocation() -> None:
    (call,) = calls(Goal.PRESENT, machine())
    assert (call.kind, call.effect, call.target) == ("mac.rename.pending", Effect.MAKE, None)
    assert (call.aim, call.shows, call.arg("host")) == ("pending", Shows.OWNER_TAG, HOST)
    assert (call.arg("type"), call.arg("family")) == ("M2-L", "Tahoe")
    assert not calls(Goal.ABSENT, machine())
    assert not calls(Goal.STANDBY, machine())


def test_a_clean_host_is_claimed_under_the_name_that_it_was_clean_under() -> None:
    """A person who gives it another one in the pool may have used it since."""
    (first,) = calls(Goal.PRESENT, machine())
    assert (first.arg("expect"), first.arg("wipes")) == ("", True)
    clean = machine().with_fact(CLEAN, NOW).with_fact("clean as pool-1", NOW)
    (first,) = calls(Goal.PRESENT, clean)
    assert (first.arg("expect"), first.arg("wipes")) == ("pool-1", False)


def test_a_claim_settles_before_anything_else_is_asked() -> None:
    young = replace(machine(), asked=(tagged(Stage.PENDING, LATER - CONSISTENCY_DELAY / 2),))
    old = replace(machine(), asked=(tagged(Stage.PENDING, LATER - CONSISTENCY_DELAY),))
    resource = tenancy_part(Stage.PENDING)
    assert not kinds(Goal.PRESENT, young, resource)
    assert kinds(Goal.PRESENT, old, resource) == [machine_calls.REINSTALL]
    assert not kinds(Goal.ABSENT, young, resource), "it may be another's by now"
    assert kinds(Goal.ABSENT, old, resource) == ["mac.rename.releasing"]
    clean = old.with_fact(CLEAN, NOW)
    assert kinds(Goal.PRESENT, clean, resource) == ["mac.rename.claimed"]
    assert not kinds(Goal.PRESENT, young.with_fact(CLEAN, NOW), resource)


@pytest.mark.parametrize(
    ("call_state", "status", "expected"),
    [
        (None, "ready", [machine_calls.REINSTALL]),
        (None, "error", [machine_calls.REINSTALL]),
        (None, "reinstalling", []),
        (None, "locked", []),
        (CallState.OPEN, "ready", []),
        (CallState.OPEN, "reinstalling", []),
        (CallState.LAPSED, "ready", [machine_calls.REINSTALL]),
        (CallState.REFUSED, "ready", [machine_calls.REINSTALL]),
        (CallState.DONE, "reinstalling", []),
        (CallState.DONE, "ready", ["mac.rename.claimed"]),
        (CallState.DONE, "error", [machine_calls.REINSTALL]),
        (CallState.DONE, "hibernating", []),
    ],
)
def test_a_claimed_owner_tag_follows_a_wipe_that_was_seen(
    call_state: CallState | None, status: str, expected: list[str]
) -> None:
    wipe = (
        (asked(machine_calls.REINSTALL, call_state, NOW + CONSISTENCY_DELAY),) if call_state else ()
    )
    of = machine(asked=(tagged(Stage.PENDING), *wipe))
    assert kinds(Goal.PRESENT, of, tenancy_part(Stage.PENDING, status)) == expected


def test_a_wipe_to_another_system_is_no_wipe_for_a_claim() -> None:
    wipe = asked(machine_calls.REINSTALL, CallState.DONE, NOW + CONSISTENCY_DELAY)
    other = {"id": "os-2", "name": "macos-sequoia-15.7", "family": "Sequoia"}
    resource = tenancy_part(Stage.PENDING, os=other)
    of = machine(asked=(tagged(Stage.PENDING), wipe))
    assert kinds(Goal.PRESENT, of, resource) == [machine_calls.REINSTALL]


def test_a_wipe_of_before_the_owner_tag_does_for_nothing_since() -> None:
    """What was wiped before the claim was used since: a release wipes it again."""
    wipe = asked(machine_calls.REINSTALL, CallState.DONE, NOW - CONSISTENCY_DELAY)
    of = machine(asked=(wipe, tagged(Stage.RELEASING)), was_ready=NOW)
    assert kinds(Goal.ABSENT, of, tenancy_part(Stage.RELEASING)) == [machine_calls.REINSTALL]
    again = machine(asked=(wipe, tagged(Stage.PENDING)))
    assert kinds(Goal.PRESENT, again, tenancy_part(Stage.PENDING)) == [machine_calls.REINSTALL]


def test_a_machine_in_use_is_left_alone() -> None:
    for status in STATES:
        assert not calls(Goal.PRESENT, machine(), tenancy_part(Stage.CLAIMED, status))


@pytest.mark.parametrize(
    ("stage", "call_state", "status", "expected"),
    [
        (Stage.CLAIMED, None, "ready", ["mac.rename.releasing"]),
        (Stage.CLAIMED, None, "error", ["mac.rename.releasing"]),
        (Stage.PENDING, None, "ready", ["mac.rename.releasing"]),
        (None, None, "ready", ["mac.rename.releasing"]),
        (Stage.RELEASING, None, "ready", [machine_calls.REINSTALL]),
        (Stage.RELEASING, None, "error", [machine_calls.REINSTALL]),
        (Stage.RELEASING, None, "locked", []),
        (Stage.RELEASING, CallState.OPEN, "ready", []),
        (Stage.RELEASING, CallState.OPEN, "reinstalling", []),
        (Stage.RELEASING, CallState.LAPSED, "ready", [machine_calls.REINSTALL]),
        (Stage.RELEASING, CallState.DONE, "reinstalling", ["mac.rename.wiping"]),
        (Stage.RELEASING, CallState.DONE, "ready", ["mac.rename.wiping"]),
        (Stage.RELEASING, CallState.DONE, "error", [machine_calls.REINSTALL]),
    ],
)
def test_a_release_wipes_before_it_lets_go(
    stage: Stage | None, call_state: CallState | None, status: str, expected: list[str]
) -> None:
    wipe = (
        (asked(machine_calls.REINSTALL, call_state, NOW + CONSISTENCY_DELAY),) if call_state else ()
    )
    of = machine(asked=(tagged(Stage.RELEASING), *wipe), was_ready=NOW)
    assert kinds(Goal.ABSENT, of, tenancy_part(stage, status)) == expected


def test_a_host_that_is_given_up_is_renamed_and_not_wiped() -> None:
    of = machine(was_ready=NOW).with_fact(RETIRE, NOW)
    assert kinds(Goal.ABSENT, of, tenancy_part(Stage.CLAIMED)) == ["mac.rename.retiring"]


@pytest.mark.parametrize(
    ("stage", "call_state", "expected"),
    [
        (Stage.CLAIMED, None, ["mac.rename.standby"]),
        (Stage.STANDBY, None, [machine_calls.REINSTALL]),
        (Stage.STANDBY, CallState.OPEN, []),
        (Stage.STANDBY, CallState.DONE, ["mac.rename.rested"]),
        (Stage.RESTED, None, []),
        (Stage.RELEASING, None, []),
    ],
)
def test_a_rest_is_a_wipe_and_then_a_name(
    stage: Stage, call_state: CallState | None, expected: list[str]
) -> None:
    wipe = (
        (asked(machine_calls.REINSTALL, call_state, NOW + CONSISTENCY_DELAY),) if call_state else ()
    )
    of = machine(asked=(tagged(Stage.STANDBY), *wipe), was_ready=NOW)
    assert kinds(Goal.STANDBY, of, tenancy_part(stage)) == expected


def test_a_machine_wakes_on_its_own_host_without_a_wipe() -> None:
    of = machine(was_ready=NOW)
    assert kinds(Goal.PRESENT, of, tenancy_part(Stage.RESTED)) == ["mac.rename.claimed"]


def test_a_bound_host_that_lost_its_name_gets_it_back() -> None:
    """In use it is claimed again; on its way there it starts from the pending mark again."""
    lost = tenancy_part(None)
    assert kinds(Goal.PRESENT, machine(was_ready=NOW), lost) == ["mac.rename.claimed"]
    assert kinds(Goal.PRESENT, machine(), lost) == ["mac.rename.pending"]


RESTED_AT = NOW + CONSISTENCY_DELAY


@pytest.mark.parametrize(
    ("back", "expected"),
    [
        (None, "mac.rename.pending"),
        (CallState.LAPSED, "mac.rename.pending"),
        (CallState.REFUSED, "mac.rename.pending"),
        (CallState.OPEN, "mac.rename.claimed"),
        (CallState.DONE, "mac.rename.claimed"),
    ],
)
def test_a_host_that_lost_its_name_while_its_machine_rested_is_taken_as_any_other(
    back: CallState | None, expected: str
) -> None:
    """Somebody may have used it meanwhile: it is wiped before it is claimed again (S12)."""
    claims = (replace(tagged(Stage.CLAIMED), call_state=CallState.DONE, at=NOW),)
    if back is not None:
        claims = (replace(claims[0], call_state=back, at=RESTED_AT + CONSISTENCY_DELAY),)
    of = machine(was_ready=NOW, asked=claims).with_fact(RESTED, RESTED_AT)
    assert kinds(Goal.PRESENT, of, tenancy_part(None)) == [expected]


@pytest.mark.parametrize("stage", [Stage.PENDING, Stage.RESTED])
def test_a_clean_host_that_is_in_error_is_wiped_before_it_is_taken(stage: Stage) -> None:
    """Only a wipe mends it: its machine waited for it until its start was overdue (125000066)."""
    of = machine(asked=(tagged(stage),)).with_fact(CLEAN, NOW)
    broken = replace(tenancy_part(stage), status="error", condition=Condition.FAILED)
    assert kinds(Goal.PRESENT, of, tenancy_part(stage)) == ["mac.rename.claimed"]
    assert kinds(Goal.PRESENT, of, broken) == [machine_calls.REINSTALL]
    begun = of.with_asked(asked(machine_calls.REINSTALL, CallState.OPEN, NOW + CONSISTENCY_DELAY))
    assert not kinds(Goal.PRESENT, begun, broken), "one wipe at a time"
    wiped = of.with_asked(asked(machine_calls.REINSTALL, CallState.DONE, NOW + CONSISTENCY_DELAY))
    assert kinds(Goal.PRESENT, wiped, tenancy_part(stage)) == ["mac.rename.claimed"]


@pytest.mark.parametrize("phase", [Phase.READY, Phase.DRAINING])
def test_a_host_in_use_is_taken_back_as_it_is_though_its_machine_rested_and_was_refused(
    phase: Phase,
) -> None:
    """Jobs run on it: it is not wiped, as it would be before it is ready again."""
    refused = replace(
        tagged(Stage.CLAIMED), call_state=CallState.REFUSED, at=RESTED_AT + CONSISTENCY_DELAY
    )
    of = machine(was_ready=NOW, asked=(refused,), phase=phase).with_fact(RESTED, RESTED_AT)
    assert kinds(Goal.PRESENT, of, tenancy_part(None)) == ["mac.rename.claimed"]
    waking = replace(of, phase=Phase.STARTING)
    assert kinds(Goal.PRESENT, waking, tenancy_part(None)) == ["mac.rename.pending"]


@pytest.mark.parametrize(
    ("rested", "expected"), [(False, "mac.rename.claimed"), (True, "mac.reinstall")]
)
def test_what_was_clean_for_one_claim_is_not_for_that_after_a_rest(
    expected: str, *, rested: bool
) -> None:
    of = machine(was_ready=NOW, asked=(tagged(Stage.PENDING),)).with_fact(CLEAN, NOW)
    of = of.with_fact(RESTED, RESTED_AT) if rested else of
    assert kinds(Goal.PRESENT, of, tenancy_part(Stage.PENDING)) == [expected]


def test_an_owner_tag_tells_what_the_host_showed_that_a_wipe_changes() -> None:
    """So that a wipe by somebody else is known by it later; what is sealed keeps what was known."""
    rested, lost = tenancy_part(Stage.RESTED), tenancy_part(None)
    sealed = tenancy_part(None, vnc_url="vnc://m1:%3Csealed%3E@51.159.0.1:5900")
    (woken,) = calls(Goal.PRESENT, machine(was_ready=NOW), rested)
    assert woken.witness == rested.host.witness != ""
    known = machine(was_ready=NOW, asked=(replace(tagged(Stage.CLAIMED), witness="known"),))
    (again,) = calls(Goal.PRESENT, known, lost)
    assert again.witness == lost.host.witness
    (unknown_since,) = calls(Goal.PRESENT, known, sealed)
    assert unknown_since.witness == "known"
    saved = machine(was_ready=NOW, asked=(replace(tagged(Stage.RESTED), witness="known"),))
    shut = tenancy_part(Stage.RESTED, vnc_url="vnc://m1:%3Csealed%3E@51.159.0.1:5900")
    (woken,) = calls(Goal.PRESENT, saved, shut)
    assert not woken.witness, "somebody wiped it while it rested, which harms nobody"


def test_what_was_only_promised_is_waited_for() -> None:
    promised = Resource(
        id=allocation_of(HOST, MACHINE), slot=SERVER, zone=record().zone, status="promised"
    )
    for goal in Goal:
        assert not calls(goal, machine(), promised)


def test_the_host_of_another_allocation_is_nobodys_of_this_machine() -> None:
    other = reader().renamed(mac(name=name(machine=OTHER)), OTHER)
    assert other is not None
    bound = machine(asked=(tagged(Stage.CLAIMED),))
    assert not calls(Goal.ABSENT, bound, other)


def test_every_state_of_a_host_without_a_machine_has_an_answer_that_harms_nobody() -> None:
    """Total; nothing under a name that is not ours; nothing is freed that was not wiped."""
    records = (
        record(),
        record(wiping=NOW),
        record(wiping=NOW, wiped=LATER),
        record(wiped=LATER, pool=""),
        record(scheduled=LATER),
    )
    for host, goal, (what, text), status in product(records, HostGoal, TEXTS.items(), STATES):
        if goal is HostGoal.POOLED:  # what a person asked for by name
            continue
        for call in host_calls.host_calls(goal, host, host_resource(text, status), LATER):
            where = f"{goal} {what} {status}: {call}"
            assert what not in NOT_OURS, where
            assert what != "pool" or call.kind == "mac.rename.retiring", where
            assert call.target == HOST, where
            assert call.arg("expect") == text, where
            if call.kind == machine_calls.FREE:
                assert host.cleaning.wiped is not None, where
                assert host.ownership.pool, where
            if call.kind == machine_calls.REINSTALL:
                assert status in {"ready", "error"}, where
                assert goal is HostGoal.CLEAN, where
            if call.kind in {machine_calls.DELETE, machine_calls.SCHEDULE}:
                assert goal is HostGoal.RETIRED, where
                assert what == "retiring", where


def host_kinds(goal: HostGoal, resource: Resource, **fields: object) -> list[str]:
    return [call.kind for call in host_calls.host_calls(goal, record(**fields), resource, LATER)]


def test_a_host_is_wiped_and_then_put_back() -> None:
    wiping = host_resource(name(Stage.WIPING))
    assert host_kinds(HostGoal.CLEAN, host_resource(name(Stage.CLAIMED))) == ["mac.rename.wiping"]
    assert host_kinds(HostGoal.CLEAN, wiping) == [machine_calls.REINSTALL]
    assert host_kinds(HostGoal.CLEAN, wiping, wiping=NOW) == []
    assert host_kinds(HostGoal.CLEAN, wiping, wiping=NOW, wiped=NOW) == [machine_calls.FREE]
    assert host_kinds(HostGoal.CLEAN, wiping, wiped=NOW, pool="") == []
    locked = host_resource(name(Stage.WIPING), "locked")
    assert host_kinds(HostGoal.CLEAN, locked) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"commitment": {"type": "renewed_monthly"}}, [machine_calls.UNCOMMIT]),
        ({"vpc_status": "vpc_enabled"}, [machine_calls.DETACH]),
        ({"deletable_at": None}, [machine_calls.DELETE]),
        ({"deletable_at": "2026-07-01T00:00:00Z"}, [machine_calls.DELETE]),
        ({"deletable_at": "2026-09-01T00:00:00Z"}, [machine_calls.SCHEDULE]),
        ({"deletable_at": "2026-09-01T00:00:00Z", "deletion_scheduled": True}, []),
        ({"deletable_at": None, "deletion_scheduled": True}, []),
        (
            {"deletable_at": "2026-07-01T00:00:00Z", "deletion_scheduled": True},
            [machine_calls.DELETE],
        ),
        ({"deletable_at": "2026-08-01T12:29:00Z", "deletion_scheduled": True}, []),
        ({"deletable_at": "2026-08-01T12:29:00Z"}, [machine_calls.DELETE]),
    ],
)
def test_a_host_is_given_up_step_by_step(fields: dict[str, object], expected: list[str]) -> None:
    """No renewal, no networks, then its end, or the date of it; asked once, it is waited for.

    What the provider deletes by itself is not deleted on the second of its date: clocks differ.
    """
    resource = reader().host(mac(name=name(Stage.RETIRING), **fields))
    assert host_kinds(HostGoal.RETIRED, resource) == expected


def test_a_host_is_renamed_before_it_is_given_up() -> None:
    resource = host_resource(name(Stage.CLAIMED), commitment={"type": "renewed_monthly"})
    assert host_kinds(HostGoal.RETIRED, resource) == ["mac.rename.retiring"]


@pytest.mark.parametrize(
    ("call_state", "since", "made"),
    [
        (None, NOW, True),
        (CallState.REFUSED, NOW, True),
        (CallState.LAPSED, NOW, True),
        (CallState.DONE, NOW, False),
        (CallState.DONE, LATER, True),
    ],
)
def test_a_host_of_the_pool_is_given_up_until_its_rename_was_answered_well(
    call_state: CallState | None, since: datetime, *, made: bool
) -> None:
    """One refusal ended its retirement; and the rename of an earlier end counted for this one."""
    done = tagged(Stage.RETIRING)
    renamed = replace(done, call_state=call_state) if call_state else None
    found = host_kinds(
        HostGoal.RETIRED,
        host_resource("pool-1"),
        since=since,
        asked=(renamed,) if renamed else (),
    )
    assert found == ["mac.rename.retiring"] * made


def test_a_host_is_rebooted_once_for_each_time_that_it_was_decided() -> None:
    decided = machine(was_ready=NOW).with_fact(REBOOT, NOW + CONSISTENCY_DELAY)
    claimed = tenancy_part(Stage.CLAIMED)
    for at, expected in ((NOW, [machine_calls.REBOOT]), (NOW + CONSISTENCY_DELAY, [])):
        done = replace(decided, asked=(asked(machine_calls.REBOOT, CallState.DONE, at),))
        assert kinds(Goal.PRESENT, done, claimed) == expected
    (call,) = machine_calls.next_calls(
        Goal.PRESENT, decided, (claimed,), LATER, CONSISTENCY_DELAY, networks=()
    )
    assert call.kind == machine_calls.REBOOT
    assert call.interrupts, "and so it is not made where that may not be"
    assert kinds(Goal.PRESENT, decided, tenancy_part(Stage.CLAIMED, "busy")) == []
    lapsed = replace(
        decided, asked=(asked(machine_calls.REBOOT, CallState.LAPSED, NOW + CONSISTENCY_DELAY),)
    )
    assert kinds(Goal.PRESENT, lapsed, claimed) == [machine_calls.REBOOT]


def test_a_host_is_put_into_networks_only_while_it_is_ready() -> None:
    for status, expected in (
        ("ready", [f"{machine_calls.ATTACH}.net-1"]),
        ("busy", []),
        ("error", []),
    ):
        resource = tenancy_part(Stage.CLAIMED, status)
        found = machine_calls.next_calls(
            Goal.PRESENT,
            machine(),
            (resource,),
            LATER,
            CONSISTENCY_DELAY,
            networks=("net-1", "net-2"),
        )
        assert [call.kind for call in found] == expected


def noted(resource: Resource, **notes: str) -> Resource:
    return replace(resource, notes=(*notes.items(), *resource.notes))


def test_a_clean_host_leaves_its_networks_before_it_is_put_back() -> None:
    """While it is on its way out of one, nobody may have it."""
    wiping, clean = host_resource(name(Stage.WIPING)), {"wiping": NOW, "wiped": NOW}
    assert host_kinds(HostGoal.CLEAN, noted(wiping, nics="net-1:5"), **clean) == [
        machine_calls.DETACH
    ]
    assert host_kinds(HostGoal.CLEAN, noted(wiping, leaving="yes"), **clean) == []
    assert host_kinds(HostGoal.CLEAN, wiping, **clean) == [machine_calls.FREE]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (None, "mac.rename.parked"),
        (ReleasePolicy.KEEP, machine_calls.FREE),
        (TERMINATE, machine_calls.FREE),
    ],
)
def test_a_host_that_we_pay_for_is_parked_unless_somebody_said_what_becomes_of_it(
    policy: ReleasePolicy | None, expected: str
) -> None:
    clean = {"wiping": NOW, "wiped": NOW, "origin": HostOrigin.ORDERED, "policy": policy}
    assert host_kinds(HostGoal.CLEAN, host_resource(name(Stage.WIPING)), **clean) == [expected]


def test_a_host_that_left_its_networks_is_not_asked_to_again() -> None:
    """The API goes on telling that it may be in some."""
    resource = reader().host(mac(name=name(Stage.RETIRING), vpc_status="vpc_enabled"))
    left = (replace(asked(machine_calls.DETACH, CallState.DONE), slot=HOST_SLOT),)
    assert host_kinds(HostGoal.RETIRED, resource) == [machine_calls.DETACH]
    assert host_kinds(HostGoal.RETIRED, resource, asked=left) == [machine_calls.DELETE]


def test_a_clean_host_that_no_listing_shows_in_a_network_is_asked_about_each_once() -> None:
    """Macs 82001058: a list was empty for a minute, and a host went to the pool in its network."""
    listed = replace(reader(), networks={FLEET: ("net-2", "net-1")}, attached={})
    wiping = listed.host(mac(name=name(Stage.WIPING), vpc_status="vpc_enabled"))
    clean: dict[str, object] = {"wiping": NOW, "wiped": LATER}
    (call,) = host_calls.host_calls(HostGoal.CLEAN, record(**clean), wiping, LATER)
    assert (call.kind, call.arg("networks")) == (machine_calls.DETACH, "net-1,net-2")
    for at, state, expected in (
        (LATER, CallState.DONE, machine_calls.FREE),
        (LATER, CallState.LAPSED, machine_calls.DETACH),
        (NOW, CallState.DONE, machine_calls.DETACH),
    ):
        left = (replace(asked(machine_calls.DETACH, state, at), slot=HOST_SLOT),)
        assert host_kinds(HostGoal.CLEAN, wiping, asked=left, **clean) == [expected], (at, state)
    off = listed.host(mac(name=name(Stage.WIPING)))
    assert host_kinds(HostGoal.CLEAN, off, **clean) == [machine_calls.FREE], "it can be in none"


def test_each_network_that_a_clean_host_was_shown_in_is_asked_about_too() -> None:
    """Macs 233017801: when it was to leave, the list was empty, and it went to the pool in it."""
    host = mac(name=name(Stage.WIPING), vpc_status="vpc_enabled")
    attached = {host.id: (Attached("net-3", 7), Attached("net-1", 8))}
    listed = replace(reader(), networks={FLEET: ("net-1", "net-2")}, attached=attached)
    clean: dict[str, object] = {"wiping": NOW, "wiped": LATER}
    (call,) = host_calls.host_calls(HostGoal.CLEAN, record(**clean), listed.host(host), LATER)
    assert (call.kind, call.arg("networks")) == (machine_calls.DETACH, "net-1,net-2,net-3")


def test_only_a_deletion_that_we_scheduled_is_called_off_for_a_wipe() -> None:
    leaving = host_resource(name(Stage.RETIRING), deletion_scheduled=True)
    for kind in (machine_calls.SCHEDULE, machine_calls.DELETE):
        ours = (asked(kind, CallState.DONE, NOW),)
        assert host_kinds(HostGoal.CLEAN, leaving, asked=ours) == [machine_calls.UNSCHEDULE]
        off = asked(machine_calls.UNSCHEDULE, CallState.DONE, NOW)
        again = (asked(kind, CallState.DONE, LATER), off)
        assert host_kinds(HostGoal.CLEAN, leaving, asked=again) == [machine_calls.UNSCHEDULE]
        theirs = (*ours, asked(machine_calls.UNSCHEDULE, CallState.DONE, LATER))
        assert host_kinds(HostGoal.CLEAN, leaving, asked=theirs) == ["mac.rename.wiping"]
        refused = (asked(kind, CallState.REFUSED, NOW),)
        assert host_kinds(HostGoal.CLEAN, leaving, asked=refused) == ["mac.rename.wiping"]
        for unsure in (CallState.OPEN, CallState.LAPSED):
            late = (asked(kind, unsure, NOW),)
            assert host_kinds(HostGoal.CLEAN, leaving, asked=late) == [machine_calls.UNSCHEDULE]
    assert host_kinds(HostGoal.CLEAN, leaving) == ["mac.rename.wiping"]
