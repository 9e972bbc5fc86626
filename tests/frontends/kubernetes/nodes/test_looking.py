"""Who runs no engine looks at Nodes once: what stays on for them is so for `plan` and `explain`."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from node_cluster import FakeCluster

from hostler.app.clock import SystemClock
from hostler.app.compose import Composed
from hostler.app.nodes import Nodes
from hostler.config.values import Config
from hostler.controllers.runtime.settings import Ports
from hostler.domain.ids import AccountName, HostId, InstallationId, Zone
from hostler.domain.model.fleet import Workload
from hostler.frontends.cli.context import open_providers
from hostler.frontends.kubernetes.nodes.controller import NodeController
from hostler.stores.memory import MemoryStore

FILE = """
[provider.hosts]
kind = "static"
[[provider.hosts.hosts]]
address = "192.0.2.1"
[fleet.nodes]
size = 1
"""
HOST = Zone("static"), HostId("192.0.2.1")
ROLE = {"node-role.kubernetes.io/control-plane": ""}


def read(folder: Path, *, managed: bool) -> tuple[Composed, Config, Ports]:
    path = folder / "fleets.toml"
    path.write_text(FILE + ("[fleet.nodes.node.managed]" if managed else ""))
    services = Composed(environment={"HOME": str(folder)})
    ports = services.ports(MemoryStore(InstallationId("i")))
    return services, services.load(path), ports


async def test_nothing_is_looked_at_where_no_fleet_asks_for_it(tmp_path: Path) -> None:
    services, config, ports = read(tmp_path, managed=False)
    assert await services.with_nodes(config, ports) is ports


@pytest.mark.parametrize(
    ("forbidden", "known"),
    [(False, {HOST[1]: "this Node carries the control plane"}), (True, None)],
)
async def test_one_look_tells_which_hosts_stay_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, forbidden: bool, known: object
) -> None:
    cluster = FakeCluster(SystemClock())
    cluster.node("n", providerID=f"hostler://static/{HOST[0]}/{HOST[1]}", labels=ROLE)
    cluster.forbidden = frozenset({("GET", "nodes")} if forbidden else ())

    def opens(self: Nodes) -> None:
        self.controller = NodeController(cluster.client, SystemClock())

    monkeypatch.setattr(Nodes, "_open", opens)
    services, config, ports = read(tmp_path, managed=True)
    looked = await services.with_nodes(config, ports)
    assert looked.workloads is not None
    assert looked.workloads.guarded(AccountName("hosts"), [HOST]) == known
    assert not cluster.patches
    assert not cluster.deletions


async def test_whoever_plans_or_explains_has_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services, config, ports = read(tmp_path, managed=True)
    looked = replace(ports, workloads=Nodes({}, SystemClock()))

    async def looks(asked: Config, before: Ports) -> Ports:
        assert asked is config
        assert before.workloads is None
        return looked

    monkeypatch.setattr(services, "with_nodes", looks)
    async with open_providers(services, config, ports.store) as providers:
        assert providers.ports is looked


async def test_of_machines_that_are_no_nodes_nothing_is_asked(tmp_path: Path) -> None:
    """Their account is left alone by a cluster that another one's fleets work at."""
    services, config, ports = read(tmp_path, managed=False)
    unknown = NodeController(FakeCluster(SystemClock()).client, SystemClock())
    asks = replace(ports, workloads=unknown)
    async with services.accounts(config, ports.store) as (account,):
        assert asks.guarded(account, [HOST]) == {}
        nodes = replace(account.fleets[0], workload=Workload())
        assert asks.guarded(replace(account, fleets=(nodes,)), [HOST]) is None


async def test_without_a_cluster_nothing_stays_on_for_it(tmp_path: Path) -> None:
    services, config, ports = read(tmp_path, managed=True)
    looked = await services.with_nodes(config, ports)
    assert looked.workloads is not None
    assert looked.workloads.guarded(AccountName("hosts"), [HOST]) == {}
