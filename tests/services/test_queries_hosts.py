"""What comes next for a host to which nothing is being done, by its record and its name."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hostler.domain.ids import AccountName, HostId, MachineId, ResourceId, Zone, machine_id
from hostler.domain.model.host import HOST, Host, HostCondition, HostOrigin, ReleasePolicy
from hostler.domain.model.resource import Condition, HostFacts, Resource, Stage
from hostler.domain.reporting.hosts import HostStatus
from hostler.queries.hosts import next_step, why_paid
from hostler.testing.scenes.fields import with_fields

ID = HostId("host-1")
MAIN = AccountName("main")
ZONE = Zone("fr-par-1")
FIRST = machine_id(1)
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def status(stage: str | None, binding: MachineId | None = None, **record: Any) -> HostStatus:
    """Return a host with a record and, where a stage is told, an observation of it."""
    resource = Resource(
        id=ResourceId(ID),
        slot=HOST,
        zone=ZONE,
        condition=Condition.UP,
        host=HostFacts(stage=Stage(stage or "")),
    )
    saved = with_fields(Host(id=ID, account=MAIN, zone=ZONE), **record) if record else None
    return HostStatus(
        id=ID, account=MAIN, record=saved, resource=resource if stage else None, binding=binding
    )


@pytest.mark.parametrize(
    ("host", "kind", "detail", "at"),
    [
        (status("claimed", FIRST), "machine", f"what comes next for {FIRST}, which has it", None),
        (
            status(None, condition=HostCondition.ABSENT),
            "nothing",
            "complete observations no longer show it",
            None,
        ),
        (
            status(
                "quarantined",
                condition=HostCondition.QUARANTINED,
                quarantined_until=NOW + timedelta(hours=1),
            ),
            "wait",
            "the end of its quarantine: it failed too often",
            NOW + timedelta(hours=1),
        ),
        (status("other", scheduled=NOW), "wait", "its deletion by the provider", NOW),
        (
            status("pool"),
            "wait",
            "a machine that it fits, which claims it and wipes it first",
            None,
        ),
        (
            status("parked", condition=HostCondition.FREE, wiped=NOW),
            "wait",
            "claims it as it is: it is proved clean",
            None,
        ),
        (
            status("pool", condition=HostCondition.DIRTY, wiped=NOW),
            "wait",
            "a machine that it fits, once it is free again",
            None,
        ),
        (status("foreign"), "nothing", "another installation has it", None),
        (status("unnamed"), "nothing", "it is left alone until it is added to the pool", None),
        (status("claimed"), "nothing", "no record explains it", None),
        (status("ordered"), "nothing", "no record explains it", None),
        (status("parked"), "nothing", "no record explains it", None),
        (status(None, condition=HostCondition.DIRTY), "observe", "an observation shows it", None),
    ],
)
def test_the_next_step_follows_from_record_and_name(
    host: HostStatus, kind: str, detail: str, at: datetime | None
) -> None:
    step = next_step(host, NOW)
    assert (step.kind, step.at) == (kind, at)
    assert detail in step.detail


def test_a_quarantine_that_is_over_keeps_nobody_away() -> None:
    over = status("pool", condition=HostCondition.QUARANTINED, quarantined_until=NOW)
    assert over.quarantined(NOW) is None
    assert "claims it" in next_step(over, NOW).detail


PAID: dict[str, Any] = {
    "origin": HostOrigin.ORDERED,
    "delivered": NOW - timedelta(days=2),
    "condition": HostCondition.ALLOCATED,
}


@pytest.mark.parametrize(
    ("host", "pooled", "why"),
    [
        (status("claimed", FIRST, **PAID, paid_until=NOW + timedelta(hours=1)), True, "window"),
        (status("claimed", FIRST, **PAID, paid_until=NOW), True, "moves to a host of the pool"),
        (status("claimed", FIRST, **PAID, paid_until=NOW), False, "its machine needs it"),
        (
            status("claimed", FIRST, **PAID, paid_until=NOW, policy=ReleasePolicy.KEEP),
            True,
            "a person keeps it",
        ),
        (status("parked", None, **PAID, paid_until=NOW), False, "costs more than to keep it"),
        (status("claimed", FIRST, condition=HostCondition.ALLOCATED), False, ""),
    ],
)
def test_a_host_that_was_ordered_says_why_it_is_still_paid_for(
    host: HostStatus, why: str, *, pooled: bool
) -> None:
    assert why in why_paid(host, NOW, pooled=pooled)
    assert bool(why_paid(host, NOW, pooled=pooled)) == bool(why)
