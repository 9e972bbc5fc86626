"""Kind: what a package of a provider tells of itself: its tables in the fleet file, how to open it.

The entry-point group `hostler.providers` names classes of this protocol that take no arguments. Its
tables are msgspec Structs: `Meta(description=...)` on a field is what the reference of settings
says about it, and the `extra` owner tags below say what msgspec has no words for.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

from msgspec import Meta, Struct, field

from hostler.domain.ids import AccountName, FleetName, InstallationId
from hostler.domain.model.machine import Offer

from .bootstrap import NoBootstraps, ReadsBootstraps
from .clock import Clock
from .http import Connect
from .provider import Provider
from .shell import Shell

T = TypeVar("T")

SIZE = {"unit": "size"}
"""`Meta(extra=SIZE)`: a whole number of bytes that is written as "20GB"."""

POSITIVE = {"positive": "yes"}
"""`Meta(extra=POSITIVE)`: a duration that must not be zero."""

LOCAL = {"local": "yes"}
"""`Meta(extra=LOCAL)`: a key by which a program of the engine's own computer is run. It stands in
the fleet file alone, which only who runs the engine writes, and not in objects of a cluster."""

PERMISSION = "permission"


def permission(name: str) -> dict[str, str]:
    """Return `Meta(extra=...)` of a key by which the engine's rights would be lent to others.

    In an object of a cluster its value must be one that the installation allows, under this name
    in `[frontend.kubernetes.allow]`; one that nothing is known of there is refused.
    """
    return {PERMISSION: name}


INVENTORY = {"inventory": "yes"}
"""`Meta(extra=INVENTORY)`: an account's list of hosts, each a Struct with a `name`. In a cluster
each host is an object of its own, and there may be none yet; a file lists one at least."""


def refused(cure: str) -> Meta:
    """Return the marker of a key that must not stand in a file, with what to do instead."""
    return Meta(extra={"refused": cure})


def table_of(kind: type[T], table: object) -> T:
    """Return a table that was decoded as this Struct; TypeError where it was as another."""
    if not isinstance(table, kind):
        raise TypeError(type(table))
    return table


class Blueprint(Struct, frozen=True, kw_only=True):
    """What a fleet's machines are made from: the offers to try in order, and a digest of the rest.

    Machines whose digest differs from their fleet's are outdated; the offers are no part of it.
    `timers` are what this kind's machines usually take, by the names of the fleet file's timers.
    """

    offers: tuple[Offer, ...]
    digest: str
    timers: Mapping[str, timedelta] = field(default_factory=dict[str, timedelta])


class Opening(Struct, frozen=True, kw_only=True):
    """All that a kind needs to open an account.

    `settings` is the kind's decoded [provider.NAME] table and `templates` its decoded part of each
    of the account's [fleet.NAME] tables; `folder` is where the fleet file is, for relative paths.
    `connect` returns what speaks HTTP to an endpoint. `bootstraps` reads what single machines are
    to be given at their first boot.
    """

    name: AccountName
    settings: object
    templates: Mapping[FleetName, object]
    installation: InstallationId
    folder: Path
    environment: Mapping[str, str]
    clock: Clock
    shell: Shell
    connect: Connect
    bootstraps: ReadsBootstraps = field(default_factory=NoBootstraps)


class Timing(Struct, frozen=True, kw_only=True):
    """How long one call may take at most, and how late effects and listings may be."""

    deadline: timedelta
    consistency_delay: timedelta


class Asked(Struct, frozen=True, kw_only=True):
    """What a fleet asks of an account: its decoded template, and how many machines at once."""

    template: object
    machines: int


class Lack(Struct, frozen=True, kw_only=True):
    """What an engine would not find on this computer: the key that asks for it, and a sentence.

    What comes of the `environment` may be there where the engine runs.
    """

    key: str
    text: str
    environment: bool = False


@runtime_checkable
class Times(Protocol):
    """A kind that knows beforehand how long things take."""

    def timing(self, settings: object) -> Timing:
        """Return the times of an account with these settings."""
        ...


@runtime_checkable
class ChecksAccounts(Protocol):
    """A kind that can tell more of an account's table than its types do."""

    def check(self, settings: object) -> tuple[str, ...]:
        """Return what cannot work, as "key: expected …"; reads no files."""
        ...

    def warnings_of(self, settings: object) -> tuple[str, ...]:
        """Return a sentence for what is hardly meant, beginning with the key that it is about."""
        ...

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return what an engine would not find on this computer."""
        ...


@runtime_checkable
class IdentifiesAccounts(Protocol):
    """A kind whose accounts have an id outside, whatever a file calls them, such as a project's."""

    def account_id(self, settings: object, environment: Mapping[str, str]) -> str:
        """Return the id, with what it is the id of; empty where nothing tells it."""
        ...


@runtime_checkable
class NamesHosts(Protocol):
    """A kind whose hosts are called as an account says, and are known by these names alone.

    Records do not say of which account a host is: no two accounts may have one of the same name.
    """

    def host_names(self, settings: object) -> tuple[str, ...]:
        """Return how the hosts of an account with these settings are called."""
        ...


@runtime_checkable
class TellsAddresses(Protocol):
    """A kind that switches its hosts off when nobody has them, and says where each of them is."""

    def host_addresses(self, settings: object) -> Mapping[str, str]:
        """Return where an account's hosts are by their names, as `canonical` writes addresses.

        Those without an address are left out.
        """
        ...


class Piece(Struct, frozen=True, kw_only=True):
    """A table within an account's table: its place there, its Struct, and what stands there.

    `check` returns what cannot work of it, as "key: expected …".
    """

    place: str
    settings: type[object]
    raw: object
    check: Callable[[object], tuple[str, ...]]


@runtime_checkable
class ChecksPieces(Protocol):
    """A kind of whose table each piece is judged by itself where the whole cannot be read.

    So whoever mends the first faults is not told of others then.
    """

    def pieces(self, raw: Mapping[str, object]) -> Iterator[Piece]:
        """Yield what can be judged alone; of what is wrongly formed, nothing."""
        ...


@runtime_checkable
class Bounded(Protocol):
    """A kind whose accounts have so many machines and no more.

    What was in force before stays so in a cluster, though hosts left: it is not asked about then.
    """

    def check_places(self, settings: object, template: object) -> tuple[str, ...]:
        """Return what of a fleet's table no machine can be had of, as "key: expected …"."""
        ...

    def check_sizes(
        self, settings: object, fleets: Mapping[FleetName, Asked]
    ) -> Mapping[FleetName, str]:
        """Return what is expected of a fleet's size where the fleets cannot all have theirs."""
        ...


@runtime_checkable
class Warns(Protocol):
    """A kind that can tell what a fleet's tables allow and what is hardly meant."""

    def warnings(self, settings: object, template: object) -> tuple[str, ...]:
        """Return a sentence for each, beginning with the fleet's key that it is about."""
        ...


class Kind(Protocol):
    """One kind of provider. Its Structs need not forbid unknown keys: those are found for it."""

    @property
    def settings(self) -> type[object]:
        """The msgspec Struct of its own keys in a [provider.NAME] table."""
        ...

    @property
    def template(self) -> type[object]:
        """The msgspec Struct of its own keys in a [fleet.NAME] table."""
        ...

    def blueprint(self, settings: object, template: object, folder: Path) -> Blueprint:
        """Return what machines are made from; ValueError says what is wrong, as "key: expected …".

        Reads files that the template names, and nothing else.
        """
        ...

    def open(self, opening: Opening) -> Provider:
        """Return the account, ready to be asked; ConfigError names a secret that is not there."""
        ...
