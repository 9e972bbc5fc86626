"""Report: every instance of the group, from memory, as Update answers it."""

from collections.abc import Collection, Iterable
from datetime import datetime
from operator import attrgetter

from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.frontends.fleeting.contract import Instance, State

from .states import state_of

_REPORTS_OF_DELETED = 3
"""How many updates report that an instance is deleted: a runner drops it at the first of them."""


class Report:
    """Remembers which instances were reported, so that those deleted since are reported as such.

    Used from one thread at a time. Losing it costs the runner five updates for those deleted then.
    """

    def __init__(self, fleet: Fleet, offered: frozenset[State]) -> None:
        self._fleet, self._offered = fleet, offered
        self._living: tuple[str, ...] = ()
        self._deleted = dict[str, int]()
        self._before = dict[str, Instance]()

    def instances(
        self,
        machines: Iterable[Machine],
        requested: Iterable[MachineId],
        now: datetime,
        protected: Collection[MachineId] = (),
    ) -> tuple[Instance, ...]:
        """Return all instances: the machines on record, those only requested, and those deleted.

        `protected` are those that somebody forbade to delete at the provider.
        """
        states, fleet, offered = dict[str, State | None](), self._fleet, self._offered
        for machine in sorted(machines, key=attrgetter("serial", "id")):
            undeletable = machine.id in protected
            states[machine.id] = state_of(machine, fleet, now, offered, protected=undeletable)
        for name in requested:
            states.setdefault(name, State.CREATING)
        self._note_deleted(states)
        if State.DELETED in self._offered:
            states |= dict.fromkeys(self._deleted, State.DELETED)
        return tuple([self._instance(name, state) for name, state in states.items() if state])

    def _instance(self, name: str, state: State) -> Instance:
        """Return the instance as a value; the same one as before while its state is the same."""
        before = self._before.get(name)
        if before is None or before.state is not state:
            before = self._before[name] = Instance(id=name, state=state)
        return before

    def _note_deleted(self, names: Iterable[str]) -> None:
        """Count how often each deleted one is still to be reported, this time included."""
        living = tuple(names)
        now = frozenset(living)
        left = {name: times - 1 for name, times in self._deleted.items()}
        for lost in [name for name in self._living if name not in now]:
            left[lost] = _REPORTS_OF_DELETED
            self._before.pop(lost, None)
        self._deleted = {name: times for name, times in left.items() if times and name not in now}
        self._living = living
