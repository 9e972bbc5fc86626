"""What is next for a host for which nothing is under way, told from its record and its name."""

from datetime import timedelta
from typing import Any

import pytest
from cli_kit import NOW
from cli_macs_kit import FIRST, MAIN, ZONE

from hostler.domain.ids import HostId, MachineId, ResourceId
from hostler.domain.model.host import HOST, Host, HostCondition
from hostler.domain.model.resource import Resource
from hostler.frontends.cli.views.host_status import Stall, outlook

ID = HostId("host-1")


def stall(stage: str | None, binding: MachineId | None = None, **record: Any) -> Stall:
    """Return a host with a record and, where a stage is told, a look at it."""
    resource = Resource(id=ResourceId(ID), slot=HOST, zone=ZONE, notes=(("stage", stage or ""),))
    kept = Host(id=ID, account=MAIN, zone=ZONE, **record) if record else None
    return Stall(
        id=ID, account=MAIN, record=kept, resource=resource if stage else None, binding=binding
    )


@pytest.mark.parametrize(
    ("host", "said"),
    [
        (stall("claimed", FIRST), f"its machine decides: hostler explain FILE {FIRST}"),
        (stall(None, condition=HostCondition.GONE), "complete looks do not show it"),
        (
            stall(
                "quarantined",
                condition=HostCondition.QUARANTINED,
                quarantined_until=NOW + timedelta(hours=1),
            ),
            "it is left alone until 2026-03-01 13:00 UTC: it failed too often",
        ),
        (stall("other", scheduled=NOW), "the provider deletes it at 2026-03-01 12:00 UTC"),
        (stall("pool"), "the next machine that it fits takes it, and wipes it first"),
        (
            stall("parked", condition=HostCondition.FREE, wiped=NOW),
            "takes it, as it is, for its wipe is proved",
        ),
        (stall("foreign"), "another installation has it"),
        (stall("unnamed"), "`hostler pool FILE add` puts it into the pool"),
        (stall("claimed"), "no record explains it"),
        (stall(None, condition=HostCondition.DIRTY), "it was not looked at"),
    ],
)
def test_the_outlook_of_a_host_follows_from_its_record_and_its_name(host: Stall, said: str) -> None:
    assert said in outlook(host, NOW)


def test_a_quarantine_that_is_over_keeps_nobody_away() -> None:
    over = stall("pool", condition=HostCondition.QUARANTINED, quarantined_until=NOW)
    assert over.quarantined(NOW) is None
    assert "takes it" in outlook(over, NOW)
