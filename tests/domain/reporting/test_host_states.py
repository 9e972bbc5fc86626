"""Every state of a host that is shown is explained, and none is explained that is never shown."""

import itertools

import pytest
from msgspec.structs import replace

from hostler.domain.ids import AccountName
from hostler.domain.model.host import HostCondition
from hostler.domain.model.resource import Condition, HostFacts, Stage
from hostler.domain.reporting.hosts import STATES, HostStatus
from hostler.testing.scenes.hosts import BOX, MINE, box, record

RECORDS = (None, *(replace(record(), condition=condition) for condition in HostCondition))
STAGES = tuple(Stage)


def displayed() -> set[str]:
    """Return the states of all hosts that can be: recorded or not, seen or not, bound or not."""
    resources = (
        None,
        *(replace(box(), host=HostFacts(stage=stage)) for stage in STAGES),
        box(condition=Condition.FAILED),
        replace(box("foreign"), name="hostler.claimed.cut-off"),
    )
    return {
        HostStatus(
            id=BOX, account=AccountName("main"), record=one, resource=resource, binding=binding
        ).state
        for one, resource, binding in itertools.product(RECORDS, resources, (None, MINE))
    }


@pytest.mark.parametrize("state", sorted(displayed()))
def test_a_state_that_is_shown_is_explained(state: str) -> None:
    assert STATES[state]


def test_no_state_is_explained_that_is_never_displayed() -> None:
    assert set(STATES) == displayed()
