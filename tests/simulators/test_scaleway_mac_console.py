"""What a person does with simulated Macs: in process, and under `/_sim/` over HTTP."""

from typing import Any

import pytest
import requests

from hostler.simulators.scaleway.macs.console import DEEDS
from hostler.simulators.scaleway.state.options import MacOptions, Stock, stock_of

from .conftest import SECRET, Bench, Running, Start

ZONE = "/apple-silicon/v1alpha1/zones/fr-par-1"
SERVERS = f"{ZONE}/servers"
PROJECT = "22222222-2222-2222-2222-222222222222"
HOUR = 3600.0


def read_mac(bench: Bench, mac_id: str) -> Any:
    return bench.json("GET", f"{SERVERS}/{mac_id}")


def test_a_stock_is_there_at_once_delivered_ready_and_paid_for(bench: Bench) -> None:
    made = bench.world.stock_macs(3, "M4-M", prefix="spare-")
    macs = bench.json("GET", SERVERS, query=f"project_id={bench.options.project}")["servers"]
    assert [mac["id"] for mac in macs] == made
    assert [mac["name"] for mac in macs] == ["spare-1", "spare-2", "spare-3"]
    assert {(mac["type"], mac["status"], mac["delivered"]) for mac in macs} == {
        ("M4-M", "ready", True)
    }
    assert not any("sealed" in mac["vnc_url"] for mac in macs)
    assert bench.world.cost() == pytest.approx(3 * 24 * 0.28)
    assert bench.refusal("DELETE", f"{SERVERS}/{made[0]}")[0] == 412
    bench.now += 24 * HOUR
    assert bench.ask("DELETE", f"{SERVERS}/{made[0]}").status == 204


def test_stocks_are_named_apart_and_stand_in_their_zone(bench: Bench) -> None:
    for _ in range(2):
        bench.world.stock_macs(2)
    bench.world.stock_macs(1, "M1-M", "fr-par-3")
    names = [mac["name"] for mac in bench.json("GET", SERVERS)["servers"]]
    assert names == ["pool-1", "pool-2", "pool-3", "pool-4"]
    (other,) = bench.json("GET", SERVERS.replace("fr-par-1", "fr-par-3"))["servers"]
    assert (other["zone"], other["name"]) == ("fr-par-3", "pool-5")


def test_a_stock_that_cannot_be_is_refused(bench: Bench) -> None:
    for wrong in ("1:M9", "1:M1-M", "1:M2-L:fr-par-3"):
        with pytest.raises(ValueError, match="Macs of type"):
            bench.world.console.stock(stock_of(wrong))
    with pytest.raises(ValueError, match="macs: expected"):
        bench.world.stock_macs(0)
    assert bench.json("GET", SERVERS)["total_count"] == 0


def test_weather_happens_to_a_stock_too(bench: Bench) -> None:
    (mac,) = bench.world.stock_macs(1)
    assert bench.world.act("mac_busy", mac, 50.0)
    assert read_mac(bench, mac)["status"] in {"busy", "updating"}


@pytest.mark.parametrize(
    ("text", "stock"),
    [
        ("6", Stock(6)),
        ("2:M4-M", Stock(2, "M4-M")),
        ("2::fr-par-3", Stock(2, zone="fr-par-3")),
        ("2:M2-L:fr-par-1:ci:", Stock(2, "M2-L", "fr-par-1", "ci:")),
    ],
)
def test_a_stock_is_read_from_a_text(text: str, stock: Stock) -> None:
    assert stock_of(text) == stock


@pytest.mark.parametrize("text", ["", "x", "0", "-1", "M2-L:3", "5001"])
def test_a_text_that_is_no_stock_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="macs: expected"):
        stock_of(text)


def test_every_deed_can_be_done_to_a_ready_mac_and_is_counted(bench: Bench) -> None:
    for number, (deed, fault) in enumerate(DEEDS.items(), 1):
        (mac,) = bench.world.stock_macs(1)
        assert bench.world.console.do(deed, mac, 30.0), deed
        assert len(bench.world.faults) == number
        assert bench.world.faults[fault] == 1


def test_a_person_gives_a_mac_any_name(bench: Bench) -> None:
    (mac,) = bench.world.stock_macs(1)
    assert bench.world.console.rename(mac, "mine")
    assert read_mac(bench, mac)["name"] == "mine"
    with pytest.raises(KeyError):
        bench.world.console.rename("no-such-mac", "mine")


def test_a_stock_out_and_a_retired_image_are_set_by_hand(bench: Bench) -> None:
    bench.world.console.set_stock("M2-L", "no_stock", "fr-par-1")
    assert bench.refusal("POST", SERVERS, {"type": "M2-L"})[1]["type"] == "out_of_stock"
    bench.world.console.set_stock("M2-L", "low_stock", "fr-par-1")
    assert bench.ask("POST", SERVERS, {"type": "M2-L"}).status == 200
    assert bench.world.console.retire_image("macos-sequoia-15.5")
    names = [image["name"] for image in bench.json("GET", f"{ZONE}/os")["os"]]
    assert "macos-sequoia-15.5" not in names
    with pytest.raises(KeyError):
        bench.world.console.retire_image("macos-sequoia-15.5")
    with pytest.raises(ValueError, match="stock: expected"):
        bench.world.console.set_stock("M2-L", "plenty")


def test_of_each_type_an_image_stays_published_whatever_is_retired(bench: Bench) -> None:
    """Else no host of it could be wiped any more, which no fault of an hour may bring about."""
    for image in bench.json("GET", f"{ZONE}/os")["os"]:
        bench.world.console.retire_image(image["id"])
    (left,) = bench.json("GET", f"{ZONE}/os")["os"]
    sorts = bench.json("GET", f"{ZONE}/server-types")["server_types"]
    assert {sort["default_os"]["id"] for sort in sorts} == {left["id"]}


# ------------------------------------------------------------ over HTTP


def test_settings_say_which_macs_there_are_and_how_they_behave(start: Start) -> None:
    options = MacOptions(floor="400", deleted_status="403", sealed=60.0)
    simulator = start(macs=("2:M4-M:fr-par-1:ci-", "1"), mac_options=options, project=PROJECT)
    macs = ask(simulator, "macs")["macs"]
    assert [(mac["name"], mac["type"]) for mac in macs] == [
        ("ci-1", "M4-M"),
        ("ci-2", "M4-M"),
        ("pool-1", "M2-L"),
    ]
    headers = {"X-Auth-Token": SECRET}
    url = simulator.url + SERVERS
    asked = requests.get(f"{url}?project_id={PROJECT}", headers=headers, timeout=10).json()
    assert asked["total_count"] == 3
    assert requests.delete(f"{url}/{macs[0]['id']}", headers=headers, timeout=10).status_code == 400
    assert ask(simulator, f"macs/{macs[0]['id']}", {"do": "delete"})["done"]
    assert requests.get(f"{url}/{macs[0]['id']}", headers=headers, timeout=10).status_code == 403


@pytest.fixture
def simulator(start: Start) -> Running:
    return start()


def ask(simulator: Running, path: str, body: Any = None, status: int = 200) -> Any:
    """Get a view, or post to it where there is a body."""
    url, method = f"{simulator.url}/_sim/{path}", "GET" if body is None else "POST"
    found = requests.request(method, url, json=body, timeout=10)
    assert found.status_code == status, found.text
    return found.json()


def test_a_person_sees_what_no_client_is_told(simulator: Running) -> None:
    headers = {"X-Auth-Token": SECRET}
    body = {"name": "mine", "type": "M2-L"}
    asked = requests.post(simulator.url + SERVERS, json=body, headers=headers, timeout=10).json()
    (mac,) = ask(simulator, "macs")["macs"]
    assert {name: mac[name] for name in ("id", "zone", "name", "type", "status", "installs")} == {
        "id": asked["id"],
        "zone": "fr-par-1",
        "name": "mine",
        "type": "M2-L",
        "status": "starting",
        "installs": 0,
    }
    url = f"{simulator.url}{SERVERS}/{asked['id']}"
    read = requests.get(url, headers=headers, timeout=10).json()
    assert (mac["password"], mac["reach"], mac["ssh"]) == (read["sudo_password"], "refused", "")
    assert ask(simulator, f"macs/{mac['id']}")["id"] == mac["id"]


def test_a_person_buys_macs_and_does_things_to_them_over_http(simulator: Running) -> None:
    asked = {"count": 2, "type_name": "M4-M", "prefix": "ci-"}
    one, two = ask(simulator, "macs", asked)["macs"]
    assert ask(simulator, f"macs/{one}", {"do": "rename", "name": "x"})["done"]
    assert ask(simulator, f"macs/{two}", {"do": "reinstall"})["done"]
    assert ask(simulator, f"macs/{one}", {"do": "lock", "spell": 5000})["done"]
    found = {mac["id"]: mac for mac in ask(simulator, "macs")["macs"]}
    assert (found[one]["name"], found[two]["name"]) == ("x", "ci-2")
    assert found[one]["status"] in {"locking", "locked"}
    assert found[two]["status"] == "reinstalling"
    assert ask(simulator, f"macs/{two}", {"do": "delete"})["done"]
    assert not ask(simulator, f"macs/{one}", {"do": "occupy"})["done"]
    assert [mac["id"] for mac in ask(simulator, "macs")["macs"]] == [one]


def test_stocks_and_images_are_set_over_http(simulator: Running) -> None:
    assert ask(simulator, "stock", {"type": "M2-L", "stock": "no_stock"})["done"]
    before = ask(simulator, "images")["images"]
    assert ask(simulator, "images", {"retire": before[0]["id"]})["done"]
    assert ask(simulator, "images")["images"] == before[1:]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("macs/nobody", {"do": "delete"}),
        ("macs/nobody", {"do": "sing"}),
        ("macs", {"count": 0}),
        ("macs", {"many": 1}),
        ("stock", {"type": "M2-L", "stock": "plenty"}),
        ("images", {"retire": "macos-9"}),
    ],
)
def test_what_a_person_cannot_do_is_refused_over_http(
    simulator: Running, path: str, body: object
) -> None:
    refused = ask(simulator, path, body, 400)
    assert refused["type"] == "invalid_arguments"
    assert " " in refused["message"], "a sentence"
