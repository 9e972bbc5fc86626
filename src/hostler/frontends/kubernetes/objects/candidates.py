"""Candidates: the objects of namespaces as tables that may come into force. Pure but for secrets.

A host is an entry in the list of its provider; a fleet has the section of its provider's kind. What
an object names, a provider or a Secret, is in its own namespace; the file is of the home namespace.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

import msgspec
from msgspec import Struct, field

from hostler.config.cluster_tables import AllowTable
from hostler.config.decode import Raw, table
from hostler.config.load import Kinds
from hostler.config.structure import inventory_key
from hostler.config.tables import FleetTable, ProviderTable
from hostler.frontends.kubernetes.definitions.notation import key_in_object
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.kubernetes.objects import Key, key_of

from .assembly import FLEET, PROVIDER, Candidate, Place, worded_in
from .host_entries import Entries, Entry, HostPlace, Listing, table_list
from .models import Written
from .permissions import forbidden
from .reach import Reach, provider_key
from .secrets import SecretData, SecretPlaces
from .tables import Layout, table_of_spec, wrong_sections

_OF_FLEETS = frozenset({"paused", "deletionPolicy", "secretName"})


class _Nothing(msgspec.Struct, frozen=True):
    """Has no fields: what a host's object has beside the section of its kind is no setting."""


class Objects(Struct, frozen=True, kw_only=True):
    """All objects that are read, by kind, and the Secrets that they name by their places."""

    providers: tuple[Written, ...]
    fleets: tuple[Written, ...]
    hosts: tuple[Written, ...]
    secrets: Mapping[str, SecretData] = field(default_factory=dict[str, SecretData])

    def secret(self, name: str) -> SecretData:
        """Return a Secret by its name; without any, one without a name."""
        return self.secrets.get(name, SecretData(name="")) if name else SecretData(name="")


def secret_keys(objects: Iterable[Written]) -> frozenset[Key]:
    """Return the Secrets that objects name: each those of its own namespace."""
    return frozenset(
        Key(one.metadata.namespace, name) for one in objects if (name := secret_name(one))
    )


def secret_name(one: Written) -> str:
    """Return the Secret that an object names; empty where it names none."""
    name = one.wanted.get("secretName", "")
    return name if isinstance(name, str) else ""


class _Secrets(Struct, frozen=True):
    """The Secret of one object."""

    places: SecretPlaces
    secret: SecretData
    stable: bool = False

    def variable(self, key: str) -> str:
        return self.places.variable(self.secret, key)

    def file(self, key: str) -> str:
        return self.places.file(self.secret, key, stable=self.stable)


class Candidates(Struct, frozen=True, kw_only=True):
    """Makes candidates of objects; `base` has the providers that the file has.

    `allow` is what objects may ask for though it takes rights of the engine. `recorded` are the
    hosts of the records: without one of them a provider does not come into force anew. `refused`
    are hosts that could not be opened, with the reason, and `stay` providers whose objects say
    another kind than that which they stay in force as.
    """

    namespaces: Namespaces
    kinds: Kinds
    base: Raw
    places: SecretPlaces
    allow: AllowTable = AllowTable()
    recorded: Collection[HostPlace] = frozenset()
    refused: Mapping[HostPlace, str] = field(default_factory=dict[HostPlace, str])
    stay: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def _reach(self) -> Reach:
        return Reach(namespaces=self.namespaces, allow=self.allow)

    def of(self, objects: Objects, before: Mapping[Place, Raw]) -> Mapping[Place, Candidate]:
        """Return a candidate for each provider and fleet; `before` are the tables in force."""
        found = dict[Place, Candidate]()
        for one in objects.providers:
            place = Place(PROVIDER, self.namespaces.name_of(one.metadata))
            found[place] = self._provider(one, objects, before.get(place, {}))
        kinds = self._kinds(objects.providers)
        secrets = {self.namespaces.name_of(p.metadata): secret_name(p) for p in objects.providers}
        for one in objects.fleets:
            provider = self._reach.provider_of(one, kinds)
            own = secret_name(one) or secrets.get(provider, "")
            secret = self._secret(one, own, objects, stable=True)
            place = Place(FLEET, self.namespaces.name_of(one.metadata))
            found[place] = self._fleet(one, provider, kinds, secret)
        return found

    def _secret(
        self, one: Written, name: str, objects: Objects, *, stable: bool = False
    ) -> "_Secrets":
        """Return a Secret of the namespace of an object."""
        place = self.namespaces.name(one.metadata.namespace, name) if name else ""
        return _Secrets(self.places, objects.secret(place), stable=stable)

    def _kinds(self, providers: Iterable[Written]) -> dict[str, str]:
        """Return the kind of each provider, of the file and of objects, as fleets are read."""
        tables = table(self.base.get(PROVIDER, {}))
        found = {name: str(table(raw).get("kind", name)) for name, raw in tables.items()}
        name_of = self.namespaces.name_of
        own = {name_of(p.metadata): str(p.wanted.get("kind", "")) for p in providers}
        return {**found, **own, **self.stay}

    def _provider(self, one: Written, objects: Objects, before: Raw) -> Candidate:
        kind = str(one.wanted.get("kind", ""))
        if kind not in self.kinds:
            known = ", ".join(sorted(self.kinds))
            return Candidate(table={}, problems=(f"spec.kind = {kind!r}: expected one of {known}",))
        settings = self.kinds[kind]().settings
        layout = Layout(common=ProviderTable, section=key_in_object(kind), own=settings)
        spec = {key: value for key, value in one.wanted.items() if key != "secretName"}
        secret = self._secret(one, secret_name(one), objects)
        made, problems = table_of_spec(spec, layout, secret)
        wrong = wrong_sections(self.kinds, spec, layout, f"it is of kind {kind}")
        provider = key_of(one)
        hosts = tuple(h for h in objects.hosts if provider_key(h) == provider)
        tell: Callable[[str], str] = layout.place
        entries: Mapping[str, Entry] = {}
        if listed := inventory_key(settings):
            name = self.namespaces.name_of(one.metadata)
            stood = table_list(before.get(listed))
            listing = Listing(provider=name, kind=kind, key=listed, own=made, before=stood)
            entries = self._entries(objects).of(listing, hosts)
            if not before:
                problems = (*problems, *self._bereft(name, entries))
            usable = [one.table for one in entries.values() if one.table is not None]
            made = {**made, listed: usable}
            tell = partial(_of_list, layout, listed)
        elif hosts:
            problems = (*problems, f"Hosts name it, and providers of kind {kind} have none")
        return Candidate(
            table=made,
            problems=(*wrong, *problems),
            forbidden=self._forbidden(one, made, layout),
            tell=tell,
            hosts={name: entry.verdict for name, entry in entries.items()},
            nodes={name: entry.node for name, entry in entries.items() if entry.node is not None},
        )

    def _entries(self, objects: Objects) -> Entries:
        return Entries(
            namespaces=self.namespaces,
            kinds=self.kinds,
            reach=self._reach,
            secret=lambda one: self._secret(one, secret_name(one), objects),
            refused=self.refused,
        )

    def _bereft(self, provider: str, entries: Mapping[str, Entry]) -> tuple[str, ...]:
        """Return why a provider that is not in force yet is not run: hosts of its records lack.

        An engine would hold their machines for lost, and start others beside them.
        """
        return tuple(
            f"Host {name} is on record and cannot be in force, so no Host of this Provider is "
            f"until it is mended: {entry.verdict.message}"
            for name, entry in entries.items()
            if entry.table is None and (provider, name) in self.recorded
        )

    def _forbidden(self, one: Written, made: Raw, layout: Layout) -> tuple[str, ...]:
        """Return what an object says that the installation does not allow."""
        found = forbidden(made, (layout.common, layout.own), self._reach.allowed(one))
        return tuple(worded_in(fault, layout.place) for fault in found)

    def _fleet(
        self, one: Written, provider: str, kinds: Mapping[str, str], secret: _Secrets
    ) -> Candidate:
        spec = {key: value for key, value in one.wanted.items() if key not in _OF_FLEETS}
        kind = kinds.get(provider, "")
        if kind not in self.kinds:
            layout = Layout(common=FleetTable, section="", own=_Nothing)
            made, problems = table_of_spec(spec, layout, secret)
            lacking = self._reach.without_provider(one, kinds) if provider not in kinds else ()
            named = {**made, **({PROVIDER: provider} if provider else {})}
            return Candidate(table=named, problems=(*problems, *lacking), tell=layout.place)
        layout = Layout(
            common=FleetTable, section=key_in_object(kind), own=self.kinds[kind]().template
        )
        made, problems = table_of_spec(spec, layout, secret)
        wrong = wrong_sections(self.kinds, spec, layout, f"its provider is of kind {kind}")
        return Candidate(
            table={**made, PROVIDER: provider},
            problems=(*wrong, *problems),
            forbidden=(*self._forbidden(one, made, layout), *self._reach.at_nodes(one)),
            tell=layout.place,
        )


def _of_list(layout: Layout, listed: str, path: str) -> str:
    """Return where a key of a provider's table stands: its list are the Hosts that name it."""
    return "the Hosts that name it" if path == listed else layout.place(path)
