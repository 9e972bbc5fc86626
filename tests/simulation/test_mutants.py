"""Known bugs are planted one at a time: each is caught, and its scenario alone breaks nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hostler.lab.scenario.faults import Size
from hostler.lab.simulate.names import AUTOSCALER, INSTANCES, KUBERNETES, MACS, METAL, POWER
from hostler.lab.simulate.providers import PROVIDERS
from hostler.lab.simulate.seeds import run_seed

SIZES = {
    INSTANCES: Size(),
    MACS: Size(days=1.0),
    METAL: Size(),
    POWER: Size(),
    AUTOSCALER: Size(),
    KUBERNETES: Size(),
}
MUTANTS = [(provider, name) for provider in SIZES for name in PROVIDERS[provider].mutants]


@pytest.mark.timeout(180)
@pytest.mark.parametrize(("provider", "name"), MUTANTS)
def test_mutant_is_caught(provider: str, name: str) -> None:
    mutant, size = PROVIDERS[provider].mutants[name], SIZES[provider]
    results = (run_seed(seed, size, name, provider) for seed in range(1, mutant.within + 1))
    first = next((result.violation for result in results if result.violation), None)
    assert first is not None
    assert first.invariant in mutant.caught, first


def distinct() -> Iterator[tuple[str, str]]:
    """Yield one mutant for each scenario of a provider: some have the same."""
    known = list[tuple[str, object]]()
    for provider, name in MUTANTS:
        scenario = provider, PROVIDERS[provider].alone(1, SIZES[provider], name)
        if scenario not in known:
            known.append(scenario)
            yield provider, name


@pytest.mark.parametrize(("provider", "name"), [*distinct()])
def test_scenario_of_a_mutant_alone_breaks_nothing(
    provider: str, name: str, tmp_path: Path
) -> None:
    result = PROVIDERS[provider].control(1, SIZES[provider], tmp_path, name)
    assert result.violation is None, "\n".join(result.story)


def test_mutant_is_removed_after_its_run() -> None:
    name = "no-rollback"
    assert run_seed(1, Size(), name).violation is not None
    assert run_seed(1, Size()).violation is None
