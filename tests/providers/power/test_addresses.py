"""Addresses: what can be none is told before anybody is asked, at whichever key it stands."""

from pathlib import Path

import pytest

from hostler.app.compose import Composed
from hostler.domain.errors import ConfigError
from hostler.ports.addresses import canonical
from hostler.providers.power.addresses import faults_of

NAMES = (
    "bmc-1",
    "bmc-1.lan",
    "bmc_1.lan.",
    "192.0.2.113",
    "2001:db8::1",
    "fe80::1%eth0",
    "bücher.lan",
)
NONE = (
    "http://192.0.2.113",
    "192.0.2.113:623",
    "[2001:db8::1]",
    "192.0.2.113/24",
    "192.0.2.300",
    "192.0.2.113 ",
    "192.0.2.113\n192.0.2.114",
    " ",
    "a\0b",
    "root@bmc",
    "a..b",
    ".lan",
    "x" * 64,
    "-oProxyCommand=id",
)
FINGERPRINT = f"SHA256:{'A' * 43}"
BOX = """
[provider.rack]
kind = "power"
[[provider.rack.boxes]]
name = "a"
{}
[provider.rack.boxes.shelly]
url = "http://192.0.2.7"
{}
[fleet.nodes]
size = 1
"""
TABLES = {
    "ipmi.address": 'user = "a"\npassword_env = "A"',
    "snmp.address": 'outlet = 1\ncommunity_env = "A"',
    "mqtt.broker": 'topic = "plug"',
    "reachability.address": 'off_after = "5m"',
    "ssh.address": f'fingerprint = "{FINGERPRINT}"',
    "libvirt.address": f'fingerprint = "{FINGERPRINT}"\nguest = "vm"',
}


def found(folder: Path, text: str) -> str:
    path = folder / "rack.toml"
    path.write_text(text)
    try:
        Composed().load(path)
    except ConfigError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", NAMES)
def test_a_name_and_an_ip_address_are_addresses(name: str) -> None:
    assert not tuple(faults_of("address", name))


@pytest.mark.parametrize("text", NONE)
def test_what_nobody_is_ever_reached_at_is_none(text: str) -> None:
    (fault,) = faults_of("address", text)
    assert fault.startswith("address: expected a host name or an IP address alone")


@pytest.mark.parametrize("key", TABLES)
@pytest.mark.parametrize("text", ["http://192.0.2.113", "192.0.2.113:623", "a..b"])
def test_a_method_tells_of_an_address_that_is_none(key: str, text: str, tmp_path: Path) -> None:
    method, _, name = key.partition(".")
    table = f'[provider.rack.boxes.{method}]\n{name} = "{text}"\n{TABLES[key]}'
    fine = table.replace(text, "192.0.2.113")
    assert f"provider.rack.boxes.a.{key}\n" in found(tmp_path, BOX.format("", table))
    assert not found(tmp_path, BOX.format("", fine))


def test_a_box_tells_of_an_address_that_is_none(tmp_path: Path) -> None:
    assert "provider.rack.boxes.a.address\n" in found(
        tmp_path, BOX.format('address = "192.0.2.11:22"', "")
    )
    assert not found(tmp_path, BOX.format('address = "192.0.2.11"', ""))


@pytest.mark.parametrize("host", ["a..b", "x" * 64, "192.0.2.300"])
def test_a_url_whose_host_is_none_is_refused(host: str, tmp_path: Path) -> None:
    table = f'[provider.rack.boxes.redfish]\nurl = "https://{host}"'
    assert "provider.rack.boxes.a.redfish.url\n" in found(tmp_path, BOX.format("", table))


@pytest.mark.parametrize(
    "mac", ["00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "33-33-00-00-00-01"]
)
def test_an_address_of_no_card_or_of_many_wakes_nobody(mac: str, tmp_path: Path) -> None:
    table = f'[provider.rack.boxes.wake-on-lan]\nmac = "{mac}"'
    assert "provider.rack.boxes.a.wake-on-lan.mac\n" in found(tmp_path, BOX.format("", table))


@pytest.mark.parametrize(
    "text",
    [
        'token_header = "X Token:"',
        'headers = { "X Y" = "1" }',
        'headers = { "X" = "a\\r\\nY: b" }',
        'headers = { "X" = "ü" }',
    ],
)
def test_a_header_that_cannot_be_sent_is_refused(text: str, tmp_path: Path) -> None:
    table = f'[provider.rack.boxes.webhook]\nurl = "http://192.0.2.8"\non = "POST /on"\n{text}'
    key = text.partition(" ")[0]
    assert f"provider.rack.boxes.a.webhook.{key}\n" in found(tmp_path, BOX.format("", table))


def test_a_price_without_end_is_refused(tmp_path: Path) -> None:
    assert "price = inf" in found(tmp_path, BOX.format("price = inf", ""))


def test_one_address_has_one_spelling() -> None:
    assert canonical("BMC-1.Lan.") == canonical("bmc-1.lan")
    assert canonical("2001:DB8:0:0::1") == canonical("2001:db8::1") == canonical("[2001:db8::1]")
