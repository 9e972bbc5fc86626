"""Hand: one machine, led to its goals as an engine does it, with the domain's own rules.

Each round looks at everything, writes into the record what was seen, and makes the calls that are
allowed now. It can be cut at any call, as a process that dies, and go on from what was saved.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from hostler.domain.ids import AccountName, Epoch, TurnId, machine_id
from hostler.domain.machines.next_calls import allowed, cleans
from hostler.domain.model.calls import Call, Done, Effect, Outcome
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.inventory import View, merge
from hostler.domain.model.machine import Fate, Machine, ask
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Look, Part, Scope
from hostler.domain.model.snapshot import Seen
from hostler.domain.observation.certainty import all_gone, parts_of, reconcile
from hostler.domain.observation.outcomes import fold, fold_parts
from hostler.ports.provider import Provider

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


@dataclass(frozen=True, slots=True)
class Made:
    """A call that was made, and what came of it."""

    call: Call
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to the provider's pure half, and its answer."""

    goal: Goal
    machine: Machine
    parts: tuple[Part, ...]
    now: datetime
    calls: tuple[Call, ...]


@dataclass(slots=True)
class Journal:
    """Everything that went between hands and their provider in one check."""

    made: list[Made] = field(default_factory=list[Made])
    asked: list[Asked] = field(default_factory=list[Asked])
    looks: list[Look] = field(default_factory=list[Look])
    scopes: list[Scope] = field(default_factory=list[Scope])

    def calls(self, effect: Effect | None = None) -> tuple[Call, ...]:
        """Return the calls made, or those of one effect."""
        return tuple(m.call for m in self.made if effect in {None, m.call.effect})


@dataclass(slots=True)
class Hand:
    """One machine in the hands of a small engine. `cut` names the call at which it dies."""

    rig: Rig
    provider: Provider
    machine: Machine
    saved: Machine
    took: datetime
    epoch: Epoch = Epoch(1)
    view: View = field(default_factory=View)
    journal: Journal = field(default_factory=Journal)
    cut: tuple[int, Side] | None = None
    count: int = 0

    @property
    def seen(self) -> Seen:
        """What is known now, as the engine's rules want it."""
        now = self.rig.clock.now()
        fleet = Fleet(
            name=self.rig.fleet, account=AccountName("kit"), size=1, offers=(self.rig.offer,)
        )
        return Seen(
            turn=TurnId("kit"),
            now=now,
            fleet=fleet,
            row=FleetRow(name=self.rig.fleet, created=self.took),
            machines=(self.machine,),
            view=self.view,
            traits=self.provider.traits,
            epoch=self.epoch,
            took=self.took,
            steady=self.took,
            ours=(self.rig.installation,),
        )

    @property
    def parts(self) -> tuple[Part, ...]:
        """The machine's parts, as looks and definite answers have them."""
        return parts_of(self.machine, self.seen)

    @property
    def main(self) -> Part | None:
        """The bound part of the main slot, where it is known."""
        bound = self.machine.bound(self.provider.traits.main)
        return next((part for part in self.parts if part.id == bound), None)

    async def look(self) -> Look:
        """Look at everything, and at each known id by itself; the record learns from it."""
        scopes = tuple(self._scopes())
        look = await self.provider.look(scopes)
        self.journal.looks.append(look)
        self.journal.scopes += scopes
        self.view = merge(self.view, look)
        self.machine = reconcile(self.machine, self.seen)
        return look

    def _scopes(self) -> Iterator[Scope]:
        zone = self.machine.offer.zone
        for kind in self.provider.traits.kinds:
            yield Scope(zone, kind)
            known = tuple(
                k.id
                for p in self.machine.places
                if p.slot.kind == kind
                for k in p.known
                if not k.gone
            )
            if known:
                yield Scope(zone, kind, self.machine.id, known)

    def ask(self, goal: Goal, parts: tuple[Part, ...] | None = None) -> tuple[Call, ...]:
        """Return the provider's next calls, and note the question."""
        given = self.parts if parts is None else parts
        now = self.rig.clock.now()
        calls = self.provider.next_calls(goal, self.machine, given, now)
        self.journal.asked.append(Asked(goal, self.machine, given, now, calls))
        return calls

    async def step(self, goal: Goal) -> None:
        """Look, and make every call that is allowed now."""
        await self.look()
        await self.act(goal)

    async def act(self, goal: Goal) -> None:
        """Make every call that is allowed now, folding definite answers."""
        parts = self.parts
        for _ in range(_LONGEST_STEP):
            self.ask(goal, parts)
            ready = allowed(self.machine, goal, parts, self.seen, self.provider)
            if not ready.calls:
                break
            calls = ready.calls if cleans(ready.calls) else ready.calls[:1]
            outcomes = [await self.make(call) for call in calls]
            for outcome in outcomes:
                parts = fold_parts(parts, outcome)
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
        self.count += 1
        if self.cut == (self.count, Side.BEFORE):
            raise Died
        outcome = await self.provider.do(call)
        self.journal.made.append(Made(call, outcome))
        if self.cut == (self.count, Side.AFTER):
            raise Died
        self.machine = fold(self.machine, call, outcome, self.rig.clock.now())
        return outcome

    def arrived(self, goal: Goal) -> bool:
        """Tell whether the goal is reached, by looks and not by belief."""
        if goal is Goal.ABSENT:
            return all_gone(self.machine, self.seen)
        main = self.main
        if any(asked.fate is Fate.OPEN for asked in self.machine.asked):
            return False
        up = main is not None and main.id in self.view.sightings and main.condition is Condition.UP
        return up and not self.ask(goal)

    async def reach(self, goal: Goal) -> None:
        """Go round until the goal is reached; AssertionError says where it hangs."""
        for _ in range(_ROUNDS):
            await self.look()
            if self.arrived(goal):
                return
            await self.act(goal)
            await self.rig.wait(PAUSE)
        shown = ", ".join(f"{p.slot} {p.status or '?'} ({p.condition})" for p in self.parts)
        raise AssertionError(
            f"{goal} was not reached in {_ROUNDS} rounds over {_ROUNDS * PAUSE}; parts: "
            f"{shown or 'none'}; last error: {self.machine.error or 'none'}"
        )

    async def reborn(self) -> "Hand":
        """Return the hand of the next process: it knows what was saved, and nothing else."""
        await self.provider.close()
        return Hand(
            rig=self.rig,
            provider=await self.rig.open(),
            machine=self.saved,
            saved=self.saved,
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
