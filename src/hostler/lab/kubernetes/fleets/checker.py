"""The checker: at rest objects say what people wrote, what is on record, and what is true.

status    each Fleet and Host says how it stands, and whether what was written is in force.
leaves    no object that was deleted stays, and no finalizer.
fight     at rest nothing is written to the API.
"""

from collections.abc import Iterator, Mapping

from hostler.domain.ids import FleetName, HostId
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.kubernetes.simulated_cluster import Raw
from hostler.lab.power.checker import PowerChecker
from hostler.testing.invariants import Violation

from .objects import Objects

_POWERS = {Condition.UP: "on", Condition.STARTING: "on", Condition.OFF: "off"}
_LOCK = "homelab-autoscaler.dev/operation-lock"


class FleetsChecker(PowerChecker):
    """All checkers of one run of Fleets, beside those of the machines and their boxes."""

    objects: Objects

    def wrong(self, invariant: str, text: str) -> None:
        """Note that something does not hold."""
        self.found((Violation(invariant=invariant, text=text),))

    def untrue(self, shadow: ShadowStore, sizes: Mapping[str, int]) -> str:
        """Return what objects say at rest that is not so; empty where all is true."""
        there = {str(one["metadata"]["name"]): one for one in self.objects.fleets()}
        if there.keys() != sizes.keys():
            return f"leaves: there are Fleets {sorted(there)}, and {sorted(sizes)} are to be"
        if going := [name for name, one in there.items() if "deletionTimestamp" in one["metadata"]]:
            return f"leaves: Fleets {sorted(going)} were deleted, and are there still"
        texts = [text for name, size in sizes.items() for text in _fleet(there[name], shadow, size)]
        texts += [text for one in self.objects.hosts() for text in self._host(one, shadow)]
        return "; ".join(texts)

    def _host(self, one: Raw, shadow: ShadowStore) -> Iterator[str]:
        name, status = str(one["metadata"]["name"]), one.get("status", {})
        yield from _in_force(one)
        condition = self.truth.condition(HostId(name))
        power = _POWERS.get(condition) if condition is not None else None
        if power is not None and status.get("power") != power:
            yield f"status: Host {name} says {status.get('power')}, and is {condition}"
        machine = shadow.bindings.get(HostId(name), "")
        if status.get("machine", "") != machine:
            yield f"status: Host {name} has {status.get('machine')!r}, on record is {machine!r}"
        if _LOCK in one["metadata"].get("annotations", {}):
            yield f"status: Host {name} is locked, and nothing is done"


def _fleet(one: Raw, shadow: ShadowStore, size: int) -> Iterator[str]:
    name, status = str(one["metadata"]["name"]), one.get("status", {})
    living = shadow.living(FleetName(name))
    ready = sum(machine.phase is Phase.READY for machine in living)
    says = tuple(status.get(key) for key in ("size", "machines", "ready"))
    if says != (size, len(living), ready):
        yield f"status: Fleet {name} says {says}, and it is {(size, len(living), ready)}"
    yield from _in_force(one)


def _in_force(one: Raw) -> Iterator[str]:
    """Yield that an object does not say that its newest spec is in force."""
    name, status = str(one["metadata"]["name"]), one.get("status", {})
    accepted = {c["type"]: c["status"] for c in status.get("conditions", ())}.get("Accepted")
    written, seen = one["metadata"].get("generation"), status.get("observedGeneration")
    if accepted != "True" or seen != written:
        yield f"status: {name} is accepted: {accepted}, of generation {seen} and not {written}"
