"""MetalWorld: boxes in a rack that are switched on and off, and never made or removed by us."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import ResourceId, Zone
from hostler.domain.model.host import HOST
from hostler.domain.model.resource import Condition, Resource

from .world import FakeWorld

WORDS = {
    "off": Condition.OFF,
    "booting": Condition.STARTING,
    "on": Condition.UP,
    "shutting down": Condition.STOPPING,
    "broken": Condition.FAILED,
}
"""The words of a management controller, and ours for them."""

SILENT = "silent"
"""The word for a box whose management controller does not answer."""

_WORD_FOR = {condition: word for word, condition in WORDS.items()}

_ENDS = {Condition.STARTING: Condition.UP, Condition.STOPPING: Condition.OFF}
"""Where a boot and a shutdown lead."""


class Switched(Struct, frozen=True):
    """A box came to stand otherwise: when, and how."""

    at: datetime
    box: ResourceId
    condition: Condition


@dataclass(slots=True)
class MetalWorld:
    """What truly stands in the rack, over the time and the journal of a fake world.

    `ignoring` are boxes whose controllers accept commands and do nothing, `slow` those that do
    after this time what they accepted, `silent` those whose controllers do not answer; `cleaned`
    are those of which a cleaning command was seen to end since
    a machine last had them. `log` is every change of power that truly took place, and `began` how
    each box stood when it was listed.
    """

    world: FakeWorld
    ignoring: set[ResourceId] = field(default_factory=set[ResourceId])
    slow: dict[ResourceId, timedelta] = field(default_factory=dict[ResourceId, timedelta])
    silent: set[ResourceId] = field(default_factory=set[ResourceId])
    cleaned: set[ResourceId] = field(default_factory=set[ResourceId])
    log: list[Switched] = field(default_factory=list[Switched])
    began: dict[ResourceId, Condition] = field(default_factory=dict[ResourceId, Condition])

    def add(
        self, name: str, zone: Zone, kind: str = "small", condition: Condition = Condition.OFF
    ) -> ResourceId:
        """Put a box into the rack."""
        number = len(self.world.resources) + 1
        box = Resource(
            id=ResourceId(name),
            slot=HOST,
            zone=zone,
            type=kind,
            status=_WORD_FOR[condition],
            condition=condition,
            created=self.world.clock.now(),
            price=0.02,
            name=name,
            address=f"192.0.2.{number}",
        )
        return self._list(box)

    def _list(self, box: Resource) -> ResourceId:
        """Have a box under its name from now on."""
        self.began[box.id] = box.condition
        return self.world.add(box).id

    def boxes(self) -> tuple[Resource, ...]:
        """Return the boxes that are there, by id."""
        self.world.catch_up()
        return tuple(self.world.resources[name] for name in sorted(self.world.resources))

    def box(self, box: ResourceId) -> Resource | None:
        """Return a box as it stands now; None where there is none of this id."""
        self.world.catch_up()
        return self.world.resources.get(box)

    def switch_on(self, box: ResourceId) -> None:
        """Give a box power, whoever asks for it; what is on stays on."""
        there = self.box(box)
        if there is not None and there.condition is Condition.OFF:
            self._become(box, Condition.STARTING)
            self._lead_on(box, Condition.UP)

    def switch_off(self, box: ResourceId) -> None:
        """Let a box shut down, whoever asks for it; what is off stays off."""
        there = self.box(box)
        if there is not None and there.condition in {Condition.STARTING, Condition.UP}:
            self._become(box, Condition.STOPPING)
            self._lead_on(box, Condition.OFF)

    def cut(self, box: ResourceId) -> None:
        """Take a box's power away: it is off at once, whatever runs on it."""
        there = self.box(box)
        if there is not None and there.condition not in {Condition.OFF, Condition.FAILED}:
            self._become(box, Condition.OFF)

    def break_down(self, box: ResourceId) -> None:
        """Let a box break: it does nothing any more until it is mended."""
        if self.box(box) is not None:
            self._become(box, Condition.FAILED)

    def mend(self, box: ResourceId) -> None:
        """Let somebody mend a box, and leave it switched off."""
        there = self.box(box)
        if there is not None and there.condition is Condition.FAILED:
            self._become(box, Condition.OFF)

    def remove(self, box: ResourceId) -> Resource | None:
        """Take a box out of the rack; return it as it stood."""
        self.world.catch_up()
        return self.world.resources.pop(box, None)

    def rename(self, box: ResourceId, name: str) -> None:
        """Let somebody list a box under another name: it is another host from then on.

        It goes on booting, or shutting down.
        """
        there = self.remove(box)
        if there is not None:
            new = self._list(replace(there, id=ResourceId(name), name=name))
            if there.condition in _ENDS:
                self._lead_on(new, _ENDS[there.condition])

    def _lead_on(self, box: ResourceId, end: Condition) -> None:
        """Let a boot, or a shutdown, end after its time."""
        since, pace = len(self.log), self.world.pace
        time = pace.boot if end is Condition.UP else pace.removal
        self.world.plan(time, lambda: self._arrive(box, since, end))

    def _arrive(self, box: ResourceId, since: int, condition: Condition) -> None:
        """Come to the end of a boot or a shutdown, unless something else happened since."""
        if not any(entry.box == box for entry in self.log[since:]):
            self._become(box, condition)

    def _become(self, box: ResourceId, condition: Condition) -> None:
        there = self.world.resources.get(box)
        if there is not None:
            word = _WORD_FOR[condition]
            self.world.resources[box] = replace(there, condition=condition, status=word)
            self.log.append(Switched(self.world.clock.now(), box, condition))
