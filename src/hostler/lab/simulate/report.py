"""Report: what many seeds came to, and the short story of one that failed."""

from collections import Counter
from dataclasses import dataclass, field

import msgspec

from hostler.domain.model.phases import Phase
from hostler.lab.harness.prediction import (
    ANSWER,
    INTERRUPTION,
    OBSERVATION,
    OTHERWISE,
    RECALL,
    REQUEST,
    RIVAL,
)
from hostler.lab.scenario.faults import Size
from hostler.lab.scenario.run import Result

from .names import INSTANCES
from .providers import PROVIDERS

_ENOUGH = 50
"""Fewer seeds than this cannot meet every fault."""
_YEAR = 365.25 * 24 * 3600.0
_ENDS = {
    ANSWER: "an answer",
    OBSERVATION: "an observation",
    INTERRUPTION: "an interruption",
    REQUEST: "a person's request",
    RIVAL: "another fleet that took the host",
    RECALL: "a decision that they were too many",
    OTHERWISE: "none of these",
}


@dataclass(slots=True)
class Report:
    """What came of some seeds, added up."""

    size: Size
    bug: str = ""
    provider: str = INSTANCES
    seeds: int = 0
    seconds: float = 0.0
    simulated: float = 0.0
    machine_seconds: float = 0.0
    calm_simulated: float = 0.0
    calm_seconds: float = 0.0
    failed: list[Result] = field(default_factory=list[Result])
    faults: Counter[str] = field(default_factory=Counter[str])
    pairs: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    plans: Counter[str] = field(default_factory=Counter[str])

    def take(self, result: Result) -> None:
        """Add one seed."""
        self.seeds += 1
        self.simulated += result.simulated
        self.machine_seconds += result.machine_seconds
        self.faults.update(result.faults)
        self.pairs.update(result.pairs)
        self.plans.update(result.plans)
        if result.calm:
            self.calm_simulated += result.simulated
            self.calm_seconds += result.seconds
        if result.violation is not None:
            self.failed.append(result)

    @property
    def calm_speedup(self) -> float:
        """How many times faster than life a calm day goes by, on one core."""
        return self.calm_simulated / self.calm_seconds if self.calm_seconds else 0.0

    @property
    def unreached(self) -> list[str]:
        """The faults that never happened."""
        return [fault for fault in PROVIDERS[self.provider].faults if not self.faults[fault]]

    @property
    def unreached_pairs(self) -> list[tuple[str, str]]:
        """The pairs of fault and phase that could have been met, and were not.

        None where a run sees no phases.
        """
        simulated = PROVIDERS[self.provider]
        if not simulated.phased:
            return []
        pairs = ((fault, phase.value) for fault in simulated.faults for phase in Phase)
        return [p for p in pairs if p not in self.pairs and simulated.can_meet(*p)]


def as_json(report: Report) -> str:
    """Return the report as one line of JSON."""
    seconds = max(report.seconds, 1e-9)
    body = {
        "seeds": report.seeds,
        "failed": [
            {
                "seed": result.seed,
                "invariant": result.violation.invariant,
                "text": result.violation.text,
                "story": result.story,
                "replay": replay(result.seed, report),
            }
            for result in report.failed
            if result.violation is not None
        ],
        "machine_years": round(report.machine_seconds / _YEAR, 6),
        "speedup": round(report.simulated / seconds, 1),
        "calm_speedup": round(report.calm_speedup, 1),
        "seeds_per_second": round(report.seeds / seconds, 2),
        "seconds": round(seconds, 2),
        "faults": dict(sorted(report.faults.items())),
        "plans": dict(sorted(report.plans.items())),
        "unreached": report.unreached,
        "unreached_pairs": [" × ".join(pair) for pair in report.unreached_pairs],
        "impossible_pairs": {
            " × ".join(pair): why for pair, why in PROVIDERS[report.provider].impossible.items()
        },
    }
    return msgspec.json.encode(body).decode()


def _of_plans(plans: Counter[str]) -> str:
    """Return how many plans were carried out whole, and with what the others ended."""
    many, others = plans.total(), sorted(plans.keys() - {"whole"})
    ended = "".join(f", {plans[why] / many:.1%} ended with {_ENDS[why]}" for why in others)
    return f"plans: {many:,}; {plans['whole'] / many:.1%} were carried out whole{ended}"


def as_text(report: Report) -> str:
    """Return the report as people read it."""
    seconds = max(report.seconds, 1e-9)
    most = ", ".join(f"{name} {count}" for name, count in report.faults.most_common())
    pairs = ", ".join(" × ".join(pair) for pair in report.unreached_pairs)
    years = report.machine_seconds / _YEAR
    pace = f"{report.seeds / seconds:.1f} seeds a second, {report.simulated / seconds:,.0f} times"
    held = f"{report.seeds} seeds, {len(report.failed)} failed; {years:.3f} machine-years"
    lines = [
        f"{held} in {seconds:.1f} s: {pace} real time",
        f"faults: {most or 'none'}",
    ]
    if report.plans:
        lines.append(_of_plans(report.plans))
    if report.calm_seconds:
        lines.append(f"a calm day goes by {report.calm_speedup:,.0f} times faster, on one core")
    if report.seeds >= _ENOUGH:
        lines.append(f"never met: {', '.join(report.unreached) or 'none'}")
        if PROVIDERS[report.provider].phased:
            lines.append(f"never met in a phase: {pairs or 'none'}")
    return "\n".join(lines)


def as_story(result: Result, report: Report) -> str:
    """Return what happened in a seed that failed, and how to see it again."""
    violation = result.violation
    if violation is None:
        return f"seed {result.seed}: all held"
    head = f"seed {result.seed} failed: {violation.invariant}: {violation.text}"
    command = f"again: {replay(result.seed, report)}"
    return "\n".join((head, *(f"  {line}" for line in result.story), command))


def replay(seed: int, report: Report) -> str:
    """Return the command that runs a seed again."""
    size, bug = report.size, report.bug
    words = ["hostler simulate --seeds 1", f"--seed {seed}"]
    words += [f"--provider {report.provider}"] if report.provider != INSTANCES else []
    words += [f"--machines {size.machines}"] if size.machines is not None else []
    usual = PROVIDERS[report.provider].days
    words += [f"--days {size.days}"] if size.days != usual else []
    words += [f"--bug {bug}"] if bug else []
    return " ".join(words)
