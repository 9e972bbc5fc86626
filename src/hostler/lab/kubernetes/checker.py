"""The checker: what objects say of machines is held against records and the truth.

host      no HostlerMachine says that its machine is ready while no record has its host.
same      no two objects have one machine, nor two that are ready one provider's id.
waits     no HostlerMachine says for long that it waits for bootstrap data that is there.
alone     of several engines no two believe at once that they decide, or that they write.
drain     and whatever else concerns Nodes, where machines are some: see nodes/checker.py.
once      and whatever else concerns scripts, where machines have some: see scripts/checker.py.
fight     at rest nothing is written to the API.
L1        when faults cease, the Machines that are wanted have hosts, and the others have left.
"""

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from hostler.domain.ids import FleetName, HostId, MachineId
from hostler.domain.model.calls import Call, Shows
from hostler.domain.model.commands import Event
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.lab.checks.holds import HEARD
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.power.checker import PowerChecker
from hostler.testing.invariants import Violation

from .nodes.world import NodesWorld
from .scripts.checker import ScriptsJudge
from .simulated_cluster import Raw
from .site import Site, is_ready, provisioned

NOTICED = 900.0
"""So long, in seconds, a machine may be gone before its object says so, faults and all."""
_AGAIN = f"{Phase.STOPPING}>{Phase.PENDING}"


class ObjectsChecker(PowerChecker):
    """What is common to all runs in a cluster: machines with boxes, that may be its Nodes."""

    nodes: NodesWorld | None = None
    noticed: float = NOTICED
    _led_at: float = 0.0
    _cared_for: float = 0.0

    def wrong(self, invariant: str, text: str, machine: str = "") -> None:
        """Note that something does not hold."""
        found = Violation(invariant=invariant, text=text, machine=MachineId(machine) or None)
        self.found((found,))

    def saves_late(self, shadow: ShadowStore, times: int) -> None:
        """Let what engines must save be done so many times later than else."""
        self.lag.bounds = {true: bound * times for true, bound in self.lag.bounds.items()}
        if shadow.bounds is not None:
            shadow.bounds.slack *= times

    def alone(self, processes: list[str], act: str) -> None:
        """Check that one process at most believes that it may act."""
        if len(processes) > 1:
            self.wrong("alone", f"{' and '.join(processes)} both believe that they {act}")

    def stays_on(self, box: HostId) -> bool:
        """Tell whether a box's Node may never be ended."""
        return self.nodes is not None and self.nodes.guards(box)

    def led_by(self, fleet: FleetName, process: str) -> None:
        """Note since when anybody leads: an engine that begins has its time for every object."""
        super().led_by(fleet, process)
        self._led_at = self.now

    def _may_be_chosen(self, box: HostId) -> bool:
        """Tell whether a box may be chosen; one that is on stays so while no Node is known."""
        on = self.truth.condition(box) is Condition.UP
        unsure = on and self.nodes is not None and not self.nodes.are_known(self._led_at)
        return not (unsure or (on and self._is_freed(box))) and super()._may_be_chosen(box)

    def _is_freed(self, box: HostId) -> bool:
        """Tell whether a box's Node guards it no more just now: no engine need have heard of it."""
        freed = self.nodes.freed(box) if self.nodes is not None else None
        return freed is not None and self.now - freed < HEARD

    def look_at_nodes(self) -> None:
        """Check how Nodes stand now, where machines are some."""
        if self.nodes is not None:
            self.nodes.look(self.noticed, max(self._led_at, self._cared_for))

    def machine_saved(
        self, shadow: ShadowStore, machine: Machine, events: tuple[Event, ...]
    ) -> None:
        """Check a record that was saved."""
        super().machine_saved(shadow, machine, events)
        if self.nodes is not None:
            self.nodes.saved(machine)

    def obeyed(self, call: Call, box: HostId, *, stopped: bool) -> None:
        """Judge a command of ours at the moment of its effect."""
        if self.nodes is not None and call.shows is Shows.REST:
            self.nodes.switched_off(box)
        super().obeyed(call, box, stopped=stopped)


class ClusterChecker(ObjectsChecker):
    """All checkers of one run of Cluster API, beside those of the machines and their boxes."""

    site: Site | None = None
    scripts: ScriptsJudge | None = None
    _since: dict[str, float]

    @property
    def since(self) -> dict[str, float]:
        """Since when each name stands where it should not stand for long."""
        self._since = getattr(self, "_since", {})
        return self._since

    def objects(self) -> None:
        """Check what the objects say now."""
        self.look_at_nodes()
        if self.site is None:
            return
        items = self.site.hostler_machines()
        if self.scripts is not None:
            for one in provisioned(items):
                self.scripts.provisioned(MachineId(str(one["spec"].get("machineID", ""))))
        for name in _shared(items, "machineID"):
            self.wrong("same", f"objects share {name}")
        living = {machine.id: machine for shadow in self.shadows for machine in shadow.living()}
        hosted = {name for name, machine in living.items() if machine.host is not None}
        ready = {
            str(one["spec"].get("machineID", "")) for one in provisioned(items) if is_ready(one)
        }
        shared = _shared(filter(is_ready, items), "providerID")
        waits = {str(one["metadata"]["uid"]) for one in items if self._waits_for_nothing(one)}
        away = self.site.gateway.down  # nobody writes on objects: what is wrong counts anew
        for name in self.since.keys() - (set() if away else (ready - hosted) | shared | waits):
            del self.since[name]
        lately = self.now - self._led_at <= self.noticed
        for name in self._for_long(waits) if not lately else ():
            self.wrong("waits", f"object {name} waits for bootstrap data, which is there")
        for name in self._for_long(ready - hosted):
            self.wrong("host", f"{name} is said to be ready and has no host", name)
        # What is lost keeps its id until core lets it go, and its box may be another's by then.
        for name in self._for_long(shared):
            self.wrong("same", f"objects that are ready share {name}")

    def _waits_for_nothing(self, item: Raw) -> bool:
        """Tell whether an object says that it waits for data that is there."""
        known = self.site is not None and self.site.has_data
        return known and _reason(item) == "WaitingForBootstrapData"

    def _for_long(self, names: set[str]) -> list[str]:
        """Return those of some names that stood here at each look for too long."""
        for name in names:
            self.since.setdefault(name, self.now)
        return [name for name in sorted(names) if self.now - self.since[name] > self.noticed]

    def machine_saved(
        self, shadow: ShadowStore, machine: Machine, events: tuple[Event, ...]
    ) -> None:
        """Check a record that was saved."""
        before = shadow.machines.get(machine.id)
        begun_again(shadow, machine, events)
        super().machine_saved(shadow, machine, events)
        if self.scripts is not None:
            self.scripts.saved(before, machine)


def begun_again(shadow: ShadowStore, machine: Machine, events: tuple[Event, ...]) -> None:
    """Note that a start began again: one save may have that move, and the next one."""
    before = shadow.machines.get(machine.id)
    if before is not None and any(event.detail.startswith(_AGAIN) for event in events):
        shadow.machines[machine.id] = replace(before, phase=Phase.PENDING)


def _reason(item: Raw) -> str:
    """Return why one of our objects is not ready."""
    conditions = item.get("status", {}).get("conditions", ())
    return next((str(one["reason"]) for one in conditions if one["type"] == "Ready"), "")


def _shared(items: Iterable[Raw], field: str) -> set[str]:
    """Return what more than one object has in a field of its spec."""
    counts = Counter(str(one["spec"].get(field, "")) for one in items)
    return {name for name, times in counts.items() if name and times > 1}
