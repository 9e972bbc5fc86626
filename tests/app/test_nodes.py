"""A cluster is spoken to where a fleet asks for it, and machines wait where it cannot be."""

from pathlib import Path

import pytest

from hostler.app.clock import SystemClock
from hostler.app.compose import Composed
from hostler.app.nodes import Nodes, at_work, node_groups
from hostler.config.values import Config
from hostler.domain.ids import InstallationId
from hostler.stores.memory import MemoryStore
from hostler.testing.scenes.builders import machine

FILE = """
[provider.hosts]
kind = "static"
[[provider.hosts.hosts]]
address = "192.0.2.1"
[fleet.nodes]
size = 1
"""
ONE = machine(1)


def read(folder: Path, *, managed: bool) -> Config:
    path = folder / "fleets.toml"
    path.write_text(FILE + ("[fleet.nodes.node.managed]" if managed else ""))
    return Composed().load(path)


GROUPS = """
[provider.hosts]
kind = "static"
hosts = [{ address = "192.0.2.1" }, { address = "192.0.2.2" }]
[fleet.nodes]
size = 0
maximum = 1
renews = false
[fleet.steady]
size = 1
"""


@pytest.mark.parametrize("served", [True, False])
def test_cluster_autoscaler_asks_for_what_it_is_served_alone(
    tmp_path: Path, *, served: bool
) -> None:
    """Of a fleet with `renews = false` Cluster API may ask, or anybody."""
    path = tmp_path / "fleets.toml"
    frontend = '[frontend.externalgrpc]\nlisten = "127.0.0.1:0"\n' if served else ""
    path.write_text(GROUPS + frontend)
    assert node_groups(Composed().load(path)) == ({"nodes"} if served else set())


async def attached(folder: Path, *, managed: bool) -> str:
    """Return what is said of a machine's Node where there is no kubeconfig."""
    services = Composed(environment={"HOME": str(folder)})
    config = read(folder, managed=managed)
    ports = services.ports(MemoryStore(InstallationId("i")))
    async with at_work(Nodes({"HOME": str(folder)}, SystemClock())) as nodes:
        await nodes.attach(config, ports, object())
        reply = await nodes.drain(ONE.id)
    assert reply.status is None
    return reply.text


async def test_without_such_a_fleet_no_cluster_is_looked_for(tmp_path: Path) -> None:
    assert await attached(tmp_path, managed=False) == "no fleet of this engine works at Nodes"


async def test_without_a_cluster_nobody_knows_and_why_is_told(tmp_path: Path) -> None:
    assert "no cluster can be spoken to" in await attached(tmp_path, managed=True)


async def test_an_engine_is_given_what_drains(tmp_path: Path) -> None:
    services = Composed(environment={"HOME": str(tmp_path)})
    config = read(tmp_path, managed=True)
    async with services.frontends(config) as frontends:
        ports = services.ports(MemoryStore(InstallationId("i")))
        assert ports.workloads is frontends


async def test_what_goes_wrong_beside_it_is_told_as_it_was(tmp_path: Path) -> None:
    with pytest.raises(LookupError):
        async with at_work(Nodes({"HOME": str(tmp_path)}, SystemClock())):
            raise LookupError
