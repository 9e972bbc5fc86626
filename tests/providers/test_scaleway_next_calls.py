"""Making, as a pure function: which calls come next, from every prefix, and in which order."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from scaleway_kit import NOW, ZONE, claim, machine, provider
from scaleway_steps import (
    FULL,
    RUNNING,
    STOPPED,
    answered,
    first_calls,
    made,
    resource,
    server,
    take,
)

from hostler.domain.ids import MachineId, ResourceId, Zone
from hostler.domain.model.calls import Done, Effect, Refusal, Refused
from hostler.domain.model.machine import Known, Origin, Place
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Condition, Resource, Slot
from hostler.domain.observation.outcomes import apply_to_resources, planned
from hostler.providers.scaleway.common.settings import Template


def test_a_server_is_made_in_the_order_that_leaves_nothing_unmarked():
    assert first_calls(FULL) == [
        "ip.create for address 0",
        "ip.create for address 1",
        "server.create for server",
        "volume.tag vol-0",
        "volume.tag vol-1",
        "volume.tag vol-2",
        "server.user_data srv-1",
        "server.nic srv-1",
        "server.poweron srv-1",
    ]


def test_a_volume_that_outlived_its_server_is_not_tagged_as_the_next_servers():
    """Its tagging would count as done, and the volume at work would have no tag and no rate."""
    template = Template(ipv4=False)
    left = resource(Slot("volume", 0), "left", Condition.FREE)
    known = Known(id=left.id, zone=left.zone, since=NOW)
    record = machine().with_place(Place(slot=left.slot, bound=left.id, known=(known,)))
    call = provider(template=template).next_calls(Goal.PRESENT, record, (left,), NOW)[0]
    lagging = Done(resources=(server(Condition.OFF, STOPPED),))
    alone = take(record, (left,), call, lagging, 1)
    assert provider(template=template).next_calls(Goal.PRESENT, *alone, NOW) == ()
    whole = take(record, (left,), call, answered(call, template), 1)
    calls = provider(template=template).next_calls(Goal.PRESENT, *whole, NOW)
    assert [str(one) for one in calls] == ["volume.tag vol-0"]


def test_the_least_template_makes_the_least_calls():
    assert first_calls(Template(ipv4=False)) == [
        "server.create for server",
        "volume.tag vol-0",
        "server.poweron srv-1",
    ]


def test_the_plan_on_placeholders_lists_the_same_calls():
    source, record = provider(template=FULL), machine()
    resources, kinds = tuple[Resource, ...](), list[str]()
    while calls := source.next_calls(Goal.PRESENT, record, resources, NOW):
        kinds.append(calls[0].kind)
        record, resources = take(
            record, resources, calls[0], planned(calls[0], 0, resources), len(kinds)
        )
    assert kinds == [line.split()[0] for line in first_calls(FULL)]


def test_once_calls_are_the_creations_and_the_power_and_carry_the_next_attempt():
    once = {
        calls[0].kind: (calls[0].attempt, calls[0].shows)
        for _, _, calls in made(FULL)
        if calls and calls[0].once
    }
    assert once == {
        "ip.create": (1, "resource"),
        "server.create": (1, "resource"),
        "server.poweron": (1, "power"),
    }


def test_a_second_attempt_is_numbered_per_slot():
    record = machine()
    call = provider().next_calls(Goal.PRESENT, record, (), NOW)[0]
    record, _ = take(record, (), call, Refused(why=Refusal.BUSY, text="busy"), 1)
    again = provider().next_calls(Goal.PRESENT, record, (), NOW)[0]
    assert (again.kind, again.attempt) == ("ip.create", 2)
    assert record.place(Slot("server")).attempt == 0


def test_the_servers_call_names_what_it_is_made_of_and_no_cloud_init():
    call = next(c[0] for _, _, c in made(FULL) if c and c[0].kind == "server.create")
    assert call.arg("addresses") == ("ip-0", "ip-1")
    assert call.arg("volumes") == (
        "20 GB sbs_volume 5000 IOPS",
        "50 GB sbs_volume 15000 IOPS",
        "10 GB l_ssd",
    )
    assert call.arg("type") == "DEV1-S"
    assert call.arg("image") == "ubuntu_noble"
    assert "#cloud-config" not in str([c for _, _, calls in made(FULL) for c in calls])


def test_resuming_from_every_prefix_goes_on_where_it_stopped():
    """A restart loses nothing but the answers' parts: a look brings them back."""
    for record, resources, calls in made(FULL):
        observed = tuple(reversed(resources))
        assert provider(template=FULL).next_calls(Goal.PRESENT, record, observed, NOW) == calls


def test_the_same_arguments_give_the_same_calls():
    source = provider(template=FULL)
    for record, resources, calls in made(FULL):
        assert source.next_calls(Goal.PRESENT, record, resources, NOW + timedelta(hours=1)) == calls


def test_power_is_given_only_when_every_slot_is_bound():
    record, resources, calls = made(FULL)[-2]
    assert calls[0].kind == "server.poweron"
    for place in record.places:
        unbind = record.with_place(replace(place, bound=None))
        next_ = provider(template=FULL).next_calls(Goal.PRESENT, unbind, resources, NOW)
        assert all(call.kind != "server.poweron" for call in next_), place.slot


def test_power_is_given_only_when_every_fact_is_there():
    record, resources, _ = made(FULL)[-2]
    for fact in record.facts:
        less = replace(record, facts=tuple(f for f in record.facts if f != fact))
        next_ = provider(template=FULL).next_calls(Goal.PRESENT, less, resources, NOW)
        assert next_, fact
        assert all(call.kind != "server.poweron" for call in next_), fact


@pytest.mark.parametrize("allowed", [(), ("backup",)])
def test_power_is_given_only_when_the_api_allows_it(allowed: tuple[str, ...]):
    record, resources, _ = made(FULL)[-2]
    resources = apply_to_resources(resources, Done(resources=(server(Condition.OFF, allowed),)))
    assert provider(template=FULL).next_calls(Goal.PRESENT, record, resources, NOW) == ()


@pytest.mark.parametrize("condition", list(Condition))
def test_a_server_that_was_switched_on_is_never_switched_on_again(condition: Condition):
    record, resources, _ = made(FULL)[-1]
    resources = apply_to_resources(resources, Done(resources=(server(condition, STOPPED),)))
    assert provider(template=FULL).next_calls(Goal.PRESENT, record, resources, NOW) == ()


def test_a_refused_power_on_may_be_tried_again():
    record, resources, calls = made(FULL)[-2]
    record, resources = take(
        record, resources, calls[0], Refused(why=Refusal.BUSY, text="busy"), 50
    )
    again = provider(template=FULL).next_calls(Goal.PRESENT, record, resources, NOW)
    assert [call.kind for call in again] == ["server.poweron"]


def test_facts_of_an_earlier_server_do_not_count_for_the_next():
    record, resources, _ = made(FULL)[-2]
    place = record.place(Slot("server"))
    later = replace(place.known[0], since=NOW + timedelta(minutes=5))
    record = record.with_place(replace(place, known=(later,)))
    kinds = [
        c.kind for c in provider(template=FULL).next_calls(Goal.PRESENT, record, resources, NOW)
    ]
    assert kinds == ["volume.tag"] * 3 + ["server.user_data", "server.nic"]


def test_a_promised_server_is_waited_for():
    record, resources, _ = made(FULL)[4]
    promised = resource(Slot("server"), "srv-1", Condition.UNKNOWN, status="promised", notes=())
    resources = apply_to_resources(resources, Done(resources=(promised,)))
    assert provider(template=FULL).next_calls(Goal.PRESENT, record, resources, NOW) == ()


def test_a_slot_whose_bound_resource_is_not_seen_is_not_filled_again():
    record, resources, _ = made(FULL)[-1]
    for unseen in resources:
        left = tuple(p for p in resources if p != unseen)
        for call in provider(template=FULL).next_calls(Goal.PRESENT, record, left, NOW):
            assert call.effect is not Effect.MAKE, unseen.slot


def test_an_address_that_hangs_on_nothing_is_attached_before_the_start():
    record, resources, _ = made(FULL)[-2]
    resources = apply_to_resources(
        resources, Done(resources=(resource(Slot("address", 0), "ip-0", Condition.FREE),))
    )
    calls = provider(template=FULL).next_calls(Goal.PRESENT, record, resources, NOW)
    assert [(c.kind, c.target, c.arg("server")) for c in calls] == [("ip.attach", "ip-0", "srv-1")]


def test_an_address_that_was_taken_off_a_server_which_starts_is_attached_again():
    """It was only once the machine was ready, which it never was without it (servers 117000034)."""
    record, resources, _ = made(FULL)[-2]
    free = resource(Slot("address", 0), "ip-0", Condition.FREE)
    up = server(Condition.UP, ("poweroff",))
    without = apply_to_resources(resources, Done(resources=(free, up)))
    calls = provider(template=FULL).next_calls(Goal.PRESENT, record, without, NOW)
    assert [(c.kind, c.target, c.arg("server")) for c in calls] == [("ip.attach", "ip-0", "srv-1")]
    whole = apply_to_resources(resources, Done(resources=(up,)))
    assert provider(template=FULL).next_calls(Goal.PRESENT, record, whole, NOW) == ()


@pytest.mark.parametrize(("seen", "kinds"), [("51.15.0.1", ()), ("51.15.0.2", ("ip.attach",))])
def test_an_address_that_its_server_shows_is_not_attached_again(seen: str, kinds: tuple[str, ...]):
    """The list of addresses is older than the server: each cycle attached it once more."""
    record, resources, _ = made(FULL)[-2]
    listed = replace(resource(Slot("address", 0), "ip-0", Condition.FREE), address="51.15.0.1")
    stopped = replace(server(Condition.OFF, STOPPED), address=seen)
    resources = apply_to_resources(resources, Done(resources=(listed, stopped)))
    calls = provider(template=FULL).next_calls(Goal.PRESENT, record, resources, NOW)
    assert tuple(c.kind for c in calls if c.kind == "ip.attach") == kinds


def test_a_plan_attaches_the_address_that_it_makes_for_a_server_that_exists():
    """A server that was adopted without an address gets one; a plan knows that it is attached."""
    record, resources, _ = made(FULL)[-2]
    placeholder = replace(
        resource(Slot("address", 0), "<address 0>", Condition.FREE), status="planned"
    )
    others = tuple(one for one in resources if one.slot != Slot("address", 0))
    calls = provider(template=FULL).next_calls(Goal.PRESENT, record, (*others, placeholder), NOW)
    assert [(c.kind, c.target) for c in calls] == [("ip.attach", "<address 0>")]


def test_a_network_that_the_servers_body_shows_is_not_joined_again():
    record, resources, calls = made(FULL)[7]
    assert calls[0].kind == "server.nic"
    joined = replace(server(Condition.OFF, STOPPED), notes=(("nics", "net-0,net-1"),))
    resources = apply_to_resources(resources, Done(resources=(joined,)))
    kinds = [
        c.kind for c in provider(template=FULL).next_calls(Goal.PRESENT, record, resources, NOW)
    ]
    assert kinds == ["server.poweron"]


# ------------------------------------------------------------------ what is too much


def extra(slot: Slot, id_: str, condition: Condition, **fields: object) -> Resource:
    return resource(slot, id_, condition, surplus=True, **fields)


def test_surplus_is_removed_first_and_nothing_else():
    record, resources, calls = made(FULL)[-2]
    resources = (
        *resources,
        extra(Slot("address", 0), "ip-9", Condition.FREE),
        extra(Slot("server"), "srv-9", Condition.UP, allowed=RUNNING, notes=()),
        extra(Slot("volume", 0), "vol-9", Condition.BUSY, owner=ResourceId("srv-9")),
        extra(Slot("volume", 1), "vol-8", Condition.FREE),
    )
    found = provider(template=FULL).next_calls(Goal.PRESENT, record, resources, NOW)
    assert [str(c) for c in found] == [
        "ip.delete ip-9",
        "server.terminate srv-9",
        "volume.delete vol-8",
        *map(str, calls),
    ]


def test_surplus_that_cannot_be_removed_takes_turns_with_what_goes_on():
    record, resources, calls = made(FULL)[-2]
    resources = (*resources, extra(Slot("address", 0), "ip-9", Condition.FREE))
    failed = replace(record, tries=1)
    found = provider(template=FULL).next_calls(Goal.PRESENT, failed, resources, NOW)
    assert [str(c) for c in found] == [*map(str, calls), "ip.delete ip-9"]


def test_a_resource_in_another_zone_is_removed_and_its_slot_is_filled_here():
    away = resource(Slot("address", 0), "ip-9", Condition.FREE, zone=Zone("nl-ams-1"))
    found = provider().next_calls(Goal.PRESENT, machine(), (away,), NOW)
    assert [(str(c), c.zone) for c in found] == [
        ("ip.delete ip-9", "nl-ams-1"),
        ("ip.create for address 0", ZONE),
    ]


@pytest.mark.parametrize("goal", [Goal.PRESENT, Goal.ABSENT])
@pytest.mark.parametrize(
    "owner_tag",
    [
        claim(Slot("server"), machine=MachineId("m-zzzzzzzzzz")).owner_tag,
        claim(Slot("server"), home="elsewhere").owner_tag,
    ],
)
def test_a_resource_with_somebody_elses_owner_tag_is_never_touched(goal: Goal, owner_tag: object):
    record, resources, _ = made(Template())[-1]
    wrong = tuple(
        replace(p, owner_tag=owner_tag, surplus=surplus)
        for p in resources
        for surplus in (False, True)
    )
    touched = {c.target for c in provider().next_calls(goal, record, wrong, NOW) if c.target}
    assert touched == set()


def test_an_adopted_machine_keeps_the_owner_tags_of_its_old_installation():
    record = replace(machine(), origin=Origin.ADOPTED)
    old = replace(
        server(Condition.UP, RUNNING), owner_tag=claim(Slot("server"), home="elsewhere").owner_tag
    )
    assert [c.kind for c in provider().next_calls(Goal.ABSENT, record, (old,), NOW)] == [
        "server.terminate"
    ]
