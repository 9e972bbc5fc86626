"""Machine: our record of one promise to have a host, and everything that is durable about it."""

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import Epoch, FleetName, HostId, MachineId, ResourceId, Zone, evolve
from hostler.domain.model.resource import Stage
from hostler.domain.policy.billing import Billing

from .calls import Call, Refusal, Shows
from .phases import PHASES, Goal, Phase
from .requester import Requester
from .resource import Slot


class Offer(Struct, frozen=True, gc=False, order=True):
    """What a provider sells: a type, in a zone, started from an image."""

    type: str
    zone: Zone
    image: str = ""

    def __str__(self) -> str:
        """Return the offer in a line."""
        return f"{self.type} in {self.zone}"

    def covers(self, made: "Offer") -> bool:
        """Tell whether what was made of an offer would be made of this one too.

        An image says nothing where one of them names none, nor does how it is written.
        """
        other_image = self.image and made.image and self.image.casefold() != made.image.casefold()
        return (self.type, self.zone) == (made.type, made.zone) and not other_image


class BootstrapFormat(StrEnum):
    """What bootstrap data is: for cloud-init, or a shell script, which cloud-init takes too."""

    CLOUD_INIT = "cloud-init"
    SCRIPT = "script"


class MachineSpec(Struct, frozen=True, gc=False, kw_only=True):
    """What is asked of one machine beyond its fleet's template; what is empty is as the fleet says.

    `type`, `zone`, `failure_domain` and `image` leave only the fleet's offers that have them; a
    failure domain is a zone, as Cluster API calls it. `template` names what it is made from, and
    `bootstrap` where its bootstrap data is kept, with its format: never the data, which may hold
    secrets. `requester` is who asks for it, and chooses nothing.
    """

    type: str = ""
    zone: Zone | None = None
    failure_domain: str = ""
    image: str = ""
    template: str = ""
    bootstrap: str = ""
    bootstrap_format: BootstrapFormat = BootstrapFormat.CLOUD_INIT
    requester: Requester | None = None

    def accepts(self, offer: Offer) -> bool:
        """Tell whether a machine of this offer is what was asked for."""
        return (
            self.type in {"", offer.type}
            and self.zone in {None, offer.zone}
            and self.failure_domain in {"", offer.zone}
            and self.image in {"", offer.image}
        )

    def __str__(self) -> str:
        """Return what of it chooses an offer, in words."""
        places = dict.fromkeys(str(at) for at in (self.zone, self.failure_domain) if at)
        words = [self.type, *(f"in {place}" for place in places)]
        words.append(f"with image {self.image}" if self.image else "")
        return " ".join(word for word in words if word) or "anything"


class Known(Struct, frozen=True, gc=False, kw_only=True):
    """An id that was ours in a slot: since when, and since when complete observations lack it.

    `since` is the time of the definite answer, or of the observation that first showed it; an
    observation begun before `since` + consistency delay says nothing against it. `removed` is the
    time of a definite answer that it is no more; an observation begun before that + consistency
    delay says nothing against that either. `missing` says that this answer only did not find it,
    which is one sighting of its absence. `absent` is the beginning of the first observation that
    could have shown it and did not; `deleted` says that its absence is confirmed.
    """

    id: ResourceId
    zone: Zone
    since: datetime
    attempt: int = 0
    removed: datetime | None = None
    missing: bool = False
    absent: datetime | None = None
    deleted: bool = False

    @property
    def was_removed(self) -> bool:
        """Tell whether an answer said that a call removed it, not only that it was not found."""
        return self.removed is not None and not self.missing


class Place(Struct, frozen=True, gc=False, kw_only=True):
    """What the record knows of one slot: attempts handed out, the bound id, all ids ever ours."""

    slot: Slot
    attempt: int = 0
    bound: ResourceId | None = None
    known: tuple[Known, ...] = ()


class CallState(StrEnum):
    """How a *once* call stands in the record."""

    OPEN = "open"
    DONE = "done"
    REFUSED = "refused"
    LAPSED = "lapsed"


class Asked(Struct, frozen=True, gc=False, kw_only=True):
    """A *once* call, saved before it was sent; `open` until an answer or an observation closes it.

    `name` is the one that a host is put back under: what has another in the pool has it of others.
    `identity` tells a wipe from all others: when it was asked for, as text, which stays as it is
    when a clock that jumped back has its dates brought back.
    """

    kind: str
    slot: Slot
    attempt: int
    at: datetime
    epoch: Epoch
    shows: Shows
    call_state: CallState = CallState.OPEN
    closed: datetime | None = None
    aim: Stage = Stage.NONE
    witness: str = ""
    name: str = ""
    identity: str = ""


class Fact(Struct, frozen=True, gc=False, kw_only=True):
    """What no observation can show (user data set, probe passed), with its date."""

    name: str
    at: datetime


class Doubt(Struct, frozen=True, gc=False, kw_only=True):
    """A loss that is not yet believed: what, and the beginning of its first observation."""

    what: str
    since: datetime


class Protection(Struct, frozen=True, gc=False, kw_only=True):
    """Leave this alone until then, because: stops destructive acts and deadlines, not observing."""

    until: datetime
    why: str
    actor: str


class Deletion(Struct, frozen=True, gc=False, kw_only=True):
    """Somebody asked for the deletion of this machine; `now` skips the drain."""

    at: datetime
    actor: str
    why: str
    now: bool = False


_SWITCHES = frozenset({Shows.POWER, Shows.OWNER_TAG})

RESTED = "rested"
"""The fact that says since when a machine was last seen in standby."""


UNANSWERED_REST = "rest_unanswered"
"""The fact that dates a call to go off whose process may yet send it: nobody knows its answer."""

RETIRE = "retire"
"""The fact that a machine's host is given up when the machine goes."""

RETIRE_ASKED = "retire_asked"
"""The fact that somebody asked for that, so that the host is not called back."""


LEFT = "left"
"""How the fact begins that a machine let go of a host, which its name may still reach."""

LOCKED = "locked"
"""The fact that the provider locked the main resource: nothing of it can be removed until then."""


class MachineHealth(Struct, frozen=True, gc=False, kw_only=True):
    """Whether a machine was ever ready, and what speaks against it.

    `doubt` is a loss that is not yet believed; `stuck` that its end is overdue; `refused` why what
    its start needs was refused for good; `abandoned` since when nobody asks for it any more.
    """

    was_ready: datetime | None = None
    doubt: Doubt | None = None
    stuck: bool = False
    refused: Refusal | None = None
    abandoned: datetime | None = None


class Origin(StrEnum):
    """How the record came to be."""

    MADE = "made"
    ADOPTED = "adopted"


class Machine(Struct, frozen=True, gc=False, kw_only=True):
    """One allocation, from the request to its confirmed end. `version` 0 was never saved.

    `since` is when the phase was entered; `retry_at` is when the next call may be made, and
    `retry_since` since when that is waited for; `unknown_since` is since when an outcome is
    unknown, so that only an observation begun later allows another call; `template` is the digest
    of the fleet's machine template that it was made from; `spec` is what was asked of it alone.
    """

    id: MachineId
    fleet: FleetName
    serial: int
    created: datetime
    phase: Phase
    since: datetime
    offer: Offer
    version: int = 0
    goal: Goal = Goal.PRESENT
    reason: str = ""
    template: str = ""
    observed: str = ""
    origin: Origin = Origin.MADE
    host: HostId | None = None
    places: tuple[Place, ...] = ()
    asked: tuple[Asked, ...] = ()
    facts: tuple[Fact, ...] = ()
    tries: int = 0
    retry_at: datetime | None = None
    retry_since: datetime | None = None
    unknown_since: datetime | None = None
    protection: Protection | None = None
    deletion: Deletion | None = None
    error: str = ""
    address: str = ""
    health: MachineHealth = MachineHealth()
    billing: Billing = Billing()
    spec: MachineSpec = MachineSpec()

    def with_health(self, **changes: object) -> "Machine":
        """Return the record with these fields of its health."""
        return evolve(self, health=evolve(self.health, **changes))

    def with_billing(self, **changes: object) -> "Machine":
        """Return the record with these fields of its bill."""
        return evolve(self, billing=evolve(self.billing, **changes))

    def outdated(self, template: str) -> bool:
        """Tell whether it was made from another template than its fleet's, and none of its own."""
        return not self.spec.template and self.template != template

    def place(self, slot: Slot) -> Place:
        """Return what is known of one slot, empty where nothing is."""
        for place in self.places:  # asked so often that a generator would be felt
            if place.slot == slot:
                return place
        return Place(slot=slot)

    def bound(self, slot: Slot) -> ResourceId | None:
        """Return the id that is bound to this slot for good, or None."""
        for place in self.places:
            if place.slot is slot or place.slot == slot:
                return place.bound
        return None

    def fact(self, name: str) -> datetime | None:
        """Return when this fact was recorded, or None."""
        for fact in self.facts:
            if fact.name == name:
                return fact.at
        return None

    def without_fact(self, name: str) -> "Machine":
        """Return the record without this fact."""
        return replace(self, facts=tuple(fact for fact in self.facts if fact.name != name))

    def last_asked(self, slot: Slot, kind: str) -> Asked | None:
        """Return the newest *once* call of this kind for this slot, or None."""
        return next((a for a in self.asked if a.slot == slot and a.kind == kind), None)

    def last_call(self, call: Call) -> Asked | None:
        """Return how this *once* call was last asked, or None where it never was."""
        return self.last_asked(call.slot, call.kind) if call.once else None

    def with_attempt(self, call: Call) -> "Machine":
        """Return the record with the attempt of this call as one that was handed out."""
        place = self.place(call.slot)
        return self.with_place(replace(place, attempt=max(place.attempt, call.attempt)))

    @property
    def woken(self) -> bool:
        """Whether it was in standby since its main resource was last asked to be switched on."""
        rested = self.fact(RESTED)
        powered = (asked.at for asked in self.asked if asked.shows in _SWITCHES)
        return rested is not None and all(at <= rested for at in powered)

    def with_place(self, place: Place) -> "Machine":
        """Return the record with one slot's entry replaced, slots in order."""
        others = tuple(p for p in self.places if p.slot != place.slot)
        return replace(self, places=tuple(sorted((*others, place), key=lambda p: p.slot)))

    def with_asked(self, asked: Asked) -> "Machine":
        """Return the record with this call as the newest of its kind and slot."""
        key = (asked.slot, asked.kind)
        others = tuple(a for a in self.asked if (a.slot, a.kind) != key)
        return replace(self, asked=(*others, asked))

    def with_fact(self, name: str, at: datetime) -> "Machine":
        """Return the record with this fact, its date the newest."""
        others = tuple(f for f in self.facts if f.name != name)
        return replace(self, facts=(*others, Fact(name=name, at=at)))

    def is_protected(self, now: datetime) -> bool:
        """Tell whether a protection is in force."""
        return self.protection is not None and now < self.protection.until

    @property
    def wanted(self) -> bool:
        """Whether it counts towards the requested size."""
        return PHASES[self.phase].wanted and self.deletion is None

    @property
    def in_maximum(self) -> bool:
        """Whether it counts towards the fleet's maximum; what is stuck in its end does not."""
        return PHASES[self.phase].maximum and not self.health.stuck

    def elapsed(self, now: datetime, jumped: datetime | None = None) -> timedelta:
        """Return how long it has been in its phase, counted again from a jump of the clock."""
        start = max(self.since, jumped) if jumped else self.since
        return max(now - start, timedelta(0))

    def ids(self) -> tuple[ResourceId, ...]:
        """Return every id that is or was ours and is not confirmed gone, in slot order."""
        return tuple([k.id for place in self.places for k in place.known if not k.deleted])
