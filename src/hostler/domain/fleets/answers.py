"""Answers: each request meets its subject here: it is carried out, or refused in a sentence.

What stands on a record decides, by the table of precedence; and so does what the record, the file
and the newest observation allow. Nothing that was accepted goes without an answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.hosts import holds, pool
from hostler.domain.ids import HostId, MachineId
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import RETIRE_ASKED, Machine
from hostler.domain.model.phases import PHASES, Goal, Phase
from hostler.domain.model.snapshot import Request, RequestKind, Snapshot
from hostler.domain.observation.blockers import paused_by

from . import abandoned, renames
from .precedence import REFUSALS, TABLES, Precedence, Subject
from .requests import RESTS, by_file, for_fleet, for_machine, to_go


class RequestAnswer(Struct, frozen=True, kw_only=True):
    """What becomes of a request: it is refused, or carried out, perhaps instead of an earlier one.

    Both are empty where it is carried out, and nothing stood in its way.
    """

    request: Request
    instead: str = ""
    refusal: str = ""


@dataclass(slots=True)
class Granted:
    """The row, machines and hosts as the requests of a cycle leave them, and their answers."""

    snapshot: Snapshot
    row: FleetRow
    machines: dict[MachineId, Machine]
    hosts: dict[HostId, Host] = field(default_factory=dict[HostId, Host])
    answers: list[RequestAnswer] = field(default_factory=list[RequestAnswer])

    @property
    def records(self) -> tuple[Machine, ...]:
        """The machines' records in order; the very same where nothing was asked of any."""
        return tuple(self.machines.values()) if self.machines else self.snapshot.machines

    @property
    def accepted(self) -> tuple[Request, ...]:
        """The requests that are carried out."""
        return tuple(answer.request for answer in self.answers if not answer.refusal)

    def answer(self, request: Request) -> None:
        """Carry a request out where that can be, and answer it."""
        if request.host is not None:
            self._about_host(request, request.host)
        elif request.machine is not None:
            self._about_machine(request, request.machine)
        else:
            self._about_fleet(request)

    def _about_fleet(self, request: Request) -> None:
        standing = _standing_on_fleet(self.row, self.snapshot)
        answer = _met(Subject.FLEET, standing, request)
        if not answer.refusal:
            answer = replace(answer, refusal=_impossible_of_fleet(self.row, request, self.snapshot))
        if not answer.refusal:
            self.row = for_fleet(self.row, request, self.snapshot)
        self.answers.append(answer)

    def _about_machine(self, request: Request, name: MachineId) -> None:
        if (machine := self.machines.get(name)) is None:
            self.answers.append(self._about_none(request))
            return
        answer = _met(Subject.MACHINE, _standing_on_machine(machine, self.snapshot), request)
        if not answer.refusal:
            refusal = _impossible_of_machine(machine, request, self.snapshot)
            refusal = refusal or abandoned.impossible(machine, request, self.row, self.snapshot)
            answer = replace(answer, refusal=refusal)
        if not answer.refusal:
            self.machines[name] = for_machine(machine, request, self.snapshot)
            self.row = abandoned.counted(self.row, request, self.snapshot)
        self.answers.append(answer)

    def _about_none(self, request: Request) -> RequestAnswer:
        """Answer a request about a machine that is not there; one not made yet is not made then."""
        grown = (r for r in self.accepted if r.kind is RequestKind.GROW)
        if request.kind is RequestKind.DELETE and any(request.machine in r.machines for r in grown):
            return RequestAnswer(request=request, instead="making it")
        return RequestAnswer(
            request=request,
            refusal=f"fleet {request.fleet} has no machine {request.machine} (any more)",
        )

    def _about_host(self, request: Request, host: HostId) -> None:
        hosts = {**self.snapshot.hosts, **self.hosts}
        alone = replace(self.snapshot, requests=(request,), hosts=hosts)
        answer = _met(Subject.HOST, self._standing_on_host(request, host, hosts), request)
        if not answer.refusal:
            answer = replace(answer, refusal=pool.impossible(request, host, alone))
        if not answer.refusal:
            account = self.snapshot.fleet.account
            saves = (
                *pool.pooled(account, alone),
                *pool.given_up(account, alone),
                *holds.saved(account, alone),
            )
            self.hosts |= {save.host.id: save.host for save in saves}
        self.answers.append(answer)

    def _standing_on_host(
        self, request: Request, host: HostId, hosts: Mapping[HostId, Host]
    ) -> dict[RequestKind, str]:
        """Return what stands on a host; a request that is taken twice does not meet itself."""
        tied = {machine for machine, bound in self.snapshot.bindings.items() if bound == host}
        tied |= {machine.id for machine in self.machines.values() if machine.host == host}
        adopts = (r for r in self.accepted if r.kind is RequestKind.POOL_ADOPT and r.host == host)
        tied |= {machine for r in adopts for machine in r.machines}
        standing = pool.standing(hosts.get(host), self.snapshot)
        if tied - set(request.machines):
            standing[RequestKind.POOL_ADOPT] = "its machine"
        return standing


def granted(snapshot: Snapshot) -> Granted:
    """Return what the requests of this cycle come to, each taken in its turn."""
    row = by_file(snapshot.row, snapshot)
    asked = snapshot.machines if snapshot.requests or row.ends else ()
    found = Granted(snapshot=snapshot, row=row, machines={one.id: one for one in asked})
    for request in snapshot.requests:
        found.answer(request)
    if found.row.ends:
        found.machines = {name: to_go(one, snapshot) for name, one in found.machines.items()}
    return found


def _met(subject: Subject, standing: Mapping[RequestKind, str], later: Request) -> RequestAnswer:
    """Return how a request fares against what stands, by the table."""
    replaced = list[str]()
    for earlier, words in standing.items():
        match TABLES[subject].of(earlier, later.kind):
            case Precedence.REFUSED:
                return RequestAnswer(request=later, refusal=REFUSALS[subject, earlier])
            case Precedence.REPLACED:
                replaced.append(words)
            case Precedence.BOTH:
                pass
    return RequestAnswer(request=later, instead=" and ".join(replaced))


# ---------------------------------------------------------------- what stands


def _standing_on_fleet(row: FleetRow, snapshot: Snapshot) -> dict[RequestKind, str]:
    standing = dict[RequestKind, str]()
    if row.size is not None:
        standing[RequestKind.SCALE] = f"the size {row.size}"
    if row.pause is not None and paused_by(row, snapshot.now):
        standing[RequestKind.PAUSE] = f"the pause by {row.pause.actor}"
    if row.ends:
        standing[RequestKind.DELETE] = "its deletion"
    if row.adopts is not None:
        standing[RequestKind.ADOPT_FLEET] = f"the machines of {row.adopts}"
    return standing


def _standing_on_machine(machine: Machine, snapshot: Snapshot) -> dict[RequestKind, str]:
    standing = dict[RequestKind, str]()
    if machine.deletion is not None:
        retires = machine.fact(RETIRE_ASKED) is not None
        kind = RequestKind.RETIRE if retires else RequestKind.DELETE
        standing[kind] = f"its deletion by {machine.deletion.actor}"
    if machine.protection is not None and machine.is_protected(snapshot.now):
        standing[RequestKind.PROTECT] = f"the protection by {machine.protection.actor}"
    if machine.goal is Goal.STANDBY:
        standing[RequestKind.STANDBY] = "its standby"
    if machine.goal is Goal.PRESENT and machine.phase is Phase.STANDBY:
        standing[RequestKind.WAKE] = "its waking"
    return standing


# ---------------------------------------------------------------- what cannot be


def _impossible_of_fleet(row: FleetRow, request: Request, snapshot: Snapshot) -> str:
    """Return why a fleet cannot do what is asked, as its file is by now; empty where it can."""
    fleet = snapshot.fleet
    if request.fleet != fleet.name:
        return f"fleet {request.fleet} was taken over by {fleet.name}: ask that of {fleet.name}"
    if request.kind is RequestKind.ADOPT_FLEET:
        return renames.impossible(row, request, snapshot)
    if request.kind is RequestKind.SCALE and not fleet.renews:
        return "it has no size of its own (`renews = false`): whoever uses it requests each machine"
    if request.kind is RequestKind.GROW and fleet.renews:
        return "it keeps a size of its own (`renews = true`): scale it instead"
    if request.kind is RequestKind.DELETE and row.removed is None:
        return "it is a fleet of the file: scale it to 0, or take it out of the file first"
    return ""


def _impossible_of_machine(machine: Machine, request: Request, snapshot: Snapshot) -> str:
    """Return why a machine cannot do what is asked, as it stands now; empty where it can."""
    to_standby = machine.phase is Phase.STOPPING and machine.goal is Goal.STANDBY
    if request.kind is RequestKind.STANDBY:
        if not snapshot.capabilities.standby:
            return "machines of its provider have no standby"
        if machine.phase not in RESTS and not to_standby:
            return f"it is {machine.phase}: only a machine that is up goes into standby"
    if request.kind is RequestKind.WAKE:
        if to_standby:
            return "it is on its way into standby: ask again once it is there"
        if not PHASES[machine.phase].wanted and machine.phase not in RESTS:
            return f"it is {machine.phase}: it does not come back"
    return ""
