"""Services: those of a schema that could be the runner's, chosen by their methods."""

from collections.abc import Iterable, Mapping, Sequence

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from msgspec import Struct

from hostler.frontends.fleeting.schema.vocabulary.names import CORE_METHODS, METHODS

from .override import Override

_NEAR = 3
"""Methods of ours that make a service worth telling of."""


class Service(Struct, frozen=True, kw_only=True):
    """One service, with its methods by our names.

    `used`: how often a literal path of one of its methods stands in the binary, which a linked
    client leaves there; None where there was no binary to look into.
    """

    descriptor: ServiceDescriptor
    methods: Mapping[str, MethodDescriptor]
    others: tuple[str, ...] = ()
    used: int | None = None

    @property
    def name(self) -> str:
        """The full name."""
        return self.descriptor.full_name

    @property
    def complete(self) -> bool:
        """Whether it has everything that a runner calls for sure."""
        return all(name in self.methods for name in CORE_METHODS)

    def path(self, name: str) -> str:
        """Return the path under which a method is called."""
        return f"/{self.name}/{self.methods[name].name}"


def service(descriptor: ServiceDescriptor, override: Override) -> Service:
    """Return a service with its methods by our names, or by those that the operator gave."""
    named = {str(method.name): method for method in descriptor.methods}
    chosen = override.methods(descriptor.full_name)
    ours = {name: named.get(chosen.get(name, name)) for name in METHODS}
    methods = {name: method for name, method in ours.items() if method is not None}
    used = {method.name for method in methods.values()}
    others = tuple(name for name in named if name not in used)
    return Service(descriptor=descriptor, methods=methods, others=others)


def complete(found: Iterable[Service]) -> tuple[Service, ...]:
    """Return the complete ones, those first whose paths stand in the binary."""
    ready = [one for one in found if one.complete]
    return tuple(sorted(ready, key=lambda one: not one.used))


def nearest(found: Sequence[Service]) -> tuple[Service, ...]:
    """Return those that have some of the methods, the most first."""
    near = [one for one in found if _score(one) >= _NEAR]
    return tuple(sorted(near, key=_score, reverse=True))


def _score(one: Service) -> int:
    """Return how many of our methods a service has, be it under a longer name."""
    names = [method.name.lower() for method in one.descriptor.methods]
    return sum(any(ours.lower() in name for name in names) for ours in CORE_METHODS)
