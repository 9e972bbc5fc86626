"""Looks at an account: what is shown, what is complete, and what is asked for."""

import pytest
from scaleway_kit import (
    BLOCK,
    FLEET,
    HOME,
    INSTANCE,
    MACHINE,
    NOW,
    PROJECT,
    ZONE,
    block_body,
    block_page,
    claim,
    get,
    ip_body,
    no_prices,
    page,
    provider,
    server_body,
    tags,
)

from hostler.domain.ids import MachineId, ResourceId, Zone
from hostler.domain.model.inventory import Inventory, merge
from hostler.domain.model.resource import Condition, Observation, PartialTag, Resource, Scope, Slot
from hostler.ports.http import NoAnswer, NotSent, Response
from hostler.providers.scaleway.common.owner_tags import name_of
from hostler.testing.peers.exchanges import Exchange, Script, answer

SERVERS, IPS, VOLUMES = f"{INSTANCE}/servers", f"{INSTANCE}/ips", f"{INSTANCE}/volumes"
ALL = (Scope(ZONE, "server"), Scope(ZONE, "address"), Scope(ZONE, "volume"))
TAG = ("tags", f"hostler-machine={MACHINE}")
MISSING = answer({"type": "not_found", "message": "resource is not found"}, 404)


def without(resource: str) -> Response:
    """Return the answer that names what is not there."""
    return answer({"type": "not_found", "resource": "volume", "resource_id": resource}, 404)


async def seen(scopes: tuple[Scope, ...], *exchanges: Exchange) -> Observation:
    script = Script(list(exchanges))
    observation = await provider(script).observe(scopes)
    script.finish()
    return observation


def ids(observation: Observation) -> list[str]:
    return sorted(resource.id for resource in observation.resources)


def only(observation: Observation) -> Resource:
    (resource,) = observation.resources
    return resource


async def test_a_server_is_read_whole():
    body = server_body(
        state="running",
        public_ips=[
            {"id": "ip-6", "address": "2001:db8::1", "family": "inet6", "state": "attached"},
            {"id": "ip-4", "address": "51.15.0.1", "family": "inet", "state": "attached"},
        ],
        private_nics=[{"id": "nic-1", "private_network_id": "net-1"}],
        protected=True,
    )
    observation = await seen(ALL[:1], no_prices(), page(SERVERS, "servers", body))
    resource = only(observation)
    assert resource.slot == Slot("server")
    assert resource.owner_tag == claim(Slot("server")).owner_tag
    assert (resource.status, resource.condition) == ("running", Condition.UP)
    assert "terminate" in resource.allowed
    assert resource.address == "51.15.0.1"
    assert resource.price == 0.01368
    assert resource.created is not None
    assert resource.created.isoformat() == "2026-07-30T12:54:36.209806+00:00"
    assert resource.note("volumes") == "0:vol-1:sbs_volume"
    assert resource.note("nics") == "net-1"
    assert resource.protected
    assert observation.observed[0].complete
    assert observation.observed[0].begun == NOW


async def test_an_ipv6_address_is_used_where_there_is_no_other_and_else_the_private_one():
    six = {"id": "ip-6", "address": "2001:db8::1", "family": "inet6"}
    observation = await seen(
        ALL[:1],
        no_prices(),
        page(
            SERVERS,
            "servers",
            server_body("srv-1", public_ips=[{"id": "x", "address": None}, six]),
            server_body("srv-2", private_ip="10.0.0.2", public_ips=None),
        ),
    )
    assert [resource.address for resource in observation.resources] == ["2001:db8::1", "10.0.0.2"]


async def test_addresses_and_volumes_are_read_whole():
    local = {
        "id": "vol-2",
        "name": "data",
        "volume_type": "l_ssd",
        "size": 10_000_000_000,
        "state": "available",
        "server": {"id": "srv-1", "name": "web-1"},
        "project": PROJECT,
        "tags": tags(Slot("volume", 1)),
        "creation_date": "2026-07-30T12:54:36.209806+00:00",
    }
    observation = await seen(
        ALL,
        no_prices(),
        page(SERVERS, "servers"),
        page(IPS, "ips", ip_body(server={"id": "srv-1"}, state="attached")),
        page(VOLUMES, "volumes", local),
        block_page(block_body(size=50_000_000_000, specs={"perf_iops": 15000})),
    )
    address, ssd, block = observation.resources
    assert (address.slot, address.owner, address.price) == (Slot("address", 0), "srv-1", 0.004)
    assert address.address == "51.15.0.1"
    assert address.condition is Condition.BUSY
    assert (ssd.slot, ssd.owner, ssd.condition) == (Slot("volume", 1), "srv-1", Condition.BUSY)
    assert (ssd.type, ssd.note("size")) == ("l_ssd", "10")
    assert (block.slot, block.owner, block.condition) == (
        Slot("volume", 0),
        "srv-1",
        Condition.BUSY,
    )
    assert (block.note("size"), block.note("iops")) == ("50", "15000")
    assert block.price == pytest.approx(50 * 0.000176)
    assert all(observed.complete for observed in observation.observed)


async def test_a_detached_local_volume_is_free():
    local = {"id": "v", "volume_type": "l_ssd", "state": "available", "tags": tags(Slot("volume"))}
    observation = await seen(
        (ALL[2],), page(SERVERS, "servers"), page(VOLUMES, "volumes", local), block_page()
    )
    assert only(observation).condition is Condition.FREE


async def test_listings_ask_for_the_project_unfiltered_by_tag():
    script = Script(
        [
            no_prices(),
            page(SERVERS, "servers"),
            page(IPS, "ips"),
            page(VOLUMES, "volumes"),
            block_page(),
        ]
    )
    await provider(script).observe(ALL)
    script.finish()
    for request in script.asked:
        if "products" not in request.path:
            assert {("project", PROJECT), ("project_id", PROJECT)} & set(request.query)
        assert all(key != "tags" for key, _ in request.query)


async def test_only_what_carries_an_owner_tag_even_in_part_or_hangs_on_what_does_is_shown():
    foreign = tags(Slot("server"), home="elsewhere")
    observation = await seen(
        ALL,
        no_prices(),
        page(
            SERVERS,
            "servers",
            server_body("srv-1"),
            server_body("srv-2", tags=foreign, volumes={}),
            server_body("srv-3", tags=["team=a"]),
            server_body("srv-4", tags=tags(Slot("server"))[:2], volumes={}),
            server_body("srv-6", tags=tags(Slot("server"))[1:], volumes={}),
            server_body("srv-5", project="other"),
        ),
        page(
            IPS,
            "ips",
            ip_body("ip-1", tags=[], server={"id": "srv-1"}),
            ip_body("ip-2", tags=[]),
            ip_body("ip-3", tags=[], server={"id": "srv-3"}),
            ip_body("ip-4", tags=[], server={"id": "srv-1"}, type="routed_ipv6"),
            ip_body("ip-5", tags=[], server={"id": "srv-4"}),
        ),
        page(VOLUMES, "volumes"),
        block_page(
            block_body("vol-1", tags=[]),
            block_body("vol-2", tags=[], references=[]),
            block_body("vol-3", tags=[], name=name_of(claim(Slot("volume", 2))), references=[]),
            block_body("vol-4", tags=[], name="hostler-root", references=[]),
        ),
    )
    listed = ["ip-1", "ip-4", "ip-5", "srv-1", "srv-2", "srv-4", "vol-1", "vol-3"]
    assert ids(observation) == listed
    by_id = {resource.id: resource for resource in observation.resources}
    assert by_id[ResourceId("srv-4")].owner_tag is None
    assert by_id[ResourceId("srv-4")].partial_tag == PartialTag((HOME,), FLEET)
    assert merge(Inventory(), observation).partial == ("ip-5", "srv-4")
    assert by_id[ResourceId("vol-1")].slot == Slot("volume", 0)
    assert by_id[ResourceId("vol-1")].owner_tag is None
    assert by_id[ResourceId("vol-3")].owner_tag == claim(Slot("volume", 2)).owner_tag
    assert by_id[ResourceId("ip-4")].slot == Slot("address", 1)
    owner_tag = by_id[ResourceId("srv-2")].owner_tag
    assert owner_tag is not None
    assert owner_tag.installation == "elsewhere"


async def test_the_view_takes_what_hangs_on_a_server_for_its_machines():
    observation = await seen(
        ALL,
        no_prices(),
        page(SERVERS, "servers", server_body()),
        page(IPS, "ips"),
        page(VOLUMES, "volumes"),
        block_page(block_body(tags=[])),
    )
    assert merge(Inventory(), observation).tagged == {MACHINE: ("srv-1", "vol-1")}


async def test_an_observation_of_one_machine_asks_for_known_ids_and_lists_its_tag():
    scope = Scope(
        ZONE, "server", MACHINE, (ResourceId("srv-1"), ResourceId("srv-9"), ResourceId("srv-2"))
    )
    observation = await seen(
        (scope,),
        page(SERVERS, "servers", server_body("srv-3"), server_body("srv-2")),
        get(f"{SERVERS}/srv-1", {"server": server_body("srv-1", tags=[])}),
        get(f"{SERVERS}/srv-9", {"server": server_body("srv-9", state="running")}),
        Exchange(method="GET", path=f"{SERVERS}/srv-2", answer=without("srv-2")),
    )
    assert ids(observation) == ["srv-1", "srv-3", "srv-9"]
    assert observation.observed[0].complete
    assert merge(Inventory(), observation).missing == {"srv-2": NOW}


async def test_an_observation_of_one_machine_filters_again_on_our_side():
    other = tags(Slot("server"), machine=MachineId("m-zzzzzzzzzz"))
    observation = await seen(
        (Scope(ZONE, "server", MACHINE),),
        page(SERVERS, "servers", server_body("srv-1"), server_body("srv-2", tags=other)),
    )
    assert ids(observation) == ["srv-1"]


async def test_an_id_that_cannot_be_asked_for_makes_the_observation_incomplete():
    scope = Scope(ZONE, "server", MACHINE, (ResourceId("srv-1"),))
    observation = await seen(
        (scope,),
        page(SERVERS, "servers", server_body("srv-3")),
        Exchange(method="GET", path=f"{SERVERS}/srv-1", answer=answer(b"<html>", 404)),
    )
    assert ids(observation) == ["srv-3"]
    assert not observation.observed[0].complete
    assert "srv-1: 404" in observation.observed[0].error


async def test_the_volumes_of_a_machine_are_found_by_tag_server_body_and_id():
    volumes = {
        "0": {"id": "vol-1", "volume_type": "sbs_volume"},
        "1": {"id": "vol-2", "volume_type": "l_ssd"},
    }
    scopes = (
        Scope(ZONE, "server", MACHINE, (ResourceId("srv-1"),)),
        Scope(ZONE, "volume", MACHINE, (ResourceId("vol-5"),)),
    )
    body = server_body("srv-1", volumes=volumes)
    local = {"id": "vol-2", "volume_type": "l_ssd", "state": "available", "server": {"id": "srv-1"}}
    observation = await seen(
        scopes,
        page(SERVERS, "servers", body),
        page(SERVERS, "servers", body),
        get(f"{SERVERS}/srv-1", {"server": body}),
        page(VOLUMES, "volumes"),
        block_page(block_body("vol-4"), query=(TAG,)),
        block_page(block_body("vol-1", tags=[]), query=(("product_resource_id", "srv-1"),)),
        Exchange(method="GET", path=f"{BLOCK}/volumes/vol-2", answer=without("vol-2")),
        get(f"{VOLUMES}/vol-2", {"volume": local}),
        Exchange(method="GET", path=f"{BLOCK}/volumes/vol-5", answer=without("vol-5")),
        Exchange(method="GET", path=f"{VOLUMES}/vol-5", answer=without("vol-5")),
    )
    assert ids(observation) == ["srv-1", "vol-1", "vol-2", "vol-4"]
    assert [
        resource.slot.index
        for resource in observation.resources
        if resource.id in {"vol-1", "vol-2"}
    ] == [1, 0]
    assert all(observed.complete for observed in observation.observed)


MILAN = Zone("it-mil-1")
NO_ZONE = answer({"type": "invalid_arguments", "message": "invalid argument(s)"}, 400)


async def test_the_block_volumes_of_a_zone_whose_types_all_boot_from_them_are_listed():
    base, block = f"/instance/v1/zones/{MILAN}", f"/block/v1/zones/{MILAN}"
    observation = await seen(
        (Scope(MILAN, "volume"),),
        page(f"{base}/servers", "servers"),
        page(f"{base}/volumes", "volumes"),
        get(f"{block}/volumes", {"volumes": [block_body()], "total_count": 1}),
    )
    assert observation.observed[0].complete
    assert ids(observation) == ["vol-1"]


@pytest.mark.parametrize("refusal", [NO_ZONE, MISSING])
async def test_a_zone_that_the_block_api_refuses_has_local_volumes_alone(refusal: Response):
    base = f"/instance/v1/zones/{MILAN}"
    observation = await seen(
        (Scope(MILAN, "volume"),),
        page(f"{base}/servers", "servers"),
        page(f"{base}/volumes", "volumes"),
        Exchange(method="GET", path=f"/block/v1/zones/{MILAN}/volumes", answer=refusal),
    )
    assert observation.observed[0].complete


async def test_block_storage_that_fails_in_such_a_zone_makes_the_look_incomplete():
    base = f"/instance/v1/zones/{MILAN}"
    observation = await seen(
        (Scope(MILAN, "volume"),),
        page(f"{base}/servers", "servers"),
        page(f"{base}/volumes", "volumes"),
        Exchange(
            method="GET", path=f"/block/v1/zones/{MILAN}/volumes", answer=answer(b"<html>", 502)
        ),
    )
    assert not observation.observed[0].complete


@pytest.mark.parametrize(
    "trouble",
    [
        NotSent("refused"),
        NoAnswer("hung"),
        answer(b"<html>502</html>", 502),
        answer(None, 429),
        answer({"type": "permissions_denied", "message": "no"}, 403),
        answer(b'{"servers": [{"id"'),
        answer(b"[]"),
        answer(b'"text"'),
        answer({"something": []}),
        answer({"servers": {"a": 1}}),
        answer(b""),
    ],
)
async def test_a_dead_zone_costs_the_others_nothing(trouble: Response | NotSent | NoAnswer):
    there = Zone("nl-ams-1")
    base = f"/instance/v1/zones/{there}"
    observation = await seen(
        (Scope(ZONE, "server"), Scope(there, "server")),
        Exchange(method="GET", path=f"{INSTANCE}/products/servers", answer=trouble),
        Exchange(method="GET", path=SERVERS, answer=trouble),
        get(f"{base}/products/servers", {"servers": {}}),
        page(f"{base}/servers", "servers", server_body("srv-1")),
    )
    dead, alive = observation.observed
    assert (dead.scope.zone, dead.complete) == (ZONE, False)
    assert dead.error
    assert alive.complete
    assert ids(observation) == ["srv-1"]


async def test_one_generation_of_volumes_that_fails_makes_volumes_incomplete():
    observation = await seen(
        ALL[2:],
        page(SERVERS, "servers", server_body()),
        page(VOLUMES, "volumes"),
        Exchange(method="GET", path=f"{BLOCK}/volumes", answer=NoAnswer("reset")),
    )
    assert not observation.observed[0].complete


async def test_unmarked_resources_cannot_be_judged_without_the_servers():
    observation = await seen(
        ALL[1:2],
        Exchange(method="GET", path=SERVERS, answer=NoAnswer("reset")),
        page(IPS, "ips", ip_body()),
    )
    assert ids(observation) == ["ip-1"]
    assert not observation.observed[0].complete
    assert observation.observed[0].error == "servers: page 1: reset"


async def test_strange_words_are_reported_and_change_nothing():
    observation = await seen(
        ALL[:1],
        no_prices(),
        page(SERVERS, "servers", server_body(state="melting", allowed_actions=["dance"])),
    )
    assert only(observation).condition is Condition.UNKNOWN
    assert observation.strange == ("server state 'melting'",)
    assert observation.observed[0].complete


async def test_a_kind_that_does_not_exist_is_incomplete():
    observation = await seen((Scope(ZONE, "unicorn"),))
    assert not observation.observed[0].complete
