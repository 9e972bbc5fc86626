"""Lists of the simulated Scaleway: pages in both styles, filters, order, headers."""

import json

import pytest

from hostler.simulators.scaleway.faults.rates import Rule
from hostler.simulators.scaleway.state.options import Account, Options

from .conftest import BLOCK, SECRET, ZONE, Bench

OTHER = "99999999-2222-4333-8444-555555555555"


def names(bench: Bench, query: str) -> list[str]:
    """Return the names of the servers in a list."""
    return [
        server["name"] for server in bench.json("GET", f"{ZONE}/servers", query=query)["servers"]
    ]


def test_instance_lists_say_their_total_in_a_header_only(bench: Bench) -> None:
    for n in range(5):
        bench.server(name=f"s{n}")
    first = bench.ask("GET", f"{ZONE}/servers", query="per_page=2&page=2")
    assert first.header("X-Total-Count") == "5"
    assert set(json.loads(first.body)) == {"servers"}
    link = first.header("Link")
    assert link is not None
    assert '</servers?page=1&per_page=2&>; rel="first"' in link
    assert '</servers?page=3&per_page=2&>; rel="next"' in link
    assert names(bench, "per_page=2&page=2") == ["s2", "s1"]
    assert names(bench, "per_page=2&page=9") == []


def test_newer_lists_say_their_total_in_the_body_only(bench: Bench) -> None:
    for n in range(3):
        bench.server(name=f"s{n}")
    found = bench.ask("GET", f"{BLOCK}/volumes", query="page_size=2")
    assert found.header("X-Total-Count") is None
    body = json.loads(found.body)
    assert (len(body["volumes"]), body["total_count"]) == (2, 3)
    assert bench.json("GET", f"{BLOCK}/volumes", query="page=9")["volumes"] == []


def test_rules_of_a_security_group_are_listed_without_a_total(bench: Bench) -> None:
    group = bench.server()["security_group"]["id"]
    assert bench.ask("GET", f"{ZONE}/security_groups/{group}/rules").header("X-Total-Count") is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("tags=a", ["s2", "s1"]),
        ("tags=a,b", ["s2"]),
        ("name=server", []),
        ("name=s", ["s2", "s1", "s0"]),
        ("state=running", []),
        ("state=stopped", ["s2", "s1", "s0"]),
        ("state=nonsense", []),
        ("commercial_type=DEV1-M", ["s0"]),
        ("project=" + OTHER, []),
        ("order=creation_date_asc", ["s0", "s1", "s2"]),
        ("order=modification_date_desc", ["s0", "s2", "s1"]),
        ("without_ip=true", ["s2", "s0"]),
    ],
)
def test_filters_of_servers(bench: Bench, query: str, expected: list[str]) -> None:
    ip = bench.json("POST", f"{ZONE}/ips", {})["ip"]
    first = bench.server(name="s0", commercial_type="DEV1-M")
    bench.now = 1
    bench.server(name="s1", tags=["a"], public_ips=[ip["id"]])
    bench.now = 2
    bench.server(name="s2", tags=["b", "a"])
    bench.now = 3
    bench.json("PATCH", f"{ZONE}/servers/{first['id']}", {"protected": True})
    assert names(bench, query) == expected


def test_servers_are_found_by_their_address_and_by_ids(bench: Bench) -> None:
    ip = bench.json("POST", f"{ZONE}/ips", {})["ip"]
    one = bench.server(name="one", public_ips=[ip["id"]])
    bench.server(name="two")
    assert names(bench, f"with_ip={ip['address']}") == ["one"]
    assert names(bench, f"servers={one['id']},{OTHER}") == ["one"]


def test_any_tag_is_enough_in_block_storage(bench: Bench) -> None:
    for tags in (["a"], ["b"], ["c"]):
        body = {"name": tags[0], "from_empty": {"size": 10**10}, "tags": tags}
        bench.json("POST", f"{BLOCK}/volumes", body)
    found = bench.json("GET", f"{BLOCK}/volumes", query="tags=a&tags=c")["volumes"]
    assert [volume["name"] for volume in found] == ["a", "c"]
    server = bench.server()
    query = f"product_resource_id={server['id']}"
    found = bench.json("GET", f"{BLOCK}/volumes", query=query)["volumes"]
    assert [volume["id"] for volume in found] == [server["volumes"]["0"]["id"]]


def test_zones_and_organisations_do_not_see_each_other() -> None:
    accounts = (
        Account(secret_key=SECRET, organization=SECRET, project=SECRET),
        Account(secret_key=OTHER, organization=OTHER, project=OTHER),
    )
    bench = Bench(Options(accounts=accounts))
    server = bench.server()
    other_zone = ZONE.replace("fr-par-1", "nl-ams-1")
    assert bench.refusal("GET", f"{other_zone}/servers/{server['id']}")[0] == 404
    assert bench.json("GET", f"{other_zone}/servers")["servers"] == []
    bench.secret = OTHER
    assert bench.refusal("GET", f"{ZONE}/servers/{server['id']}")[0] == 404
    assert bench.json("GET", f"{ZONE}/servers")["servers"] == []
    bench.secret = "88888888-2222-4333-8444-555555555555"
    assert bench.refusal("GET", f"{ZONE}/servers")[1]["reason"] == "not_found"


def test_there_are_no_other_zones_and_routes(bench: Bench) -> None:
    assert bench.refusal("GET", "/instance/v1/zones/xx-yyy-1/servers")[0] == 400
    assert bench.refusal("GET", f"{ZONE}/nonsense")[0] == 501
    assert bench.refusal("PUT", f"{ZONE}/ips")[0] == 501
    assert bench.refusal("POST", f"{ZONE}/servers", b"{nonsense")[0] == 400


def test_lists_lag_behind_where_that_is_asked_for() -> None:
    bench = Bench(Options(list_lag=2.0))
    bench.server(name="new")
    assert names(bench, "") == []
    bench.now = 2.0
    assert names(bench, "") == ["new"]


def test_the_gateway_limits_requests_with_an_empty_429() -> None:
    bench = Bench(Options(rate=10.0, burst=5))
    found = [bench.ask("GET", f"{ZONE}/servers") for _ in range(6)]
    assert [response.status for response in found] == [200] * 5 + [429]
    last = found[-1]
    assert (last.body, last.header("Content-Type")) == (b"", None)
    assert last.header("X-Envoy-Ratelimited") == "true"
    bench.now = 0.1
    assert bench.ask("GET", f"{ZONE}/servers").status == 200


def test_dates_have_the_forms_of_their_apis(bench: Bench) -> None:
    server = bench.server()
    assert server["creation_date"] == "2026-01-01T00:00:00.000000+00:00"
    volume = bench.json("GET", f"{BLOCK}/volumes/{server['volumes']['0']['id']}")
    assert volume["created_at"] == "2026-01-01T00:00:00.000000Z"


def test_a_lagging_list_is_filtered_as_any_other(bench: Bench) -> None:
    deleted = bench.server(name="gone", tags=["a"])
    bench.ask("DELETE", f"{ZONE}/servers/{deleted['id']}")
    rule = Rule(fault="list_with_deleted", route="server.list", count=2)
    bench.world.script(rule)
    assert names(bench, "tags=a") == ["gone"]
    assert names(bench, "tags=b") == []
    assert bench.world.faults == {"list_with_deleted": 1}


VPC = "/vpc/v2/regions/fr-par"
MACS = "/apple-silicon/v1alpha1/zones/fr-par-1"
V2 = "/instance/v2alpha1/zones/fr-par-1"
DATES = ("created_at", "updated_at")
ORDERS: dict[str, tuple[str, ...]] = {
    f"{BLOCK}/volumes": ("created_at", "name"),
    f"{BLOCK}/snapshots": ("created_at", "name"),
    f"{V2}/placement-groups": DATES,
    f"{V2}/private-network-interfaces": DATES,
    f"{V2}/servers": DATES,
    f"{V2}/templates": DATES,
    "/ipam/v1/regions/fr-par/ips": (*DATES, "attached_at", "ip_address", "mac_address"),
    f"{VPC}/vpcs": ("created_at", "name"),
    f"{VPC}/private-networks": ("created_at", "name"),
    f"{VPC}/vpc-connectors": ("created_at", "name"),
    f"{VPC}/subnets": ("created_at",),
    f"{VPC}/ingress-rules": ("created_at", "source", "prefix_len"),
    f"{VPC}/routes-with-nexthop": ("created_at", "destination", "prefix_len"),
    "/iam/v1alpha1/ssh-keys": (*DATES, "name"),
    "/iam/v1alpha1/api-keys": (*DATES, "expires_at", "access_key"),
    "/iam/v1alpha1/quota?organization_id=0b5e6f1a-5d3c-4f0e-9a51-3c1f7d2e8a10": ("name",),
    "/account/v3/projects": ("created_at", "name"),
    f"{MACS}/servers": ("created_at",),
    f"{MACS}/server-private-networks": DATES,
    "/marketplace/v2/images": (*DATES, "name"),
    "/marketplace/v2/local-images?image_label=docker": ("type", "created_at"),
}
"""By what the official clients of August 2026 can ask each list to be put in order."""


@pytest.mark.parametrize("path", ORDERS)
def test_lists_take_every_order_that_clients_have_and_no_other(bench: Bench, path: str) -> None:
    place, _, query = path.partition("?")
    for field in ORDERS[path]:
        for way in ("asc", "desc"):
            answer = bench.ask("GET", place, query=f"{query}&order_by={field}_{way}")
            assert answer.status == 200, (field, way, answer.body)
    for order in ("junk_asc", f"{ORDERS[path][0]}_up"):
        assert bench.ask("GET", place, query=f"{query}&order_by={order}").status == 400, order


def test_private_addresses_are_put_in_order_by_their_number(bench: Bench) -> None:
    network = bench.json(
        "POST", f"{VPC}/private-networks", {"name": "n", "subnets": ["10.0.0.0/24"]}
    )
    for last in (9, 100, 20):
        booked = {"source": {"private_network_id": network["id"]}, "address": f"10.0.0.{last}"}
        bench.json("POST", "/ipam/v1/regions/fr-par/ips", booked)
    found = bench.json("GET", "/ipam/v1/regions/fr-par/ips", query="order_by=ip_address_desc")
    assert [ip["address"] for ip in found["ips"]] == [f"10.0.0.{n}/24" for n in (100, 20, 9)]
