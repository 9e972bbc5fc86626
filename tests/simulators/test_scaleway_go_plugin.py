"""The request sequence of the Go plugin for fleeting, replayed literally over a socket.

The paths and query strings are those of the plugin and its SDK, as recorded in the reference.
"""

import time
from typing import Any

import pytest
import requests

from .conftest import SECRET, Running, Start

PROJECT = "0b5e6f1a-5d3c-4f0e-9a51-3c1f7d2e8a10"
ZONE = "/instance/v1/zones/fr-par-1"
BLOCK = "/block/v1alpha1/zones/fr-par-1"
TAGS = ["managed-by=plugin", "instance-group=ci"]


class Plugin:
    """Sends what the plugin sends."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = requests.Session()
        self._session.headers["X-Auth-Token"] = SECRET

    def send(self, method: str, path: str, body: Any = None) -> requests.Response:
        return self._session.request(method, self._url + path, json=body, timeout=15)

    def good(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.send(method, path, body)
        assert answer.ok, answer.text
        assert answer.headers["Content-Type"].startswith("application/json")
        return answer.json()

    def wait(self, path: str, *, state: str) -> None:
        for _ in range(300):
            answer = self.send("GET", path)
            if answer.status_code == 404 and state == "gone":
                return
            found = answer.json().get("server") or answer.json()
            if found.get("state", found.get("status")) == state:
                return
            time.sleep(0.03)  # noqa: TID251 - a real socket
        pytest.fail(f"{path} never became {state}")


@pytest.fixture
def simulator(start: Start) -> Running:
    return start(speed=100.0)


@pytest.fixture
def plugin(simulator: Running) -> Plugin:
    return Plugin(simulator.url)


def initialise(plugin: Plugin) -> None:
    """Init: the key, then all pages of the types, then the image."""
    query = "disabled=false&order_by=created_at_asc&page=1"
    assert plugin.good("GET", f"/iam/v1alpha1/ssh-keys?{query}")["total_count"] == 0
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA ci"
    body = {"name": "fleeting-ci", "public_key": key, "project_id": PROJECT}
    made = plugin.good("POST", "/iam/v1alpha1/ssh-keys", body)
    assert plugin.send("DELETE", f"/iam/v1alpha1/ssh-keys/{made['id']}").status_code == 204
    plugin.good("POST", "/iam/v1alpha1/ssh-keys", body)
    kinds: dict[str, object] = {}
    first = plugin.send("GET", f"{ZONE}/products/servers?page=1")
    pages = -(-int(first.headers["X-Total-Count"]) // len(first.json()["servers"]))
    assert pages == 3
    for page in range(1, pages + 1):
        kinds |= plugin.good("GET", f"{ZONE}/products/servers?page={page}")["servers"]
    assert len(kinds) == int(first.headers["X-Total-Count"])
    assert "DEV1-S" in kinds


def image(plugin: Plugin) -> str:
    """Resolve a label as the SDK does: the first image whose types hold the wanted one."""
    query = "image_label=ubuntu_noble&order_by=type_asc&type=instance_sbs&zone=fr-par-1"
    found = plugin.good("GET", f"/marketplace/v2/local-images?{query}")["local_images"]
    return next(one["id"] for one in found if "DEV1-S" in one["compatible_commercial_types"])


def create(plugin: Plugin) -> tuple[Any, list[Any]]:
    """Increase: two addresses, the server, its volume, its user data, the start."""
    name = "ci-abc"
    tags = [*TAGS, f"instance={name}"]
    ips = [
        plugin.good("POST", f"{ZONE}/ips", {"project": PROJECT, "tags": tags, "type": kind})["ip"]
        for kind in ("routed_ipv4", "routed_ipv6")
    ]
    body = {
        "name": name,
        "commercial_type": "DEV1-S",
        "image": image(plugin),
        "project": PROJECT,
        "tags": tags,
        "dynamic_ip_required": False,
        "public_ips": [ip["id"] for ip in ips],
        "boot_type": "local",
    }
    server = plugin.good("POST", f"{ZONE}/servers", body)["server"]
    volume = server["volumes"]["0"]["id"]
    change = {"name": name, "tags": tags, "perf_iops": 5000}
    assert plugin.good("PATCH", f"{BLOCK}/volumes/{volume}", change)["tags"] == tags
    assert plugin.good("GET", "/metadata")["domain"] == "scaleway.com"
    done = requests.patch(
        f"{plugin._url}{ZONE}/servers/{server['id']}/user_data/cloud-init",
        data=b"#cloud-config\n",
        headers={"Content-Type": "text/plain", "X-Auth-Token": SECRET},
        timeout=15,
    )
    assert (done.status_code, done.headers.get("Content-Length", "0")) == (204, "0")
    action = plugin.send("POST", f"{ZONE}/servers/{server['id']}/action", {"action": "poweron"})
    assert action.status_code == 202
    plugin.wait(f"{ZONE}/servers/{server['id']}", state="running")
    return server, ips


def test_the_plugin_creates_lists_and_removes(simulator: Running, plugin: Plugin) -> None:
    initialise(plugin)
    server, ips = create(plugin)
    query = f"order=creation_date_desc&page=1&tags={'%2C'.join(TAGS)}"
    listed = plugin.send("GET", f"{ZONE}/servers?{query}")
    assert listed.headers["X-Total-Count"] == "1"
    displayed = listed.json()["servers"][0]
    assert [ip["family"] for ip in displayed["public_ips"]] == ["inet", "inet6"]
    path = f"{ZONE}/servers/{server['id']}"
    found = plugin.good(
        "GET", f"{ZONE}/ips?order_by=creation_date_desc&page=1&tags=instance%3Dci-abc"
    )
    assert {ip["id"] for ip in found["ips"]} == {ip["id"] for ip in ips}
    for ip in ips:
        assert plugin.send("DELETE", f"{ZONE}/ips/{ip['id']}").status_code == 204
    assert plugin.send("POST", f"{path}/action", {"action": "poweroff"}).status_code == 202
    plugin.wait(path, state="stopped")
    volume = server["volumes"]["0"]["id"]
    plugin.good("POST", f"{path}/detach-volume", {"volume_id": volume})
    plugin.wait(f"{BLOCK}/volumes/{volume}", state="available")
    assert plugin.send("DELETE", f"{BLOCK}/volumes/{volume}").status_code == 204
    assert plugin.send("DELETE", path).status_code == 204
    plugin.wait(path, state="gone")
    assert requests.get(f"{simulator.url}/_sim/leaks", timeout=15).json()["leaks"] == []


def test_what_the_go_client_leaves_unset_is_not_taken_for_a_value(plugin: Plugin) -> None:
    query = "image_label=debian_trixie&type=unknown_type&arch=unknown_arch&zone=fr-par-1"
    found = plugin.good("GET", f"/marketplace/v2/local-images?{query}")["local_images"]
    assert [one["type"] for one in found] == ["instance_local"] * 2 + ["instance_sbs"] * 2
    made = plugin.good("POST", f"{ZONE}/ips", {"type": "unknown_iptype"})["ip"]
    assert made["type"] == "routed_ipv4"


def test_the_sequence_fails_on_a_half_made_server_as_it_does_in_earnest(plugin: Plugin) -> None:
    body = {"name": "half", "commercial_type": "DEV1-S", "image": image(plugin), "project": PROJECT}
    server = plugin.good("POST", f"{ZONE}/servers", body)["server"]
    refused = plugin.send("POST", f"{ZONE}/servers/{server['id']}/action", {"action": "poweroff"})
    assert (refused.status_code, refused.json()["type"]) == (400, "precondition_failed")
