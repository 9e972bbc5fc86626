"""The state graph of simulated servers, with what may be asked when, against the wire facts."""

import json
from random import Random
from typing import Any

import pytest

from hostler.simulators.scaleway.api.bodies import server_body, server_wire
from hostler.simulators.scaleway.faults.rates import STORM, Rule
from hostler.simulators.scaleway.state.options import Options

from .conftest import BLOCK, ZONE, Bench

ALLOWED = {
    "stopped": ["poweron", "backup"],
    "starting": ["stop_in_place", "backup"],
    "running": ["poweroff", "terminate", "reboot", "stop_in_place", "backup"],
    "stopping": ["stop_in_place", "backup"],
    "stopped in place": ["poweron", "poweroff", "terminate", "reboot", "backup"],
}
PATHS: dict[str, list[tuple[str, str]]] = {
    "stopped": [],
    "starting": [("poweron", "starting")],
    "running": [("poweron", "running")],
    "stopping": [("poweron", "running"), ("poweroff", "stopping")],
    "stopped in place": [("poweron", "running"), ("stop_in_place", "stopped in place")],
}
LEADS_TO = {
    ("stopped", "poweron"): ["starting", "running"],
    ("starting", "stop_in_place"): ["stopping", "stopped in place"],
    ("running", "poweroff"): ["stopping", "stopped"],
    ("running", "stop_in_place"): ["stopping", "stopped in place"],
    ("running", "reboot"): ["stopping", "starting", "running"],
    ("running", "terminate"): ["stopping", "gone"],
    ("stopping", "stop_in_place"): ["stopping", "stopped in place"],
    ("stopped in place", "poweron"): ["starting", "running"],
    ("stopped in place", "poweroff"): ["stopping", "stopped"],
    ("stopped in place", "terminate"): ["stopping", "gone"],
    ("stopped in place", "reboot"): ["stopping", "starting", "running"],
}


def in_state(bench: Bench, state: str, **fields: object) -> Any:
    """Lead a new server to a state."""
    server = bench.server(**fields)
    for action, reached in PATHS[state]:
        assert bench.act(server["id"], action).status == 202
        server = bench.until(server["id"], reached)
    return server


@pytest.mark.parametrize("state", ALLOWED)
def test_allowed_actions_are_those_recorded(bench: Bench, state: str) -> None:
    server = in_state(bench, state)
    assert server["allowed_actions"] == ALLOWED[state]
    actions = bench.json("GET", f"{ZONE}/servers/{server['id']}/action")
    assert actions == {"actions": ALLOWED[state]}


@pytest.mark.parametrize(("state", "action"), LEADS_TO)
def test_every_allowed_action_leads_where_it_should(bench: Bench, state: str, action: str) -> None:
    server = in_state(bench, state)
    assert bench.act(server["id"], action).status == 202
    for reached in LEADS_TO[state, action]:
        bench.until(server["id"], reached)


@pytest.mark.parametrize("state", ALLOWED)
@pytest.mark.parametrize("action", ["poweron", "poweroff", "terminate", "reboot", "stop_in_place"])
def test_what_is_not_allowed_is_refused_and_changes_nothing(
    bench: Bench, state: str, action: str
) -> None:
    server = in_state(bench, state)
    if action in ALLOWED[state]:
        assert (state, action) in LEADS_TO
        return
    status, body = bench.refusal(
        "POST", f"{ZONE}/servers/{server['id']}/action", {"action": action}
    )
    if state in ("starting", "stopping"):
        assert (status, body["type"], body["current_state"]) == (409, "transient_state", state)
    else:
        assert (status, body["type"]) == (400, "precondition_failed")
        needed = "stopped" if action == "poweron" else "running"
        assert body["help_message"] == f"server should be {needed}"
    assert bench.read_server(server["id"]) == server


@pytest.mark.parametrize(
    ("generation", "action", "status", "kind", "message"),
    [
        ("2025", "poweroff", 400, "invalid_request_error", "server should be running"),
        ("2026", "poweroff", 400, "precondition_failed", "precondition is not respected"),
    ],
)
def test_both_generations_of_bodies(
    generation: str, action: str, status: int, kind: str, message: str
) -> None:
    bench = Bench(Options(generation=generation))
    server = bench.server()
    found, body = bench.refusal("POST", f"{ZONE}/servers/{server['id']}/action", {"action": action})
    assert (found, body["type"], body["message"]) == (status, kind, message)


def test_an_old_precondition_has_status_412_and_no_name() -> None:
    bench = Bench(Options(generation="2025"))
    server = in_state(bench, "running")
    assert bench.refusal("DELETE", f"{ZONE}/servers/{server['id']}") == (
        412,
        {"type": "precondition_failed", "message": "instance should be powered off"},
    )


def test_mixed_generations_give_both() -> None:
    bench = Bench(Options(generation="mixed"))
    server = in_state(bench, "running")
    found = {bench.refusal("DELETE", f"{ZONE}/servers/{server['id']}")[0] for _ in range(40)}
    assert found == {400, 412}


def test_details_of_a_start_and_the_place_of_a_server(bench: Bench) -> None:
    server = bench.server()
    assert (server["state_detail"], server["location"]) == ("", None)
    bench.act(server["id"], "poweron")
    assert bench.read_server(server["id"])["state_detail"] == "allocating node"
    server = bench.until(server["id"], "running")
    assert server["state_detail"] == "booting kernel"
    assert server["location"]["zone_id"] == "fr-par-1"
    bench.act(server["id"], "poweroff")
    server = bench.until(server["id"], "stopped")
    assert (server["state_detail"], server["location"]) == ("", None)


def test_some_starts_go_by_way_of_other_details(bench: Bench) -> None:
    seen: set[str] = set()
    for _ in range(40):
        server = bench.server()
        bench.act(server["id"], "poweron")
        while (now := bench.read_server(server["id"]))["state"] == "starting":
            seen.add(now["state_detail"])
            bench.now += 0.2
    assert seen == {"allocating node", "provisioning node", "starting"}


def test_a_failed_start_falls_back_to_stopped_without_a_word(bench: Bench) -> None:
    server = bench.server()
    bench.world.script(Rule(fault="start_falls_back", route="server.action.poweron"))
    assert bench.act(server["id"], "poweron").status == 202
    assert bench.read_server(server["id"])["state"] == "starting"
    fallen = bench.until(server["id"], "stopped")
    assert fallen["state_detail"] == ""
    assert bench.world.faults == {"start_falls_back": 1}


def test_protected_servers_keep_running_but_a_stopped_one_can_be_deleted(bench: Bench) -> None:
    server = in_state(bench, "running", protected=True)
    assert server["allowed_actions"] == ["backup"]
    status, body = bench.refusal(
        "POST", f"{ZONE}/servers/{server['id']}/action", {"action": "terminate"}
    )
    assert (status, body["precondition"]) == (400, "protected_resource")
    stopped = bench.server(protected=True)
    assert bench.ask("DELETE", f"{ZONE}/servers/{stopped['id']}").status == 204


def test_delete_keeps_every_volume_and_every_address(bench: Bench) -> None:
    ip = bench.json("POST", f"{ZONE}/ips", {"type": "routed_ipv4"})["ip"]
    server = bench.server(
        public_ips=[ip["id"]],
        volumes={"0": {"volume_type": "l_ssd"}, "1": {"size": 10**10, "volume_type": "sbs_volume"}},
    )
    local, block = server["volumes"]["0"]["id"], server["volumes"]["1"]["id"]
    assert bench.json("GET", f"{BLOCK}/volumes/{block}")["status"] == "in_use"
    assert bench.ask("DELETE", f"{ZONE}/servers/{server['id']}").status == 204
    assert bench.refusal("DELETE", f"{ZONE}/servers/{server['id']}") == (
        404,
        {
            "type": "not_found",
            "message": "resource is not found",
            "resource": "instance_server",
            "resource_id": server["id"],
        },
    )
    saved = bench.json("GET", f"{ZONE}/volumes/{local}")["volume"]
    assert (saved["state"], saved["server"]) == ("available", None)
    bench.now += 7
    volume = bench.json("GET", f"{BLOCK}/volumes/{block}")
    assert (volume["status"], volume["references"]) == ("available", [])
    assert bench.json("GET", f"{ZONE}/ips/{ip['id']}")["ip"]["state"] == "detached"


def test_terminate_takes_local_volumes_and_keeps_the_rest(bench: Bench) -> None:
    ip = bench.json("POST", f"{ZONE}/ips", {"type": "routed_ipv4"})["ip"]
    server = in_state(
        bench,
        "running",
        public_ips=[ip["id"]],
        volumes={"0": {"volume_type": "l_ssd"}, "1": {"size": 10**10, "volume_type": "sbs_volume"}},
    )
    bench.act(server["id"], "terminate")
    dying = bench.read_server(server["id"])
    assert (dying["state"], dying["state_detail"], dying["allowed_actions"]) == (
        "stopping",
        "terminating",
        [],
    )
    assert bench.json("GET", f"{ZONE}/ips/{ip['address']}")["ip"]["state"] == "attached"
    bench.until(server["id"], "gone")
    local = server["volumes"]["0"]["id"]
    assert bench.refusal("GET", f"{ZONE}/volumes/{local}")[1]["resource"] == "instance_volume"
    volume = bench.json("GET", f"{BLOCK}/volumes/{server['volumes']['1']['id']}")
    assert volume["status"] == "available"
    assert bench.json("GET", f"{ZONE}/ips/{ip['id']}")["ip"]["server"] is None


def test_an_attached_address_can_be_deleted_and_is_no_longer_shown(bench: Bench) -> None:
    ip = bench.json("POST", f"{ZONE}/ips", {"type": "routed_ipv4"})["ip"]
    server = in_state(bench, "running", public_ips=[ip["id"]])
    assert [found["id"] for found in server["public_ips"]] == [ip["id"]]
    assert bench.ask("DELETE", f"{ZONE}/ips/{ip['address']}").status == 204
    assert bench.read_server(server["id"])["public_ips"] == []
    status, body = bench.refusal("GET", f"{ZONE}/ips/{ip['address']}")
    assert (status, body["resource_id"]) == (404, ip["address"] + "/32")


def test_a_dynamic_address_comes_with_the_start_and_goes_in_the_stop(bench: Bench) -> None:
    server = bench.server(dynamic_ip_required=True)
    assert server["public_ips"] == []
    bench.act(server["id"], "poweron")
    first = bench.read_server(server["id"])["public_ips"][0]
    assert (first["dynamic"], first["state"]) == (True, "pending")
    assert bench.until(server["id"], "running")["public_ips"][0]["state"] == "attached"
    assert bench.json("GET", f"{ZONE}/ips")["ips"] == []
    bench.act(server["id"], "poweroff")
    assert len(bench.read_server(server["id"])["public_ips"]) == 1
    bench.now += 5.5
    assert bench.read_server(server["id"])["public_ips"] == []


def test_a_hot_detach_is_quick_for_the_server_and_slow_for_block_storage(bench: Bench) -> None:
    server = in_state(bench, "running")
    volume = server["volumes"]["0"]["id"]
    path = f"{ZONE}/servers/{server['id']}/detach-volume"
    assert bench.json("POST", path, {"volume_id": volume})["server"]["volumes"] == {}
    found = bench.json("GET", f"{BLOCK}/volumes/{volume}")
    assert (found["status"], found["references"][0]["status"]) == ("in_use", "detaching")
    assert bench.refusal("DELETE", f"{BLOCK}/volumes/{volume}")[1]["precondition"] == (
        "resource_still_in_use"
    )
    bench.now += 67
    assert bench.json("GET", f"{BLOCK}/volumes/{volume}")["status"] == "available"
    assert bench.ask("DELETE", f"{BLOCK}/volumes/{volume}").status == 204
    status, body = bench.refusal("POST", path, {"volume_id": volume})
    assert status == 400
    assert body["details"][0]["help_message"] == f"Volume {volume} is not attached to this server"


def test_volumes_of_block_storage_are_not_found_in_the_instance_api(bench: Bench) -> None:
    server = bench.server()
    volume = server["volumes"]["0"]
    assert set(volume) == {"boot", "id", "volume_type", "zone", "state"}
    assert bench.refusal("GET", f"{ZONE}/volumes/{volume['id']}")[0] == 404
    body = bench.json("GET", f"/block/v1alpha1/zones/fr-par-1/volumes/{volume['id']}")
    assert (body["name"], body["tags"]) == ("Ubuntu 24.04 Noble Numbat_sbs_volume_0", [])


def test_a_volume_that_is_attached_keeps_its_server_busy(bench: Bench) -> None:
    server = bench.server()
    made = bench.json("POST", f"{BLOCK}/volumes", {"name": "v", "from_empty": {"size": 10**10}})
    path = f"{ZONE}/servers/{server['id']}/attach-volume"
    assert bench.refusal("POST", path, {"volume_id": made["id"]})[1]["type"] == "transient_state"
    bench.now += 8
    displayed = bench.json("POST", path, {"volume_id": made["id"]})["server"]
    assert (displayed["volumes"]["1"]["state"], displayed["allowed_actions"]) == ("attaching", [])
    bench.now += 4
    assert bench.read_server(server["id"])["allowed_actions"] == ALLOWED["stopped"]


def test_nothing_is_made_where_a_creation_is_refused(bench: Bench) -> None:
    bad: list[dict[str, object]] = [
        {"image": "aaaaaaaa-0000-4000-8000-000000000000"},
        {"public_ips": ["aaaaaaaa-0000-4000-8000-000000000000"]},
        {"commercial_type": "NO-SUCH"},
        {"image": "no_such_label"},
        {"volumes": {"0": {"volume_type": "b_ssd"}}},
        {"volumes": {"0": {"volume_type": "l_ssd", "size": 10**12}}},
        {"volumes": {"0": {}, "1": {"id": "aaaaaaaa-0000-4000-8000-000000000000"}}},
    ]
    body = {"name": "s", "commercial_type": "DEV1-S", "image": "ubuntu_noble"}
    found = [bench.refusal("POST", f"{ZONE}/servers", {**body, **fields}) for fields in bad]
    assert [status for status, _ in found] == [404, 404, 400, 404, 400, 400, 404]
    assert found[0][1]["resource"] == "instance_image"
    assert found[1][1]["resource"] == "instance_ip"
    assert bench.world.leaks() == ()


def test_an_empty_creation_names_what_is_required(bench: Bench) -> None:
    _, body = bench.refusal("POST", f"{ZONE}/servers", {})
    assert [(one["argument_name"], one["reason"]) for one in body["details"]] == [
        ("commercial_type", "required"),
        ("image", "required"),
        ("volumes", "required"),
    ]


def test_quotas_and_stock_refuse(bench: Bench) -> None:
    bench = Bench(Options(quotas={"DEV1-S": 1, "ips": 0}, stock={"fr-par-1/DEV1-M": "shortage"}))
    server = bench.server()
    body = {"name": "s", "commercial_type": "DEV1-S", "image": "ubuntu_noble"}
    status, refused = bench.refusal("POST", f"{ZONE}/servers", body)
    assert (status, refused["type"]) == (403, "quotas_exceeded")
    assert refused["details"][0]["resource"] == "cp_servers_type_DEV1_S"
    assert bench.refusal("POST", f"{ZONE}/ips", {})[1]["details"][0]["resource"] == "ips"
    bench.ask("DELETE", f"{ZONE}/servers/{server['id']}")
    short = bench.server(commercial_type="DEV1-M")
    status, refused = bench.refusal(
        "POST", f"{ZONE}/servers/{short['id']}/action", {"action": "poweron"}
    )
    assert (status, refused["type"], refused["resource"]) == (503, "out_of_stock", "DEV1-M")


def test_what_is_kept_encoded_is_always_what_is_true() -> None:
    """A body is encoded once and kept: after a storm every one must equal a fresh one."""
    bench = Bench(fault_rates=STORM, seed=5)
    rng = Random(5)
    ids: list[str] = []
    for _ in range(1500):
        bench.now += rng.expovariate(1.0)
        ip = bench.reply("POST", f"{ZONE}/ips", {}).response
        address = json.loads(ip.body)["ip"]["id"] if ip and ip.status == 201 else None
        body: dict[str, object] = {
            "name": "s",
            "commercial_type": "DEV1-S",
            "image": "debian_trixie",
        }
        body["public_ips"] = [address] if address else []
        bench.reply("POST", f"{ZONE}/servers", body)
        ids = [server.id for server in bench.world.cloud.servers]
        for _ in range(4):
            if ids:
                one = rng.choice(ids)
                action = rng.choice(["poweron", "poweroff", "terminate", "stop_in_place", "backup"])
                bench.reply("POST", f"{ZONE}/servers/{one}/action", {"action": action})
                bench.reply("PATCH", f"{ZONE}/servers/{one}", {"tags": [str(rng.random())]})
        for server in bench.world.cloud.servers:
            saved = json.loads(bytes(server_wire(bench.world.cloud, server)))
            fresh = server_body(bench.world.cloud, server)
            assert saved == json.loads(json.dumps(fresh))
        if len(ids) > 40:
            for one in ids[:20]:
                bench.world.act("server_deleted_by_hand", one)
    assert len(bench.world.faults) > 20


def test_what_was_due_long_ago_happened_when_it_was_due(bench: Bench) -> None:
    server = bench.server()
    bench.act(server["id"], "poweron")
    bench.now = 3600.0
    displayed = bench.read_server(server["id"])
    assert displayed["state"] == "running"
    assert "2026-01-01T00:00:01" < displayed["modification_date"] < "2026-01-01T00:00:36"
