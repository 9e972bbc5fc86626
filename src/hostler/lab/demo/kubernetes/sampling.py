"""Sampling: what there is, as the cluster and the cloud have it; what changes is announced."""

from collections.abc import Callable, Mapping
from enum import StrEnum

from msgspec import Struct, field

from hostler.domain.model.resource import Stage
from hostler.domain.model.snapshot import Orphan
from hostler.lab.macs.names import read_name
from hostler.ports.store import Store
from hostler.simulators.scaleway.state.mac_records import Mac, MacStatus
from hostler.simulators.scaleway.world import World

from .api import Api, Raw, condition_of, is_going, is_true, name_of
from .manifests import DEPLOYMENTS, HOSTLER_MACHINES, MACHINES, NODES, PODS_SORT, POOL

Announce = Callable[[str], None]


class HostState(StrEnum):
    """What a Mac is, by its name and status at the cloud."""

    FREE = "free"
    CLAIMED = "claimed"
    IN_USE = "in use"
    LEAVING = "released"
    WIPING = "being wiped"
    STRANDED = "stranded"
    DELETED = "deleted"


class Row(Struct, frozen=True, kw_only=True):
    """One Machine; `machine` is its id in hostler's records, `pods` how many its Node has."""

    name: str
    phase: str
    going: bool = False
    object_going: bool = False
    reason: str = ""
    provider_id: str = ""
    machine: str = ""
    node: str = ""
    pods: tuple[str, ...] = ()

    @property
    def running(self) -> bool:
        """Whether core says that it runs, and nobody wants its end."""
        return self.phase == "Running" and not self.going


class Sample(Struct, frozen=True, kw_only=True):
    """What there is at one time; `pods` are those of the workload that are ready, by their uid."""

    rows: tuple[Row, ...] = ()
    objects: frozenset[str] = frozenset()
    pods: frozenset[str] = frozenset()
    ready: int = 0
    hosts: Mapping[str, HostState] = field(default_factory=dict[str, HostState])
    orphans: tuple[Orphan, ...] = ()

    @property
    def running(self) -> dict[str, Row]:
        """The Machines that run, by their names."""
        return {row.name: row for row in self.rows if row.running}

    def row(self, name: str) -> Row | None:
        """Return one Machine."""
        return next((row for row in self.rows if row.name == name), None)


class Sampler:
    """Looks at the cluster, the cloud and the orphan report, and announces what changed."""

    def __init__(self, api: Api, world: World, store: Store, announce: Announce) -> None:
        self._api, self._world, self._store, self._announce = api, world, store, announce
        self.last = Sample()
        self.strays: dict[str, Orphan] = {}
        self.labels = {mac.id: f"mac-{number}" for number, mac in enumerate(self.macs(), start=1)}

    def macs(self) -> list[Mac]:
        """Return every host that ever was."""
        entries = self._world.cloud.ledger.entries()
        return [entry.record for entry in entries if isinstance(entry.record, Mac)]

    async def look(self) -> Sample:
        """Take one sample."""
        self._world.advance()
        before, self.last = self.last, await self._sample()
        for orphan in self.last.orphans:
            if str(orphan.cls) in _STRAYS and str(orphan.resource) not in self.strays:
                self.strays[str(orphan.resource)] = orphan
                self._announce(
                    f"orphan report: {self.label_of(orphan)} is {orphan.cls}: {why_not(orphan)}"
                )
        for text in changes(before, self.last, self.labels):
            self._announce(text)
        return self.last

    def label_of(self, orphan: Orphan) -> str:
        """Return which host an orphan is, or has."""
        return self.labels.get(self.host_of(orphan), str(orphan.resource))

    def host_of(self, orphan: Orphan) -> str:
        """Return the id of the host that an orphan is, or has; empty where that is unknown."""
        texts = (str(orphan.resource), orphan.owner)
        return next((mac.id for mac in self.macs() if any(mac.id in text for text in texts)), "")

    def deleted(self) -> int:
        """Return how many hosts the cloud does not have any more, or is to end."""
        return sum(mac.ended is not None or mac.deletion_scheduled for mac in self.macs())

    def wipes(self) -> int:
        """Return how many disks were written anew since the hosts were bought."""
        return sum(max(0, mac.installs - 1) for mac in self.macs())

    # ------------------------------------------------------------ the cluster

    async def _sample(self) -> Sample:
        own = {name_of(one): one for one in await self._api.list(HOSTLER_MACHINES)}
        nodes = {name_of(one): one for one in await self._api.list(NODES)}
        pods = await self._pods()
        rows = tuple(
            _row(one, own.get(name_of(one)), nodes, pods) for one in await self._api.list(MACHINES)
        )
        orphans = await self._store.orphans()
        stranded = {self.host_of(orphan) for orphan in orphans if str(orphan.cls) in _STRAYS}
        return Sample(
            rows=rows,
            objects=frozenset(own),
            pods=frozenset(str(one["metadata"]["uid"]) for one in pods),
            ready=sum(is_true(one, "Ready") and not is_going(one) for one in pods),
            hosts={mac.id: _state(mac, stranded=mac.id in stranded) for mac in self.macs()},
            orphans=orphans,
        )

    async def _pods(self) -> list[Raw]:
        """Return the Pods of workloads that are wanted."""
        apps = {name_of(one) for one in await self._api.list(DEPLOYMENTS)}
        pods = await self._api.list(PODS_SORT)
        return [one for one in pods if one["metadata"].get("labels", {}).get("app") in apps]


_STRAYS = frozenset({"abandoned", "unrecorded"})
_LEAVING = frozenset({Stage.RELEASING, Stage.WIPING})


def _row(machine: Raw, own: Raw | None, nodes: Mapping[str, Raw], pods: list[Raw]) -> Row:
    name, spec = name_of(machine), own["spec"] if own is not None else Raw()
    node = nodes.get(machine.get("status", {}).get("nodeRef", {}).get("name", ""))
    placed = (one for one in pods if one["spec"].get("nodeName") == name)
    return Row(
        name=name,
        phase=str(machine.get("status", {}).get("phase", "Pending")),
        going=is_going(machine),
        object_going=own is not None and is_going(own),
        reason=_reason(own),
        provider_id=str(spec.get("providerID", "")),
        machine=str(spec.get("machineID", "")),
        node=_standing(node),
        pods=tuple(str(one["metadata"]["uid"]) for one in placed),
    )


def _reason(own: Raw | None) -> str:
    return "no object" if own is None else str(condition_of(own, "Ready").get("reason", ""))


def why_not(orphan: Orphan) -> str:
    """Return what keeps an orphan from being taken back."""
    return orphan.blocked or "it is taken back now"


def _standing(node: Raw | None) -> str:
    if node is None:
        return ""
    if node["spec"].get("unschedulable"):
        return "cordoned"
    return "Ready" if is_true(node, "Ready") else "NotReady"


def _state(mac: Mac, *, stranded: bool) -> HostState:
    if mac.ended is not None:
        return HostState.DELETED
    if stranded:
        return HostState.STRANDED
    if mac.status is not MacStatus.READY:
        return HostState.WIPING
    if mac.name.startswith(POOL):
        return HostState.FREE
    name = read_name(mac.name)
    if name is None or name.stage is Stage.CLAIMED:
        return HostState.IN_USE
    return HostState.LEAVING if name.stage in _LEAVING else HostState.CLAIMED


def changes(before: Sample, after: Sample, labels: Mapping[str, str]) -> list[str]:
    """Return in words what changed between two samples. Pure."""
    older = {row.name: row for row in before.rows}
    texts = list[str]()
    for row in after.rows:
        known = older.pop(row.name, None)
        phase = "Deleting" if row.going else row.phase
        if known is None or phase != ("Deleting" if known.going else known.phase):
            texts.append(f"Machine {row.name}: {phase}")
        if row.node == "cordoned" and (known is None or known.node != "cordoned"):
            texts.append(f"Node {row.name}: cordoned")
    texts += [f"Machine {name}: gone" for name in older]
    for host, state in after.hosts.items():
        if before.hosts and before.hosts.get(host) is not state:
            texts.append(f"{labels.get(host, host)}: {state}")
    return texts
