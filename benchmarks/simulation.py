"""How much faster than life a fleet is simulated: ten machines, on a calm day and in bad weather.

The whole program but its command line runs over the simulated Scaleway in simulated time.
"""

import asyncio
import tempfile
import time
from pathlib import Path

from figures import FASTER, Figure, show, silence
from theatre import Asked, Theatre, fleet_file, load

from hostler.simulators.scaleway.faults.rates import CALM, LIVELY, FaultRates
from hostler.simulators.scaleway.state.options import Options

SIZE = 10
DAY = 24 * 3600.0
HOURS = 4 * 3600.0
"""What is simulated of a day with weather; it costs more, and says the same."""


async def _live(theatre: Theatre, span: float) -> None:
    async with theatre.running():
        await asyncio.sleep(span)


def speed(fault_rates: FaultRates, span: float) -> float:
    """Return how many times faster than life a span was simulated, by the CPU that it took."""
    with tempfile.TemporaryDirectory() as folder:
        config = load(fleet_file(Path(folder), Asked(size=SIZE, probe="tcp")))
    theatre = Theatre(config, Options(generation="mixed"), fault_rates)
    cpu = time.process_time()
    theatre.loop.run_until_complete(_live(theatre, span))
    cpu = time.process_time() - cpu
    theatre.check()
    assert theatre.ready() or fault_rates is not CALM
    return span / cpu


def main() -> None:
    """Measure both."""
    silence()
    show(
        (
            Figure(f"simulation: {SIZE} machines, a calm day", 10_000, speed(CALM, DAY), FASTER),
            Figure(
                f"simulation: {SIZE} machines, lively weather", None, speed(LIVELY, HOURS), FASTER
            ),
        )
    )


if __name__ == "__main__":
    main()
