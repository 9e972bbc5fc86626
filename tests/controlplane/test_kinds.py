"""Our kinds in Kubernetes' own API server: installed, explained, judged, scaled."""

import msgspec
import pytest
from kinds_kit import FLEETS, HOSTS, PROVIDERS, Free, a_thing, installed

from hostler.app.provider_registry import KINDS
from hostler.frontends.kubernetes.definitions.manifests import manifests
from hostler.frontends.kubernetes.install import Change, install
from hostler.kubernetes.client import Client
from hostler.kubernetes.errors import Forbidden, Invalid
from hostler.kubernetes.objects import Key
from hostler.kubernetes.requests import merge_patch

pytestmark = pytest.mark.timeout(2000)  # the first test waits for the build of the server

NAMESPACE = "default"


async def test_what_is_installed_twice_is_unchanged(client: Client) -> None:
    tried = [one async for one in install(client, manifests(KINDS), dry_run=True)]
    assert len(tried) == len(manifests(KINDS))
    await installed(client)
    assert set((await installed(client)).values()) == {Change.UNCHANGED}


async def test_who_may_not_install_learns_what_is_missing(stranger: Client) -> None:
    with pytest.raises(Forbidden, match="customresourcedefinitions"):
        await anext(aiter(install(stranger, manifests(KINDS))))


async def test_a_whole_fleet_is_stored_as_it_is_written(client: Client) -> None:
    await installed(client)
    spec: dict[str, object] = {
        "size": 2,
        "provider": "main",
        "maximum": 9,
        "ready": {"probe": "tcp", "port": 22, "timeout": "4s"},
        "timers": {"start": "12m", "maxAge": "7d", "tries": ["30s", "2m"]},
        "caps": {"share": 0.2},
        "node": {"cpu": "4", "labels": {"a": "b"}, "taints": [{"key": "k", "effect": "NoExecute"}]},
        "scaleway": {"types": ["DEV1-S"], "volumes": [{"size": "20GB"}]},
        "deletionPolicy": "end",
    }
    made = await client.create(FLEETS, a_thing(FLEETS, "whole", NAMESPACE, **spec))
    assert made.spec == spec


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"size": 3, "maximum": 2}, "a maximum of at least the size"),
        ({"size": 3, "renews": False}, "size 0"),
        ({"size": -1}, "greater than or equal to 0"),
        ({"size": 1, "timers": {"start": "soon"}}, "timers.start"),
        ({"size": 1, "timers": {"start": "0s"}}, "timers.start"),
        ({"size": 1, "power": {}, "static": {}}, "one kind of provider"),
        ({"size": 1, "ready": {"probe": "command"}}, "Unsupported value"),
        ({"size": 1, "ready": {"probe": "tcp", "busy": "true"}}, "probe: ssh with busy"),
        ({"maximum": 2}, "Required value"),
    ],
)
async def test_what_cannot_work_is_not_stored(client: Client, spec: Free, expected: str) -> None:
    await installed(client)
    with pytest.raises(Invalid, match=expected):
        await client.create(FLEETS, a_thing(FLEETS, "wrong", NAMESPACE, **spec))


@pytest.mark.parametrize("name", ["a.b", "a" * 41])
async def test_a_name_that_fits_no_tag_is_not_stored(client: Client, name: str) -> None:
    await installed(client)
    with pytest.raises(Invalid, match="put into tags"):
        await client.create(FLEETS, a_thing(FLEETS, name, NAMESPACE, size=1))


async def test_scaling_changes_the_size(client: Client) -> None:
    await installed(client)
    await client.create(FLEETS, a_thing(FLEETS, "scaled", NAMESPACE, size=1))
    key = Key(NAMESPACE, "scaled")
    await client.patch(FLEETS, key, merge_patch({"spec": {"replicas": 4}}), "scale")
    assert (await client.get(FLEETS, key)).spec == {"size": 4}


async def test_two_managers_own_a_condition_each(client: Client) -> None:
    await installed(client)
    await client.create(FLEETS, a_thing(FLEETS, "conditions", NAMESPACE, size=1))
    for manager in ("one", "other"):
        condition = {
            "type": manager.title(),
            "status": "True",
            "reason": "Test",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        item = a_thing(FLEETS, "conditions", NAMESPACE)
        item = msgspec.structs.replace(item, spec=None, status={"conditions": [condition]})
        seen = await Client(session=client.session, manager=manager).apply(FLEETS, item, "status")
    assert seen.status is not None
    found = msgspec.convert(seen.status["conditions"], type=list[dict[str, str]])
    assert {one["type"] for one in found} == {"One", "Other"}


async def test_a_provider_and_a_host_are_stored_as_they_are_written(client: Client) -> None:
    await installed(client)
    provider: Free = {
        "kind": "power",
        "rate": 2.5,
        "secretName": "rack",
        "power": {"leastOn": "5m"},
    }
    box: Free = {"address": "10.0.0.7", "wakeOnLan": {"mac": "52:54:00:12:34:56"}}
    host: Free = {
        "provider": "rack",
        "desiredPowerState": "off",
        "maintenance": {"reason": "new disk"},
        "power": box,
    }
    made = await client.create(PROVIDERS, a_thing(PROVIDERS, "rack", NAMESPACE, **provider))
    assert made.spec == provider
    assert (await client.create(HOSTS, a_thing(HOSTS, "tower", NAMESPACE, **host))).spec == host
