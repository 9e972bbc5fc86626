"""Metal scene: whole engines over a rack of boxes and the store in memory, in simulated time."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from hostler.domain.ids import HostId, ResourceId
from hostler.domain.model.capabilities import Cleaning, PowerLimits
from hostler.domain.model.host import Host
from hostler.domain.model.resource import Condition
from hostler.ports.provider import Provider
from hostler.testing.fakes.metal import FakeMetal, metal
from hostler.testing.fakes.metal_world import MetalWorld
from hostler.testing.scenes.builders import OFFER, ZONE

from .fake import FakeScene

NO_LIMITS = PowerLimits()


@dataclass(slots=True)
class MetalScene(FakeScene):
    """One rack of boxes, all off, that a fleet's machines take turns on."""

    boxes: int = 2
    cleaning: Cleaning = Cleaning.POWER_CYCLE
    power: PowerLimits = NO_LIMITS
    rack: MetalWorld = field(init=False)
    metal: FakeMetal = field(init=False)

    def __post_init__(self) -> None:
        FakeScene.__post_init__(self)
        self.rack = MetalWorld(self.world)
        self.metal = FakeMetal(self.rack, metal(self.cleaning, self.power, (ZONE,)))
        for number in range(1, self.boxes + 1):
            self.rack.add(f"box-{number}", ZONE, OFFER.type)

    def served(self) -> Provider:
        """Return the provider that engines are given."""
        return self.metal

    def condition(self, box: str = "box-1") -> Condition:
        """Return how a box truly stands now."""
        return self.world.resources[ResourceId(box)].condition

    def times(self, condition: Condition, boxes: Iterable[str] = ("box-1",)) -> list[timedelta]:
        """Return when these boxes came to stand so, since the first moment of the log."""
        names = frozenset(boxes)
        log = self.rack.log
        return [e.at - log[0].at for e in log if str(e.box) in names and e.condition is condition]

    async def host(self, box: str = "box-1") -> Host | None:
        """Return the record of a box, where there is one."""
        return next((h for h in await self.store.hosts() if h.id == HostId(box)), None)
