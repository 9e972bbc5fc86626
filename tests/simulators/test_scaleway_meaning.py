"""What means nothing is refused, what is asked for is done, and of two changes the last holds."""

from typing import Any

import pytest

from .conftest import BLOCK, SECRET, ZONE, Bench

MACS = "/apple-silicon/v1alpha1/zones/fr-par-1"
V2 = "/instance/v2alpha1/zones/fr-par-1"
VPC = "/vpc/v2/regions/fr-par"
IPAM = "/ipam/v1/regions/fr-par/ips"
IAM = "/iam/v1alpha1"
NOBODY = "99999999-2222-4333-8444-555555555555"
GB = 1000**3


def network(bench: Bench, **fields: object) -> Any:
    return bench.json("POST", f"{VPC}/private-networks", {"name": "n", **fields})


def snapshot(bench: Bench, size: int) -> Any:
    """Return a snapshot of a volume of this size."""
    volume = bench.json("POST", f"{BLOCK}/volumes", {"from_empty": {"size": size}})
    bench.now += 30
    taken = bench.json("POST", f"{BLOCK}/snapshots", {"volume_id": volume["id"]})
    bench.now += 100
    return taken


def refused(bench: Bench, volumes: object) -> int:
    """Return how a server with these volumes is refused."""
    body = {"commercial_type": "DEV1-S", "image": "ubuntu_noble", "volumes": volumes}
    return bench.refusal("POST", f"{ZONE}/servers", body)[0]


def block_size(bench: Bench, server: Any, slot: str) -> int:
    return bench.json("GET", f"{BLOCK}/volumes/{server['volumes'][slot]['id']}")["size"]


# ---- places


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/instance/v1/zones/fr-par/ips"),
        ("GET", "/instance/v1/zones/fr-par/servers"),
        ("GET", "/block/v1/zones/fr-par/volumes"),
        ("POST", "/vpc/v2/regions/fr-par-1/private-networks"),
        ("GET", "/ipam/v1/regions/fr-par-1/ips"),
    ],
)
def test_a_region_is_no_zone_and_a_zone_no_region(bench: Bench, method: str, path: str) -> None:
    status, body = bench.refusal(method, path, {})
    assert (status, body["type"]) == (400, "invalid_arguments")
    assert body["details"][0]["argument_name"] == path.split("/")[3].rstrip("s")


# ---- volumes of servers


@pytest.mark.parametrize(
    "volume",
    [
        {"volume_type": "sbs_volume", "size": 1},
        {"volume_type": "sbs_volume", "size": 2**53},
        {"volume_type": "sbs_volume", "size": 10 * GB + 1},
        {"volume_type": "l_ssd", "size": 1},
        {"volume_type": "scratch", "size": 2**50},
    ],
)
def test_a_server_gets_no_volume_of_a_size_that_is_not_sold(bench: Bench, volume: object) -> None:
    assert refused(bench, {"1": volume}) == 400
    assert bench.world.leaks() == ()


def test_a_volume_of_a_server_is_as_large_as_the_snapshot_that_it_is_made_of(bench: Bench) -> None:
    shot = snapshot(bench, 40 * GB)["id"]
    asked = {"volume_type": "sbs_volume", "base_snapshot": shot}
    server = bench.server(volumes={"1": asked, "2": {**asked, "size": 50 * GB}})
    assert [block_size(bench, server, slot) for slot in "012"] == [10 * GB, 40 * GB, 50 * GB]
    assert refused(bench, {"1": {**asked, "size": 20 * GB}}) == 400


def test_the_root_of_a_server_is_as_large_as_its_image(bench: Bench) -> None:
    shot = snapshot(bench, 40 * GB)["id"]
    image = bench.json("POST", f"{ZONE}/images", {"root_volume": shot, "name": "i"})["image"]["id"]
    server = bench.server(image=image)
    assert block_size(bench, server, "0") == 40 * GB


def test_a_snapshot_that_is_not_there_is_called_as_recorded(bench: Bench) -> None:
    body = {
        "commercial_type": "DEV1-S",
        "volumes": {"0": {"base_snapshot": NOBODY, "volume_type": "sbs_volume"}},
    }
    status, found = bench.refusal("POST", f"{ZONE}/servers", body)
    assert (status, found["resource"], found["resource_id"]) == (404, "snapshot_id", NOBODY)


def test_no_volumes_said_are_no_volumes_changed(bench: Bench) -> None:
    server = bench.server()
    path = f"{ZONE}/servers/{server['id']}"
    changed = bench.json("PATCH", path, {"volumes": None, "name": "other"})["server"]
    assert changed["volumes"] == server["volumes"]


def test_a_slot_of_a_volume_is_a_number(bench: Bench) -> None:
    server = bench.server()
    asked = {"volumes": {"foo": {"id": server["volumes"]["0"]["id"]}}}
    assert bench.refusal("PATCH", f"{ZONE}/servers/{server['id']}", asked)[0] == 400
    assert refused(bench, {"\u0663": {"volume_type": "sbs_volume"}}) == 400


def test_a_change_says_which_volume_a_server_boots_from(bench: Bench) -> None:
    server = bench.server(volumes={"1": {"volume_type": "sbs_volume", "boot": True}})
    first, second = (server["volumes"][slot]["id"] for slot in "01")
    path = f"{ZONE}/servers/{server['id']}"
    asked = {"volumes": {"0": {"id": first, "boot": True}, "1": {"id": second}}}
    found = bench.json("PATCH", path, asked)["server"]["volumes"]
    assert (found["0"]["boot"], found["1"]["boot"]) == (True, False)


@pytest.mark.parametrize("sort", ["BASIC2-A2C-4G", "PLAY2-PICO"])
def test_a_server_becomes_none_of_a_type_that_cannot_have_its_image_or_its_volumes(
    bench: Bench, sort: str
) -> None:
    server = bench.server(volumes={"0": {"volume_type": "l_ssd"}})
    path = f"{ZONE}/servers/{server['id']}"
    assert bench.refusal("PATCH", path, {"commercial_type": sort})[0] == 400
    larger = bench.json("PATCH", path, {"commercial_type": "DEV1-M"})["server"]
    assert larger["commercial_type"] == "DEV1-M"


def test_an_image_is_made_of_something(bench: Bench) -> None:
    status, body = bench.refusal("POST", f"{ZONE}/images", {"name": "i"})
    assert (status, body["details"][0]["argument_name"]) == (400, "root_volume")


# ---- lists


def test_a_list_is_filtered_by_all_that_the_clients_can_ask(bench: Bench) -> None:
    local = bench.json("POST", f"{ZONE}/volumes", {"size": 10 * GB})["volume"]["id"]
    shot = bench.json("POST", f"{ZONE}/snapshots", {"volume_id": local})["snapshot"]["id"]
    server = bench.server()["id"]
    nic = {"private_network_id": SECRET, "tags": ["a", "b"]}
    nics = f"{ZONE}/servers/{server}/private_nics"
    card = bench.json("POST", nics, nic)["private_nic"]["id"]
    bench.json("POST", f"{BLOCK}/volumes", {"from_empty": {"size": 10 * GB}, "perf_iops": 15000})
    cases: tuple[tuple[str, str, str, list[str]], ...] = (
        (f"{ZONE}/snapshots", "snapshots", f"base_volume_id={local}", [shot]),
        (f"{ZONE}/snapshots", "snapshots", f"base_volume_id={NOBODY}", []),
        (nics, "private_nics", "tags=a,b", [card]),
        (nics, "private_nics", "tags=a,c", []),
        (f"{V2}/servers", "servers", "server_type=DEV1-S", [server]),
        (f"{V2}/servers", "servers", "server_type=DEV1-M", []),
        (f"{V2}/servers", "servers", f"security_group_ids={NOBODY}", []),
        (f"{V2}/servers", "servers", f"placement_group_ids={NOBODY}", []),
        (f"{V2}/placement-groups", "placement_groups", f"placement_group_ids={NOBODY}", []),
        (f"{VPC}/vpcs", "vpcs", "routing_enabled=false", []),
        (f"{VPC}/subnets", "subnets", f"project_id={NOBODY}", []),
        (f"{IAM}/api-keys", "api_keys", f"user_id={NOBODY}", []),
        (f"{IAM}/ssh-keys", "ssh_keys", f"organization_id={NOBODY}", []),
    )
    bench.json("POST", f"{V2}/placement-groups", {"name": "p"})
    bench.json("POST", f"{IAM}/ssh-keys", {"public_key": "ssh-ed25519 AAAA ci"})
    for path, key, query, ids in cases:
        assert [one["id"] for one in bench.json("GET", path, query=query)[key]] == ids, query
    groups = bench.json("GET", f"{ZONE}/security_groups", query="project_default=false")
    assert groups["security_groups"] == []
    fast = bench.json("GET", f"{BLOCK}/volumes", query="volume_type=sbs_15k")["volumes"]
    assert [one["type"] for one in fast] == ["sbs_15k"]


def test_the_second_version_pages_by_tokens(bench: Bench) -> None:
    path = f"{V2}/placement-groups"
    made = {bench.json("POST", path, {"name": f"p{n}"})["id"] for n in range(5)}
    found: list[str] = []
    body: Any = {}
    query = "page_size=2"
    for _ in range(3):
        body = bench.json("GET", path, query=query)
        found += [one["id"] for one in body["placement_groups"]]
        query = f"page_size=2&page_token={body.get('next_page_token')}"
    assert "next_page_token" not in body
    assert (len(found), set(found)) == (5, made)
    assert bench.ask("GET", path, query="page_token=junk").status == 400


def test_no_other_api_tells_a_token_of_its_next_page(bench: Bench) -> None:
    """Their pages have numbers alone: the client of each API reads what its own version says."""
    for path in (f"{VPC}/private-networks", f"{BLOCK}/volumes"):
        for n in range(3):
            size = {"from_empty": {"size": 5_000_000_000}, "perf_iops": 5000}
            bench.json("POST", path, {"name": f"n{n}", **(size if "volumes" in path else {})})
        body = bench.json("GET", path, query="page_size=2")
        assert body["total_count"] > 2
        assert "next_page_token" not in body


# ---- addresses


def test_a_subnet_hands_out_each_of_its_addresses_and_no_other(bench: Bench) -> None:
    source = {"source": {"private_network_id": network(bench, subnets=["172.16.5.0/29"])["id"]}}
    found = {bench.json("POST", IPAM, source)["address"] for _ in range(5)}
    assert found == {f"172.16.5.{number}/29" for number in range(2, 7)}
    assert bench.ask("POST", IPAM, source).status >= 400


@pytest.mark.parametrize("address", ["172.16.5.0", "172.16.5.7"])
def test_the_first_and_the_last_address_of_a_subnet_are_nobodys(bench: Bench, address: str) -> None:
    source = {"private_network_id": network(bench, subnets=["172.16.5.0/29"])["id"]}
    assert bench.refusal("POST", IPAM, {"source": source, "address": address})[0] == 400


def test_an_address_with_a_scope_is_refused(bench: Bench) -> None:
    made = network(bench)
    scoped = made["subnets"][1]["subnet"].split("/")[0] + "5%eth0"
    asked = {"source": {"private_network_id": made["id"]}, "is_ipv6": True, "address": scoped}
    assert bench.refusal("POST", IPAM, asked)[0] == 400
    group = bench.json("POST", f"{ZONE}/security_groups", {"name": "g"})["security_group"]["id"]
    rule = {"protocol": "ANY", "direction": "inbound", "action": "accept", "ip_range": "fe80::1%a"}
    assert bench.refusal("POST", f"{ZONE}/security_groups/{group}/rules", rule)[0] == 400


def test_a_network_has_one_subnet_of_a_family(bench: Bench) -> None:
    asked = {"name": "n", "subnets": ["10.99.0.0/24", "10.98.0.0/24"]}
    assert bench.refusal("POST", f"{VPC}/private-networks", asked)[0] == 400


@pytest.mark.parametrize("resource", [None, {}, {"name": "x"}, {"mac_address": "hello"}])
def test_an_address_is_attached_to_something(bench: Bench, resource: object) -> None:
    source = {"private_network_id": network(bench)["id"]}
    ip = bench.json("POST", IPAM, {"source": source})["id"]
    assert bench.refusal("POST", f"{IPAM}/{ip}/attach", {"resource": resource})[0] == 400
    assert bench.json("GET", f"{IPAM}/{ip}")["resource"] is None


# ---- keys


@pytest.mark.parametrize("date", ["2027-01-01", "20270101", "2027-W01-1", "2027-01-01T00:00:00"])
def test_a_key_expires_at_a_moment_that_every_client_can_read(bench: Bench, date: str) -> None:
    status, body = bench.refusal("POST", f"{IAM}/api-keys", {"expires_at": date})
    assert (status, body["details"][0]["argument_name"]) == (400, "expires_at")
    for good in ("2027-01-01T00:00:00Z", "2027-01-01T02:00:00.5+02:00"):
        assert bench.json("POST", f"{IAM}/api-keys", {"expires_at": good})["expires_at"]


def test_the_key_that_clients_are_told_can_be_deleted_and_stays_so(bench: Bench) -> None:
    path = f"{IAM}/api-keys/SCWSIMULATOR00000000"
    assert bench.ask("DELETE", path).status == 204
    assert bench.refusal("GET", path)[0] == 404
    assert bench.json("GET", f"{IAM}/api-keys")["api_keys"] == []


def test_a_key_of_an_empty_project_is_refused_as_recorded(bench: Bench) -> None:
    asked = {"name": "k", "public_key": "ssh-ed25519 AAAA me", "project_id": ""}
    status, body = bench.refusal("POST", f"{IAM}/ssh-keys", asked)
    detail = {"argument_name": "project_id", "reason": "format"}
    assert (status, body["details"]) == (
        400,
        [{**detail, "help_message": "value must be a valid UUID"}],
    )


# ---- Macs


@pytest.mark.parametrize(
    ("sort", "zone"), [("DEV1-S", ""), ("nonsense", ""), ("M2-L", "fr-par-3"), ("M2-L", "moon")]
)
def test_stock_is_of_macs_that_are_sold_there(bench: Bench, sort: str, zone: str) -> None:
    """Servers are available, scarce or short: no client knows another word for them."""
    with pytest.raises(ValueError, match=f"type: no {sort}"):
        bench.world.console.set_stock(sort, "no_stock", zone)


def ready(bench: Bench) -> str:
    """Return the path of a Mac that may be in private networks."""
    made = bench.json("POST", f"{MACS}/servers", {"type": "M2-L", "enable_vpc": True})
    bench.now += 5000
    return f"{MACS}/servers/{made['id']}"


@pytest.mark.parametrize("wanted", [True, False])
def test_of_two_changes_of_a_macs_networks_the_last_one_holds(
    bench: Bench, *, wanted: bool
) -> None:
    path = ready(bench)
    for _ in range(10):
        bench.json("PATCH", path, {"enable_vpc": wanted})
        bench.now += 300
        bench.json("PATCH", path, {"enable_vpc": not wanted})
        last = bench.json("PATCH", path, {"enable_vpc": wanted})
        assert last["vpc_status"] == "vpc_updating"
        bench.json("PATCH", path, {"name": "other"})
        bench.now += 300
        status = bench.json("GET", path)["vpc_status"]
        assert status == ("vpc_enabled" if wanted else "vpc_disabled")
        bench.json("PATCH", path, {"enable_vpc": not wanted})
        bench.now += 300


@pytest.mark.parametrize("booked", [True, False])
def test_a_mac_is_in_the_networks_it_was_put_into_while_it_left_them(
    bench: Bench, *, booked: bool
) -> None:
    path, inside = ready(bench), network(bench)["id"]
    ip = bench.json("POST", IPAM, {"source": {"private_network_id": inside}})["id"]
    asked = {"per_private_network_ipam_ip_ids": {inside: [ip] if booked else []}}
    bench.json("PUT", f"{path}/private-networks", asked)
    bench.now += 100
    assert bench.ask("DELETE", f"{path}/private-networks/{inside}").status == 204
    (again,) = bench.json("PUT", f"{path}/private-networks", asked)["server_private_networks"]
    assert again["status"] == "attaching"
    assert (again["ipam_ip_ids"] == [ip]) is booked
    bench.now += 200
    (found,) = bench.json("GET", f"{MACS}/server-private-networks")["server_private_networks"]
    assert (found["status"], found["ipam_ip_ids"]) == ("attached", again["ipam_ip_ids"])
    assert bench.ask("DELETE", f"{path}/private-networks/{inside}").status == 204
    bench.now += 200
    assert bench.ask("DELETE", f"{IPAM}/{ip}").status == 204
    assert bench.ask("DELETE", f"{VPC}/private-networks/{inside}").status == 204
