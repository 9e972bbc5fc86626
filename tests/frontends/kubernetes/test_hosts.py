"""How a host stands, as it is written on its object: its machine, its Node, what may come next."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hostler.app.provider_registry import KINDS
from hostler.config.node_tables import HostNodeTable, TaintTable
from hostler.domain.ids import AccountName, HostId, Zone
from hostler.domain.model.host import Host, HostCondition
from hostler.domain.model.machine import Machine, Protection
from hostler.domain.model.phases import Phase
from hostler.domain.reporting.hosts import HostStatus
from hostler.frontends.kubernetes.definitions.host import host_kind
from hostler.frontends.kubernetes.fleets.hosts import NOT_RUN, Known, host_fields
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.nodes.standing import Readiness, Standing
from hostler.frontends.kubernetes.objects.assembly import PROVIDER, Place, Reason
from hostler.frontends.kubernetes.objects.candidates import Candidates, Objects
from hostler.frontends.kubernetes.objects.models import Written
from hostler.frontends.kubernetes.objects.secrets import SecretPlaces
from hostler.kubernetes.objects import Metadata
from hostler.ports.power import PowerState
from hostler.queries.power_states import PowerStatus, Progress
from hostler.testing.scenes.builders import machine

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NODE = Standing(readiness=Readiness.NOT_READY, name="tower.home", since=NOW)
HOME = Namespaces(home="")


def tower() -> Known:
    """Return a host whose machine is ready, and whose Node is not."""
    one = replace(machine(1, Phase.READY), host=HostId("tower"))
    record = Host(
        id=HostId("tower"),
        account=AccountName("rack"),
        zone=Zone(""),
        condition=HostCondition.ALLOCATED,
        since=NOW,
    )
    status = HostStatus(id=record.id, account=record.account, record=record, binding=one.id)
    power = PowerStatus(progress=Progress.READY, power=PowerState.ON)
    return Known(host=status, machine=one, power=power, node=NODE)


def test_a_host_says_which_moves_are_open_and_how_its_node_stands() -> None:
    found = host_fields(tower(), NOW)
    assert found["moves"] == ["draining", "stopping", "failed", "standby"]
    assert found["node"] == {
        "name": "tower.home",
        "readiness": "not ready",
        "since": "2026-03-01T12:00:00Z",
    }
    assert (found["phase"], found["power"]) == ("ready", "on")


def reached(machine: Machine | None) -> tuple[object, object]:
    found = host_fields(replace(tower(), machine=machine), NOW)
    return found["reachability"], found.get("reachedAt")


def test_a_host_says_whether_its_address_answered_and_when() -> None:
    one, at = machine(1, Phase.READY), "2026-03-01T12:00:00Z"
    passed = one.with_fact("probe", NOW)
    failing = replace(one, error="readiness probe (tcp) at 192.0.2.1: no answer")
    assert reached(None) == ("unknown", None)
    assert reached(one) == ("unknown", None)
    assert reached(passed) == ("reachable", at)
    assert reached(replace(passed, phase=Phase.DRAINING)) == ("reachable", at)
    assert reached(replace(failing, phase=Phase.STARTING)) == ("unreachable", None)
    assert reached(replace(passed, error=failing.error)) == ("unreachable", at)


@pytest.mark.parametrize("phase", [Phase.STANDBY, Phase.STOPPING, Phase.STARTING, Phase.PENDING])
def test_a_host_that_is_off_or_on_its_way_is_not_called_reachable(phase: Phase) -> None:
    one = replace(machine(1, phase), error="its bootstrap script runs").with_fact("probe", NOW)
    assert reached(one)[0] == "unknown"


def test_no_move_is_open_to_a_machine_that_is_protected() -> None:
    known = tower()
    assert known.machine is not None
    until = Protection(until=NOW + timedelta(hours=1), actor="ann", why="a demonstration")
    protected = replace(known, machine=replace(known.machine, protection=until))
    assert host_fields(protected, NOW)["moves"] == []


def test_a_host_without_a_machine_has_no_moves() -> None:
    assert "moves" not in host_fields(replace(tower(), machine=None), NOW)


def test_a_host_whose_provider_is_not_in_force_still_tells_who_has_it() -> None:
    """After a restart, say; but not what nobody looks at any more."""
    known = tower()
    assert known.machine is not None
    assert host_fields(known, NOW, run=False) == {
        "machine": str(known.machine.id),
        "fleet": str(known.machine.fleet),
        "phase": "ready",
        "condition": host_fields(known, NOW)["condition"],
        "lastTransitionTime": "2026-03-01T12:00:00Z",
        "next": NOT_RUN,
    }


def test_all_that_is_written_on_a_host_is_in_its_definition() -> None:
    """What a definition lacks the API server drops without a word."""
    manifest: Any = host_kind(KINDS).manifest()
    (version,) = manifest["spec"]["versions"]
    known = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    found = host_fields(tower(), NOW)
    assert found.keys() <= known.keys()
    assert set(known["node"]["properties"]) == {"name", "readiness", "since"}


def judged(folder: Path, **spec: object) -> tuple[Any, HostNodeTable | None]:
    """Return what becomes of a Host, and what it says of its Node."""
    power = {"shelly": {"url": "http://192.0.2.1"}}
    rack = Written(metadata=Metadata(name="rack"), spec={"kind": "power"})
    host = Written(
        metadata=Metadata(name="tower"), spec={"provider": "rack", "power": power, **spec}
    )
    making = Candidates(
        namespaces=HOME, kinds=KINDS, base={}, places=SecretPlaces(folder, {}, b"salt")
    )
    objects = Objects(providers=(rack,), fleets=(), hosts=(host,))
    found = making.of(objects, {})[Place(PROVIDER, "rack")]
    return found.hosts["tower"], found.nodes.get("tower")


def test_labels_and_taints_of_a_host_are_read_and_are_no_keys_of_its_entry(
    tmp_path: Path,
) -> None:
    taints = [{"key": "gpu", "effect": "NoSchedule"}]
    verdict, node = judged(tmp_path, labels={"rack": "b"}, taints=taints)
    assert verdict.accepted
    expected = (TaintTable(key="gpu", effect="NoSchedule"),)
    assert node == HostNodeTable(labels={"rack": "b"}, taints=expected)


def test_a_taint_that_is_wrong_is_told_with_its_place(tmp_path: Path) -> None:
    verdict, _ = judged(tmp_path, taints=[{"key": "gpu", "effect": "Never"}])
    assert verdict.reason is Reason.INVALID
    assert "spec.taints[0].effect" in verdict.message
