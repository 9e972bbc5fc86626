"""The hall of known bugs: famous defects, planted in a simulation to see that it catches them.

Nothing in here is ever part of the program: a bug is put in the place of a function of the engine,
for the length of one simulated season, by name.
"""

import importlib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from hostler.lab.scenario.faults import Asking, Disruption, Scenario
from hostler.simulators.scaleway.faults.rates import FaultRates as WorldFaultRates
from hostler.simulators.scaleway.faults.rates import Rule

from . import mutations

_MINUTE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """One defect: what it is, what is put where, and the weather in which it shows soon.

    `puts` names a function (`module:name` or `module:Class.name`) and what makes the defective one
    from the good one. `within` is how many seeds catch it at the latest.
    """

    words: str
    puts: tuple[tuple[str, Callable[[Any], Any]], ...]
    scenario: Callable[[Scenario], Scenario]
    within: int = 6


@contextmanager
def planted(name: str) -> Generator[None]:
    """Plant a bug for a while."""
    undo = [put(place, defect) for place, defect in BUGS[name].puts]
    try:
        yield
    finally:
        for back in reversed(undo):
            back()


def put(place: str, defect: Callable[[Any], Any]) -> Callable[[], None]:
    """Put a defect in the place of a function of ours; return what puts the good one back."""
    module, _, path = place.partition(":")
    holder: Any = importlib.import_module(f"hostler.{module}")
    *outer, name = path.split(".")
    for step in outer:
        holder = getattr(holder, step)
    good = getattr(holder, name)
    setattr(holder, name, defect(good))
    return lambda: setattr(holder, name, good)


def _fault_rates(
    *disruptions: Disruption,
    spells: Mapping[str, tuple[float, float]] | None = None,
    rates: Mapping[str, float] | None = None,
    **fields: Any,
) -> Callable[[Scenario], Scenario]:
    """Return how to make a climate in which nothing happens but this."""

    def made(scenario: Scenario) -> Scenario:
        plain = replace(
            scenario,
            mood="planted",
            machines=max(3, scenario.machines),
            world=WorldFaultRates(rates or {}, spells or {}),
            faults=(),
            disruptions=disruptions,
            askings=(),
            second=None,
            span=40 * _MINUTE,
        )
        return replace(plain, **fields)

    return made


_CALM = _fault_rates()
_LOST = _fault_rates(rates={"reply_lost": 0.15, "request_lost": 0.1})
_LATE = _fault_rates(rates={"effect_delayed": 0.3}, spells={"effect_delayed": (62.0, 110.0)})
_SCALES = tuple(
    Asking(at=at * _MINUTE, kind="scale", which=which)
    for at, which in ((2, 0.2), (5, 0.9), (9, 0.3), (13, 0.95), (18, 0.1), (23, 0.9))
)

_FORBIDDEN = tuple(
    Rule(fault="forbidden_for_rate_limit", after=after, count=120) for after in (250, 600)
)
_PAUSES = tuple(
    Disruption(at=at * _MINUTE - 5, fault="paused", skip=0, length=200.0, port="save_fleet")
    for at in (2, 9, 18)
)

BUGS: dict[str, Bug] = {
    "stopped-is-deleting": Bug(
        words="a server that is stopped is read as being deleted",
        puts=(
            ("providers.scaleway.instances.observe.read:condition", mutations.stopped_is_deleting),
        ),
        scenario=_fault_rates(rates={"guest_poweroff": 3.0}),
    ),
    "no-rollback": Bug(
        words="what was made of a machine that never became ready is left behind",
        puts=(("domain.machines.lifecycle:all_gone", mutations.no_rollback),),
        scenario=_fault_rates(rates={"out_of_stock_start": 0.5, "start_falls_back": 0.5}),
    ),
    "page-2-forgotten": Bug(
        words="only the first page of a list is read",
        puts=(("providers.scaleway.common.pages:_ended", mutations.first_page_is_all),),
        scenario=_fault_rates(rates={"reply_lost": 0.2}, crowd=130),
    ),
    "forbidden-is-gone": Bug(
        words="a 403 is read as: it is not there",
        puts=(
            ("providers.scaleway.common.errors:is_missing", mutations.forbidden_is_missing),
            (
                "providers.scaleway.instances.observe.scan:is_missing",
                mutations.forbidden_is_missing,
            ),
            ("providers.scaleway.common.pages:_page", mutations.forbidden_is_empty),
        ),
        scenario=_fault_rates(scripts=_FORBIDDEN),
    ),
    "blind-retry": Bug(
        words="a creation is tried again at once after a timeout",
        puts=(("domain.machines.next_calls:unsure", mutations.never),),
        scenario=_LOST,
    ),
    "sweep-without-age": Bug(
        words="what no record explains is swept however young it is",
        puts=(
            ("domain.fleets.reclaim:blocked", mutations.only_foreign_is_blocked),
            ("domain.policy.gate:pass_gate", mutations.without_check("G3")),
            ("controllers.execute.sending:pass_gate", mutations.without_check("G3")),
        ),
        scenario=_fault_rates(Disruption(at=300, fault="resource_without_record"), reclaim=True),
    ),
    "sweep-on-stale-list": Bug(
        words="a sweep does not look again before it acts",
        puts=(("controllers.execute.reclaim:Reclaimer._reread", mutations.believe_the_list),),
        scenario=_fault_rates(Disruption(at=300, fault="resource_without_record"), reclaim=True),
    ),
    "records-first": Bug(
        words="records are looked at before the provider",
        puts=(("controllers.observe.snapshot:records", mutations.one_cycle_old),),
        scenario=_fault_rates(askings=_SCALES),
    ),
    "memory-only": Bug(
        words="what was asked is held in memory, and saved when it is done",
        puts=(("controllers.execute.subject_calls:Caller._save", mutations.save_when_done),),
        scenario=_CALM,
    ),
    "one-attempt-number": Bug(
        words="all parts of a machine share one number of attempts; older ones are surplus",
        puts=(("domain.observation.certainty:_judged", mutations.older_attempts_are_surplus),),
        scenario=_fault_rates(rates={"request_lost": 0.2, "hung": 0.1}),
    ),
    "bound-is-surplus": Bug(
        words="the newest id of a slot stays, although an older one is bound",
        puts=(("domain.observation.certainty:_judged", mutations.newest_stays),),
        scenario=_LATE,
        within=10,
    ),
    "answer-forgotten": Bug(
        words="an id is forgotten until a list shows it",
        puts=(("domain.observation.outcomes:_keep", mutations.forget_the_answer),),
        scenario=_fault_rates(
            rates={"transient_409": 0.4, "locked_423": 0.2, "html_5xx": 0.1}, list_lag=60.0
        ),
    ),
    "rows-without-fleet": Bug(
        words="machines are inserted whatever the fleet's row says by now",
        puts=(("lab.harness.gated_store:GatedStore.save_fleet", mutations.save_over),),
        scenario=_fault_rates(
            *_PAUSES,
            replicas=2,
            askings=_SCALES,
        ),
        within=20,
    ),
    "gone-too-early": Bug(
        words="a machine is gone while a call for it is still unsure",
        puts=(("domain.machines.lifecycle:all_gone", mutations.gone_before_settle),),
        scenario=_fault_rates(rates={"request_lost": 0.2, "reply_lost": 0.1}, askings=_SCALES),
    ),
    "empty-list-believed": Bug(
        words="what one list lacks is not there",
        puts=(
            ("domain.observation.certainty:_missed", mutations.absent_is_gone),
            ("domain.machines.failure:doubted", mutations.doubt_nothing),
        ),
        scenario=_fault_rates(rates={"empty_list": 0.01}),
    ),
    "lost-store-swept": Bug(
        words="what carries another installation's mark is taken for leftovers",
        puts=(
            ("controllers.cycle:gather", mutations.all_tags_are_ours),
            ("providers.scaleway.instances.provider:Instances._touchable", mutations.always),
        ),
        scenario=_fault_rates(Disruption(at=400, fault="store_lost"), reclaim=True, replicas=1),
    ),
    "back-off-forgotten": Bug(
        words="what failed is tried again at once by a new record",
        puts=(("domain.decide:remember", mutations.remember_nothing),),
        scenario=_fault_rates(rates={"start_falls_back": 0.9}),
    ),
}
"""The famous defects, by name."""
