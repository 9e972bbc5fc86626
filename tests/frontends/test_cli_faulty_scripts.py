"""What is shown of a machine whose host is kept because its fleet's setup script is at fault."""

from datetime import timedelta

import pytest
from cli_kit import FILE, NOW, cli, fill, made, run
from cli_macs_kit import FIRST, FLEET, MACS, ZONE, WithMacs, keep
from msgspec.structs import replace

from hostler.domain.ids import HostId
from hostler.domain.model.fleet import FleetRow, Probe, ProbeKind
from hostler.domain.model.host import HostCondition, allocation_of
from hostler.domain.model.machine import Known, Place
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Slot
from hostler.domain.policy.bootstrap import digest_of
from hostler.domain.policy.remediation import Trouble
from hostler.domain.policy.revisions import Lapse, Revision, Tried

Out = pytest.CaptureFixture[str]
LIST = ("false",)
PROBED = replace(FLEET, probe=Probe(kind=ProbeKind.SSH, commands=LIST))
LATE = NOW - 2 * FLEET.timers.start


def saved(services: WithMacs) -> None:
    """Let the first machine start for longer than its bound, on a host where the list failed."""
    (host,) = services.stock(1)
    services.claimed(host)
    digest = digest_of(LIST)
    lapses = tuple(
        Lapse(host=HostId(name), at=NOW, number=1, of=1, ended="exit 1")
        for name in (host, "host-9")
    )
    known = Revision(digest=digest, since=LATE, failed=lapses, broken=NOW)
    resource = allocation_of(HostId(host), FIRST)
    machine = made(
        1,
        Phase.STARTING,
        since=LATE,
        host=HostId(host),
        offer=FLEET.offers[0],
        places=(
            Place(
                slot=Slot("server"),
                bound=resource,
                known=(Known(id=resource, zone=ZONE, since=LATE),),
            ),
        ),
    )
    run(fill(services.store_, machine, row=FleetRow(name=MACS, created=LATE, revision=known)))
    keep(
        services,
        host,
        FIRST,
        condition=HostCondition.ALLOCATED,
        machine=FIRST,
        fleet=MACS,
        trouble=Trouble(failures=8, listed=True),
        tried=Tried(digest=digest, fleet=MACS, at=NOW, number=1, of=1, ended="exit 1"),
    )


def test_the_status_says_how_long_a_host_is_kept_and_not_that_it_is_overdue(capsys: Out) -> None:
    services = WithMacs(fleets=(PROBED,))
    saved(services)
    (fleet,) = cli(services, capsys, "status", str(FILE), "--json").json["fleets"]
    assert [machine["next"] for machine in fleet["machines"]] == [
        "its setup script is at fault; released in 3 d"
    ]


def test_an_explanation_bounds_the_start_by_that_and_says_the_fault_once(capsys: Out) -> None:
    services = WithMacs(fleets=(PROBED,))
    saved(services)
    output = cli(services, capsys, "explain", str(FILE), FIRST, "--json").json
    until = NOW + FLEET.timers.longest_protection
    assert until - NOW > timedelta(hours=1)
    assert output["deadline"] == f"{until:%Y-%m-%dT%H:%M:%SZ}"
    assert output["blocker"].startswith("bootstrap_failed: the setup script is at fault")
    assert output["moves"]["failed"] == "allowed; not now: bootstrap_failed"
