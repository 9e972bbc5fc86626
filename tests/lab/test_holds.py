"""What the judge says of commands to hosts that people hold."""

from collections import Counter
from datetime import timedelta

import pytest

from hostler.domain.ids import ResourceId
from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.host import HOST, HostCondition
from hostler.lab.checks.holds import Holds
from hostler.testing.scenes.builders import BEGIN, ZONE
from hostler.testing.scenes.hosts import record

OFF = Call(
    kind="host.off",
    slot=HOST,
    zone=ZONE,
    effect=Effect.CHANGE,
    target=ResourceId("box-1"),
    shows=Shows.REST,
)


@pytest.mark.parametrize(
    ("kind", "moves", "wrong"),
    [
        (HoldKind.RESERVED, True, True),
        (HoldKind.RESERVED, False, False),
        (HoldKind.MAINTENANCE, True, True),
        (HoldKind.MAINTENANCE, False, True),
        (HoldKind.OFF, True, False),
    ],
)
def test_a_reserved_host_stays_as_it_is_and_none_in_maintenance_is_told_anything(
    kind: HoldKind, *, moves: bool, wrong: bool
) -> None:
    """Seed 234027060 of metal: an older command came late, to a box that was off already."""
    times = [0.0, 1000.0]
    holds = Holds(now=lambda: times[0], faults=Counter[str]())
    hold = Hold(kind=kind, until=BEGIN + timedelta(days=1), actor="ann")
    host = record(condition=HostCondition.FREE, hold=hold)
    holds.saved(host)
    times.pop(0)
    assert bool(holds.touched(host, OFF, moves=moves)) is wrong
