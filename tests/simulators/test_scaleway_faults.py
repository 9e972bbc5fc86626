"""Faults of the simulated Scaleway: each is reached, counted, and does what it says."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hostler.simulators.scaleway.faults.rates import (
    AMBIENT,
    FAULTS,
    PRESETS,
    STORM,
    BadFaultRates,
    FaultRates,
    Rule,
    load,
    parse,
)
from hostler.simulators.scaleway.routes import ROUTES
from hostler.simulators.scaleway.state.calls import Fate

from .conftest import BLOCK, ZONE, Bench

Check = Callable[[Bench], None]
SERVERS = f"{ZONE}/servers"
BODY = {"name": "s", "commercial_type": "DEV1-S", "image": "ubuntu_noble"}


def count(bench: Bench) -> int:
    """Return how many servers there are, whatever lists say."""
    return len(bench.world.cloud.servers)


def script(bench: Bench, fault: str, route: str = "", spell: float | None = None) -> None:
    bench.world.script(Rule(fault=fault, route=route, spell=spell))


def reply_lost(bench: Bench) -> None:
    script(bench, "reply_lost", "server.create")
    assert bench.reply("POST", SERVERS, BODY).fate is Fate.RESET
    assert count(bench) == 1


def request_lost(bench: Bench) -> None:
    script(bench, "request_lost", "server.create")
    assert bench.reply("POST", SERVERS, BODY).fate is Fate.RESET
    assert count(bench) == 0


def effect_delayed(bench: Bench) -> None:
    script(bench, "effect_delayed", "server.create", spell=30.0)
    assert bench.reply("POST", SERVERS, BODY).fate in (Fate.RESET, Fate.HUNG)
    bench.now = 29.0
    assert bench.json("GET", SERVERS)["servers"] == []
    bench.now = 31.0
    assert len(bench.json("GET", SERVERS)["servers"]) == 1


def duplicate_delivery(bench: Bench) -> None:
    script(bench, "duplicate_delivery", "server.create")
    assert bench.ask("POST", SERVERS, BODY).status == 201
    assert count(bench) == 2


def list_without_newest(bench: Bench) -> None:
    first = bench.server()["id"]
    bench.server()
    script(bench, "list_without_newest", "server.list")
    assert [one["id"] for one in bench.json("GET", SERVERS)["servers"]] == [first]
    assert len(bench.json("GET", SERVERS)["servers"]) == 2


def list_with_deleted(bench: Bench) -> None:
    deleted = bench.server()["id"]
    bench.ask("DELETE", f"{SERVERS}/{deleted}")
    script(bench, "list_with_deleted", "server.list")
    assert [one["id"] for one in bench.json("GET", SERVERS)["servers"]] == [deleted]
    assert bench.json("GET", SERVERS)["servers"] == []


def empty_list(bench: Bench) -> None:
    bench.server()
    script(bench, "empty_list", "server.list", spell=60.0)
    for path in (SERVERS, SERVERS, f"{BLOCK}/volumes"):
        found = bench.json("GET", path)
        assert found[path.rsplit("/", 1)[1]] == []
    bench.now = 61.0
    assert len(bench.json("GET", SERVERS)["servers"]) == 1


def truncated_page(bench: Bench) -> None:
    for _ in range(4):
        bench.server()
    script(bench, "truncated_page", "server.list")
    response = bench.ask("GET", SERVERS)
    assert response.header("X-Total-Count") == "4"
    assert len(json.loads(response.body)["servers"]) == 2


def pages_shuffled(bench: Bench) -> None:
    made = [bench.server()["id"] for _ in range(20)]
    script(bench, "pages_shuffled", "server.list")
    found = [one["id"] for one in bench.json("GET", SERVERS, query="per_page=19")["servers"]]
    assert found != made[::-1][:19]
    assert set(found) < set(made)
    assert len(found) == 19


def zone_dead(bench: Bench) -> None:
    script(bench, "zone_dead", "server.list", spell=60.0)
    replies = [bench.reply("GET", SERVERS) for _ in range(20)]
    assert {reply.fate for reply in replies} == {Fate.HUNG, Fate.ANSWERED}
    assert {reply.response.status for reply in replies if reply.response} == {503}
    assert bench.ask("GET", SERVERS.replace("fr-par-1", "fr-par-2")).status == 200
    bench.now = 61.0
    assert bench.ask("GET", SERVERS).status == 200


def forbidden_for_rate_limit(bench: Bench) -> None:
    script(bench, "forbidden_for_rate_limit", "server.list")
    assert bench.refusal("GET", SERVERS)[0] == 403


def not_found_flicker(bench: Bench) -> None:
    server = bench.server()["id"]
    script(bench, "not_found_flicker", "server.get")
    status, body = bench.refusal("GET", f"{SERVERS}/{server}")
    assert (status, body["resource"], body["resource_id"]) == (404, "instance_server", server)
    assert bench.read_server(server)["id"] == server


def test_an_id_flickers_for_a_moment_and_not_soon_again():
    bench = Bench(fault_rates=FaultRates({"not_found_flicker": 1.0}))
    one, other = bench.server()["id"], bench.server()["id"]
    found = dict[float, int]()
    for now in (0.0, 5.0, 10.0, 10.5, 30.0, 300.0, 300.5, 310.0, 311.0):
        bench.now = now
        found[now] = bench.ask("GET", f"{SERVERS}/{one}").status
    assert [now for now, status in found.items() if status == 404] == [0.0, 5.0, 10.0, 300.5, 310.0]
    assert bench.ask("GET", f"{SERVERS}/{other}").status == 404, "each id for itself"


def on_delete(fault: str, status: int, kind: str) -> Check:
    """Check a refusal that a deletion meets."""

    def check(bench: Bench) -> None:
        server = bench.server()["id"]
        script(bench, fault, "server.delete", spell=0.0)
        found, body = bench.refusal("DELETE", f"{SERVERS}/{server}")
        assert (found, body["type"]) == (status, kind)
        assert count(bench) == 1
        bench.now = 1.0
        assert bench.ask("DELETE", f"{SERVERS}/{server}").status == 204

    return check


def locked_423(bench: Bench) -> None:
    server = bench.server()["id"]
    script(bench, "locked_423", "server.delete", spell=30.0)
    assert bench.refusal("DELETE", f"{SERVERS}/{server}")[1]["type"] == "locked"
    assert bench.act(server, "poweron").status == 423
    assert bench.read_server(server)["id"] == server
    bench.now = 31.0
    assert bench.act(server, "poweron").status == 202


def rate_limited_429(bench: Bench) -> None:
    script(bench, "rate_limited_429", "server.list")
    response = bench.ask("GET", SERVERS)
    assert (response.status, response.body, response.header("Content-Type")) == (429, b"", None)


def html_5xx(bench: Bench) -> None:
    bench.world.script(Rule(fault="html_5xx", route="server.create", count=40))
    found = [bench.ask("POST", SERVERS, BODY) for _ in range(40)]
    assert {(one.status, one.header("Content-Type")) for one in found} == {(502, "text/html")}
    assert 5 < count(bench) < 35


def truncated_json(bench: Bench) -> None:
    script(bench, "truncated_json", "server.create")
    reply = bench.reply("POST", SERVERS, BODY)
    assert reply.fate is Fate.TRUNCATED
    assert reply.response is not None
    assert count(bench) == 1


def slow(bench: Bench) -> None:
    script(bench, "slow", "server.list", spell=9.0)
    assert 9.0 < bench.reply("GET", SERVERS).delay < 11.0
    assert bench.reply("GET", SERVERS).delay < 2.0


def hung(bench: Bench) -> None:
    bench.world.script(Rule(fault="hung", route="server.create", count=40))
    assert {bench.reply("POST", SERVERS, BODY).fate for _ in range(40)} == {Fate.HUNG}
    assert 5 < count(bench) < 35


def made_untagged(bench: Bench) -> None:
    script(bench, "made_untagged", "server.create")
    assert bench.reply("POST", SERVERS, {**BODY, "tags": ["mine"]}).fate is Fate.RESET
    assert bench.reply("POST", SERVERS, {**BODY, "tags": ["mine"]}).response is not None
    listed = bench.json("GET", SERVERS)["servers"]
    assert sorted(server["tags"] for server in listed) == [[], ["mine"]]


def out_of_stock_create(bench: Bench) -> None:
    script(bench, "out_of_stock_create", "server.create")
    assert bench.refusal("POST", SERVERS, BODY)[1]["type"] == "out_of_stock"
    assert count(bench) == 0


def out_of_stock_start(bench: Bench) -> None:
    server = bench.server()["id"]
    script(bench, "out_of_stock_start")
    assert bench.act(server, "poweron").status == 503
    assert bench.read_server(server)["state"] == "stopped"


def start_falls_back(bench: Bench) -> None:
    server = bench.server()["id"]
    script(bench, "start_falls_back", "server.action.poweron")
    assert bench.act(server, "poweron").status == 202
    bench.until(server, "stopped")


def stuck_starting(bench: Bench) -> None:
    server = bench.server()["id"]
    script(bench, "stuck_starting", "server.action", spell=500.0)
    bench.act(server, "poweron")
    bench.now = 499.0
    assert bench.read_server(server)["state"] == "starting"
    bench.now = 600.0
    assert bench.read_server(server)["state"] == "running"


def stuck_stopping(bench: Bench) -> None:
    server = bench.running()["id"]
    script(bench, "stuck_stopping", "server.action.terminate", spell=500.0)
    bench.act(server, "terminate")
    bench.now += 499.0
    assert bench.read_server(server)["state_detail"] == "terminating"
    bench.world.clear_fault_rates()
    assert bench.ask("GET", f"{SERVERS}/{server}").status == 404


def unknown_status(bench: Bench) -> None:
    server = bench.server()["id"]
    script(bench, "unknown_status", "server.get", spell=30.0)
    bench.read_server(server)
    assert bench.read_server(server)["state"] == "hibernating"
    bench.now = 31.0
    assert bench.read_server(server)["state"] == "stopped"


def guest_poweroff(bench: Bench) -> None:
    server = bench.running()["id"]
    assert bench.world.act("guest_poweroff", server)
    assert bench.read_server(server)["state"] == "stopped in place"
    assert not bench.world.act("guest_poweroff", server)


def server_deleted_by_hand(bench: Bench) -> None:
    server = bench.running()["id"]
    assert bench.world.act("server_deleted_by_hand", server)
    assert bench.ask("GET", f"{SERVERS}/{server}").status == 404
    assert [leak.kind for leak in bench.world.leaks()] == ["volume"]


def address_deleted_by_hand(bench: Bench) -> None:
    ip = bench.json("POST", f"{ZONE}/ips", {})["ip"]["id"]
    server = bench.server(public_ips=[ip])["id"]
    script(bench, "address_deleted_by_hand", "ip.get")
    bench.json("GET", f"{ZONE}/ips/{ip}")
    assert bench.ask("GET", f"{ZONE}/ips/{ip}").status == 404
    assert bench.read_server(server)["public_ips"] == []


def address_detached_by_hand(bench: Bench) -> None:
    ip = bench.json("POST", f"{ZONE}/ips", {})["ip"]["id"]
    server = bench.server(public_ips=[ip])["id"]
    script(bench, "address_detached_by_hand", "ip.get")
    bench.json("GET", f"{ZONE}/ips/{ip}")
    assert bench.json("GET", f"{ZONE}/ips/{ip}")["ip"]["server"] is None
    assert bench.read_server(server)["public_ips"] == []
    assert not bench.world.act("address_detached_by_hand", ip)


def tag_edited(bench: Bench) -> None:
    server = bench.server(tags=["ours"])
    for _ in range(30):
        assert bench.world.act("tag_edited", server["id"])
    assert bench.read_server(server["id"])["tags"] == []
    volume = bench.json("GET", f"{BLOCK}/volumes/{server['volumes']['0']['id']}")
    assert volume["name"].startswith("renamed by hand")


def quota_exceeded(bench: Bench) -> None:
    script(bench, "quota_exceeded", "ip.create")
    assert bench.refusal("POST", f"{ZONE}/ips", {})[1]["type"] == "quotas_exceeded"
    assert len(bench.world.cloud.addresses) == 0


def volume_delete_refused(bench: Bench) -> None:
    volume = bench.json("POST", f"{BLOCK}/volumes", {"from_empty": {"size": 10**10}})["id"]
    bench.now = 10.0
    script(bench, "volume_delete_refused")
    body = bench.refusal("DELETE", f"{BLOCK}/volumes/{volume}")[1]
    assert body["precondition"] == "resource_still_in_use"
    assert bench.ask("DELETE", f"{BLOCK}/volumes/{volume}").status == 204


def protected_by_hand(bench: Bench) -> None:
    server = bench.running()["id"]
    assert bench.world.act("protected_by_hand", server, spell=50.0)
    assert bench.act(server, "terminate").status == 400
    bench.now += 51.0
    assert bench.act(server, "terminate").status == 202


def server_locked(bench: Bench) -> None:
    server = bench.running()["id"]
    bench.now += 30.0
    guest = bench.world.cloud.servers.get(server)
    bench.world.advance()
    assert guest is not None
    assert guest.guest_up
    assert bench.world.act("server_locked", server, spell=50.0)
    assert not bench.world.act("server_locked", server)
    assert bench.read_server(server)["state"] == "locked"
    assert bench.read_server(server)["allowed_actions"] == []
    assert not guest.guest_up
    assert bench.act(server, "terminate").status == 423
    assert bench.ask("DELETE", f"{ZONE}/servers/{server}").status == 423
    bench.now += 51.0
    assert bench.read_server(server)["state"] == "running"
    assert bench.act(server, "terminate").status == 202


CHECKS: dict[str, Check] = {
    "precondition_400": on_delete("precondition_400", 400, "precondition_failed"),
    "transient_409": on_delete("transient_409", 409, "transient_state"),
    "precondition_412": on_delete("precondition_412", 412, "precondition_failed"),
    **{
        check.__name__: check
        for check in (
            reply_lost,
            request_lost,
            effect_delayed,
            duplicate_delivery,
            list_without_newest,
            list_with_deleted,
            empty_list,
            truncated_page,
            pages_shuffled,
            zone_dead,
            forbidden_for_rate_limit,
            not_found_flicker,
            locked_423,
            rate_limited_429,
            html_5xx,
            truncated_json,
            slow,
            hung,
            out_of_stock_create,
            out_of_stock_start,
            start_falls_back,
            stuck_starting,
            stuck_stopping,
            unknown_status,
            guest_poweroff,
            server_deleted_by_hand,
            address_deleted_by_hand,
            address_detached_by_hand,
            tag_edited,
            quota_exceeded,
            volume_delete_refused,
            protected_by_hand,
            server_locked,
            made_untagged,
        )
    },
}


def test_every_fault_has_a_check() -> None:
    assert set(CHECKS) == {fault.name for fault in FAULTS}


@pytest.mark.parametrize("name", CHECKS)
def test_a_fault_does_what_it_says_and_is_counted(bench: Bench, name: str) -> None:
    CHECKS[name](bench)
    assert set(bench.world.faults) == {name}
    assert bench.world.faults[name] >= 1


def test_a_storm_reaches_every_fault() -> None:
    often = {fault.name: 10.0 for fault in FAULTS if fault.where in AMBIENT}
    bench = Bench(fault_rates=FaultRates({**STORM.rates, **often}), seed=3)
    drive(bench, 3000)
    assert set(bench.world.faults) == {fault.name for fault in FAULTS}


def drive(bench: Bench, turns: int) -> None:
    """Make, start, list and remove servers for a while, as a careless client would."""
    for turn in range(turns):
        bench.now += 1.5
        bench.reply("POST", f"{ZONE}/ips", {})
        bench.reply("GET", SERVERS, query="per_page=3")
        bench.reply("GET", f"{BLOCK}/volumes")
        servers = list(bench.world.cloud.servers)
        if len(servers) < 8:
            bench.reply("POST", SERVERS, BODY)
        if servers:
            one = servers[turn % len(servers)]
            ended = ("poweroff", "terminate")[turn % 2] if turn % 100 < 20 else "backup"
            body = {"action": {"stopped": "poweron", "running": ended}.get(one.state, "terminate")}
            bench.reply("POST", f"{SERVERS}/{one.id}/action", body)
            bench.reply("GET", f"{SERVERS}/{one.id}")
            if all(address.dynamic for address in one.addresses):
                free = next((a for a in bench.world.cloud.addresses if a.server is None), None)
                bench.reply("PATCH", f"{ZONE}/ips/{free.id if free else ''}", {"server": one.id})
        for volume in list(bench.world.cloud.volumes)[:2]:
            bench.reply("DELETE", f"{BLOCK}/volumes/{volume.id}")
        if len(bench.world.cloud.addresses) > 30:
            address = next(iter(bench.world.cloud.addresses))
            bench.reply("DELETE", f"{ZONE}/ips/{address.id}")


def test_after_the_storm_no_fault_happens_and_no_spell_goes_on() -> None:
    bench = Bench(fault_rates=STORM, seed=4)
    drive(bench, 1500)
    bench.world.clear_fault_rates()
    before = dict(bench.world.faults)
    drive(bench, 300)
    assert bench.world.faults == before
    printed = {server.displayed for server in bench.world.cloud.servers}
    assert printed <= {""}
    assert not any(server.protected for server in bench.world.cloud.servers)


def test_a_rule_strikes_the_call_it_names_and_no_other(bench: Bench) -> None:
    one, two = bench.server()["id"], bench.server()["id"]
    rule = Rule(fault="transient_409", route="server.update", id=two, after=2, count=2)
    bench.world.script(rule)
    found = [
        [bench.ask("PATCH", f"{SERVERS}/{server}", {}).status for server in (one, two)]
        for _ in range(5)
    ]
    assert found == [[200, 200], [200, 409], [200, 409], [200, 200], [200, 200]]
    assert [line.fault for line in bench.world.journal].count("transient_409") == 2


def test_weather_is_read_from_toml_and_all_its_mistakes_are_told(tmp_path: Path) -> None:
    file = tmp_path / "weather.toml"
    file.write_text("[rates]\nslow = 0.5\nguest_poweroff = 12\n[spells]\nslow = [1, 2]\n")
    assert load(str(file)) == FaultRates(
        {"slow": 0.5, "guest_poweroff": 12.0}, {"slow": (1.0, 2.0)}
    )
    with pytest.raises(BadFaultRates) as output:
        parse('[rates]\nfog = 1\nslow = 1.5\nhung = "x"\n[spells]\nslow = 3\n[other]\n')
    for word in ("rates.fog", "rates.slow", "rates.hung", "spells.slow", "other"):
        assert word in str(output.value)
    with pytest.raises(BadFaultRates, match="neither one of calm, lively, storm"):
        load("no-such-file.toml")
    assert load("storm") is PRESETS["storm"]


def test_a_rule_with_a_misspelt_fault_is_refused() -> None:
    with pytest.raises(BadFaultRates, match="no such fault"):
        Rule(fault="fog")


def test_route_keys_name_every_action() -> None:
    assert len(set(ROUTES)) == len(ROUTES)
    assert {"server.create", "ip.create", "volume.delete", "server.action.poweron"} <= set(ROUTES)
