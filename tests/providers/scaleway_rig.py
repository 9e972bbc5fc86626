"""The rig of Scaleway Instances: the simulated world, spoken to past the provider's code.

Requests and answers are carried by hand: time passes only on the rig's clock, and what befalls a
request is decided here.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any, cast

from msgspec.structs import replace

from hostler.domain.ids import FleetName, InstallationId, MachineId, ResourceId, Zone
from hostler.domain.model.machine import Offer
from hostler.domain.model.resource import OwnerTag
from hostler.ports.http import HttpRequest, NoAnswer, NotSent, Response
from hostler.ports.provider import Provider
from hostler.ports.secret import Secret
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.settings import Account, Disk, Template
from hostler.providers.scaleway.instances.provider import Instances
from hostler.simulators.scaleway.state.calls import Fate
from hostler.simulators.scaleway.world import World
from hostler.testing.conformance.provider.rig import Ability, Fault, Rig, Thing
from hostler.testing.time.clock import RigClock

SECRET = "11111111-2222-4333-8444-555555555555"
PASSWORD = "the-builders-password-0815"
PROJECT = "0b5e6f1a-5d3c-4f0e-9a51-3c1f7d2e8a10"
HOME = InstallationId("home1234")
FLEET = FleetName("web")
ZONE = Zone("fr-par-1")
SERVERS = f"/instance/v1/zones/{ZONE}/servers"

TRANSIENT = {
    "type": "transient_state",
    "resource": "instance_server",
    "resource_id": "",
    "current_state": "busy",
    "message": "resource is in a transient state",
}


@dataclass(slots=True)
class Mood:
    """What befalls the next requests of every provider over one world."""

    fault: Fault | None = None
    refused: str | None = None
    failing: int = 0
    dead: bool = False
    words: dict[str, str] = field(default_factory=dict[str, str])


class HandTransport:
    """Carries requests to the world at once."""

    def __init__(self, world: World, mood: Mood) -> None:
        self._world, self._mood = world, mood
        self._closed = False

    async def send(self, request: HttpRequest, deadline: timedelta) -> Response:
        """Send once, as the mood lets it be sent."""
        del deadline
        if self._mood.dead or self._closed:
            raise NotSent("no route to host")
        response = self._read(request) if request.method == "GET" else self._change(request)
        return self._reworded(response)

    def _read(self, request: HttpRequest) -> Response:
        page = int(dict(request.query).get("page", "1"))
        if request.path == SERVERS and self._mood.failing and page >= self._mood.failing:
            return Response(status=502, body=b"<html>Bad Gateway</html>")
        return self._carry(request)

    def _change(self, request: HttpRequest) -> Response:
        fault, self._mood.fault = self._mood.fault, None
        if self._mood.refused and self._mood.refused in request.path:
            return Response(status=409, body=json.dumps(TRANSIENT).encode())
        match fault:
            case None:
                return self._carry(request)
            case Fault.BEFORE:
                raise NoAnswer("the connection was reset")
            case Fault.AFTER:
                self._carry(request)
                raise NoAnswer("the connection was reset")
            case Fault.GARBAGE:
                return replace(self._carry(request), body=b"<html>welcome</html>")
            case Fault.BUSY:
                return Response(status=429)

    def _carry(self, request: HttpRequest) -> Response:
        reply = self._world.handle(request)
        if reply.response is None or reply.fate is not Fate.ANSWERED:
            raise NoAnswer(str(reply.fate))
        return reply.response

    def _reworded(self, response: Response) -> Response:
        """Return an answer in which servers show the states that the rig was told to show."""
        if not self._mood.words or b'"state"' not in response.body:
            return response
        body = cast("dict[str, Any]", json.loads(response.body))
        servers = cast("list[dict[str, Any]]", body.get("servers", [body.get("server", {})]))
        for server in servers:
            word = self._mood.words.get(str(server.get("id")))
            if word is not None:
                server["state"] = word
        return replace(response, body=json.dumps(body).encode())

    async def close(self) -> None:
        """Refuse what comes after."""
        self._closed = True


class InstancesRig:
    """One simulated project, with a fleet of small servers that have all kinds of parts."""

    installation = HOME
    fleet = FLEET
    offer = Offer(type="DEV1-S", zone=ZONE)
    page = 100
    secrets = (SECRET, PASSWORD)
    words = ("stopped", "stopped in place", "starting", "running", "stopping", "locked")
    lacks: Mapping[Ability, str] = {}

    def __init__(self) -> None:
        self.clock, self.mood = RigClock(), Mood()
        self.world = World(self.clock.boot, Random(1))
        self.template = Template(
            cloud_init=f"#cloud-config\npassword: {PASSWORD}\n",
            root=Disk(size=20, iops=15000),
            disks=(Disk(size=10),),
            ipv6=True,
        )

    async def open(self) -> Provider:
        """Return a fresh provider."""
        account = Account(project=PROJECT, organization=PROJECT, secret_key=Secret(SECRET))
        client = Client(HandTransport(self.world, self.mood), account, self.clock)
        return Instances(
            client,
            self.clock,
            installation=HOME,
            zones=(ZONE,),
            templates={FLEET: self.template},
        )

    async def things(self) -> tuple[Thing, ...]:
        """Read the world's ledger."""
        leaks = sorted(self.world.leaks(), key=lambda leak: leak.id)
        return tuple(Thing(id=k.id, machine=_machine((*k.tags, *k.name.split(".")))) for k in leaks)

    async def wait(self, time: timedelta) -> None:
        """Let time pass."""
        self.clock.pass_by(time)
        self.world.advance()

    async def strike(self, fault: Fault) -> None:
        """Arm the transport."""
        self.mood.fault = fault

    async def say(self, resource: ResourceId, word: str) -> None:
        """Let every answer show this state."""
        self.mood.words[resource] = word

    async def remove(self, resource: ResourceId) -> None:
        """Delete the server in the console."""
        assert self.world.act("server_deleted_by_hand", resource)
        await self.wait(timedelta(minutes=2))

    async def plant(self, owner_tag: OwnerTag) -> ResourceId:
        """Create a server with these tags."""
        body = {
            "name": "planted",
            "commercial_type": "DEV1-S",
            "image": "ubuntu_noble",
            "project": PROJECT,
            "dynamic_ip_required": False,
            "tags": [
                f"hostler={owner_tag.installation}",
                f"hostler-fleet={owner_tag.fleet}",
                f"hostler-machine={owner_tag.machine}",
                f"hostler-attempt=server0.{owner_tag.attempt}",
            ],
        }
        request = HttpRequest(
            method="POST",
            path=SERVERS,
            headers=(("X-Auth-Token", SECRET), ("Content-Type", "application/json")),
            body=json.dumps(body).encode(),
        )
        response = self.world.handle(request).response
        assert response is not None
        assert response.status == 201, response.body
        return ResourceId(json.loads(response.body)["server"]["id"])

    async def fail_page(self, number: int) -> None:
        """Let this page of servers and all later ones fail."""
        self.mood.failing = number

    async def refuse(self, resource: ResourceId | None) -> None:
        """Refuse what would change this part."""
        self.mood.refused = resource

    async def die(self) -> None:
        """Answer nothing more."""
        self.mood.dead = True


def _machine(words: tuple[str, ...]) -> MachineId | None:
    named = (word.removeprefix("hostler-machine=") for word in words)
    return next((MachineId(word) for word in named if word.startswith("m-")), None)


@asynccontextmanager
async def instances_world() -> AsyncGenerator[Rig]:
    """Yield a rig; nothing outlives it."""
    yield InstancesRig()
