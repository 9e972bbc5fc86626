"""The gate: each check × act, with everything else in order."""

from datetime import timedelta

import pytest
from msgspec.structs import fields, replace

from hostler.domain.policy.gate import CHECKS, Act, Evidence, pass_gate, table
from hostler.testing.scenes.builders import BEGIN, S

GOOD = Evidence(
    act=Act.RECLAIM,
    now=BEGIN,
    boot=100.0,
    lease_until=160.0,
    deadline=20 * S,
    ours=True,
    observed=BEGIN - 30 * S,
    observation_limit=60 * S,
    reread=True,
    age=timedelta(hours=1),
    grace=timedelta(minutes=15),
    sightings=2,
    protection="",
    granted=True,
    world="",
    paid_until=BEGIN - 1 * S,
    reclaim=True,
    wave=True,
    proved=True,
)
"""Evidence that no check refuses, whatever the act."""

D = frozenset({Act.ROLLBACK, Act.DELETE, Act.REPAIR, Act.REPLACE, Act.RECLAIM})
S_ = frozenset({Act.RECLAIM})
BAD: dict[str, tuple[dict[str, object], frozenset[Act]]] = {
    "G1": ({"ours": False}, D),
    "G2": ({"reread": False, "observed": BEGIN - 61 * S}, D),
    "G3": ({"age": timedelta(minutes=14)}, S_),
    "G4": ({"sightings": 1}, S_),
    "G5": ({"protection": "held by ann"}, D - {Act.ROLLBACK}),
    "G6": ({"lease_until": 119.0}, frozenset(Act)),
    "G7": ({"granted": False}, frozenset({Act.RECLAIM, Act.REPAIR, Act.REPLACE})),
    "G8": ({"world": "foreign parts"}, frozenset({Act.CREATE, Act.RECLAIM})),
    "G9": ({"paid_until": BEGIN + 1 * S}, frozenset({Act.DELETE})),
    "G10": ({"reclaim": False}, S_),
    "G11": ({"proved": False}, frozenset({Act.REPAIR, Act.REPLACE})),
}
"""For each check: the one thing that is wrong, and the acts that it stops (DESIGN section 6)."""


@pytest.mark.parametrize("act", Act)
def test_gate_lets_pass_what_proved_its_case(act: Act) -> None:
    assert pass_gate(replace(GOOD, act=act)) == ()


@pytest.mark.parametrize("act", Act)
@pytest.mark.parametrize("check", BAD)
def test_gate_refuses_when_only_this_evidence_is_bad(check: str, act: Act) -> None:
    wrong, acts = BAD[check]
    refusals = pass_gate(replace(GOOD, act=act, **wrong))
    assert [refusal.check for refusal in refusals] == ([check] if act in acts else [])
    assert all(refusal.text for refusal in refusals)


def test_gate_has_all_eleven_checks_in_order() -> None:
    assert [check.id for check in CHECKS] == [f"G{number}" for number in range(1, 12)]
    assert all(f"| {check.id} |" in table() for check in CHECKS)


def test_gate_tells_every_refusal_at_once() -> None:
    wrong = replace(GOOD, act=Act.REPAIR, ours=False, granted=False, protection="held")
    assert [refusal.check for refusal in pass_gate(wrong)] == ["G1", "G5", "G7"]


def test_known_id_is_never_acted_on_unseen() -> None:
    assert [r.check for r in pass_gate(replace(GOOD, act=Act.DELETE, observed=None))] == ["G2"]


def test_fresh_observation_does_not_stand_in_for_the_reading_again_of_a_reclaim() -> None:
    assert [r.check for r in pass_gate(replace(GOOD, reread=False, observed=BEGIN))] == ["G2"]


def test_lease_that_ends_with_the_deadline_is_too_short() -> None:
    assert pass_gate(replace(GOOD, lease_until=120.0))
    assert not pass_gate(replace(GOOD, lease_until=120.1))


def test_what_is_paid_for_is_not_ended_by_what_somebody_asked_for() -> None:
    paid = replace(GOOD, act=Act.DELETE, paid_until=BEGIN + timedelta(hours=1))
    assert pass_gate(paid)
    assert not pass_gate(replace(paid, act=Act.REPAIR)), "a remedy of a failed host"


def test_what_is_not_known_of_an_orphan_refuses() -> None:
    wrong = replace(GOOD, act=Act.RECLAIM, age=None, sightings=None)
    assert [refusal.check for refusal in pass_gate(wrong)] == ["G3", "G4"]


def test_no_field_of_the_evidence_has_a_default_that_passes() -> None:
    assert all(field.required for field in fields(Evidence))
