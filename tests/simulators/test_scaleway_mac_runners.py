"""Runners of the provider's own on simulated Macs, addresses in networks, and orders of lists."""

from typing import Any

import pytest

from hostler.simulators.scaleway.state.options import Options

from .conftest import Bench

ZONE = "/apple-silicon/v1alpha1/zones/fr-par-1"
SERVERS = f"{ZONE}/servers"
RUNNERS = f"{ZONE}/runners"
NOBODY = "aaaaaaaa-0000-4000-8000-000000000000"
GITHUB = {
    "name": "ci",
    "provider": "github",
    "github_configuration": {"url": "https://example.com", "token": "t", "labels": ["mac"]},
}
GITLAB = {
    "name": "other",
    "provider": "gitlab",
    "gitlab_configuration": {"url": "https://example.com", "token": "t"},
}


def runner(bench: Bench, configuration: object = GITHUB) -> str:
    """Make a runner and return its id."""
    body = {"runner_configuration": configuration, "project_id": bench.options.project}
    return bench.json("POST", RUNNERS, body)["id"]


def applied(*ids: str) -> dict[str, Any]:
    return {"applied_runner_configurations": {"runner_configuration_ids": list(ids)}}


def devos(bench: Bench) -> str:
    (image,) = bench.json("GET", f"{ZONE}/os", query="name=devos")["os"]
    return image["id"]


def test_a_runner_waits_until_a_mac_that_is_delivered_has_it(bench: Bench) -> None:
    one = runner(bench)
    made = bench.json("GET", f"{RUNNERS}/{one}")
    assert (made["status"], made["configuration"]["name"]) == ("disabled", "ci")
    assert "gitlab_configuration" not in made["configuration"]
    mac = bench.json("POST", SERVERS, {"type": "M2-L", **applied(one)})
    assert mac["applied_runner_configuration_ids"] == [one]
    assert bench.json("GET", f"{RUNNERS}/{one}")["status"] == "disabled"
    bench.now += 3600.0
    assert bench.json("GET", f"{RUNNERS}/{one}")["status"] == "enabled"


def test_a_change_replaces_the_runners_of_a_mac_only_where_it_names_them(bench: Bench) -> None:
    one, two = runner(bench), runner(bench, GITLAB)
    (mac,) = bench.world.stock_macs(1)
    path = f"{SERVERS}/{mac}"
    for asked, left in (
        (applied(one), [one]),
        ({"name": "x"}, [one]),
        (applied(two, one), [two, one]),
        (applied(), []),
    ):
        assert bench.json("PATCH", path, asked)["applied_runner_configuration_ids"] == left
    refused = bench.refusal("PATCH", path, {"name": "y", **applied(one, NOBODY)})[1]
    assert (refused["resource"], refused["resource_id"]) == ("runner", NOBODY)
    mac_now = bench.json("GET", path)
    assert (mac_now["name"], mac_now["applied_runner_configuration_ids"]) == ("x", [])


def test_a_mac_delivered_as_a_runner_cannot_be_reinstalled(bench: Bench) -> None:
    one, os_id = runner(bench), devos(bench)
    mac = bench.json("POST", SERVERS, {"type": "M2-L", "os_id": os_id, **applied(one)})["id"]
    bench.now += 7200.0
    refused = bench.refusal("POST", f"{SERVERS}/{mac}/reinstall", {})[1]
    assert refused["type"] == "precondition_failed"
    assert bench.json("GET", f"{SERVERS}/{mac}")["status"] == "ready"
    bench.json("PATCH", f"{SERVERS}/{mac}", applied())
    assert bench.ask("POST", f"{SERVERS}/{mac}/reinstall", {}).status == 200


def test_runners_are_listed_by_mac_and_project_changed_and_deleted(bench: Bench) -> None:
    one, two = runner(bench), runner(bench, GITLAB)
    (mac,) = bench.world.stock_macs(1)
    bench.json("PATCH", f"{SERVERS}/{mac}", applied(two))
    for query, found in (
        ("", [one, two]),
        (f"server_id={mac}", [two]),
        (f"project_id={bench.options.project}", [one, two]),
        (f"project_id={NOBODY}", []),
    ):
        listed = bench.json("GET", RUNNERS, query=query)
        assert [each["id"] for each in listed["runners"]] == found
        assert listed["total_count"] == len(found)
    changed = bench.json("PATCH", f"{RUNNERS}/{one}", {"runner_configuration": GITLAB})
    assert changed["configuration"]["provider"] == "gitlab"
    assert bench.ask("DELETE", f"{RUNNERS}/{two}").status == 204
    assert bench.ask("GET", f"{RUNNERS}/{two}").status == 403  # as recorded
    assert bench.json("GET", f"{SERVERS}/{mac}")["applied_runner_configuration_ids"] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"name": "x", "provider": "jenkins"},
        {"name": "x", "provider": "github"},
        {**GITHUB, "provider": "gitlab"},
        {**GITHUB, **GITLAB},
    ],
)
def test_a_runner_that_is_of_no_sort_or_of_two_is_refused(bench: Bench, wrong: object) -> None:
    status, body = bench.refusal("POST", RUNNERS, {"runner_configuration": wrong})
    assert (status, body["type"]) == (400, "invalid_arguments")
    assert bench.json("GET", RUNNERS)["total_count"] == 0


# ------------------------------------------------------------ networks


def in_network(bench: Bench, network: str, *ipam_ids: str) -> Any:
    """Order a Mac into a network, and return the body of the attachment."""
    mac = bench.json("POST", SERVERS, {"type": "M2-L", "enable_vpc": True})["id"]
    body = {"private_network_id": network, "ipam_ip_ids": list(ipam_ids)}
    return bench.json("POST", f"{SERVERS}/{mac}/private-networks", body)


def test_an_attachment_has_the_addresses_that_were_asked_for_or_the_next_one(bench: Bench) -> None:
    one, two, seven = (booked(bench) for _ in range(3))
    asked, other = in_network(bench, NOBODY, one, two), in_network(bench, NOBODY)
    assert asked["ipam_ip_ids"] == [one, two]
    assert len(other["ipam_ip_ids"]) == 2
    bench.now += 61.0
    path = f"{ZONE}/server-private-networks"
    listed = bench.json("GET", path)["server_private_networks"]
    assert [len(one["ipam_ip_ids"]) for one in listed] == [2, 2]
    found = bench.json("GET", path, query=f"ipam_ip_ids={two}&ipam_ip_ids={NOBODY}")
    assert [one["id"] for one in found["server_private_networks"]] == [asked["id"]]
    networks = f"{SERVERS}/{other['server_id']}/private-networks"
    body = {"per_private_network_ipam_ip_ids": {NOBODY: [seven]}}
    (set_,) = bench.json("PUT", networks, body)["server_private_networks"]
    assert (set_["id"], set_["ipam_ip_ids"]) == (other["id"], [seven])
    taken = {"per_private_network_ipam_ip_ids": {NOBODY: [one]}}
    assert bench.refusal("PUT", networks, taken)[0] == 400


def booked(bench: Bench) -> str:
    """Book an address in the network of the tests, and return its id."""
    body = {"source": {"private_network_id": NOBODY}}
    return bench.json("POST", "/ipam/v1/regions/fr-par/ips", body)["id"]


def test_attachments_are_listed_in_the_order_asked_for(bench: Bench) -> None:
    one = in_network(bench, NOBODY)
    bench.now += 61.0
    two = in_network(bench, NOBODY)
    bench.now += 61.0
    bench.ask("DELETE", f"{SERVERS}/{one['server_id']}/private-networks/{NOBODY}")
    for order, found in (
        ("created_at_asc", [one, two]),
        ("created_at_desc", [two, one]),
        ("updated_at_asc", [two, one]),
        ("updated_at_desc", [one, two]),
        ("", [one, two]),
    ):
        listed = bench.json("GET", f"{ZONE}/server-private-networks", query=f"order_by={order}")
        ids = [each["id"] for each in listed["server_private_networks"]]
        assert ids == [each["id"] for each in found]


@pytest.mark.parametrize("path", ["servers", "server-private-networks"])
def test_an_order_that_there_is_not_is_refused(bench: Bench, path: str) -> None:
    response = bench.ask("GET", f"{ZONE}/{path}", query="order_by=name_asc")
    assert response.status == 400


# ------------------------------------------------------------ orders


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "M4-S"},
        {"type": "M2-L", "os_id": NOBODY},
        {"type": "M2-L", "commitment_type": "for_ever"},
        {"type": "M2-L", **applied(NOBODY)},
        {"type": "M1-M"},
    ],
)
def test_a_batch_that_is_refused_leaves_nothing(wrong: dict[str, Any]) -> None:
    bench = Bench(options=Options(stock={"M4-S": "no_stock"}))
    body = {**wrong, "requests": [{"name": name} for name in "abc"]}
    bench.refusal("POST", f"{ZONE}/batch-create-servers", body)
    assert bench.json("GET", SERVERS)["total_count"] == 0
    assert bench.world.leaks() == ()


def test_each_zone_lists_its_own(bench: Bench) -> None:
    bench.world.stock_macs(2)
    bench.world.stock_macs(1, "M1-M", "fr-par-3")
    found = {
        zone: bench.json("GET", SERVERS.replace("fr-par-1", zone))["total_count"]
        for zone in ("fr-par-1", "fr-par-2", "fr-par-3")
    }
    assert found == {"fr-par-1": 2, "fr-par-2": 0, "fr-par-3": 1}
