"""What the simulated Scaleway knows of costs and leaks, and what it shows under `/_sim/`."""

import pytest
import requests

from .conftest import ZONE, Bench, Start

HOUR = 3600.0


def test_costs_run_while_a_thing_exists_and_a_server_costs_unless_it_is_stopped(
    bench: Bench,
) -> None:
    ip = bench.json("POST", f"{ZONE}/ips", {"type": "routed_ipv4", "tags": ["mine"]})["ip"]
    server = bench.server(public_ips=[ip["id"]], tags=["mine"])
    bench.now = HOUR
    costs = {leak.kind: leak.cost for leak in bench.world.leaks()}
    assert costs == pytest.approx({"address": 0.004, "server": 0.0, "volume": 0.00118})
    bench.act(server["id"], "poweron")
    bench.until(server["id"], "running")
    bench.world.act("guest_poweroff", server["id"])
    bench.now = 2 * HOUR
    costs = {leak.kind: leak.cost for leak in bench.world.leaks()}
    assert costs == pytest.approx(
        {"address": 0.008, "server": 0.01368, "volume": 0.00236}, rel=1e-3
    )
    assert bench.world.cost() == pytest.approx(sum(costs.values()))


def test_leaks_are_what_exists_with_owner_and_age(bench: Bench) -> None:
    server = bench.server(tags=["mine"])
    bench.now = 50.0
    bench.ask("DELETE", f"{ZONE}/servers/{server['id']}")
    (leak,) = bench.world.leaks()
    assert (leak.kind, leak.name, leak.age) == (
        "volume",
        "Ubuntu 24.04 Noble Numbat_sbs_volume_0",
        50.0,
    )


def test_a_local_volume_costs_once_its_server_is_gone(bench: Bench) -> None:
    server = bench.server(volumes={"0": {"volume_type": "l_ssd"}})
    bench.now = HOUR
    assert bench.world.cost() == 0.0
    bench.ask("DELETE", f"{ZONE}/servers/{server['id']}")
    bench.now = 2 * HOUR
    assert bench.world.cost() == pytest.approx(20 * 0.000044)


def test_the_journal_says_what_was_asked_and_what_became_of_it(bench: Bench) -> None:
    bench.server()
    bench.ask("GET", f"{ZONE}/nonsense")
    first, second = bench.world.journal
    assert (first.method, first.status, first.key) == ("POST", 201, "server.create")
    assert (second.status, second.key, second.fate) == (501, "", "answered")
    assert bench.world.calls == {"server.create": 1, "": 1}


def test_a_person_can_look_and_act_by_http(start: Start) -> None:
    simulator = start()
    sim = simulator.url + "/_sim"
    headers = {"X-Auth-Token": "11111111-2222-4333-8444-555555555555"}
    body = {"name": "s", "commercial_type": "DEV1-S", "image": "debian_bookworm"}
    made = requests.post(f"{simulator.url}{ZONE}/servers", json=body, headers=headers, timeout=10)
    server = made.json()["server"]
    leaks = requests.get(f"{sim}/leaks", timeout=10).json()
    assert [leak["kind"] for leak in leaks["leaks"]] == ["server", "volume"]
    lines = requests.get(f"{sim}/journal?limit=1", timeout=10).json()["journal"]
    assert (lines[0]["key"], lines[0]["status"]) == ("server.create", 201)
    asked = requests.post(f"{sim}/faults", json={"rates": {"slow": 0.5}}, timeout=10).json()
    assert asked["rates"] == {"slow": 0.5}
    wrong = requests.post(f"{sim}/faults", json={"rates": {"fog": 0.5}}, timeout=10)
    assert (wrong.status_code, "fog" in wrong.json()["message"]) == (400, True)
    requests.post(f"{sim}/faults", json={"clear": True}, timeout=10)
    act = {"act": "server_deleted_by_hand", "id": server["id"]}
    assert requests.post(f"{sim}/act", json=act, timeout=10).json() == {"done": True}
    state = requests.get(f"{sim}/state", timeout=10).json()
    assert (state["servers"], state["volumes"]) == ({}, 1)
    assert state["faults"] == {"server_deleted_by_hand": 1}
    assert requests.get(f"{sim}/nonsense", timeout=10).status_code == 404


def test_what_has_ended_costs_no_more(bench: Bench) -> None:
    ip = bench.json("POST", f"{ZONE}/ips", {"type": "routed_ipv4"})["ip"]
    bench.now = HOUR
    bench.ask("DELETE", f"{ZONE}/ips/{ip['id']}")
    bench.now = 5 * HOUR
    assert bench.world.cost() == pytest.approx(0.004)
    assert bench.world.leaks() == ()
