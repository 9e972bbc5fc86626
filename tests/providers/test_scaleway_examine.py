"""What asking the API tells of quotas, networks, groups and keys; nothing is changed."""

import pytest
from msgspec.structs import replace
from scaleway_kit import FLEET, INSTANCE, ZONE, get, provider

from hostler.domain.ids import Zone
from hostler.domain.model.machine import Offer
from hostler.ports.http import NoAnswer
from hostler.ports.online import Examines, Finding, Wanted
from hostler.providers.scaleway.common.settings import Template
from hostler.simulators.scaleway.instances.account.keys import fingerprint_of
from hostler.testing.peers.exchanges import Exchange, Script, answer

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFf7c8FDU6v2PVjXXy7Nlb/jQt7+/K5MRxby53/PH/bp"
KEYS = "/iam/v1alpha1/ssh-keys"
QUOTA = "/iam/v1alpha1/quota"
VPC = "/vpc/v2/regions/fr-par/private-networks"
THERE = Zone("fr-par-2")
DENIED = answer({"type": "permissions_denied", "message": "no"}, 403)
MISSING = {"type": "not_found", "resource": "private_network", "resource_id": "net-1"}


async def found(
    *exchanges: Exchange,
    template: Template | None = None,
    zones: tuple[Zone, ...] = (ZONE,),
    public: str = "",
    organization: str = "",
    most: int = 10,
) -> list[Finding]:
    script = Script(list(exchanges))
    instances = provider(script, template, zones=zones)
    assert isinstance(instances, Examines)
    offers = tuple(Offer("DEV1-S", zone) for zone in zones)
    fleets = {FLEET: Wanted(offers=offers, most=most)}
    findings = await instances.examine(fleets, public, organization)
    script.finish()
    return [Finding(f.well, f.about, f.text, f.lasting) for f in findings]


def quota(**fields: object) -> Exchange:
    quotas = [{"name": "cp_servers_type_DEV1_S", **fields}, {"name": "other", "limit": 1}]
    body = {"quota": quotas, "total_count": 2}
    return Exchange(
        method="GET", path=QUOTA, query=(("organization_id", "org"),), answer=answer(body)
    )


def keys(*listed: dict[str, object]) -> Exchange:
    return get(KEYS, {"ssh_keys": list(listed), "total_count": len(listed)})


async def test_without_organization_networks_and_key_nothing_is_asked():
    assert await found() == []


@pytest.mark.parametrize(
    ("output", "well", "text"),
    [
        ({"limit": 10}, True, "is 10; the group may come to 10"),
        ({"limit": 9}, False, "is 9; the group may come to 10"),
        ({"unlimited": True, "limit": 0}, True, "is unlimited"),
        (
            {"limits": [{"limit": 20}, {"zone": ZONE, "limit": 5}]},
            False,
            "is 5; the group may come to 10",
        ),
        ({"limits": [{"zone": "nl-ams-1", "limit": 5}]}, True, "is unlimited"),
        ({"name": "x"}, True, "no limit is listed"),
    ],
)
async def test_a_quota_that_is_too_small_is_told(output: dict[str, object], well: bool, text: str):
    assert await found(quota(**output), organization="org") == [
        Finding(well, "quota of DEV1-S", text)
    ]


async def test_networks_and_groups_are_looked_for_where_they_are_needed():
    template = Template(networks=("net-1",), security_group="sg-1", placement_group="pg-1")
    other = INSTANCE.replace(ZONE, THERE)
    ipam = get("/ipam/v1/regions/fr-par/ips", {"ips": [], "total_count": 0})
    findings = await found(
        get(f"{VPC}/net-1", {"id": "net-1"}),
        get(f"{INSTANCE}/security_groups/sg-1", {}),
        get(f"{INSTANCE}/placement_groups/pg-1", {}),
        get(f"{other}/security_groups/sg-1", {}),
        Exchange(
            method="GET",
            path=f"{other}/placement_groups/pg-1",
            answer=answer({**MISSING, "resource": "instance_placement_group"}, 404),
        ),
        ipam,
        template=template,
        zones=(ZONE, THERE),
    )
    assert [f.about for f in findings if f.well] == [
        "private network net-1 in fr-par",
        "security group sg-1 in fr-par-1",
        "placement group pg-1 in fr-par-1",
        "security group sg-1 in fr-par-2",
        "private addresses in fr-par",
    ]
    assert [f for f in findings if not f.well] == [
        Finding(False, "placement group pg-1 in fr-par-2", "is not there", lasting=True)
    ]


@pytest.mark.parametrize(
    "body",
    [
        MISSING,
        {"type": "not_found", "message": "resource is not found"},
        {"type": "unknown_resource", "message": 'Private network "net-1" not found'},
    ],
)
async def test_a_network_that_is_not_there_is_lasting_however_the_api_says_so(
    body: dict[str, object],
):
    absent = Exchange(method="GET", path=f"{VPC}/net-1", answer=answer(body, 404))
    ipam = get("/ipam/v1/regions/fr-par/ips", {"ips": [], "total_count": 0})
    finding, _ = await found(absent, ipam, template=Template(networks=("net-1",)))
    about = "private network net-1 in fr-par"
    assert finding == Finding(False, about, "is not there", lasting=True)


async def test_what_may_be_a_fault_of_the_way_there_does_not_last():
    ipam = get("/ipam/v1/regions/fr-par/ips", {})
    network = get(f"{VPC}/net-1", {})
    for trouble in (
        DENIED,
        answer(b"<html>", 502),
        answer(b"<html>", 404),
        answer(None, 404),
        NoAnswer("x"),
    ):
        findings = await found(
            replace(network, answer=trouble),
            replace(ipam, answer=DENIED),
            template=Template(networks=("net-1",)),
        )
        assert [(f.well, f.lasting) for f in findings] == [(False, False), (False, False)]
        assert "cannot be read" in findings[0].text
        assert "IPAMReadOnly" in findings[1].text


@pytest.mark.parametrize(
    ("listed", "well", "text"),
    [
        ((), True, "is not registered yet; the plugin does that"),
        (
            ({"id": "1", "name": "x", "fingerprint": fingerprint_of(KEY)},),
            True,
            "is registered as 'x'",
        ),
        (
            ({"id": "1", "name": "x", "public_key": KEY, "disabled": True},),
            False,
            "is registered as 'x', and disabled there: enable it",
        ),
    ],
)
async def test_the_key_is_looked_for(listed: tuple[dict[str, object], ...], well: bool, text: str):
    assert await found(keys(*listed), public=KEY) == [Finding(well, "ssh key", text)]


async def test_a_refused_permission_is_named():
    denied = replace(keys(), answer=DENIED)
    quotas = replace(quota(), answer=DENIED)
    findings = await found(denied, quotas, public=KEY, organization="org")
    assert [f.text.partition(" (")[0] for f in findings] == [
        "cannot be read: the API key lacks the permission OrganizationReadOnly",
        "cannot be read: the API key lacks the permission SSHKeysFullAccess",
    ]
