"""A request that is refused has changed nothing: every list shows what it showed before."""

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest

from hostler.simulators.scaleway.routes import TABLE

from .conftest import BLOCK, ZONE, Bench

GB = 1000**3
VPC = "/vpc/v2/regions/fr-par"
IPAM = "/ipam/v1/regions/fr-par/ips"
V2 = "/instance/v2alpha1/zones/fr-par-1"
MACS = "/apple-silicon/v1alpha1/zones/fr-par-1"
IAM = "/iam/v1alpha1"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA ci"
NOBODY = "99999999-2222-4333-8444-555555555555"
CARD = {"mac_address": "02:00:00:00:00:99"}
ASKS_MORE = {"quota.list", "market_version.list"}
STILL = ("type.", "product.", "local_image.", "market_", "mac_os.", "mac_type.", "volume_type.")
LISTS = tuple(
    (
        route.key,
        route.path.replace("zones/*", "zones/fr-par-1").replace("regions/*", "regions/fr-par"),
    )
    for route in TABLE
    if route.key.endswith(".list") and route.path.count("*") < 2 and route.key not in ASKS_MORE
)


class Furnished(Bench):
    """A bench with something of most things in it; `ids` are theirs."""

    def furnish(self) -> dict[str, str]:
        """Make them, and return their ids by what they are."""
        made = {
            "network": self.json("POST", f"{VPC}/private-networks", {"name": "p"})["id"],
            "vpc": self.json("POST", f"{VPC}/vpcs", {"name": "v"})["id"],
            "group": self.json("POST", f"{ZONE}/security_groups", {"name": "g"})["security_group"][
                "id"
            ],
            "place": self.json("POST", f"{V2}/placement-groups", {"name": "p"})["id"],
            "ip": self.json("POST", f"{ZONE}/ips", {"type": "routed_ipv4"})["ip"]["id"],
            "block": self.block(),
            "other": self.block(),
            "local": self.local(),
            "access": self.json("POST", f"{IAM}/api-keys", {"description": "d"})["access_key"],
            "key": self.json("POST", f"{IAM}/ssh-keys", {"public_key": KEY})["id"],
        }
        server = self.running(commercial_type="DEV1-M")
        rest = self.server(
            name="off", commercial_type="DEV1-M", volumes={"0": {"volume_type": "l_ssd"}}
        )
        booked = {"source": {"private_network_id": made["network"]}, "resource": CARD}
        made |= {"server": server["id"], "root": server["volumes"]["0"]["id"], "rest": rest["id"]}
        made["card"] = self.json("POST", IPAM, booked)["id"]
        self.now += 500
        asked = {"volume_id": made["block"]}
        made["shot"] = self.json("POST", f"{BLOCK}/snapshots", asked)["id"]
        self.now += 500
        return made

    def block(self) -> str:
        return self.json("POST", f"{BLOCK}/volumes", {"from_empty": {"size": 20 * GB}})["id"]

    def local(self) -> str:
        asked = {"volume_type": "l_ssd", "size": 10 * GB}
        return self.json("POST", f"{ZONE}/volumes", asked)["volume"]["id"]

    def listed(self) -> dict[str, Any]:
        """Return what every list shows, and what costs."""
        found: dict[str, Any] = {
            f"{key} {path}": json.loads(self.ask("GET", path).body) for key, path in LISTS
        }
        return {**found, "costs": self.world.leaks()}


def whole(ids: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Return changes of which every field is good, by their methods and paths."""
    names = {"name": "n", "tags": ["t"]}
    server = {
        **names,
        "security_group": {"id": ids["group"]},
        "placement_group": ids["place"],
        "public_ips": [ids["ip"]],
        "protected": True,
        "dynamic_ip_required": True,
        "boot_type": "rescue",
        "volumes": {"0": {"id": ids["root"]}, "1": {"id": ids["block"]}},
    }
    block = {**names, "size": 30 * GB, "perf_iops": 15000}
    made = {**names, "from_empty": {"size": 20 * GB}, "perf_iops": 5000}
    booked = {"tags": ["t"], "source": {"private_network_id": ids["network"]}, "resource": CARD}
    moved = {
        "from_resource": CARD,
        "to_resource": {"mac_address": "02:00:00:00:00:01", "name": "m"},
    }
    network = {**names, "default_route_propagation_enabled": True}
    nic = {"private_network_id": ids["network"], "tags": ["t"]}
    return {
        f"PATCH {ZONE}/servers/{ids['server']}": server,
        f"PATCH {ZONE}/ips/{ids['ip']}": {"server": ids["rest"], "tags": ["t"], "reverse": "a.b"},
        f"POST {ZONE}/ips": {"server": ids["rest"], "tags": ["t"], "type": "routed_ipv4"},
        f"PATCH {ZONE}/volumes/{ids['local']}": {**names, "size": 20 * GB},
        f"POST {ZONE}/volumes": {**names, "size": 20 * GB, "volume_type": "l_ssd"},
        f"PATCH {BLOCK}/volumes/{ids['block']}": block,
        f"POST {BLOCK}/volumes": made,
        f"PATCH {BLOCK}/snapshots/{ids['shot']}": names,
        f"POST {BLOCK}/snapshots": {**names, "volume_id": ids["block"]},
        f"POST {ZONE}/snapshots": {**names, "volume_id": ids["local"]},
        f"PATCH {VPC}/private-networks/{ids['network']}": network,
        f"PATCH {VPC}/vpcs/{ids['vpc']}": names,
        f"POST {IPAM}": booked,
        f"POST {IPAM}/{ids['card']}/move": moved,
        f"PATCH {IPAM}/{ids['card']}": {"tags": ["t"], "reverses": [{"hostname": "a.b"}]},
        f"POST {ZONE}/servers/{ids['server']}/private_nics": nic,
        f"POST {V2}/private-network-interfaces": {**nic, "server_id": ids["server"]},
        f"PATCH {ZONE}/security_groups/{ids['group']}": {**names, "stateful": False},
        f"PATCH {IAM}/ssh-keys/{ids['key']}": {"name": "n", "disabled": True},
        f"PATCH {IAM}/api-keys/{ids['access']}": {"description": "e", "default_project_id": NOBODY},
        f"PATCH {V2}/placement-groups/{ids['place']}": {**names, "policy_type": "low_latency"},
    }


def spoilt(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return a body again and again, each time with one of its fields of a wrong type."""
    for name, value in body.items():
        yield {**body, name: 5 if isinstance(value, str) else "x"}
        if isinstance(value, dict):
            yield from ({**body, name: inner} for inner in spoilt(cast("dict[str, Any]", value)))
        if isinstance(value, list):
            yield {**body, name: [1]}


def test_a_body_with_one_field_of_a_wrong_type_changes_nothing() -> None:
    bench = Furnished()
    ids = bench.furnish()
    before = bench.listed()
    for asked, body in whole(ids).items():
        method, path = asked.split(" ")
        for wrong in spoilt(body):
            status, _ = bench.refusal(method, path, wrong)
            assert status in {400, 404}, (asked, wrong)
            assert bench.listed() == before, (asked, wrong)


@pytest.mark.parametrize(
    "volumes",
    [
        {"0": "root", "1": NOBODY},
        {"1": NOBODY},
        {"1": "block", "2": "block"},
        {"1": "block", "2": "held"},
        {},
    ],
)
def test_volumes_of_which_one_cannot_be_had_are_all_refused(volumes: dict[str, str]) -> None:
    bench = Furnished()
    ids = bench.furnish()
    held = bench.read_server(ids["rest"])["volumes"]["0"]["id"]
    asked = {slot: {"id": {**ids, "held": held}.get(one, one)} for slot, one in volumes.items()}
    assert bench.act(ids["rest"], "poweron").status == 202
    bench.until(ids["rest"], "running")
    server = ids["server"] if volumes else ids["rest"]  # its local volume cannot go while it runs
    before = bench.listed()
    assert bench.refusal("PATCH", f"{ZONE}/servers/{server}", {"volumes": asked})[0] in {400, 404}
    assert bench.listed() == before


def test_volumes_of_a_server_change_their_slots(bench: Bench) -> None:
    """None of them is lost on the way: all can be detached and deleted afterwards."""
    block = bench.json("POST", f"{BLOCK}/volumes", {"from_empty": {"size": 20 * GB}})["id"]
    bench.now += 30
    server = bench.server()
    root = server["volumes"]["0"]["id"]
    path = f"{ZONE}/servers/{server['id']}"
    asked = {"volumes": {"0": {"id": block}, "1": {"id": root}}}
    found = bench.json("PATCH", path, asked)["server"]["volumes"]
    assert {slot: one["id"] for slot, one in found.items()} == {"0": block, "1": root}
    bench.now += 30
    assert bench.ask("DELETE", path).status == 204
    bench.now += 30
    for volume in (block, root):
        assert bench.ask("DELETE", f"{BLOCK}/volumes/{volume}").status == 204
    assert bench.world.leaks() == ()


def test_a_server_is_refused_that_names_a_volume_twice(bench: Bench) -> None:
    block = bench.json("POST", f"{BLOCK}/volumes", {"from_empty": {"size": 20 * GB}})["id"]
    bench.now += 30
    body = {
        "commercial_type": "DEV1-S",
        "image": "ubuntu_noble",
        "volumes": {"1": {"id": block}, "2": {"id": block}},
    }
    assert bench.refusal("POST", f"{ZONE}/servers", body)[0] == 400
    assert bench.json("GET", f"{BLOCK}/volumes/{block}")["references"] == []


def test_a_server_takes_no_sixth_address_of_a_family_in_any_way(bench: Bench) -> None:
    asked = {"type": "routed_ipv4"}
    ids = [bench.json("POST", f"{ZONE}/ips", asked)["ip"]["id"] for _ in range(6)]
    body = {"name": "s", "commercial_type": "DEV1-S", "image": "ubuntu_noble"}
    assert bench.refusal("POST", f"{ZONE}/servers", {**body, "public_ips": ids})[0] == 400
    five = bench.json("POST", f"{ZONE}/servers", {**body, "public_ips": ids[:5]})["server"]["id"]
    many = len(bench.json("GET", f"{ZONE}/ips")["ips"])
    assert bench.refusal("POST", f"{ZONE}/ips", {**asked, "server": five})[0] == 400
    assert bench.refusal("PATCH", f"{ZONE}/ips/{ids[5]}", {"server": five})[0] == 400
    assert len(bench.json("GET", f"{ZONE}/ips")["ips"]) == many
    other = bench.json("POST", f"{ZONE}/ips", {"type": "routed_ipv6", "server": five})["ip"]
    assert other["server"]["id"] == five
