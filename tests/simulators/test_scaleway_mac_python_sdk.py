# The client has types, but does not say so:
# pyright: reportMissingTypeStubs=false
"""The official Python client of Apple silicon, unmodified, against the simulated Scaleway."""

import time
from typing import Any

import pytest
from scaleway import Client
from scaleway.applesilicon.v1alpha1 import (
    ApplesiliconV1Alpha1API,
    ApplesiliconV1Alpha1PrivateNetworkAPI,
    BatchCreateServersRequestBatchInnerCreateServerRequest,
    CommitmentType,
    CommitmentTypeValue,
    Server,
    ServerPrivateNetworkServerStatus,
    ServerPrivateNetworkStatus,
    ServerStatus,
)
from scaleway.applesilicon.v1alpha1.types import ConnectivityDiagnosticDiagnosticStatus
from scaleway_core.api import ScalewayException
from scaleway_core.utils import WaitForOptions

from .conftest import SECRET, Running, Start

PROJECT = "0b5e6f1a-5d3c-4f0e-9a51-3c1f7d2e8a10"
ZONE = "fr-par-1"
EACH_SECOND: WaitForOptions[Any, Any] = WaitForOptions(timeout=20, min_delay=1)


@pytest.fixture
def simulator(start: Start) -> Running:
    return start(speed=2000.0)


@pytest.fixture
def client(simulator: Running) -> Client:
    return Client(
        access_key="SCWXXXXXXXXXXXXXXXXX",
        secret_key=SECRET,
        api_url=simulator.url,
        default_project_id=PROJECT,
        default_organization_id=PROJECT,
        default_zone=ZONE,
        default_region="fr-par",
    )


@pytest.fixture
def macs(client: Client) -> ApplesiliconV1Alpha1API:
    return ApplesiliconV1Alpha1API(client)


def order(macs: ApplesiliconV1Alpha1API, name: str = "pool-1", *, vpc: bool = False) -> str:
    made = macs.create_server(
        type_="M2-L", name=name, enable_vpc=vpc, public_bandwidth_bps=0, enable_kext=False
    )
    assert made.status == ServerStatus.STARTING
    assert made.sudo_password not in {"", "<sealed>"}
    return made.id


def ready(macs: ApplesiliconV1Alpha1API, mac_id: str) -> Server:
    """Look again, fifty times a second and ten seconds at most, until a Mac is ready."""
    for _ in range(500):
        mac = macs.get_server(server_id=mac_id)
        if mac.status == ServerStatus.READY:
            return mac
        time.sleep(0.02)  # noqa: TID251 - the client is blocking and the server a real one
    return pytest.fail("it was never ready")


def test_a_mac_is_ordered_renamed_rebooted_and_wiped(macs: ApplesiliconV1Alpha1API) -> None:
    mac = ready(macs, order(macs))
    assert (mac.status, mac.delivered, mac.type_) == (ServerStatus.READY, True, "M2-L")
    assert mac.commitment is not None
    assert mac.commitment.type_ == CommitmentType.DURATION_24H
    assert macs.update_server(server_id=mac.id, name="worker-1").name == "worker-1"
    assert macs.reboot_server(server_id=mac.id).status == ServerStatus.REBOOTING
    mac = ready(macs, mac.id)
    images = macs.list_os_all(server_type="M2-L", name="macos-sequoia")
    assert [image.version for image in images] == ["15.5", "15.7"]
    wiped = macs.reinstall_server(server_id=mac.id, enable_kext=True, os_id=images[-1].id)
    assert wiped.status == ServerStatus.REINSTALLING
    mac = macs.wait_for_server(server_id=mac.id, options=EACH_SECOND)
    assert mac.os is not None
    assert (mac.os.family, mac.kext_enabled, mac.delivered) == ("Sequoia", True, True)


def test_a_deletion_is_refused_then_scheduled_and_then_done(
    simulator: Running, macs: ApplesiliconV1Alpha1API
) -> None:
    mac = ready(macs, order(macs))
    with pytest.raises(ScalewayException) as refused:
        macs.delete_server(server_id=mac.id)
    assert refused.value.status_code == 412
    assert "cannot be deleted before" in str(refused.value)
    monthly = CommitmentTypeValue(commitment_type=CommitmentType.RENEWED_MONTHLY)
    none = CommitmentTypeValue(commitment_type=CommitmentType.NONE)
    longer = macs.update_server(server_id=mac.id, commitment_type=monthly)
    assert longer.deletable_at is not None
    assert mac.deletable_at is not None
    assert longer.deletable_at > mac.deletable_at
    asked = macs.update_server(server_id=mac.id, commitment_type=none, schedule_deletion=True)
    assert asked.commitment is not None
    assert (asked.deletion_scheduled, asked.commitment.cancelled) == (True, True)
    assert [leak.kind for leak in simulator.world.leaks()] == ["mac"]


def test_macs_are_ordered_together_and_listed_over_pages(macs: ApplesiliconV1Alpha1API) -> None:
    names = [f"pool-{n}" for n in range(5)]
    made = macs.batch_create_servers(
        type_="M2-L",
        enable_vpc=False,
        public_bandwidth_bps=0,
        enable_kext=False,
        requests=[BatchCreateServersRequestBatchInnerCreateServerRequest(name=n) for n in names],
    )
    assert [mac.name for mac in made.servers] == names
    assert [mac.name for mac in macs.list_servers_all(page_size=2)] == names
    assert macs.list_servers(project_id=SECRET).total_count == 0


def test_types_tell_stock_and_lease(macs: ApplesiliconV1Alpha1API) -> None:
    types = {sort.name: sort for sort in macs.list_server_types().server_types}
    assert set(types) == {"M2-M", "M2-L", "M4-S", "M4-M", "M4-XL"}
    assert types["M2-L"].minimum_lease_duration == "86400s"
    sort = macs.get_server_type(server_type="M4-XL")
    assert sort.memory is not None
    assert sort.memory.capacity == 64 * 1024**3
    assert sort.default_os is not None
    assert macs.get_os(os_id=sort.default_os.id).family == "Tahoe"


def test_a_mac_joins_a_private_network_and_leaves_it(
    client: Client, macs: ApplesiliconV1Alpha1API
) -> None:
    networks = ApplesiliconV1Alpha1PrivateNetworkAPI(client)
    mac = ready(macs, order(macs, vpc=True))
    assert mac.vpc_status == ServerPrivateNetworkStatus.VPC_ENABLED
    joined = networks.add_server_private_network(server_id=mac.id, private_network_id=PROJECT)
    assert not joined.vlan  # the client reads null as 0
    for _ in range(3):
        networks.get_server_private_network(server_id=mac.id, private_network_id=PROJECT)
    (found,) = networks.list_server_private_networks_all(server_id=mac.id)
    assert found.vlan
    swapped = networks.set_server_private_networks(
        server_id=mac.id, per_private_network_ipam_ip_ids={SECRET: []}
    ).server_private_networks
    assert [one.private_network_id for one in swapped] == [SECRET]
    networks.delete_server_private_network(server_id=mac.id, private_network_id=SECRET)
    left = networks.list_server_private_networks_all(server_id=mac.id)
    assert {one.status for one in left} <= {ServerPrivateNetworkServerStatus.DETACHING}


def test_a_diagnostic_is_started_and_read(macs: ApplesiliconV1Alpha1API) -> None:
    mac = ready(macs, order(macs))
    started = macs.start_connectivity_diagnostic(server_id=mac.id).diagnostic_id
    found = macs.get_connectivity_diagnostic(diagnostic_id=started)
    while found.status == ConnectivityDiagnosticDiagnosticStatus.PROCESSING:
        found = macs.get_connectivity_diagnostic(diagnostic_id=started)
    assert found.is_healthy
    assert found.health_details is not None
    assert found.health_details.is_ssh_port_up
