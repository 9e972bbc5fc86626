"""StaticHosts: the provider port over hosts that exist anyway."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from hostler.domain.ids import FleetName, InstallationId, MachineId
from hostler.domain.model.calls import Call, Done, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import Observation, OwnerTag, Resource, Scope
from hostler.ports.clock import Clock
from hostler.ports.provider import Connection
from hostler.ports.shell import Lost, NotReached

from . import planner, scripts
from .claims import SERVER, Claim, claim_of, line_of
from .memory import Memory
from .observe import Observer
from .reading import in_cleaning, resource_of
from .settings import Host, StaticTemplate
from .shell import HostShell

_TRYING = timedelta(seconds=5)
"""How long a claim goes on to another host; one more login and command fit into the deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What there is: the hosts, how they are reached, and what each fleet asks of them."""

    hosts: tuple[Host, ...]
    templates: Mapping[FleetName, StaticTemplate]
    installation: InstallationId
    patience: timedelta = timedelta(minutes=5)


class StaticHosts:
    """One list of hosts. A machine is a claim of one of them."""

    def __init__(self, site: Site, shell: HostShell, clock: Clock) -> None:
        self._site, self._shell, self._clock = site, shell, clock
        self._by_name = {host.name: host for host in site.hosts}
        zones = tuple(dict.fromkeys(host.zone for host in site.hosts))
        self._by_zone = {zone: tuple(h for h in site.hosts if h.zone == zone) for zone in zones}
        self._memory = Memory(site.patience)
        self._observer = Observer(self._by_zone, shell, clock, self._memory)
        self._capabilities = Capabilities(
            main=SERVER,
            kinds=(SERVER.kind,),
            consistency_delay=timedelta(seconds=30),
            deadline=timedelta(seconds=30),
            zones=zones,
        )

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        return await self._observer.observe(scopes)

    def next_calls(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...], now: datetime
    ) -> tuple[Call, ...]:
        del now
        cleans = bool(self._cleaning(machine.fleet))
        return planner.next_calls(goal, machine, resources, cleans=cleans)

    def _cleaning(self, fleet: FleetName) -> str:
        template = self._site.templates.get(fleet)
        return template.release if template is not None else ""

    async def do(self, call: Call) -> Outcome:
        if call.kind == planner.CLAIM:
            return await self._claim(call)
        claim = claim_of(call.target)
        if claim is None or call.kind not in {planner.CLEAN, planner.RELEASE}:
            return Refused(why=Refusal.INVALID, text=f"no such call: {call}")
        host = self._by_name.get(claim.host)
        if host is None:
            return Done(gone=(claim.id,))
        command = self._command(call, claim)
        try:
            answers = scripts.answers(await self._shell.run(host, command))
        except NotReached as error:
            return Refused(why=Refusal.NOT_SENT, text=str(error))
        except Lost as error:
            self._memory.last.pop(host.name, None)
            return Unknown(text=str(error))
        if answers == ("released",):
            self._memory.last[host.name] = None
        return _ended(host, claim, answers)

    def _command(self, call: Call, claim: Claim) -> str:
        if call.kind == planner.RELEASE:
            return scripts.release(claim)
        return scripts.clean(claim, self._cleaning(FleetName(str(call.arg("fleet")))))

    async def _claim(self, call: Call) -> Outcome:
        """Try the hosts of the zone one after the other; the first that is free is ours."""
        owner_tag = OwnerTag(
            installation=self._site.installation,
            fleet=FleetName(str(call.arg("fleet"))),
            machine=MachineId(str(call.arg("machine"))),
            attempt=call.attempt,
        )
        try:
            line = line_of(owner_tag)
        except ValueError as error:
            return Refused(why=Refusal.INVALID, text=str(error))
        hosts = self._by_zone.get(call.zone, ())
        tried, begun = list[str](), self._clock.boot()
        for host in sorted(hosts, key=lambda host: self._memory.eagerness(host.name)):
            if self._clock.boot() - begun > _TRYING.total_seconds():
                text = f"no free host in {call.zone} yet: {'; '.join(tried)}"
                return Refused(why=Refusal.BUSY, text=text)
            outcome = await self._take(host, owner_tag, line)
            if not isinstance(outcome, str):
                return outcome
            tried.append(outcome)
        text = f"no free host in {call.zone}: {'; '.join(tried) or 'it has none'}"
        return Refused(why=Refusal.STOCK, text=text)

    async def _take(self, host: Host, owner_tag: OwnerTag, line: str) -> Outcome | str:
        """Return the outcome of a claim that ends the search, or why this host would not do."""
        try:
            answers = scripts.answers(await self._shell.run(host, scripts.take(line)))
        except NotReached as error:
            self._memory.silent.setdefault(host.name, self._clock.now())
            return str(error)
        except Lost as error:
            self._memory.last.pop(host.name, None)
            return Unknown(text=str(error))
        match answers:
            case ("claimed",):
                resource = resource_of(host, (f"claim {line}", "end"))
                self._memory.last[host.name] = resource
                return Done(resources=(resource,) if resource is not None else ())
            case ("taken",):
                return f"{host.name} is taken"
            case (word,) if word.startswith("failed"):
                return f"{host.name} {word[:100]}"
            case _:
                return Unknown(text=f"{host.name} gave no answer that makes sense to {owner_tag}")

    def connection(self, machine: Machine, resources: tuple[Resource, ...]) -> Connection | None:
        bound = machine.bound(SERVER)
        claim = claim_of(bound) if any(resource.id == bound for resource in resources) else None
        host = self._by_name.get(claim.host) if claim is not None else None
        if host is None:
            return None
        return Connection(address=host.address, user=host.user, port=host.port)

    def has_template(self, fleet: FleetName) -> bool:
        return fleet in self._site.templates

    def provider_id(self, machine: Machine, resources: tuple[Resource, ...]) -> str | None:
        del resources
        claim = claim_of(machine.bound(SERVER))
        return f"hostler://static/{machine.offer.zone}/{claim.host}" if claim else None

    def cost(self, call: Call | Scope) -> int:
        """Every host of a group is asked by an observation, and may be asked by a claim."""
        alone = isinstance(call, Call) and call.kind != planner.CLAIM
        return 1 if alone else max(1, len(self._by_zone.get(call.zone, ())))

    async def close(self) -> None:
        """Nothing is held."""


def _ended(host: Host, claim: Claim, answers: tuple[str, ...]) -> Outcome:
    match answers:
        case ("released",) | ("not there",):
            return Done(gone=(claim.id,))
        case ("cleaning",):
            return Done(resources=(in_cleaning(host, claim),))
        case (word,) if word.startswith("failed"):
            return Refused(why=Refusal.BUSY, text=f"{claim.host} {word[:100]}")
        case _:
            return Unknown(text=f"{claim.host} gave no answer that makes sense")
