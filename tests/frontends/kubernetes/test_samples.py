"""The objects of the guides are taken as they stand, by the definitions that hostler installs.

Of an older autoscaler's samples hardly one fitted its definitions.
"""

import asyncio
import json
import re
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
import yaml

from hostler.app.provider_registry import KINDS
from hostler.frontends.kubernetes.definitions.manifests import manifests
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.assembly import PROVIDER, Place
from hostler.frontends.kubernetes.objects.candidates import Candidates, Objects
from hostler.frontends.kubernetes.objects.models import Written
from hostler.frontends.kubernetes.objects.secrets import SecretData, SecretPlaces
from hostler.kubernetes.objects import Metadata
from hostler.ports.http import HttpRequest, Response
from hostler.simulators.kubernetes.server import KubernetesServer
from hostler.testing.time.clock import SimClock

pytestmark = pytest.mark.looptime

Body = Mapping[str, Any]
GUIDES = Path(__file__).parents[3] / "docs" / "guides"
DEFINITIONS = {
    str(one["spec"]["names"]["kind"]): one for one in cast("tuple[Body, ...]", manifests(KINDS))
}
SAMPLES = [
    (page.stem, one)
    for page in sorted(GUIDES.glob("*.md"))
    for text in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)
    for one in yaml.safe_load_all(text)
    if one.get("kind") in DEFINITIONS
]


def test_there_are_samples_of_every_kind_that_people_write() -> None:
    written = {one["kind"] for _, one in SAMPLES}
    assert written >= {"Fleet", "Provider", "Host", "HostlerCluster", "HostlerMachineTemplate"}


@pytest.mark.parametrize(
    "sample",
    [one for _, one in SAMPLES],
    ids=[f"{page}-{one['kind']}-{one['metadata']['name']}" for page, one in SAMPLES],
)
async def test_30_an_object_of_the_guides_is_stored_as_it_stands_there(sample: Body) -> None:
    definition, space = DEFINITIONS[sample["kind"]], sample["metadata"].get("namespace", "default")
    server = KubernetesServer(SimClock(asyncio.get_running_loop()), Random(1))
    place, (version,) = definition["spec"], definition["spec"]["versions"]
    assert sample["apiVersion"] == f"{place['group']}/{version['name']}"
    _post(server, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    if space != "default":
        _post(server, "/api/v1/namespaces", {"metadata": {"name": space}})
    path = f"/apis/{sample['apiVersion']}/namespaces/{space}/{place['names']['plural']}"
    _post(server, path, sample)


def _post(server: KubernetesServer, path: str, body: Mapping[str, object]) -> None:
    """Create an object; a field that its definition lacks is an error."""
    request = HttpRequest(
        method="POST",
        path=path,
        query=(("fieldValidation", "Strict"),),
        headers=(("Content-Type", "application/json"),),
        body=json.dumps(body).encode(),
    )
    answer = server.handle(request)
    assert isinstance(answer, Response)
    assert answer.status == 201, answer.body.decode()


class _Whatever(dict[str, bytes]):
    """The values of a Secret that has every key."""

    def get(self, key: str, default: object = None) -> bytes:
        del key, default
        return b"a password"


@pytest.mark.parametrize(
    "sample",
    [one for _, one in SAMPLES if one["kind"] == "Host"],
    ids=[f"{page}-{one['metadata']['name']}" for page, one in SAMPLES if one["kind"] == "Host"],
)
def test_a_host_of_the_guides_is_in_force_as_it_stands_there(tmp_path: Path, sample: Body) -> None:
    """The server stores more than hostler takes: boxes of which no method tells how they stand."""
    name, provider, secret = (
        sample["metadata"]["name"],
        sample["spec"]["provider"],
        sample["spec"]["secretName"],
    )
    rack = Written(metadata=Metadata(name=provider), spec={"kind": "power"})
    host = Written(metadata=Metadata(name=name), spec=sample["spec"])
    secrets = {secret: SecretData(name=secret, values=_Whatever())}
    making = Candidates(
        namespaces=Namespaces(home=""),
        kinds=KINDS,
        base={},
        places=SecretPlaces(tmp_path, {}, b"salt"),
    )
    objects = Objects(providers=(rack,), fleets=(), hosts=(host,), secrets=secrets)
    verdict = making.of(objects, {})[Place(PROVIDER, provider)].hosts[name]
    assert verdict.accepted, verdict.message
