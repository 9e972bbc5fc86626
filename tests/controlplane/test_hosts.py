"""Hosts as objects beside a real API server: how they stand, and what people want of them."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from kinds_kit import FLEETS, HOSTS, PROVIDERS, SECRETS, Keys, Thing, a_thing, until
from rack_kit import Rack, simulated_rack
from test_run import HOSTLER, Cluster, cluster, engine, simulator

from hostler.kubernetes.objects import Key, Metadata
from hostler.kubernetes.requests import merge_patch
from hostler.kubernetes.resources import Resource

pytestmark = pytest.mark.timeout(2000)  # the first test waits for the build of the server
__all__ = ["cluster", "engine", "simulator"]

LOCK = "homelab-autoscaler.dev"
NODES = Resource(group="", version="v1", plural="nodes", kind="Node", model=Thing, namespaced=False)


@pytest.fixture
def rack(tmp_path: Path) -> Iterator[Rack]:
    with simulated_rack(HOSTLER, tmp_path, machines=3) as found:
        yield found


@pytest.fixture
def slow_rack(tmp_path: Path) -> Iterator[Rack]:
    """Boxes that take a while to go on, so that what is displayed meanwhile can be read."""
    with simulated_rack(HOSTLER, tmp_path, machines=3, boot=15) as found:
        yield found


async def furnish(cluster: Cluster, rack: Rack) -> None:
    """Write the provider, its hosts and its Secret."""
    secret = a_thing(SECRETS, "rack", cluster.namespace)
    await cluster.client.apply(SECRETS, Keys(metadata=secret.metadata, data=dict(rack.secrets)))
    for name, box in rack.hosts.items():
        await cluster.write(HOSTS, name, provider="rack", secretName="rack", power=box)
    await cluster.write(PROVIDERS, "rack", kind="power", power=rack.provider)


async def a_fleet(cluster: Cluster, rack: Rack, size: int, **more: object) -> None:
    spec = {"provider": "rack", "ready": rack.ready, "timers": rack.timers, **more}
    await cluster.write(FLEETS, "nodes", size=size, **spec)


async def statuses(cluster: Cluster, rack: Rack) -> list[Any]:
    return [await cluster.status(HOSTS, name) for name in rack.hosts]


async def power_is(cluster: Cluster, rack: Rack, **numbers: int) -> None:
    """Wait until so many hosts are on and off."""

    async def holds() -> bool:
        found = [one.get("power") for one in await statuses(cluster, rack)]
        return all(found.count(power) == number for power, number in numbers.items())

    await until(holds, 300)


@pytest.mark.usefixtures("engine")
async def test_a_fleet_switches_hosts_on_and_they_say_whose_they_are(
    cluster: Cluster, rack: Rack
) -> None:
    async def reasons_are(*wanted: str) -> None:
        async def holds() -> bool:
            found = await statuses(cluster, rack)
            return {one["reason"] for each in found for one in each.get("conditions", ())} == {
                *wanted
            }

        await until(holds, 300)

    await furnish(cluster, rack)
    await reasons_are("NoFleet")
    await a_fleet(cluster, rack, 1)
    await reasons_are("Accepted")
    await power_is(cluster, rack, on=1, off=2)
    await cluster.comes("nodes", "Ready", "True")
    (taken,) = [one for one in await statuses(cluster, rack) if one.get("machine")]
    assert (taken["power"], taken["fleet"]) == ("on", "nodes")
    assert (await cluster.status(PROVIDERS, "rack"))["hosts"] == 3


@pytest.mark.usefixtures("engine")
async def test_a_host_is_on_while_its_object_says_so_and_rests_in_maintenance(
    cluster: Cluster, rack: Rack
) -> None:
    await furnish(cluster, rack)
    await a_fleet(cluster, rack, 0)
    await power_is(cluster, rack, on=0, off=3)
    first, *others = rack.hosts
    key = Key(cluster.namespace, first)
    await cluster.client.patch(HOSTS, key, merge_patch({"spec": {"desiredPowerState": "on"}}))
    await power_is(cluster, rack, on=1, off=2)
    assert (await cluster.status(HOSTS, first))["power"] == "on"
    await cluster.client.patch(HOSTS, key, merge_patch({"spec": {"desiredPowerState": None}}))
    await power_is(cluster, rack, on=0, off=3)

    for name in (first, *others[:1]):
        maintenance = {"spec": {"maintenance": {"reason": "a new disk"}}}
        patch = merge_patch(maintenance)
        await cluster.client.patch(HOSTS, Key(cluster.namespace, name), patch)

    async def held() -> bool:
        return "in maintenance" in (await cluster.status(HOSTS, first)).get("next", "")

    await until(held)
    await a_fleet(cluster, rack, 3)
    await power_is(cluster, rack, on=1, off=2)
    assert (await cluster.status(HOSTS, others[1]))["machine"]


async def test_a_host_that_is_refused_after_a_restart_keeps_its_machine(
    cluster: Cluster, rack: Rack
) -> None:
    await furnish(cluster, rack)
    await a_fleet(cluster, rack, 1)
    with cluster.start() as process:
        try:
            await cluster.comes("nodes", "Ready", "True")
            (taken,) = [n for n in rack.hosts if (await cluster.status(HOSTS, n)).get("machine")]
            machine = (await cluster.status(HOSTS, taken))["machine"]
        finally:
            process.kill()
    webhook = {"url": "http://other.example", "on": "POST /on"}
    patch = merge_patch({"spec": {"power": {"webhook": webhook}}})
    right = merge_patch({"spec": {"power": {"webhook": None}}})
    await cluster.client.patch(HOSTS, Key(cluster.namespace, taken), patch)

    async def refused() -> bool:
        condition = await cluster.condition(PROVIDERS, "rack", "Accepted")
        return f"Host {taken} is on record" in condition["message"]

    async def accepted() -> bool:
        condition = await cluster.condition(PROVIDERS, "rack", "Accepted")
        return bool(condition["status"] == "True")

    async def has_its_machine() -> bool:
        return bool((await cluster.status(HOSTS, taken)).get("machine") == machine)

    with cluster.start() as process:
        try:
            await until(refused)
            await cluster.client.patch(HOSTS, Key(cluster.namespace, taken), right)
            await until(accepted)
            await cluster.comes("nodes", "Ready", "True")
            await until(has_its_machine)
        finally:
            process.kill()


@pytest.mark.usefixtures("engine")
async def test_a_lock_of_somebody_else_is_respected_and_ours_are_displayed(
    cluster: Cluster, slow_rack: Rack
) -> None:
    rack = slow_rack
    await furnish(cluster, rack)
    await a_fleet(cluster, rack, 0)
    await power_is(cluster, rack, off=3)
    first, *others = rack.hosts
    lock = {
        f"{LOCK}/operation-lock": "scale-down",
        f"{LOCK}/lock-owner": "somebody",
        f"{LOCK}/lock-timestamp": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        f"{LOCK}/lock-timeout": "600",
    }
    patch = merge_patch({}, metadata={"annotations": lock})
    await cluster.client.patch(HOSTS, Key(cluster.namespace, first), patch)

    async def held() -> bool:
        return "locked by somebody" in (await cluster.status(HOSTS, first)).get("next", "")

    await until(held)
    await a_fleet(cluster, rack, 3)

    async def ours() -> bool:
        found = [(await cluster.read(HOSTS, name)).metadata.annotations for name in others]
        return any((one or {}).get(f"{LOCK}/operation-lock") == "scale-up" for one in found)

    await until(ours)
    await power_is(cluster, rack, on=2, off=1)
    assert "machine" not in await cluster.status(HOSTS, first)
    annotations = (await cluster.read(HOSTS, first)).metadata.annotations or {}
    assert {name: annotations[name] for name in lock} == lock

    async def released() -> bool:
        found = [(await cluster.read(HOSTS, name)).metadata.annotations for name in others]
        return not any(f"{LOCK}/operation-lock" in (one or {}) for one in found)

    await until(released)


@pytest.mark.usefixtures("engine")
async def test_10_a_deleted_host_stays_until_its_machine_ended_and_it_is_off(
    cluster: Cluster, rack: Rack
) -> None:
    await furnish(cluster, rack)
    await a_fleet(cluster, rack, 3)
    await power_is(cluster, rack, on=3)
    await cluster.comes("nodes", "Ready", "True")
    first, *others = rack.hosts
    key = Key(cluster.namespace, first)
    await cluster.client.patch(HOSTS, key, merge_patch({"spec": {"deletionPolicy": "off"}}))
    await cluster.client.delete(HOSTS, key)

    async def waits() -> bool:
        conditions = (await cluster.status(HOSTS, first)).get("conditions", [])
        return any("has it, and keeps it" in one["message"] for one in conditions)

    await until(waits)
    assert (await cluster.status(HOSTS, first))["power"] == "on"
    await a_fleet(cluster, rack, 0)

    async def let_go() -> bool:
        found = [await cluster.status(HOSTS, name) for name in others]
        return not any(one.get("machine") for one in found)

    await cluster.goes(HOSTS, first)
    await until(let_go)


@pytest.mark.usefixtures("engine")
async def test_the_node_of_a_host_gets_its_labels_and_taints_and_is_on_its_object(
    cluster: Cluster, rack: Rack
) -> None:
    await furnish(cluster, rack)
    for name in rack.hosts:
        await cluster.client.apply(NODES, Thing(metadata=Metadata(name=name)))
    try:
        await a_fleet(cluster, rack, 1, node={"managed": {}, "labels": {"rack": "a", "pool": "x"}})
        await power_is(cluster, rack, on=1, off=2)
        (name,) = [n for n in rack.hosts if (await cluster.status(HOSTS, n)).get("machine")]
        taint = {"key": "gpu", "effect": "NoSchedule", "value": "yes"}
        patch = merge_patch({"spec": {"labels": {"rack": "b"}, "taints": [taint]}})
        await cluster.client.patch(HOSTS, Key(cluster.namespace, name), patch)

        async def written() -> bool:
            node = await cluster.client.get(NODES, Key("", name))
            return (node.metadata.labels or {}).get("rack") == "b"

        await until(written)
        node: Any = await cluster.client.get(NODES, Key("", name))
        assert node.metadata.labels["pool"] == "x"
        assert taint in node.spec["taints"]

        async def displayed() -> bool:
            found = (await cluster.status(HOSTS, name)).get("node", {})
            return bool(found.get("name") == name and found.get("readiness") == "silent")

        await until(displayed)
        assert (await cluster.status(HOSTS, name))["moves"]
    finally:
        for name in rack.hosts:
            await cluster.client.delete(NODES, Key("", name))
