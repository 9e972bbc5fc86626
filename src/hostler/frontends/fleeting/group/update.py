"""Report: every instance of the group, from memory, as Update answers it."""

from collections.abc import Collection, Iterable
from datetime import datetime
from operator import attrgetter

from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.frontends.fleeting.contract import Instance, State

from .states import state_of

_TOLD_GONE = 3
"""How many updates tell that an instance is gone: a runner drops it at the first that it gets."""


class Report:
    """Remembers which instances were told, so that what is gone is told to be gone.

    Used from one thread at a time. Losing it costs the runner five updates for what went meanwhile.
    """

    def __init__(self, fleet: Fleet, offered: frozenset[State]) -> None:
        self._fleet, self._offered = fleet, offered
        self._living: tuple[str, ...] = ()
        self._gone = dict[str, int]()
        self._before = dict[str, Instance]()

    def instances(
        self,
        machines: Iterable[Machine],
        named: Iterable[MachineId],
        now: datetime,
        protected: Collection[MachineId] = (),
    ) -> tuple[Instance, ...]:
        """Return all instances: the machines on record, those named and not yet on it, the gone.

        `protected` are those that somebody forbade to delete at the provider.
        """
        told, fleet, offered = dict[str, State | None](), self._fleet, self._offered
        for machine in sorted(machines, key=attrgetter("serial", "id")):
            kept = machine.id in protected
            told[machine.id] = state_of(machine, fleet, now, offered, protected=kept)
        for name in named:
            told.setdefault(name, State.CREATING)
        self._note_gone(told)
        if State.DELETED in self._offered:
            told |= dict.fromkeys(self._gone, State.DELETED)
        return tuple([self._instance(name, state) for name, state in told.items() if state])

    def _instance(self, name: str, state: State) -> Instance:
        """Return the instance as a value; the same one as before while its state is the same."""
        before = self._before.get(name)
        if before is None or before.state is not state:
            before = self._before[name] = Instance(id=name, state=state)
        return before

    def _note_gone(self, told: Iterable[str]) -> None:
        """Count how often what is gone is still to be told, this time included."""
        living = tuple(told)
        now = frozenset(living)
        left = {name: times - 1 for name, times in self._gone.items()}
        for lost in [name for name in self._living if name not in now]:
            left[lost] = _TOLD_GONE
            self._before.pop(lost, None)
        self._gone = {name: times for name, times in left.items() if times and name not in now}
        self._living = living
