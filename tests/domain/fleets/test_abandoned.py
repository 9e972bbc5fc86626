"""Machines that nobody asks for any more, as the orphan report has them and forgets them."""

from dataclasses import replace

import pytest

from hostler.domain.model.commands import Decision, SaveFleet
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import OrphanClass
from hostler.testing.scenes.builders import BEGIN, FLEET, MIN, machine, server
from hostler.testing.scenes.fleet import Scene


def inserted(decision: Decision) -> int:
    return sum(len(c.inserts) for c in decision.commands if isinstance(c, SaveFleet))


def forsaken(phase: Phase) -> Scene:
    """Return a fleet of one machine that somebody asked for by its id, and asks for no more."""
    scene = Scene(fleet=replace(FLEET, size=2), now=BEGIN + MIN)
    asked = replace(machine(1), phase=phase).with_health(abandoned=scene.now)
    if phase is Phase.PENDING:
        scene.add(replace(asked, places=()))
    else:
        scene.furnish(asked)
    scene.observe()
    return scene


@pytest.mark.parametrize("phase", [Phase.PENDING, Phase.READY])
def test_it_is_reported_once_as_what_stands_for_it(phase: Phase) -> None:
    scene = forsaken(phase)
    scene.reconcile()
    (orphan,) = scene.orphans.values()
    there = server(machine(1)).id if phase is Phase.READY else machine(1).id
    assert (orphan.cls, orphan.machine, orphan.resource) == (
        OrphanClass.ABANDONED,
        machine(1).id,
        there,
    )


@pytest.mark.parametrize("phase", [Phase.PENDING, Phase.READY])
def test_it_keeps_no_other_machine_from_being_made(phase: Phase) -> None:
    """It is on record: no list could show or lack anything of it that the record does not know."""
    scene = forsaken(phase)
    before = inserted(scene.reconcile())
    scene.fleet = replace(scene.fleet, size=4)
    scene.later(MIN)
    scene.observe()
    assert before + inserted(scene.reconcile()) == 3


@pytest.mark.parametrize("phase", [Phase.PENDING, Phase.READY])
def test_it_leaves_the_report_as_soon_as_somebody_asks_for_it_again(phase: Phase) -> None:
    scene = forsaken(phase)
    scene.reconcile()
    scene.keep(scene.the(1).with_health(abandoned=None))
    scene.reconcile()
    assert not scene.orphans
