"""What the simulator does as the real API was recorded doing it, one test for each difference."""

import json
from typing import Any

import pytest

from hostler.simulators.scaleway.world import World

from .conftest import BLOCK, SECRET, ZONE, Bench

NETWORK = "33333333-2222-4333-8444-555555555555"
NOBODY = "99999999-2222-4333-8444-555555555555"
MACS = "/apple-silicon/v1alpha1/zones/fr-par-1"
V2 = "/instance/v2alpha1/zones/fr-par-1"
VPC = "/vpc/v2/regions/fr-par"
IPAM = "/ipam/v1/regions/fr-par/ips"
GB = 1000**3


def mac(bench: Bench, **fields: object) -> Any:
    return bench.json("POST", f"{MACS}/servers", {"type": "M2-L", "name": "m", **fields})


def delivered(bench: Bench, mac_id: str) -> Any:
    for _ in range(1000):
        body = bench.json("GET", f"{MACS}/servers/{mac_id}")
        if body["status"] == "ready":
            return body
        bench.now += 10
    pytest.fail("it was never delivered")


# ---- routes


def test_a_route_that_is_not_served_says_so_and_is_never_taken_for_a_missing_resource(
    bench: Bench,
) -> None:
    status, body = bench.refusal("GET", "/rdb/v1/regions/fr-par/instances")
    assert status == 501
    assert body["type"] == "not_implemented"
    assert "GET /rdb/v1/regions/fr-par/instances" in body["message"]


def test_a_method_that_a_path_does_not_have_is_not_served_either(bench: Bench) -> None:
    assert bench.refusal("PATCH", f"{ZONE}/servers")[0] == 501


# ---- Macs


def test_passwords_are_sealed_in_the_answers_to_changes_and_clear_in_what_is_read(
    bench: Bench,
) -> None:
    made = mac(bench)
    assert (made["sudo_password"], made["vnc_url"]) == ("<sealed>", "<sealed>")
    read = bench.json("GET", f"{MACS}/servers/{made['id']}")
    assert read["status"] == "starting"
    assert "sealed" not in read["sudo_password"] + read["vnc_url"]
    assert read["vnc_url"].startswith("vnc://m1:")
    assert read["vnc_port"] == 59010
    delivered(bench, made["id"])
    path = f"{MACS}/servers/{made['id']}"
    for changed in (
        bench.json("PATCH", path, {"name": "other"}),
        bench.json("POST", f"{path}/reboot"),
    ):
        assert (changed["sudo_password"], changed["vnc_url"]) == ("<sealed>", "<sealed>")


def test_the_read_password_is_the_one_that_logs_in(bench: Bench) -> None:
    made = mac(bench)
    read = bench.json("GET", f"{MACS}/servers/{made['id']}")
    held = bench.world.cloud.macs.get(made["id"])
    assert held is not None
    assert read["sudo_password"] == held.password


def test_a_deleted_mac_may_not_be_read(bench: Bench) -> None:
    made = mac(bench)
    delivered(bench, made["id"])
    bench.now += 25 * 3600
    path = f"{MACS}/servers/{made['id']}"
    assert bench.ask("DELETE", path).status == 204
    status, body = bench.refusal("GET", path)
    assert status == 403
    assert body["details"] == [{"action": "read", "resource": "server"}]


def test_a_mac_says_from_its_order_on_when_it_may_be_deleted(bench: Bench) -> None:
    made = mac(bench)
    day = bench.world.cloud.zulu(bench.now + 24 * 3600)
    assert made["deletable_at"] == day
    assert delivered(bench, made["id"])["deletable_at"] == day


def test_a_monthly_commitment_is_for_thirty_one_days(bench: Bench) -> None:
    made = mac(bench, commitment_type="renewed_monthly")
    assert made["deletable_at"] == bench.world.cloud.zulu(bench.now + 744 * 3600)
    assert made["commitment"] == {"type": "renewed_monthly", "cancelled": False}
    assert mac(bench, commitment_type="duration_24h")["commitment"]["type"] == "none"


def test_a_deletion_that_comes_too_early_names_its_date_as_recorded(bench: Bench) -> None:
    made = mac(bench)
    status, body = bench.refusal("DELETE", f"{MACS}/servers/{made['id']}")
    assert (status, body["precondition"]) == (412, "unknown_precondition")
    assert body["help_message"].endswith("+0000 UTC")


def test_a_vlan_and_both_addresses_are_there_while_it_is_attached(bench: Bench) -> None:
    made = delivered(bench, mac(bench, enable_vpc=True)["id"])
    path = f"{MACS}/servers/{made['id']}/private-networks"
    asked: dict[str, Any] = {"per_private_network_ipam_ip_ids": {NETWORK: []}}
    (joined,) = bench.json("PUT", path, asked)["server_private_networks"]
    assert joined["status"] == "attaching"
    assert 1 < joined["vlan"] < 4096
    found = [bench.json("GET", f"{IPAM}/{one}") for one in joined["ipam_ip_ids"]]
    assert [one["is_ipv6"] for one in found] == [False, True]
    bench.json("PUT", path, {"per_private_network_ipam_ip_ids": {}})
    (leaving,) = bench.json("GET", f"{MACS}/server-private-networks")["server_private_networks"]
    assert (leaving["status"], leaving["ipam_ip_ids"]) == ("detaching", [])


# ---- addresses


def test_private_addresses_come_from_a_subnet_and_public_ones_from_a_zone(bench: Bench) -> None:
    server = bench.server()
    bench.json("POST", f"{ZONE}/servers/{server['id']}/private_nics", nic_of(NETWORK))
    bench.json("POST", f"{ZONE}/ips", {"type": "routed_ipv6", "server": server["id"]})
    bench.now += 10
    found = bench.json("GET", IPAM, query="order_by=created_at_desc")["ips"]
    private = [one for one in found if "subnet_id" in one["source"]]
    (public,) = [one for one in found if "zonal" in one["source"]]
    network = bench.json("GET", f"{VPC}/private-networks/{NETWORK}")
    assert {one["source"]["subnet_id"] for one in private} == {
        subnet["id"] for subnet in network["subnets"]
    }
    assert [one["is_ipv6"] for one in private] == [True, False]
    assert public["source"] == {"zonal": "fr-par-1"}
    assert public["zone"] == "fr-par-1"
    assert public["resource"] == {
        "type": "instance_server",
        "id": server["id"],
        "mac_address": None,
        "name": None,
    }


def nic_of(network: str) -> dict[str, object]:
    return {"private_network_id": network}


def test_an_address_is_called_the_same_in_ipam(bench: Bench) -> None:
    made = bench.json("POST", f"{ZONE}/ips", {"type": "routed_ipv4"})["ip"]
    assert made["ipam_id"] == made["id"]
    assert bench.json("GET", f"{IPAM}/{made['id']}")["resource"] is None


def test_a_server_shows_ipv4_before_ipv6_also_when_it_was_lent_later(bench: Bench) -> None:
    six = bench.json("POST", f"{ZONE}/ips", {"type": "routed_ipv6"})["ip"]
    server = bench.running(public_ips=[six["id"]], dynamic_ip_required=True)
    assert [one["family"] for one in server["public_ips"]] == ["inet", "inet6"]
    assert server["public_ip"] == server["public_ips"][0]


# ---- it-mil-1


def test_what_is_sold_in_milan_boots_from_block_storage_which_is_there(bench: Bench) -> None:
    milan = ZONE.replace("fr-par-1", "it-mil-1")
    types = bench.json("GET", f"{milan}/products/servers")["servers"]
    assert all(one["volumes_constraint"]["max_size"] == 0 for one in types.values())
    asked = {"commercial_type": next(iter(types)), "image": "ubuntu_noble", "name": "s"}
    root = bench.json("POST", f"{milan}/servers", asked)["server"]["volumes"]["0"]
    path = f"{BLOCK.replace('fr-par-1', 'it-mil-1')}/volumes/{root['id']}"
    assert bench.json("GET", path)["zone"] == "it-mil-1"


# ---- tasks


def test_the_task_of_a_backup_names_its_image_as_clients_parse_it(bench: Bench) -> None:
    server = bench.running()
    asked = {"action": "backup", "name": "b"}
    task = bench.json("POST", f"{ZONE}/servers/{server['id']}/action", asked)["task"]
    assert task["href_result"].startswith("/images/")
    image = bench.json("GET", ZONE + task["href_result"])["image"]
    assert (image["name"], image["from_server"]) == ("b", server["id"])
    assert (task["id"], task["description"]) == (
        "00000000-0000-0000-0000-000000000000",
        "fake task",
    )


def test_the_task_of_a_snapshot_names_it_without_a_slash(bench: Bench) -> None:
    asked = {"volume_type": "l_ssd", "size": 10 * GB}
    volume = bench.json("POST", f"{ZONE}/volumes", asked)["volume"]
    made = bench.json("POST", f"{ZONE}/snapshots", {"volume_id": volume["id"], "name": "s"})
    assert made["task"]["href_result"] == f"snapshots/{made['snapshot']['id']}"
    assert made["task"]["description"] == "fake task"


# ---- what is refused


@pytest.mark.parametrize(
    ("path", "query"),
    [
        (f"{ZONE}/servers", "project=nobody"),
        (f"{ZONE}/servers", "organization=nobody"),
        (f"{ZONE}/servers", "order=sideways"),
        (f"{ZONE}/servers", "private_network=nobody"),
        (f"{ZONE}/ips", "type=carrier_pigeon"),
        (f"{ZONE}/volumes", "volume_type=floppy"),
        (f"{ZONE}/images", "arch=abacus"),
        (f"{ZONE}/images", "public=perhaps"),
        (f"{BLOCK}/volumes", "project_id=nobody"),
        (f"{BLOCK}/volumes", "order_by=sideways"),
        (f"{BLOCK}/volumes", "product_resource_id=nobody"),
        (f"{BLOCK}/snapshots", "volume_id=nobody"),
        (IPAM, "resource_type=floppy"),
        (IPAM, "is_ipv6=perhaps"),
        (IPAM, "private_network_id=nobody"),
        ("/iam/v1alpha1/ssh-keys", "disabled=perhaps"),
        ("/iam/v1alpha1/ssh-keys", "project_id=nobody"),
        (f"{MACS}/servers", "project_id=nobody"),
        ("/marketplace/v2/local-images", "image_label=ubuntu_noble&type=floppy"),
        ("/marketplace/v2/local-images", "image_label=ubuntu_noble&arch=abacus"),
        ("/marketplace/v2/local-images", "image_label=ubuntu_noble&zone=xx-yyy-1"),
        (f"{ZONE}/servers", "page=" + "9" * 5000),
    ],
)
def test_filters_that_mean_nothing_are_refused(bench: Bench, path: str, query: str) -> None:
    response = bench.ask("GET", path, query=query)
    assert response.status == 400, response.body
    assert json.loads(response.body)["type"] == "invalid_arguments"


LOCAL = {"volume_type": "l_ssd", "size": 10 * GB}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{ZONE}/ips", {"project": "nobody"}),
        (f"{ZONE}/volumes", {**LOCAL, "project": "nobody"}),
        (f"{ZONE}/volumes", {**LOCAL, "size": 10**30}),
        (f"{ZONE}/volumes", {**LOCAL, "size": 10**15}),
        (f"{BLOCK}/volumes", {"from_empty": {"size": 10**15}, "name": "v"}),
        (f"{BLOCK}/volumes", {"from_empty": {"size": 10**9 + 1}, "name": "v"}),
        (f"{ZONE}/security_groups", {"name": "g", "stateful": "perhaps"}),
        (f"{ZONE}/security_groups", {"name": "g", "inbound_default_policy": "perhaps"}),
        (f"{ZONE}/security_groups", {"name": "g", "description": {"a": 1}}),
        (f"{ZONE}/placement_groups", {"name": "g", "policy_type": "perhaps"}),
        ("/iam/v1alpha1/ssh-keys", {"name": "k", "public_key": "x", "project_id": "nobody"}),
        (f"{MACS}/servers", {"type": "M2-L", "project_id": "nobody"}),
        (f"{MACS}/servers", {"type": "M2-L", "public_bandwidth_bps": 10**30}),
        (f"{ZONE}/servers", {"commercial_type": "DEV1-S", "image": "docker", "boot_type": "x"}),
    ],
)
def test_what_would_spoil_later_lists_is_refused(
    bench: Bench, path: str, body: dict[str, object]
) -> None:
    status, refused = bench.refusal("POST", path, body)
    assert (status, refused["type"]) == (400, "invalid_arguments")
    assert {"argument_name", "reason", "help_message"} == set(refused["details"][0])


@pytest.mark.parametrize(
    "rule",
    [
        {"protocol": "PIGEON"},
        {"direction": "up"},
        {"action": "shrug"},
        {"ip_range": "everywhere"},
        {"dest_port_from": 70_000},
        {"dest_port_from": 80, "dest_port_to": 22},
        {"dest_port_from": {"a": 1}},
    ],
)
def test_rules_that_mean_nothing_are_refused(bench: Bench, rule: dict[str, object]) -> None:
    group = bench.json("POST", f"{ZONE}/security_groups", {"name": "g"})["security_group"]
    path = f"{ZONE}/security_groups/{group['id']}/rules"
    usual = {"protocol": "TCP", "direction": "inbound", "action": "accept", "ip_range": "0.0.0.0/0"}
    assert bench.refusal("POST", path, {**usual, **rule})[0] == 400
    assert bench.refusal("PUT", path, {"rules": [{**usual, **rule}]})[0] == 400


def test_user_data_beyond_its_limit_is_refused(bench: Bench) -> None:
    path = f"{ZONE}/servers/{bench.server()['id']}/user_data/cloud-init"
    assert bench.ask("PATCH", path, b"x" * 127_998).status == 204
    status, body = bench.refusal("PATCH", path, b"x" * 127_999)
    assert (status, body["type"]) == (400, "invalid_arguments")


# ---- lists


def test_the_filters_of_a_list_are_kept_in_its_links(bench: Bench) -> None:
    for name in ("a", "b", "c"):
        bench.server(name=name)
    query = f"order=creation_date_asc&page=2&per_page=1&project={bench.world.options.project}"
    links = bench.ask("GET", f"{ZONE}/servers", query=query).header("Link")
    rest = f"per_page=1&order=creation_date_asc&project={bench.world.options.project}"
    assert links == ",".join(
        f'</servers?page={page}&{rest}>; rel="{name}"'
        for page, name in ((1, "first"), (1, "previous"), (3, "next"), (3, "last"))
    )


def test_links_without_filters_end_as_recorded_and_an_empty_list_has_page_zero(
    bench: Bench,
) -> None:
    links = bench.ask("GET", f"{ZONE}/ips").header("Link")
    assert links == '</ips?page=0&per_page=50&>; rel="last"'


def test_a_filter_can_put_no_header_into_an_answer(bench: Bench) -> None:
    bench.server(name="a")
    links = bench.ask("GET", f"{ZONE}/servers", query="name=a%0d%0aX-Evil:%201&tags=")
    assert all("\n" not in value for _, value in links.headers)


def test_images_are_public_or_ones_own_as_is_asked(bench: Bench) -> None:
    asked = {"volume_type": "l_ssd", "size": 10 * GB}
    volume = bench.json("POST", f"{ZONE}/volumes", asked)["volume"]
    shot = bench.json("POST", f"{ZONE}/snapshots", {"volume_id": volume["id"]})["snapshot"]
    own = bench.json("POST", f"{ZONE}/images", {"root_volume": shot["id"], "name": "mine"})

    def names(query: str) -> set[str]:
        return {one["name"] for one in bench.json("GET", f"{ZONE}/images", query=query)["images"]}

    assert names("public=false") == {own["image"]["name"]}
    assert "mine" not in names("public=true")
    assert len(names("")) > 1


def test_places_in_answers_are_whole_addresses(bench: Bench) -> None:
    made = bench.ask("POST", f"{ZONE}/ips", {"type": "routed_ipv4"})
    ip = json.loads(made.body)["ip"]["id"]
    assert made.header("Location") == f"https://api.scaleway.com{ZONE}/ips/{ip}"
    asked = {"volume_type": "l_ssd", "size": 10 * GB}
    volume = json.loads(bench.ask("POST", f"{ZONE}/volumes", asked).body)["volume"]
    shot = bench.ask("POST", f"{ZONE}/snapshots", {"volume_id": volume["id"]})
    assert shot.header("Location") is None


# ---- security groups


def test_a_group_begins_with_the_rules_that_nobody_may_change(bench: Bench) -> None:
    group = bench.json("POST", f"{ZONE}/security_groups", {"name": "g"})["security_group"]
    assert (group["description"], group["organization_default"]) == (None, False)
    path = f"{ZONE}/security_groups/{group['id']}/rules"
    fixed = bench.json("GET", path)["rules"]
    assert [one["dest_port_from"] for one in fixed] == [25, 465, 587, 25, 465, 587]
    assert [one["ip_range"] for one in fixed] == ["0.0.0.0/0"] * 3 + ["::/0"] * 3
    assert not any(one["editable"] for one in fixed)
    bench.json("PATCH", f"{ZONE}/security_groups/{group['id']}", {"enable_default_security": False})
    assert bench.json("GET", path)["rules"] == []


def test_all_rules_are_replaced_at_once_and_get_new_ids(bench: Bench) -> None:
    group = bench.json("POST", f"{ZONE}/security_groups", {"name": "g"})["security_group"]
    path = f"{ZONE}/security_groups/{group['id']}/rules"
    rule = {
        "id": None,
        "protocol": "TCP",
        "direction": "inbound",
        "action": "accept",
        "ip_range": "1.2.3.4/32",
        "dest_port_from": 22,
        "dest_port_to": None,
        "position": 0,
        "editable": None,
    }
    asked = {"rules": [rule, {**rule, "protocol": "ICMP", "dest_port_from": None}]}
    first = bench.json("PUT", path, asked)["rules"]
    assert [one["editable"] for one in first] == [False] * 6 + [True] * 2
    assert [one["position"] for one in first] == [1, 2, 3, 4, 5, 6, 1, 2]
    assert first[6]["ip_range"] == "1.2.3.4"
    assert first[7]["dest_port_from"] is None
    again = bench.json("PUT", path, asked)["rules"]
    assert {one["id"] for one in first[6:]}.isdisjoint(one["id"] for one in again)
    assert len(bench.json("PUT", path, {"rules": []})["rules"]) == 6


# ---- networks


def test_a_private_network_has_two_subnets_and_cannot_go_while_it_is_used(bench: Bench) -> None:
    made = bench.json("POST", f"{VPC}/private-networks", {"name": "n"})
    assert [":" in subnet["subnet"] for subnet in made["subnets"]] == [False, True]
    assert made["subnets"][0]["subnet"].endswith("/22")
    server = bench.server()
    nics = f"{ZONE}/servers/{server['id']}/private_nics"
    nic = bench.json("POST", nics, nic_of(made["id"]))["private_nic"]
    path = f"{VPC}/private-networks/{made['id']}"
    status, body = bench.refusal("DELETE", path)
    assert (status, body["precondition"]) == (412, "resource_still_in_use")
    bench.ask("DELETE", f"{nics}/{nic['id']}")
    assert bench.ask("DELETE", path).status == 204
    assert bench.refusal("GET", path)[1]["resource"] == "private_network"
    assert bench.refusal("DELETE", path)[0] == 404


def test_a_card_of_a_running_server_takes_its_time_in_either_version(bench: Bench) -> None:
    server = bench.running()
    nics = f"{ZONE}/servers/{server['id']}/private_nics"
    nic = bench.json("POST", nics, nic_of(NETWORK))["private_nic"]
    assert nic["state"] == "syncing"
    newer = bench.json("GET", f"{V2}/private-network-interfaces/{nic['id']}")
    assert newer["status"] == "attaching"
    bench.now += 200
    assert bench.json("GET", f"{nics}/{nic['id']}")["private_nic"]["state"] == "available"
    newer = bench.json("GET", f"{V2}/private-network-interfaces/{nic['id']}")
    assert newer["status"] == "available"
    assert "zone" not in newer


def test_a_server_that_is_stopped_in_place_says_so_twice(bench: Bench) -> None:
    server = bench.running()
    bench.act(server["id"], "stop_in_place")
    assert bench.until(server["id"], "stopped in place")["state_detail"] == "stopped in place"


def test_all_that_a_key_can_reach_is_asked_with_the_key(bench: Bench) -> None:
    assert isinstance(bench.world, World)
    assert bench.secret == SECRET
    bench.secret = ""
    assert bench.refusal("GET", f"{VPC}/private-networks")[0] == 401
