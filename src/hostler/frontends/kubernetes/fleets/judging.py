"""Judging: which objects are in force beside a file, each judged by itself.

An object that cannot be opened, or that takes a fleet away from what it has, is refused alone: what
was in force before stays so.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from hostler.config.cluster_tables import AllowTable
from hostler.config.decode import Raw, table
from hostler.config.digests import digests
from hostler.config.errors import Fault
from hostler.config.load import Kinds
from hostler.config.node_tables import HostNodeTable
from hostler.config.store_url import Stores
from hostler.config.values import Config
from hostler.domain.errors import ConfigError, HostRefused
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.assembly import (
    FLEET,
    PROVIDER,
    Assembler,
    Assembly,
    Candidate,
    Place,
    Reason,
    Verdict,
)
from hostler.frontends.kubernetes.objects.candidates import Candidates, Objects
from hostler.frontends.kubernetes.objects.host_entries import HostPlace
from hostler.frontends.kubernetes.objects.secrets import SecretPlaces

Nodes = Mapping[HostPlace, HostNodeTable]
"""What hosts are as Nodes."""


class Base(Struct, frozen=True, kw_only=True):
    """The file beside the objects: its path, also where none is `written`, and its tables.

    `allow` is what it allows objects to ask for.
    """

    path: Path
    raw: Raw
    kinds: Kinds
    stores: Stores
    allow: AllowTable = AllowTable()
    written: bool = False


class Judged(Struct, frozen=True, kw_only=True):
    """What is in force, each object's generation that it was made from, and hosts' verdicts.

    Generations are by uid: another object of the same name was not judged yet.
    """

    assembly: Assembly
    generations: Mapping[str, int] = field(default_factory=dict[str, int])
    hosts: Mapping[str, Verdict] = field(default_factory=dict[str, Verdict])
    nodes: Nodes = field(default_factory=dict[HostPlace, HostNodeTable])


Opens = Callable[[Config], Awaitable[None]]
"""Opens the accounts of a configuration and closes them; ConfigError where one cannot be."""

Leaves = Callable[[Config], Awaitable[tuple[Fault, ...]]]
"""Returns a fault for each fleet that is taken away from the account in which its machines are."""


class Judge(Struct, kw_only=True):
    """Judges objects beside the file `base`; what they may need is tried by `opens` and `leaves`.

    `before` are the tables that are in force, or were while their provider was, `recorded` the
    hosts that records have, and `opened` the accounts that could be opened, with their digests.
    """

    base: Base
    namespaces: Namespaces
    places: SecretPlaces
    opens: Opens
    leaves: Leaves
    before: Mapping[Place, Raw] = field(default_factory=dict[Place, Raw])
    recorded: Collection[HostPlace] = frozenset()
    opened: dict[str, str] = field(default_factory=dict[str, str])

    async def judged(self, objects: Objects, nodes: Nodes) -> Judged:
        """Return what is in force, once every account of it could be opened.

        What was in force before is no longer, either, where it is no better than what replaces it.
        `nodes` are what hosts were as Nodes.
        """
        base, before = self.base, dict(self.before)
        refused, hosts = dict[Place, Verdict](), dict[HostPlace, str]()
        kinds = dict[str, str]()
        while True:
            candidates = self._candidates(objects, hosts, kinds)
            assembler = Assembler(
                namespaces=self.namespaces,
                path=base.path,
                base=base.raw,
                kinds=base.kinds,
                stores=base.stores,
            )
            assembler.verdicts.update(refused)
            assembly = assembler.assemble(candidates, before)
            stay = self._other_kinds(objects, assembly)
            if not stay.keys() <= kinds.keys():
                kinds |= stay
                continue
            place, error = await self._unopened(assembly)
            if place is None or (place in refused and place not in before):
                break
            host = (place.name, error.host) if isinstance(error, HostRefused) else None
            if place in refused:
                del before[place]
            elif isinstance(error, HostRefused) and host is not None and host not in hosts:
                hosts[host] = self.places.worded(error.why)
            else:
                why = self.places.worded(str(error))
                refused[place] = Verdict(reason=Reason.NOT_OPENED, message=why)
        self.before = {**self._waiting(candidates, assembly), **assembly.tables}
        return Judged(
            assembly=assembly,
            generations={
                one.metadata.uid: one.metadata.generation
                for found in (objects.providers, objects.fleets, objects.hosts)
                for one in found
            },
            hosts={name: why for one in candidates.values() for name, why in one.hosts.items()},
            nodes=_nodes(candidates, nodes),
        )

    def _waiting(self, candidates: Collection[Place], assembly: Assembly) -> Mapping[Place, Raw]:
        """Return the fleets that are out of force with their provider, as they were before it.

        Once that is back they are, whatever was written since that cannot be beside them.
        """
        providers = {*table(self.base.raw.get(PROVIDER, {}))}
        providers |= {place.name for place in assembly.tables if place.table == PROVIDER}
        return {
            place: raw
            for place, raw in self.before.items()
            if place in candidates and place.table == FLEET and raw.get(PROVIDER) not in providers
        }

    def _other_kinds(self, objects: Objects, assembly: Assembly) -> Mapping[str, str]:
        """Return the providers that stay of another kind than their objects say, with that kind."""
        wanted = {
            self.namespaces.name_of(p.metadata): p.wanted.get("kind") for p in objects.providers
        }
        stay = (place for place, one in assembly.verdicts.items() if one.older)
        found = {p.name: assembly.tables[p].get("kind") for p in stay if p.table == PROVIDER}
        return {name: str(kind) for name, kind in found.items() if kind != wanted[name]}

    def _candidates(
        self, objects: Objects, refused: Mapping[HostPlace, str], stay: Mapping[str, str]
    ) -> Mapping[Place, Candidate]:
        base = self.base
        making = Candidates(
            namespaces=self.namespaces,
            kinds=base.kinds,
            base=base.raw,
            places=self.places,
            allow=base.allow,
            recorded=self.recorded,
            refused=refused,
            stay=stay,
        )
        return making.of(objects, self.before)

    async def _unopened(self, assembly: Assembly) -> tuple[Place | None, ConfigError | None]:
        """Return an object that cannot be in force for what is outside the objects, and why.

        It has an account that cannot be opened, each of which is tried once; or it takes a fleet
        away from what it has. What the file alone does so is no matter of an object.
        """
        config = assembly.config
        for account in config.accounts:
            place = Place(PROVIDER, str(account.name))
            digest = digests(config)[place.path]
            if place not in assembly.verdicts or self.opened.get(place.path) == digest:
                continue
            try:
                await self.opens(replace(config, accounts=(account,), fleets=(), templates={}))
            except ConfigError as error:
                return place, error
            self.opened[place.path] = digest
        for fault in await self.leaves(config):
            if (place := _place_of(fault)) in assembly.tables:
                return place, ConfigError(f"expected {fault.expected}; {fault.hint}")
        return None, None


def _nodes(candidates: Mapping[Place, Candidate], before: Nodes) -> Nodes:
    """Return what hosts are as Nodes; those that are wrong as they were."""
    return {
        (place.name, name): one.nodes[name]
        if verdict.accepted
        else before.get((place.name, name), HostNodeTable())
        for place, one in candidates.items()
        for name, verdict in one.hosts.items()
    }


def _place_of(fault: Fault) -> Place:
    """Return the table that a fault is about: a provider's, or that of a fleet that changes it."""
    name, _, rest = fault.path.removesuffix(f".{PROVIDER}").partition(".")
    return Place(name, rest)
