"""Calls as they go over the wire, and what their answers come to."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from msgspec.structs import replace
from scaleway_kit import (
    BLOCK,
    FLEET,
    INSTANCE,
    MACHINE,
    PROJECT,
    ZONE,
    HandClock,
    block_body,
    claim,
    get,
    ip_body,
    provider,
    server_body,
    tags,
)

from hostler.domain.ids import ResourceId
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Shows
from hostler.domain.model.resource import Condition, Slot
from hostler.ports.http import HttpRequest, Response
from hostler.providers.scaleway.common.settings import Disk, Template
from hostler.testing.peers.exchanges import Exchange, Script, answer

TEMPLATE = Template(
    cloud_init="#cloud-config\n",
    disks=(Disk(size=10, type="l_ssd"),),
    tags=("team=a",),
    security_group="sg-1",
    placement_group="pg-1",
)
WHOSE = (("fleet", str(FLEET)), ("machine", str(MACHINE)))
MISSING = answer({"type": "not_found", "message": "not found", "resource_id": "x"}, 404)


def call(kind: str, slot: Slot, target: str | None = None, **fields: object) -> Call:
    base = Call(
        kind=kind,
        slot=slot,
        zone=ZONE,
        effect=Effect.CHANGE,
        target=ResourceId(target) if target else None,
        attempt=2,
        args=WHOSE,
    )
    return replace(base, **fields)


def create(image: str = "ubuntu_noble") -> Call:
    args = (
        *WHOSE,
        ("name", "web-1"),
        ("type", "DEV1-S"),
        ("image", image),
        ("addresses", ("ip-1",)),
    )
    return call("server.create", Slot("server"), effect=Effect.MAKE, once=True, args=args)


def asked(method: str, path: str, sent: object, came: object = None, status: int = 200) -> Exchange:
    return Exchange(method=method, path=path, sent=sent, answer=answer(came, status))


async def done(call_: Call, *exchanges: Exchange, template: Template = TEMPLATE) -> Outcome:
    script = Script(list(exchanges))
    outcome = await provider(script, template).do(call_)
    script.finish()
    return outcome


async def test_an_address_is_made_with_its_owner_tag():
    made = call(
        "ip.create",
        Slot("address", 1),
        effect=Effect.MAKE,
        once=True,
        shows=Shows.RESOURCE,
        args=(*WHOSE, ("type", "routed_ipv6")),
    )
    body = {
        "project": PROJECT,
        "type": "routed_ipv6",
        "tags": [*tags(Slot("address", 1), 2), "team=a"],
    }
    came = {"ip": ip_body(type="routed_ipv6", address=None, tags=body["tags"])}
    outcome = await done(made, asked("POST", f"{INSTANCE}/ips", body, came, 201))
    assert isinstance(outcome, Done)
    (resource,) = outcome.resources
    assert (resource.slot, resource.owner_tag) == (
        Slot("address", 1),
        claim(Slot("address", 1), 2).owner_tag,
    )
    assert resource.condition is Condition.FREE


async def test_user_data_is_sent_as_text():
    path = f"{INSTANCE}/servers/srv-1/user_data/cloud-init"
    script = Script([Exchange(method="PATCH", path=path, answer=answer(None, 204))])
    outcome = await provider(script, TEMPLATE).do(call("server.user_data", Slot("server"), "srv-1"))
    assert outcome == Done()
    assert script.asked[0].body == b"#cloud-config\n"
    assert ("Content-Type", "text/plain") in script.asked[0].headers


async def test_power_and_termination_are_actions_after_which_the_server_is_on_its_way():
    path = f"{INSTANCE}/servers/srv-1/action"
    for kind, action, condition in (
        ("server.poweron", "poweron", Condition.STARTING),
        ("server.terminate", "terminate", Condition.STOPPING),
    ):
        outcome = await done(
            call(kind, Slot("server"), "srv-1"),
            asked("POST", path, {"action": action}, {"task": {}}, 202),
        )
        assert isinstance(outcome, Done)
        (resource,) = outcome.resources
        assert (resource.id, resource.condition, resource.allowed) == ("srv-1", condition, ())
        assert resource.owner_tag == claim(Slot("server"), 2).owner_tag


@pytest.mark.parametrize(
    ("kind", "slot", "path", "args"),
    [
        ("ip.delete", Slot("address"), f"{INSTANCE}/ips/x", ()),
        ("server.delete", Slot("server"), f"{INSTANCE}/servers/x", ()),
        ("volume.delete", Slot("volume"), f"{BLOCK}/volumes/x", (("type", "sbs_volume"),)),
        ("volume.delete", Slot("volume"), f"{INSTANCE}/volumes/x", (("type", "l_ssd"),)),
    ],
)
@pytest.mark.parametrize("came", [answer(None, 204), MISSING])
async def test_what_is_deleted_or_is_not_there_is_gone(
    kind: str, slot: Slot, path: str, args: tuple[tuple[str, str], ...], came: Response
):
    deleted = call(kind, slot, "x", effect=Effect.DESTROY, args=(*WHOSE, *args))
    outcome = await done(deleted, Exchange(method="DELETE", path=path, answer=came))
    assert outcome == Done(absent=(ResourceId("x"),), missing=came is MISSING)


async def test_a_volume_that_is_in_use_is_observed_again():
    body = {"type": "precondition_failed", "precondition": "resource_still_in_use", "message": "m"}
    deleted = call(
        "volume.delete",
        Slot("volume"),
        "vol-1",
        effect=Effect.DESTROY,
        args=(*WHOSE, ("type", "sbs_volume")),
    )
    for status in (400, 412):
        exchange = Exchange(
            method="DELETE", path=f"{BLOCK}/volumes/vol-1", answer=answer(body, status)
        )
        outcome = await done(deleted, exchange)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.WRONG_STATE


async def test_a_block_volume_is_tagged_and_gets_its_rate():
    tagged = call(
        "volume.tag",
        Slot("volume", 0),
        "vol-1",
        args=(*WHOSE, ("type", "sbs_volume"), ("iops", 15000)),
    )
    found = [*tags(Slot("volume", 0), 2), "team=a"]
    body = {"tags": found, "perf_iops": 15000}
    came = block_body(tags=found, specs={"perf_iops": 15000})
    outcome = await done(tagged, asked("PATCH", f"{BLOCK}/volumes/vol-1", body, came))
    assert isinstance(outcome, Done)
    assert outcome.resources[0].note("iops") == "15000"
    assert outcome.resources[0].slot == Slot("volume", 0)


async def test_a_local_volume_is_tagged():
    tagged = call(
        "volume.tag", Slot("volume", 1), "vol-2", args=(*WHOSE, ("type", "l_ssd"), ("iops", 5000))
    )
    found = [*tags(Slot("volume", 1), 2), "team=a"]
    came = {"volume": {"id": "vol-2", "tags": found, "server": {"id": "srv-1"}}}
    outcome = await done(tagged, asked("PATCH", f"{INSTANCE}/volumes/vol-2", {"tags": found}, came))
    assert isinstance(outcome, Done)
    assert (outcome.resources[0].slot, outcome.resources[0].owner) == (Slot("volume", 1), "srv-1")


async def test_an_address_is_attached():
    attach = call("ip.attach", Slot("address"), "ip-1", args=(*WHOSE, ("server", "srv-1")))
    came = {"ip": ip_body(server={"id": "srv-1"}, state="attached")}
    outcome = await done(attach, asked("PATCH", f"{INSTANCE}/ips/ip-1", {"server": "srv-1"}, came))
    assert isinstance(outcome, Done)
    assert outcome.resources[0].owner == "srv-1"


@pytest.mark.parametrize(("kind", "there"), [("server.protect", True), ("server.unprotect", False)])
async def test_protection_is_put_there_and_lifted(kind: str, *, there: bool):
    came = {"server": server_body(protected=there)}
    sent = asked("PATCH", f"{INSTANCE}/servers/srv-1", {"protected": there}, came)
    outcome = await done(call(kind, Slot("server"), "srv-1"), sent)
    assert isinstance(outcome, Done)
    assert outcome.resources[0].protected is there


async def test_the_volumes_of_a_server_are_written_down_without_asking():
    note = call(
        "server.volumes",
        Slot("server"),
        "srv-1",
        args=(*WHOSE, ("volumes", ("0:vol-7:sbs_volume", "1:vol-8:l_ssd"))),
    )
    outcome = await done(note)
    assert isinstance(outcome, Done)
    assert [(p.id, p.slot, p.owner, p.type) for p in outcome.resources] == [
        ("vol-7", Slot("volume", 0), "srv-1", "sbs_volume"),
        ("vol-8", Slot("volume", 1), "srv-1", "l_ssd"),
    ]
    assert all(resource.condition is Condition.UNKNOWN for resource in outcome.resources)


JOIN = replace(call("server.nic", Slot("server"), "srv-1"), args=(*WHOSE, ("network", "net-1")))
NICS = f"{INSTANCE}/servers/srv-1/private_nics"
TWICE = answer({"type": "invalid_arguments", "message": "already in this network"}, 400)


async def test_a_network_is_joined():
    outcome = await done(
        JOIN, asked("POST", NICS, {"private_network_id": "net-1"}, {"private_nic": {}}, 201)
    )
    assert outcome == Done()


async def test_a_network_that_was_joined_before_is_joined():
    refused = Exchange(method="POST", path=NICS, answer=TWICE)
    path = f"{INSTANCE}/servers/srv-1"
    there = server_body(private_nics=[{"private_network_id": "net-1"}])
    assert await done(JOIN, refused, get(path, {"server": there})) == Done()
    outcome = await done(JOIN, refused, get(path, {"server": server_body()}))
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.INVALID


async def test_calls_that_nobody_knows_and_fleets_without_a_template_are_refused():
    for wrong in (
        call("server.sing", Slot("server"), "srv-1"),
        call("server.poweron", Slot("server")),
        replace(create(), args=(("fleet", "other"),)),
        replace(call("server.user_data", Slot("server"), "srv-1"), args=(("fleet", "other"),)),
    ):
        outcome = await done(wrong)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.INVALID


async def test_a_damaged_id_never_becomes_a_path():
    for target in ("../servers/srv-2", "a/../b", "a b", "x?y=1", ""):
        deleted = call("ip.delete", Slot("address"), effect=Effect.DESTROY)
        outcome = await done(replace(deleted, target=ResourceId(target)))
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.NOT_SENT


@dataclass(slots=True)
class SlowToRead(Script):
    """A script whose every reading takes so long; a process may have stood still meanwhile."""

    clock: HandClock = field(default_factory=HandClock)
    takes: timedelta = timedelta(seconds=21)

    async def send(self, request: HttpRequest, deadline: timedelta) -> Response:
        if request.method == "GET":
            self.clock.at += self.takes
        return await Script.send(self, request, deadline)


@pytest.mark.parametrize(
    ("made", "path", "body"),
    [
        (call("server.tag", Slot("server"), "srv-1"), "servers/srv-1", {"server": server_body()}),
        (call("ip.tag", Slot("address"), "ip-1"), "ips/ip-1", {"ip": ip_body()}),
        (
            call("ip.release", Slot("address"), "ip-1"),
            "ips/ip-1",
            {"ip": ip_body(tags=tags(Slot("address")))},
        ),
    ],
    ids=["tag of a server", "tag of an address", "address of a pool"],
)
async def test_what_took_too_long_to_be_read_changes_nothing(
    made: Call, path: str, body: object
) -> None:
    """Instances 82001414: a process stood still between the two, and another one led by then."""
    clock = HandClock()
    script = SlowToRead([get(f"{INSTANCE}/{path}", body)], clock=clock)
    outcome = await provider(script, TEMPLATE, clock).do(made)
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.NOT_SENT
    assert [request.method for request in script.asked] == ["GET"]
