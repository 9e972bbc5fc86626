"""Calls on Macs as they go to the API, and what their answers come to."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import structlog
from macs_kit import (
    CONSISTENCY_DELAY,
    FLEET,
    MACHINE,
    NOW,
    OTHER,
    PROJECT,
    SECRET,
    ZONE,
    Project,
    mac,
    machine,
    name,
    record,
)
from msgspec.structs import replace

from hostler.domain.ids import HostId, ResourceId
from hostler.domain.model.calls import Call, Done, Outcome, Refusal, Refused
from hostler.domain.model.host import HOST as HOSTS
from hostler.domain.model.host import Host, HostGoal, HostOrigin
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Condition, Observation, Resource, Scope, Stage
from hostler.ports.secret import Secret
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.errors import Failed, Problem
from hostler.providers.scaleway.common.settings import Account
from hostler.providers.scaleway.macs.api.endpoints import (
    MacApi,
    floor_date,
    is_floor,
    is_reinstalling,
)
from hostler.providers.scaleway.macs.plan import host_calls, machine_calls
from hostler.providers.scaleway.macs.plan.names import name_of
from hostler.providers.scaleway.macs.plan.read import SERVER
from hostler.providers.scaleway.macs.refusals import unread_host
from hostler.simulators.scaleway.faults.rates import Rule
from hostler.simulators.scaleway.state.options import FLOORS

UNTIL = "this server cannot be deleted before 2026-06-12 07:06:59"
TEXT = f"precondition failed: unknown precondition, {UNTIL}"
DATE = datetime(2026, 6, 12, 7, 6, 59, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


async def seen(p: Project) -> Resource:
    """Return the host as a look shows it."""
    observation = await p.macs.observe((Scope(machine().offer.zone, HOSTS.kind),))
    return next(resource for resource in observation.resources if resource.slot == HOSTS)


async def claimed(p: Project, stage: Stage = Stage.CLAIMED) -> Resource:
    """Name the host for the machine, and return the tenancy as a look shows it."""
    p.world.console.rename(p.ids[0], name(stage))
    return tenancy_in(await observe_one(p))


async def observe_one(p: Project) -> Observation:
    scope = Scope(machine().offer.zone, SERVER.kind, MACHINE, (p.allocation_of,))
    return await p.macs.observe((scope,))


def tenancy_in(observation: Observation) -> Resource:
    return next(resource for resource in observation.resources if resource.slot == SERVER)


def first(goal: Goal, of: Machine, *resources: Resource) -> Call:
    """Return the next call."""
    return machine_calls.next_calls(goal, of, resources, LATER, CONSISTENCY_DELAY)[0]


def on_host(p: Project, goal: HostGoal, resource: Resource, **fields: object) -> Call:
    host: Host = record(**{"id": HostId(p.ids[0]), **fields})
    return host_calls.host_calls(goal, host, resource, p.clock.now())[0]


async def test_a_claim_renames_a_free_host_and_says_from_which_pool_it_came() -> None:
    p = Project()
    outcome = await p.do(first(Goal.PRESENT, p.machine))
    assert isinstance(outcome, Done)
    found = name_of(p.mac.name)
    assert found is not None
    assert (found.stage, found.machine) == (Stage.PENDING, MACHINE)
    (resource,) = outcome.resources
    assert (resource.id, resource.host.pool, resource.condition) == (
        p.allocation_of,
        "pool-",
        Condition.STARTING,
    )


async def test_an_owner_tag_that_stands_already_is_written_no_second_time() -> None:
    p = Project()
    resource = await claimed(p)
    releasing = first(Goal.ABSENT, p.machine.with_health(was_ready=NOW), resource)
    assert isinstance(await p.do(releasing), Done)
    asked = p.changes()
    assert isinstance(await p.do(replace(releasing, args=_expecting(releasing, p))), Done)
    assert p.changes() == asked


def _expecting(
    call: Call, p: Project
) -> tuple[tuple[str, str | int | bool | tuple[str, ...]], ...]:
    return tuple((key, p.mac.name if key == "expect" else value) for key, value in call.args)


SPOILS: tuple[Callable[[Project], object], ...] = (
    lambda p: p.world.console.rename(p.ids[0], "mine"),
    lambda p: p.world.console.rename(p.ids[0], name(Stage.PENDING, OTHER)),
    lambda p: p.world.console.rename(p.ids[0], "apple-silicon-x"),
    lambda p: p.world.console.do("lock", p.ids[0]),
    lambda p: p.world.console.do("break", p.ids[0]),
    lambda p: p.world.console.do("reinstall", p.ids[0]),
    lambda p: setattr(p.mac, "deletion_scheduled", True),
    lambda p: setattr(p.mac, "delivered", False),
    lambda p: setattr(p.mac, "type_name", "M4-M"),
    lambda p: setattr(p.mac, "project", "another"),
    lambda p: setattr(p.mac, "os", _devos(p)),
)


@pytest.mark.parametrize("spoil", SPOILS)
async def test_a_claim_looks_afresh_and_changes_nothing_of_what_is_not_free(
    spoil: Callable[[Project], object],
) -> None:
    p = Project()
    spoil(p)
    outcome = await p.do(first(Goal.PRESENT, p.machine))
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.WRONG_STATE
    assert not p.changes()


def _devos(p: Project) -> object:
    return next(image for image in p.world.cloud.os_images if image.family == "DevOS")


@pytest.mark.parametrize("goal", [Goal.ABSENT, Goal.STANDBY])
@pytest.mark.parametrize("stage", [Stage.CLAIMED, Stage.RELEASING, Stage.STANDBY])
async def test_a_fresh_read_that_finds_another_name_changes_nothing(
    goal: Goal, stage: Stage
) -> None:
    """What was decided for a name is done to that name, and to no other."""
    p = Project()
    resource = await claimed(p, stage)
    decided = machine_calls.next_calls(
        goal, p.machine.with_health(was_ready=NOW), (resource,), LATER, CONSISTENCY_DELAY
    )
    p.world.console.rename(p.ids[0], name(Stage.CLAIMED, OTHER))
    for call in decided:
        outcome = await p.do(call)
        assert isinstance(outcome, Refused)
        assert "renamed" in outcome.text
    assert not p.changes()


@pytest.mark.parametrize("goal", [HostGoal.CLEAN, HostGoal.RETIRED])
async def test_a_host_that_was_renamed_since_it_was_decided_on_is_left_alone(
    goal: HostGoal,
) -> None:
    p = Project()
    for stage in (Stage.WIPING, Stage.RETIRING, Stage.CLAIMED):
        p.world.console.rename(p.ids[0], name(stage))
        call = on_host(p, goal, await seen(p))
        p.world.console.rename(p.ids[0], "pool-back")
        assert isinstance(await p.do(call), Refused)
    assert not p.changes()


@pytest.mark.parametrize(
    "text", [name(Stage.CLAIMED, machine=OTHER, pool="other-"), "other-hand1", "pool-hand1"]
)
async def test_a_name_that_a_person_gave_does_not_take_a_host_into_another_pool(text: str) -> None:
    p = Project(others=("other-",))
    await claimed(p)
    p.world.console.rename(p.ids[0], text)
    back = first(
        Goal.PRESENT, p.machine.with_health(was_ready=NOW), tenancy_in(await observe_one(p))
    )
    assert isinstance(await p.do(back), Done)
    assert p.mac.name == name(Stage.CLAIMED)


async def test_no_name_is_written_that_nobody_could_read() -> None:
    p = Project()
    nobody = on_host(p, HostGoal.RETIRED, await seen(p), origin=HostOrigin.ORDERED, machine=None)
    outcome = await p.do(nobody)
    assert isinstance(outcome, Refused)
    assert "no name of ours" in outcome.text
    assert not p.changes()
    ordered = on_host(
        p,
        HostGoal.RETIRED,
        await seen(p),
        origin=HostOrigin.ORDERED,
        machine=None,
        order=MACHINE,
        buyer=FLEET,
    )
    assert isinstance(await p.do(ordered), Done)
    assert p.mac.name == name(Stage.RETIRING)


async def test_a_wipe_installs_the_newest_image_of_the_family_that_was_asked_for() -> None:
    p = Project()
    resource = await claimed(p, Stage.RELEASING)
    outcome = await p.do(first(Goal.ABSENT, p.machine.with_health(was_ready=NOW), resource))
    assert isinstance(outcome, Done)
    assert str(p.mac.status) == "reinstalling"
    p.clock.pass_by(timedelta(minutes=30))
    p.world.advance()
    assert (p.mac.os.name, p.mac.installs) == ("macos-tahoe-26.6.1", 2)


async def test_the_family_is_looked_up_before_the_host_is_touched() -> None:
    """Where the images cannot be listed, a release does not even rename."""
    p = Project()
    resource = await claimed(p)
    p.world.script(Rule(fault="failed_500", route="mac_os.list", count=99))
    outcome = await p.do(first(Goal.ABSENT, p.machine.with_health(was_ready=NOW), resource))
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.BUSY
    assert not p.changes()
    assert p.mac.name == name(Stage.CLAIMED)


async def test_a_wipe_whose_image_cannot_be_read_is_not_asked_for() -> None:
    """Seed 5030288: it counted as sent, and a wipe by hand as ours: any host key was taken then."""
    p = Project()
    resource = await claimed(p, Stage.RELEASING)
    p.world.script(Rule(fault="failed_500", route="mac_os.list", count=99))
    outcome = await p.do(first(Goal.ABSENT, p.machine.with_health(was_ready=NOW), resource))
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.BUSY
    assert not p.changes()


async def test_a_family_that_is_not_published_any_more_keeps_no_host_from_its_release() -> None:
    p = Project()
    resource = await claimed(p, Stage.RELEASING)
    retire(p, "Tahoe")
    with structlog.testing.capture_logs() as logs:
        outcome = await p.do(first(Goal.ABSENT, p.machine.with_health(was_ready=NOW), resource))
    assert isinstance(outcome, Done)
    assert str(p.mac.status) == "reinstalling"
    assert any("OSPinUnavailable" in str(entry) for entry in logs)


async def test_a_family_that_is_not_published_any_more_holds_no_release_up() -> None:
    p = Project()
    resource = await claimed(p)
    retire(p, "Tahoe")
    assert isinstance(
        await p.do(first(Goal.ABSENT, p.machine.with_health(was_ready=NOW), resource)), Done
    )
    assert p.mac.name == name(Stage.RELEASING)


async def test_a_family_that_is_not_published_any_more_is_claimed_for_nobody() -> None:
    p = Project()
    retire(p, "Tahoe")
    outcome = await p.do(first(Goal.PRESENT, p.machine))
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.INVALID
    assert "OSPinUnavailable" in outcome.text
    assert not p.changes()


def retire(p: Project, family: str) -> None:
    for image in list(p.world.cloud.os_images):
        if image.family == family:
            p.world.console.retire_image(image.id)


REFUSALS = {
    "mac_os_not_found": "",
    "not_found_flicker": "",
    "mac_precondition_412": "",
    "failed_500": "",
    "transient_409": "rebooting",
}


@pytest.mark.parametrize("fault", REFUSALS)
async def test_no_refusal_of_a_wipe_is_taken_for_one_or_for_the_hosts_end(fault: str) -> None:
    """A not_found that names the image, or the host that was read just before; another state."""
    p = Project()
    resource = await claimed(p, Stage.RELEASING)
    p.world.script(Rule(fault=fault, route="mac.reinstall", says=REFUSALS[fault]))
    outcome = await p.do(first(Goal.ABSENT, p.machine.with_health(was_ready=NOW), resource))
    assert not isinstance(outcome, Done)
    assert str(p.mac.status) == "ready"


STATES = ("starting", "rebooting", "updating", "locking", "unlocking", "reinstalling", "busy")


@pytest.mark.parametrize("state", STATES)
def test_only_the_state_reinstalling_says_that_a_wipe_is_under_way(state: str) -> None:
    problem = Problem(status=409, type="transient_state", message=f"wait; (state: {state})")
    assert is_reinstalling(problem) is (state == "reinstalling")


def test_reinstalling_counts_only_as_the_state_of_a_transient_refusal() -> None:
    for problem in (
        Problem(status=409, type="transient_state", message="it is reinstalling"),
        Problem(status=409, type="conflict", message="(state: reinstalling)"),
        Problem(status=409, type="transient_state", message="(state: not_reinstalling)"),
    ):
        assert not is_reinstalling(problem)


def answer_once_deleted(p: Project, status: str) -> None:
    """Say what hosts of a project answer once they are deleted."""
    settings = replace(p.world.options.macs, deleted_status=status)
    p.world.cloud.options = replace(p.world.options, macs=settings)


async def test_a_host_that_is_not_there_is_gone_for_every_call_but_a_claim() -> None:
    p = Project()
    answer_once_deleted(p, "404")
    resource = await claimed(p)
    release = first(Goal.ABSENT, p.machine.with_health(was_ready=NOW), resource)
    p.world.console.do("delete", p.ids[0])
    assert await p.do(release) == Done(absent=(p.allocation_of,), missing=True)
    outcome = await p.do(first(Goal.PRESENT, p.machine))
    assert isinstance(outcome, Refused)


async def test_a_deleted_host_that_may_not_be_read_is_looked_for_by_an_observation() -> None:
    """As recorded: after DELETE a GET answers 403, and only a listing says that it is not there."""
    p = Project()
    resource = await claimed(p)
    release = first(Goal.ABSENT, p.machine.with_health(was_ready=NOW), resource)
    p.world.console.do("delete", p.ids[0])
    outcome = await p.do(release)
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.BUSY
    observation = await observe_one(p)
    assert observation.observed[0].complete
    assert not observation.resources


@pytest.mark.parametrize(
    ("named", "is_gone"), [("mac-1", True), ("mac-2", False), ("", False), ("mac-1/x", True)]
)
def test_only_a_404_that_names_the_host_says_that_it_is_gone(named: str, *, is_gone: bool) -> None:
    """A gateway's 404 names nothing: that was read as the end of a host once."""
    call = machine_calls.next_calls(Goal.PRESENT, machine(), (), LATER, CONSISTENCY_DELAY)[0]
    call = replace(call, target=ResourceId("mac-1#m"))
    problem = Problem(status=404, type="not_found", resource_id=named, json=True)
    outcome = unread_host(Failed(problem), call, "mac-1")
    assert isinstance(outcome, Done) is is_gone


@pytest.mark.parametrize("route", ["mac.reinstall", "mac.update"])
async def test_a_host_that_was_read_just_before_is_not_gone_by_one_answer(route: str) -> None:
    """A 404 that names it, right after a good read, is a flicker: only a look can tell."""
    p = Project()
    stage = Stage.WIPING if route == "mac.reinstall" else Stage.CLAIMED
    p.world.console.rename(p.ids[0], name(stage))
    call = on_host(p, HostGoal.CLEAN, await seen(p))
    p.world.script(Rule(fault="not_found_flicker", route=route))
    outcome = await p.do(call)
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.BUSY


async def test_a_host_is_put_into_its_pool_only_when_it_is_ready() -> None:
    p = Project()
    p.world.console.rename(p.ids[0], name(Stage.WIPING))
    free = on_host(p, HostGoal.CLEAN, await seen(p), wiping=NOW, wiped=NOW)
    assert free.kind == machine_calls.FREE
    p.world.console.do("reinstall", p.ids[0])
    outcome = await p.do(free)
    assert isinstance(outcome, Refused)
    assert not p.changes()
    p.clock.pass_by(timedelta(minutes=30))
    p.world.advance()
    assert isinstance(await p.do(free), Done)
    assert p.mac.name.startswith("pool-")


@pytest.mark.parametrize(
    ("problem", "floor"),
    [
        (Problem(status=412, type="precondition_failed", message=TEXT), True),
        (Problem(status=412, message=TEXT), True),
        (
            Problem(status=412, type="precondition_failed", precondition="unknown_precondition"),
            True,
        ),
        (Problem(status=400, type="precondition_failed", message=TEXT), True),
        (Problem(status=403, type="permissions_denied", message=TEXT), True),
        (Problem(status=403, type="permissions_denied", message="you may not"), False),
        (Problem(status=403, message="rate limit"), False),
        (Problem(status=400, type="invalid_arguments", message="server_id is required"), False),
        (Problem(status=409, type="transient_state", message="(state: reinstalling)"), False),
        (Problem(status=423, type="locked", message="locked"), False),
        (Problem(status=404, type="not_found", message=TEXT), False),
        (Problem(status=500, message=TEXT), False),
        (Problem(status=412, type="out_of_stock", message="none left"), False),
    ],
)
def test_a_deletion_that_is_refused_until_a_date_is_known_in_each_shape(
    problem: Problem, floor: bool
) -> None:
    """412 with a type and without one, 400, 403; and what only looks like it."""
    assert is_floor(problem) is floor


@pytest.mark.parametrize(
    ("text", "date"),
    [
        (TEXT, DATE),
        (UNTIL, DATE),
        ("cannot be deleted before 2026-06-12T07:06:59Z", DATE),
        ("cannot be deleted before next week", None),
        ("", None),
    ],
)
def test_the_date_is_read_from_the_refusal(text: str, date: datetime | None) -> None:
    assert floor_date(Problem(status=412, message=text)) == date


@pytest.mark.parametrize("shape", FLOORS)
async def test_a_deletion_that_comes_too_early_is_scheduled(shape: str) -> None:
    p = Project()
    p.world.cloud.options = replace(
        p.world.options, macs=replace(p.world.options.macs, floor=shape)
    )
    p.world.console.rename(p.ids[0], name(Stage.RETIRING))
    resource = await seen(p)
    due = resource.host.paid_until
    assert due
    unknown_since = replace(resource, host=replace(resource.host, paid_until=None))
    call = on_host(p, HostGoal.RETIRED, unknown_since)
    assert call.kind == machine_calls.DELETE
    outcome = await p.do(call)
    assert isinstance(outcome, Done)
    assert not outcome.absent
    assert p.mac.deletion_scheduled
    assert outcome.resources[0].host.scheduled
    again = await p.do(call)
    assert isinstance(again, Done), "asked again, it is as it was"


async def test_a_retired_host_is_freed_of_its_commitment_and_deleted() -> None:
    p = Project()
    answer_once_deleted(p, "404")
    p.world.console.rename(p.ids[0], name(Stage.RETIRING))
    p.mac.commitment, p.mac.deletable = "renewed_monthly", 0.0
    uncommit = on_host(p, HostGoal.RETIRED, await seen(p))
    assert uncommit.kind == machine_calls.UNCOMMIT
    assert isinstance(await p.do(uncommit), Done)
    assert p.mac.cancelled
    assert isinstance(await p.do(uncommit), Done)
    delete = on_host(p, HostGoal.RETIRED, await seen(p))
    assert delete.kind == machine_calls.DELETE
    assert await p.do(delete) == Done(absent=(ResourceId(p.ids[0]),))
    assert not list(p.world.cloud.macs)
    again = await p.do(delete)
    assert again == Done(absent=(ResourceId(p.ids[0]),), missing=True), "deleted already is deleted"


@pytest.mark.parametrize("status", ["404", "403"])
async def test_a_deleted_host_is_seen_to_be_gone_by_a_focused_observation(status: str) -> None:
    """403 is what some deleted hosts answer: then a whole listing says whether it is there."""
    p = Project()
    answer_once_deleted(p, status)
    await claimed(p)
    p.world.console.do("delete", p.ids[0])
    observation = await observe_one(p)
    assert observation.observed[0].complete, observation.observed[0].error
    assert not observation.resources


async def test_a_deleted_host_is_not_seen_to_be_gone_while_nothing_can_be_listed() -> None:
    p = Project()
    answer_once_deleted(p, "403")
    await claimed(p)
    p.world.console.do("delete", p.ids[0])
    p.world.script(Rule(fault="failed_500", route="mac.list", count=9))
    assert not (await observe_one(p)).observed[0].complete


async def test_a_host_that_is_only_forbidden_is_not_gone() -> None:
    """A rate limit in disguise answers 403 to everything: that is no look at all."""
    p = Project()
    await claimed(p)
    p.world.script(Rule(fault="forbidden_for_rate_limit", route="mac.get", count=9))
    observation = await observe_one(p)
    assert observation.observed[0].complete
    assert tenancy_in(observation).id == p.allocation_of
    p.world.script(Rule(fault="empty_list", count=9))
    observation = await observe_one(p)
    assert not observation.observed[0].complete, "an empty list beside it says no more"
    p.world.script(Rule(fault="forbidden_for_rate_limit", count=9))
    observation = await observe_one(p)
    assert not observation.observed[0].complete


@pytest.mark.parametrize("fails", [False, True])
async def test_a_listing_for_what_machines_have_tells_of_all_hosts_too(*, fails: bool) -> None:
    """Seed 233000193 of Macs: hosts that it showed as before passed for seen minutes ago."""
    p, zone = Project(2), machine().offer.zone
    if fails:
        p.world.script(Rule(fault="failed_500", route="mac.list", count=9))
    observation = await p.macs.observe((Scope(zone, SERVER.kind),))
    observed = {(one.scope.kind, one.complete) for one in observation.observed}
    assert observed == {(SERVER.kind, not fails), (HOSTS.kind, not fails)}
    hosts = {resource.id for resource in observation.resources if resource.slot == HOSTS}
    assert hosts == (set() if fails else set(p.ids))
    (alone,) = (await p.macs.observe((Scope(zone, HOSTS.kind),))).observed
    assert alone.scope.kind == HOSTS.kind


async def test_a_mac_of_another_project_is_never_a_resource() -> None:
    p = Project(2)
    p.mac.project = "another"
    observation = await p.macs.observe((Scope(machine().offer.zone, HOSTS.kind),))
    assert [resource.id for resource in observation.resources] == [p.ids[1]]
    p.wire.everything = True
    observation = await p.macs.observe((Scope(machine().offer.zone, HOSTS.kind),))
    assert [resource.id for resource in observation.resources] == [p.ids[1]], (
        "filtered again on our side"
    )
    listed = next(r for r in p.wire.sent if r.method == "GET")
    assert ("project_id", p.world.options.project) in listed.query


async def test_no_secret_is_in_what_an_observation_or_a_call_tells() -> None:
    p = Project()
    secret = p.mac.password
    resource = await claimed(p, Stage.RELEASING)
    outcome: Outcome = await p.do(
        first(Goal.ABSENT, p.machine.with_health(was_ready=NOW), resource)
    )
    assert secret not in repr((resource, outcome))
    assert resource.host.witness


async def test_an_answer_that_shows_another_machines_name_tells_nothing_of_ours() -> None:
    """Somebody renamed it between our write and the answer: only a look can tell."""
    p = Project()
    call = first(Goal.PRESENT, p.machine)
    output = p.macs._calls._done(call, mac(id=p.ids[0], name=name(Stage.PENDING)))
    assert [resource.id for resource in output.resources] == [p.allocation_of]
    other = p.macs._calls._done(call, mac(id=p.ids[0], name=name(Stage.PENDING, OTHER)))
    assert other == Done()


async def test_a_host_is_out_of_its_networks_when_each_of_them_says_so_itself() -> None:
    """Macs 82001058: every list is empty for a while, and one that is on its way out is no use."""
    network = "7c1d2a90-0f4e-4b6f-9d5e-2a6b3c4d5e6f"
    p = Project()
    p.world.console.rename(p.ids[0], name(Stage.WIPING))
    api = MacApi(Client(p.wire, Account(project=PROJECT, secret_key=Secret(SECRET)), p.clock))
    await api.change(ZONE, p.ids[0], {"enable_vpc": True})
    p.clock.pass_by(timedelta(minutes=5))
    await api.attach(ZONE, p.ids[0], network)
    p.clock.pass_by(timedelta(minutes=5))
    call = replace(
        on_host(p, HostGoal.CLEAN, await seen(p), wiping=NOW, wiped=NOW),
        kind=machine_calls.DETACH,
    )
    call = replace(call, args=(("expect", name(Stage.WIPING)), ("networks", network)))
    p.world.script(Rule(fault="empty_list", route="mac_network.list", count=9))
    for _ in range(2):
        assert await p.do(call) == Refused(
            why=Refusal.BUSY, text="it is being taken out of private networks"
        )
    p.clock.pass_by(timedelta(minutes=5))
    assert isinstance(await p.do(call), Done)
    assert not p.mac.attachments
