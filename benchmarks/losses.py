"""Half of a fleet's servers deleted at once: when it is shown, when proved, and when others begin.

The whole engine, in simulated time. A loss is to be shown with the first observation that lacks it,
and all are to be proved, from then on, within two requests each at the account's rate and one
observation; proofs that lie less than an absence gap apart prove nothing, so that it passes too.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from figures import Figure, show, silence
from theatre import FLEET, Asked, Theatre, fleet_file, load

from hostler.controllers.runtime.settings import Settings
from hostler.domain.ids import MachineId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.simulators.scaleway.state.options import Options

BOOT = 60.0
QUIET = Settings().quiet.total_seconds()
_WORLD = Options(boot=BOOT, boot_slow=BOOT, pace=0.0)
_REST = 125.0
_LONGEST = 3600.0
_GROWING = 10_000
"""At which rate the fleet is made: nothing is measured until it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Seconds from the deletion to each of these, and the requests a second until all is proved.

    `proving` counts from the first observation that lacked something.
    """

    shown: float
    replaced: float
    proving: float
    pace: float


class Scene:
    """One fleet of which half is deleted, and what its records say of it from then on."""

    def __init__(self, theatre: Theatre, size: int) -> None:
        self._theatre, self._size = theatre, size
        self._deleted_at = 0.0

    async def lose_half(self, rate: float) -> Loss:
        """Grow, rest at this rate, delete half at once, and wait until all losses are proved."""
        theatre = self._theatre
        async with theatre.running():
            await theatre.until_ready(self._size)
        theatre.slow_down(rate)
        async with theatre.running():
            await asyncio.sleep(_REST)
            assert theatre.ready() == self._size
            machines, before = self._machines(), Counter(theatre.world.calls)
            lost, old = machines[: self._size // 2], {machine.id for machine in machines}
            self._delete(lost)
            doubted, shown, replaced, (proved, calls) = await asyncio.gather(
                self._until(lambda: any(m.health.doubt for m in self._machines())),
                self._until(lambda: "not seen since" in self._condition()),
                self._until(lambda: any(m.id not in old for m in self._machines())),
                self._proved({machine.id for machine in lost}),
            )
        return Loss(
            shown=shown,
            replaced=replaced,
            proving=proved - doubted,
            pace=(calls - before).total() / proved,
        )

    async def _proved(self, lost: set[MachineId]) -> tuple[float, Counter[str]]:
        """Return when none of these is believed to be ready any more, and the requests by then."""
        took = await self._until(
            lambda: all(m.phase is not Phase.READY for m in self._machines() if m.id in lost)
        )
        return took, Counter(self._theatre.world.calls)

    def _delete(self, machines: tuple[Machine, ...]) -> None:
        for machine in machines:
            (server,) = (p.bound for p in machine.places if p.slot.kind == "server")
            assert self._theatre.world.act("server_deleted_by_hand", str(server))
        self._deleted_at = self._theatre.loop.time()

    def _machines(self) -> tuple[Machine, ...]:
        (loop,) = self._theatre.engine.loops
        return loop.state.living(FLEET)

    def _condition(self) -> str:
        (loop,) = self._theatre.engine.loops
        return loop.state.rows[FLEET].condition

    async def _until(self, holds: Callable[[], bool]) -> float:
        """Return how many seconds after the deletion something holds; the longest at most."""
        time = self._theatre.loop.time
        end = self._deleted_at + _LONGEST
        while not holds() and time() < end:  # noqa: ASYNC110 - simulated time
            await asyncio.sleep(0.25)
        return time() - self._deleted_at


def figures_of(loss: Loss, size: int, rate: float) -> Iterator[Figure]:
    """Say how long it took; what no rate can shorten is the absence gap."""
    lost = size // 2
    about = f"{lost:,} of {size:,} lost, {rate:g} calls/s"
    goal = 2 * lost / rate + QUIET
    yield Figure(f"{about}: until it is shown", QUIET + 2, loss.shown, "simulated s")
    yield Figure(
        f"{about}: from doubt to proof of all",
        goal,
        loss.proving,
        "simulated s",
    )
    yield Figure(f"{about}: until the first is replaced", None, loss.replaced, "simulated s")
    yield Figure(f"{about}: calls a second until all are proved", None, loss.pace, "calls")


def lost(size: int, rate: float, folder: Path) -> Iterator[Figure]:
    """Let one fleet lose half of its servers."""
    path = fleet_file(folder, Asked(size=size, rate=_GROWING, burst=_GROWING, probe="tcp"))
    theatre = Theatre(load(path), _WORLD)
    loss = theatre.loop.run_until_complete(Scene(theatre, size).lose_half(rate))
    theatre.check()
    return figures_of(loss, size, rate)


def main() -> None:
    """Lose half of a thousand at the highest rate and at the default, and half of five thousand."""
    silence()
    with tempfile.TemporaryDirectory() as folder:
        for size, rate in ((1000, 200.0), (1000, 10.0), (5000, 200.0)):
            show(lost(size, rate, Path(folder)))


if __name__ == "__main__":
    main()
