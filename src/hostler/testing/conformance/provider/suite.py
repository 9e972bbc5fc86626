"""Suite: the named checks, and running them all."""

from collections.abc import Awaitable, Callable
from enum import StrEnum

from msgspec import Struct

from . import cuts, faults, lifecycle, manners, observations
from .rig import NotApplicable, Rig, Worlds

Run = Callable[[Rig], Awaitable[None]]


class Check(Struct, frozen=True):
    """One named promise of a provider; `run` raises AssertionError with what was found instead."""

    name: str
    promise: str
    run: Run


def _check(run: Run) -> Check:
    name = getattr(run, "__name__", "")
    return Check(name=name, promise=str(run.__doc__).strip(), run=run)


CHECKS: tuple[Check, ...] = tuple(
    _check(run)
    for run in (
        manners.capabilities_are_sane,
        manners.costs_are_positive,
        manners.an_address_before_a_connection,
        manners.a_connection_whatever_word_is_unknown,
        manners.a_provider_id_that_stays,
        manners.secrets_stay_secret,
        manners.closing_twice_is_fine,
        lifecycle.creation_reaches_up,
        lifecycle.creating_calls_are_once_and_numbered,
        lifecycle.nothing_is_left,
        lifecycle.absent_again_asks_nothing,
        lifecycle.present_again_asks_nothing,
        lifecycle.destroying_twice_is_done,
        lifecycle.next_calls_are_pure,
        lifecycle.surplus_goes_and_the_bound_stays,
        lifecycle.a_bound_slot_is_not_filled_again,
        observations.all_pages_are_seen,
        observations.a_failed_page_keeps_the_rest,
        observations.a_machine_is_seen_alone,
        observations.foreign_resources_are_seen_and_left,
        observations.every_status_has_a_meaning,
        observations.a_strange_status_changes_nothing,
        faults.a_lost_answer_is_not_refused,
        faults.a_nonsense_answer_is_not_refused,
        faults.a_lost_request_is_not_done,
        faults.busy_passes_by_itself,
        faults.busy_removals_pass_by_themselves,
        faults.a_dead_outside_raises_nothing,
        cuts.creation_goes_on_after_a_death,
        cuts.rollback_leaves_nothing,
        cuts.cleaning_goes_on_after_a_death,
        cuts.cleaning_passes_a_refused_resource,
        cuts.a_vanished_machine_is_cleaned,
    )
)
"""The checks, the cheapest first."""


class Verdict(StrEnum):
    """How a check went."""

    PASSED = "passed"
    FAILED = "failed"
    LEFT_OUT = "does not apply"


class Result(Struct, frozen=True):
    """How one check went, and why it failed or does not apply."""

    check: str
    verdict: Verdict
    why: str = ""

    def __str__(self) -> str:
        """Return the result in a line."""
        return f"{self.check}: {self.verdict}" + (f": {self.why}" if self.why else "")


async def run_check(check: Check, worlds: Callable[[], Worlds]) -> Result:
    """Run one check in a world of its own. An error of any other kind is the provider's failure."""
    try:
        async with worlds() as rig:
            await check.run(rig)
    except NotApplicable as reason:
        return Result(check.name, Verdict.LEFT_OUT, str(reason))
    except AssertionError as error:
        return Result(check.name, Verdict.FAILED, str(error) or "an assertion without a sentence")
    except Exception as error:  # noqa: BLE001 - a provider never raises for what the outside does
        return Result(check.name, Verdict.FAILED, f"raised {type(error).__name__}: {error}")
    return Result(check.name, Verdict.PASSED)


async def run_all(worlds: Callable[[], Worlds]) -> tuple[Result, ...]:
    """Run every check, each in a world of its own, and return how each went, in order."""
    return tuple([await run_check(check, worlds) for check in CHECKS])
