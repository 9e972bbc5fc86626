"""Scaleway Instances keep every promise of the provider kit, over the simulated world."""

import pytest
from scaleway_rig import instances_world

from hostler.testing.conformance.provider.suite import CHECKS, Check, Verdict, run_check


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
async def test_instances_keep_the_promise(check: Check) -> None:
    result = await run_check(check, instances_world)
    assert result.verdict is Verdict.PASSED, str(result)
