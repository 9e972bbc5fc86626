"""A scenario of a roll: Macs of a pool, the Machines on them, and what goes wrong meanwhile."""

from random import Random

from msgspec import Struct
from msgspec.structs import replace

from hostler.lab.macs.faults import BEYOND, PEOPLE, PUT_BACK, MacScenario, draw_macs
from hostler.lab.scenario.faults import HOUR, Size
from hostler.lab.scenario.file_faults import FILE_FAULTS
from hostler.lab.scenario.store_faults import STORE_OF_HOSTS
from hostler.simulators.scaleway.faults.rates import FaultRates
from hostler.simulators.scaleway.state.options import Stock

_SHARE, _OLDEST = 0.12, 18 * HOUR
_POOL = "pool-"
_ELSEWHERE = BEYOND | {
    "clock_jump",
    "two_replicas",
    "lease_lost",
    "store_lost",
    "resource_without_record",
    "second_installation",
    *PEOPLE,
    PUT_BACK,
    *STORE_OF_HOSTS,
    *FILE_FAULTS,
}
"""What makes it unknown for long what is true, or takes hosts away: that is simulated apart."""


class RollScenario(Struct, frozen=True, kw_only=True):
    """What one seed draws of a roll: how many Machines there are, and when they are rolled.

    `ages` are how long ago, in seconds, the hosts were bought: within their billing floor.
    """

    macs: MacScenario
    machines: int
    at: float
    ages: tuple[float, ...]


def draw_roll(seed: int, span: float) -> RollScenario | None:
    """Draw a roll, for some seeds: None for the others; by dice of its own."""
    rng = Random(f"hostler kubernetes rolls 15: {seed}")
    return rolled(seed, span, rng) if rng.random() < _SHARE else None


def rolled(seed: int, span: float, rng: Random) -> RollScenario:
    """Draw a roll that lasts for so many seconds, whatever the seed."""
    macs = draw_macs(seed, Size(days=span / (24 * HOUR)), plain=True)
    machines = rng.randint(2, 4)
    hosts = machines + rng.randint(1, 2)
    faults = tuple(fault for fault in macs.base.faults if fault not in _ELSEWHERE)
    rates = {name: rate for name, rate in macs.base.world.rates.items() if name in faults}
    base = replace(
        macs.base,
        machines=hosts,
        faults=faults,
        world=FaultRates(rates, macs.base.world.spells),
        disruptions=tuple(one for one in macs.base.disruptions if one.fault in faults),
        actions=(),
        replicas=1,
        second=None,
        probe="tcp",
    )
    stocks = (Stock(hosts, "M2-L", prefix=_POOL),)
    pool = replace(macs, base=base, stocks=stocks, pools=(_POOL,), beyond=False, namesakes=False)
    return RollScenario(
        macs=pool,
        machines=machines,
        at=rng.uniform(0.15, 0.4) * span,
        ages=tuple(rng.uniform(HOUR, _OLDEST) for _ in range(hosts)),
    )
