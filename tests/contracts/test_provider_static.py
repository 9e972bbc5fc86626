"""The provider `static` keeps the promises of the provider kit, over SSH servers on loopback."""

from functools import partial

import pytest
from static_hosts import SECRET, StaticRig, static_world

from hostler.testing.conformance.provider.suite import CHECKS, Check, Verdict, run_check

LEFT_OUT = {
    "every_status_has_a_meaning",
    "a_strange_status_changes_nothing",
    "busy_passes_by_itself",
    "busy_removals_pass_by_themselves",
    "cleaning_passes_a_refused_resource",
    "surplus_goes_and_the_bound_stays",
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
async def test_static_keeps_the_promise(check: Check) -> None:
    count = 4 if "page" in check.name else 6
    result = await run_check(check, partial(static_world, count))
    if check.name in LEFT_OUT:
        assert result.verdict is Verdict.LEFT_OUT
        assert result.why in StaticRig.lacks.values()
    else:
        assert result.verdict is Verdict.PASSED, str(result)


CLEANING = (
    "nothing_is_left",
    "absent_again_asks_nothing",
    "destroying_twice_is_done",
    "secrets_stay_secret",
    "cleaning_goes_on_after_a_death",
    "rollback_leaves_nothing",
)


@pytest.mark.parametrize("name", CLEANING)
async def test_static_keeps_the_promise_with_a_release_command(name: str) -> None:
    check = next(check for check in CHECKS if check.name == name)
    world = partial(static_world, 6, f"echo {SECRET} > cleaned-with")
    result = await run_check(check, world)
    assert result.verdict is Verdict.PASSED, str(result)
