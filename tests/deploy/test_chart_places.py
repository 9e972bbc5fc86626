"""Where the chart's objects lead: to ports that are served, and to roles of one release alone.

The chart of an older autoscaler had a Service to a port at which nobody listened, and one
ClusterRole of a plain name for whoever installed it twice.
"""

import tomllib
from collections.abc import Sequence

import pytest
from rendering import VALUES, Helm, Manifest, of_kind, one_of

pytestmark = pytest.mark.timeout(900)  # the first test may have to build Helm


def _ports(found: Sequence[Manifest]) -> dict[str, int]:
    (container,) = one_of(found, "Deployment")["spec"]["template"]["spec"]["containers"]
    return {port["name"]: port["containerPort"] for port in container.get("ports", ())}


@pytest.mark.parametrize("name", VALUES)
def test_25_a_service_leads_to_a_port_that_its_container_serves(helm: Helm, name: str) -> None:
    """A port that is named is the one at which hostler is told to listen."""
    found = helm.objects(name)
    ports = _ports(found)
    tables = tomllib.loads(one_of(found, "ConfigMap")["data"]["fleet.toml"])
    served = {
        "metrics": tables.get("metrics", {}),
        "externalgrpc": tables.get("frontend", {}).get("externalgrpc", {}),
    }
    for frontend, table in served.items():
        listens = int(str(table["listen"]).rpartition(":")[2]) if table else None
        assert ports.get(frontend) == listens
    for service in of_kind(found, "Service"):
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports.keys()
    for monitor in of_kind(found, "ServiceMonitor"):
        named = {p["name"] for one in of_kind(found, "Service") for p in one["spec"]["ports"]}
        assert {end["port"] for end in monitor["spec"]["endpoints"]} <= named


@pytest.mark.parametrize("name", VALUES)
def test_25_two_releases_share_no_role_of_the_cluster(helm: Helm, name: str) -> None:
    found = helm.objects(name)
    release = one_of(found, "Deployment")["metadata"]
    for role in of_kind(found, "ClusterRole", "ClusterRoleBinding"):
        assert role["metadata"]["name"].startswith(f"{release['namespace']}-{release['name']}")
