"""Provider: where machines come from, as the controllers see it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from hostler.domain.ids import FleetName
from hostler.domain.model.calls import Call, Outcome
from hostler.domain.model.machine import Machine
from hostler.domain.model.provider import Capabilities, Planner
from hostler.domain.model.resource import Observation, Resource, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How to reach a machine that is up; secrets are read from where they are kept, when asked.

    `internal` is its address in a private network, `arch` its processor as Go calls it (`amd64`,
    `arm64`); both are empty where no observation tells. `keys` are files of private keys that let
    us in, and `fingerprint` is of the host key that it must show, where settings name them. `lent`
    says that the engine's own keys may be tried too, by whoever does not try them for everybody.
    """

    address: str
    user: str = "root"
    port: int = 22
    internal: str = ""
    arch: str = ""
    keys: tuple[Path, ...] = field(default=(), repr=False)
    fingerprint: str = ""
    lent: bool = False


class Provider(Planner, Protocol):
    """One account where machines come from. `next_calls` (see Planner) is its pure half."""

    @property
    def capabilities(self) -> Capabilities:
        """How its machines behave; constant for the life of the object."""
        ...

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        """Observe these scopes and say for each whether it was seen whole; others may come along.

        Never raises for what the outside does: a scope that failed is incomplete, with its error,
        and the others go on. A scope with a machine asks for each of its `known` ids by itself and
        lists what carries that machine's owner tag, unless these ids are asked for `alone`.
        """
        ...

    async def do(self, call: Call) -> Outcome:
        """Make one call, once, within the deadline; never raises for what the outside does.

        `Refused` promises that the call had no effect; `Unknown` promises nothing. A target that is
        not there any more makes a destructive call `Done`.
        """
        ...

    def connection(self, machine: Machine, resources: tuple[Resource, ...]) -> Connection | None:
        """Return how to reach the machine, or None while that is not known. Pure.

        While its provider says nothing that we know of how it stands, it is reached as before: what
        is unknown is not down, and only the machine itself can say that it is well.
        """
        ...

    def provider_id(self, machine: Machine, resources: tuple[Resource, ...]) -> str | None:
        """Return the machine's id as Kubernetes knows it (`Node.spec.providerID`), or None. Pure.

        None until the main resource is bound in the record, and the same from then on: whatever the
        newest observation shows, and in no other machine that lives. It has the form that the cloud
        provider of Kubernetes uses where there is one, else `hostler://KIND/ZONE/ID`: of a foreign
        scheme it deletes no Node.
        """
        ...

    def cost(self, call: Call | Scope) -> int:
        """Return how many requests this call or observation takes at most. Pure."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...


@runtime_checkable
class HasTemplates(Protocol):
    """A provider that makes each fleet's machines from a template that it got as it was opened."""

    def has_template(self, fleet: FleetName) -> bool:
        """Tell whether it has one for this fleet; without it no machine can be made. Pure."""
        ...
