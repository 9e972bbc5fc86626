# The client has types, but does not say so:
# pyright: reportMissingTypeStubs=false
"""The official Python client of Apple silicon, unmodified, against the simulated Scaleway."""

import dataclasses
import inspect
import re
import time
from typing import Any, get_args, get_type_hints

import pytest
import requests
from scaleway import Client
from scaleway.applesilicon.v1alpha1 import (
    OS,
    ApplesiliconV1Alpha1API,
    ApplesiliconV1Alpha1PrivateNetworkAPI,
    AppliedRunnerConfigurations,
    BatchCreateServersRequestBatchInnerCreateServerRequest,
    CommitmentType,
    CommitmentTypeValue,
    ConnectivityDiagnostic,
    GithubRunnerConfiguration,
    GitlabRunnerConfiguration,
    ListServerPrivateNetworksRequestOrderBy,
    ListServersRequestOrderBy,
    Runner,
    RunnerConfigurationV2,
    RunnerConfigurationV2Provider,
    RunnerStatus,
    Server,
    ServerPrivateNetwork,
    ServerPrivateNetworkServerStatus,
    ServerPrivateNetworkStatus,
    ServerStatus,
    ServerType,
)
from scaleway.applesilicon.v1alpha1 import api as module
from scaleway.applesilicon.v1alpha1.types import ConnectivityDiagnosticDiagnosticStatus
from scaleway.ipam.v1 import IpamV1API, ResourceType
from scaleway_core.api import ScalewayException
from scaleway_core.utils import WaitForOptions

from hostler.simulators.scaleway.routes import TABLE

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
    assert made.sudo_password == "<sealed>"
    assert macs.get_server(server_id=made.id).sudo_password not in {"", "<sealed>"}
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
    assert mac.commitment.type_ == CommitmentType.NONE
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
    assert joined.vlan
    (found,) = networks.list_server_private_networks_all(server_id=mac.id)
    assert found.vlan == joined.vlan
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


def test_every_key_that_the_client_reads_is_sent(
    client: Client, macs: ApplesiliconV1Alpha1API, simulator: Running
) -> None:
    (mac,) = simulator.world.stock_macs(1)
    simulator.world.console.mac(mac).vpc = "vpc_enabled"
    made = runner(macs, PROJECT)
    macs.update_server(
        server_id=mac,
        applied_runner_configurations=AppliedRunnerConfigurations(runner_configuration_ids=[made]),
    )
    networks = ApplesiliconV1Alpha1PrivateNetworkAPI(client)
    networks.add_server_private_network(server_id=mac, private_network_id=PROJECT)
    diagnostic = macs.start_connectivity_diagnostic(server_id=mac).diagnostic_id
    for path, sort in (
        (f"servers/{mac}", Server),
        (f"os/{macs.list_os().os[0].id}", OS),
        ("server-type/M2-L", ServerType),
        (f"servers/{mac}/private-networks/{PROJECT}", ServerPrivateNetwork),
        (f"runners/{made}", Runner),
        (f"connectivity-diagnostics/{completed(macs, diagnostic)}", ConnectivityDiagnostic),
    ):
        check_keys(sent(simulator, path), sort, path)


def sent(simulator: Running, path: str) -> Any:
    """Return a body as it is sent."""
    url = f"{simulator.url}/apple-silicon/v1alpha1/zones/{ZONE}/{path}"
    return requests.get(url, headers={"X-Auth-Token": SECRET}, timeout=10).json()


NOT_SENT = {"runner_configuration", "gitlab_configuration"}
"""What is null in an answer here: the client reads an object where there is one."""
LEFT_OUT = {"gitlab_configuration", "zone"}
"""What was recorded to be left out: the settings of the other sort of runner, and their zone."""
IN_LISTS = {"supported_server_types"}
"""What is an empty list in the answers about single images, as recorded."""


def check_keys(body: Any, sort: type, path: str) -> None:
    """Check that a body has each key of a type of the client, also further in."""
    hints = get_type_hints(sort)
    for field in dataclasses.fields(sort):
        name = field.name.rstrip("_")
        assert name in body or ("runners/" in path and name in LEFT_OUT), f"{path}: {name}"
        inner = [one for one in (hints[field.name], *get_args(hints[field.name])) if is_body(one)]
        for one in inner if name not in NOT_SENT | IN_LISTS else ():
            value = body[name]
            assert value, f"{path}: {name}"
            check_keys(value[0] if isinstance(value, list) else value, one, f"{path}.{name}")


def is_body(sort: object) -> bool:
    return isinstance(sort, type) and dataclasses.is_dataclass(sort)


def completed(macs: ApplesiliconV1Alpha1API, diagnostic: str) -> str:
    """Wait for a diagnostic, and return its id."""
    status = ConnectivityDiagnosticDiagnosticStatus
    while macs.get_connectivity_diagnostic(diagnostic_id=diagnostic).status != status.COMPLETED:
        time.sleep(0.01)  # noqa: TID251 - the client is blocking and the server a real one
    return diagnostic


def runner(macs: ApplesiliconV1Alpha1API, project: str) -> str:
    """Make a runner and return its id."""
    github = GithubRunnerConfiguration(url="https://example.com", token="t", labels=["mac"])
    configuration = RunnerConfigurationV2(
        name="ci", provider=RunnerConfigurationV2Provider.GITHUB, github_configuration=github
    )
    return macs.create_runner(runner_configuration=configuration, project_id=project).id


def test_a_runner_is_made_changed_listed_and_deleted(macs: ApplesiliconV1Alpha1API) -> None:
    made = runner(macs, PROJECT)
    found = macs.get_runner(runner_id=made)
    assert found.configuration is not None
    assert found.configuration.github_configuration is not None
    assert found.configuration.github_configuration.labels == []
    assert found.configuration.github_configuration.token == ""
    assert found.status == RunnerStatus.DISABLED
    gitlab = GitlabRunnerConfiguration(url="https://example.com", token="t")
    configuration = RunnerConfigurationV2(
        name="other", provider=RunnerConfigurationV2Provider.GITLAB, gitlab_configuration=gitlab
    )
    changed = macs.update_runner(runner_id=made, runner_configuration=configuration)
    assert changed.configuration is not None
    assert changed.configuration.provider == RunnerConfigurationV2Provider.GITLAB
    assert [one.id for one in macs.list_runners_all(page_size=1)] == [made]
    macs.delete_runner(runner_id=made)
    assert macs.list_runners().runners == []


def test_lists_are_in_the_order_asked_for(
    client: Client, macs: ApplesiliconV1Alpha1API, simulator: Running
) -> None:
    made = simulator.world.stock_macs(3)
    for mac in made:
        simulator.world.console.mac(mac).project = PROJECT
    newest = ListServersRequestOrderBy.CREATED_AT_DESC
    assert [mac.id for mac in macs.list_servers_all(order_by=newest)] == made[::-1]
    networks = ApplesiliconV1Alpha1PrivateNetworkAPI(client)
    for order in ListServerPrivateNetworksRequestOrderBy:
        assert networks.list_server_private_networks(order_by=order).total_count == 0


def test_private_addresses_of_macs_are_in_ipam_once_they_are_attached(
    client: Client, macs: ApplesiliconV1Alpha1API
) -> None:
    networks = ApplesiliconV1Alpha1PrivateNetworkAPI(client)
    ours = order(macs, vpc=True)
    one = networks.add_server_private_network(server_id=ours, private_network_id=PROJECT)
    ipam = IpamV1API(client)
    attached = ServerPrivateNetworkServerStatus.ATTACHED
    networks.wait_for_server_private_network(
        server_id=ours,
        private_network_id=PROJECT,
        options=WaitForOptions(timeout=20, stop=lambda one: one.status == attached, min_delay=1),
    )
    found = ipam.list_i_ps_all(resource_type=ResourceType.APPLE_SILICON_PRIVATE_NIC)
    assert [one.is_ipv6 for one in found] == [True, False]
    address = found[1]
    (listed,) = networks.list_server_private_networks_all(server_id=ours)
    assert address.resource is not None
    assert (address.resource.id, address.resource.name) == (one.id, "pool-1")
    assert [address.id, found[0].id] == listed.ipam_ip_ids
    assert str(address.address).startswith("10.")
    assert ipam.list_i_ps(resource_type=ResourceType.INSTANCE_PRIVATE_NIC).total_count == 0
    assert ipam.list_i_ps(resource_id=SECRET).total_count == 0
    assert ipam.list_i_ps(is_ipv6=True).total_count == 1
    assert ipam.list_i_ps(private_network_id=PROJECT).total_count == 2


ENDPOINT = re.compile(r'_request\(\s*"([A-Z]+)",\s*f"(/apple-silicon/[^"]+)"')
"""How the client asks for something: a method and a path with its arguments in braces."""


def test_the_simulator_has_just_the_endpoints_of_the_client() -> None:
    found = ENDPOINT.findall(inspect.getsource(module))
    asked = {(method, re.sub(r"{[^}]+}", "*", path)) for method, path in found}
    served = {(r.method, r.path) for r in TABLE if r.path.startswith("/apple-silicon/")}
    assert served == asked
    assert len(asked) == len(found) == 24
