"""A Cluster in a namespace of its own, under Cluster API's own core; hostler's home is another."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import test_cluster_api
from test_cluster_api import Site, serving

from hostler.lab.controlplane.api_server import ApiServer

pytestmark = pytest.mark.timeout(1900)  # the first test may have to build the programs

NAMESPACE = "team-c"


@pytest.fixture
def team(
    core_cluster: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Site]:
    """Return a site whose Cluster, Fleet, Provider and Secrets are in another namespace."""
    monkeypatch.setattr(test_cluster_api, "NAMESPACE", NAMESPACE)
    monkeypatch.setattr(test_cluster_api, "PLACE", ("-n", NAMESPACE))
    with serving(core_cluster, tmp_path, home="hostler-home") as one:
        yield one


def test_a_machine_deployment_of_another_namespace_comes_up_and_goes(team: Site) -> None:
    team.template("workers-1")
    team.pool("workers-1", 1)
    team.until(lambda: len(team.running()) == 1, "a Machine is running")
    assert team.fleets() == {f"{NAMESPACE}_workers"}
    (machine,) = team.listed("hostlermachines")
    assert machine["status"]["initialization"]["provisioned"]
    team.pool("workers-1", 0)
    team.until(lambda: not team.listed("machines"), "all Machines left")
    assert team.listed("hostlermachines") == []
