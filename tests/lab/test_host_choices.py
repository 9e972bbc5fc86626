"""What the judge says of a fleet that is said to have no host: one waits, or none does."""

import pytest
from msgspec.structs import replace

from hostler.domain.ids import AccountName, FleetName, HostId, InstallationId
from hostler.domain.model.commands import Advance, Bind, Command, Decision, SaveFleet, Verdict
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.lab.checks.host_choices import passed_over
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.testing.scenes.builders import BEGIN, FLEET, ZONE, machine

NONE = "no_available_host: no host fits"
WAITS = replace(machine(1), phase=Phase.STARTING)
HAS = replace(WAITS, host=HostId("box-9"))
ONE, TWO = HostId("box-1"), HostId("box-2")
RECORD = Host(id=ONE, account=AccountName("rack"), zone=ZONE)
BINDS = Bind(host=RECORD, machine=WAITS.id)
MAKES = SaveFleet(row=FleetRow(name=FleetName("web"), created=BEGIN), inserts=(FLEET.offers[0],))
LETS_GO = Advance(
    machine=WAITS, changed=True, events=(), verdict=Verdict(machine=WAITS.id, reason="x")
)


def judged(
    machines: tuple[Machine, ...],
    *commands: Command,
    free: tuple[HostId, ...] = (ONE,),
    condition: str = NONE,
    renews: bool = True,
) -> bool:
    """Tell whether the judge objects to a decision."""
    fleet = replace(FLEET, renews=renews)
    shadow = ShadowStore(own=InstallationId("i1"), fleets={fleet.name: fleet})
    shadow.inserted(machines)
    made = Decision(condition=condition, commands=commands)
    found = passed_over(made, fleet.name, shadow, free)
    assert all(one.invariant == "L3" for one in found)
    return bool(found)


def test_no_fleet_has_no_host_while_one_waits_that_nobody_takes() -> None:
    assert judged(())
    assert judged((HAS,))
    assert not judged((), free=())
    assert not judged((), condition="all is well")
    assert not judged((), renews=False), "it may have asked for another sort"


@pytest.mark.parametrize(
    ("machines", "commands"),
    [((WAITS,), ()), ((), (BINDS,)), ((), (MAKES,)), ((HAS,), (LETS_GO,))],
)
def test_each_machine_that_begins_or_waits_takes_one(
    machines: tuple[Machine, ...], commands: tuple[Command, ...]
) -> None:
    assert not judged(machines, *commands)
    assert judged(machines, *commands, free=(ONE, TWO))
