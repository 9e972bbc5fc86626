"""Choices of Macs: no machine takes a host that is to be wiped while a clean one waits for it.

A wipe takes a quarter of an hour and more; judged by the disks, and not by what is on record of
wipes. Among hosts that are clean one that was ordered, and is paid for anyway, comes before those
of the pool; among others nothing is said.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from hostler.domain.ids import FleetName, HostId, InstallationId
from hostler.domain.model.commands import Decision
from hostler.domain.model.host import Host, HostCondition
from hostler.domain.model.machine import Offer
from hostler.lab.checks.holds import Holds
from hostler.lab.checks.host_choices import Waiting, chosen, is_asked_of, waits, worse
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.simulators.scaleway.state.mac_records import Mac, MacStatus
from hostler.testing.invariants import Found

from .ground_truth import NEVER, PERSON, GroundTruth
from .names import parse_name

_PAID = frozenset({"parked", "ordered"})
"""The stages of names under which an ordered host waits for a machine."""


@dataclass(slots=True)
class MacChoices:
    """Which hosts machines choose. `settled`: what stands so long, in seconds, everybody knows.

    `written` is which wipe each record has, by installation, and how often the disk was written
    when that came on record; `disguised` is when each host was last answered to be in a status that
    nobody knows.
    """

    truth: GroundTruth
    settled: float
    written: dict[tuple[InstallationId, HostId], tuple[datetime | None, int]] = field(
        default_factory=dict[tuple[InstallationId, HostId], tuple[datetime | None, int]]
    )
    disguised: dict[HostId, float] = field(default_factory=dict[HostId, float])

    def saved(self, shadow: ShadowStore, host: Host) -> None:
        """Note how often the disk of a host was written when its wipe came on record."""
        mac, key, wiped = self.truth.mac(host.id), (shadow.own, host.id), host.cleaning.wiped
        if mac is None:
            self.written.pop(key, None)
        elif key not in self.written or self.written[key][0] != wiped:
            self.written[key] = wiped, mac.installs

    def note_disguises(self) -> None:
        """Note which hosts show a status that nobody knows: whoever looks now finds them unfit."""
        displayed = (HostId(mac.id) for mac in self.truth.world.cloud.macs if mac.displayed)
        self.disguised |= dict.fromkeys(displayed, self._now)

    def steady(self, host: HostId, holds: Holds) -> float | None:
        """Return since when all is well with a host; None where it is not, or somebody asked."""
        mac, fact = self.truth.mac(host), self.truth.hosts.get(host)
        if mac is None or fact is None or mac.displayed or mac.status is not MacStatus.READY:
            return None
        if is_asked_of(host, holds.wanted, self._now):
            return None
        return max(fact.moved, self.disguised.get(host, NEVER))

    def made(self, shadow: ShadowStore, fleet: FleetName, made: Decision, holds: Holds) -> Found:
        """Judge the hosts that a decision gives to the machines of a fleet."""
        binds = chosen(made, fleet, shadow)
        taken = {host for _, host in binds}
        for machine, host in binds:
            mac, is_clean = self.truth.mac(host), self._is_clean(shadow, host)
            if mac is None or (is_clean and _is_paid(mac)):
                continue
            better, why = self._clean, "is clean and free, and need not be wiped"
            if is_clean:
                better, why = self._paid, "is paid for, and waits"
            others = (
                other
                for other in better(shadow, fleet, machine.offer)
                if other not in taken and not is_asked_of(other, holds.wanted, self._now)
            )
            if found := worse(machine, host, others, why):
                return found
        free = partial(self._unasked, shadow, fleet, holds)
        return Waiting(made, fleet, shadow, free, self._now - self.settled).judged()

    @property
    def _now(self) -> float:
        return self.truth.world.cloud.now

    def _is_clean(self, shadow: ShadowStore, host: HostId) -> bool:
        """Tell whether a host may count as clean: a wipe was seen, or nobody had it since one."""
        record = shadow.hosts.get(host)
        return record is not None and record.condition is HostCondition.FREE

    def _clean(self, shadow: ShadowStore, fleet: FleetName, offer: Offer) -> Iterator[HostId]:
        """Yield the hosts of an offer that were wiped after a machine of this fleet had them."""
        for mac, record in self._fitting(shadow, fleet, offer):
            if self._is_proved(shadow, mac, record):
                yield record.id

    def _unasked(
        self, shadow: ShadowStore, fleet: FleetName, holds: Holds, offer: Offer
    ) -> Iterator[HostId]:
        """Yield the clean hosts of an offer of which nobody wants anything."""
        for host in self._clean(shadow, fleet, offer):
            if not is_asked_of(host, holds.wanted, self._now):
                yield host

    def _paid(self, shadow: ShadowStore, fleet: FleetName, offer: Offer) -> Iterator[HostId]:
        """Yield the hosts of an offer that are clean, and that this fleet pays for anyway."""
        settled = self._now - self.settled
        for mac, record in self._fitting(shadow, fleet, offer):
            fact, well = self.truth.hosts[record.id], not record.health.strikes
            named = _is_paid(mac) and not fact.by_person and fact.name == record.ownership.name
            known = named and self._is_known(shadow, mac)
            if known and well and waits(record, shadow, settled):
                yield record.id

    def _fitting(
        self, shadow: ShadowStore, fleet: FleetName, offer: Offer
    ) -> Iterator[tuple[Mac, Host]]:
        """Yield the hosts of an offer that a fleet had last and that are well, with records."""
        for mac in self.truth.world.cloud.macs:
            same, record = (mac.type_name, mac.zone), shadow.hosts.get(HostId(mac.id))
            if same != (offer.type, offer.zone) or record is None or record.fleet != fleet:
                continue
            if self._stands(mac, offer):
                yield mac, record

    def _stands(self, mac: Mac, offer: Offer) -> bool:
        """Tell whether a host is ready for an offer, and has been for so long that all know it."""
        fact = self.truth.hosts.get(HostId(mac.id))
        if fact is None or mac.displayed or mac.deletion_scheduled or not mac.delivered:
            return False
        disguised = self.disguised.get(HostId(mac.id), NEVER)
        newest = max(fact.named, fact.moved, fact.late, fact.handled, disguised)
        ready = mac.status is MacStatus.READY and mac.os.family == offer.image
        return ready and self._now - newest > self.settled

    def _is_known(self, shadow: ShadowStore, mac: Mac) -> bool:
        """Tell whether a disk is as it was when its wipe came on record: nobody wiped it since."""
        _, installs = self.written.get((shadow.own, HostId(mac.id)), (None, None))
        return mac.installs == installs

    def _is_proved(self, shadow: ShadowStore, mac: Mac, record: Host) -> bool:
        """Tell whether a host was wiped for its record since a machine had it, and by nobody else.

        A person who wipes one hides what proves our own wipe, as one who names it does.
        """
        host = HostId(mac.id)
        fact = self.truth.hosts[host]
        known = self._is_known(shadow, mac)
        ours = fact.user != PERSON and not fact.by_person and fact.name == record.ownership.name
        free = waits(record, shadow, self._now - self.settled)
        return known and ours and free and self.truth.is_clean(host)


def _is_paid(mac: Mac) -> bool:
    """Tell whether a host waits under the name of what we ordered."""
    owner = parse_name(mac.name)
    return owner is not None and owner[0] in _PAID
