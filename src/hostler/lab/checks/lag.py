"""Lag: for how long records do not say what is true, and how long they may (L2)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hostler.domain.ids import InstallationId, MachineId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.testing.invariants import Found, Violation

_Key = tuple[MachineId, Phase, str]


@dataclass(slots=True)
class Lag:
    """What is true of machines that their phases do not say, and for how long that is so.

    `bounds` are for how long it may be, in seconds in which the machine's zone was listed.
    """

    bounds: Mapping[str, float]
    waited: dict[InstallationId, dict[_Key, float]] = field(
        default_factory=dict[InstallationId, dict[_Key, float]]
    )

    def check(
        self, own: InstallationId, found: Iterable[tuple[Machine, str]], passed: float
    ) -> Found:
        """Judge what is true of an installation's machines; `passed` is since the last check."""
        older = self.waited.get(own, {})
        waited = self.waited[own] = dict[_Key, float]()
        for machine, true in found:
            key = machine.id, machine.phase, true
            time = waited[key] = older.get(key, 0.0) + passed
            if time > self.bounds[true]:
                text = f"{machine.id} is {machine.phase} for {time:.0f} s, and {true}"
                return (Violation(invariant="L2", text=text, machine=machine.id),)
        return ()
