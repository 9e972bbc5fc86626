"""Rig: the world behind one provider, as the checks inspect it and disturb it.

A provider's author writes one. What it tells and does goes to the world itself, never through the
provider's code, so that a misunderstanding cannot be on both sides.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from enum import StrEnum
from typing import Protocol, runtime_checkable

from msgspec import Struct

from hostler.domain.ids import FleetName, InstallationId, MachineId, ResourceId
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.resource import OwnerTag
from hostler.ports.clock import Clock
from hostler.ports.provider import Provider


class Fault(StrEnum):
    """What can befall the next request that would change something.

    BEFORE: it is lost on its way. AFTER: it has its effect, and its answer is lost. GARBAGE: it has
    its effect, and its answer makes no sense. BUSY: it is refused, as what passes by itself is.
    """

    BEFORE = "before"
    AFTER = "after"
    GARBAGE = "garbage"
    BUSY = "busy"


class Ability(StrEnum):
    """What a rig may be unable to do, because its world knows no such thing.

    The first four are the faults; the others are the methods of a rig, that there are secrets, that
    a machine can come to have two resources in one slot, and that a resource can say that it is
    another installation's.
    """

    BEFORE = "before"
    AFTER = "after"
    GARBAGE = "garbage"
    BUSY = "busy"
    WORDS = "words"
    REMOVE = "remove"
    PLANT = "plant"
    PAGES = "pages"
    REFUSE = "refuse"
    DEATH = "death"
    SECRETS = "secrets"
    SURPLUS = "surplus"
    FOREIGN = "foreign"


class Thing(Struct, frozen=True, kw_only=True):
    """One thing that exists and costs or is taken: its id in the world, and whose it says it is."""

    id: str
    machine: MachineId | None


class Rig(Protocol):
    """One world with one account in it, fresh for each check, and one fleet's owner tags.

    A method of an ability that is named in `lacks` is never called.
    """

    @property
    def installation(self) -> InstallationId:
        """Whose owner tags the provider writes."""
        ...

    @property
    def fleet(self) -> FleetName:
        """The fleet whose machines are made; the provider is opened with its template."""
        ...

    @property
    def offer(self) -> Offer:
        """Something that can be had at least twice, and `3 × page + 1` times by planting."""
        ...

    @property
    def clock(self) -> Clock:
        """The clock that the provider was opened with."""
        ...

    @property
    def page(self) -> int:
        """How many resources one page of a listing shows at most."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that nobody may ever print: keys, tokens, user data."""
        ...

    @property
    def words(self) -> tuple[str, ...]:
        """Every status that the provider's documents name for the main resource."""
        ...

    @property
    def lacks(self) -> Mapping[Ability, str]:
        """What this rig cannot do, each with the reason; it is shown beside the checks left out."""
        ...

    async def open(self) -> Provider:
        """Return a fresh provider over this world, as after a restart of the process.

        What is still open when the check is over is closed with the world.
        """
        ...

    async def things(self) -> tuple[Thing, ...]:
        """Return everything that exists in the account, by the world's own account of itself."""
        ...

    async def wait(self, time: timedelta) -> None:
        """Let time pass on the clock and in the world."""
        ...

    async def strike(self, fault: Fault) -> None:
        """Let this befall the next request that would change something; once."""
        ...

    async def say(self, resource: ResourceId, word: str) -> None:
        """Let the world show this word as the main resource's status from now on."""
        ...

    async def remove(self, resource: ResourceId) -> None:
        """Take the main resource away, as a person with a console does."""
        ...

    async def plant(self, owner_tag: OwnerTag) -> ResourceId:
        """Put a main resource with this owner tag into the offer's zone; return its id.

        The owner tag may be another installation's. The resource costs and is listed like any
        other. Where our records alone say who has a host, it is the allocation of a fresh host by
        the machine that the tag names.
        """
        ...

    async def fail_page(self, number: int) -> None:
        """Let the listing of main resources fail from page `number` on (1 is the first)."""
        ...

    async def refuse(self, resource: ResourceId | None) -> None:
        """Refuse whatever would change this resource, until called with None."""
        ...

    async def die(self) -> None:
        """Let nothing in the world answer from now on."""
        ...


@runtime_checkable
class GivesHosts(Protocol):
    """What a rig offers besides, where machines are allocations of hosts that outlive them."""

    def host_for(self, machine: Machine) -> Machine:
        """Return the machine with a host of its own, as a binding in the store gives it one.

        There is a fresh host for each: nobody puts any back in here.
        """
        ...


Worlds = AbstractAsyncContextManager[Rig]
"""What a function that makes rigs returns: the world is torn down when the check is over."""


class NotApplicable(Exception):
    """A check does not apply to this provider; the message says why."""


def need(rig: Rig, *abilities: Ability | Fault) -> None:
    """Raise NotApplicable where the rig lacks one of these."""
    for ability in abilities:
        reason = rig.lacks.get(Ability(ability))
        if reason is not None:
            raise NotApplicable(reason)
