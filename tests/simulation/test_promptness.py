"""The law of promptness: ready is what answers, and a record follows its server soon."""

from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace

from hostler.domain.ids import InstallationId
from hostler.domain.model.phases import Phase
from hostler.lab.servers.promptness import ANSWERED, BOUNDS, Promptness
from hostler.simulators.scaleway.state.records import State
from hostler.simulators.scaleway.world import World
from hostler.testing.scenes.builders import machine

OURS = InstallationId("i1")
ONE = machine(1)
BOUND = next(str(place.bound) for place in ONE.places if place.slot.kind == "server")


class Shelf(list[SimpleNamespace]):
    """Servers, to be gone through or asked for by an id."""

    def get(self, name: str) -> SimpleNamespace | None:
        """Return the server of an id, or None."""
        return next((one for one in self if one.id == name), None)


def promptness(*servers: SimpleNamespace) -> tuple[Promptness, Shelf]:
    """Return the law of a world that has these servers, and their shelf."""
    shelf = Shelf(servers)
    cloud = SimpleNamespace(servers=shelf, addresses={}, volumes={}, locals={})
    return Promptness(
        cast("World", cast("object", SimpleNamespace(cloud=cloud))), probed=True
    ), shelf


def server(state: State = State.RUNNING, *, answers: bool = True) -> SimpleNamespace:
    reached = [SimpleNamespace(kind="routed_ipv4")]
    return SimpleNamespace(
        id=BOUND, state=state, guest_up=answers, addresses=reached, protected=False
    )


@pytest.mark.parametrize("before", [Phase.STARTING, Phase.FAILED])
def test_ready_is_what_answers_or_did_a_moment_ago(before: Phase) -> None:
    older = replace(ONE, phase=before)
    assert not promptness(server())[0].saved(older, ONE, 0.0)
    (wrong,) = promptness(server(answers=False))[0].saved(older, ONE, 0.0)
    assert (wrong.invariant, wrong.machine) == ("ready", ONE.id)
    judge, shelf = promptness(server())
    judge.look(0.0)
    shelf.clear()  # somebody deleted it
    assert not judge.saved(older, ONE, ANSWERED)
    assert judge.saved(older, ONE, ANSWERED + 1)


@pytest.mark.parametrize(
    ("phase", "servers", "true"),
    [
        (Phase.STARTING, (server(),), "answers"),
        (Phase.READY, (server(State.STOPPED),), "is down"),
        (Phase.READY, (), "is down"),
        (Phase.STOPPING, (), "has nothing left"),
        (Phase.STARTING, (server(State.STOPPED),), "its server is off, and nothing is done for it"),
        (Phase.STOPPING, (server(),), "its server is there, and nothing is done for it"),
    ],
)
def test_a_record_that_lags_behind_its_server_is_wrong_after_its_bound(
    phase: Phase, servers: tuple[SimpleNamespace, ...], true: str
) -> None:
    (judge, _), lags = promptness(*servers), replace(ONE, phase=phase)
    assert not judge.check(OURS, (lags,), BOUNDS[true], {ONE.id})
    (wrong,) = judge.check(OURS, (lags,), 1.0, {ONE.id})
    assert wrong.invariant == "L2"
    assert true in wrong.text


def test_what_is_as_its_record_says_is_well_however_long() -> None:
    assert not promptness(server())[0].check(OURS, (ONE,), 9 * max(BOUNDS.values()), {ONE.id})


@pytest.mark.parametrize(
    ("phase", "state"), [(Phase.STARTING, State.STOPPED), (Phase.STOPPING, State.RUNNING)]
)
def test_a_machine_for_which_a_call_is_made_is_not_left_alone(phase: Phase, state: State) -> None:
    (judge, _), moving = promptness(server(state)), replace(ONE, phase=phase)
    for _ in range(10):
        assert not judge.check(OURS, (moving,), max(BOUNDS.values()), ())
