"""Finalized: which objects have our finalizer, and stay when they are deleted until all is done.

No other may be in force: one that is deleted before it is held is away at once, whoever has its
host. What an engine had in force before, held or not, stays so.
"""

from collections.abc import Callable, Collection, Mapping

from msgspec import Struct

from hostler.config.decode import Raw
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.assembly import FLEET, PROVIDER, Place
from hostler.frontends.kubernetes.objects.host_entries import HostPlace
from hostler.frontends.kubernetes.objects.models import FLEETS, HOSTS, PROVIDERS, Written
from hostler.frontends.kubernetes.objects.reach import provider_key

from .following import Followed, is_held


class Held(Struct, frozen=True, kw_only=True):
    """The objects that may be in force, by kind."""

    providers: tuple[Written, ...]
    fleets: tuple[Written, ...]
    hosts: tuple[Written, ...]


class HeldObjects:
    """Tells which objects are held, and remembers those that were taken last."""

    def __init__(self, followed: Followed, namespaces: Namespaces) -> None:
        self._followed, self._namespaces = followed, namespaces
        self._taken: frozenset[str] | None = None

    def now(self, before: Mapping[Place, Raw], recorded: Collection[HostPlace]) -> Held:
        """Return what may be in force; until any was taken, tables and hosts of `before` count."""
        name_of, accounts = self._namespaces.name_of, {account for account, _ in recorded}

        def ran_provider(one: Written) -> bool:
            return Place(PROVIDER, name_of(one.metadata)) in before or (
                name_of(one.metadata) in accounts
            )

        def ran_fleet(one: Written) -> bool:
            return Place(FLEET, name_of(one.metadata)) in before

        def ran_host(one: Written) -> bool:
            key = provider_key(one)
            account = self._namespaces.name(key.namespace, key.name)
            return (account, name_of(one.metadata)) in recorded

        return Held(
            providers=self._of(PROVIDERS.kind, ran_provider),
            fleets=self._of(FLEETS.kind, ran_fleet),
            hosts=self._of(HOSTS.kind, ran_host),
        )

    def take(self, held: Held) -> None:
        """Remember these: they stay, though their finalizers were taken off by force."""
        every = (*held.providers, *held.fleets, *held.hosts)
        self._taken = frozenset(one.metadata.uid for one in every)

    def _of(self, kind: str, ran: Callable[[Written], bool]) -> tuple[Written, ...]:
        taken = self._taken
        return tuple(
            one
            for one in self._followed.of(kind)
            if is_held(one) or (ran(one) if taken is None else one.metadata.uid in taken)
        )
