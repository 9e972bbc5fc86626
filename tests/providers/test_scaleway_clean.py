"""Clearing, as a pure function: by what each part allows, from every prefix, and never twice."""

import pytest
from msgspec.structs import replace
from scaleway_kit import MACHINE, NOW, claim, machine, provider
from scaleway_steps import (
    FULL,
    RUNNING,
    STOPPED,
    State,
    made,
    resource,
    server,
    take,
)

from hostler.domain.ids import InstallationId, ResourceId
from hostler.domain.model.calls import Done, Effect
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Condition, Resource, Slot
from hostler.providers.scaleway.common.settings import Template
from hostler.providers.scaleway.instances.provider import Instances


def test_volumes_that_nobody_knows_yet_are_written_down_before_their_server_goes():
    notes = (("volumes", "0:vol-7:sbs_volume,1:vol-8:l_ssd"),)
    running = replace(server(Condition.UP, RUNNING), notes=notes)
    ip = resource(Slot("address", 0), "ip-0", Condition.BUSY)
    first = provider().next_calls(Goal.ABSENT, machine(), (running, ip), NOW)[0]
    assert (first.kind, first.target, first.effect) == ("server.volumes", "srv-1", Effect.CHANGE)
    seven = resource(Slot("volume", 0), "vol-7", Condition.UNKNOWN, status="promised")
    eight = resource(Slot("volume", 1), "vol-8", Condition.UNKNOWN, status="promised")
    assert kinds(provider(), machine(), (running, ip, seven, eight)) == [
        "ip.delete ip-0",
        "server.terminate srv-1",
    ]


def kinds(source: Instances, record: Machine, resources: tuple[Resource, ...]) -> list[str]:
    return [str(c) for c in source.next_calls(Goal.ABSENT, record, resources, NOW)]


@pytest.mark.parametrize(
    ("condition", "allowed", "expected"),
    [
        (Condition.OFF, STOPPED, ["server.delete srv-1"]),
        (Condition.OFF, (), []),
        (Condition.STARTING, ("stop_in_place", "backup"), []),
        (Condition.STARTING, (), []),
        (Condition.UP, RUNNING, ["server.terminate srv-1"]),
        (Condition.UP, ("backup",), []),
        (Condition.STOPPING, ("stop_in_place", "backup"), []),
        (Condition.STANDBY, ("poweron", "terminate"), ["server.terminate srv-1"]),
        (Condition.LOCKED, (), []),
        (Condition.UNKNOWN, (), []),
    ],
)
def test_a_server_goes_by_what_it_allows(
    condition: Condition, allowed: tuple[str, ...], expected: list[str]
):
    assert kinds(provider(), machine(), (server(condition, allowed),)) == expected


@pytest.mark.parametrize("condition", list(Condition))
def test_an_address_goes_at_once(condition: Condition):
    ip = resource(Slot("address", 0), "ip-0", condition, owner=ResourceId("srv-1"))
    assert kinds(provider(), machine(), (ip,)) == ["ip.delete ip-0"]


@pytest.mark.parametrize("condition", list(Condition))
def test_a_volume_goes_only_when_it_is_free(condition: Condition):
    volume = resource(Slot("volume", 0), "vol-0", condition)
    expected = ["volume.delete vol-0"] if condition is Condition.FREE else []
    assert kinds(provider(), machine(), (volume,)) == expected


def test_a_volume_waits_for_the_server_that_holds_it_and_no_other():
    stopping = server(Condition.STOPPING, ())
    held = resource(Slot("volume", 0), "vol-0", Condition.FREE, owner=ResourceId("srv-1"))
    free = resource(Slot("volume", 1), "vol-1", Condition.FREE)
    assert kinds(provider(), machine(), (stopping, held, free)) == ["volume.delete vol-1"]
    assert kinds(provider(), machine(), (held, free)) == [
        "volume.delete vol-0",
        "volume.delete vol-1",
    ]


def test_protection_by_hand_is_respected_and_ours_is_lifted():
    protected = replace(server(Condition.UP, RUNNING), protected=True)
    assert kinds(provider(), machine(), (protected,)) == []
    ours = provider(template=Template(protected=True))
    assert kinds(ours, machine(), (protected,)) == ["server.unprotect srv-1"]


def test_clearing_works_without_a_template():
    record = replace(machine(), fleet=type(machine().fleet)("other"))
    owner_tag = replace(claim(Slot("server")).owner_tag, fleet=record.fleet)
    off = replace(server(Condition.OFF, STOPPED), owner_tag=owner_tag)
    assert kinds(provider(), record, (off,)) == ["server.delete srv-1"]
    assert provider().next_calls(Goal.PRESENT, record, (), NOW) == ()


@pytest.mark.parametrize(
    ("condition", "allowed"),
    [
        (Condition.OFF, STOPPED),
        (Condition.UP, RUNNING),
        (Condition.STANDBY, ("poweron", "terminate")),
    ],
)
def test_every_prefix_can_be_cleared_and_clearing_twice_does_nothing(
    condition: Condition, allowed: tuple[str, ...]
):
    for record, before, _ in made(FULL):
        resources = tuple(
            server(condition, allowed) if p.slot.kind == "server" else p for p in before
        )
        record_, left = cleared(record, resources)
        assert left == ()
        assert kinds(provider(template=FULL), record_, left) == []


def cleared(record: Machine, resources: tuple[Resource, ...]) -> State:
    """Clear as the engine does; a look after each round shows what has gone meanwhile."""
    source = provider(template=FULL)
    for step in range(20):
        calls = source.next_calls(Goal.ABSENT, record, resources, NOW)
        assert all(call.effect is Effect.DESTROY for call in calls)
        for call in calls:
            record, resources = take(
                record, resources, call, Done(absent=(ResourceId(call.target or ""),)), step
            )
        if not any(p.slot.kind == "server" for p in resources):
            resources = tuple(replace(p, condition=Condition.FREE, owner=None) for p in resources)
        if not resources:
            break
    return record, resources


def test_the_machine_of_these_tests_is_the_one_that_is_tagged():
    assert machine().id == MACHINE
    assert InstallationId("home1234") == claim(Slot("server")).owner_tag.installation
