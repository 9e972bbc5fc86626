"""A scenario of a runner: what one seed is made of, drawn before it begins."""

from random import Random

from msgspec import Struct
from msgspec.structs import replace

from hostler.frontends.fleeting.contract import CORE, State
from hostler.lab.scenario.faults import OURS as ENGINES
from hostler.lab.scenario.faults import Disruption, Scenario, Size
from hostler.lab.servers.faults import ALL as WORLD_AND_HOST
from hostler.lab.servers.faults import draw_servers

from .workload import Job, RunnerOptions, draw_jobs

OURS = ("plugin_killed", "runner_killed", "runner_restarted")
"""Faults of the runner and its plugin, beside those of the world and of the plugin's host."""

HOST = frozenset({"store_busy", "disk_full", "network_down", "clock_jump"})
PAGES = frozenset({"pages_shuffled", "truncated_page"})
"""Faults of lists of several pages: a group has few servers, so its lists have one."""

ALL = (*(f for f in WORLD_AND_HOST if f not in {*ENGINES, *PAGES}), *sorted(HOST), *OURS)
"""Every fault that the simulation of a runner knows."""

_RATES = {"plugin_killed": 3.0, "runner_killed": 2.0, "runner_restarted": 2.0}
_SCHEMAS = (
    frozenset(State),
    frozenset(State) - {State.STOPPED},
    CORE | {State.DELETED, State.TIMEOUT},
    CORE,
)


class RunnerScenario(Struct, frozen=True, kw_only=True):
    """Everything that one seed draws: the faults, the runner, its jobs, and what happens to it."""

    seed: int
    base: Scenario
    options: RunnerOptions
    states: frozenset[State]
    jobs: tuple[Job, ...]
    disruptions: tuple[Disruption, ...]
    span: float


def draw_runner(seed: int, size: Size) -> RunnerScenario:
    """Draw the scenario of a seed; the same seed and size, the same scenario."""
    base, rng = draw_servers(seed, size), Random(f"hostler runner climate {seed}")
    rates = {f: r for f, r in base.world.rates.items() if f not in PAGES}
    base = replace(base, world=replace(base.world, rates=rates), crowd=0)
    options = _options(base, rng)
    disruptions = [disruption for disruption in base.disruptions if disruption.fault in HOST]
    if base.severity != "calm":
        disruptions += _runner_disruptions(base.span, rng)
    return RunnerScenario(
        seed=seed,
        base=base,
        options=options,
        states=rng.choice(_SCHEMAS),
        jobs=draw_jobs(rng, base.span, options.max_instances),
        disruptions=tuple(sorted(disruptions, key=lambda disruption: disruption.at)),
        span=base.span,
    )


def _options(base: Scenario, rng: Random) -> RunnerOptions:
    return RunnerOptions(
        max_instances=base.machines + rng.randrange(4),
        capacity_per_instance=rng.choice((1, 1, 1, 2)),
        max_use_count=rng.choice((0, 0, 1, 3)),
        idle_count=rng.choice((0, 0, 1, base.machines)),
        idle_time=rng.choice((0.0, 60.0, 300.0, 1200.0)),
        heartbeats=rng.random() < 0.5,
        state_storage=rng.random() < 0.5,
        removes_stopped=rng.random() < 0.5,
    )


def _runner_disruptions(span: float, rng: Random) -> list[Disruption]:
    found = list[Disruption]()
    for fault, rate in _RATES.items():
        if rng.random() < 0.5:
            continue
        at = rng.expovariate(rate / 3600.0)
        while at < span:
            port = rng.choice(
                ("", "", "save_fleet", "save_machine", "take_requests", "http", "request")
            )
            disruption = Disruption(
                at=at,
                fault=fault,
                skip=rng.randrange(-1, 12) if not port else rng.randrange(3),
                before=rng.random() < 0.5,
                port=port,
                length=rng.uniform(2.0, 180.0),
            )
            found.append(disruption)
            at += rng.expovariate(rate / 3600.0)
    return found
