"""Fleet: what somebody asked for, and what is remembered about asking for it."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import AccountName, FleetName, MachineId
from hostler.domain.policy.revisions import Revision

from .machine import Machine, Offer, Origin, Protection

_S = timedelta(seconds=1)
_MIN = timedelta(minutes=1)
_HOUR = timedelta(hours=1)


class Timers(Struct, frozen=True, kw_only=True):
    """How long things may take, with the defaults of docs/reference/settings.md."""

    admit: timedelta = 10 * _MIN
    start: timedelta = 10 * _MIN
    stop: timedelta = 10 * _MIN
    drain: timedelta = 1 * _HOUR
    keep_failed: timedelta = timedelta(0)
    max_age: timedelta | None = None
    absence_gap: timedelta = 20 * _S
    observation_limit: timedelta = 60 * _S
    grace: timedelta = 15 * _MIN
    sighting_gap: timedelta = 60 * _S
    stock_memory: timedelta = 5 * _MIN
    wave_window: timedelta = 5 * _MIN
    probe_every: timedelta = 2 * _S
    longest_protection: timedelta = 72 * _HOUR
    tries: tuple[timedelta, ...] = (30 * _S, 2 * _MIN, 5 * _MIN)


class Caps(Struct, frozen=True, kw_only=True):
    """Limits on what nobody asked for; they can be set, and cannot be switched off.

    `per_reclaim` and `per_hour` are numbers of destroyed resources or machines; `share` is the part
    of the fleet, at least one machine, that may be destroyed in `share_window`; all three count
    reclaim, repair and replace together. `creates` bounds creation attempts per hour, whatever
    fails (None: 30, or 6 × size). `stuck` machines may be over the maximum at most.
    """

    per_reclaim: int = 5
    per_hour: int = 20
    share: float = 0.10
    share_window: timedelta = 1 * _MIN
    creates: int | None = None
    stuck: int = 3


class ProbeKind(StrEnum):
    """How it is known that a machine that is up is also usable."""

    API = "api"
    TCP = "tcp"
    COMMAND = "command"
    SSH = "ssh"
    NODE = "node"


class OnRemove(StrEnum):
    """What becomes of a fleet's machines when it is taken out of the file."""

    KEEP = "keep"
    END = "end"


class Probe(Struct, frozen=True, kw_only=True):
    """The readiness probe of a fleet; `command` runs on our side with HOSTLER_ADDRESS set.

    Without `port`, `user` or `key` they are the machine's own; `key` is the file of a private key.
    `commands` run on a host that outlives its machines, over SSH, before it counts as ready; on
    `broken_on` hosts they fail, and work on none, until they are held to be at fault themselves.
    `busy` runs there before what runs on a machine that was ready is ended: 0 means that it is
    busy, 1 that it is not.
    """

    kind: ProbeKind = ProbeKind.API
    port: int = 0
    command: tuple[str, ...] = ()
    timeout: timedelta = 5 * _S
    user: str = ""
    key: str = ""
    commands: tuple[str, ...] = ()
    broken_on: int = 2
    busy: str = ""


class Workload(Struct, frozen=True, kw_only=True):
    """What runs on a fleet's machines is asked of their cluster before they end.

    `waits` says that their end waits for it without a bound.
    """

    waits: bool = False


class Fleet(Struct, frozen=True, kw_only=True):
    """What the fleet file asks for. `offers` are tried in order; `template` is a digest.

    `renews` says who makes up for a machine that is lost: we, up to the size; or, where it is
    False, whoever asked for each machine by itself (see resize.py and docs/decisions/0009).

    `definition` is its table as the file had it, which a store keeps; a fleet that is no longer in
    the file is read from there, and `removed` (see docs/explanation/fleet-changes.md). `account_id`
    is what its account is outside, whatever the file calls it; empty where nothing tells that.
    """

    name: FleetName
    account: AccountName
    size: int
    offers: tuple[Offer, ...]
    maximum: int | None = None
    surge: int = 1
    template: str = ""
    reclaim: bool = False
    replace_outdated: bool = False
    protected: bool = False
    renews: bool = True
    definition: str = ""
    account_id: str = ""
    removed: bool = False
    on_remove: OnRemove = OnRemove.KEEP
    probe: Probe = Probe()
    workload: Workload | None = None
    timers: Timers = Timers()
    caps: Caps = Caps()

    def most(self, size: int) -> int:
        """Return the maximum in force for a requested size."""
        return self.maximum if self.maximum is not None else size + max(5, size // 2)

    def outdates(self, machine: Machine) -> bool:
        """Tell whether a machine is another than would be made now: its template, or its offer.

        What was adopted is as its maker chose; its offer need not be one of the fleet's.
        """
        if machine.outdated(self.template):
            return True
        adopted = machine.origin is Origin.ADOPTED
        return not adopted and not any(offer.covers(machine.offer) for offer in self.offers)

    def creates_per_hour(self, size: int) -> int:
        """Return the bound on creation attempts in any hour (invariant S4).

        Where each machine is asked for by itself, jobs may use up one after the other.
        """
        if self.caps.creates is not None:
            return self.caps.creates
        return max(30, 6 * size) if self.renews else max(120, 12 * self.most(size))


class Setback(Struct, frozen=True, kw_only=True):
    """What is remembered against an offer: failures in a row, or empty shelves, until when.

    `count` is how many tries failed in a row, also those before the shelves were empty.
    """

    offer: Offer
    why: str
    until: datetime
    count: int = 1
    stock: bool = False


class Order(Struct, frozen=True, kw_only=True):
    """A host that was ordered: the id that its name bears, kept before the order is sent.

    `missing` is the beginning of the first observation that had to show it, and lacked it.
    """

    id: MachineId
    offer: Offer
    at: datetime
    missing: datetime | None = None


class Sized(Struct, frozen=True, kw_only=True):
    """From when on a fleet was wanted to have how many machines."""

    at: datetime
    size: int


WELL = "all is well"
"""What is said where a fleet's condition ends."""


class FleetRow(Struct, frozen=True, kw_only=True):
    """What the store keeps of a fleet; new machines are inserted by saving it, and only so.

    `size` is the requested size where somebody asked for one, else None (the file's); `grown` is
    the number of the newest request for machines by name that was granted. The tuples of times are
    the durable windows behind the caps: creation attempts, destructions that nobody asked for, and
    losses. Where hosts may be ordered, `orders` are those of the last day, and `sizes` the demand
    of the past weeks. `revision` is what is known of the setup script in force.

    `definition` is the fleet's table as an engine last found it in the file, `removed` since when
    the file has it no longer; its machines are kept as they are unless it `ends`. `adopts` is the
    fleet whose machines it takes over now, and `former` those of which it has done so: what bears
    their names is its own. `account_id` is the account in which all that it has is.
    """

    name: FleetName
    created: datetime
    version: int = 0
    size: int | None = None
    serial: int = 0
    grown: int = 0
    setbacks: tuple[Setback, ...] = ()
    creations: tuple[datetime, ...] = ()
    destructions: tuple[datetime, ...] = ()
    losses: tuple[datetime, ...] = ()
    pause: Protection | None = None
    resumed: datetime | None = None
    condition: str = ""
    orders: tuple[Order, ...] = ()
    sizes: tuple[Sized, ...] = ()
    revision: Revision = Revision()
    definition: str = ""
    account_id: str = ""
    removed: datetime | None = None
    ends: bool = False
    adopts: FleetName | None = None
    former: tuple[FleetName, ...] = ()

    @property
    def is_kept(self) -> bool:
        """Whether the fleet is no longer in the file, and nobody asked for its end."""
        return self.removed is not None and not self.ends

    def at_work_since(self, now: datetime) -> datetime | None:
        """Return when the newest pause of the fleet ended, by request or by its date."""
        ran_out = self.pause is not None and self.pause.until <= now
        dates = (self.resumed, self.pause.until if self.pause is not None and ran_out else None)
        return max((one for one in dates if one is not None), default=None)

    def desired(self, fleet: Fleet) -> int:
        """Return the size in force: the request, or the file's; none where the fleet ends."""
        if self.ends:
            return 0
        return fleet.size if self.size is None else self.size

    def setback(self, offer: Offer) -> Setback | None:
        """Return what is remembered against this offer, or None."""
        return next((s for s in self.setbacks if s.offer == offer), None)

    def with_setback(self, setback: Setback) -> "FleetRow":
        """Return the row with this memory in place of an older one of the same offer."""
        others = tuple(s for s in self.setbacks if s.offer != setback.offer)
        return replace(self, setbacks=(*others, setback))

    def sold_out(self, offer: Offer, why: str, until: datetime) -> "FleetRow":
        """Return the row with empty shelves noted; failures before them stay, and their pause."""
        older = self.setback(offer)
        failed = older.count if older is not None else 0
        if older is not None and not older.stock:
            until = max(until, older.until)
        setback = Setback(offer=offer, why=why, until=until, count=failed, stock=True)
        return self.with_setback(setback)

    def without_setback(self, offer: Offer) -> "FleetRow":
        """Return the row with the offer's record clean again."""
        return replace(self, setbacks=tuple(s for s in self.setbacks if s.offer != offer))


def renames(
    fleets: Iterable[Fleet], rows: Mapping[FleetName, FleetRow]
) -> dict[FleetName, FleetName]:
    """Return under which name each fleet goes on that another one of these took over.

    A former name that is a fleet's again is that fleet's.
    """
    known = tuple(fleets)
    found, names = dict[FleetName, FleetName](), {fleet.name for fleet in known}
    for fleet in known:
        row = rows.get(fleet.name)
        if row is not None and (row.former or row.adopts):
            found |= {name: fleet.name for name in row.former if name not in names}
            found |= {row.adopts: fleet.name} if row.adopts else {}
    return found


def recent(times: tuple[datetime, ...], now: datetime, window: timedelta) -> tuple[datetime, ...]:
    """Return the times that lie within a window before now; a later time counts as now."""
    return tuple(at for at in times if now - at < window)


_CREATIONS = _HOUR + _MIN
"""How long a creation counts: its call comes some time after it was counted, and it is calls of
which there may be only so many in any hour."""

KEPT = _CREATIONS
"""How long the row remembers times: the longest window of any cap."""


def destructions_left(fleet: Fleet, row: FleetRow, now: datetime) -> int:
    """Return how many machines or orphans may be destroyed now, never below zero."""
    caps, share = fleet.caps, _share(fleet, row)
    in_window = len(recent(row.destructions, now, caps.share_window))
    in_hour = len(recent(row.destructions, now, _HOUR))
    return max(0, min(share - in_window, caps.per_hour - in_hour, caps.per_reclaim))


def _share(fleet: Fleet, row: FleetRow) -> int:
    """Return how many are the share: of the size; where that falls with what is lost, of the most.

    A group of nine in which seven failed would else have a size of two.
    """
    size = row.desired(fleet)
    return max(1, int((size if fleet.renews else fleet.most(size)) * fleet.caps.share))


def next_room(fleet: Fleet, row: FleetRow, now: datetime) -> datetime:
    """Return when the next destruction may be allowed, seen from now."""
    caps = fleet.caps
    in_window = _frees(row.destructions, now, caps.share_window, _share(fleet, row))
    return max(in_window, _frees(row.destructions, now, _HOUR, caps.per_hour))


def _frees(times: tuple[datetime, ...], now: datetime, window: timedelta, most: int) -> datetime:
    """Return from when on fewer than so many of these times lie in the window."""
    late = sorted(recent(times, now, window))
    return now if len(late) < most else late[len(late) - most] + window


def creations_left(fleet: Fleet, row: FleetRow, now: datetime) -> int:
    """Return how many machines may still be made in this hour, never below zero."""
    most = fleet.creates_per_hour(row.desired(fleet))
    return max(0, most - len(recent(row.creations, now, _CREATIONS)))


def next_creation(fleet: Fleet, row: FleetRow, now: datetime) -> datetime:
    """Return from when on a creation may be tried once more, seen from now.

    Half of the bound may be used up at once; the other half is spread over the hour, so that an
    outage that comes early in an hour does not keep the fleet from trying for the rest of it.
    """
    most = fleet.creates_per_hour(row.desired(fleet))
    times = sorted(min(at, now) for at in recent(row.creations, now, _CREATIONS))
    at_once = most // 2
    if len(times) < at_once:
        return now
    spread = times[-1] + _HOUR / (most - at_once) if times else now
    return max(now, spread, _frees(row.creations, now, _CREATIONS, most))


def in_wave(fleet: Fleet, row: FleetRow, doubted: int, now: datetime) -> bool:
    """Tell whether so many are lost at once that none is believed without its own proof."""
    lost = doubted + len(recent(row.losses, now, fleet.timers.wave_window))
    return lost > max(2, row.desired(fleet) * 0.2)
