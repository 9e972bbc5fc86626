"""Allocations: what our records say that machines have of hosts on which nothing can be written."""

import pytest
from msgspec.structs import replace

from hostler.domain.ids import ResourceId
from hostler.domain.model.host import allocation_of
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Observation, ObservedScope, Resource, Scope
from hostler.domain.observation.allocations import Allocations
from hostler.testing.fakes.metal import metal
from hostler.testing.scenes.builders import BEGIN, HOME, ZONE
from hostler.testing.scenes.hosts import BOX, MINE, box, on_host


def allocated(machine: Machine, condition: Condition) -> dict[ResourceId, Resource]:
    """Return what is observed of a box that a machine is bound to."""
    scope = Scope(ZONE, "server")
    seen = Observation(
        observed=(ObservedScope(scope=replace(scope, kind="host"), begun=BEGIN, complete=True),),
        resources=(box(condition=condition),),
    )
    allocations = Allocations(
        capabilities=metal(),
        installation=HOME,
        bindings={BOX: machine.id},
        machines={machine.id: machine},
    )
    return {one.id: one for one in allocations.observed((scope,), seen).resources}


@pytest.mark.parametrize("goal", [Goal.PRESENT, Goal.STANDBY])
def test_machine_in_standby_is_not_off_while_it_was_only_asked_back(goal: Goal) -> None:
    machine = on_host(Phase.STANDBY, goal=goal)
    resource = allocated(machine, Condition.OFF)[allocation_of(BOX, MINE)]
    assert resource.condition is Condition.STANDBY


@pytest.mark.parametrize("phase", [Phase.STARTING, Phase.READY])
def test_box_that_is_off_under_a_machine_that_should_be_up_is_off(phase: Phase) -> None:
    resource = allocated(on_host(phase), Condition.OFF)[allocation_of(BOX, MINE)]
    assert resource.condition is Condition.OFF
    assert resource.owner_tag is not None
    assert (resource.owner_tag.installation, resource.owner_tag.machine) == (HOME, MINE)
