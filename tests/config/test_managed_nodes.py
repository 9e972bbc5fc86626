"""Nodes that are worked at, in the fleet file."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from hostler.app.compose import Composed
from hostler.app.nodes import managed
from hostler.app.provider_registry import KINDS
from hostler.config.digests import differing, digests
from hostler.config.removed import with_removed
from hostler.config.values import Config
from hostler.domain.errors import ConfigError
from hostler.domain.ids import FleetName
from hostler.domain.model.fleet import FleetRow, ProbeKind, Workload

FILE = """
[provider.hosts]
kind = "static"
[[provider.hosts.hosts]]
address = "192.0.2.1"
[fleet.nodes]
size = 1
[fleet.nodes.node]
labels = { pool = "web" }
[fleet.nodes.node.managed]
grace = "2m"
"""


def read(folder: Path, text: str, environment: dict[str, str] | None = None) -> Config:
    path = folder / "fleets.toml"
    path.write_text(text)
    return Composed(environment=environment).load(path)


def test_a_fleet_whose_nodes_are_worked_at_asks_its_cluster(tmp_path: Path) -> None:
    config = read(tmp_path, FILE)
    (fleet,) = config.fleets
    assert fleet.workload == Workload(waits=False)
    assert config.nodes[fleet.name].labels == {"pool": "web"}
    (waits,) = read(tmp_path, FILE + 'at_bound = "wait"').fleets
    assert waits.workload == Workload(waits=True)
    (none,) = read(tmp_path, FILE.partition("[fleet.nodes.node.managed]")[0]).fleets
    assert none.workload is None


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ('at_bound = "never"', "fleet.nodes.node.managed.at_bound"),
        ('unsafe = "yes"', "fleet.nodes.node.managed.unsafe"),
        ('[fleet.nodes.ready]\nprobe = "ssh"\nbusy = "true"', "fleet.nodes.ready.busy"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(tmp_path: Path, more: str, place: str) -> None:
    with pytest.raises(ConfigError, match=place):
        read(tmp_path, FILE + more)


def test_a_probe_of_nodes_needs_nodes_that_are_worked_at(tmp_path: Path) -> None:
    probe = '[fleet.nodes.ready]\nprobe = "node"\n'
    assert read(tmp_path, FILE + probe).fleets[0].probe.kind is ProbeKind.NODE
    with pytest.raises(ConfigError, match=r"fleet\.nodes\.ready\.probe"):
        read(tmp_path, FILE.partition("[fleet.nodes.node]")[0] + probe)


def test_a_provider_id_that_cannot_be_made_is_refused_without_an_autoscaler(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigError, match=r"fleet\.nodes\.node\.provider_id"):
        read(tmp_path, FILE.replace("labels", 'provider_id = "k3s://{host"\nlabels'))


def test_check_says_that_no_cluster_can_be_spoken_to(tmp_path: Path) -> None:
    nowhere = {"HOME": str(tmp_path)}
    config = read(tmp_path, FILE, nowhere)
    (lack,) = Composed(environment=nowhere).lacks(config)["fleet.nodes"]
    assert lack.key == "node.managed"
    assert "kubeconfig" in lack.text


def test_what_a_fleet_says_of_its_nodes_is_a_change_of_its_table(tmp_path: Path) -> None:
    """A running engine reads it again: another label, or another way to drain."""
    before = digests(read(tmp_path, FILE))
    for old, new in (('"web"', '"api"'), ('"2m"', '"3m"')):
        after = digests(read(tmp_path, FILE.replace(old, new)))
        assert differing(before, after) == ("fleet.nodes",)


def test_nodes_of_a_fleet_that_left_the_file_are_worked_at_to_the_end(tmp_path: Path) -> None:
    """They are drained as they were: else its machines go off with what runs on them."""
    before = read(tmp_path, FILE)
    after = read(tmp_path, FILE.partition("[fleet.nodes]")[0] + "[fleet.others]\nsize = 0\n")
    row = FleetRow(
        name=FleetName("nodes"),
        created=datetime(2026, 1, 1, tzinfo=UTC),
        definition=before.fleet("nodes").definition,
    )
    known = with_removed(after, [row], KINDS)
    assert known.nodes == before.nodes
    assert managed(known) == ("nodes",)
    assert known.fleet("nodes").workload == Workload(waits=False)
