"""The provider's own calls on a Mac, taken apart into what they read and write.

A call is run again from its beginning with the answers that it had so far; at the first request
that has none it stops, and says what it would send. So the check runs the code that runs in the
field.
"""

from collections.abc import Coroutine
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from msgspec import Struct

from hostler.domain.ids import FleetName, HostId, InstallationId, ResourceId, Zone
from hostler.domain.model.calls import Call, Outcome
from hostler.domain.model.host import host_of
from hostler.domain.model.machine import Offer
from hostler.ports.http import HttpRequest, Response
from hostler.ports.secret import Secret
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.errors import Failed, Problem
from hostler.providers.scaleway.common.pages import Listing
from hostler.providers.scaleway.common.settings import Account
from hostler.providers.scaleway.macs.api.endpoints import MacApi
from hostler.providers.scaleway.macs.api.wire import Mac, MacImage, Os
from hostler.providers.scaleway.macs.execute import MacCalls
from hostler.providers.scaleway.macs.plan.read import MacReader
from hostler.providers.scaleway.macs.provider import Macs
from hostler.providers.scaleway.macs.settings import MacSite, MacTemplate
from hostler.testing.scenes.builders import BEGIN

POOL = "pool-"
PLACE = Zone("fr-par-1")
TYPE, FAMILY = "M2-L", "Tahoe"
OFFER = Offer(TYPE, PLACE, FAMILY)
HOSTS = (HostId("mac-0"), HostId("mac-1"))
READY, WIPING = "ready", "reinstalling"

_PROJECT = "project"
_IMAGE = Os(id="os-1", name="macos-tahoe-26.6", family=FAMILY, version="26.6")


class Sighting(Struct, frozen=True):
    """What the API shows of a Mac, as far as this world has it."""

    name: str
    status: str = READY
    changed: datetime | None = None

    def mac(self, host: str) -> Mac:
        """Return the Mac."""
        image = MacImage(id=_IMAGE.id, name=_IMAGE.name, family=FAMILY)
        return Mac(
            id=host,
            name=self.name,
            type=TYPE,
            project_id=_PROJECT,
            status=self.status,
            os=image,
            delivered=True,
            updated_at=self.changed.isoformat() if self.changed else None,
        )


class Write(Struct, frozen=True):
    """A request that changes a Mac: a new name, or a wipe where there is none."""

    name: str = ""


class _Stopped(BaseException):
    """A deed has come to a request that was not answered yet."""

    def __init__(self, write: Write | None) -> None:
        super().__init__()
        self.write = write


class _Nowhere:
    """A transport and a clock for a client that is never asked to send anything."""

    async def send(self, request: HttpRequest, deadline: timedelta) -> Response:
        """Fail: nothing is sent here."""
        raise AssertionError(request, deadline)

    async def close(self) -> None:
        """Do nothing."""

    def now(self) -> datetime:
        """Return the one time that there is."""
        return BEGIN

    def boot(self) -> float:
        """Return the same."""
        return 0.0

    async def sleep(self, time: timedelta) -> None:
        """Fail: nobody waits here."""
        raise AssertionError(time)


def _client() -> Client:
    nowhere = _Nowhere()
    return Client(nowhere, Account(project=_PROJECT, secret_key=Secret("none")), nowhere)


class _Replay(MacApi):
    """The API as far as it has answered."""

    def __init__(self, answers: tuple[Sighting, ...]) -> None:
        super().__init__(_client_of())
        self._answers = list(answers)

    def _next(self, write: Write | None) -> Sighting:
        if not self._answers:
            raise _Stopped(write)
        return self._answers.pop(0)

    async def mac(self, zone: Zone, mac: str) -> Mac:
        """Read it."""
        del zone
        return self._next(None).mac(mac)

    async def change(self, zone: Zone, mac: str, body: dict[str, object]) -> Mac:
        """Rename it; of what else may be changed nothing is in this world."""
        del zone
        return self._next(Write(str(body["name"]))).mac(mac)

    async def reinstall(self, zone: Zone, mac: str, image: str) -> Mac:
        """Wipe it; one that is being wiped refuses, and says why."""
        del zone, image
        before = self._next(Write())
        if before.status == WIPING:
            message = f"transient state (state: {WIPING})"
            raise Failed(Problem(status=409, type="transient_state", message=message, json=True))
        return Sighting(before.name, WIPING).mac(mac)

    async def images(self, zone: Zone, type_name: str) -> Listing[Os]:
        """List the one image that there is."""
        del zone, type_name
        return Listing(found={_IMAGE.id: _IMAGE})


@lru_cache(maxsize=1)
def _client_of() -> Client:
    return _client()


def reader_of(home: InstallationId) -> MacReader:
    """Return how an installation reads Macs."""
    return MacReader(PLACE, home, frozenset({home}), (POOL,), POOL)


def provider_of(home: InstallationId, fleet: FleetName, consistency_delay: timedelta) -> Macs:
    """Return the provider as one installation has it."""
    return Macs(
        _client_of(),
        _Nowhere(),
        installation=home,
        zones=(PLACE,),
        templates={fleet: MacTemplate(pool=POOL)},
        site=MacSite(pools=(POOL,), default=POOL),
        consistency_delay=consistency_delay,
    )


def host_in(call: Call) -> HostId:
    """Return the host that a call is about."""
    named = call.arg("host")
    return HostId(str(named)) if named else host_of(call.target or ResourceId(""))


@lru_cache(maxsize=100_000)
def next_of(
    home: InstallationId, call: Call, answers: tuple[Sighting, ...]
) -> Write | Outcome | None:
    """Return what a deed writes next, or what it comes to; None where it reads first."""
    calls = MacCalls(_Replay(answers), lambda _: reader_of(home), home, lambda _: POOL)
    try:
        return _run(calls.do(call))
    except _Stopped as stopped:
        return stopped.write


def _run(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    try:
        work.send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("a call waited for something that is not in this world")
