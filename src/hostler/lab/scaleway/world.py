"""The simulated Scaleway of a run, which reports each request that it handled."""

from random import Random
from typing import Protocol

from hostler.lab.checks.findings import Findings
from hostler.lab.scenario.faults import Scenario
from hostler.ports.http import HttpRequest
from hostler.simulators.scaleway.state.calls import Reply
from hostler.simulators.scaleway.state.ledger import Line
from hostler.simulators.scaleway.state.options import Options
from hostler.simulators.scaleway.world import World
from hostler.testing.time.loop import SimLoop


class RequestObserver(Protocol):
    """Who hears of what the world was asked."""

    def answered(self, request: HttpRequest, source: str, line: Line) -> None:
        """Note what became of a request."""
        ...


class ScalewayWorld(World):
    """Implements `hostler.lab.checks.findings.SimulatedWorld`."""

    observer: RequestObserver | None = None

    @property
    def now(self) -> float:
        """True time in seconds."""
        return self.cloud.now

    def handle(self, request: HttpRequest, source: str = "") -> Reply:
        """Process one request."""
        reply = super().handle(request, source)
        if self.observer is not None:
            self.observer.answered(request, source, self.journal[-1])
        return reply


def draw_generation(rng: Random) -> str:
    """Draw of which year the API is."""
    return rng.choice(("2026", "2025", "mixed"))


def open_world(options: Options, loop: SimLoop, rng: Random) -> ScalewayWorld:
    """Return an empty world; its randomness comes from this stream."""
    return ScalewayWorld(loop.time, Random(rng.getrandbits(64)), options)


def start_faults(world: World, scenario: Scenario) -> None:
    """Let the world's faults strike from now on."""
    world.set_fault_rates(scenario.world)
    for rule in scenario.scripts:
        world.script(rule)


def note_request(
    findings: Findings, request: HttpRequest, source: str, line: Line
) -> tuple[str, ...]:
    """Trace what became of a request in the world; return the faults that took effect."""
    text = f"{source} {request.method} {request.path}"
    if request.method != "GET":
        findings.trace.note(f"{text} -> {line.status} {line.fate} {line.fault}")
    else:
        findings.trace.digest(f"{text} {line.status} {line.fault}")
    faults = tuple(line.fault.split("+")) if line.fault else ()
    for fault in faults:
        findings.struck(fault)
    return faults
