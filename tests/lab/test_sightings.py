"""What an engine listed counts as known to it once it saved the box's record."""

from math import inf

from hostler.domain.ids import HostId, ResourceId, Zone
from hostler.domain.model.host import HOST
from hostler.domain.model.resource import Condition, Observation, Resource
from hostler.lab.metal.sightings import Sightings

BOX = HostId("box-1")


def listed(condition: Condition) -> Observation:
    box = Resource(id=ResourceId(BOX), slot=HOST, zone=Zone("rack"), condition=condition)
    return Observation(observed=(), resources=(box,))


def test_a_box_that_was_listed_as_off_is_known_to_be() -> None:
    sightings = Sightings()
    assert sightings.off(BOX) == -inf
    sightings.note(listed(Condition.OFF), 10.0)
    assert sightings.off(BOX) == 10.0
    sightings.saved(BOX)
    sightings.note(listed(Condition.UP), 20.0)
    assert sightings.off(BOX) == 10.0


def test_that_a_box_was_off_is_forgotten_where_nothing_was_saved_before_it_was_on_again() -> None:
    sightings = Sightings()
    sightings.note(listed(Condition.OFF), 10.0)
    sightings.note(listed(Condition.UP), 20.0)
    sightings.saved(BOX)
    assert sightings.off(BOX) == -inf
    assert sightings.last(BOX, Condition.OFF) == 10.0


def test_what_was_not_saved_before_another_engine_leads_may_be_lost() -> None:
    sightings = Sightings()
    sightings.note(listed(Condition.OFF), 10.0)
    sightings.note(listed(Condition.OFF), 20.0)
    sightings.led()
    assert sightings.off(BOX) == -inf
    sightings.note(listed(Condition.OFF), 30.0)
    sightings.saved(BOX)
    sightings.led()
    assert sightings.off(BOX) == 30.0
