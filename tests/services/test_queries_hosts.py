"""What comes next for a host to which nothing is being done, by its record and its name."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hostler.domain.ids import AccountName, HostId, MachineId, ResourceId, Zone, machine_id
from hostler.domain.model.host import HOST, Host, HostCondition
from hostler.domain.model.resource import HostFacts, Resource, Stage
from hostler.domain.reporting.hosts import HostStatus
from hostler.queries.hosts import next_step
from hostler.testing.scenes.fields import with_fields

ID = HostId("host-1")
MAIN = AccountName("main")
ZONE = Zone("fr-par-1")
FIRST = machine_id(1)
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def status(stage: str | None, binding: MachineId | None = None, **record: Any) -> HostStatus:
    """Return a host with a record and, where a stage is told, an observation of it."""
    resource = Resource(
        id=ResourceId(ID), slot=HOST, zone=ZONE, host=HostFacts(stage=Stage(stage or ""))
    )
    saved = with_fields(Host(id=ID, account=MAIN, zone=ZONE), **record) if record else None
    return HostStatus(
        id=ID, account=MAIN, record=saved, resource=resource if stage else None, binding=binding
    )


@pytest.mark.parametrize(
    ("host", "message"),
    [
        (status("claimed", FIRST), f"what comes next for its machine, {FIRST}"),
        (status(None, condition=HostCondition.GONE), "complete observations no longer show it"),
        (
            status(
                "quarantined",
                condition=HostCondition.QUARANTINED,
                quarantined_until=NOW + timedelta(hours=1),
            ),
            "it is left alone until 2026-03-01 13:00 UTC: it failed too often",
        ),
        (status("other", scheduled=NOW), "the provider deletes it at 2026-03-01 12:00 UTC"),
        (status("pool"), "the next machine that it fits claims it, and wipes it first"),
        (
            status("parked", condition=HostCondition.FREE, wiped=NOW),
            "claims it, without wiping it: its last wipe is proved",
        ),
        (status("foreign"), "another installation has it"),
        (status("unnamed"), "it is left alone until it is added to the pool"),
        (status("claimed"), "no record explains it"),
        (status(None, condition=HostCondition.DIRTY), "it was not observed"),
    ],
)
def test_the_next_step_follows_from_record_and_name(host: HostStatus, message: str) -> None:
    assert message in next_step(host, NOW)


def test_a_quarantine_that_is_over_keeps_nobody_away() -> None:
    over = status("pool", condition=HostCondition.QUARANTINED, quarantined_until=NOW)
    assert over.quarantined(NOW) is None
    assert "claims it" in next_step(over, NOW)
