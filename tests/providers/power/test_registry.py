"""Methods are found by their names, and what each says of itself fits together."""

from importlib.metadata import EntryPoint
from unittest.mock import patch

import msgspec
import pytest

from hostler.domain.errors import ConfigError
from hostler.ports.power import METHODS as GROUP
from hostler.ports.power import PowerMethod
from hostler.providers.power.methods.webhook import Webhook
from hostler.providers.power.registry import BUILT_IN, METHODS

NEEDED: dict[str, dict[str, object]] = {
    "command": {"on": ("true",)},
    "ipmi": {"address": "bmc", "user": "admin", "password_env": "SECRET"},
    "job": {"node": "worker-1", "on": {"image": "wake"}},
    "libvirt": {"address": "host", "fingerprint": f"SHA256:{'A' * 43}", "guest": "node-1"},
    "mqtt": {"broker": "broker", "topic": "plug"},
    "proxmox": {"url": "https://pve:8006", "user": "a@pve!t", "node": "pve", "guest": 100},
    "reachability": {"address": "box", "off_after": "PT5M"},
    "redfish": {"url": "https://bmc"},
    "shelly": {"url": "http://plug"},
    "snmp": {"address": "pdu", "outlet": 1, "community_env": "COMMUNITY"},
    "ssh": {"address": "box", "fingerprint": f"SHA256:{'A' * 43}"},
    "tasmota": {"url": "http://plug"},
    "wake-on-lan": {"mac": "52:54:00:12:34:56"},
    "webhook": {"url": "http://plug", "on": "POST /on"},
}


def settings(name: str, method: PowerMethod) -> object:
    return msgspec.convert(NEEDED[name], method.settings)


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_method_is_in_order_with_what_it_needs_and_nothing_else(name: str) -> None:
    method = METHODS[name]()
    table = settings(name, method)
    assert method.check(table) == ()
    able = method.capabilities(table)
    assert able.actions or able.query
    assert method.endpoint(table)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_key_of_a_method_is_described(name: str) -> None:
    kind = METHODS[name]().settings
    schema = msgspec.json.schema(kind)
    (table,) = (v for k, v in schema["$defs"].items() if k == kind.__name__)
    undescribed = [key for key, one in table["properties"].items() if "description" not in one]
    assert undescribed == []


def test_a_package_adds_a_method_and_takes_no_built_in_name() -> None:
    points = [
        EntryPoint("kettle", f"{Webhook.__module__}:Webhook", GROUP),
        EntryPoint("redfish", "no.such.module:Redfish", GROUP),
        EntryPoint("broken", "no.such.module:Broken", GROUP),
    ]

    def found(*, group: str, name: str | None = None) -> list[EntryPoint]:
        return [one for one in points if group == one.group and name in {None, one.name}]

    with patch("importlib.metadata.entry_points", found):
        assert isinstance(METHODS["kettle"](), Webhook)
        assert type(METHODS["redfish"]()).__name__ == "Redfish"
        assert {*METHODS} == {*BUILT_IN, "kettle", "broken"}
        with pytest.raises(ConfigError, match="the power method 'broken' of the package"):
            METHODS["broken"]()
        with pytest.raises(KeyError):
            METHODS["toaster"]
