"""The timeline: what happens in the demo, and when: sizes, a crash, a lost record, a person."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

from msgspec import Struct

from hostler.domain.ids import FleetName
from hostler.domain.model.phases import Phase

from .engines import IOS, POOL, POOLED, TESTS, TYPE, ZONE, Engines

LENT = "lent to ann"
_HOUR = timedelta(hours=1)
_MINUTE = timedelta(minutes=1)
LENGTH = 168 * _HOUR
"""A week: everything rests by then."""

Announce = Callable[[str], None]
Action = Callable[["Timeline"], Awaitable[None]]


class TimelineEvent(Struct, frozen=True):
    """Something that happens at a time of the week."""

    at: timedelta
    action: Action


@dataclass(slots=True)
class Timeline:
    """Lets things happen to the engines as the week goes on; `announce` tells of each."""

    engines: Engines
    announce: Announce
    faults: dict[str, int] = field(default_factory=dict[str, int])
    done: int = 0

    def begin(self) -> None:
        """Stock the pool."""
        self.engines.world.stock_macs(POOLED, TYPE, ZONE, POOL)
        self.announce(
            f"{POOLED} Macs are in the pool; whoever had them may have left anything on them"
        )

    async def go_on(self) -> None:
        """Let happen what is due by now."""
        passed = timedelta(seconds=self.engines.loop.time())
        while self.done < len(EVENTS) and EVENTS[self.done].at <= passed:
            event = EVENTS[self.done]
            self.done += 1
            await event.action(self)

    async def scale(self, fleet: FleetName, size: int) -> None:
        """Ask for a size."""
        self.announce(f"{fleet} is asked to have {size}")
        await self.engines.scale(fleet, size)

    def strike(self, fault: str) -> None:
        """Count a fault."""
        self.faults[fault] = self.faults.get(fault, 0) + 1


def scaled(fleet: FleetName, size: int) -> Action:
    """Return the request of a size."""

    async def action(timeline: Timeline) -> None:
        await timeline.scale(fleet, size)

    return action


async def arm(timeline: Timeline) -> None:
    """Let the engine die after the effect of its next rename: a claim that no record tells of."""

    def die() -> None:
        timeline.announce(
            "trouble: hostler is killed: a host bears its claim, and no record says so"
        )
        timeline.strike("killed_after_claim")
        timeline.engines.kill()

    if timeline.engines.wire is not None:
        timeline.engines.wire.arm(die)


async def take_over(timeline: Timeline) -> None:
    """Start another engine over the same records."""
    timeline.announce("another hostler starts over the same records")
    timeline.engines.start()


async def forget(timeline: Timeline) -> None:
    """Delete the record of a ready machine by force."""
    machines = await timeline.engines.store.machines(IOS)
    machine = next((one for one in machines if one.phase is Phase.READY), None)
    if machine is not None and timeline.engines.store.remove_record(machine.id):
        timeline.announce(
            f"trouble: somebody deletes the record of {machine.id} by force: its host stays"
        )
        timeline.strike("record_deleted_by_force")


async def lend(timeline: Timeline) -> None:
    """Let a person take free hosts out of the pool, by renaming them."""
    console = timeline.engines.world.console
    free = [mac for mac in timeline.engines.world.cloud.macs if mac.name.startswith(POOL)]
    for mac in free[:4]:
        console.rename(mac.id, LENT)
        timeline.strike("host_taken_by_hand")
    timeline.announce("trouble: ann takes 4 hosts out of the pool, for some days")


async def give_back(timeline: Timeline) -> None:
    """Let her put them back, as she leaves them."""
    console = timeline.engines.world.console
    lent = [mac for mac in timeline.engines.world.cloud.macs if mac.name == LENT]
    for number, mac in enumerate(lent, start=1):
        console.rename(mac.id, f"{POOL}ann-{number}")
    timeline.announce("ann puts her hosts back into the pool, unwiped: they are dirty until proved")


async def open_up(timeline: Timeline) -> None:
    """Start the first engine."""
    timeline.announce(
        "hostler starts: ios is to have 2, tests none; each may order 3 hosts at most"
    )
    timeline.engines.start()


EVENTS = (
    TimelineEvent(timedelta(0), open_up),
    TimelineEvent(24 * _HOUR - _MINUTE, arm),
    TimelineEvent(24 * _HOUR, scaled(IOS, 4)),
    TimelineEvent(24 * _HOUR + 20 * _MINUTE, take_over),
    TimelineEvent(30 * _HOUR, scaled(TESTS, 4)),
    TimelineEvent(36 * _HOUR, scaled(TESTS, 0)),
    TimelineEvent(50 * _HOUR, scaled(TESTS, 3)),
    TimelineEvent(53 * _HOUR, scaled(TESTS, 0)),
    TimelineEvent(60 * _HOUR, scaled(IOS, 1)),
    TimelineEvent(66 * _HOUR, forget),
    TimelineEvent(72 * _HOUR, lend),
    TimelineEvent(80 * _HOUR, scaled(IOS, 3)),
    TimelineEvent(96 * _HOUR, scaled(TESTS, 1)),
    TimelineEvent(130 * _HOUR, scaled(TESTS, 0)),
    TimelineEvent(156 * _HOUR, scaled(IOS, 0)),
    TimelineEvent(160 * _HOUR, give_back),
)
"""The week. *ios* goes 2 → 4 → 1 → 3; *tests* has two bursts and a long run. What the pool cannot
serve is ordered: twice two hosts for the bursts (kept, at rest, from one to the other), and two
more while ann has most of the pool."""
