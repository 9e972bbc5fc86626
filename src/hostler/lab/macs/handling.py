"""Handling: what is done to hosts, and who gets them, by what the records are at that moment.

S5   what a live record holds, or what bears a foreign tag, is neither wiped, renamed nor deleted.
S12  nobody gets a host that was not wiped since somebody else had it.
For a while after something took effect later than the consistency delay, S5 says nothing of its
host, for nothing can be proved then. Nor does it of what a person just renamed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from hostler.domain.ids import HostId, InstallationId, MachineId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.lab.checks.holds import HEARD, STOOD_STILL
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.testing.invariants import LIVE, Found, Violation

from .ground_truth import Asked, Change, GroundTruth
from .occupancy import FORGIVEN, IN_USE


@dataclass(slots=True)
class Handling:
    """Judges each change of a host; `shadows` are those of every store, the lost ones too.

    `faults` are how often each fault struck.
    """

    truth: GroundTruth
    shadows: Callable[[], Sequence[ShadowStore]]
    faults: Mapping[str, int]
    _reserved: dict[tuple[InstallationId, HostId], tuple[float, int]] = field(
        default_factory=dict[tuple[InstallationId, HostId], tuple[float, int]]
    )

    def reserved(self, own: InstallationId, host: HostId, now: float, installs: int) -> None:
        """Note that a person has a free host from now on, and how often it was wiped by then."""
        self._reserved[own, host] = now, installs

    def changed(self, change: Change, now: float) -> Found:
        """Judge a change: whose the host was, and who gets it."""
        found = tuple(self._touched(change, now))
        return (*found, *self._claimed(change)) if change.what == "renamed" else found

    def is_tainted(self, change: Change, now: float) -> bool:
        """Tell whether something took effect beyond the consistency delay not long ago."""
        return now - change.before.late < FORGIVEN

    def _touched(self, change: Change, now: float) -> Iterator[Violation]:
        by, before = change.by, change.before
        if by is None or change.late or self.is_tainted(change, now):
            return
        owner = before.owner
        stood = before.named <= by.begun
        if owner is not None and owner[1].installation not in by.ours and stood:
            text = f"host {change.host} of {owner[1].installation} was {change.what}"
            yield self._wrong("S5", f"{text} by {by.ours[0]}", change)
        if owner is None and change.what == "wiped" and stood:
            text = f"host {change.host} was wiped under the name {before.name}"
            yield self._wrong("S5", text, change)
        for shadow in self.shadows():
            if not shadow.lost:
                yield from self._by_records(change, by, shadow, now)

    def _by_records(
        self, change: Change, by: Asked, shadow: ShadowStore, now: float
    ) -> Iterator[Violation]:
        """What a live record has is its own machine's; but who is lent a host cannot know that.

        Nor does a machine wipe its own host while it is ready: whoever was handed it is on it.
        """
        mine = shadow.own == by.ours[0]
        if change.before.lent in by.ours and not mine:
            return
        for machine in shadow.living():
            if machine.host != change.host:
                continue
            if machine.id == by.machine:
                if change.what == "wiped" and machine.phase is Phase.READY:
                    text = f"{machine.id} wipes {change.host}, and is ready"
                    yield self._wrong("S5", text, change)
                continue
            handled = self._was_handled(machine, now)
            if handled and not mine:
                self.truth.lend(change.host, by.ours[0])
            if (machine.phase in IN_USE and not handled) or (mine and machine.phase in LIVE):
                who = f"{by.ours[0]} {by.machine or 'itself'}"
                text = f"host {change.host} was {change.what} by {who}"
                yield self._wrong("S5", f"{text} while {machine.id} is {machine.phase}", change)

    def _was_handled(self, machine: Machine, now: float) -> bool:
        """Tell whether a person renamed its host: it may be another's by now."""
        fact = self.truth.hosts.get(machine.host) if machine.host else None
        return fact is not None and now - fact.handled < FORGIVEN

    def _claimed(self, change: Change) -> Iterator[Violation]:
        """S12: whoever gets a host gets a disk that was written anew since anybody had it."""
        fact = self.truth.hosts[change.host]
        owner, by = fact.owner, change.by
        if owner is None or owner[0] != "claimed" or by is None:
            return
        user = f"{owner[1].installation} {owner[1].machine}"
        raced = fact.handled > by.begun
        passed_on = user != fact.user and not (change.late or raced or change.adopts)
        returns = self._returns(by) and self.truth.is_as_left(change.host, user)
        if passed_on and not self.truth.is_clean(change.host) and not returns:
            text = f"host {change.host} goes to {user}, unwiped since {fact.user} had it"
            yield self._wrong("S12", text, change)
        if self._was_reserved(change, by):
            text = f"host {change.host} goes to {user}, unwiped since a person had reserved it"
            yield self._wrong("S12", text, change)
        self.truth.use(change.host, user)

    def _was_reserved(self, change: Change, by: Asked) -> bool:
        """Tell whether a person had a host, as everybody knew, and its disk is still the same.

        Until when one holds is the engine's own time: nothing is said after a clock jumped. A store
        that was put back from an older backup knows of none that came in between.
        """
        mac = self.truth.mac(change.host)
        if mac is None or change.late or change.adopts or self.faults["clock_jump"]:
            return False
        held = ((own, *self._reserved.get((own, change.host), (inf, 0))) for own in by.ours)
        settled = by.begun - HEARD - STOOD_STILL
        return any(
            at < settled and mac.installs == installs and not self._is_forgotten(own, at)
            for own, at, installs in held
        )

    def _is_forgotten(self, own: InstallationId, at: float) -> bool:
        return any(shadow.own == own and shadow.has_forgotten(at) for shadow in self.shadows())

    def _returns(self, by: Asked) -> bool:
        """Tell whether a machine that was ready takes its own host back, renamed by a person."""
        mine = (shadow.machines.get(MachineId(by.machine)) for shadow in self.shadows())
        return any(m is not None and m.health.was_ready is not None for m in mine)

    def _wrong(self, invariant: str, text: str, change: Change) -> Violation:
        fact = self.truth.hosts.get(change.host)
        owner = (fact.owner if fact else None) or change.before.owner
        machine = owner[1].machine if owner is not None else None
        return Violation(invariant=invariant, text=text, machine=machine)
