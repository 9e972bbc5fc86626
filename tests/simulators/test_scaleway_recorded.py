"""The simulator's bodies beside those of the real API, as its clients' own tests recorded them."""

import json
from typing import Any

import pytest

from hostler.simulators.scaleway.faults.rates import Rule
from hostler.simulators.scaleway.routes import TABLE, match

from .conftest import BLOCK, SECRET, ZONE, Bench
from .recorded import differences, objects_at, table

VPC = "/vpc/v2/regions/fr-par"
IPAM = "/ipam/v1/regions/fr-par/ips"
IAM = "/iam/v1alpha1"
V2 = "/instance/v2alpha1/zones/fr-par-1"
MACS = "/apple-silicon/v1alpha1/zones/fr-par-1"
PROJECTS = "/account/v3/projects"
NOBODY = "99999999-2222-4333-8444-555555555555"
GB = 1000**3
RULE = {"protocol": "TCP", "direction": "inbound", "action": "accept", "ip_range": "1.2.3.4/32"}
OBJECT = {"bucket": "b", "key": "k"}


class Checked:
    """A bench whose every good answer is held against the recordings."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.found: set[str] = set()
        self.asked: set[tuple[str, str]] = set()

    def ask(self, method: str, path: str, body: object = None, query: str = "") -> Any:
        """Ask, note how the answer differs, and return it."""
        response = self.bench.ask(method, path, body, query)
        assert response.status < 300, (method, path, response.body)
        route = match(method, path)
        assert route is not None
        key = (method, route[0].path)
        self.asked.add(key)
        known = table()[0].get(key)
        answer = json.loads(response.body) if response.body else None
        if known is not None:
            self.compare(key, known, response.status, answer)
        return answer

    def compare(self, key: tuple[str, str], known: Any, status: int, answer: Any) -> None:
        """Note how one answer differs."""
        if status != known.status:
            self.found.add(f"{' '.join(key)}: {status} and not {known.status}")
        if known.at == ".":
            if answer is not None:
                self.found.add(f"{' '.join(key)}: has a body")
            return
        for one in objects_at(answer, known.at):
            self.found.update(differences(known.shape, one))

    def go(self, seconds: float) -> None:
        self.bench.now += seconds

    def crud(self, path: str, made: Any, change: dict[str, object], key: str = "id") -> None:
        """List, read, change and read again."""
        one = f"{path}/{made[key]}"
        self.ask("GET", path)
        self.ask("GET", one)
        self.ask("PATCH", one, change)
        self.ask("GET", one)

    def delete(self, path: str) -> None:
        """Delete."""
        self.ask("DELETE", path)


def servers(c: Checked) -> None:
    group = c.ask("POST", f"{ZONE}/security_groups", {"name": "g"})["security_group"]
    rules = f"{ZONE}/security_groups/{group['id']}/rules"
    c.crud(f"{ZONE}/security_groups", group, {"stateful": False})
    rule = c.ask("POST", rules, {**RULE, "dest_port_from": 1, "dest_port_to": 1024})["rule"]
    c.ask("PATCH", f"{rules}/{rule['id']}", {"protocol": "ICMP"})
    c.ask("PUT", rules, {"rules": [RULE]})
    c.ask("GET", rules)
    place = c.ask("POST", f"{ZONE}/placement_groups", {"name": "p"})["placement_group"]
    c.crud(f"{ZONE}/placement_groups", place, {"policy_type": "low_latency"})
    four = c.ask("POST", f"{ZONE}/ips", {"type": "routed_ipv4"})["ip"]
    six = c.ask("POST", f"{ZONE}/ips", {"type": "routed_ipv6"})["ip"]
    body = {
        "name": "s",
        "commercial_type": "DEV1-S",
        "image": "ubuntu_noble",
        "tags": ["t"],
        "public_ips": [four["id"], six["id"]],
        "security_group": group["id"],
        "placement_group": place["id"],
        "volumes": {"1": {"volume_type": "l_ssd", "size": 10 * GB, "name": "x"}},
    }
    server = c.ask("POST", f"{ZONE}/servers", body)["server"]
    path = f"{ZONE}/servers/{server['id']}"
    c.ask("GET", f"{ZONE}/placement_groups/{place['id']}/servers")
    c.crud(f"{ZONE}/ips", four, {"tags": ["x"]})
    nic = c.ask("POST", f"{path}/private_nics", {"private_network_id": SECRET})["private_nic"]
    for action, state in (("poweron", "running"), ("backup", ""), ("stop_in_place", "")):
        c.ask("POST", f"{path}/action", {"action": action})
        for _ in range(12):
            c.ask("GET", path)
            c.go(5)
        assert state in c.ask("GET", f"{ZONE}/servers")["servers"][0]["state"]
    c.ask("PATCH", path, {"tags": ["y"]})
    other = c.ask("POST", f"{path}/private_nics", {"private_network_id": NOBODY})["private_nic"]
    c.crud(f"{path}/private_nics", other, {"tags": ["x"]})
    c.crud(f"{V2}/private-network-interfaces", nic, {"tags": ["x"]})
    third = {"server_id": server["id"], "private_network_id": server["id"], "tags": ["x"]}
    c.ask("POST", f"{V2}/private-network-interfaces", third)
    c.ask("GET", f"{V2}/servers")
    c.ask("GET", f"{V2}/servers/{server['id']}")
    c.ask("POST", f"{path}/action", {"action": "poweroff"})
    c.go(100)
    c.ask("GET", IPAM)
    volume = c.ask("POST", f"{BLOCK}/volumes", {"from_empty": {"size": 20 * GB}, "name": "v"})
    c.go(30)
    asked = {"volume_id": volume["id"], "volume_type": "sbs_volume"}
    c.ask("POST", f"{path}/attach-volume", asked)
    c.ask("GET", f"{BLOCK}/volumes/{volume['id']}")
    c.go(30)
    c.ask("POST", f"{path}/detach-volume", {"volume_id": volume["id"]})
    c.delete(f"{path}/private_nics/{other['id']}")
    c.delete(f"{V2}/private-network-interfaces/{nic['id']}")
    c.delete(path)
    c.delete(f"{ZONE}/ips/{six['id']}")
    c.delete(f"{ZONE}/security_groups/{group['id']}")
    c.delete(f"{ZONE}/placement_groups/{place['id']}")


def second_version(c: Checked) -> None:
    newer = c.ask("POST", f"{V2}/placement-groups", {"name": "n"})
    c.crud(f"{V2}/placement-groups", newer, {"policy_type": "unknown_policy_type", "name": "m"})
    c.delete(f"{V2}/placement-groups/{newer['id']}")
    template = c.ask("POST", f"{V2}/templates", {"server_type": "DEV1-S", "name": "t"})
    c.ask("GET", f"{V2}/templates/{template['id']}")
    c.ask("PATCH", f"{V2}/templates/{template['id']}", {"name": "u"})
    c.delete(f"{V2}/templates/{template['id']}")


def storage(c: Checked) -> None:
    asked = {"volume_type": "l_ssd", "size": 10 * GB}
    local = c.ask("POST", f"{ZONE}/volumes", asked)["volume"]
    c.crud(f"{ZONE}/volumes", local, {"size": 20 * GB})
    c.go(10)
    shot = c.ask("POST", f"{ZONE}/snapshots", {"volume_id": local["id"], "name": "s"})["snapshot"]
    c.crud(f"{ZONE}/snapshots", shot, {"name": "t"})
    c.go(100)
    c.ask("POST", f"{ZONE}/snapshots/{shot['id']}/export", OBJECT)
    c.ask("POST", f"{ZONE}/snapshots", {**OBJECT, "name": "i"})
    c.go(200)
    image = c.ask("POST", f"{ZONE}/images", {"root_volume": shot["id"], "name": "i"})["image"]
    c.crud(f"{ZONE}/images", image, {"name": "j", "tags": ["x"]})
    block = c.ask("POST", f"{BLOCK}/volumes", {"from_empty": {"size": 20 * GB}, "name": "v"})
    c.go(10)
    c.crud(f"{BLOCK}/volumes", block, {"perf_iops": 15000})
    c.go(10)
    taken = c.ask("POST", f"{BLOCK}/snapshots", {"volume_id": block["id"], "name": "s"})
    c.ask("GET", f"{BLOCK}/snapshots/{taken['id']}")
    c.go(100)
    c.ask("POST", f"{ZONE}/images", {"root_volume": taken["id"], "name": "k"})
    c.ask("GET", f"{BLOCK}/snapshots")
    c.ask("GET", f"{BLOCK}/snapshots/{taken['id']}")
    c.ask("POST", f"{BLOCK}/snapshots/{taken['id']}/export-to-object-storage", OBJECT)
    brought = c.ask(
        "POST", f"{BLOCK}/snapshots/import-from-object-storage", {**OBJECT, "name": "i"}
    )
    c.delete(f"{ZONE}/images/{image['id']}")
    c.delete(f"{ZONE}/snapshots/{shot['id']}")
    c.delete(f"{ZONE}/volumes/{local['id']}")
    c.delete(f"{BLOCK}/snapshots/{brought['id']}")
    c.delete(f"{BLOCK}/volumes/{block['id']}")


def networks(c: Checked) -> None:
    vpc = c.ask("POST", f"{VPC}/vpcs", {"name": "v"})
    c.crud(f"{VPC}/vpcs", vpc, {"name": "w"})
    c.ask("POST", f"{VPC}/vpcs/{vpc['id']}/enable-routing")
    c.ask("POST", f"{VPC}/vpcs/{vpc['id']}/enable-custom-routes-propagation")
    rule = {"source": "0.0.0.0/0", "destination": "0.0.0.0/0", "protocol": "TCP"}
    rules = {"rules": [{**rule, "dst_port_low": 80, "dst_port_high": 80}], "is_ipv6": False}
    c.ask("PUT", f"{VPC}/vpcs/{vpc['id']}/acl-rules", {**rules, "default_policy": "drop"})
    c.ask("GET", f"{VPC}/vpcs/{vpc['id']}/acl-rules")
    network = c.ask("POST", f"{VPC}/private-networks", {"name": "n", "vpc_id": vpc["id"]})
    c.crud(f"{VPC}/private-networks", network, {"name": "m"})
    source = {"private_network_id": network["id"]}
    ip = c.ask("POST", IPAM, {"source": source, "resource": {"mac_address": "02:00:00:00:00:09"}})
    c.ask("GET", IPAM)
    c.crud(IPAM, ip, {"tags": ["x"]})
    c.ask(
        "POST", f"{IPAM}/{ip['id']}/move", {"from_resource": {"mac_address": "02:00:00:00:00:09"}}
    )
    route = {"vpc_id": vpc["id"], "destination": "10.9.0.0/24", "description": "x"}
    via = {"nexthop_resource_id": ip["id"], "nexthop_private_network_id": network["id"]}
    made = c.ask("POST", f"{VPC}/routes", {**route, **via})
    c.ask("GET", f"{VPC}/routes/{made['id']}")
    c.ask("GET", f"{VPC}/routes-with-nexthop")
    c.ask("PATCH", f"{VPC}/routes/{made['id']}", {"description": "y"})
    c.delete(f"{VPC}/routes/{made['id']}")
    c.delete(f"{IPAM}/{ip['id']}")
    c.delete(f"{VPC}/private-networks/{network['id']}")
    c.delete(f"{VPC}/vpcs/{vpc['id']}")


def account(c: Checked) -> None:
    key = c.ask("POST", f"{IAM}/ssh-keys", {"name": "k", "public_key": "ssh-ed25519 AAAA me"})
    c.crud(f"{IAM}/ssh-keys", key, {"disabled": True})
    c.delete(f"{IAM}/ssh-keys/{key['id']}")
    made = c.ask("POST", f"{IAM}/api-keys", {"description": "d", "application_id": NOBODY})
    c.crud(f"{IAM}/api-keys", made, {"description": "e"}, "access_key")
    c.delete(f"{IAM}/api-keys/{made['access_key']}")
    project = c.ask("POST", PROJECTS, {"name": "p"})
    c.crud(PROJECTS, project, {"description": "x"})
    c.delete(f"{PROJECTS}/{project['id']}")
    for path in ("servers", "servers/availability", "volumes"):
        c.ask("GET", f"{ZONE}/products/{path}")
    c.ask("GET", "/product-catalog/v2alpha1/public-catalog/products", query="zone=fr-par-1")
    images = c.ask("GET", "/marketplace/v2/local-images", query="image_label=docker")
    c.ask("GET", f"/marketplace/v2/local-images/{images['local_images'][0]['id']}")
    c.ask("GET", "/marketplace/v2/images")


def macs(c: Checked) -> None:
    c.ask("GET", f"{MACS}/server-types")
    image = c.ask("GET", f"{MACS}/os")["os"][0]
    c.ask("GET", f"{MACS}/os/{image['id']}")
    mac = c.ask("POST", f"{MACS}/servers", {"type": "M2-M", "name": "m", "enable_vpc": True})
    path = f"{MACS}/servers/{mac['id']}"
    c.ask("GET", path)
    c.go(4000)
    c.crud(f"{MACS}/servers", mac, {"name": "n"})
    asked: dict[str, Any] = {"per_private_network_ipam_ip_ids": {SECRET: []}}
    c.ask("PUT", f"{path}/private-networks", asked)
    c.ask("GET", f"{MACS}/server-private-networks")
    c.go(100)
    c.ask("GET", f"{MACS}/server-private-networks")
    c.ask("GET", IPAM)
    c.delete(f"{path}/private-networks/{SECRET}")
    c.ask("GET", f"{MACS}/server-private-networks")
    c.ask("POST", f"{path}/reboot")
    github = {"url": "https://example.invalid/x", "token": "t", "labels": ["a"]}
    runner = {"name": "r", "provider": "github", "github_configuration": github}
    made = c.ask("POST", f"{MACS}/runners", {"runner_configuration": runner})
    c.ask("GET", f"{MACS}/runners/{made['id']}")
    c.delete(f"{MACS}/runners/{made['id']}")
    c.go(90_000)
    c.delete(path)


PARTS = (servers, second_version, storage, networks, account, macs)
NEWER_CLIENTS = "in the official clients of August 2026, and not in recordings of 2025"
OLDER = "types of Macs were recorded before images had it"
READ_STOPPED = "servers were read through this version only while they were stopped"
KNOWN: dict[str, str] = {
    **{
        f"apple.server-types {name}: never recorded": NEWER_CLIENTS
        for name in (
            *("cpu.sockets", "cpu.threads_per_core", "npu", "npu.count"),
            "network.default_public_bandwidth",
        )
    },
    **{
        f"apple.server-types default_os.{name}: never recorded": OLDER
        for name in ("description", "release_notes_url", "supported_server_types", "tags")
    },
    "apple.server-types stock: 'low_stock' is none of =high_stock =no_stock": "documented",
    "apple.servers kext_enabled: never recorded": NEWER_CLIENTS,
    "instance.ips tags[]: never recorded": "all addresses were recorded without tags",
    "instance2.servers.list status: 'paused' is none of =stopped": READ_STOPPED,
    "instance2.servers.one status: 'paused' is none of =stopped": READ_STOPPED,
    "instance2.servers.one private_network_interfaces[].status: "
    "'attaching' is none of =available": READ_STOPPED,
    "instance2.servers.one volumes[].volume_type: 'l_ssd' is none of =sbs": "documented",
}
"""How the simulator differs on purpose, each with its reason."""


@pytest.fixture(scope="module")
def checked() -> Checked:
    """Play through everything that was recorded, once."""
    played = Checked()
    for part in PARTS:
        part(played)
    return played


def test_bodies_have_the_keys_the_types_and_the_values_that_were_recorded(checked: Checked) -> None:
    assert sorted(checked.found - set(KNOWN)) == []


def test_every_difference_that_is_meant_is_still_there(checked: Checked) -> None:
    assert sorted(set(KNOWN) - checked.found) == []


def test_every_recorded_route_is_served_and_asked(checked: Checked) -> None:
    served = {(route.method, route.path) for route in TABLE}
    recorded = set(table()[0])
    assert sorted(recorded - served) == []
    assert sorted(recorded - checked.asked) == []


ERRORS = (
    (f"{ZONE}/servers", "instance_server"),
    (f"{ZONE}/volumes", "instance_volume"),
    (f"{ZONE}/snapshots", "instance_snapshot"),
    (f"{ZONE}/images", "instance_image"),
    (f"{ZONE}/ips", "instance_ip"),
    (f"{ZONE}/security_groups", "instance_security_group"),
    (f"{ZONE}/placement_groups", "instance_placement_group"),
    (f"{V2}/placement-groups", "instance_placement_group"),
    (f"{V2}/private-network-interfaces", "instance_private_nic"),
    (f"{V2}/templates", "instance_template"),
    (f"{BLOCK}/volumes", "volume"),
    (f"{BLOCK}/snapshots", "snapshot"),
    (IPAM, "ip"),
    (f"{VPC}/vpcs", "vpc"),
    (f"{VPC}/routes", "unknown"),
    (f"{IAM}/ssh-keys", "ssh_key"),
    (f"{IAM}/api-keys", "access_key"),
    (PROJECTS, "project_id"),
)


@pytest.mark.parametrize(("path", "word"), ERRORS)
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_what_is_not_there_is_called_as_recorded(
    bench: Bench, method: str, path: str, word: str
) -> None:
    assert bench.refusal(method, f"{path}/{NOBODY}") == (
        404,
        {
            "type": "not_found",
            "message": "resource is not found",
            "resource": word,
            "resource_id": "" if word == "unknown" else NOBODY,
        },
    )


@pytest.mark.parametrize("status", [400, 401, 403, 412, 429])
def test_refusals_have_the_bodies_that_were_recorded(bench: Bench, status: int) -> None:
    bodies: dict[int, tuple[str, str, object]] = {
        400: ("POST", f"{ZONE}/servers", {}),
        403: ("DELETE", f"{ZONE}/images/{public_image(bench)}", None),
        412: ("DELETE", f"{VPC}/private-networks/{used_network(bench)}", None),
        401: ("GET", f"{ZONE}/servers", None),
        429: ("GET", f"{ZONE}/servers", None),
    }
    method, path, body = bodies[status]
    if status == 401:
        bench.secret = "no key"
    if status == 429:
        bench.world.script(Rule(fault="rate_limited_429"))
    response = bench.ask(method, path, body)
    assert response.status == status
    if status == 429:
        assert response.body == b""
        assert response.header("Content-Type") is None
        assert response.header("X-Envoy-Ratelimited") == "true"
        return
    keys = {
        400: {"type", "message", "details"},
        401: {"type", "message", "method", "reason"},
        403: {"type", "message", "details"},
        412: {"type", "message", "precondition", "help_message"},
    }
    found = json.loads(response.body)
    assert set(found) == keys[status]
    if status == 400:
        assert [one["argument_name"] for one in found["details"]] == [
            "commercial_type",
            "image",
            "volumes",
        ]
        assert {one["help_message"] for one in found["details"]} == {"required key not provided"}


def public_image(bench: Bench) -> str:
    """Return the id of an image of the marketplace."""
    return bench.json("GET", f"{ZONE}/images", query="public=true")["images"][0]["id"]


def used_network(bench: Bench) -> str:
    """Return the id of a network in which an address is booked."""
    bench.json("POST", IPAM, {"source": {"private_network_id": SECRET}})
    return SECRET


def block(bench: Bench, **more: object) -> Any:
    """Return a volume that is still being created."""
    return bench.json("POST", f"{BLOCK}/volumes", {"from_empty": {"size": 20 * GB}, **more})


def test_the_rate_of_a_volume_on_its_way_is_an_invalid_argument(bench: Bench) -> None:
    path = f"{BLOCK}/volumes/{block(bench)['id']}"
    words = "can't update perf_iops when volume is not available"
    detail = {"argument_name": "perf_iops", "reason": "constraint", "help_message": words}
    for rate in (15000, 5000):  # it is being created, and then updated
        status, body = bench.refusal("PATCH", path, {"perf_iops": 15000, "tags": ["t"]})
        assert (status, body["type"], body["details"]) == (400, "invalid_arguments", [detail])
        assert bench.json("PATCH", path, {"tags": ["u"]})["tags"] == ["u"]
        bench.now += 30
        assert bench.json("PATCH", path, {"perf_iops": rate})["status"] == "updating"


def test_a_volume_holds_the_snapshot_that_it_is_made_of(bench: Bench) -> None:
    volume = block(bench)
    bench.now += 30
    shot = bench.json("POST", f"{BLOCK}/snapshots", {"volume_id": volume["id"]})
    asked = {"from_snapshot": {"snapshot_id": shot["id"], "size": 10 * GB}}
    status, body = bench.refusal("POST", f"{BLOCK}/volumes", asked)
    assert (status, body["precondition"]) == (412, "resource_not_usable")
    assert body["help_message"].endswith(f"'{10 * GB}' whereas snapshot size is '{20 * GB}'")


def test_a_volume_in_use_is_refused_as_a_snapshot_in_use_is(bench: Bench) -> None:
    volume = bench.server()["volumes"]["0"]["id"]
    status, body = bench.refusal("DELETE", f"{BLOCK}/volumes/{volume}")
    assert (status, body["precondition"]) == (412, "resource_still_in_use")


def test_a_placement_group_that_is_no_id_is_an_invalid_argument(bench: Bench) -> None:
    path = f"{ZONE}/servers/{bench.server()['id']}"
    status, body = bench.refusal("PATCH", path, {"placement_group": "1234"})
    detail = {"argument_name": "placement_group", "reason": "constraint"}
    assert (status, body["details"]) == (400, [{**detail, "help_message": "not a valid value"}])
    status, body = bench.refusal("PATCH", path, {"placement_group": NOBODY})
    assert (status, body["resource"]) == (404, "instance_placement_group")


def test_the_placement_that_a_server_shows_is_not_respected(bench: Bench) -> None:
    place = bench.json("POST", f"{ZONE}/placement_groups", {"name": "p"})["placement_group"]
    server = bench.server(placement_group=place["id"])
    assert (place["policy_respected"], server["placement_group"]["policy_respected"]) == (
        True,
        False,
    )


def test_the_key_of_an_admin_password_can_be_changed(bench: Bench) -> None:
    name, path = "admin_password_encryption_ssh_key_id", f"{ZONE}/servers/{bench.server()['id']}"
    assert bench.json("PATCH", path, {name: NOBODY})["server"][name] == NOBODY
    assert bench.json("PATCH", path, {"tags": []})["server"][name] == NOBODY
    assert name not in bench.json("PATCH", path, {name: ""})["server"]


def test_an_empty_answer_says_that_it_is_json(bench: Bench) -> None:
    made = bench.json("POST", f"{ZONE}/ips", {})["ip"]
    response = bench.ask("DELETE", f"{ZONE}/ips/{made['id']}")
    assert (response.body, response.header("Content-Type")) == (b"", "application/json")
