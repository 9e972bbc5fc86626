"""A HostlerMachine with its Machine, its Cluster and a fleet, as plain values that tests change."""

import msgspec
from msgspec.structs import replace

from hostler.domain.model.machine import Deletion, Machine, MachineHealth
from hostler.domain.model.phases import Phase
from hostler.frontends.kubernetes.clusterapi.acts import Decision, Grow
from hostler.frontends.kubernetes.clusterapi.bootstrap import BootstrapPlace
from hostler.frontends.kubernetes.clusterapi.decision import decide
from hostler.frontends.kubernetes.clusterapi.identity import next_id
from hostler.frontends.kubernetes.clusterapi.names import FINALIZER
from hostler.frontends.kubernetes.clusterapi.objects import (
    Bootstrap,
    Cluster,
    ClusterSpec,
    ClusterStatus,
    Condition,
    CoreMachine,
    CoreMachineSpec,
    HostlerMachine,
    Initialization,
    MachineWants,
)
from hostler.frontends.kubernetes.clusterapi.standing import Standing, View
from hostler.kubernetes.objects import Metadata
from hostler.testing.scenes.builders import BEGIN, FLEET, MIN, OFFER

NOW = BEGIN + 30 * MIN
WORKERS = replace(FLEET, size=0, maximum=10, renews=False)
METADATA = Metadata(
    name="w-1", namespace="fleet", uid="uid-1", resource_version="7", creation_timestamp=BEGIN
)
ID = next_id(METADATA)
BOOTSTRAP = BootstrapPlace(place="secret/fleet/data")
PROVIDER_ID = "hostler://test/z-1/host-1"


def item(**changes: object) -> HostlerMachine:
    """Return a HostlerMachine that was claimed; `changes` are of its metadata."""
    metadata = msgspec.structs.replace(METADATA, **{"finalizers": (FINALIZER,), **changes})
    return HostlerMachine(
        metadata=metadata, spec=MachineWants(fleet_name=WORKERS.name, machine_id=ID)
    )


def with_spec(of: HostlerMachine, **changes: object) -> HostlerMachine:
    """Return it with these fields of its spec."""
    spec = msgspec.structs.replace(of.spec or MachineWants(), **changes)
    return msgspec.structs.replace(of, spec=spec)


def owner(name: str = "data", failure_domain: str = "") -> CoreMachine:
    """Return its Machine."""
    spec = CoreMachineSpec(
        cluster_name="c1",
        bootstrap=Bootstrap(data_secret_name=name),
        failure_domain=failure_domain,
    )
    return CoreMachine(metadata=Metadata(name="w-1", namespace="fleet"), spec=spec)


def cluster(*, paused: bool = False, provisioned: bool = True) -> Cluster:
    """Return its Cluster."""
    initialization = Initialization(infrastructure_provisioned=provisioned)
    return Cluster(
        metadata=Metadata(name="c1", namespace="fleet"),
        spec=ClusterSpec(paused=paused),
        status=ClusterStatus(initialization=initialization),
    )


def machine(phase: Phase = Phase.READY, **changes: object) -> Machine:
    """Return the engine's record of it."""
    made = Machine(
        id=ID,
        fleet=WORKERS.name,
        serial=1,
        created=BEGIN,
        since=BEGIN,
        phase=phase,
        offer=OFFER,
        health=MachineHealth(was_ready=BEGIN if phase is Phase.READY else None),
    )
    return replace(made, **changes)


READY = machine()


def ending(phase: Phase = Phase.STOPPING, **changes: object) -> Machine:
    """Return its record after somebody asked for its end."""
    deletion = Deletion(at=BEGIN, actor="ada", why="", now=True)
    return machine(phase, deletion=deletion, **changes)


def view(of: HostlerMachine | None = None, **changes: object) -> View:
    """Return what is known of it: all is there, and nothing was asked for yet."""
    standing = changes.pop("standing", Standing(fleet=WORKERS))
    seen = View(item=of or item(), now=NOW, owner=owner(), cluster=cluster(), bootstrap=BOOTSTRAP)
    return replace(seen, standing=standing, **changes)


def ready(
    of: HostlerMachine | None = None, machine: Machine | None = READY, **changes: object
) -> View:
    """Return what is known of one whose machine is ready, or as is given."""
    standing = Standing(fleet=WORKERS, machine=machine, provider_id=PROVIDER_ID)
    return view(of or item(), standing=standing, **changes)


def provisioned() -> HostlerMachine:
    """Return one that was provisioned, with the status that this gave it."""
    placed = with_spec(item(), provider_id=PROVIDER_ID)
    return msgspec.structs.replace(placed, status=decide(ready(placed)).status)


def deleted(**changes: object) -> HostlerMachine:
    """Return one that somebody deleted, and that waits for us."""
    return item(deletion_timestamp=NOW - MIN, **changes)


def condition(decision: Decision, type_: str = "Ready") -> Condition:
    """Return one of the conditions that a decision writes."""
    assert decision.status is not None
    (found,) = (each for each in decision.status.conditions if each.type == type_)
    return found


def grows(decision: Decision) -> Grow:
    """Return what a decision asks the engine for."""
    assert isinstance(decision.act, Grow)
    return decision.act
