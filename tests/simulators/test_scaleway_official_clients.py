"""What the official command line and Terraform provider sent, replayed literally.

Both were run against the simulator once, built from their public repositories (August 2026): all of
`scw instance`, `block`, `ipam`, `marketplace`, `iam ssh-key`, `vpc` and `apple-silicon`, and the
provider's servers, groups, addresses, volumes and Macs: created, planned to "no changes", updated,
destroyed. The requests below are those that no other client of the tests sends.
"""

import json
from typing import Any

from .conftest import ZONE, Bench

PROJECT = "0b5e6f1a-5d3c-4f0e-9a51-3c1f7d2e8a10"
BLOCK = "/block/v1alpha1/zones/fr-par-1"
V2 = "/instance/v2alpha1/zones/fr-par-1"
NICS = f"{V2}/private-network-interfaces"
GB = 1000**3
STATUSES = "&".join(
    f"status={one}"
    for one in ("public_beta", "preview", "general_availability", "end_of_new_features")
)


def pages(bench: Bench, path: str, query: str, key: str) -> list[Any]:
    """Return the items of all pages, counted by the first one as the clients do."""
    found: list[Any] = []
    for page in range(1, 10):
        response = bench.ask("GET", path, query=f"page={page}&{query}")
        body = json.loads(response.body)
        found += list(body[key])
        total = int(response.header("X-Total-Count") or body.get("total_count", 0))
        if len(found) >= total:
            return found
    raise AssertionError(f"{path}: more pages than there should be")


def test_server_type_list_joins_the_catalogue_to_the_types_and_their_stock(bench: Bench) -> None:
    path = "/product-catalog/v2alpha1/public-catalog/products"
    products = pages(bench, path, f"product_types=instance&{STATUSES}&zone=fr-par-1", "products")
    types = pages(bench, f"{ZONE}/products/servers", "", "servers")
    stock = pages(bench, f"{ZONE}/products/servers/availability", "", "servers")
    assert {one["product"] for one in products} == set(types) == set(stock)
    assert types == sorted(types)
    one = next(one for one in products if one["product"] == "DEV1-S")
    assert one["price"]["retail_price"] == {
        "currency_code": "EUR",
        "units": 0,
        "nanos": 13_680_000,
    }
    query = "api_ids=DEV1-S&product_types=instance&zone=fr-par-1"
    assert bench.json("GET", path, query=query)["total_count"] == 1


def test_server_create_and_terminate_of_the_command_line(bench: Bench) -> None:
    ip = bench.json("POST", f"{ZONE}/ips", {"project": PROJECT, "type": "routed_ipv4"})["ip"]
    asked = {"name": "v", "project_id": PROJECT, "from_empty": {"size": 10 * GB}, "tags": None}
    extra = bench.json("POST", f"{BLOCK}/volumes", asked)
    assert bench.refusal("GET", f"{ZONE}/volumes/{extra['id']}")[1]["resource"] == "instance_volume"
    bench.now += 30
    assert bench.json("GET", f"{BLOCK}/volumes/{extra['id']}")["status"] == "available"
    body = {
        "name": "s",
        "dynamic_ip_required": True,
        "commercial_type": "DEV1-S",
        "image": "ubuntu_jammy",
        "volumes": {
            "0": {"size": 20 * GB, "volume_type": "sbs_volume"},
            "1": {"id": extra["id"], "volume_type": "sbs_volume"},
        },
        "enable_ipv6": False,
        "public_ips": [ip["id"]],
        "boot_type": "local",
        "project": PROJECT,
    }
    server = bench.json("POST", f"{ZONE}/servers", body)["server"]
    assert bench.act(server["id"], "poweron").status == 202
    bench.until(server["id"], "running")
    for volume in server["volumes"].values():
        detach = {"volume_id": volume["id"]}
        bench.json("POST", f"{ZONE}/servers/{server['id']}/detach-volume", detach)
        bench.now += 200
        assert bench.ask("DELETE", f"{BLOCK}/volumes/{volume['id']}").status == 204
    assert bench.act(server["id"], "terminate").status == 202
    assert bench.ask("DELETE", f"{ZONE}/ips/{ip['id']}").status == 204
    bench.until(server["id"], "gone")
    assert bench.world.leaks() == ()


def test_terraform_puts_a_server_into_a_network_and_takes_it_out_again(bench: Bench) -> None:
    vpc = "/vpc/v2/regions/fr-par/private-networks"
    asked = {
        "name": "pn",
        "project_id": PROJECT,
        "tags": None,
        "subnets": None,
        "default_route_propagation_enabled": False,
    }
    network = bench.json("POST", vpc, asked)
    server = bench.running()
    card = {
        "server_id": server["id"],
        "private_network_id": network["id"],
        "project_id": PROJECT,
        "ip_ids": None,
        "tags": None,
    }
    made = bench.json("POST", NICS, card)
    assert (made["status"], len(made["ip_ids"])) == ("attaching", 2)
    bench.now += 200
    query = f"server_ids={server['id']}&project_id={PROJECT}&order_by=created_at_desc"
    (found,) = bench.json("GET", NICS, query=query)["private_network_interfaces"]
    assert (found["id"], found["status"]) == (made["id"], "available")
    query = f"order_by=created_at_desc&resource_id={made['id']}&resource_type=instance_private_nic"
    ips = bench.json("GET", "/ipam/v1/regions/fr-par/ips", query=query + "&is_ipv6=false")["ips"]
    assert [ip["id"] for ip in ips] == made["ip_ids"][:1]
    assert bench.refusal("DELETE", f"{vpc}/{network['id']}")[0] == 412
    assert bench.ask("DELETE", f"{NICS}/{made['id']}").status == 204
    assert bench.ask("DELETE", f"{vpc}/{network['id']}").status == 204


def test_terraform_changes_a_placement_group_and_leaves_its_policy(bench: Bench) -> None:
    path = f"{V2}/placement-groups"
    asked: dict[str, Any] = {
        "project_id": PROJECT,
        "name": "pg",
        "policy_type": "low_latency",
        "tags": [],
    }
    made = bench.json("POST", path, asked)
    change = {"name": "other", "policy_type": "unknown_policy_type"}
    changed = bench.json("PATCH", f"{path}/{made['id']}", change)
    assert (changed["name"], changed["policy_type"]) == ("other", "low_latency")
    older = bench.json("GET", f"{ZONE}/placement_groups/{made['id']}")["placement_group"]
    assert older["policy_type"] == "low_latency"
    assert bench.ask("DELETE", f"{path}/{made['id']}").status == 204
    assert bench.refusal("GET", f"{path}/{made['id']}")[0] == 404
