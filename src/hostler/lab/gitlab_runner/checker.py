"""The checker: what a runner is told and asks is held against what is true in the world.

R1  *running* is told only of a machine whose guest has answered.
R2  *deleting* is told only while a delete of ours runs.
R3  nothing holds a place beyond its deadline.
R4  what was told does not leave Update while its server stands and nobody deletes it.
R5  calls are answered: Update never fails, and none takes long.
R6  nothing turns up that was not accepted by an Increase.
R7  what is well is told to run, what is not well is not.
R8  neither instances nor servers exceed the maximum; no instance has two servers that run.
R9  a job reaches the instance that it was given, with the key that it knows; the same all along.
R10 Shutdown ends no machine, and Update sends nothing.
R11 only states that the schema offers are told.
R12 what is being made, and whose server is off, is worked on.
R13 what was told to run, and has been well since, is not refused a heartbeat.
S3  what is made and reclaimed rests on counts that the plugin knows.
S6  an instance on which a job runs is not ended, unless the runner asked for its end.
L   without faults the wanted capacity is reached; asked for nothing, nothing is left. What lost
    tags and names before any record had it, people remove: nobody else can know whose it is.
"""

import contextvars
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf

from hostler.domain.ids import MachineId
from hostler.domain.model.commands import Decision, Event
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.frontends.fleeting.contract import ConnectInfo, Instance, State
from hostler.lab.checks.findings import Findings
from hostler.lab.checks.listings import Counts
from hostler.lab.checks.trace import Trace
from hostler.lab.scaleway.listings import INSTANCES, Pages
from hostler.lab.scaleway.world import ScalewayWorld, note_request
from hostler.lab.servers.requests import is_counted
from hostler.ports.http import HttpRequest, Response
from hostler.simulators.scaleway.state.ledger import Line
from hostler.simulators.scaleway.state.records import State as ServerState
from hostler.testing.invariants import Violation

from .ground_truth import GroundTruth

INSIDE: contextvars.ContextVar[str] = contextvars.ContextVar("inside", default="")
"""Which call of the runner is being answered; empty in the engine's own work."""
AT_ONCE = 5.0
"""How long, in seconds, a call may take."""
BEGUN = 75.0
"""How long *deleting* may be told before a delete of ours was tried."""
TRIED = 300.0
"""How long ago the last try of a delete may be, while one is told to run."""
WRONG = 300.0
"""How long *running* may be told of a machine that is down: observations fail, losses are waves."""
DENIED = 20.0
"""How long a machine that is well may be told not to run."""
AFTER_JUMP = 660.0
"""So long after a clock jumped, or is again where it was, old pauses may still be waited for."""
AFTER_DEATH = 60.0
"""So long after a zone gave its last sign of death, nothing of it may have been looked at."""
LATE = 300.0
"""How long a guest may answer before that is told for the first time."""
IDLE = 300.0
"""How long a server may be off that is being made, and nothing is asked for it."""
WELL = 60.0
"""How long an instance that runs may be well before that is known."""
SETTLED = 420.0
"""Servers older than this are known to whoever looks."""
STUCK = 3
"""So many may be over the maximum while they end: what turned up late, or cannot be removed."""
PLACE = {State.CREATING: 1320.0, State.DELETING: 900.0}
PLACE_OF_OTHERS = 900.0
"""How long a place may be held: a start's bound and one more try, a stop's bound, observations."""

_ID = re.compile(r"/(?:servers|ips|volumes)/([0-9a-f-]{36})")
_ENDS = (b'"terminate"', b'"poweroff"')
_RESTS = frozenset({ServerState.STOPPED, ServerState.IN_PLACE, ServerState.LOCKED})
_LEFT = frozenset({State.DELETED, State.TIMEOUT})


@dataclass(slots=True)
class Reported:
    """What is known of one instance that was told; times are seconds in which we could act."""

    key: bytes
    state: State | None = None
    ran: bool = False
    server: str = ""
    place: float = 0.0
    untried: float = 0.0
    barred: float = -inf
    wrong: float = 0.0
    denied: float = 0.0
    late: float = 0.0
    idle: float = 0.0
    well: float = 0.0
    tried: bool = False
    ended: float | None = None
    could_act: float = 0.0
    left: bool = False

    @property
    def ending(self) -> bool:
        """Whether the runner asked for its end, or a delete was sent."""
        return self.tried or self.ended is not None

    def in_vain(self, now: float) -> bool:
        """Tell whether its end was asked for, and hardly anything could be done about it since."""
        asked = now if self.ended is None else self.ended
        return self.could_act <= BEGUN < now - asked - self.could_act


class Checker(Findings):
    """All checkers of one run, and the facts that they need."""

    def __init__(self, world: ScalewayWorld, trace: Trace, most: int) -> None:
        super().__init__(world, trace)
        self.world = world
        world.observer = self
        self.most = most
        self.truth = GroundTruth(world)
        self.offered = frozenset(State)
        self.reported = dict[str, Reported]()
        self.accepted = 0
        self.unsure = 0
        self.recorded = set[str]()
        self.known_counts = Counts(INSTANCES)
        self._pages = Pages(self.known_counts.listings)
        self._records = dict[MachineId, Machine]()
        self.key = b""
        self.awake = True
        self.jumped = -AFTER_JUMP
        self.able_from = 0.0
        self._checked = 0.0
        self._up = set[str]()
        self.jobs: Callable[[str], int] = _none
        self._fell = set[str]()

    # ------------------------------------------------------------ what happened

    def phases(self) -> Iterable[str]:
        """Return the states that instances are told to have."""
        return (str(reported.state) for reported in self.reported.values() if reported.state)

    def broken(self, invariant: str, text: str, machine: str = "") -> None:
        """Note that an invariant does not hold, of this machine if any."""
        about = MachineId(machine) if machine else None
        self.found((Violation(invariant=invariant, text=text, machine=about),))

    def plugin_begins(self, key: bytes) -> None:
        """Note that a plugin begins: nobody could act before, nor begin a delete in its place."""
        self.key, self._checked = key, self.now
        for reported in self.reported.values():
            reported.untried = 0.0

    def guest_answered(self, server: str) -> None:
        """Note which server answered a probe, which may be gone before time goes on."""
        self._up.add(server)

    def answered(self, request: HttpRequest, source: str, line: Line) -> None:
        """Note what became of a request in the world, and whose guests are up by then."""
        self.truth.note()
        self._up.update(self.world.guests.values())
        if "zone_dead" in note_request(self, request, source, line):
            self.able_from = max(self.able_from, self.now + AFTER_DEATH)

    def begins(self, plugin: str, request: HttpRequest) -> None:
        """Check that a plugin knows the count that a request rests on (S3)."""
        self.found(is_counted(self.known_counts, plugin, request))

    def sends(self, request: HttpRequest, *, network_down: bool) -> None:
        """Check a request before it is sent; note tries to delete."""
        self._check_request(request, INSIDE.get())
        if network_down:
            self.struck("network_down")

    def receives(self, plugin: str, request: HttpRequest, response: Response, begun: float) -> None:
        """Read listings by what came of them."""
        self._pages.answered(plugin, request, response, (begun, self.now))

    def decided(self, plugin: str, fleet: Fleet, decision: Decision) -> None:
        """Note what a plugin decides, and which counts it knows by then (S3)."""
        self.known_counts.decides(plugin, fleet, decision.commands, self._records, self.now)

    def _check_request(self, request: HttpRequest, inside: str) -> None:
        if inside in {"update", "shutdown"}:
            self.broken("R10", f"{inside} sent {request.method} {request.path}")
        match = _ID.search(request.path)
        if match is not None and request.method != "GET":
            self._work_on(self.truth.owner(match[1]))
        ends = request.method == "DELETE" or any(word in request.body for word in _ENDS)
        if match is None or not ends:
            return
        reported = self.reported.get(self.truth.owner(match[1]))
        if reported is not None:
            self._ends(self.truth.owner(match[1]), reported, f"{request.method} {request.path}")
            reported.tried, reported.untried = True, 0.0

    def _work_on(self, name: str) -> None:
        """Note that something is asked for an instance."""
        if (reported := self.reported.get(name)) is not None:
            reported.idle = 0.0

    def _ends(self, name: str, reported: Reported, request: str) -> None:
        """S6: where a job runs, nothing ends but what the runner asked the end of.

        A job that was there when its guest did not answer, or had lost an address, is broken,
        whatever the runner thinks.
        """
        well = name not in self._fell and self.truth.well(name)
        if well and self.jobs(name) and reported.ended is None:
            self.broken("S6", f"{request} while a job runs on {name}", name)

    def _note_jobs(self) -> None:
        """Note where guests do not answer while jobs are there."""
        for name in self.reported:
            if not self.jobs(name):
                self._fell.discard(name)
            elif not self.truth.well(name):
                self._fell.add(name)

    def saved(self, plugin: str, machine: Machine, events: tuple[Event, ...]) -> None:
        """Note a record and every id that it has, and put its events into the story."""
        self.known_counts.saves(plugin, self._records.get(machine.id), machine)
        self._records[machine.id] = machine
        self.recorded |= {known.id for place in machine.places for known in place.known}
        for event in events:
            text = f"  {machine.id} {event.kind} {event.reason} {event.detail}"
            self.trace.note(text, machine.id)

    # ------------------------------------------------------------ what the runner is told

    def updated(self, instances: Sequence[Instance]) -> None:
        """Check an answer to Update."""
        now = self.tick()
        could_act = self.awake and now >= self.able_from
        passed = now - self._checked if could_act else 0.0
        for before in self.reported.values():
            before.could_act += passed if before.ended is not None else 0.0
        passed = passed if now - self.jumped > AFTER_JUMP else 0.0
        self.machine_seconds += (now - self._checked) * len(instances)
        self._checked = now
        reported = {instance.id: instance.state for instance in instances}
        for instance in instances:
            self._reported(instance, min(passed, 60.0))
        for name, before in self.reported.items():
            if name not in reported and before.state is not None:
                self._left(name, before, None)
        self._count(reported)

    def tick(self) -> float:
        """Let the world come to the present; note whose guests are up."""
        self.world.advance()
        self.truth.note()
        self._up.update(self.world.guests.values())
        self._note_jobs()
        self.count_ambient()
        return self.now

    def _reported(self, instance: Instance, passed: float) -> None:
        name, state = instance.id, instance.state
        if state not in self.offered:
            self.broken("R11", f"{name} is told to be {state!r}", name)
            return
        reported = self.reported.setdefault(name, Reported(key=self.key))
        if state in _LEFT:
            if reported.state is not None:
                self._left(name, reported, state)
            return
        if state is not reported.state:
            self.trace.note(f"  {name} is told to be {state}", name)
            reported.state, reported.place, reported.well, passed = state, 0.0, 0.0, 0.0
            if state is not State.DELETING:
                reported.untried = 0.0
        self._place(name, reported, passed)
        match state:
            case State.RUNNING:
                self._running(name, reported, passed)
            case State.DELETING:
                self._deleting(name, reported, passed)
            case _:
                self._waiting(name, reported, passed)

    def _place(self, name: str, reported: Reported, passed: float) -> None:
        """R3: count how long a place is held by what is of no use."""
        reported.place += passed
        if reported.state is None or reported.state is State.RUNNING:
            return
        if reported.place > PLACE.get(reported.state, PLACE_OF_OTHERS):
            self.broken("R3", f"{name} is {reported.state} for {reported.place:.0f} s", name)

    def _running(self, name: str, reported: Reported, passed: float) -> None:
        """R1, R7, R9: it has answered, it is not down, and it is the one that it was."""
        servers = self.truth.servers(name)
        up = self.truth.up(name)
        if not reported.ran:
            reported.ran = True
            if up is None and not self.truth.ever(name) & self._up:
                self.broken("R1", f"{name} is told to run, and its guest never answered", name)
            reported.server = up.id if up else ""
        reported.well = reported.well + passed if self.truth.well(name) else 0.0
        down = not servers or all(server.state in _RESTS for server in servers)
        reported.wrong = reported.wrong + passed if down else 0.0
        reported.denied = 0.0
        if reported.wrong > WRONG:
            self.broken(
                "R7", f"{name} is told to run, and is down for {reported.wrong:.0f} s", name
            )
        if up is not None and reported.server and up.id != reported.server:
            self.broken("R9", f"{name} is another machine than it was", name)

    def _deleting(self, name: str, reported: Reported, passed: float) -> None:
        """R2: a delete of ours was begun, and is tried again, until the provider takes it down.

        Nobody can tell whose a server is that a person took tags and name from before any record.
        """
        barred = self.truth.starting(name) or (reported.tried and self.truth.barred(name))
        reported.barred = self.now if barred else reported.barred
        excused = barred or self.truth.deleting(name, self.recorded)
        reported.untried = 0.0 if excused else reported.untried + passed
        if reported.untried > (TRIED if reported.tried else BEGUN):
            text = (
                f"{name} is told to be deleting for {reported.untried:.0f} s, and nobody deletes it"
            )
            self.broken("R2", text, name)

    def _waiting(self, name: str, reported: Reported, passed: float) -> None:
        """R7: what is well is told to run, at once if it ran before, unless its end began.

        An end waits for a start that hangs, whatever is told meanwhile: R4 counts from then on.
        """
        if reported.ending and self.truth.starting(name):
            reported.barred = self.now
        well = not reported.ending and self.truth.well(name)
        reported.denied = reported.denied + passed if well and reported.ran else 0.0
        reported.late = reported.late + passed if well else 0.0
        if reported.denied > DENIED or reported.late > LATE:
            self.broken("R7", f"{name} is well, and is told to be {reported.state}", name)
        begins = reported.state is State.CREATING and not (reported.ran or reported.ending)
        off = begins and self.truth.off(name, self.recorded)
        reported.idle = reported.idle + passed if off else 0.0
        if reported.idle > IDLE:
            text = f"{name} is off for {reported.idle:.0f} s, and nothing is done for it"
            self.broken("R12", text, name)

    def _left(self, name: str, reported: Reported, state: State | None) -> None:
        """R4: nothing of it stands, or it is being deleted all the same.

        Nobody could begin that while no request went out and nothing could be saved, nor while it
        started, as it did for long where it hung.
        """
        reported.state, reported.left = None, True
        self.trace.note(f"  {name} is told {state or 'no more'}", name)
        now = self.now
        moving = {ServerState.STOPPING, ServerState.STARTING}
        standing = [s for s in self.truth.servers(name) if s.state not in moving]
        old = [server for server in standing if now - server.created > SETTLED]
        tried = reported.tried or reported.in_vain(now)
        left = (old and not tried) or (standing and not reported.ending)
        if left and now - reported.barred > BEGUN:
            text = f"{name} is told {state or 'no more'}, and its server stands, with no delete"
            self.broken("R4", text, name)

    def _count(self, reported: dict[str, State]) -> None:
        """R6, R8: no more than were asked for, and than may be."""
        if len(self.reported) > self.accepted + self.unsure:
            text = f"{len(self.reported)} instances were told, {self.accepted} were accepted"
            self.broken("R6", text)
        states = [state for name, state in reported.items() if not self._is_stale(name, state)]
        held = sum(state not in _LEFT for state in states)
        deletion = sum(state is State.DELETING for state in states)
        if held > self.most + min(deletion, STUCK):
            self.broken("R8", f"{held} instances are told; at most {self.most} may be")
        now = self.now
        servers = [s for s in self.world.cloud.servers if now - s.created > SETTLED]
        for name in reported:
            mine = [s for s in self.truth.servers(name) if s in servers]
            if sum(server.state == ServerState.RUNNING for server in mine) > 1:
                self.broken("R8", f"{name} has {len(mine)} servers", name)
        if len(servers) > self.most + STUCK:
            self.broken("R8", f"{len(servers)} servers exist; at most {self.most} may")

    def _is_stale(self, name: str, state: State) -> bool:
        """Tell whether a list showed once more what is there no more."""
        before = self.reported.get(name)
        returned = before is not None and before.left and state is State.DELETING
        return returned and not self.truth.servers(name)

    # ------------------------------------------------------------ what the runner asks

    def called(self, call: str, took: float) -> None:
        """R5: check how long a call took."""
        if took > AT_ONCE:
            self.broken("R5", f"{call} took {took:.0f} s")

    def refused(self, call: str, text: str) -> None:
        """R5: Update is always answered."""
        if call == "update":
            self.broken("R5", f"Update failed: {text}")

    def heartbeat_refused(self, name: str, why: str) -> None:
        """R13: nobody says of what is well that it is not."""
        now, reported = self.tick(), self.reported.get(name)
        if reported is None or reported.state is not State.RUNNING or reported.ending:
            return
        calm = self.awake and now >= self.able_from and now - self.jumped > AFTER_JUMP
        if calm and reported.well > WELL and self.truth.well(name):
            text = f"{name} is well for {reported.well:.0f} s, and its heartbeat is refused: {why}"
            self.broken("R13", text, name)

    def untouched(self) -> set[str]:
        """Return the instances whose end nobody has begun."""
        return {n for n, t in self.reported.items() if t.state and not t.ending}

    def shut_down(self, before: set[str]) -> None:
        """R10: what nobody ended before a Shutdown is not ended by it."""
        for name in before - self.untouched():
            self.broken("R10", f"Shutdown ended {name}", name)

    def decreased(self, instances: Sequence[str]) -> None:
        """Note whose end was accepted."""
        for name in instances:
            reported = self.reported.get(name)
            if reported is not None and reported.ended is None:
                reported.ended = self.now

    def dialled(self, name: str, info: ConnectInfo) -> bool:
        """R9: check where a job comes out; tell whether it found its instance."""
        self.tick()
        wrong = self.truth.reaches(name, info)
        if wrong == "somebody else answers":
            self.broken("R9", f"a job for {name} came to another machine", name)
        reported = self.reported.get(name)
        if reported is not None and info.connector.key != reported.key:
            self.broken("R9", f"{name} does not know the key that jobs are given", name)
        return not wrong


def _none(_: str) -> int:
    """No job runs anywhere before there is a runner."""
    return 0
