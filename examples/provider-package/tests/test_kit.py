"""The toy provider keeps every promise of the provider kit."""

import pytest

from files_rig import files_world
from hostler.testing.conformance.provider.suite import CHECKS, Check, Verdict, run_check


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
async def test_files_keeps_the_promise(check: Check) -> None:
    result = await run_check(check, files_world)
    assert result.verdict is Verdict.PASSED, str(result)
