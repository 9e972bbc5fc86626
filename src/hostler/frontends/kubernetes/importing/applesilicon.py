"""Apple silicon: Macs that an older Cluster API provider claimed, as objects of ours. Pure.

Ours have the same names and providerIDs; no object of the older provider's is touched, and no host.
They begin paused, and their Fleets too: nothing happens before a person has named each host.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hostler.frontends.kubernetes.clusterapi.identity import former_host, next_id
from hostler.frontends.kubernetes.clusterapi.names import (
    ADOPT,
    CLUSTER_LABEL,
    FORMER_RELEASE_POLICY,
    FORMER_SCHEME,
    INFRASTRUCTURE,
    PAUSED,
    RELEASE_POLICY,
)
from hostler.frontends.kubernetes.clusterapi.names import VERSION as INFRASTRUCTURE_VERSION
from hostler.frontends.kubernetes.definitions.custom import GROUP, VERSION
from hostler.frontends.kubernetes.objects.models import Fields, Written
from hostler.kubernetes.objects import Metadata

from .former_macs import KIND, Former, Old, number_of, text_of, value_of
from .homelab import Imported

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")
"""What a Fleet may be called."""
_TYPE, _ZONE = "M2-L", "fr-par-1"
"""What the older provider had where its objects do not say it."""

_LOST = {
    "ghActionsRunner": "the agent of GitHub Actions",
    "runnerCacheVolumeGiB": "the volume of the runners' cache",
    "guestCapacity": "the number of guests",
    "maxPods": "the number of Pods",
}
"""What a host was told by its object, and is the fleet's own setup's here."""


@dataclass(slots=True, kw_only=True)
class MacImporter:
    """Makes objects of ours for one namespace; all fleets are of one Provider.

    `fleet` is that of machines which are in no fleet.
    """

    namespace: str
    provider: str
    fleet: str = "macs"
    remarks: list[str] = field(default_factory=list[str])
    left: dict[str, str] = field(default_factory=dict[str, str])

    def imported(self, former: Former) -> Imported:
        """Return Fleets, HostlerClusters, templates and machines; and what is not carried over."""
        machines = [one for one in former.machines if self._is_taken(one, former.machines)]
        templates = [one for one in former.templates if self._is_usable(one)]
        found = [*self._fleets(machines, [one.made for one in templates])]
        found += [self._cluster(one) for one in former.clusters]
        found += [self._template(one) for one in templates]
        found += [self._machine(one) for one in machines]
        self._pools((*machines, *(one.made for one in templates)))
        remarks = (
            *self.remarks,
            *(f"{name}, not taken over: {why}" for name, why in self.left.items()),
        )
        return Imported(objects=tuple(found), remarks=remarks, left=dict(self.left))

    # ------------------------------------------------------------ machines

    def _is_taken(self, machine: Old, all_of_them: Iterable[Old]) -> bool:
        """Tell whether a machine can be taken over; why not is kept."""
        name = f"{KIND}/{machine.metadata.name}"
        why = _why_not(machine) or _shared(machine, all_of_them) or self._no_fleet(machine)
        if why:
            self.left[name] = why
        return not why

    def _is_usable(self, template: Old) -> bool:
        why = self._no_fleet(template.made)
        if why:
            self.left[f"{KIND}Template/{template.metadata.name}"] = why
        return not why

    def _no_fleet(self, old: Old) -> str:
        name = self._fleet_of(old)
        return "" if _NAME.fullmatch(name) else f"its fleetName is no name of a Fleet: {name!r}"

    def _machine(self, old: Old) -> Written:
        name = old.metadata.name
        for key, what in _LOST.items():
            if value_of(old.spec, key) is not None:
                self.remarks.append(
                    f"{name}: {key} ({what}) is not carried over: the fleet's setup"
                )
        former = old.metadata.annotations or {}
        policy = former.get(RELEASE_POLICY) or former.get(FORMER_RELEASE_POLICY)
        annotations = {PAUSED: "imported", **({RELEASE_POLICY: policy} if policy else {})}
        label = (old.metadata.labels or {}).get(CLUSTER_LABEL)
        self.remarks.append(
            f"{name}: once its Machine names it, take its host over: kubectl -n {self.namespace} "
            f"annotate hostlermachine {name} {ADOPT}={name} {PAUSED}-"
        )
        return Written(
            api_version=f"{INFRASTRUCTURE}/{INFRASTRUCTURE_VERSION}",
            kind="HostlerMachine",
            metadata=Metadata(
                name=name,
                namespace=self.namespace,
                labels={CLUSTER_LABEL: label} if label else None,
                annotations=annotations,
            ),
            spec={
                **self._choices(old),
                "providerID": old.text("providerID"),
                "machineID": next_id(old.metadata),
            },
        )

    def _choices(self, old: Old) -> dict[str, object]:
        return {
            "fleetName": self._fleet_of(old),
            "type": old.text("type") or _TYPE,
            "zone": old.text("zone") or _ZONE,
        }

    def _fleet_of(self, old: Old) -> str:
        return old.text("fleetName") or self.fleet

    # ------------------------------------------------------------ what they are of

    def _fleets(self, machines: Sequence[Old], templates: Iterable[Old]) -> Iterator[Written]:
        """Yield a Fleet for each that is named, paused, with room for one machine more."""
        members = (*machines, *templates)
        for name in sorted({self._fleet_of(one) for one in members}):
            own = [one for one in members if self._fleet_of(one) == name]
            many = sum(self._fleet_of(one) == name for one in machines)
            sold = {
                "types": sorted({one.text("type") or _TYPE for one in own}),
                "zones": sorted({one.text("zone") or _ZONE for one in own}),
            }
            spec: Fields = {
                "paused": True,
                "provider": self.provider,
                "renews": False,
                "size": 0,
                "maximum": many + 1,
                "scalewayMacs": sold,
            }
            yield self._made(f"{GROUP}/{VERSION}", "Fleet", name, spec)

    def _template(self, old: Old) -> Written:
        inner = old.made
        spec: dict[str, object] = {"template": {"spec": self._choices(inner)}}
        capacity = _capacity(inner)
        if capacity:
            spec["capacity"] = capacity
        spec["nodeInfo"] = {"architecture": "arm64", "operatingSystem": "darwin"}
        kind = "HostlerMachineTemplate"
        return self._made(_INFRASTRUCTURE, kind, old.metadata.name, spec)

    def _cluster(self, old: Old) -> Written:
        endpoint = value_of(old.spec, "controlPlaneEndpoint")
        host, port = text_of(endpoint, "host"), number_of(endpoint, "port")
        spec: Fields = (
            {"controlPlaneEndpoint": {"host": host, "port": port}} if host and port else {}
        )
        return self._made(_INFRASTRUCTURE, "HostlerCluster", old.metadata.name, spec)

    def _pools(self, members: Iterable[Old]) -> None:
        """Say which pools there are: the Provider has one prefix, and a machine may have none."""
        counts = Counter(one.text("adoptPoolPrefix") for one in members)
        for prefix, many in sorted(counts.items()):
            what = (
                f"the pool {prefix}…"
                if prefix
                else "no pool of their own: they go to the Provider's"
            )
            self.remarks.append(
                f"{many} objects have {what}; set poolPrefix of Provider {self.provider}"
            )

    def _made(self, version: str, kind: str, name: str, spec: Fields) -> Written:
        metadata = Metadata(name=name, namespace=self.namespace)
        return Written(api_version=version, kind=kind, metadata=metadata, spec=spec)


_INFRASTRUCTURE = f"{INFRASTRUCTURE}/{INFRASTRUCTURE_VERSION}"


def _why_not(machine: Old) -> str:
    """Return what keeps one machine by itself from being taken over."""
    provider_id = machine.text("providerID")
    host = former_host(provider_id)
    if machine.metadata.deletion_timestamp is not None:
        return "it is being deleted"
    if not provider_id and not machine.server:
        return "it has no host: its Machine gets one once it names a HostlerMachine"
    if host is None:
        return f"its providerID is no {FORMER_SCHEME}ZONE/SERVER: {provider_id or 'it has none'}"
    if machine.server and machine.server != host:
        return f"its providerID names host {host}, and its status {machine.server}"
    zone = machine.text("zone") or _ZONE
    if not provider_id.startswith(f"{FORMER_SCHEME}{zone}/"):
        return f"its providerID names another zone than {zone}: {provider_id}"
    return "" if machine.metadata.uid else "it has no uid"


def _shared(machine: Old, others: Iterable[Old]) -> str:
    """Return which other machine names the same host: whose it is only a person can say."""
    host = former_host(machine.text("providerID"))
    same = (one for one in others if one is not machine)
    names = [one.metadata.name for one in same if former_host(one.text("providerID")) == host]
    return f"{', '.join(sorted(names))} names the same host {host}" if names else ""


def _capacity(made: Old) -> dict[str, str]:
    """Return what its Nodes have, where it says so."""
    cpu, memory = number_of(made.spec, "hostCPU"), number_of(made.spec, "hostMemoryMB")
    found = {"cpu": str(cpu) if cpu else "", "memory": f"{memory}M" if memory else ""}
    return {key: value for key, value in found.items() if value}
