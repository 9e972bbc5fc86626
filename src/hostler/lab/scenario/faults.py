"""A scenario: what one seed is made of, drawn before it begins: faults, actions, sizes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

from hostler.simulators.scaleway.faults.catalogue import FAULTS, Where
from hostler.simulators.scaleway.faults.rates import STORM, Rule
from hostler.simulators.scaleway.faults.rates import FaultRates as WorldFaultRates

OURS = (
    "crash",
    "paused",
    "suspended",
    "clock_jump",
    "store_busy",
    "disk_full",
    "network_down",
    "lease_lost",
    "store_lost",
    "second_installation",
    "two_replicas",
    "resource_without_record",
)
"""Faults of the processes and their hosts, beside those of the world."""

LATER = ("server_locked", "made_untagged")
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
_HOUR = 3600.0
_LATER_SHARE = 0.25
_OWN_DICE: Mapping[str, str] = {"made_untagged": " made_untagged"}
"""What is thrown for a fault, so that the draws of those before it stay what they were."""
_SEVERITIES = ("calm", "one", "few", "few", "some", "some", "storm")
_MANY = {"calm": (0, 0), "one": (1, 1), "few": (2, 4), "some": (4, 8), "storm": (9, 16)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Disruption:
    """One fault of ours: when, to which process, and how it strikes.

    `skip` is how many port calls it lets pass first; negative: it strikes at once. `length` is in
    seconds, or how far a clock jumps.
    """

    at: float
    fault: str
    who: int = 0
    skip: int = -1
    before: bool = True
    port: str = ""
    length: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorAction:
    """One request of an operator: `which` picks a machine or a size, as a fraction of all.

    `home` is the number of the installation, if there are so many.
    """

    at: float
    kind: str
    which: float = 0.0
    length: float = 0.0
    home: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything that one seed draws before it begins."""

    seed: int
    severity: str
    machines: int
    span: float
    world: WorldFaultRates
    faults: tuple[str, ...]
    disruptions: tuple[Disruption, ...] = ()
    actions: tuple[OperatorAction, ...] = ()
    replicas: int = 1
    sqlite: bool = False
    reclaim: bool = False
    probe: str = "tcp"
    two_zones: bool = False
    list_lag: float = 0.0
    ipv6: bool = False
    local_disk: bool = False
    disks: int = 0
    protected: bool = False
    keep_failed: float = 0.0
    crowd: int = 0
    scripts: tuple[Rule, ...] = ()
    pace: float = 1.0
    second: float | None = None
    skews: tuple[float, ...] = (0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large a seed is: machines (None: drawn), and days of faults."""

    machines: int | None = None
    days: float = 0.04


def draw(seed: int, size: Size) -> Scenario:
    """Draw the scenario of a seed; the same seed and size, the same scenario."""
    rng = Random(f"hostler climate {seed}")
    severity = _SEVERITIES[seed % len(_SEVERITIES)]
    faults = _faults(seed, severity, rng)
    span = size.days * 24 * _HOUR
    scenario = Scenario(
        seed=seed,
        severity=severity,
        machines=size.machines or rng.choice((2, 3, 4, 5, 6)),
        span=span,
        world=_world(faults, severity, rng),
        faults=faults,
        disruptions=_disruptions(faults, span, rng),
        actions=_actions(span, rng) if severity != "calm" else (),
    )
    return _with_later(_details(scenario, rng))


def _with_later(scenario: Scenario) -> Scenario:
    rates = dict[str, float]()
    for fault in LATER:
        rng = Random(f"hostler later: {scenario.seed}{_OWN_DICE.get(fault, '')}")
        if scenario.severity in {"some", "storm"} and rng.random() <= _LATER_SHARE:
            rates[fault] = STORM.rates[fault] * rng.uniform(2.0, 8.0)
    return replace(
        scenario,
        world=WorldFaultRates({**scenario.world.rates, **rates}, scenario.world.spells),
        faults=tuple(sorted((*scenario.faults, *rates))),
    )


def _faults(seed: int, severity: str, rng: Random) -> tuple[str, ...]:
    """Pick faults: one in turn, so that no fault is forgotten, and the others by lot."""
    least, most = _MANY[severity]
    many = rng.randint(least, most)
    if not many:
        return ()
    early = [fault for fault in ALL if fault not in LATER]
    first = early[(seed * 5 // 7) % len(early)]
    others = rng.sample([fault for fault in early if fault != first], many - 1)
    return tuple(sorted((first, *others)))


def _world(faults: tuple[str, ...], severity: str, rng: Random) -> WorldFaultRates:
    few = 3.0 if severity in {"one", "few"} else 1.5
    rates = dict[str, float]()
    for fault in faults:
        base = STORM.rates.get(fault)
        if base is not None:
            most = 12.0 if fault in _AMBIENT else 0.3
            rare = 6.0 if fault in _RARE else 1.0
            rates[fault] = min(most, base * few * rare * rng.uniform(0.5, 2.0))
    spells = {"effect_delayed": (2.0, 100.0)} if rng.random() < 0.3 else {}
    return WorldFaultRates(rates, spells)


def _disruptions(faults: tuple[str, ...], span: float, rng: Random) -> tuple[Disruption, ...]:
    found = list[Disruption]()
    for fault in faults:
        rate = _RATES.get(fault, 0.0) * rng.uniform(0.5, 2.0)
        at = rng.expovariate(rate / _HOUR) if rate else span
        while at < span:
            found.append(_disruption(fault, at, rng))
            at += rng.expovariate(rate / _HOUR)
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


def _actions(span: float, rng: Random) -> tuple[OperatorAction, ...]:
    many = rng.randrange(12)
    return tuple(
        sorted(
            (
                OperatorAction(
                    at=rng.uniform(60, span),
                    kind=rng.choice(_KINDS),
                    which=rng.random(),
                    length=rng.uniform(60, 1200),
                )
                for _ in range(many)
            ),
            key=lambda action: action.at,
        )
    )


def _details(scenario: Scenario, rng: Random) -> Scenario:
    faults, span = scenario.faults, scenario.span
    second = "second_installation" in faults
    arrives = rng.choice((0.0, rng.uniform(0, 0.6) * span)) if second else None
    return replace(
        scenario,
        replicas=2 if "two_replicas" in faults or rng.random() < 0.15 else 1,
        sqlite=rng.random() < 0.4,
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
