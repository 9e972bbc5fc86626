"""Operator actions: one machine, led to its goals as an engine does it, by the domain's rules.

Each round observes everything, writes into the record what was seen, and makes the calls that are
allowed now. It can be cut at any call, as a process that dies, and go on from what was saved.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.hosts.next_calls import Times, host_allowed
from hostler.domain.ids import AccountName, CycleId, Epoch, ResourceId, machine_id
from hostler.domain.machines.next_calls import allowed, cleans
from hostler.domain.model.calls import Call, Done, Effect, Outcome
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.inventory import Inventory, merge
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Observation, Resource, Scope
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.subject import ask
from hostler.domain.observation.certainty import all_gone, reconcile, resources_of
from hostler.domain.observation.outcomes import apply_outcome, apply_to_resources
from hostler.domain.observation.ready import Observed
from hostler.ports.hosts import KeepsHosts
from hostler.ports.provider import Provider

from . import recorded
from .rig import GivesHosts, Rig

PAUSE = timedelta(seconds=5)
_ROUNDS = 400
_LONGEST_STEP = 64


class Side(StrEnum):
    """Where a process dies: before a call is sent, or after it had its effect."""

    BEFORE = "before"
    AFTER = "after"


class Died(Exception):
    """The hand was cut where it was asked to be."""


class Made(Struct, frozen=True):
    """A call that was made, and what came of it."""

    call: Call
    outcome: Outcome


class Asked(Struct, frozen=True):
    """A question to the provider's pure half, and its answer."""

    goal: Goal
    machine: Machine
    resources: tuple[Resource, ...]
    now: datetime
    calls: tuple[Call, ...]


@dataclass(slots=True)
class Journal:
    """Everything that went between hands and their provider in one check."""

    made: list[Made] = field(default_factory=list[Made])
    asked: list[Asked] = field(default_factory=list[Asked])
    observations: list[Observation] = field(default_factory=list[Observation])
    scopes: list[Scope] = field(default_factory=list[Scope])

    def calls(self, effect: Effect | None = None) -> tuple[Call, ...]:
        """Return the calls made, or those of one effect."""
        return tuple(m.call for m in self.made if effect in {None, m.call.effect})


@dataclass(slots=True)
class Hand:
    """One machine in the hands of a small engine. `cut` names the call at which it dies.

    `host` is the record of the host that it let go of, where our records alone say who has it.
    """

    rig: Rig
    provider: Provider
    machine: Machine
    saved: Machine
    took: datetime
    epoch: Epoch = Epoch(1)
    inventory: Inventory = field(default_factory=Inventory)
    journal: Journal = field(default_factory=Journal)
    cut: tuple[int, Side] | None = None
    count: int = 0
    host: Host | None = None

    @property
    def snapshot(self) -> Snapshot:
        """What is known now, as the engine's rules want it."""
        now = self.rig.clock.now()
        fleet = Fleet(
            name=self.rig.fleet, account=AccountName("kit"), size=1, offers=(self.rig.offer,)
        )
        return Snapshot(
            cycle=CycleId("kit"),
            now=now,
            fleet=fleet,
            row=FleetRow(name=self.rig.fleet, created=self.took),
            machines=(self.machine,),
            inventory=self.inventory,
            capabilities=self.provider.capabilities,
            epoch=self.epoch,
            took=self.took,
            steady=self.took,
            ours=(self.rig.installation,),
        )

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The machine's resources, as observations and definite answers have them."""
        return resources_of(self.machine, self.snapshot)

    @property
    def main(self) -> Resource | None:
        """The bound resource of the main slot, where it is known."""
        bound = self.machine.bound(self.provider.capabilities.main)
        return next((resource for resource in self.resources if resource.id == bound), None)

    async def observe(self) -> Observation:
        """Observe everything, and each known id by itself; the record learns from it."""
        scopes = tuple(self._scopes())
        observation = await recorded.observe(
            self.provider, scopes, self.rig.installation, (self.machine,)
        )
        self.journal.observations.append(observation)
        self.journal.scopes += scopes
        self.inventory = merge(self.inventory, observation)
        self.machine = reconcile(self.machine, self.snapshot)
        return observation

    def _scopes(self) -> Iterator[Scope]:
        zone = self.machine.offer.zone
        for kind in self.provider.capabilities.kinds:
            yield Scope(zone, kind)
            known = tuple(
                k.id
                for p in self.machine.places
                if p.slot.kind == kind
                for k in p.known
                if not k.deleted
            )
            if known:
                yield Scope(zone, kind, self.machine.id, known)

    def ask(self, goal: Goal, resources: tuple[Resource, ...] | None = None) -> tuple[Call, ...]:
        """Return the provider's next calls, and note the question."""
        observed = self.resources if resources is None else resources
        now = self.rig.clock.now()
        calls = self.provider.next_calls(goal, self.machine, observed, now)
        self.journal.asked.append(Asked(goal, self.machine, observed, now, calls))
        return calls

    async def step(self, goal: Goal) -> None:
        """Observe, and make every call that is allowed now."""
        await self.observe()
        await self.act(goal)

    async def act(self, goal: Goal) -> None:
        """Make every call that is allowed now, folding definite answers."""
        resources = self.resources
        for _ in range(_LONGEST_STEP):
            self.ask(goal, resources)
            ready = allowed(self.machine, goal, resources, self.snapshot, self.provider)
            if not ready.calls:
                break
            calls = ready.calls if cleans(ready.calls) else ready.calls[:1]
            outcomes = [await self.make(call) for call in calls]
            for outcome in outcomes:
                resources = apply_to_resources(resources, outcome)
            if not all(isinstance(outcome, Done) for outcome in outcomes):
                break
        else:
            last = self.journal.made[-1].call
            raise AssertionError(f"{_LONGEST_STEP} rounds of calls and no end; the last was {last}")
        self.saved = self.machine

    async def make(self, call: Call) -> Outcome:
        """Make one call as an engine does: a *once* call is saved before it is sent."""
        if call.once:
            self.machine = ask(self.machine, call, self.rig.clock.now(), self.epoch)
        if call.once or call.effect is Effect.DESTROY:
            self.saved = self.machine
        outcome = await self._send(call)
        self.machine = apply_outcome(self.machine, call, outcome, self.rig.clock.now())
        return outcome

    async def _send(self, call: Call) -> Outcome:
        """Send a call, and die before it or after its effect where that was asked for."""
        self.count += 1
        if self.cut == (self.count, Side.BEFORE):
            raise Died
        outcome = await self.provider.do(call)
        self.journal.made.append(Made(call, outcome))
        if self.cut == (self.count, Side.AFTER):
            raise Died
        return outcome

    def arrived(self, goal: Goal) -> bool:
        """Tell whether the goal is reached, by observations and not by belief."""
        if goal is Goal.ABSENT:
            return all_gone(self.machine, self.snapshot)
        main = self.main
        if any(asked.call_state is CallState.OPEN for asked in self.machine.asked):
            return False
        up = (
            main is not None
            and main.id in self.inventory.sightings
            and main.condition is Condition.UP
        )
        return up and not self.ask(goal)

    async def reach(self, goal: Goal) -> None:
        """Go round until the goal is reached; AssertionError says where it hangs.

        A host of which our records alone say who has it is then led to its own goals, as an engine
        does once the machine on it is deleted.
        """
        for _ in range(_ROUNDS):
            await self.observe()
            if self.arrived(goal) and (goal is not Goal.ABSENT or await self._put_back()):
                return
            await self.act(goal)
            await self.rig.wait(PAUSE)
        summary = ", ".join(f"{p.slot} {p.status or '?'} ({p.condition})" for p in self.resources)
        raise AssertionError(
            f"{goal} was not reached in {_ROUNDS} rounds over {_ROUNDS * PAUSE}; resources: "
            f"{summary or 'none'}; last error: {self.machine.error or 'none'}"
        )

    def host_calls(self) -> tuple[Call, ...] | None:
        """Return what may be done now to the host that was let go of; None where all is done."""
        resource = self.inventory.resource(ResourceId(self.machine.host or ""))
        provider = self.provider
        recorded_host = recorded.is_recorded(provider.capabilities)
        if resource is None or not recorded_host or not isinstance(provider, KeepsHosts):
            return None
        host = self.host or recorded.let_go(self.machine, self.rig.clock.now())
        transition = recorded.decided(host, self.snapshot)
        self.host = transition.host
        if transition.goal is None:
            return None
        observed_at = self.inventory.observed_at(self.inventory.sightings[resource.id])
        observed = Observed(observed_at, provider.capabilities.consistency_delay_of)
        times = Times(observed, self.rig.clock.now())
        return host_allowed(self.host, transition.goal, resource, times, provider).calls[:1]

    async def _put_back(self) -> bool:
        """Make the calls that are due for a host that was let go of; tell whether all is done."""
        calls = self.host_calls()
        for call in calls or ():
            await self.make_for_host(call)
        return calls is None

    async def make_for_host(self, call: Call) -> Outcome:
        """Make one call for the host, as `make` does for the machine."""
        now, host = self.rig.clock.now, self.host
        assert host is not None, f"{call} is for a host that nobody let go of"
        self.host = ask(host, call, now(), self.epoch)
        outcome = await self._send(call)
        self.host = apply_outcome(self.host, call, outcome, now())
        return outcome

    async def reborn(self) -> "Hand":
        """Return the hand of the next process: it knows what was saved, and nothing else."""
        await self.provider.close()
        return Hand(
            rig=self.rig,
            provider=await self.rig.open(),
            machine=self.saved,
            saved=self.saved,
            host=self.host,
            took=self.rig.clock.now(),
            epoch=Epoch(self.epoch + 1),
            journal=self.journal,
        )

    async def things(self) -> int:
        """Return how many things of this machine the world has."""
        return sum(thing.machine == self.machine.id for thing in await self.rig.things())


async def new_hand(rig: Rig, number: int = 1) -> Hand:
    """Return a hand with a machine that nothing was done for yet, over a fresh provider."""
    now = rig.clock.now()
    machine = Machine(
        id=machine_id(7919 * number),
        fleet=rig.fleet,
        serial=number,
        created=now,
        since=now,
        phase=Phase.STARTING,
        offer=rig.offer,
    )
    if isinstance(rig, GivesHosts):
        machine = rig.host_for(machine)
    return Hand(rig=rig, provider=await rig.open(), machine=machine, saved=machine, took=now)


async def made_hand(rig: Rig, number: int = 1) -> Hand:
    """Return a hand whose machine is up."""
    hand = await new_hand(rig, number)
    await hand.reach(Goal.PRESENT)
    return hand


def going(hand: Hand) -> None:
    """Turn the machine's record to its end."""
    hand.machine = replace(hand.machine, phase=Phase.STOPPING, goal=Goal.ABSENT)
    hand.saved = hand.machine


async def end(hand: Hand) -> None:
    """Lead the machine to its end."""
    going(hand)
    await hand.reach(Goal.ABSENT)
