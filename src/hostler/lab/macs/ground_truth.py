"""Ground truth: what really happened to each host: names and who gave them, uses and wipes.

Read from the simulated world and from names as plain text, past the provider's code, so that a
misunderstanding cannot be on both sides.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from msgspec import Struct

from hostler.domain.ids import FleetName, HostId, InstallationId
from hostler.domain.model.resource import OwnerTag
from hostler.simulators.scaleway.state.mac_records import Mac, MacStatus
from hostler.simulators.scaleway.world import World

from .names import parse_name

PERSON = "a person"
NEVER = -1e9
"""A time before all others."""
STEADY = 600.0
"""So long, in seconds, nothing may have happened to a host that is called healthy."""
_WIPED_BY_HAND = "mac_reinstalled_by_hand"


class Asked(Struct, frozen=True, kw_only=True):
    """One request of an installation that would change a host.

    `begun` is when the call began that it belongs to: it had a fresh observation of the host since
    then. `machine` is empty for a call of the host's own.
    """

    ours: tuple[InstallationId, ...]
    machine: str
    act: str
    name: str
    begun: float


class Change(Struct, frozen=True, kw_only=True):
    """What became of a host: another name, a wipe that began, or its end; `by` is None for people.

    `late` says that the effect came later than the consistency delay after its call began. `before`
    is how the host was.
    """

    what: str
    host: HostId
    by: Asked | None
    before: "Fact"
    late: bool

    @property
    def adopts(self) -> bool:
        """Tell whether an adopter takes a name for true that a person copied onto the host.

        The name tells of a machine of another store, and only that one, which is lost, knew that
        it never had this host: whoever adopts its machines can but believe their names.
        """
        by, owner = self.by, self.before.owner
        if by is None or owner is None or not self.before.by_person:
            return False
        owner_tag = owner[1]
        return owner_tag.installation in by.ours[1:] and owner_tag.machine == by.machine


@dataclass(slots=True, kw_only=True)
class Fact:
    """One host. Times are true seconds.

    `used` is how often its disk had been written when somebody (`user`) last had it; whoever gets
    it next must find it written anew. `handled` is when a person last renamed it, `reinstalled`
    when one last had its disk written, `late` when something last took effect beyond the
    consistency delay, `named` since when it bears its name, `by_person` if a person gave it that.
    `lent` is the installation whose name a person gave it, or that took it when a person had put it
    into the pool, until another one renames it. `promised` says that a rename was answered well
    which takes effect later than the consistency delay. `unclaimed` is the last name that it bore
    which was none of a hostler's. `done` are the renames that took effect, `coming` those that
    were answered well to come later.
    """

    name: str
    named: float
    cycle: int
    status: MacStatus
    moved: float
    used: int
    user: str = PERSON
    handled: float = NEVER
    reinstalled: float = NEVER
    late: float = NEVER
    by_person: bool = False
    lent: str = ""
    promised: bool = False
    unclaimed: str = ""
    asked: list[Asked] = field(default_factory=list[Asked])
    done: list[Asked] = field(default_factory=list[Asked])
    coming: list[Asked] = field(default_factory=list[Asked])

    @property
    def owner(self) -> tuple[str, OwnerTag] | None:
        """The stage and mark that its name tells."""
        return parse_name(self.name)


@dataclass(slots=True)
class GroundTruth:
    """All hosts of a world. `consistency_delay` in seconds; `fresh`: nobody had them before us."""

    world: World
    consistency_delay: float
    fresh: bool = False
    hosts: dict[HostId, Fact] = field(default_factory=dict[HostId, Fact])
    _by_hand: Counter[str] = field(default_factory=Counter[str])
    _had: dict[tuple[HostId, str], int] = field(default_factory=dict[tuple[HostId, str], int])

    def ask(self, host: HostId, asked: Asked) -> None:
        """Note a request that is about to be sent."""
        if host in self.hosts:
            self.hosts[host].asked.append(asked)

    def promise(self, host: HostId, name: str) -> None:
        """Note that a rename to a name was answered well, and comes later."""
        if host in self.hosts:
            fact = self.hosts[host]
            fact.promised = True
            fact.coming += [a for a in reversed(fact.asked) if a.name == name][:1]

    def lend(self, host: HostId, installation: str) -> None:
        """Note that an installation took a host that a person had put where it could."""
        if host in self.hosts:
            self.hosts[host].lent = installation

    def mac(self, host: HostId) -> Mac | None:
        """Return a host that there still is."""
        mac = self.world.cloud.macs.get(host)
        return mac if mac is not None and mac.ended is None else None

    def is_clean(self, host: HostId) -> bool:
        """Tell whether the disk was written anew since somebody last had it."""
        mac = self.mac(host)
        return mac is not None and mac.installs > self.hosts[host].used

    def is_steady(self, host: HostId) -> bool:
        """Tell whether the host is ready, and nothing happened to it for a while."""
        mac, now = self.mac(host), self.world.cloud.now
        if mac is None or mac.status is not MacStatus.READY or mac.displayed:
            return False
        fact = self.hosts[host]
        return now - max(fact.moved, fact.named, fact.late, fact.handled) > STEADY

    def use(self, host: HostId, user: str) -> None:
        """Note that somebody has the host now, and its disk."""
        mac = self.mac(host)
        if mac is not None:
            self.hosts[host].used, self.hosts[host].user = mac.installs, user
            self._had[host, _machine_of(user)] = mac.installs

    def is_as_left(self, host: HostId, user: str) -> bool:
        """Tell whether the disk is the one that a user had, written by nobody since.

        A machine that was adopted by another installation is the same user.
        """
        mac = self.mac(host)
        return mac is not None and self._had.get((host, _machine_of(user))) == mac.installs

    def is_shared(self, fleet: FleetName, ours: Collection[InstallationId]) -> bool:
        """Tell whether another installation uses a fleet's name: none may be made for it (G8)."""
        owner_tags = (fact.owner[1] for fact in self.hosts.values() if fact.owner)
        return any(
            owner_tag.fleet == fleet and owner_tag.installation not in ours
            for owner_tag in owner_tags
        )

    def changes(self) -> Iterator[Change]:
        """Take in what the world has become, host by host."""
        cloud = self.world.cloud
        hands = self.world.faults.get(_WIPED_BY_HAND, 0) - self._by_hand[_WIPED_BY_HAND]
        self._by_hand[_WIPED_BY_HAND] += hands
        for host in [host for host in self.hosts if cloud.macs.get(host) is None]:
            yield self._deleted(host)
        for mac in tuple(cloud.macs):
            host = HostId(mac.id)
            fact = self.hosts.get(host)
            if fact is None:
                self.hosts[host] = self._first(mac)
                continue
            if mac.name != fact.name:
                yield self._renamed(host, fact, mac)
            if mac.turn != fact.cycle:
                wiped = mac.status is MacStatus.REINSTALLING
                before = replace(fact, asked=[])
                fact.cycle, fact.status, fact.moved = mac.turn, mac.status, mac.modified
                if wiped:
                    yield self._wiped(host, before, fact, by_hand=hands > 0)

    def _first(self, mac: Mac) -> Fact:
        now = self.world.cloud.now
        return Fact(
            name=mac.name,
            named=now,
            cycle=mac.turn,
            status=mac.status,
            moved=now,
            used=mac.installs - self.fresh,
        )

    def _deleted(self, host: HostId) -> Change:
        fact = self.hosts.pop(host)
        by = next((a for a in reversed(fact.asked) if a.act == "delete"), None)
        return Change(what="gone", host=host, by=by, before=fact, late=False)

    def _renamed(self, host: HostId, fact: Fact, mac: Mac) -> Change:
        before = replace(fact, asked=[])
        by = self._renamed_by(fact, mac.name)
        fact.name, fact.named, fact.by_person = mac.name, mac.modified, by is None
        fact.promised = False
        fact.unclaimed = before.name if before.owner is None else before.unclaimed
        late = by is not None and mac.modified - by.begun > self.consistency_delay
        if by is None:
            owner = parse_name(mac.name)
            fact.lent = owner[1].installation if owner is not None else ""
            fact.handled = mac.modified
            if parse_name(mac.name) is None:  # a copied name of a hostler's is a slip, and no use
                self.use(host, PERSON)
        if by is not None and fact.lent not in by.ours:
            fact.lent = ""
        if late:
            fact.late = mac.modified
        return Change(what="renamed", host=host, by=by, before=before, late=late)

    @staticmethod
    def _renamed_by(fact: Fact, name: str) -> Asked | None:
        """Return the request that gave a name: the last one that asked for it.

        Where that took effect before, and one that was answered well earlier is still to come, it
        is that one.
        """
        by = next((a for a in reversed(fact.asked) if a.name == name), None)
        if by in fact.done:
            coming = (a for a in fact.coming if a.name == name and a not in fact.done)
            by = next(coming, by)
        if by is not None:
            fact.done.append(by)
        return by

    def _wiped(self, host: HostId, before: Fact, fact: Fact, *, by_hand: bool) -> Change:
        by = next((a for a in reversed(fact.asked) if a.act == "reinstall"), None)
        late = by is not None and fact.moved - by.begun > self.consistency_delay
        if by_hand:
            by, late, fact.reinstalled = None, False, fact.moved
        if late:
            fact.late = fact.moved
        return Change(what="wiped", host=host, by=by, before=before, late=late)


def _machine_of(user: str) -> str:
    return user.rpartition(" ")[2]
