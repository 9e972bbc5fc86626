"""A scenario of owned metal: what one seed is made of, drawn before it begins."""

from collections.abc import Mapping
from datetime import timedelta
from random import Random

from msgspec import Struct, field
from msgspec.structs import replace

from hostler.domain.model.capabilities import Cleaning, PowerLimits
from hostler.domain.model.hold import HoldKind
from hostler.lab.scenario.faults import (
    HOUR,
    Disruption,
    OperatorAction,
    Scenario,
    Size,
    draw_actions,
    draw_port,
    draw_rates,
    host_actions,
    on_sqlite,
    pick_faults,
    severity_of,
    with_unknown_host,
)
from hostler.lab.scenario.file_faults import FileDice, with_file_edits
from hostler.lab.scenario.host_requests import with_holds
from hostler.lab.scenario.store_faults import (
    with_records_removed,
    with_store_of_hosts_by_hand,
)
from hostler.simulators.scaleway.faults.rates import FaultRates

DAYS = 0.12

CALLS = (
    "power_ignored",
    "power_late",
    "power_lost",
    "power_unsent",
    "power_hung",
    "power_busy",
)
"""What befalls a command to a box: obeyed never or later, answered never, refused for a moment."""

PEOPLE = (
    "switched_off_by_hand",
    "switched_on_by_hand",
    "box_breaks",
    "box_renamed",
    "box_removed",
    "controller_silent",
)
"""What happens to a box beside all engines."""

STRUCK = (
    "crash",
    "paused",
    "suspended",
    "clock_jump",
    "store_busy",
    "disk_full",
    "network_down",
    "lease_lost",
)
ALL = (*CALLS, *PEOPLE, *STRUCK, "two_replicas")
"""Every fault that a run of metal knows."""

_RATES: Mapping[str, float] = dict.fromkeys(CALLS, 0.08)
_EVERY = 1.5 * HOUR
_ON_SQLITE = 0.5
_STORE_DICE = "hostler store of hosts 60"
_FILE_DICE = FileDice(
    removed="hostler file of metal 19",
    protected="hostler protected fleets of metal 46",
    replaced="hostler replacements of metal 226",
)
_REMOVED_DICE = "hostler records removed of metal 135"
_HOST_DICE = "hostler unknown host of metal 13"
_HOLD_DICE = "hostler holds of metal 13"
_KINDS = host_actions(4)
_S = timedelta(seconds=1)


class MetalScenario(Struct, frozen=True, kw_only=True):
    """Everything that one seed draws: faults, boxes, how they are cleaned, and power limits."""

    base: Scenario
    boxes: int
    cleaning: Cleaning = Cleaning.POWER_CYCLE
    power: PowerLimits = PowerLimits()
    rates: Mapping[str, float] = field(default_factory=dict[str, float])


def draw_metal(seed: int, size: Size) -> MetalScenario:
    """Draw the scenario of a seed; the same seed and size, the same scenario."""
    drawn = draw_rack(seed, size)
    return replace(drawn, base=with_holds(drawn.base, _HOLD_DICE, tuple(HoldKind)))


def draw_rack(seed: int, size: Size) -> MetalScenario:
    """Draw all of it but the hosts that people hold."""
    rng = Random(f"hostler metal {seed}")
    severity, span = severity_of(seed), size.days * 24 * HOUR
    faults = pick_faults(seed, ALL, rng, storm=12)
    actions = draw_actions(rng.randint(3, 14), _KINDS, span, (300, HOUR), rng)
    machines = size.machines or rng.choice((1, 2, 3, 4))
    base = Scenario(
        seed=seed,
        severity=severity,
        machines=machines,
        span=span,
        world=FaultRates({}),
        faults=faults,
        disruptions=_disruptions(faults, actions, span, rng),
        actions=actions,
        replicas=2 if "two_replicas" in faults or rng.random() < 0.2 else 1,
        sqlite=rng.random() < 0.1 or on_sqlite(seed, _ON_SQLITE),
        probe=rng.choice(("tcp", "api")),
        skews=(rng.uniform(-2, 2), rng.uniform(-2, 2)),
    )
    return MetalScenario(
        base=_with_people(base),
        boxes=machines + rng.randint(0, 3),
        cleaning=rng.choice((*(Cleaning.POWER_CYCLE,) * 3, Cleaning.TRUSTED, Cleaning.COMMAND)),
        power=_limits(rng),
        rates=draw_rates(faults, _RATES, severity, rng, lambda _: (1.0, 0.6)),
    )


def _with_people(scenario: Scenario) -> Scenario:
    """Return the scenario with what people do to stores and files, and ask for by mistake."""
    scenario = with_store_of_hosts_by_hand(scenario, _STORE_DICE)
    scenario = with_records_removed(with_file_edits(scenario, _FILE_DICE), _REMOVED_DICE)
    return with_unknown_host(scenario, _HOST_DICE)


def _limits(rng: Random) -> PowerLimits:
    return PowerLimits(
        least_on=rng.choice((0, 0, 120, 600)) * _S,
        least_off=rng.choice((0, 0, 60, 300)) * _S,
        parallel_starts=rng.choice((1, 2, 1000)),
        start_gap=rng.choice((0, 0, 20, 60)) * _S,
    )


def _disruptions(
    faults: tuple[str, ...], actions: tuple[OperatorAction, ...], span: float, rng: Random
) -> tuple[Disruption, ...]:
    """Draw what happens to processes and boxes: half of it soon after a request."""
    found = list[Disruption]()
    for fault in faults:
        if fault not in {*STRUCK, *PEOPLE}:
            continue
        for _ in range(max(1, round(span / _EVERY * rng.uniform(0.3, 1.5)))):
            after = rng.choice(actions).at + rng.expovariate(1 / 60.0)
            at = after if rng.random() < 0.6 else rng.uniform(60, span)
            found.append(_disruption(fault, at, rng))
    return tuple(sorted((s for s in found if s.at < span), key=lambda disruption: disruption.at))


def _disruption(fault: str, at: float, rng: Random) -> Disruption:
    port, before, skip = draw_port(rng)
    length = {
        "crash": rng.uniform(1, 120),
        "paused": rng.choice((rng.uniform(20, 55), rng.uniform(55, 200))),
        "suspended": rng.uniform(60, 300),
        "clock_jump": rng.choice((-7200, -300, -60, 60, 300, 7200)),
        "store_busy": rng.uniform(5, 60),
        "disk_full": rng.uniform(30, 200),
        "network_down": rng.uniform(10, 300),
        "lease_lost": rng.uniform(60, 200),
        "box_breaks": rng.uniform(60, HOUR),
        "controller_silent": rng.uniform(20, 900),
    }.get(fault, 0.0)
    return Disruption(
        at=at,
        fault=fault,
        who=rng.randrange(1000),
        skip=skip,
        before=before,
        port=port,
        length=length,
    )
