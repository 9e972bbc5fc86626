"""Execute: one call each on a Mac. Every one that depends on a name reads the Mac just before.

Renames are last-write-wins, and nobody is told who wrote: so what was decided for a name is done to
that name, and to no other.
"""

from collections.abc import Awaitable, Callable, Mapping

import structlog
from msgspec import Struct

from hostler.domain.ids import FleetName, HostId, InstallationId, MachineId, ResourceId, Zone
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused
from hostler.domain.model.host import AT_HOME, HOST, WAITING, allocation_of
from hostler.domain.model.resource import Resource, Stage
from hostler.providers.scaleway.common.errors import TROUBLE, Failed, outcome_of, unread

from .api.endpoints import MacApi, floor_date, is_floor, is_reinstalling
from .api.images import Images, family_key
from .api.quota import Quotas
from .api.wire import Mac
from .plan import machine_calls
from .plan.names import Name, name_of, pool_digest
from .plan.read import MacReader
from .refusals import names, unread_host

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.macs")

_READY = frozenset({"ready"})


class Errand(Struct, frozen=True):
    """A call on a Mac as it was just read."""

    call: Call
    mac: Mac


class MacCalls:
    """Makes calls. Never raises for what the outside does."""

    def __init__(
        self,
        api: MacApi,
        reader: Callable[[Zone], MacReader],
        installation: InstallationId,
        pool_of: Callable[[FleetName], str],
    ) -> None:
        self._api, self._reader = api, reader
        self._installation, self._pool_of = installation, pool_of
        self._images, self._quotas = Images(api), Quotas(api)
        self._ways: Mapping[str, Callable[[Errand], Awaitable[Outcome]]] = {
            machine_calls.FREE: self._free,
            machine_calls.REINSTALL: self._reinstall,
            machine_calls.UNCOMMIT: self._uncommit,
            machine_calls.DETACH: self._detach,
            machine_calls.DELETE: self._delete,
            machine_calls.REBOOT: self._reboot,
            machine_calls.SCHEDULE: self._schedule,
            machine_calls.UNSCHEDULE: self._unschedule,
        }

    async def do(self, call: Call) -> Outcome:
        """Make one call, once."""
        with self._api.client.acting():
            return await self._do(call)

    async def _do(self, call: Call) -> Outcome:
        if call.kind == machine_calls.ORDER:
            return await self._order(call)
        host = _host_of(call)
        try:
            mac = await self._api.mac(call.zone, host)
        except TROUBLE as trouble:
            return unread_host(trouble, call, host)
        if why := self._otherwise(call, mac):
            return Refused(why=Refusal.WRONG_STATE, text=why)
        try:
            return await self._way(call)(Errand(call, mac))
        except TROUBLE as trouble:
            return self._outcome(trouble, call, host)

    def _way(self, call: Call) -> Callable[[Errand], Awaitable[Outcome]]:
        """Return what makes a call: owner tags and networks are calls of their own each."""
        if call.kind.startswith(machine_calls.OWNER_TAG):
            return self._owner_tag
        return self._attach if call.kind.startswith(machine_calls.ATTACH) else self._ways[call.kind]

    def _otherwise(self, call: Call, mac: Mac) -> str:
        """Return why the host is not as it was decided on, or an empty string."""
        expected, name = str(call.arg("expect") or ""), mac.name or ""
        if mac.project_id not in {None, self._api.project}:
            return f"{mac.id} is in another project"
        if expected and name != expected:
            return f"somebody renamed it: {name!r} instead of {expected!r}"
        if call.effect is Effect.MAKE:
            return self._not_free(call, mac)
        return ""

    def _not_free(self, call: Call, mac: Mac) -> str:
        """Return why a host may not be claimed: claims observe it afresh, whatever was seen."""
        resource = self._reader(Zone("")).host(mac)
        adopts = call.arg("adopted") and resource.host.stage is not Stage.FOREIGN
        if resource.host.stage not in AT_HOME and not adopts:
            return f"it is not in the pool any more: {mac.name!r}"
        if mac.status not in _READY or not mac.delivered or mac.deletion_scheduled:
            return f"it is {mac.status}, delivered: {mac.delivered}"
        return "" if adopts else _unlike(call, resource)

    async def _owner_tag(self, errand: Errand) -> Outcome:
        call, mac = errand.call, errand.mac
        stage = Stage(str(call.arg("stage")))
        if stage is Stage.RELEASING or call.arg("wipes"):
            # The family is resolved before the host is touched; the wipe resolves it once more.
            family, type_name = str(call.arg("family") or ""), mac.type or ""
            try:
                _, warning = await self._images.choose(call.zone, type_name, family)
            except TROUBLE as trouble:
                return unread(trouble, "image")
            if warning and stage is Stage.PENDING:
                return Refused(why=Refusal.INVALID, text=warning)
        name = str(self._name(call, mac, stage))
        if mac.name == name:
            return self._done(call, mac)
        if name_of(name) is None:  # nobody of us would know it again
            return Refused(why=Refusal.INVALID, text=f"no name of ours: {name!r}")
        answer = await self._api.change(call.zone, mac.id, {"name": name})
        return self._done(call, answer)

    def _name(self, call: Call, mac: Mac, stage: Stage) -> Name:
        """Return the name of a stage; the pool that the host came from stays in it.

        A name that a person gave it says nothing of that: a machine's host is of its fleet's pool.
        """
        old, resource = name_of(mac.name or ""), self._reader(call.zone).host(mac)
        fleet, machine = str(call.arg("fleet") or ""), str(call.arg("machine") or "")
        if old is not None and not (fleet and machine):
            fleet, machine = old.fleet, old.machine
        pool, waits = resource.host.pool, resource.host.stage in WAITING
        if old is None or not (waits or old.machine == machine):
            pool = str(call.arg("pool") or "") or self._pool_of(FleetName(fleet))
        return Name(
            stage=stage,
            installation=self._installation,
            fleet=FleetName(fleet),
            machine=MachineId(machine),
            pool=pool_digest(pool) if pool or old is None else old.pool,
        )

    async def _free(self, errand: Errand) -> Outcome:
        call, mac = errand.call, errand.mac
        if mac.status not in _READY:
            return Refused(why=Refusal.BUSY, text=f"it is {mac.status}")
        name: dict[str, object] = {"name": str(call.arg("name"))}
        return self._done(call, await self._api.change(call.zone, mac.id, name))

    async def _reinstall(self, errand: Errand) -> Outcome:
        call, mac = errand.call, errand.mac
        family = str(call.arg("family") or "") or (mac.os.family if mac.os else "") or ""
        try:
            image, warning = await self._images.choose(call.zone, mac.type or "", family)
        except TROUBLE as trouble:
            return unread(trouble, "image")
        if warning and _is_claimed_for(mac):
            return Refused(why=Refusal.INVALID, text=warning)
        if warning:
            log.warning("the type's usual image is used", host=mac.id, why=warning)
        return self._done(call, await self._api.reinstall(call.zone, mac.id, image))

    async def _reboot(self, errand: Errand) -> Outcome:
        call, mac = errand.call, errand.mac
        return self._done(call, await self._api.reboot(call.zone, mac.id))

    async def _uncommit(self, errand: Errand) -> Outcome:
        call, mac = errand.call, errand.mac
        body: dict[str, object] = {"commitment_type": {"commitment_type": "none"}}
        return self._done(call, await self._api.change(call.zone, mac.id, body))

    async def _attach(self, errand: Errand) -> Outcome:
        """Put it into a private network; one that may be in none is let into them first."""
        call, mac = errand.call, errand.mac
        if mac.vpc_status == "vpc_disabled":
            await self._api.change(call.zone, mac.id, {"enable_vpc": True})
        if mac.vpc_status != "vpc_enabled":
            return Refused(why=Refusal.BUSY, text="it is being let into private networks")
        listing = await self._api.attachments(call.zone, mac.id)
        if isinstance(listing.trouble, TROUBLE):
            return unread(listing.trouble, "its private networks")
        network = str(call.arg("network"))
        if all(entry.private_network_id != network for entry in listing.found.values()):
            await self._api.attach(call.zone, mac.id, network)
        return self._done(call, mac)

    async def _detach(self, errand: Errand) -> Outcome:
        """Take a host out of its networks. One that is to go is deleted whatever comes of that.

        One that somebody else may have is out when neither a listing shows it in any, nor any
        network that is asked about by itself.
        """
        call, mac = errand.call, errand.mac
        listing = await self._api.attachments(call.zone, mac.id)
        if isinstance(listing.trouble, TROUBLE):
            return unread(listing.trouble, "its private networks")
        listed = {one.private_network_id: one for one in listing.found.values()}
        asked = call.arg("networks")
        for network in sorted({*filter(None, str(asked or "").split(","))} - listed.keys()):
            if (found := await self._api.attachment(call.zone, mac.id, network)) is not None:
                listed[network] = found
        for network, attachment in listed.items():
            if network and attachment.status != "detaching":
                await self._leave(errand, network)
        if listed and asked is not None:
            return Refused(why=Refusal.BUSY, text="it is being taken out of private networks")
        return Done()

    async def _leave(self, errand: Errand, network: str) -> None:
        try:
            await self._api.detach(errand.call.zone, errand.mac.id, network)
        except Failed as failed:
            if not failed.problem.missing:
                raise

    async def _schedule(self, errand: Errand) -> Outcome:
        call, mac = errand.call, errand.mac
        changed = await self._api.change(call.zone, mac.id, {"schedule_deletion": True})
        return self._done(call, changed)

    async def _unschedule(self, errand: Errand) -> Outcome:
        call, mac = errand.call, errand.mac
        changed = await self._api.change(call.zone, mac.id, {"schedule_deletion": False})
        return self._done(call, changed)

    async def _order(self, call: Call) -> Outcome:
        """Order hosts after a look at stock, quota and images; what cannot be is not asked for."""
        type_name = str(call.arg("type"))
        try:
            stock = await self._api.stock(call.zone, type_name)
            if stock == "no_stock":
                return Refused(why=Refusal.STOCK, text=f"{type_name} is sold out in {call.zone}")
            if beyond := await self._quotas.beyond(call, type_name):
                return beyond
            family = str(call.arg("family") or "")
            image, warning = await self._images.choose(call.zone, type_name, family)
        except TROUBLE as trouble:
            return unread(trouble, "stock and images")
        if warning:  # nobody could claim what runs another system
            return Refused(why=Refusal.INVALID, text=warning)
        try:
            await self._api.order(call.zone, self._body(call, type_name, image))
        except TROUBLE as trouble:
            return outcome_of(trouble, call)
        return Done()

    def _body(self, call: Call, type_name: str, image: str) -> dict[str, object]:
        fleet, pool = FleetName(str(call.arg("fleet"))), str(call.arg("pool") or "")
        machines = call.arg("machines")
        names = [
            Name(
                stage=Stage.ORDERED,
                installation=self._installation,
                fleet=fleet,
                machine=MachineId(machine),
                pool=pool_digest(pool),
            )
            for machine in (machines if isinstance(machines, tuple) else ())
        ]
        body: dict[str, object] = {
            "type": type_name,
            "requests": [{"name": str(name)} for name in names],
            "commitment_type": "duration_24h",
            "enable_vpc": False,
            "enable_kext": False,
            "public_bandwidth_bps": 0,
        }
        return body | {"os_id": image} if image else body

    async def _delete(self, errand: Errand) -> Outcome:
        """Delete it; where that is refused until a date, have it deleted then."""
        call, mac = errand.call, errand.mac
        try:
            await self._api.delete(call.zone, mac.id)
        except Failed as failed:
            if not is_floor(failed.problem):
                raise
            log.info("not to be deleted yet", host=mac.id, until=str(floor_date(failed.problem)))
            return await self._schedule(errand)
        return Done(absent=(ResourceId(mac.id),))

    def _done(self, call: Call, mac: Mac) -> Done:
        """Return what an answer shows: the host, or the allocation of the call's machine.

        Whose name stands there by now need not be the machine's: then only an observation can tell.
        """
        reader = self._reader(call.zone)
        host = reader.host(mac)
        if call.slot == HOST:
            return Done(resources=(host,))
        resource = reader.allocation_of(mac)
        if resource is None:
            return Done(absent=(call.target,) if call.target else ())
        mine = call.target or allocation_of(HostId(mac.id), MachineId(str(call.arg("machine"))))
        return Done(resources=(resource,) if resource.id == mine else ())

    def _outcome(self, trouble: Exception, call: Call, host: str) -> Outcome:
        if isinstance(trouble, Failed):
            problem = trouble.problem
            if call.kind == machine_calls.DELETE and names(problem, host):
                return Done(absent=(call.target,) if call.target else (), missing=True)
            if call.kind == machine_calls.REINSTALL and is_reinstalling(problem):
                return Done()
            if problem.missing:  # the host was read just before: only an observation can tell
                return Refused(why=Refusal.BUSY, text=str(problem))
        if isinstance(trouble, TROUBLE):
            return outcome_of(trouble, call)
        raise trouble


def _unlike(call: Call, resource: Resource) -> str:
    """Return why a host is not what is claimed, or an empty string."""
    if resource.type != call.arg("type"):
        return f"it is a {resource.type}"
    family = family_key(str(call.arg("family") or ""))
    return f"it runs {resource.host.image}" if family not in {"", resource.host.image} else ""


def _is_claimed_for(mac: Mac) -> bool:
    """Tell whether a host is on its way to a machine, which must get what it asked for."""
    name = name_of(mac.name or "")
    return name is not None and name.stage is Stage.PENDING


def _host_of(call: Call) -> str:
    named = call.arg("host")
    return str(named) if named else str(call.target or "").partition("#")[0]
