"""The rig of Macs: the simulated world, spoken to past the provider's code.

A thing is a tenancy: a host that bears a machine's name. The host itself stays, as it must.
"""

import hashlib
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from random import Random
from typing import Any, cast

from msgspec.structs import replace
from scaleway_rig import PROJECT, SECRET, HandTransport, Mood

from hostler.domain.ids import FleetName, HostId, InstallationId, MachineId, ResourceId, Zone
from hostler.domain.model.host import allocation_of
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.resource import OwnerTag
from hostler.ports.http import HttpRequest, Response
from hostler.ports.provider import Provider
from hostler.ports.secret import Secret
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.settings import Account
from hostler.providers.scaleway.macs.provider import Macs
from hostler.providers.scaleway.macs.settings import MacSite, MacTemplate
from hostler.simulators.scaleway.state.mac_records import Mac
from hostler.simulators.scaleway.state.options import Options
from hostler.simulators.scaleway.world import World
from hostler.testing.conformance.provider.rig import Ability, Fault, Rig, Thing
from hostler.testing.time.clock import RigClock

HOME = InstallationId("home1234")
FLEET = FleetName("macs")
ZONE = Zone("fr-par-1")
POOL = "pool-"
SERVERS = f"/apple-silicon/v1alpha1/zones/{ZONE}/servers"
TENANT = frozenset({"pending", "claimed", "standby", "rested", "releasing"})
PACE = 0.1  # of a wipe: the kit waits in rounds of seconds


class PagedTransport(HandTransport):
    """Carries requests to the world; from a page on, the listing of Macs can fail."""

    def _read(self, request: HttpRequest) -> Response:
        page = int(dict(request.query).get("page", "1"))
        if request.path == SERVERS and self._mood.failing and page >= self._mood.failing:
            return Response(status=502, body=b"<html>Bad Gateway</html>")
        return self._carry(request)

    def _reworded(self, response: Response) -> Response:
        """Return an answer in which hosts show the statuses that the rig was told to show."""
        if not self._mood.words or b'"status"' not in response.body:
            return response
        body = cast("dict[str, Any]", json.loads(response.body))
        for mac in cast("list[dict[str, Any]]", body.get("servers", [body])):
            mac["status"] = self._mood.words.get(str(mac.get("id")), mac.get("status"))
        return replace(response, body=json.dumps(body).encode())


class MacsRig:
    """One simulated project with Macs in a pool; each machine gets a host of its own from it."""

    installation = HOME
    fleet = FLEET
    offer = Offer(type="M2-L", zone=ZONE, image="Tahoe")
    page = 100
    words = (
        "starting",
        "ready",
        "error",
        "rebooting",
        "updating",
        "locking",
        "locked",
        "unlocking",
        "reinstalling",
        "busy",
    )
    lacks: Mapping[Ability, str] = {
        Ability.REFUSE: "a tenancy is one part: no other could be kept by it",
        Ability.SURPLUS: "a machine has the host that it is tied to, and no second one by its name",
    }

    def __init__(self) -> None:
        self.clock, self.mood = RigClock(), Mood()
        self.world = World(self.clock.boot, Random(1), Options(pace=PACE))
        self.passwords = list[str]()

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the key, and the passwords of all hosts that there were."""
        return (SECRET, *self.passwords)

    async def open(self) -> Provider:
        """Return a fresh provider."""
        account = Account(project=PROJECT, secret_key=Secret(SECRET))
        return Macs(
            Client(PagedTransport(self.world, self.mood), account, self.clock),
            self.clock,
            installation=HOME,
            zones=(ZONE,),
            templates={FLEET: MacTemplate(pool=POOL)},
            site=MacSite(pools=(POOL,), default=POOL),
        )

    def host_for(self, machine: Machine) -> Machine:
        """Give the machine a host that nobody has."""
        return replace(machine, host=HostId(self._stock()))

    def _stock(self) -> str:
        (made,) = self.world.stock_macs(1, self.offer.type, str(ZONE), POOL)
        self.passwords.append(self._mac(made).password)
        return made

    def _mac(self, mac: str) -> Mac:
        return self.world.console.mac(mac.partition("#")[0])

    async def things(self) -> tuple[Thing, ...]:
        """Read the names of all hosts."""
        output = ((mac.id, mac.name.split(".")) for mac in self.world.cloud.macs)
        return tuple(
            Thing(id=allocation_of(HostId(mac), MachineId(words[-3])), machine=MachineId(words[-3]))
            for mac, words in sorted(output)
            if len(words) > 1 and words[1] in TENANT
        )

    async def wait(self, time: timedelta) -> None:
        """Let time pass."""
        self.clock.pass_by(time)
        self.world.advance()

    async def strike(self, fault: Fault) -> None:
        """Arm the transport."""
        self.mood.fault = fault

    async def say(self, resource: ResourceId, word: str) -> None:
        """Let every answer show this status."""
        self.mood.words[self._mac(resource).id] = word

    async def remove(self, resource: ResourceId) -> None:
        """Delete the host in the console."""
        assert self.world.console.do("delete", self._mac(resource).id)
        await self.wait(timedelta(minutes=2))

    async def plant(self, owner_tag: OwnerTag) -> ResourceId:
        """Name a host of the pool as another hostler would."""
        mac = self._stock()
        self.world.console.rename(mac, name_of(owner_tag))
        return allocation_of(HostId(mac), owner_tag.machine)

    async def fail_page(self, number: int) -> None:
        """Let this page of servers and all later ones fail."""
        self.mood.failing = number

    async def refuse(self, resource: ResourceId | None) -> None:
        """Never asked for: see `lacks`."""
        raise AssertionError(resource)

    async def die(self) -> None:
        """Answer nothing more."""
        self.mood.dead = True


def name_of(owner_tag: OwnerTag) -> str:
    """Write a claimed host's name, as the reference of names says it is written."""
    pool = hashlib.sha256(POOL.encode()).hexdigest()[:6]
    body = f"{owner_tag.installation}.{owner_tag.fleet}.{owner_tag.machine}.{pool}"
    key = hashlib.sha256(owner_tag.installation.encode()).digest()
    check = hashlib.blake2s(f"claimed.{body}".encode(), key=key, digest_size=4).hexdigest()
    return f"hostler.claimed.{body}.{check}"


@asynccontextmanager
async def macs_world() -> AsyncGenerator[Rig]:
    """Yield a rig; nothing outlives it."""
    yield MacsRig()
