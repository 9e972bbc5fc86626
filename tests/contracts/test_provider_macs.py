"""Macs keep every promise of the provider kit that hosts which outlive machines can keep."""

import pytest
from macs_rig import macs_world

from hostler.testing.conformance.provider.suite import CHECKS, Check, Verdict, run_check

LEFT_OUT = {"surplus_goes_and_the_bound_stays", "cleaning_passes_a_refused_resource"}
"""What does not apply; the rig says why."""


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
async def test_macs_keep_the_promise(check: Check) -> None:
    result = await run_check(check, macs_world)
    expected = Verdict.LEFT_OUT if check.name in LEFT_OUT else Verdict.PASSED
    assert result.verdict is expected, str(result)
