"""What a report says of an orphan's price and age is held against the world's bill."""

from datetime import datetime
from types import SimpleNamespace
from typing import cast

import pytest

from hostler.domain.ids import FleetName, ResourceId
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan
from hostler.lab.servers.as_recorded import misreported
from hostler.simulators.scaleway.state.ledger import Leak
from hostler.simulators.scaleway.world import World
from hostler.testing.scenes.builders import ZONE, S
from hostler.testing.time.clock import BEGINNING

MADE = BEGINNING + 60 * S


def judged(
    *, price: float, created: datetime | None, kind: str = "volume", local: bool = False
) -> bool:
    """Tell whether the judge objects to what is reported of a thing that costs 2 cents."""
    leak = Leak(
        id="v1",
        kind=kind,
        zone=ZONE,
        name="",
        tags=(),
        created=60.0,
        age=0.0,
        cost_per_hour=0.02,
        cost=0.0,
    )
    disks = (SimpleNamespace(id="v1"),) if local else ()
    facts = SimpleNamespace(cloud=SimpleNamespace(locals=disks), leaks=lambda: (leak,))
    orphan = Orphan(
        resource=ResourceId("v1"),
        kind=kind,
        zone=ZONE,
        fleet=FleetName("web"),
        cls=OrphanClass.UNRECORDED,
        first=BEGINNING,
        last=BEGINNING,
        created=created,
        price=price,
    )
    return bool(misreported(cast("World", cast("object", facts)), [orphan]))


@pytest.mark.parametrize(
    ("price", "created", "kind", "wrong"),
    [
        (0.02, MADE, "volume", False),
        (0.03, MADE, "volume", True),
        (0.02, MADE + 5 * S, "volume", True),
        (0.02, None, "volume", True),
        (0.02, None, "address", False),
        (0.0, None, "address", True),
    ],
)
def test_an_orphan_is_told_with_what_it_costs_and_since_when(
    price: float, created: datetime | None, kind: str, *, wrong: bool
) -> None:
    assert judged(price=price, created=created, kind=kind) == wrong
    assert not judged(price=price, created=created, kind=kind, local=True)
