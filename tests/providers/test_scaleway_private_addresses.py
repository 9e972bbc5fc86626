"""How to reach a server: its private address, which IPAM alone knows, and its processor."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from scaleway_kit import (
    INSTANCE,
    NOW,
    PROJECT,
    ZONE,
    HandClock,
    machine,
    no_prices,
    page,
    provider,
    server_body,
)

from hostler.domain.ids import ResourceId
from hostler.domain.model.machine import Known, Place
from hostler.domain.model.resource import Resource, Scope, Slot
from hostler.ports.provider import Connection
from hostler.providers.scaleway.common.settings import Template
from hostler.testing.peers.exchanges import Exchange, Script, answer

SERVERS = f"{INSTANCE}/servers"
JOINED = Template(networks=("net-1",), user="ubuntu")
WHOLE = (Scope(ZONE, "server"),)
FOUR = {"id": "ip-4", "address": "51.15.0.1", "family": "inet", "state": "attached"}


def running(*ips: dict[str, str]) -> dict[str, object]:
    nics = [{"id": "nic-1", "private_network_id": "net-1"}]
    return server_body(state="running", arch="x86_64", private_nics=nics, public_ips=list(ips))


def ipam(*addresses: tuple[str, str]) -> Exchange:
    ips = [{"id": f"i-{ip}", "address": ip, "resource": {"id": nic}} for nic, ip in addresses]
    return Exchange(
        method="GET",
        path="/ipam/v1/regions/fr-par/ips",
        query=(
            ("project_id", PROJECT),
            ("resource_type", "instance_private_nic"),
            ("is_ipv6", "false"),
        ),
        answer=answer({"ips": ips, "total_count": len(ips)}),
    )


async def observed(
    *exchanges: Exchange,
    template: Template = JOINED,
    observations: int = 1,
    clock: HandClock | None = None,
) -> Resource:
    """Look several times, and return the only part that the last look showed."""
    clock = clock or HandClock()
    script = Script([no_prices(), *exchanges])
    instances = provider(script, template, clock)
    observation = await instances.observe(WHOLE)
    for _ in range(observations - 1):
        clock.at += timedelta(seconds=30)
        observation = await instances.observe(WHOLE)
    script.finish()
    (resource,) = observation.resources
    return resource


def reach(resource: Resource) -> Connection | None:
    known = (Known(id=ResourceId("srv-1"), zone=ZONE, since=NOW),)
    place = Place(slot=Slot("server"), bound=ResourceId("srv-1"), known=known)
    return provider(template=JOINED).connection(replace(machine(), places=(place,)), (resource,))


async def test_a_private_address_is_told_beside_the_public_one() -> None:
    resource = await observed(
        page(SERVERS, "servers", running(FOUR)), ipam(("nic-1", "10.0.0.5/22"))
    )
    assert reach(resource) == Connection(
        address="51.15.0.1", user="ubuntu", internal="10.0.0.5", arch="amd64"
    )


async def test_a_private_address_is_used_where_there_is_no_other() -> None:
    resource = await observed(page(SERVERS, "servers", running()), ipam(("nic-1", "10.0.0.5/22")))
    connection = reach(resource)
    assert connection is not None
    assert (connection.address, connection.internal) == ("10.0.0.5", "10.0.0.5")


async def test_an_address_is_asked_for_once() -> None:
    servers = page(SERVERS, "servers", running())
    resource = await observed(
        servers, servers, servers, ipam(("nic-1", "10.0.0.5/22")), observations=3
    )
    assert resource.note("private") == "10.0.0.5"


async def test_an_address_that_ipam_does_not_know_yet_is_asked_for_again() -> None:
    servers = page(SERVERS, "servers", running())
    later = ipam(("nic-1", "10.0.0.5/22"))
    assert (await observed(servers, servers, ipam(), later, observations=2)).note(
        "private"
    ) == "10.0.0.5"


async def test_ipam_that_refuses_is_left_alone_for_a_while_and_nothing_fails() -> None:
    servers = page(SERVERS, "servers", running(FOUR))
    denied = answer({"type": "permissions_denied", "message": "no"}, 403)
    refused = replace(ipam(), answer=denied)
    resource = await observed(servers, servers, refused, observations=2)
    assert (resource.address, resource.note("private")) == ("51.15.0.1", "")
    again = ipam(("nic-1", "10.0.0.5/22"))
    resource = await observed(servers, servers, servers, refused, again, observations=3)
    assert resource.note("private") == "10.0.0.5"


async def test_without_private_networks_ipam_is_never_asked() -> None:
    resource = await observed(page(SERVERS, "servers", running()), template=Template())
    assert (resource.address, resource.note("private")) == ("", "")


@pytest.mark.parametrize(
    ("output", "arch"), [("x86_64", "amd64"), ("arm64", "arm64"), ("", ""), ("mips", "")]
)
async def test_the_processor_is_called_as_go_calls_it(output: str, arch: str) -> None:
    body = {**running(FOUR), "arch": output}
    resource = await observed(page(SERVERS, "servers", body), template=Template())
    connection = reach(resource)
    assert connection is not None
    assert connection.arch == arch
