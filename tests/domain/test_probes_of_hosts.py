"""A probe is of the host and of the disk that the machine has now, and of no earlier one."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.machines.lifecycle import follow
from hostler.domain.model.fleet import Probe, ProbeKind
from hostler.domain.model.machine import CallState
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Probed
from hostler.testing.scenes.builders import BEGIN
from hostler.testing.scenes.hosts import (
    BOX,
    CAPABILITIES,
    MINE,
    box,
    call,
    fleet_snapshot,
    on_host,
    tenant,
)

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize("kind", ["mac.rename.pending", "mac.rename.claimed", "mac.reinstall"])
@pytest.mark.parametrize(("after", "phase"), [(-1, Phase.STARTING), (1, Phase.READY)])
def test_a_probe_counts_that_began_after_the_host_was_taken_and_wiped(
    kind: str, after: int, phase: Phase
) -> None:
    """Its machine let go of the host, and took and wiped it anew, while the login went on."""
    asked = replace(call(kind, CallState.DONE, BEGIN + 10 * MINUTE), slot=CAPABILITIES.main)
    machine = on_host(Phase.STARTING, asked=(asked,), was_ready=None)
    now = BEGIN + 20 * MINUTE
    snapshot = fleet_snapshot((machine,), (tenant(), box("claimed")), now=now, bindings={MINE: BOX})
    probed = Probed(begun=asked.at + after * MINUTE, passed=True, text="up")
    fleet = replace(snapshot.fleet, probe=Probe(kind=ProbeKind.TCP))
    snapshot = replace(snapshot, fleet=fleet, probed={MINE: probed})
    assert follow(machine, snapshot, wave=False).machine.phase is phase
