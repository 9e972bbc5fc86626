"""Site: what there is to build a machine's resources with, and what is done of it. Pure."""

from collections.abc import Mapping

from msgspec import Struct

from hostler.domain.ids import ResourceId
from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.machine import Known, Machine
from hostler.domain.model.resource import Condition, Resource, Slot
from hostler.providers.scaleway.common.settings import Template

from .calls import SERVER, Arguments, whose

NETWORK = "network "
"""How the fact begins that a server was joined to a private network."""

GROUP = "security group "
"""How the fact begins that a server was made, or first switched on, in a security group."""


class Site(Struct, frozen=True):
    """What there is to build with: the record, the template, and the resource in each slot."""

    machine: Machine
    template: Template
    resources: Mapping[Slot, Resource]

    @property
    def addresses(self) -> tuple[Slot, ...]:
        """The address slots that the template asks for."""
        return tuple(Slot("address", index) for index in self.template.addresses)

    @property
    def server(self) -> Resource | None:
        """The machine's server, or None."""
        return self.resources.get(SERVER)

    @property
    def planned(self) -> bool:
        """Whether the server is a plan's placeholder: then everything hoped of it is so."""
        return self.server is not None and self.server.status == "planned"

    @property
    def known(self) -> Known | None:
        """What the record knows of the bound server, or None."""
        place = self.machine.place(SERVER)
        return next((known for known in place.known if known.id == place.bound), None)

    def open(self, slot: Slot) -> bool:
        """Tell whether a slot has no resource and none was ever bound to it: it may be filled."""
        return slot not in self.resources and self.machine.bound(slot) is None

    def done(self, fact: str) -> bool:
        """Tell whether a fact was recorded of the bound server, and not of one before it."""
        at = self.machine.fact(fact)
        return at is not None and self.known is not None and at >= self.known.since

    @property
    def facts(self) -> tuple[str, ...]:
        """The names of the facts that the record has of the machine."""
        return tuple(fact.name for fact in self.machine.facts)

    def volume(self, index: int) -> ResourceId | None:
        """Return the id of a volume, a plan's placeholder, or None where the server's is not seen.

        What an earlier server left behind is none of this one's.
        """
        resource = self.resources.get(Slot("volume", index))
        if resource is not None and not self._is_elsewhere(resource):
            return resource.id
        return ResourceId(f"<volume {index}>") if self.planned else None

    def _is_elsewhere(self, volume: Resource) -> bool:
        """Tell whether a volume is seen to hang on nothing, or on another server."""
        if volume.owner is None:
            return volume.condition is Condition.FREE
        return self.server is None or volume.owner != self.server.id

    def call(self, kind: str, slot: Slot, effect: Effect, args: Arguments) -> Call:
        """Return a repeatable call on nothing yet, for this machine."""
        return Call(
            kind=kind,
            slot=slot,
            zone=self.machine.offer.zone,
            effect=effect,
            attempt=self.known.attempt if self.known else 0,
            args=(*whose(self.machine), *args),
        )
