"""The weather of the simulated Macs: each fault is reached, counted, and does what it says."""

from collections.abc import Callable
from typing import Any

import pytest

from hostler.simulators.scaleway.replies import Fate
from hostler.simulators.scaleway.weather import FAULTS, MAC_FAULTS, PRESETS, Rule, Weather

from .conftest import Bench

Check = Callable[[Bench], None]
ZONE = "/apple-silicon/v1alpha1/zones/fr-par-1"
SERVERS = f"{ZONE}/servers"
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


def shown(bench: Bench, mac: str) -> Any:
    return bench.json("GET", f"{SERVERS}/{mac}")


def script(bench: Bench, fault: str, route: str, says: str = "") -> None:
    bench.world.script(Rule(fault=fault, route=route, says=says))


def failed_500(bench: Bench) -> None:
    mac = made(bench)
    script(bench, "failed_500", "mac.update")
    assert bench.refusal("PATCH", f"{SERVERS}/{mac}", {"name": "x"})[0] == 500
    assert shown(bench, mac)["name"] == "pool-1"


def failed_500_after(bench: Bench) -> None:
    mac = made(bench)
    script(bench, "failed_500_after", "mac.update")
    assert bench.refusal("PATCH", f"{SERVERS}/{mac}", {"name": "x"})[0] == 500
    assert shown(bench, mac)["name"] == "x"


def hung_after(bench: Bench) -> None:
    script(bench, "hung_after", "mac.create")
    assert bench.reply("POST", SERVERS, BODY).fate is Fate.HUNG
    assert bench.json("GET", SERVERS)["total_count"] == 1


def mac_reinstall_fails(bench: Bench) -> None:
    mac = made(bench)
    script(bench, "mac_reinstall_fails", "mac.reinstall")
    assert bench.json("POST", f"{SERVERS}/{mac}/reinstall", {})["status"] == "reinstalling"
    bench.now += 3600.0
    assert shown(bench, mac)["status"] == "error"
    assert installs(bench) == [1]
    bench.json("POST", f"{SERVERS}/{mac}/reinstall", {})
    bench.now += 3600.0
    assert (shown(bench, mac)["status"], installs(bench)) == ("ready", [2])


def mac_reinstall_ignored(bench: Bench) -> None:
    mac = made(bench)
    script(bench, "mac_reinstall_ignored", "mac.reinstall")
    assert bench.json("POST", f"{SERVERS}/{mac}/reinstall", {})["status"] == "ready"
    bench.now += 3600.0
    assert installs(bench) == [1]


def installs(bench: Bench) -> list[int]:
    return [mac.installs for mac in bench.world.estate.macs]


def mac_renamed_by_hand(bench: Bench) -> None:
    mac, other = made(bench), bench.json("POST", SERVERS, {**BODY, "name": "other"})["id"]
    names: set[str] = set()
    for _ in range(20):
        assert bench.world.act("mac_renamed_by_hand", mac)
        names.add(shown(bench, mac)["name"])
    assert "other" in names
    assert len(names) > 2
    assert shown(bench, other)["name"] == "other"


def mac_deleted_by_hand(bench: Bench) -> None:
    mac = made(bench)
    script(bench, "mac_deleted_by_hand", "mac.get")
    assert shown(bench, mac)["status"] == "ready"
    assert bench.ask("GET", f"{SERVERS}/{mac}").status == 404


def mac_locked(bench: Bench) -> None:
    mac = made(bench)
    assert bench.world.act("mac_locked", mac, spell=300.0)
    assert not bench.world.act("mac_locked", mac)
    seen = [shown(bench, mac)["status"]]
    bench.now += 60.0
    seen.append(shown(bench, mac)["status"])
    for method, path in (
        ("PATCH", ""),
        ("DELETE", ""),
        ("POST", "/reboot"),
        ("POST", "/reinstall"),
    ):
        assert bench.refusal(method, f"{SERVERS}/{mac}{path}", {})[1]["type"] == "locked"
    bench.now += 241.0
    seen.append(shown(bench, mac)["status"])
    bench.now += 60.0
    seen.append(shown(bench, mac)["status"])
    assert seen == ["locking", "locked", "unlocking", "ready"]


def mac_broken(bench: Bench) -> None:
    mac = made(bench)
    assert bench.world.act("mac_broken", mac)
    assert shown(bench, mac)["status"] == "error"
    assert bench.json("POST", f"{SERVERS}/{mac}/reboot", {})["status"] == "rebooting"
    bench.now += 3600.0
    assert shown(bench, mac)["status"] == "ready"


def mac_busy(bench: Bench) -> None:
    mac = made(bench)
    seen: set[str] = set()
    for _ in range(20):
        assert bench.world.act("mac_busy", mac, spell=50.0)
        seen.add(shown(bench, mac)["status"])
        assert bench.refusal("POST", f"{SERVERS}/{mac}/reinstall", {})[1]["current_state"] in seen
        bench.now += 51.0
        assert shown(bench, mac)["status"] == "ready"
    assert seen == {"busy", "updating"}


def mac_image_retired(bench: Bench) -> None:
    mac = made(bench)
    os_id = shown(bench, mac)["os"]["id"]
    assert bench.world.act("mac_image_retired", os_id)
    assert bench.refusal("GET", f"{ZONE}/os/{os_id}")[1]["resource"] == "os"


CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        failed_500,
        failed_500_after,
        hung_after,
        mac_reinstall_fails,
        mac_reinstall_ignored,
        mac_renamed_by_hand,
        mac_deleted_by_hand,
        mac_locked,
        mac_broken,
        mac_busy,
        mac_image_retired,
    )
}


def test_every_fault_of_macs_has_a_check_and_none_strikes_instances_unasked() -> None:
    assert set(CHECKS) == {fault.name for fault in MAC_FAULTS}
    assert not set(CHECKS) & {fault.name for fault in FAULTS}
    assert not any(set(CHECKS) & set(weather.rates) for weather in PRESETS.values())


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
    bench.world.clear_weather()
    assert shown(bench, mac)["status"] == "ready"
    bench.json("POST", f"{SERVERS}/{mac}/reboot", {})
    bench.now += 25.0
    assert shown(bench, mac)["status"] == "rebooting"


def test_after_a_storm_of_macs_all_of_them_come_to_rest() -> None:
    rates = {fault.name: 0.3 if fault.name.endswith("by_hand") else 2.0 for fault in MAC_FAULTS}
    calls = {"failed_500", "failed_500_after", "hung_after"}
    rates |= dict.fromkeys((*calls, "mac_reinstall_fails", "mac_reinstall_ignored"), 0.2)
    rates["mac_image_retired"] = 0.05
    bench = Bench(weather=Weather(rates), seed=5)
    for turn in range(600):
        bench.now += 120.0
        macs = list(bench.world.estate.macs)
        if len(macs) < 6:
            bench.reply("POST", SERVERS, BODY)
        elif turn % 5 == 0:
            bench.reply("POST", f"{SERVERS}/{macs[turn % len(macs)].id}/reinstall", {})
    assert set(bench.world.faults) == set(rates)
    bench.world.clear_weather()
    before = dict(bench.world.faults)
    bench.now += 7200.0
    statuses = {mac["status"] for mac in bench.json("GET", SERVERS)["servers"]}
    assert statuses <= {"ready", "error"}
    assert bench.world.faults == before
