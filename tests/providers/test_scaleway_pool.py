"""Addresses of a pool: taken and given back, by one tenancy after another, and never deleted."""

import json

import pytest
from msgspec.structs import replace
from scaleway_kit import (
    INSTANCE,
    MACHINE,
    NOW,
    ZONE,
    HandClock,
    get,
    ip_body,
    machine,
    no_prices,
    page,
    provider,
    server_body,
    tags,
)
from scaleway_steps import RUNNING, server

from hostler.domain.ids import MachineId, ResourceId
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.machine import Known, Machine, Place
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Resource, Scope, Slot
from hostler.ports.http import NoAnswer, NotSent, Response
from hostler.providers.scaleway.common.settings import Template
from hostler.providers.scaleway.instances.provider import Instances
from hostler.testing.peers.exchanges import Exchange, Script, answer

TEMPLATE = Template(pool="spare", tags=("team=a",))
IPS = f"{INSTANCE}/ips"
MINE = ResourceId(f"ip-1@{MACHINE}")
SLOT = Slot("address", 0)
OTHER = MachineId("m-zzzzzzzzzz")


def spare(ip: str, **fields: object) -> dict[str, object]:
    return ip_body(ip, **{"tags": ["spare", "dns"], **fields})


def taken(ip: str = "ip-1", by: MachineId = MACHINE, **fields: object) -> dict[str, object]:
    owner_tags = ["spare", "dns", "hostler-pool=spare", *tags(SLOT, machine=by)]
    return ip_body(ip, **{"tags": owner_tags, **fields})


def source(script: Script, clock: HandClock | None = None) -> Instances:
    return provider(script, TEMPLATE, clock)


def take() -> Call:
    return source(Script([])).next_calls(Goal.PRESENT, machine(), (), NOW)[0]


def release() -> Call:
    held = Resource(id=MINE, slot=SLOT, zone=ZONE, condition=Condition.UNKNOWN, status="promised")
    (call,) = source(Script([])).next_calls(Goal.ABSENT, machine(), (held,), NOW)
    return call


def patch(came: Response | NotSent | NoAnswer, ip: str = "ip-1", sent: object = None) -> Exchange:
    return Exchange(method="PATCH", path=f"{IPS}/{ip}", sent=sent, answer=came)


async def done(call: Call, *exchanges: Exchange) -> Outcome:
    script = Script(list(exchanges))
    outcome = await source(script).do(call)
    script.finish()
    return outcome


def why(outcome: Outcome) -> Refusal:
    assert isinstance(outcome, Refused)
    return outcome.why


def test_taking_is_a_creation_that_is_never_repeated_and_giving_back_a_destruction():
    call = take()
    assert (call.kind, call.effect, call.once, call.attempt) == ("ip.take", Effect.MAKE, True, 1)
    back = release()
    assert (back.kind, back.effect, back.target) == ("ip.release", Effect.DESTROY, MINE)


BARE = Resource(
    id=MINE,
    slot=SLOT,
    zone=ZONE,
    condition=Condition.BUSY,
    status="attached",
    owner=ResourceId("srv-1"),
)
"""A taken address whose tags somebody took away, as the record has it recognized."""


@pytest.mark.parametrize(("seen", "calls"), [(MINE, ()), (ResourceId("ip-1"), ("ip.delete",))])
def test_an_address_of_a_pool_that_lost_its_tags_is_left_alone(
    seen: ResourceId, calls: tuple[str, ...]
):
    """It was deleted: it hangs on a server of ours, and nothing said more of it."""
    found = source(Script([])).next_calls(Goal.ABSENT, machine(), (replace(BARE, id=seen),), NOW)
    assert tuple(call.kind for call in found) == calls


@pytest.mark.parametrize("left", [[], ["dns"], ["hostler-pool=spare"]])
async def test_an_address_of_a_pool_that_lost_its_tags_is_its_pools_again(left: list[str]):
    """It was tagged as the machine's own, which would have deleted it with the machine."""
    there = ip_body("ip-1", tags=left, server={"id": "srv-1"})
    mended = taken(server={"id": "srv-1"})
    own = ["spare", "hostler-pool=spare", *tags(SLOT, attempt=0), "team=a"]
    after = {"tags": [*own, *(tag for tag in left if tag not in own)]}
    script = Script([get(f"{IPS}/ip-1", {"ip": there}), patch(answer({"ip": mended}), sent=after)])
    ready, up = replace(machine(), phase=Phase.READY), server(Condition.UP, RUNNING)
    place = source(script)
    call = next(c for c in place.next_calls(Goal.PRESENT, ready, (up, BARE), NOW) if c.slot == SLOT)
    assert (call.kind, call.drift) == ("ip.tag", "the owner tag of address 0 is gone")
    outcome = await place.do(call)
    assert isinstance(outcome, Done)
    assert [one.id for one in outcome.resources] == [MINE]
    script.finish()


UNSAID = ip_body("ip-1", tags=["spare", "dns", *tags(SLOT)])
"""A taken address of which somebody took away the tag that says that it was taken."""

RECORDED = machine().with_place(
    Place(slot=SLOT, attempt=1, bound=MINE, known=(Known(id=MINE, zone=ZONE, since=NOW),))
)
NOBODYS = replace(machine(), version=0, serial=0)
"""What stands for a machine that has no record, as in a reclaim."""
WHOLE = (Scope(ZONE, "server"), Scope(ZONE, "address"))


def given_back() -> Script:
    """Return the exchanges in which that address is listed, and then given back."""
    return Script(
        [
            no_prices(),
            page(f"{INSTANCE}/servers", "servers"),
            page(IPS, "ips", UNSAID),
            get(f"{IPS}/ip-1", {"ip": UNSAID}),
            patch(answer({"ip": spare("ip-1")}), sent={"tags": ["spare", "dns"]}),
        ]
    )


@pytest.mark.parametrize("record", [RECORDED, NOBODYS])
async def test_an_address_of_a_pool_that_lost_only_the_pools_tag_is_given_back(record: Machine):
    """It was another resource: left alone for ever where a record knew it, and else deleted."""
    script = given_back()
    place = source(script)
    observation = await place.observe(WHOLE)
    (call,) = place.next_calls(Goal.ABSENT, record, observation.resources, NOW)
    assert (call.kind, call.target) == ("ip.release", MINE)
    assert await place.do(call) == Done(absent=(MINE,))
    script.finish()


async def test_our_tags_are_taken_from_an_address_whose_pool_no_fleet_names_any_more():
    """Nothing was planned: its machine was about to end for ever."""
    script = given_back()
    place = provider(script, Template())
    observation = await place.observe(WHOLE)
    (call,) = place.next_calls(Goal.ABSENT, RECORDED, observation.resources, NOW)
    assert (call.kind, call.effect, call.target) == ("ip.release", Effect.CHANGE, "ip-1")
    assert await place.do(call) == Done(absent=(ResourceId("ip-1"),))
    script.finish()


async def test_a_free_address_is_taken_by_writing_our_owner_tag_beside_the_pools():
    listing = page(
        IPS,
        "ips",
        spare("ip-0", server={"id": "srv-9"}, state="attached"),
        spare("ip-00", tags=["other"]),
        spare("ip-01", type="routed_ipv6"),
        spare("ip-02", state="error"),
        spare("ip-03", project="another"),
        taken("ip-04", OTHER),
        spare("ip-05", tags=["spare", "hostler=damaged"]),
        spare("ip-2"),
        spare("ip-1"),
    )
    owner_tags = ["spare", "dns", "hostler-pool=spare", *tags(SLOT)]
    outcome = await done(take(), listing, patch(answer({"ip": taken()}), sent={"tags": owner_tags}))
    assert isinstance(outcome, Done)
    (resource,) = outcome.resources
    assert (resource.id, resource.slot, resource.condition) == (MINE, SLOT, Condition.FREE)
    assert resource.owner_tag is not None
    assert resource.owner_tag.machine == MACHINE


async def test_an_empty_pool_is_told_as_a_quota():
    outcome = await done(take(), page(IPS, "ips"))
    assert why(outcome) is Refusal.QUOTA
    assert isinstance(outcome, Refused)
    assert outcome.text == "no free address with the tag 'spare' in fr-par-1"


async def test_a_pool_that_cannot_be_read_had_nothing_taken():
    dead = Exchange(method="GET", path=IPS, answer=NoAnswer("hung"))
    assert why(await done(take(), dead)) is Refusal.BUSY


async def test_an_address_that_was_just_taken_is_not_taken_again_from_a_listing_that_lags():
    clock = HandClock()
    listing = page(IPS, "ips", spare("ip-1"), spare("ip-2"))
    script = Script([listing, patch(answer({"ip": taken()}))])
    place = source(script, clock)
    await place.do(take())
    script.exchanges += [listing, patch(NoAnswer("reset"), "ip-2")]
    assert isinstance(await place.do(take()), Unknown)
    script.exchanges += [listing]
    assert why(await place.do(take())) is Refusal.QUOTA
    clock.at = NOW.replace(minute=6)
    script.exchanges += [listing, patch(answer({"ip": taken()}))]
    assert isinstance(await place.do(take()), Done)
    script.finish()


async def test_an_address_whose_taking_was_refused_may_be_taken_by_the_next():
    listing = page(IPS, "ips", spare("ip-1"))
    refused = answer({"type": "locked", "message": "m"}, 423)
    script = Script([listing, patch(refused), listing, patch(answer({"ip": taken()}))])
    place = source(script)
    assert why(await place.do(take())) is Refusal.BUSY
    assert isinstance(await place.do(take()), Done)
    script.finish()


@pytest.mark.parametrize("came", [NoAnswer("x"), answer(b"{", 200), answer(b"<html>", 502)])
async def test_an_address_whose_taking_is_unknown_is_left_alone(came: Response | NoAnswer):
    listing = page(IPS, "ips", spare("ip-1"))
    script = Script([listing, patch(came), listing])
    place = source(script)
    assert isinstance(await place.do(take()), Unknown)
    assert why(await place.do(take())) is Refusal.QUOTA


async def test_an_address_is_given_back_detached_and_without_our_owner_tags():
    body = {"tags": ["spare", "dns"], "server": None}
    attached = taken(server={"id": "srv-1"}, state="attached")
    outcome = await done(
        release(),
        get(f"{IPS}/ip-1", {"ip": attached}),
        patch(answer({"ip": spare("ip-1")}), sent=body),
    )
    assert outcome == Done(absent=(MINE,))


@pytest.mark.parametrize("body", [taken(by=OTHER), spare("ip-1")])
async def test_an_address_that_is_anothers_by_now_is_not_touched(body: dict[str, object]):
    assert await done(release(), get(f"{IPS}/ip-1", {"ip": body})) == Done(absent=(MINE,))


async def test_an_address_that_is_no_more_is_gone_and_one_that_cannot_be_read_is_not():
    missing = answer({"type": "not_found", "message": "m"}, 404)
    for came, expected in ((missing, None), (answer(b"", 502), Refusal.BUSY)):
        outcome = await done(release(), Exchange(method="GET", path=f"{IPS}/ip-1", answer=came))
        if expected is None:
            assert outcome == Done(absent=(MINE,), missing=True)
        else:
            assert why(outcome) is expected


async def test_an_address_of_a_pool_is_one_resource_for_each_allocation():
    """The next tenant's address is another part: the last tenant's is seen to be gone."""
    known = Scope(ZONE, "address", MACHINE, (MINE,))
    for body, expected in ((taken(), [MINE]), (taken(by=OTHER), []), (spare("ip-1"), [])):
        script = Script(
            [
                page(f"{INSTANCE}/servers", "servers"),
                page(IPS, "ips"),
                get(f"{IPS}/ip-1", {"ip": body}),
            ]
        )
        observation = await source(script).observe((known,))
        script.finish()
        assert [resource.id for resource in observation.resources] == expected
        assert observation.observed[0].complete


async def test_a_pools_address_without_an_owner_tag_is_never_a_resource_whatever_it_hangs_on():
    script = Script(
        [
            no_prices(),
            page(f"{INSTANCE}/servers", "servers", server_body()),
            page(
                IPS,
                "ips",
                spare("ip-1", server={"id": "srv-1"}),
                ip_body("ip-2", tags=["hostler-pool=old"], server={"id": "srv-1"}),
                ip_body("ip-3", tags=[], server={"id": "srv-1"}),
            ),
        ]
    )
    observation = await source(script).observe((Scope(ZONE, "server"), Scope(ZONE, "address")))
    assert [resource.id for resource in observation.resources] == ["srv-1", "ip-3"]


async def test_a_server_gets_the_address_itself_and_the_record_keeps_the_tenancys():
    resource = Resource(id=MINE, slot=SLOT, zone=ZONE, condition=Condition.FREE)
    (call,) = source(Script([])).next_calls(Goal.PRESENT, machine(), (resource,), NOW)
    assert call.arg("addresses") == (MINE,)
    call = replace(call, args=(*(a for a in call.args if a[0] != "image"), ("image", UUID)))
    displayed = {"id": "ip-1", "family": "inet", "state": "attached", "tags": None}
    made = answer({"server": server_body(public_ips=[displayed, {"id": "ip-9"}])}, 201)
    script = Script([Exchange(method="POST", path=f"{INSTANCE}/servers", answer=made)])
    outcome = await source(script).do(call)
    assert json.loads(script.asked[0].body)["public_ips"] == ["ip-1"]
    assert isinstance(outcome, Done)
    addresses = [p for p in outcome.resources if p.slot.kind == "address"]
    assert [(p.id, p.slot, p.owner) for p in addresses] == [(MINE, SLOT, "srv-1")]


UUID = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
