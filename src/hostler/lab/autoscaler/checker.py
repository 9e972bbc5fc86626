"""The checker: what Cluster Autoscaler is answered is held against records and the truth.

groups  there is always the same node group, once a loop may begin.
nodes   an instance that is listed is found again, and stands as its box does.
target  it changes by what was granted, at once, and by nothing where that was refused.
orders  no more nodes are ordered than the pods need.
ends    no machine goes for Cluster Autoscaler's sake that it did not give up.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from math import inf

from msgspec.structs import replace

from hostler.domain.ids import HostId, MachineId
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.frontends.externalgrpc.calls import State
from hostler.frontends.externalgrpc.group import ACTOR
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.checks.trace import Trace
from hostler.lab.metal.faults import MetalScenario
from hostler.lab.metal.ground_truth import MetalTruth
from hostler.lab.power.checker import PowerChecker
from hostler.testing.invariants import Violation
from hostler.testing.time.clock import BEGINNING

from .calls import Seen
from .cluster import PROVIDER_ID

_NOTICED = 900.0
"""So long, in seconds, a box may be down before whoever looks knows of it."""
_READ = 1.0
"""So long, in seconds, core may go by what it read before a machine or its box recovered."""
_AGAIN = f"{Phase.STOPPING}>{Phase.PENDING}"
_COUNTS = frozenset({Phase.PENDING, Phase.STARTING, Phase.READY})


class AutoscalerChecker(PowerChecker):
    """All checkers of one run of Cluster Autoscaler, beside those of the machines and their boxes.

    `saves` counts what was recorded; `owed` are the nodes that were ordered and have no record yet;
    `asked` are the machines whose deletion was asked for, and not refused; `_spared` are those of
    which it was refused as somebody protects them, or that core keeps as its group is at its least.
    """

    saves = 0
    owed = 0
    _given_up = 0
    _to_come: frozenset[MachineId] = frozenset()

    def __init__(
        self, truth: MetalTruth, trace: Trace, consistency_delay: float, scenario: MetalScenario
    ) -> None:
        super().__init__(truth, trace, consistency_delay, scenario)
        self.asked = set[MachineId]()
        self._recovered = dict[MachineId, float]()
        self._spared = set[MachineId]()

    def wrong(self, invariant: str, text: str) -> None:
        """Note that something does not hold."""
        self.found((Violation(invariant=invariant, text=text),))

    def noted(self, text: str) -> None:
        """Put what core asked into the story."""
        self.trace.note(f"Cluster Autoscaler: {text}")

    @property
    def _time(self) -> datetime:
        return BEGINNING + timedelta(seconds=self.truth.now)

    def _living(self) -> list[Machine]:
        return [machine for shadow in self.shadows for machine in shadow.living()]

    # ------------------------------------------------------------ what is asked

    def orders(self, delta: int, demand: int) -> None:
        """Check an order before it is made: by what is truly there, or truly on its way."""
        coming = [machine for machine in self._living() if self._is_capacity(machine)]
        there = len(coming) + self.owed - max(0, self._given_up)
        if there + delta > demand:
            text = f"{delta} more than {there}, {self.owed} of them just ordered; needed: {demand}"
            self.wrong("orders", text)

    def _is_capacity(self, machine: Machine) -> bool:
        ends = machine.deletion is not None or machine.id in self.asked
        recovered = self.now - self._recovered.get(machine.id, -inf) < _READ
        if ends or recovered or machine.phase not in _COUNTS:
            return False
        never_came = machine.health.was_ready is None
        is_lost = machine.id in self._spared if never_came else machine.phase is Phase.READY
        return not (is_lost and machine.host is not None and self._was_down(machine.host))

    def _was_down(self, box: HostId) -> bool:
        """Tell whether a box is not up, or was not when core read how its Node stands."""
        up_for = self.truth.now - self.truth.since(box)
        return self.truth.condition(box) is not Condition.UP or up_for < _READ

    def ordered(self, delta: int) -> None:
        """Note an order that was granted."""
        self.noted(f"increase {delta}")
        self.owed += delta

    def coming(self) -> int:
        """Return how many nodes are on their way that never came, and that nobody protects."""
        return len(self._never_came()) + self.owed

    def _never_came(self) -> frozenset[MachineId]:
        now = self._time
        return frozenset(
            machine.id
            for machine in self._living()
            if machine.deletion is None
            and machine.id not in self.asked
            and machine.health.was_ready is None
            and machine.phase in _COUNTS
            and not machine.is_protected(now)
        )

    def gives_up(self, many: int) -> None:
        """Note that so many that have not come may go, also if they come before they are told."""
        self._given_up += many
        self._to_come |= self._never_came()

    def deletes(self, names: Iterable[str]) -> set[MachineId]:
        """Note that the machines of these instances may go; return those that might not before."""
        new = {name for name in map(self._machine_of, names) if name is not None} - self.asked
        self.asked.update(new)
        return new

    def spares(self, machines: set[MachineId]) -> None:
        """Note that the deletion of these was refused: in place of one protected, core orders."""
        self.asked.difference_update(machines)
        now = self._time
        self._spared |= {m.id for m in self._living() if m.id in machines and m.is_protected(now)}

    def keeps(self, instances: Iterable[str]) -> None:
        """Note that these are not waited for any longer: in place of each core orders another."""
        self._spared |= {name for name in map(self._machine_of, instances) if name is not None}

    def _machine_of(self, instance: str) -> MachineId | None:
        """Return the machine that an instance is by its id: its box's, or the one that is named."""
        own = MachineId(instance.rpartition("/")[2])
        by_host = (m.id for m in self._living() if _provider_id(m) == instance)
        return next(by_host, own if instance.startswith("hostler:///") else None)

    def ready_since(self, box: HostId) -> float | None:
        """Return since when the machine that has a box is ready; None where none is."""
        ready = (m for m in self._living() if m.host == box and m.phase is Phase.READY)
        machine = next(ready, None)
        return None if machine is None else (machine.since - BEGINNING).total_seconds()

    # ------------------------------------------------------------ what is listed

    def instances(self, seen: Sequence[Seen]) -> None:
        """Check a list of instances: each has an id of its own, and what runs is up, and stays."""
        for name, times in Counter(one.id for one in seen).items():
            if times > 1 or not name:
                self.wrong("nodes", f"{times} instances are called {name!r}")
        for one in seen:
            if one.state == State.RUNNING and not self._may_run(one.id):
                self.wrong("nodes", f"{one.id} is said to run, and its box is off")
            if one.state != State.DELETING and self._machine_of(one.id) in self.asked:
                self.wrong("nodes", f"{one.id} is to be deleted, and is not said to be")

    def _may_run(self, instance: str) -> bool:
        prefix = PROVIDER_ID.format(host="")
        if not instance.startswith(prefix):
            return False
        box = HostId(instance.removeprefix(prefix))
        off = self.truth.condition(box) is Condition.OFF  # what is broken says nothing of itself
        return not off or self.now - self.truth.since(box) < _NOTICED

    # ------------------------------------------------------------ what is recorded

    def machine_saved(
        self, shadow: ShadowStore, machine: Machine, events: tuple[Event, ...]
    ) -> None:
        """Check a record that was saved: who goes for Cluster Autoscaler's sake was given up."""
        self.saves += 1
        before = shadow.machines.get(machine.id)
        if before is not None and any(event.detail.startswith(_AGAIN) for event in events):
            # One save may have two moves: the start that failed, and the next one.
            shadow.machines[machine.id] = replace(before, phase=Phase.PENDING)
        if before is not None and before.phase is Phase.FAILED and machine.phase in _COUNTS:
            self._recovered[machine.id] = self.now
        super().machine_saved(shadow, machine, events)
        deletion = machine.deletion
        if deletion is None or deletion.actor != ACTOR or machine.id in self.asked:
            return
        if before is not None and before.deletion is not None:
            return
        self.asked.add(machine.id)
        self._given_up -= 1
        had_come = machine.health.was_ready is not None and machine.id not in self._to_come
        if self._given_up < 0 or had_come:
            text = f"{machine.id} is deleted for {ACTOR}, which did not give it up"
            self.found((Violation(invariant="ends", text=text, machine=machine.id),))
        if self._given_up <= 0:
            self._to_come = frozenset()

    def fleet_saved(
        self,
        shadow: ShadowStore,
        row: FleetRow,
        inserts: tuple[Machine, ...],
        events: tuple[Event, ...],
    ) -> None:
        """Note the records of what was ordered."""
        self.saves += 1
        self.owed = max(0, self.owed - len(inserts))
        super().fleet_saved(shadow, row, inserts, events)


def _provider_id(machine: Machine) -> str:
    return PROVIDER_ID.format(host=machine.host) if machine.host is not None else ""
