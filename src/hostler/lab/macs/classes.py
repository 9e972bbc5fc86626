"""Classes of hosts (C1): each store shows every host of its account, as one thing and not as two.

Judged by the world and by names as plain text, past the code of the program: a host is a machine's,
has work of its own, is free, or stands in the orphan report.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from hostler.domain.ids import HostId, Zone
from hostler.domain.model.host import HostCondition, host_of
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.simulators.scaleway.state.mac_records import Mac, MacStatus
from hostler.testing.invariants import Found, Violation

from .names import parse_name

_OWN_WORK = frozenset(
    {
        HostCondition.COMING,
        HostCondition.WIPING,
        HostCondition.RETIRING,
        HostCondition.QUARANTINED,
    }
)
_UNFIT = frozenset({MacStatus.ERROR, MacStatus.LOCKED})
_WAITING = frozenset({"parked", "ordered"})


@dataclass(slots=True)
class HostClasses:
    """C1: no host is in no class, nor free and reported at once, for longer than a bound.

    Only time counts in which a store's engine observed the zone of the host with success, since
    a process was last answered while the host showed a status that nobody knows.
    """

    pools: tuple[str, ...]
    bound: float
    looking: Callable[[ShadowStore, Zone], bool]
    wrong: dict[tuple[str, HostId, str], float] = field(
        default_factory=dict[tuple[str, HostId, str], float]
    )

    def check(self, macs: Iterable[Mac], shadows: Iterable[ShadowStore], passed: float) -> Found:
        """Check all hosts; `passed` is the time that counts since the last check."""
        older, self.wrong = self.wrong, {}
        there = [mac for mac in macs if mac.ended is None]
        found = list[Violation]()
        for shadow in shadows:
            for host, zone, what in self._wrong_in(shadow, there):
                key = (shadow.own, host, what)
                looked = self.looking(shadow, zone)
                time = older.get(key, 0.0) + (passed if looked else 0.0)
                self.wrong[key] = time
                if time > self.bound:
                    text = f"host {host} is {what} for {shadow.own} for {time:.0f} s"
                    found.append(Violation(invariant="C1", text=text))
        return tuple(found)

    def note_disguises(self, macs: Iterable[Mac]) -> None:
        """Note which hosts show a status that nobody knows: whoever looks now finds them unfit."""
        disguised = {mac.id for mac in macs if mac.displayed}
        if disguised:
            self.wrong = {key: at for key, at in self.wrong.items() if key[1] not in disguised}

    def _wrong_in(
        self, shadow: ShadowStore, macs: Iterable[Mac]
    ) -> Iterator[tuple[HostId, Zone, str]]:
        used = {*shadow.bindings, *(m.host for m in shadow.living() if m.host is not None)}
        reported = {host_of(resource) for resource in shadow.orphans}
        for mac in macs:
            host = HostId(mac.id)
            at_work = host in used or _has_work(shadow, host)
            free = not at_work and self._is_free(mac, shadow)
            if not (at_work or free or host in reported):
                yield host, Zone(mac.zone), f"in no class as {mac.name!r}, {mac.status}"
            if free and host in reported:
                yield host, Zone(mac.zone), f"free and reported as {mac.name!r}"

    def _is_free(self, mac: Mac, shadow: ShadowStore) -> bool:
        """Tell whether a host that has no work waits for its next machine, and is well."""
        if mac.status in _UNFIT or mac.deletion_scheduled:
            return False
        owner = parse_name(mac.name)
        if owner is None:
            return mac.name.startswith(self.pools)
        record = shadow.hosts.get(HostId(mac.id))
        used = record is not None and (record.machine or record.purchase.order) is not None
        return owner[0] in _WAITING and owner[1].installation in shadow.ours and used


def _has_work(shadow: ShadowStore, host: HostId) -> bool:
    record = shadow.hosts.get(host)
    return record is not None and (record.goal is not None or record.condition in _OWN_WORK)
