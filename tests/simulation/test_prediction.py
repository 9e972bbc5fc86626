from dataclasses import replace

from hostler.domain.ids import MachineId, ResourceId, Zone
from hostler.domain.model.calls import Call, Effect, Refusal, Refused
from hostler.domain.model.commands import Decision
from hostler.domain.model.resource import Slot
from hostler.lab.harness.prediction import MOST_GAP, Predicted, PredictionCheck
from hostler.testing.scenes.fleet import Scene

M = MachineId("m-aaaaaaaaaa")
CALL = Call(
    kind="server.create",
    slot=Slot("server"),
    zone=Zone("fr-par-1"),
    effect=Effect.MAKE,
    attempt=1,
    once=True,
    args=(("machine", str(M)),),
)
LINE = "server.create server - 1"


def teller(*calls: str) -> PredictionCheck:
    found = PredictionCheck(lambda: 0.0)
    found._steps[M] = Predicted(calls=calls, announced="call server.create for server", at=0.0)
    return found


def names(found: PredictionCheck, call: Call) -> list[str]:
    return [violation.invariant for violation in found.doing(call)]


def test_e2_fires_when_another_call_is_made_than_was_planned():
    assert not names(teller(LINE), CALL)
    assert names(teller("ip.create address 0 - 1"), CALL) == ["E2"]


def test_e2_fires_when_more_calls_are_made_than_were_planned():
    predictor = teller(LINE)
    assert not names(predictor, CALL)
    assert names(predictor, CALL) == ["E2"]


def test_e1_fires_when_a_call_is_made_and_none_was_predicted():
    assert names(teller(), CALL) == ["E1"]


def test_placeholders_of_a_plan_stand_for_any_answer():
    predictor = teller("server.poweron server <server> 1")
    on = replace(CALL, kind="server.poweron", target=ResourceId("6f1f9a52"))
    assert not names(predictor, on)


def test_after_an_outcome_that_is_not_definite_anything_may_come():
    predictor = teller(LINE)
    predictor.doing(CALL)
    predictor.done(CALL, Refused(why=Refusal.BUSY, text="busy"))
    assert not names(predictor, replace(CALL, kind="ip.delete"))


def test_after_a_new_observation_anything_may_come():
    predictor = teller("ip.create address 0 - 1")
    predictor.invalidate()
    assert not names(predictor, CALL)


def test_s10_counts_from_the_lease_not_from_a_cycle_before_it():
    """While a neighbour held the lease, the turns were its own."""
    moment = [0.0]
    found = PredictionCheck(lambda: moment[0])
    scene = Scene()

    def cycle(at: float) -> list[str]:
        moment[0] = at
        return [v.invariant for v in found.decided(scene.snapshot(), scene.planner, Decision())]

    assert not cycle(1.0)
    assert cycle(2.0 + MOST_GAP) == ["S10"]
    moment[0] = 1000.0
    found.took()
    assert not cycle(1010.0)
    assert cycle(1011.0 + MOST_GAP) == ["S10"]
