"""What can be simulated: named where the help reads it, and no run meets an impossible pair.

A pair is a fault, and the phase of a machine that it strikes.
"""

import pytest

from hostler.domain.model.phases import Phase
from hostler.lab.scenario.faults import Size
from hostler.lab.simulate.names import SUMMARIES
from hostler.lab.simulate.providers import EVERY_FAULT, EVERY_PHASE, PROVIDERS
from hostler.lab.simulate.report import Report
from hostler.lab.simulate.seeds import run_seed

PHASED = [name for name, simulated in PROVIDERS.items() if simulated.phased]


def test_the_help_names_what_can_be_simulated_and_nothing_else() -> None:
    assert list(SUMMARIES) == list(PROVIDERS)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("provider", PHASED)
def test_no_pair_that_is_called_impossible_is_met(provider: str) -> None:
    simulated = PROVIDERS[provider]
    results = [run_seed(s, Size(days=simulated.days), provider=provider) for s in range(3, 8)]
    met = {pair for result in results for pair in result.pairs}
    assert met
    assert not {pair for pair in met if not simulated.can_meet(*pair)}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_reasons_are_given_of_faults_and_phases_that_there_are(provider: str) -> None:
    simulated = PROVIDERS[provider]
    for (fault, phase), reason in simulated.impossible.items():
        assert fault in {EVERY_FAULT, *simulated.faults}
        assert phase in {EVERY_PHASE, *Phase}
        assert reason


@pytest.mark.parametrize("provider", PHASED)
def test_every_pair_is_met_or_has_a_reason_or_is_told(provider: str) -> None:
    simulated = PROVIDERS[provider]
    listed = set(Report(size=Size(), provider=provider).unreached_pairs)
    every = {(fault, phase.value) for fault in simulated.faults for phase in Phase}
    assert every - listed == {pair for pair in every if not simulated.can_meet(*pair)}
