"""The simulated Macs: their statuses, leases, refusals, passwords, networks and costs."""

from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from hostler.simulators.scaleway.state.options import ORGANIZATION, MacOptions, Options

from .conftest import Bench

ZONE = "/apple-silicon/v1alpha1/zones/fr-par-1"
SERVERS = f"{ZONE}/servers"
DAY = 24 * 3600.0
NETWORK = "0b5e6f1a-5d3c-4f0e-9a51-3c1f7d2e8a10"


def order(bench: Bench, **fields: object) -> Any:
    """Order a Mac and return its body."""
    return bench.json("POST", SERVERS, {"name": "pool-1", "type": "M2-L", **fields})


def read_mac(bench: Bench, mac_id: str) -> Any:
    return bench.json("GET", f"{SERVERS}/{mac_id}")


def until(bench: Bench, mac_id: str, status: str, limit: float = 4000.0) -> Any:
    """Move the clock on until a Mac has a status; return its body."""
    end = bench.now + limit
    while bench.now < end:
        mac = read_mac(bench, mac_id)
        if mac["status"] == status:
            return mac
        bench.now += 5.0
    return pytest.fail(f"{mac_id} was never {status}")


def ready(bench: Bench, **fields: object) -> Any:
    """Order a Mac, wait for it, and return its body."""
    return until(bench, order(bench, **fields)["id"], "ready")


def image(bench: Bench, name: str) -> str:
    """Return the id of an image."""
    (found,) = bench.json("GET", f"{ZONE}/os", query=f"name={name}")["os"]
    return found["id"]


def password(mac: dict[str, str]) -> str:
    return unquote(urlsplit(mac["vnc_url"]).password or "")


def test_a_mac_is_delivered_once_and_for_ever(bench: Bench) -> None:
    mac = order(bench)
    assert (mac["status"], mac["delivered"]) == ("starting", False)
    mac = until(bench, mac["id"], "ready")
    assert mac["delivered"]
    bench.json("POST", f"{SERVERS}/{mac['id']}/reinstall", {"enable_kext": False})
    assert read_mac(bench, mac["id"])["status"] == "reinstalling"
    assert read_mac(bench, mac["id"])["delivered"]
    assert until(bench, mac["id"], "ready")["delivered"]


def test_another_image_than_the_usual_one_is_delivered_later(bench: Bench) -> None:
    mac = order(bench, os_id=image(bench, "macos-sequoia-15.7"))
    ready(bench, name="usual")
    assert read_mac(bench, mac["id"])["status"] == "starting"
    assert until(bench, mac["id"], "ready")["os"]["family"] == "Sequoia"


def test_of_two_renames_the_last_holds_also_on_the_way(bench: Bench) -> None:
    mac = order(bench)["id"]
    for name in ("mine", "yours"):
        assert bench.json("PATCH", f"{SERVERS}/{mac}", {"name": name})["name"] == name
    assert read_mac(bench, mac)["name"] == "yours"
    assert read_mac(bench, mac)["status"] == "starting"


def test_what_is_asked_of_a_mac_on_its_way_is_refused_with_its_status(bench: Bench) -> None:
    mac = ready(bench)["id"]
    bench.json("POST", f"{SERVERS}/{mac}/reboot", {})
    status, body = bench.refusal("POST", f"{SERVERS}/{mac}/reinstall", {})
    assert (status, body["type"], body["current_state"]) == (409, "transient_state", "rebooting")
    assert (body["resource"], body["resource_id"]) == ("server", mac)
    until(bench, mac, "ready")
    assert bench.ask("POST", f"{SERVERS}/{mac}/reinstall", {}).status == 200


def test_a_reinstallation_writes_another_disk_and_another_password(bench: Bench) -> None:
    mac = ready(bench)
    bench.now += 100.0
    before = password(read_mac(bench, mac["id"]))
    newest = image(bench, "macos-tahoe-26.6.1")
    answer = bench.json("POST", f"{SERVERS}/{mac['id']}/reinstall", {"os_id": newest})
    assert answer["os"]["id"] == mac["os"]["id"]
    after = until(bench, mac["id"], "ready")
    assert after["os"]["id"] == newest
    bench.now += 100.0
    assert password(read_mac(bench, mac["id"])) not in {before, "<sealed>"}
    record = bench.world.cloud.macs.get(mac["id"])
    assert record is not None
    assert record.installs == 2


def test_a_password_is_sealed_for_a_while_where_that_is_asked_for() -> None:
    bench = Bench(options=Options(macs=MacOptions(sealed=60.0)))
    first = read_mac(bench, order(bench)["id"])
    assert first["sudo_password"] == password(first)
    mac = until(bench, first["id"], "ready")
    assert (mac["sudo_password"], mac["vnc_url"]) == ("<sealed>", "<sealed>")
    bench.now += 61.0
    mac = read_mac(bench, first["id"])
    assert (mac["sudo_password"], password(mac)) == (first["sudo_password"],) * 2


@pytest.mark.parametrize(
    ("floor", "status", "kind"),
    [
        ("412", 412, "precondition_failed"),
        ("412-untyped", 412, None),
        ("400", 400, "precondition_failed"),
        ("403", 403, "permissions_denied"),
    ],
)
def test_a_deletion_is_refused_until_its_date(floor: str, status: int, kind: str | None) -> None:
    bench = Bench(options=Options(macs=MacOptions(floor=floor)))
    mac = ready(bench)
    found, body = bench.refusal("DELETE", f"{SERVERS}/{mac['id']}")
    assert (found, body.get("type")) == (status, kind)
    text = body.get("help_message") or body["message"]
    date = mac["deletable_at"][:19].replace("T", " ")
    assert text.endswith(f"this server cannot be deleted before {date} +0000 UTC")
    if floor == "412-untyped":
        assert text.startswith("precondition failed: unknown precondition, this server")
    elif kind == "precondition_failed":
        assert body["precondition"] == "unknown_precondition"
    bench.now += DAY
    assert bench.ask("DELETE", f"{SERVERS}/{mac['id']}").status == 204
    assert bench.ask("GET", f"{SERVERS}/{mac['id']}").status == 403


def test_a_scheduled_deletion_comes_at_the_date_unless_it_is_called_back(bench: Bench) -> None:
    mac, other = ready(bench)["id"], ready(bench)["id"]
    for one in (mac, other):
        asked = bench.json("PATCH", f"{SERVERS}/{one}", {"schedule_deletion": True})
        assert asked["deletion_scheduled"]
    assert read_mac(bench, bench.json("PATCH", f"{SERVERS}/{mac}", {"name": "x"})["id"])[
        "deletion_scheduled"
    ]
    bench.json("PATCH", f"{SERVERS}/{other}", {"schedule_deletion": False})
    bench.now += DAY
    assert bench.ask("GET", f"{SERVERS}/{mac}").status == 403
    assert not read_mac(bench, other)["deletion_scheduled"]


def test_a_monthly_commitment_renews_itself_until_it_is_cancelled(bench: Bench) -> None:
    mac = ready(bench, commitment_type="renewed_monthly")
    path = f"{SERVERS}/{mac['id']}"
    bench.json("PATCH", path, {"schedule_deletion": True})
    bench.now += 31 * DAY
    renewed = read_mac(bench, mac["id"])
    assert renewed["deletable_at"] > mac["deletable_at"]
    asked = bench.json("PATCH", path, {"commitment_type": {"commitment_type": "none"}})
    assert asked["commitment"] == {"type": "renewed_monthly", "cancelled": True}
    assert asked["deletable_at"] == renewed["deletable_at"]
    bench.now += 31 * DAY
    assert bench.ask("GET", path).status == 403


@pytest.mark.parametrize(("deleted", "kind"), [("403", "permissions_denied"), ("404", "not_found")])
def test_a_deleted_mac_answers_as_is_asked_for(deleted: str, kind: str) -> None:
    bench = Bench(options=Options(macs=MacOptions(deleted_status=deleted)))
    mac = ready(bench)["id"]
    assert bench.world.act("mac_deleted_by_hand", mac)
    status, body = bench.refusal("GET", f"{SERVERS}/{mac}")
    assert (str(status), body["type"]) == (deleted, kind)
    status, body = bench.refusal("GET", f"{SERVERS}/{NETWORK}")
    assert (status, body["resource"], body["resource_id"]) == (404, "server", NETWORK)


def test_a_mac_costs_its_least_time_at_once_and_then_by_the_hour(bench: Bench) -> None:
    mac = order(bench)["id"]
    assert bench.world.cost() == pytest.approx(24 * 0.21)
    until(bench, mac, "ready")
    (leak,) = bench.world.leaks()
    assert (leak.kind, leak.cost_per_hour) == ("mac", pytest.approx(0.21))
    assert bench.world.cost() == pytest.approx(24 * 0.21)
    bench.now += 48 * 3600.0
    assert bench.world.cost() == pytest.approx(48 * 0.21, rel=1e-2)
    bench.world.act("mac_deleted_by_hand", mac)
    spent = bench.world.cost()
    bench.now += DAY
    assert bench.world.leaks() == ()
    assert bench.world.cost() == spent


def test_a_mac_that_goes_early_is_paid_for_all_the_same(bench: Bench) -> None:
    mac = ready(bench, commitment_type="renewed_monthly")["id"]
    bench.world.act("mac_deleted_by_hand", mac)
    assert bench.world.cost() == pytest.approx(31 * 24 * 0.21)


def test_orders_are_refused_without_stock_or_beyond_the_quota_and_batches_whole() -> None:
    options = Options(stock={"fr-par-1/M4-S": "no_stock"}, quotas={"M2-L": 2})
    bench = Bench(options=options)
    types = bench.json("GET", f"{ZONE}/server-types")["server_types"]
    assert {one["name"]: one["stock"] for one in types}["M4-S"] == "no_stock"
    refused = bench.refusal("POST", SERVERS, {"type": "M4-S"})[1]
    assert (refused["type"], refused["resource"]) == ("out_of_stock", "M4-S")
    many = {"type": "M2-L", "requests": [{"name": name} for name in "abc"]}
    assert bench.refusal("POST", f"{ZONE}/batch-create-servers", many)[1]["type"] == (
        "quotas_exceeded"
    )
    assert bench.json("GET", SERVERS)["total_count"] == 0
    two = {"type": "M2-L", "requests": [{"name": name} for name in "ab"]}
    made = bench.json("POST", f"{ZONE}/batch-create-servers", two)["servers"]
    assert [mac["name"] for mac in made] == ["a", "b"]


def test_iam_lists_the_quotas_under_the_names_of_refusals_to_the_own_organization() -> None:
    bench = Bench(options=Options(quotas={"M2-L": 2, "DEV1-S": 3}))
    path, own = "/iam/v1alpha1/quota", f"organization_id={ORGANIZATION}"
    listed = bench.json("GET", path, query=own)
    assert listed["total_count"] == 2
    assert {one["name"]: one["limit"] for one in listed["quota"]} == {
        "apple_silicon_type_M2_L": 2,
        "cp_servers_type_DEV1_S": 3,
    }
    assert bench.refusal("GET", path)[1]["type"] == "invalid_arguments"
    other = "organization_id=99999999-2222-4333-8444-555555555555"
    assert bench.ask("GET", path, query=other).status == 403


def test_a_type_is_sold_in_its_zones_only(bench: Bench) -> None:
    assert bench.refusal("POST", SERVERS, {"type": "M1-M"})[0] == 400
    elsewhere = SERVERS.replace("fr-par-1", "fr-par-3")
    assert bench.json("POST", elsewhere, {"type": "M1-M"})["zone"] == "fr-par-3"
    assert bench.refusal("GET", f"{ZONE}/server-type/M1-M")[0] == 404


def test_a_retired_image_is_not_found_and_says_so_of_the_image(bench: Bench) -> None:
    mac = ready(bench)
    retired = mac["os"]["id"]
    assert bench.world.act("mac_image_retired", retired)
    listed = bench.json("GET", f"{ZONE}/os", query="server_type=M2-L")["os"]
    assert retired not in {one["id"] for one in listed}
    path = f"{SERVERS}/{mac['id']}/reinstall"
    status, body = bench.refusal("POST", path, {"os_id": retired})
    assert (status, body["resource"], body["resource_id"]) == (404, "os", retired)
    assert read_mac(bench, mac["id"])["status"] == "ready"
    assert read_mac(bench, mac["id"])["os"]["id"] == retired
    bench.json("POST", path, {})
    assert until(bench, mac["id"], "ready")["os"]["name"] == "macos-tahoe-26.6.1"


def test_an_image_that_a_type_cannot_boot_is_refused(bench: Bench) -> None:
    mac = ready(bench, type="M2-M")["id"]
    devos = image(bench, "devos-tahoe")
    assert bench.refusal("POST", f"{SERVERS}/{mac}/reinstall", {"os_id": devos})[0] == 400
    assert read_mac(bench, mac)["status"] == "ready"


def test_a_vlan_is_shown_only_after_some_observations_where_that_is_asked_for() -> None:
    bench = Bench(options=Options(macs=MacOptions(vlan_polls=3)))
    mac = ready(bench)["id"]
    path = f"{SERVERS}/{mac}/private-networks"
    asked = {"private_network_id": NETWORK}
    assert bench.refusal("POST", path, asked)[1]["type"] == "precondition_failed"
    changed = bench.json("PATCH", f"{SERVERS}/{mac}", {"enable_vpc": True})
    assert changed["vpc_status"] == "vpc_updating"
    bench.now += 60.0
    assert read_mac(bench, mac)["vpc_status"] == "vpc_enabled"
    looks = [bench.json("POST", path, asked)]
    looks += [bench.json("GET", f"{path}/{NETWORK}") for _ in range(4)]
    vlans = [look["vlan"] for look in looks]
    assert vlans[0] is None
    assert vlans[-1] is not None
    assert looks[-1]["status"] == "attaching"
    bench.now += 60.0
    assert bench.json("GET", f"{path}/{NETWORK}")["status"] == "attached"
    assert bench.ask("DELETE", f"{path}/{NETWORK}").status == 204
    bench.now += 60.0
    assert bench.ask("GET", f"{path}/{NETWORK}").status == 404


def test_a_diagnostic_tells_a_well_mac_from_a_broken_one(bench: Bench) -> None:
    mac = ready(bench)["id"]
    path = f"{ZONE}/connectivity-diagnostics"
    found: list[tuple[str, bool]] = []
    for _ in range(2):
        started = bench.json("POST", path, {"server_id": mac})["diagnostic_id"]
        assert bench.json("GET", f"{path}/{started}")["status"] == "processing"
        bench.now += 30.0
        done = bench.json("GET", f"{path}/{started}")
        found.append((done["status"], done["health_details"]["is_ssh_port_up"]))
        bench.world.act("mac_broken", mac)
    assert found == [("completed", True), ("completed", False)]


def test_macs_are_listed_the_oldest_first_unless_asked_otherwise(bench: Bench) -> None:
    made = [order(bench, name=f"m{n}")["id"] for n in range(4)]
    assert [mac["id"] for mac in bench.json("GET", SERVERS)["servers"]] == made
    newest = bench.json("GET", SERVERS, query="order_by=created_at_desc&page_size=2&page=1")
    assert [mac["id"] for mac in newest["servers"]] == [made[3], made[2]]
    assert newest["total_count"] == 4
