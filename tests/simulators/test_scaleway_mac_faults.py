"""Faults of the simulated Macs: each is reached, counted, and does what it says."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from hostler.simulators.scaleway.faults.catalogue import (
    CALLS,
    FAULTS,
    LIVELY_RATES,
    MAC_FAULTS,
    STORM_RATES,
    Where,
)
from hostler.simulators.scaleway.faults.rates import LIVELY, PRESETS, STORM, FaultRates, Rule
from hostler.simulators.scaleway.macs.bodies import mac_body, mac_wire
from hostler.simulators.scaleway.state.calls import Fate
from hostler.simulators.scaleway.state.mac_records import MOVING

from .conftest import Bench

Check = Callable[[Bench], None]
ZONE = "/apple-silicon/v1alpha1/zones/fr-par-1"
SERVERS = f"{ZONE}/servers"
PROJECT = "0b5e6f1a-5d3c-4f0e-9a51-3c1f7d2e8a10"
BODY = {"name": "pool-1", "type": "M2-L"}


@pytest.fixture
def mac(bench: Bench) -> str:
    """Return the id of a Mac that is ready."""
    return made(bench)


def made(bench: Bench) -> str:
    """Order a Mac, let an hour pass, and return its id."""
    found = bench.json("POST", SERVERS, BODY)["id"]
    bench.now += 3600.0
    return found


def read_mac(bench: Bench, mac: str) -> Any:
    return bench.json("GET", f"{SERVERS}/{mac}")


def script(
    bench: Bench, fault: str, route: str, says: str = "", *, spell: float | None = None
) -> None:
    bench.world.script(Rule(fault=fault, route=route, says=says, spell=spell))


def failed_500(bench: Bench) -> None:
    mac = made(bench)
    script(bench, "failed_500", "mac.update")
    assert bench.refusal("PATCH", f"{SERVERS}/{mac}", {"name": "x"})[0] == 500
    assert read_mac(bench, mac)["name"] == "pool-1"


def failed_500_after(bench: Bench) -> None:
    mac = made(bench)
    script(bench, "failed_500_after", "mac.update")
    assert bench.refusal("PATCH", f"{SERVERS}/{mac}", {"name": "x"})[0] == 500
    assert read_mac(bench, mac)["name"] == "x"


def hung_after(bench: Bench) -> None:
    script(bench, "hung_after", "mac.create")
    assert bench.reply("POST", SERVERS, BODY).fate is Fate.HUNG
    assert bench.json("GET", SERVERS)["total_count"] == 1


def mac_reinstall_fails(bench: Bench) -> None:
    mac = made(bench)
    script(bench, "mac_reinstall_fails", "mac.reinstall")
    assert bench.json("POST", f"{SERVERS}/{mac}/reinstall", {})["status"] == "reinstalling"
    bench.now += 3600.0
    assert read_mac(bench, mac)["status"] == "error"
    assert installs(bench) == [1]
    bench.json("POST", f"{SERVERS}/{mac}/reinstall", {})
    bench.now += 3600.0
    assert (read_mac(bench, mac)["status"], installs(bench)) == ("ready", [2])


def mac_reinstall_ignored(bench: Bench) -> None:
    mac = made(bench)
    script(bench, "mac_reinstall_ignored", "mac.reinstall")
    assert bench.json("POST", f"{SERVERS}/{mac}/reinstall", {})["status"] == "ready"
    bench.now += 3600.0
    assert installs(bench) == [1]


def installs(bench: Bench) -> list[int]:
    return [mac.installs for mac in bench.world.cloud.macs]


def mac_renamed_by_hand(bench: Bench) -> None:
    mac, other = made(bench), bench.json("POST", SERVERS, {**BODY, "name": "other"})["id"]
    names: set[str] = set()
    for _ in range(20):
        assert bench.world.act("mac_renamed_by_hand", mac)
        names.add(read_mac(bench, mac)["name"])
    assert "other" in names
    assert len(names) > 2
    assert read_mac(bench, other)["name"] == "other"


def mac_deleted_by_hand(bench: Bench) -> None:
    mac = made(bench)
    script(bench, "mac_deleted_by_hand", "mac.get")
    assert read_mac(bench, mac)["status"] == "ready"
    assert bench.ask("GET", f"{SERVERS}/{mac}").status == 403


def mac_locked(bench: Bench) -> None:
    mac = made(bench)
    assert bench.world.act("mac_locked", mac, spell=300.0)
    assert not bench.world.act("mac_locked", mac)
    seen = [read_mac(bench, mac)["status"]]
    bench.now += 60.0
    seen.append(read_mac(bench, mac)["status"])
    for method, path in (
        ("PATCH", ""),
        ("DELETE", ""),
        ("POST", "/reboot"),
        ("POST", "/reinstall"),
    ):
        assert bench.refusal(method, f"{SERVERS}/{mac}{path}", {})[1]["type"] == "locked"
    bench.now += 241.0
    seen.append(read_mac(bench, mac)["status"])
    bench.now += 60.0
    seen.append(read_mac(bench, mac)["status"])
    assert seen == ["locking", "locked", "unlocking", "ready"]


def test_a_lock_mends_no_mac(bench: Bench):
    mac = made(bench)
    assert bench.world.act("mac_broken", mac)
    assert bench.world.act("mac_locked", mac, spell=300.0)
    bench.now += 420.0
    assert read_mac(bench, mac)["status"] == "error"


def mac_broken(bench: Bench) -> None:
    mac = made(bench)
    assert bench.world.act("mac_broken", mac)
    assert read_mac(bench, mac)["status"] == "error"
    assert bench.json("POST", f"{SERVERS}/{mac}/reboot", {})["status"] == "rebooting"
    bench.now += 3600.0
    assert read_mac(bench, mac)["status"] == "ready"


def mac_busy(bench: Bench) -> None:
    mac = made(bench)
    seen: set[str] = set()
    for _ in range(20):
        assert bench.world.act("mac_busy", mac, spell=50.0)
        seen.add(read_mac(bench, mac)["status"])
        assert bench.refusal("POST", f"{SERVERS}/{mac}/reinstall", {})[1]["current_state"] in seen
        bench.now += 51.0
        assert read_mac(bench, mac)["status"] == "ready"
    assert seen == {"busy", "updating"}


def mac_image_retired(bench: Bench) -> None:
    mac = made(bench)
    os_id = read_mac(bench, mac)["os"]["id"]
    assert bench.world.act("mac_image_retired", os_id)
    assert bench.refusal("GET", f"{ZONE}/os/{os_id}")[1]["resource"] == "os"


def effect_too_late(bench: Bench) -> None:
    mac = made(bench)
    script(bench, "effect_too_late", "mac.update")
    assert bench.reply("PATCH", f"{SERVERS}/{mac}", {"name": "x"}).fate is not Fate.ANSWERED
    bench.now += 89.0
    bench.json("PATCH", f"{SERVERS}/{mac}", {"name": "y"})
    assert read_mac(bench, mac)["name"] == "y"
    bench.now += 512.0
    assert read_mac(bench, mac)["name"] == "x"


def list_shifted(bench: Bench) -> None:
    macs = [bench.json("POST", SERVERS, BODY)["id"] for _ in range(4)]
    bench.world.script(Rule(fault="list_shifted", route="mac.list", after=2))
    pages = [bench.json("GET", SERVERS, query=f"page_size=2&page={page}") for page in (1, 2)]
    assert [[mac["id"] for mac in page["servers"]] for page in pages] == [macs[:2], macs[3:]]
    assert [page["total_count"] for page in pages] == [4, 3]
    assert bench.json("GET", SERVERS, query="page_size=2&page=2")["total_count"] == 4


def mac_os_not_found(bench: Bench) -> None:
    mac = made(bench)
    os_id = read_mac(bench, mac)["os"]["id"]
    script(bench, "mac_os_not_found", "mac.reinstall")
    body = bench.refusal("POST", f"{SERVERS}/{mac}/reinstall", {"os_id": os_id})[1]
    assert (body["type"], body["resource"], body["resource_id"]) == ("not_found", "os", os_id)
    assert read_mac(bench, mac)["status"] == "ready"
    assert bench.ask("GET", f"{ZONE}/os/{os_id}").status == 200


def mac_transient_409(bench: Bench) -> None:
    mac = made(bench)
    bench.world.script(Rule(fault="mac_transient_409", route="mac.reinstall", count=60))
    found = [bench.refusal("POST", f"{SERVERS}/{mac}/reinstall", {})[1] for _ in range(60)]
    assert {body["type"] for body in found} == {"transient_state"}
    assert {body["resource_id"] for body in found} == {mac}
    assert {body["current_state"] for body in found} == {*MOVING} - {"reinstalling"}
    assert read_mac(bench, mac)["status"] == "ready"


def mac_precondition_412(bench: Bench) -> None:
    mac = made(bench)
    script(bench, "mac_precondition_412", "mac.update")
    status, body = bench.refusal("PATCH", f"{SERVERS}/{mac}", {"name": "x"})
    assert (status, body["type"]) == (412, "precondition_failed")
    assert body["precondition"] == "unknown_precondition"
    assert read_mac(bench, mac)["name"] == "pool-1"


def mac_precondition_untyped(bench: Bench) -> None:
    mac = made(bench)
    script(bench, "mac_precondition_untyped", "mac.update")
    status, body = bench.refusal("PATCH", f"{SERVERS}/{mac}", {"name": "x"})
    assert (status, set(body)) == (412, {"message"})
    assert read_mac(bench, mac)["name"] == "pool-1"


def late(fault: str, before: float, after: float) -> Check:
    """Check a rename that is answered at once and seen within a span, also by what came later."""

    def check(bench: Bench) -> None:
        mac = made(bench)
        script(bench, fault, "mac.update")
        assert bench.json("PATCH", f"{SERVERS}/{mac}", {"name": "x"})["name"] == "x"
        bench.now += before
        assert read_mac(bench, mac)["name"] == "pool-1"
        bench.json("PATCH", f"{SERVERS}/{mac}", {"name": "y"})
        assert read_mac(bench, mac)["name"] == "y"
        bench.now += after - before
        assert read_mac(bench, mac)["name"] == "x"

    return check


def mac_rename_late(bench: Bench) -> None:
    late("mac_rename_late", 1.9, 40.0)(bench)


def mac_rename_too_late(bench: Bench) -> None:
    late("mac_rename_too_late", 89.0, 600.0)(bench)


def stuck(fault: str, path: str, status: str, least: float, most: float) -> Check:
    """Check that a Mac stays longer in a status than it ever does by itself."""

    def check(bench: Bench) -> None:
        mac = made(bench)
        script(bench, fault, path.replace("/", "mac."), spell=5000.0)
        assert bench.json("POST", f"{SERVERS}/{mac}{path}", {})["status"] == status
        bench.now += 5000.0 + least
        assert read_mac(bench, mac)["status"] == status
        bench.now += most
        assert read_mac(bench, mac)["status"] == "ready"

    return check


def mac_stuck_rebooting(bench: Bench) -> None:
    stuck("mac_stuck_rebooting", "/reboot", "rebooting", 29.0, 300.0)(bench)


def mac_stuck_reinstalling(bench: Bench) -> None:
    stuck("mac_stuck_reinstalling", "/reinstall", "reinstalling", 299.0, 1200.0)(bench)


def mac_stuck_starting(bench: Bench) -> None:
    script(bench, "mac_stuck_starting", "mac.create", spell=5000.0)
    mac = bench.json("POST", SERVERS, BODY)["id"]
    bench.now += 5059.0
    assert read_mac(bench, mac)["status"] == "starting"
    bench.now += 1800.0
    assert read_mac(bench, mac)["status"] == "ready"


def mac_order_lost(bench: Bench) -> None:
    script(bench, "mac_order_lost", "mac.create")
    assert bench.reply("POST", SERVERS, BODY).fate is Fate.HUNG
    assert bench.json("GET", SERVERS)["total_count"] == 1


def mac_never_delivered(bench: Bench) -> None:
    script(bench, "mac_never_delivered", "mac.create")
    mac = bench.json("POST", SERVERS, BODY)["id"]
    bench.now += 29 * 86400.0
    found = read_mac(bench, mac)
    assert (found["status"], found["delivered"]) == ("starting", False)


def mac_delivery_fails(bench: Bench) -> None:
    script(bench, "mac_delivery_fails", "mac.create")
    mac = made(bench)
    found = read_mac(bench, mac)
    assert (found["status"], found["delivered"]) == ("error", True)
    bench.json("POST", f"{SERVERS}/{mac}/reinstall", {})
    bench.now += 3600.0
    assert read_mac(bench, mac)["status"] == "ready"


def mac_ssh_late(bench: Bench) -> None:
    mac = made(bench)
    script(bench, "mac_ssh_late", "mac.reinstall", spell=200.0)
    bench.json("POST", f"{SERVERS}/{mac}/reinstall", {})
    while read_mac(bench, mac)["status"] != "ready":
        bench.now += 1.0
    assert reached(bench, mac) == "refused"
    bench.now += 201.0
    assert reached(bench, mac) == "up"


def reached(bench: Bench, mac: str) -> str:
    """Return how SSH on a Mac answers."""
    found = bench.world.reach(read_mac(bench, mac)["ip"])
    assert found is not None
    return found.ssh


def mac_vlan_late(bench: Bench) -> None:
    mac = bench.json("POST", SERVERS, {**BODY, "enable_vpc": True})["id"]
    path = f"{SERVERS}/{mac}/private-networks"
    script(bench, "mac_vlan_late", "mac_network.attach", spell=10.0)
    bench.json("POST", path, {"private_network_id": PROJECT})
    looks = [bench.json("GET", f"{path}/{PROJECT}")["vlan"] for _ in range(13)]
    assert looks[:10] == [None] * 10
    assert looks[-1]


def mac_attach_fails(bench: Bench) -> None:
    mac = bench.json("POST", SERVERS, {**BODY, "enable_vpc": True})["id"]
    path = f"{SERVERS}/{mac}/private-networks"
    script(bench, "mac_attach_fails", "mac_network.attach")
    bench.json("POST", path, {"private_network_id": PROJECT})
    bench.now += 3600.0
    found = [bench.json("GET", f"{path}/{PROJECT}") for _ in range(9)]
    assert {(one["status"], one["vlan"]) for one in found} == {("error", None)}


def mac_pooled_by_hand(bench: Bench) -> None:
    mac = made(bench)
    bench.json("PATCH", f"{SERVERS}/{mac}", {"name": "worker"})
    assert bench.world.act("mac_pooled_by_hand", mac)
    assert read_mac(bench, mac)["name"].startswith("pool-")
    bench.world.stock_macs(1, prefix="spare-")
    assert bench.world.act("mac_pooled_by_hand", mac)
    assert read_mac(bench, mac)["name"].startswith("spare-")


def mac_reinstalled_by_hand(bench: Bench) -> None:
    mac = made(bench)
    assert bench.world.act("mac_reinstalled_by_hand", mac)
    assert read_mac(bench, mac)["status"] == "reinstalling"
    assert not bench.world.act("mac_reinstalled_by_hand", mac)
    bench.now += 3600.0
    assert (read_mac(bench, mac)["status"], installs(bench)) == ("ready", [2])


def mac_stuck_locking(bench: Bench) -> None:
    mac = made(bench)
    seen: set[str] = set()
    for _ in range(20):
        assert bench.world.act("mac_stuck_locking", mac, spell=50.0)
        bench.now += 49.0
        seen.add(read_mac(bench, mac)["status"])
        assert bench.refusal("POST", f"{SERVERS}/{mac}/reinstall", {})[1]["current_state"] in seen
        bench.now += 2.0
        assert read_mac(bench, mac)["status"] == "ready"
    assert seen == {"locking", "unlocking"}


def mac_unknown_status(bench: Bench) -> None:
    mac = made(bench)
    seen: set[str] = set()
    for _ in range(20):
        assert bench.world.act("mac_unknown_status", mac, spell=50.0)
        seen.add(read_mac(bench, mac)["status"])
        bench.now += 51.0
        assert read_mac(bench, mac)["status"] == "ready"
    assert seen == {"unknown_status", "hibernating"}


def mac_sealed(bench: Bench) -> None:
    mac = made(bench)
    assert "sealed" not in read_mac(bench, mac)["vnc_url"]
    assert bench.world.act("mac_sealed", mac, spell=50.0)
    assert "sealed" in read_mac(bench, mac)["vnc_url"]
    bench.now += 51.0
    assert "sealed" not in read_mac(bench, mac)["vnc_url"]


def ailing(fault: str, ssh: str) -> Check:
    """Check what ails SSH for a spell, that a diagnostic sees it, and that the API does not."""

    def check(bench: Bench) -> None:
        mac = made(bench)
        assert reached(bench, mac) == "up"
        assert bench.world.act(fault, mac, spell=100.0)
        assert reached(bench, mac) == ssh
        assert read_mac(bench, mac)["status"] == "ready"
        path = f"{ZONE}/connectivity-diagnostics"
        started = bench.json("POST", path, {"server_id": mac})["diagnostic_id"]
        bench.now += 40.0
        health = bench.json("GET", f"{path}/{started}")["health_details"]
        assert (health["is_ssh_port_up"], health["is_server_alive"]) == (ssh == "silent", True)
        bench.now += 61.0
        assert reached(bench, mac) == "up"

    return check


def mac_ssh_refused(bench: Bench) -> None:
    ailing("mac_ssh_refused", "refused")(bench)


def mac_ssh_hung(bench: Bench) -> None:
    ailing("mac_ssh_hung", "silent")(bench)


def mac_ssh_wrong_key(bench: Bench) -> None:
    mac = made(bench)
    address = read_mac(bench, mac)["ip"]
    usual = host_key(bench, address)
    assert host_key(bench, address) == usual
    assert bench.world.act("mac_ssh_wrong_key", mac)
    assert host_key(bench, address) != usual
    assert host_key(bench, address) == usual


def host_key(bench: Bench, address: str) -> str:
    found = bench.world.reach(address)
    assert found is not None
    return found.host_key


CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        failed_500,
        failed_500_after,
        hung_after,
        effect_too_late,
        list_shifted,
        mac_os_not_found,
        mac_transient_409,
        mac_precondition_412,
        mac_precondition_untyped,
        mac_rename_late,
        mac_rename_too_late,
        mac_stuck_starting,
        mac_order_lost,
        mac_never_delivered,
        mac_delivery_fails,
        mac_stuck_rebooting,
        mac_stuck_reinstalling,
        mac_reinstall_fails,
        mac_reinstall_ignored,
        mac_ssh_late,
        mac_vlan_late,
        mac_attach_fails,
        mac_renamed_by_hand,
        mac_pooled_by_hand,
        mac_reinstalled_by_hand,
        mac_deleted_by_hand,
        mac_locked,
        mac_stuck_locking,
        mac_broken,
        mac_busy,
        mac_unknown_status,
        mac_sealed,
        mac_ssh_refused,
        mac_ssh_hung,
        mac_ssh_wrong_key,
        mac_image_retired,
    )
}
OLDER = ("calm", "lively", "storm")


def test_every_fault_of_macs_has_a_check_and_none_strikes_instances_unasked() -> None:
    assert set(CHECKS) == {fault.name for fault in MAC_FAULTS}
    assert not set(CHECKS) & {fault.name for fault in FAULTS}
    assert not any(set(CHECKS) & set(PRESETS[name].rates) for name in OLDER)


def test_the_storm_of_macs_has_every_fault_but_those_later_than_a_minute() -> None:
    assert set(CHECKS) - set(STORM_RATES) == {"effect_too_late", "mac_rename_too_late"}
    assert set(LIVELY_RATES) < set(STORM_RATES)
    assert PRESETS["mac-storm"].rates == {**STORM.rates, **STORM_RATES}
    assert PRESETS["mac-lively"].rates == {**LIVELY.rates, **LIVELY_RATES}


@pytest.mark.parametrize("name", CHECKS)
def test_a_fault_of_macs_does_what_it_says_and_is_counted(bench: Bench, name: str) -> None:
    CHECKS[name](bench)
    assert set(bench.world.faults) == {name}


def test_a_rule_says_which_state_a_mac_is_in(bench: Bench, mac: str) -> None:
    script(bench, "transient_409", "mac.reinstall", says="updating")
    script(bench, "transient_409", "mac.reboot")
    body = bench.refusal("POST", f"{SERVERS}/{mac}/reinstall", {})[1]
    assert (body["resource_id"], body["current_state"]) == (mac, "updating")
    assert bench.refusal("POST", f"{SERVERS}/{mac}/reboot", {})[1]["current_state"] == "ready"


def test_a_rule_says_what_is_not_found(bench: Bench, mac: str) -> None:
    script(bench, "not_found_flicker", "mac.reinstall", says="os")
    script(bench, "not_found_flicker", "mac.get")
    body = bench.refusal("POST", f"{SERVERS}/{mac}/reinstall", {})[1]
    assert body["resource"] == "os"
    assert body["resource_id"] != mac
    body = bench.refusal("GET", f"{SERVERS}/{mac}")[1]
    assert (body["resource"], body["resource_id"]) == ("server", mac)


def test_what_strikes_any_order_strikes_that_of_a_mac(bench: Bench) -> None:
    script(bench, "out_of_stock_create", "mac.create")
    body = bench.refusal("POST", SERVERS, BODY)[1]
    assert (body["type"], body["resource"]) == ("out_of_stock", "M2-L")
    script(bench, "quota_exceeded", "mac.create")
    assert bench.refusal("POST", SERVERS, BODY)[1]["type"] == "quotas_exceeded"
    assert bench.json("GET", SERVERS)["total_count"] == 0


def test_good_weather_ends_a_spell_and_its_old_end_disturbs_nothing(bench: Bench, mac: str) -> None:
    assert bench.world.act("mac_busy", mac, spell=20.0)
    bench.world.clear_fault_rates()
    assert read_mac(bench, mac)["status"] == "ready"
    bench.json("POST", f"{SERVERS}/{mac}/reboot", {})
    bench.now += 25.0
    assert read_mac(bench, mac)["status"] == "rebooting"


def test_good_weather_ends_what_ails_a_mac(bench: Bench, mac: str) -> None:
    for fault, spell in (("mac_sealed", 9e9), ("mac_ssh_wrong_key", 0.0), ("mac_ssh_hung", 9e9)):
        assert bench.world.act(fault, mac, spell)
    assert bench.world.act("mac_unknown_status", mac, 9e9)
    assert reached(bench, mac) == "silent"
    assert bench.world.act("mac_ssh_refused", mac, 9e9)
    usual = bench.world.console.mac(mac).disk.seed
    bench.world.clear_fault_rates()
    bench.now += 61.0
    assert (reached(bench, mac), read_mac(bench, mac)["status"]) == ("up", "ready")
    assert "sealed" not in read_mac(bench, mac)["vnc_url"]
    found = bench.world.reach(read_mac(bench, mac)["ip"])
    assert found is not None
    assert found.seed == usual


AMBIENT = {Where.MACS, Where.OS_IMAGES}


def rates_of_all() -> dict[str, float]:
    """Return rates at which every fault of Macs happens within a day or so."""
    hourly = {
        fault.name: 0.3 if fault.name.endswith("by_hand") else 2.0
        for fault in MAC_FAULTS
        if fault.where in AMBIENT
    }
    calls = {fault.name: 0.1 for fault in MAC_FAULTS if fault.where not in AMBIENT}
    return {**calls, **hourly, "mac_image_retired": 0.02}


def test_after_a_storm_of_macs_all_of_them_come_to_rest() -> None:
    rates = rates_of_all()
    bench = Bench(fault_rates=FaultRates(rates), seed=5)
    for turn in range(1200):
        bench.now += 60.0
        busy(bench, turn)
    assert set(bench.world.faults) == set(rates)
    assert {fault.name for fault in CALLS} < set(bench.world.faults)
    bench.world.clear_fault_rates()
    before = dict(bench.world.faults)
    bench.now += 7200.0
    statuses = {mac["status"] for mac in bench.json("GET", SERVERS)["servers"]}
    assert statuses <= {"ready", "error"}
    assert bench.world.faults == before


def busy(bench: Bench, turn: int) -> None:
    """Ask something of everything."""
    macs = list(bench.world.cloud.macs)
    if len(macs) < 6:
        bench.reply("POST", SERVERS, {**BODY, "enable_vpc": True})
        return
    mac = macs[turn % len(macs)]
    for path in ("reboot", "reinstall"):
        bench.reply("POST", f"{SERVERS}/{mac.id}/{path}", {})
    bench.reply("PATCH", f"{SERVERS}/{mac.id}", {"name": f"m{turn}", "enable_vpc": turn % 4 > 0})
    bench.reply("POST", f"{SERVERS}/{mac.id}/private-networks", {"private_network_id": mac.id})
    bench.reply("GET", SERVERS, query="page_size=2&page=2")
    bench.world.reach(mac.ip)


def test_what_is_sent_of_a_mac_is_always_what_it_is_now() -> None:
    bench = Bench(fault_rates=FaultRates(rates_of_all()), seed=6)
    for turn in range(400):
        bench.now += 60.0
        busy(bench, turn)
        cloud = bench.world.cloud
        for mac in cloud.macs:
            sent = msgspec.json.decode(mac_wire(cloud, mac))
            assert sent == msgspec.to_builtins(mac_body(cloud, mac))
