"""Calls: what may be asked of a provider next, and what can come of it."""

from datetime import timedelta
from enum import StrEnum

from msgspec import Struct

from hostler.domain.ids import ResourceId, Zone
from hostler.domain.model.resource import Stage

from .resource import Resource, Slot

Argument = str | int | bool | tuple[str, ...]


class Effect(StrEnum):
    """What a call does to the world; the gate asks other things of each.

    NONE is the effect of one that is never sent: it only says what a person can do.
    """

    MAKE = "make"
    CHANGE = "change"
    DESTROY = "destroy"
    NONE = "none"


class Shows(StrEnum):
    """How the effect of a *once* call is seen by an observation.

    A resource in its slot, power, rest; of a host that outlives its machines: the stage that its
    name tells (`mark`), that it is being wiped, or nothing at all.
    """

    RESOURCE = "resource"
    POWER = "power"
    REST = "standby"
    OWNER_TAG = "owner_tag"
    WIPE = "wipe"
    NOTHING = "nothing"

    @property
    def is_of_host(self) -> bool:
        """Whether the effect is one on a host, which its name or its disk shows."""
        return self in {Shows.OWNER_TAG, Shows.WIPE, Shows.NOTHING}


class Call(Struct, frozen=True, kw_only=True):
    """One call to a provider, fully described: `do` needs nothing else.

    `kind` is the provider's word for it (`server.create`). A *once* call is recorded before it is
    sent and is never repeated until it is sure that it had no effect; every other call may be done
    again after any break. `fact` is kept in the record with its date once the call is done, because
    no observation shows it. `args` name everything that matters to a reader of the plan, and no
    secrets. `reboots` says that its host goes down for it and comes up again. `ends_payment` says
    that what is paid for in advance is lost with it. `aim` is the stage that a host's name tells
    once this call had its effect; `witness` is what the host showed before, that a wipe changes.
    `drift` says what of a ready machine is otherwise than its record has it, in words that stay the
    same while it is so: the call mends that, and its `fact` is when it last did. Where only a
    person can, `remedy` says how, and the call has no effect.
    """

    kind: str
    slot: Slot
    zone: Zone
    effect: Effect
    target: ResourceId | None = None
    attempt: int = 0
    once: bool = False
    shows: Shows = Shows.RESOURCE
    fact: str = ""
    aim: Stage = Stage.NONE
    witness: str = ""
    ends_payment: bool = False
    reboots: bool = False
    drift: str = ""
    remedy: str = ""
    args: tuple[tuple[str, Argument], ...] = ()

    @property
    def interrupts(self) -> bool:
        """Whether what runs on its host ends with it, if only until the host is up again."""
        return self.reboots or self.shows in {Shows.REST, Shows.WIPE}

    def arg(self, name: str) -> Argument | None:
        """Return one argument, or None where the call has none of this name."""
        return next((value for key, value in self.args if key == name), None)

    def __str__(self) -> str:
        """Return the call in a line: its kind, target and slot."""
        aim = self.target or f"for {self.slot}"
        return f"{self.kind} {aim}"


class Refusal(StrEnum):
    """Why a provider definitely did not do what was asked; each class has one answer of ours.

    BOOTSTRAP is of what one machine alone is to be given: no other is kept waiting for it.
    """

    BUSY = "busy"
    RATE = "rate"
    STOCK = "out_of_stock"
    QUOTA = "quota"
    WRONG_STATE = "wrong_state"
    INVALID = "invalid"
    DENIED = "denied"
    BOOTSTRAP = "bootstrap"
    NOT_SENT = "not_sent"


class Done(Struct, frozen=True, kw_only=True):
    """The call had its effect: `parts` as they stand now, `absent` the ids that are no more.

    `missing` says that nothing was removed now, because those ids were not found (a 404): that is
    one sighting of their absence, and proves it no more than any other.
    """

    resources: tuple[Resource, ...] = ()
    absent: tuple[ResourceId, ...] = ()
    missing: bool = False


class Refused(Struct, frozen=True, kw_only=True):
    """The call certainly had no effect; `after` says when the provider would be asked again.

    `room` is how many of the hosts of an order that is too large could be had now.
    """

    why: Refusal
    text: str
    after: timedelta | None = None
    room: int = 0


class Unknown(Struct, frozen=True, kw_only=True):
    """The call had its effect, will have it, or never: only a fresh observation can tell."""

    text: str


Outcome = Done | Refused | Unknown
