"""A scenario of Macs: what one seed is made of, drawn before it begins."""

from collections.abc import Mapping
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.model.hold import HoldKind
from hostler.lab.scenario.faults import (
    HOUR,
    OURS,
    Disruption,
    OperatorAction,
    Scenario,
    Size,
    draw_actions,
    draw_arrival,
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
from hostler.simulators.scaleway.faults.catalogue import (
    CALLS,
    FAULTS,
    MAC_AMBIENT,
    MAC_CALLS,
    Where,
)
from hostler.simulators.scaleway.faults.rates import PRESETS, FaultRates
from hostler.simulators.scaleway.state.options import Stock

from . import demands
from .demands import Demands
from .wipes import FAILS

DAYS = 3.0
BEYOND = frozenset({"effect_too_late", "mac_rename_too_late"})
"""Faults with effects later than the consistency delay: of those only detection is promised."""
PEOPLE = ("claimed_pooled", "claimed_renamed", "pending_renamed", "other_pooled")
"""What a person with a console does to a host, chosen by its name: see console.py."""
PUT_BACK = "retiring_pooled"
"""A person puts a host back into its pool while it is given up, and calls its deletion off."""

NAMED_BACK = "claimed_named_back"
"""A person gives a host the name again that it had in its pool, though a machine has it by now."""

_GENERIC = (Where.ANY, Where.CHANGE, Where.NAMED, Where.NAMED_CHANGE, Where.LIST)
WORLD = tuple(
    fault.name
    for fault in (*(f for f in FAULTS if f.where in _GENERIC), *CALLS, *MAC_CALLS, *MAC_AMBIENT)
    if fault.name not in demands.ALL
)
USUAL = (*WORLD, *OURS, *PEOPLE)
"""Every fault that a run of Macs knows, whatever its fleets want."""
ALL = (*USUAL, PUT_BACK, NAMED_BACK, *demands.ALL)
"""Every fault that any run of Macs knows."""

_RATES: Mapping[str, float] = {
    **PRESETS["mac-storm"].rates,
    "effect_too_late": 0.03,
    "mac_rename_too_late": 0.03,
}
_RARE = {fault.name for fault in MAC_CALLS}
"""Faults of requests that are made but a few times for each machine."""
_STRUCK = ("crash", "paused", "suspended", "clock_jump", "store_busy", "disk_full", "network_down")
_EVERY = 12 * HOUR
_ON_SQLITE = 0.5
_STORE_DICE = "hostler store of Macs 1"
_FILE_DICE = FileDice(
    removed="hostler file of Macs 85",
    protected="hostler protected fleets of macs 201",
    replaced="hostler replacements of macs 24715",
)
_REMOVED_DICE = "hostler records removed of macs 25447"
_WIPE_DICE = "hostler failing wipes 67"
_FAILING_WIPES = 0.06
_HOST_DICE = "hostler unknown host of Macs 681"
_HOLD_DICE = "hostler holds of macs 10128697"
_PUT_BACK_DICE = "hostler hosts put back 167"
_PUT_BACK_SHARE = 0.06
_NAMED_BACK_DICE = "hostler hosts named back 64"
_NAMED_BACK_SHARE = 0.05
_HELD = (HoldKind.RESERVED, HoldKind.MAINTENANCE)
_KINDS = host_actions(3, "retire")
_TYPES = ("M2-L", "M4-M")


class MacScenario(Struct, frozen=True, kw_only=True):
    """Everything that one seed draws: faults, pools, fleets, and a cadence of observations.

    `beyond`: some effects come later than the consistency delay. `namesakes`: the fleets of the
    second installation have the names of ours, so that neither may grow until one is sent away.
    `fresh`: nobody had the hosts since they were written. `pools` are the prefixes of the fleets'
    pools, one for each fleet. `quiet` is the time between observations where nothing is expected,
    in seconds. `demands` is what the fleets ask for beside hosts of a pool.
    """

    base: Scenario
    stocks: tuple[Stock, ...]
    pools: tuple[str, ...]
    floor: str = "412"
    deleted_status: str = "403"
    beyond: bool = False
    namesakes: bool = False
    fresh: bool = False
    quiet: float = 900.0
    demands: Demands = demands.NOTHING


def draw_macs(seed: int, size: Size, *, plain: bool = False) -> MacScenario:
    """Draw the scenario of a seed; the same seed and size, the same scenario.

    In a `plain` one fleets want nothing but hosts of a pool, as in all seeds of old.
    """
    rng = Random(f"hostler macs climate {seed}")
    severity, span = severity_of(seed), size.days * 24 * HOUR
    faults = pick_faults(seed, USUAL, rng, first_only=BEYOND, storm=14)
    stocks, pools = _pools(rng)
    actions = draw_actions(rng.randint(3, 10), _KINDS, span, (600, 4 * HOUR), rng)
    base = Scenario(
        seed=seed,
        severity=severity,
        machines=size.machines or rng.choice((1, 2, 2, 3)),
        span=span,
        world=_world(faults, severity, rng),
        faults=faults,
        disruptions=_disruptions(faults, actions, span, rng),
        actions=actions,
        replicas=2 if "two_replicas" in faults or rng.random() < 0.2 else 1,
        sqlite=rng.random() < 0.1 or on_sqlite(seed, _ON_SQLITE),
        reclaim=rng.random() < 0.6,
        probe=rng.choice(("tcp", "api")),
        list_lag=rng.choice((0.0, 0.0, 0.0, 20.0)),
        second=draw_arrival(faults, span, rng),
        skews=(rng.uniform(-2, 2), rng.uniform(-2, 2)),
    )
    types = tuple(dict.fromkeys(stock.type_name for stock in stocks))
    asked, base = (demands.NOTHING, base) if plain else demands.draw_demands(base, types)
    return MacScenario(
        demands=asked,
        base=_with_hosts_named_back(_with_hosts_put_back(_with_failing_wipes(_with_people(base)))),
        stocks=stocks,
        pools=pools,
        floor=rng.choice(("412", "mixed")),
        deleted_status=rng.choice(("403", "403", "404")),
        beyond=bool(BEYOND & set(faults)),
        namesakes=rng.random() < 0.2,
    )


def _with_people(scenario: Scenario) -> Scenario:
    """Return the scenario with what people do to stores and files, and ask for by mistake."""
    scenario = with_store_of_hosts_by_hand(scenario, _STORE_DICE)
    scenario = with_records_removed(with_file_edits(scenario, _FILE_DICE), _REMOVED_DICE)
    scenario = with_unknown_host(scenario, _HOST_DICE)
    return with_holds(scenario, _HOLD_DICE, _HELD)


def _with_failing_wipes(scenario: Scenario) -> Scenario:
    """Return the scenario with wipes that nearly always fail, in a few of the seeds."""
    rng = Random(f"{_WIPE_DICE}: {scenario.seed}")
    if rng.random() >= _FAILING_WIPES or scenario.severity == "calm":
        return scenario
    rates = {**scenario.world.rates, FAILS: rng.uniform(0.6, 0.95)}
    return replace(
        scenario,
        world=FaultRates(rates, scenario.world.spells),
        faults=tuple(sorted({*scenario.faults, FAILS})),
    )


def _with_hosts_put_back(scenario: Scenario) -> Scenario:
    """Return the scenario with hosts that are given up and put back, in a few of the seeds."""
    rng = Random(f"{_PUT_BACK_DICE}: {scenario.seed}")
    if rng.random() >= _PUT_BACK_SHARE or scenario.severity == "calm":
        return scenario
    asked, struck = list[OperatorAction](), list[Disruption]()
    for _ in range(rng.randint(2, 5)):  # within the billing floor: later a host is gone at once
        at = rng.uniform(0.02, 0.3) * scenario.span
        asked.append(OperatorAction(at=at, kind="retire", which=rng.random()))
        later = sorted(at + rng.expovariate(1 / 1800) for _ in range(3))
        struck += [Disruption(at=when, fault=PUT_BACK, length=rng.random()) for when in later]
    actions = tuple(sorted((*scenario.actions, *asked), key=lambda action: action.at))
    return replace(scenario, actions=actions).befallen(struck)


def _with_hosts_named_back(scenario: Scenario) -> Scenario:
    """Return the scenario with hosts that get the names of their pool back, in a few of the seeds.

    Soon after a request, so that some are not ready yet, and at any other time.
    """
    rng = Random(f"{_NAMED_BACK_DICE}: {scenario.seed}")
    if rng.random() >= _NAMED_BACK_SHARE or scenario.severity == "calm":
        return scenario
    soon = (rng.choice(scenario.actions).at + rng.expovariate(1 / 900) for _ in range(3))
    times = [*soon, *(rng.uniform(0.02, 0.9) * scenario.span for _ in range(2))]
    struck = [Disruption(at=at, fault=NAMED_BACK, length=rng.random()) for at in times]
    return scenario.befallen([one for one in struck if one.at < scenario.span])


def _world(faults: tuple[str, ...], severity: str, rng: Random) -> FaultRates:
    rates = draw_rates(
        faults, _RATES, severity, rng, lambda fault: (3.0 if fault in _RARE else 1.0, 0.3)
    )
    return FaultRates(rates)


def _pools(rng: Random) -> tuple[tuple[Stock, ...], tuple[str, ...]]:
    """Draw one or two fleets, of one pool or each of its own, and the hosts of each pool."""
    fleets = rng.choice((1, 1, 2))
    pools = ("pool-",) * fleets if rng.random() < 0.5 else ("pool-", "spare-")[:fleets]
    stocks = [Stock(rng.randint(2, 4), _TYPES[0], prefix=pool) for pool in dict.fromkeys(pools)]
    if rng.random() < 0.4:
        stocks.append(Stock(rng.randint(1, 2), _TYPES[1], prefix=pools[0]))
    return tuple(stocks), pools


def _disruptions(
    faults: tuple[str, ...], actions: tuple[OperatorAction, ...], span: float, rng: Random
) -> tuple[Disruption, ...]:
    """Draw what happens to processes and hosts: half of it soon after a request."""
    found = list[Disruption]()
    for fault in faults:
        if fault in (*_STRUCK, "lease_lost", *PEOPLE):
            for _ in range(max(1, round(span / _EVERY * rng.uniform(0.3, 1.5)))):
                busy = rng.random() < 0.6
                after = rng.choice(actions).at + rng.expovariate(1 / 900.0)
                found.append(_disruption(fault, after if busy else rng.uniform(60, span), rng))
        elif fault in {"resource_without_record", "store_lost"}:
            found.append(
                Disruption(at=rng.uniform(0.1, 0.7) * span, fault=fault, length=rng.random())
            )
    return tuple(sorted((s for s in found if s.at < span), key=lambda disruption: disruption.at))


def _disruption(fault: str, at: float, rng: Random) -> Disruption:
    port, before, skip = draw_port(rng)
    length = {
        "crash": rng.uniform(1, 300),
        "paused": rng.choice((rng.uniform(20, 55), rng.uniform(55, 900))),
        "suspended": rng.uniform(60, 600),
        "clock_jump": rng.choice((-7200, -1800, -300, -60, 60, 300, 1800, 7200)),
        "store_busy": rng.uniform(5, 120),
        "disk_full": rng.uniform(30, 600),
        "network_down": rng.uniform(10, 1200),
        "lease_lost": rng.uniform(600, 1800),
    }.get(fault, rng.random())
    return Disruption(
        at=at, fault=fault, who=rng.randrange(2), skip=skip, before=before, port=port, length=length
    )
