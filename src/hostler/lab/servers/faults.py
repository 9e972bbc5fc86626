"""A scenario of servers: what one seed draws before it begins."""

from collections.abc import Mapping
from random import Random

from msgspec.structs import replace

from hostler.lab.scenario.faults import (
    HOUR,
    OURS,
    Disruption,
    OperatorAction,
    Scenario,
    Size,
    draw_actions,
    draw_arrival,
    draw_rates,
    on_sqlite,
    pick_faults,
    severity_of,
)
from hostler.simulators.scaleway.faults.catalogue import FAULTS, Where
from hostler.simulators.scaleway.faults.rates import STORM, FaultRates

LATER = ("server_locked", "made_untagged", "address_detached_by_hand")
"""Faults that came later: drawn apart, so that no older seed has other faults than it had."""

ALL = (*(fault.name for fault in FAULTS), *OURS)
"""Every fault that a simulation of Instances knows."""

_RATES: Mapping[str, float] = {
    "crash": 12.0,
    "paused": 6.0,
    "suspended": 3.0,
    "clock_jump": 3.0,
    "store_busy": 6.0,
    "disk_full": 3.0,
    "network_down": 4.0,
    "lease_lost": 4.0,
}
"""How often an hour each fault of ours strikes, where it was drawn."""

_AMBIENT = {f.name for f in FAULTS if f.where in {Where.SERVERS, Where.ADDRESSES}}
_PAGED = {"pages_shuffled", "truncated_page"}
_RARE = {f.name for f in FAULTS if f.where not in {Where.ANY, Where.LIST, Where.NAMED}} - _AMBIENT
"""Faults of requests that are made but a few times for each machine."""
_LATER_SHARE = 0.25
_ON_SQLITE = 0.75
"""Of the seeds that would run in memory, so many run on the real store: 1.2 times the cost."""
_OWN_DICE: Mapping[str, str] = {
    "made_untagged": " made_untagged",
    "address_detached_by_hand": " address_detached_by_hand",
}
"""What is thrown for a fault, so that the draws of those before it stay what they were."""
_PORTS = (
    "",
    "",
    "",
    "save_fleet",
    "save_machine",
    "save_orphans",
    "take_requests",
    "http",
    "probe",
)
_KINDS = (
    *("scale",) * 4,
    *("delete",) * 4,
    *("delete_now",) * 2,
    *("protect", "protect", "unprotect", "pause", "resume"),
)


def draw_servers(seed: int, size: Size) -> Scenario:
    """Draw the scenario of a seed; the same seed and size, the same scenario."""
    rng = Random(f"hostler climate {seed}")
    severity, span = severity_of(seed), size.days * 24 * HOUR
    early = tuple(fault for fault in ALL if fault not in LATER)
    faults = pick_faults(seed, early, rng)
    scenario = Scenario(
        seed=seed,
        severity=severity,
        machines=size.machines or rng.choice((2, 3, 4, 5, 6)),
        span=span,
        world=_world(faults, severity, rng),
        faults=faults,
        disruptions=_disruptions(faults, span, rng),
        actions=() if severity == "calm" else _actions(span, rng),
    )
    return _with_later(_details(scenario, rng))


def _actions(span: float, rng: Random) -> tuple[OperatorAction, ...]:
    return draw_actions(rng.randrange(12), _KINDS, span, (60, 1200), rng)


def _world(faults: tuple[str, ...], severity: str, rng: Random) -> FaultRates:
    rates = draw_rates(faults, STORM.rates, severity, rng, _weight)
    spells = {"effect_delayed": (2.0, 100.0)} if rng.random() < 0.3 else {}
    return FaultRates(rates, spells)


def _weight(fault: str) -> tuple[float, float]:
    return 6.0 if fault in _RARE else 1.0, 12.0 if fault in _AMBIENT else 0.3


def _with_later(scenario: Scenario) -> Scenario:
    rates = dict[str, float]()
    for fault in LATER:
        rng = Random(f"hostler later: {scenario.seed}{_OWN_DICE.get(fault, '')}")
        if scenario.severity in {"some", "storm"} and rng.random() <= _LATER_SHARE:
            rates[fault] = STORM.rates[fault] * rng.uniform(2.0, 8.0)
    return replace(
        scenario,
        world=FaultRates({**scenario.world.rates, **rates}, scenario.world.spells),
        faults=tuple(sorted((*scenario.faults, *rates))),
    )


def _disruptions(faults: tuple[str, ...], span: float, rng: Random) -> tuple[Disruption, ...]:
    found = list[Disruption]()
    for fault in faults:
        rate = _RATES.get(fault, 0.0) * rng.uniform(0.5, 2.0)
        at = rng.expovariate(rate / HOUR) if rate else span
        while at < span:
            found.append(_disruption(fault, at, rng))
            at += rng.expovariate(rate / HOUR)
    if "resource_without_record" in faults:
        found.append(Disruption(at=rng.uniform(0, 0.5) * span, fault="resource_without_record"))
    if "store_lost" in faults:
        found.append(Disruption(at=rng.uniform(0.3, 0.7) * span, fault="store_lost"))
    return tuple(sorted(found, key=lambda disruption: disruption.at))


def _disruption(fault: str, at: float, rng: Random) -> Disruption:
    who, before, skip = rng.randrange(2), rng.random() < 0.5, rng.randrange(-1, 24)
    port = rng.choice(_PORTS)
    skip = skip % 3 if port else skip
    length = {
        "crash": rng.uniform(1, 90),
        "paused": rng.uniform(20, 90),
        "suspended": rng.uniform(60, 1800),
        "clock_jump": rng.choice((-7200, -1800, -300, -60, 60, 300, 1800, 7200)),
        "store_busy": rng.uniform(5, 40),
        "disk_full": rng.uniform(30, 300),
        "network_down": rng.uniform(10, 300),
        "lease_lost": rng.uniform(60, 150),
    }[fault]
    return Disruption(
        at=at, fault=fault, who=who, skip=skip, before=before, port=port, length=float(length)
    )


def _details(scenario: Scenario, rng: Random) -> Scenario:
    faults, span = scenario.faults, scenario.span
    arrives = draw_arrival(faults, span, rng)
    return replace(
        scenario,
        replicas=2 if "two_replicas" in faults or rng.random() < 0.15 else 1,
        sqlite=rng.random() < 0.4 or on_sqlite(scenario.seed, _ON_SQLITE),
        reclaim=rng.random() < 0.6,
        probe=rng.choice(("tcp", "tcp", "api")),
        two_zones=rng.random() < 0.4,
        list_lag=rng.choice((0.0, 0.0, 5.0, 30.0)),
        ipv6=rng.random() < 0.3,
        local_disk=rng.random() < 0.3,
        disks=rng.choice((0, 0, 1)),
        protected=rng.random() < 0.15,
        keep_failed=rng.choice((0.0, 0.0, 0.0, 240.0)),
        crowd=130 if _PAGED & set(faults) else 0,
        pace=rng.choice((1.0, 1.0, 0.3)),
        second=arrives,
        skews=(rng.uniform(-2, 2), rng.uniform(-2, 2)),
    )
