"""StaticHosts: the provider port over hosts that exist anyway."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from hostler.domain.ids import FleetName, HostId, InstallationId
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.capabilities import Cleaning, HostCapabilities, Ownership
from hostler.domain.model.host import HOST, Host, HostGoal, host_of
from hostler.domain.model.machine import BootstrapFormat, Machine, Offer
from hostler.domain.model.phases import Goal
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import Observation, Resource, Scope, Stage
from hostler.ports.clock import Clock
from hostler.ports.provider import Connection
from hostler.ports.shell import Lost, NotReached

from . import planner, scripts, settings
from .claims import Claim, claim_of
from .memory import Memory
from .observe import Observer
from .reading import SERVER, Reading, resources_of, status_of
from .shell import HostShell


class Site(Struct, frozen=True, kw_only=True):
    """What there is: the hosts, how they are reached, and what each fleet asks of them."""

    hosts: tuple[settings.Host, ...]
    templates: Mapping[FleetName, settings.StaticTemplate]
    installation: InstallationId
    patience: timedelta = timedelta(minutes=5)


class StaticHosts:
    """One list of hosts. A machine is an allocation of one of them."""

    def __init__(self, site: Site, shell: HostShell, clock: Clock) -> None:
        self._site, self._shell = site, shell
        self._by_name = {host.name: host for host in site.hosts}
        zones = tuple(dict.fromkeys(host.zone for host in site.hosts))
        self._by_zone = {zone: tuple(h for h in site.hosts if h.zone == zone) for zone in zones}
        self._memory = Memory(site.patience)
        self._observer = Observer(self._by_zone, shell, clock, self._memory, site.installation)
        cleans = any(template.release for template in site.templates.values())
        self._capabilities = Capabilities(
            main=SERVER,
            kinds=(SERVER.kind, HOST.kind),
            consistency_delay=settings.CONSISTENCY_DELAY,
            deadline=settings.DEADLINE,
            zones=zones,
            bootstraps=frozenset({BootstrapFormat.SCRIPT}),
            hosts=HostCapabilities(
                kind=HOST.kind,
                ownership=Ownership.TAGS,
                cleaning=Cleaning.COMMAND if cleans else Cleaning.TRUSTED,
            ),
        )

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    def expect_host_keys(self, keys: Mapping[HostId, str]) -> None:
        self._shell.keys = keys

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        return await self._observer.observe(scopes)

    def next_calls(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...], now: datetime
    ) -> tuple[Call, ...]:
        del now
        return planner.next_calls(goal, machine, resources, self._site.installation)

    def host_calls(
        self, goal: HostGoal, host: Host, resource: Resource, now: datetime
    ) -> tuple[Call, ...]:
        del now
        command = self._cleaning(planner.cleaned_for(host, resource))
        return planner.host_calls(goal, host, resource, command)

    def fits(self, fleet: FleetName, offer: Offer, resource: Resource) -> str:
        del fleet
        if resource.zone != offer.zone:
            return f"it is of the group {resource.zone}"
        return "" if resource.host.stage is Stage.POOL else resource.status

    def _cleaning(self, fleet: FleetName) -> str | None:
        """Return the command that cleans after a fleet; None where there is no such fleet."""
        template = self._site.templates.get(fleet)
        return template.release if template is not None else None

    async def do(self, call: Call) -> Outcome:
        name, claim = str(call.arg("host")), claim_of(str(call.arg("claim")))
        command = self._command(call, claim) if claim is not None else ""
        if claim is None or not command or not re.fullmatch(settings.NAME, name):
            return Refused(why=Refusal.INVALID, text=f"no such call: {call}")
        host = self._by_name.get(name)
        if host is None:
            text = f"{name} is not in the fleet file"
            made = call.effect is Effect.MAKE or call.slot == HOST
            return Refused(why=Refusal.WRONG_STATE, text=text) if made else _released(call)
        try:
            printed = await self._shell.run(host, command)
        except NotReached as error:
            return Refused(why=Refusal.NOT_SENT, text=str(error))
        except Lost as error:
            return Unknown(text=str(error))
        return self._done(call, host, claim, scripts.answer(printed.text))

    def _command(self, call: Call, claim: Claim) -> str:
        """Return the command of a call; empty where there is no such call."""
        cleaning = self._cleaning(FleetName(str(call.arg("fleet") or claim.fleet)))
        match call.kind:
            case planner.CLAIM:
                return scripts.take(claim)
            case planner.RELEASE if cleaning != "":
                return scripts.hand_over(claim)
            case planner.RELEASE | planner.FREE:
                return scripts.release(claim)
            case planner.CLEAN if cleaning:
                return scripts.clean(claim, cleaning)
            case _:
                return ""

    def _done(self, call: Call, host: settings.Host, claim: Claim, word: str) -> Outcome:
        """Return what an answer means; what it says of the host is remembered."""
        match word:
            case "claimed":
                found = resources_of(self._note(host, claim), self._site.installation)
                return Done(resources=tuple(one for one in found if one.slot == SERVER))
            case "released" | "not clean":
                self._note(host, claim.released if word == "not clean" else None)
                return _released(call)
            case "not there" if call.slot == SERVER:
                return _released(call)
            case "cleaning":
                return Done()
            case _:
                return _not_done(host, word)

    def _note(self, host: settings.Host, claim: Claim | None) -> Reading:
        reading = Reading(host=host, claim=claim, status=status_of(claim, {}))
        self._memory.last[host.name] = reading
        return reading

    def connection(self, machine: Machine, resources: tuple[Resource, ...]) -> Connection | None:
        bound = machine.bound(SERVER)
        known = bound is not None and any(resource.id == bound for resource in resources)
        host = self._by_name.get(host_of(bound)) if bound and known else None
        if host is None:
            return None
        return Connection(
            address=host.address,
            user=host.user,
            port=host.port,
            keys=(host.key,) if host.key else (),
            fingerprint=host.fingerprint,
        )

    def has_template(self, fleet: FleetName) -> bool:
        return fleet in self._site.templates

    def provider_id(self, machine: Machine, resources: tuple[Resource, ...]) -> str | None:
        del resources
        bound = machine.bound(SERVER)
        return f"hostler://static/{machine.offer.zone}/{host_of(bound)}" if bound else None

    def cost(self, call: Call | Scope) -> int:
        """Every host of a group is asked by an observation of allocations: hosts come along."""
        if isinstance(call, Call):
            return 1
        return 0 if call.kind == HOST.kind else max(1, len(self._by_zone.get(call.zone, ())))

    async def close(self) -> None:
        """Nothing is held."""


def _released(call: Call) -> Done:
    """Return that an allocation is no more; a host outlives its claims."""
    return Done(absent=(call.target,) if call.target and call.slot == SERVER else ())


def _not_done(host: settings.Host, word: str) -> Outcome:
    if word in {"taken", "not there"}:
        return Refused(why=Refusal.WRONG_STATE, text=f"{host.name}: the claim is {word}")
    if word.startswith("failed"):
        return Refused(why=Refusal.BUSY, text=f"{host.name} {word[:100]}")
    return Unknown(text=f"{host.name} gave no answer that makes sense")
