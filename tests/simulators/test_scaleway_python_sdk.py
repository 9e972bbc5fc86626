# The client has types, but does not say so:
# pyright: reportMissingTypeStubs=false
"""The official Python client, unmodified, against the simulated Scaleway."""

import time
from collections.abc import Callable
from typing import Any

import pytest
import requests
from scaleway import Client
from scaleway.block.v1 import BlockV1API
from scaleway.block.v1.types import CreateVolumeRequestFromEmpty, VolumeStatus
from scaleway.iam.v1alpha1 import IamV1Alpha1API
from scaleway.instance.v1 import InstanceV1API, ServerAction, VolumeServerTemplate, VolumeVolumeType
from scaleway.instance.v1.custom_api import InstanceUtilsV1API
from scaleway.instance.v1.types import (
    IpType,
    PlacementGroupPolicyMode,
    PlacementGroupPolicyType,
    ServerState,
)
from scaleway.ipam.v1 import IpamV1API
from scaleway.marketplace.v2 import MarketplaceV2API
from scaleway.marketplace.v2.types import LocalImageType
from scaleway.vpc.v2 import VpcV2API
from scaleway_core.api import ScalewayException

from hostler.simulators.scaleway.state.inventory import NOWHERE

from .conftest import SECRET, Running, Start

PROJECT = "0b5e6f1a-5d3c-4f0e-9a51-3c1f7d2e8a10"
ZONE = "fr-par-1"


@pytest.fixture
def simulator(start: Start) -> Running:
    return start(speed=50.0)


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
def instances(client: Client) -> InstanceUtilsV1API:
    return InstanceUtilsV1API(client)


def eventually(check: Callable[[], bool]) -> None:
    """Look again, twenty times a second and ten seconds at most, until it holds."""
    for _ in range(200):
        if check():
            return
        time.sleep(0.05)  # noqa: TID251 - the client is blocking and the server a real one
    pytest.fail("it never held")


def create(instances: InstanceV1API, **fields: Any) -> Any:
    asked: dict[str, Any] = {
        "zone": ZONE,
        "name": "worker",
        "commercial_type": "DEV1-S",
        "image": "ubuntu_noble",
        "dynamic_ip_required": False,
        "protected": False,
        **fields,
    }
    answer = instances._create_server(**asked)
    assert answer.server is not None
    return answer.server


def start_up(instances: InstanceV1API, server_id: str) -> None:
    instances.server_action(server_id=server_id, action=ServerAction.POWERON)
    eventually(lambda: state(instances, server_id) == ServerState.RUNNING)


def state(instances: InstanceV1API, server_id: str) -> Any:
    server = instances.get_server(server_id=server_id).server
    assert server is not None
    return server.state


def is_deleted(instances: InstanceV1API, server_id: str) -> bool:
    try:
        instances.get_server(server_id=server_id)
    except ScalewayException as error:
        return error.status_code == 404
    return False


def test_a_server_is_created_with_addresses_and_named_root_volume(
    instances: InstanceUtilsV1API, client: Client
) -> None:
    four = instances.create_ip(type_=IpType.ROUTED_IPV4, tags=["group=a"]).ip
    six = instances.create_ip(type_=IpType.ROUTED_IPV6, tags=["group=a"]).ip
    assert four is not None
    assert six is not None
    assert six.address is None
    assert six.prefix is not None
    server = create(
        instances,
        public_ips=[four.id, six.id],
        tags=["group=a", "machine=1"],
        volumes={
            "0": VolumeServerTemplate(
                name="root-of-1", size=20_000_000_000, volume_type=VolumeVolumeType.SBS_VOLUME
            )
        },
    )
    assert server.state == ServerState.STOPPED
    assert server.allowed_actions == ["poweron", "backup"]
    assert server.public_ips[0].address == four.address
    assert server.public_ips[1].address.startswith(six.prefix.removesuffix("::/64"))
    volume = BlockV1API(client).get_volume(volume_id=server.volumes["0"].id)
    assert (volume.name, volume.size, volume.tags) == ("root-of-1", 20_000_000_000, [])
    assert volume.references[0].product_resource_id == server.id


def test_lists_filter_by_all_tags_and_go_through_every_page(instances: InstanceUtilsV1API) -> None:
    made = [create(instances, name=f"w{n}", tags=["all", f"n={n}"]).id for n in range(5)]
    found = instances.list_servers_all(tags=["all"], per_page=2)
    assert [server.id for server in found] == made[::-1]
    assert [server.id for server in instances.list_servers_all(tags=["all", "n=3"])] == [made[3]]
    assert instances.list_servers(page=9).servers == []


def test_all_types_are_listed_over_three_pages(instances: InstanceUtilsV1API) -> None:
    kinds: dict[str, Any] = {}
    for page in (1, 2, 3, 4):
        answer = instances.list_servers_types(page=page)
        kinds.update(answer.servers)
    assert 100 < len(kinds) < 150
    assert kinds["DEV1-S"].hourly_price == 0.01368
    available = instances.get_server_types_availability(per_page=100).servers
    assert available["DEV1-S"].availability == "available"


def test_user_data_is_raw_text_and_a_missing_key_is_no_json(instances: InstanceUtilsV1API) -> None:
    server = create(instances)
    instances.set_server_user_data(server.id, "cloud-init", b"#cloud-config\n")
    assert instances.get_server_user_data(server.id, "cloud-init").content == b"#cloud-config\n"
    assert instances.list_server_user_data(server_id=server.id).user_data == ["cloud-init"]
    # The client decodes every error as JSON, so that the real API's empty text breaks it.
    with pytest.raises(requests.exceptions.JSONDecodeError):
        instances.get_server_user_data(server.id, "absent")


def test_actions_lead_from_stopped_to_running_to_gone(
    instances: InstanceUtilsV1API, client: Client
) -> None:
    server = create(instances)
    start_up(instances, server.id)
    answer = instances.server_action(server_id=server.id, action=ServerAction.TERMINATE)
    assert answer.task is not None
    assert answer.task.id == "00000000-0000-0000-0000-000000000000"
    eventually(lambda: is_deleted(instances, server.id))
    block = BlockV1API(client)
    left = block.get_volume(volume_id=server.volumes["0"].id)
    assert left.status == VolumeStatus.AVAILABLE
    block.delete_volume(volume_id=left.id)
    with pytest.raises(ScalewayException) as refused:
        block.delete_volume(volume_id=left.id)
    assert refused.value.status_code == 404


def test_wait_helpers_of_the_client_end(instances: InstanceUtilsV1API, client: Client) -> None:
    server = create(instances)
    assert instances.wait_instance_server(server.id, ZONE).server is not None
    block = BlockV1API(client)
    made = block.create_volume(
        name="v", from_empty=CreateVolumeRequestFromEmpty(size=10_000_000_000), project_id=PROJECT
    )
    assert made.status == VolumeStatus.CREATING
    assert block.wait_for_volume(volume_id=made.id).status == VolumeStatus.AVAILABLE
    changed = block.update_volume(volume_id=made.id, perf_iops=15_000, tags=["a", "b"])
    assert changed.status == VolumeStatus.UPDATING
    found = block.list_volumes_all(tags=["b", "c"], include_deleted=False)
    assert [volume.id for volume in found] == [made.id]


def test_error_bodies_reach_the_client(instances: InstanceUtilsV1API) -> None:
    server = create(instances)
    with pytest.raises(ScalewayException) as refused:
        instances.server_action(server_id=server.id, action=ServerAction.POWEROFF)
    assert refused.value.status_code == 400
    assert '"precondition_failed"' in str(refused.value)
    with pytest.raises(ScalewayException) as absent:
        instances.get_server(server_id=PROJECT)
    assert absent.value.status_code == 404
    assert '"instance_server"' in str(absent.value)


def test_an_empty_429_breaks_the_client_as_the_real_one_does(
    simulator: Running, instances: InstanceUtilsV1API
) -> None:
    script(simulator, {"fault": "rate_limited_429", "route": "server.list"})
    with pytest.raises(requests.exceptions.JSONDecodeError):
        instances.list_servers()
    assert instances.list_servers().servers == []


def script(simulator: Running, rule: dict[str, str]) -> None:
    answer = requests.post(f"{simulator.url}/_sim/faults", json={"rule": rule}, timeout=10)
    assert answer.status_code == 200


def test_resets_and_broken_bodies_are_real_on_the_connection(
    simulator: Running, instances: InstanceUtilsV1API
) -> None:
    script(simulator, {"fault": "reply_lost", "route": "server.create"})
    with pytest.raises(requests.exceptions.ConnectionError):
        create(instances)
    assert len(instances.list_servers_all()) == 1
    script(simulator, {"fault": "truncated_json", "route": "server.list"})
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        instances.list_servers()
    script(simulator, {"fault": "hung", "route": "server.list"})
    with pytest.raises(requests.exceptions.ReadTimeout):
        requests.get(
            f"{simulator.url}/instance/v1/zones/{ZONE}/servers",
            headers={"X-Auth-Token": SECRET},
            timeout=0.3,
        )
    assert simulator.world.faults == {"reply_lost": 1, "truncated_json": 1, "hung": 1}


def test_groups_cards_and_private_addresses(instances: InstanceUtilsV1API, client: Client) -> None:
    group = instances.create_placement_group(
        policy_type=PlacementGroupPolicyType.MAX_AVAILABILITY,
        policy_mode=PlacementGroupPolicyMode.OPTIONAL,
        name="pg",
    ).placement_group
    assert group is not None
    server = create(instances, placement_group=group.id)
    assert server.placement_group.id == group.id
    groups = instances.list_security_groups_all()
    assert [found.id for found in groups] == [server.security_group.id]
    rules = instances.list_security_group_rules(security_group_id=groups[0].id)
    assert len(rules.rules) == 6
    assert not any(rule.editable for rule in rules.rules)
    nic = instances.create_private_nic(server_id=server.id, private_network_id=PROJECT).private_nic
    assert nic is not None
    ipam = IpamV1API(client)
    eventually(lambda: len(ipam.list_i_ps_all(resource_id=nic.id)) == 2)
    private = ipam.list_i_ps_all(resource_id=nic.id)
    assert {ip.id for ip in private} == set(nic.ipam_ip_ids)


def test_networks_are_there_but_for_one(instances: InstanceUtilsV1API, client: Client) -> None:
    networks = VpcV2API(client)
    found = networks.get_private_network(private_network_id=PROJECT)
    assert (found.id, found.region, found.project_id) == (PROJECT, "fr-par", PROJECT)
    with pytest.raises(ScalewayException, match="private_network"):
        networks.get_private_network(private_network_id=NOWHERE)
    server = create(instances)
    with pytest.raises(ScalewayException, match="private_network"):
        instances.create_private_nic(server_id=server.id, private_network_id=NOWHERE)


def test_marketplace_images_and_keys(client: Client, instances: InstanceUtilsV1API) -> None:
    market = MarketplaceV2API(client)
    found = market.list_local_images(
        image_label="ubuntu_noble", zone=ZONE, type_=LocalImageType.INSTANCE_SBS
    ).local_images
    assert {image.arch for image in found} == {"x86_64", "arm64"}
    image = instances.get_image(image_id=found[0].id).image
    assert image is not None
    assert image.root_volume is not None
    assert image.root_volume.volume_type == VolumeVolumeType.SBS_SNAPSHOT
    iam = IamV1Alpha1API(client)
    key = iam.create_ssh_key(public_key="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA", name="k")
    assert key.fingerprint.startswith("256 MD5:")
    assert [found.id for found in iam.list_ssh_keys_all()] == [key.id]
    iam.delete_ssh_key(ssh_key_id=key.id)
    assert iam.list_ssh_keys_all() == []


def test_a_key_that_is_no_uuid_is_denied(simulator: Running) -> None:
    answer = requests.get(
        f"{simulator.url}/instance/v1/zones/{ZONE}/servers",
        headers={"X-Auth-Token": "nonsense"},
        timeout=10,
    )
    assert answer.status_code == 401
    assert answer.json()["type"] == "denied_authentication"
