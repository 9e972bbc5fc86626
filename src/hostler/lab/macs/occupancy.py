"""Who has the hosts at this moment: none is used by two, and none is free with a used disk."""

from collections.abc import Iterable, Iterator

from hostler.domain.ids import HostId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.simulators.scaleway.state.mac_records import MacStatus
from hostler.testing.invariants import Violation

from .ground_truth import PERSON, GroundTruth

FORGIVEN = 7200.0
"""So long, in seconds, two may take a host for theirs after a person or a late effect named it."""
IN_USE = frozenset({Phase.READY, Phase.DRAINING})
"""The phases in which somebody works on a machine's host."""


def shared(shadows: Iterable[ShadowStore], truth: GroundTruth, now: float) -> Iterator[Violation]:
    """S13: whoever is ready on a host uses it; two at once are one too many."""
    users = dict[HostId, Machine]()
    for machine in (machine for shadow in shadows for machine in shadow.living()):
        host = machine.host
        if host is None or machine.phase not in IN_USE or host not in truth.hosts:
            continue
        other, fact = users.setdefault(host, machine), truth.hosts[host]
        if other is not machine and now - max(fact.late, fact.handled) >= FORGIVEN:
            text = f"host {host} is in use by {other.id} and by {machine.id}"
            yield Violation(invariant="S13", text=text, machine=machine.id)


def unwiped(truth: GroundTruth, pools: tuple[str, ...]) -> Iterator[Violation]:
    """No host is free and ready that was not wiped since its last claim by a machine.

    A name that a person copied onto it is nobody's act: whoever claims it by that is judged.
    """
    for host, fact in truth.hosts.items():
        mac = truth.mac(host)
        if mac is None or fact.user == PERSON or fact.by_person:
            continue
        if mac.status is not MacStatus.READY:
            continue
        free = fact.name.startswith(pools) or (fact.owner or ("",))[0] == "parked"
        if free and not truth.is_clean(host) and fact.late < fact.named:
            text = f"host {host} is free as {fact.name}, unwiped since {fact.user} had it"
            yield Violation(invariant="pool", text=text)
