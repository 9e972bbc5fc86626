"""Candidates: the objects of a namespace as tables that may come into force. Pure but for secrets.

A host is an entry in the list of its provider; a fleet has the section of its provider's kind.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

import msgspec

from hostler.config.cluster_tables import AllowTable
from hostler.config.decode import Raw, decode_table, is_table, known_keys, table
from hostler.config.errors import Faults
from hostler.config.load import Kinds
from hostler.config.node_tables import HostNodeTable
from hostler.config.tables import FleetTable, ProviderTable
from hostler.frontends.kubernetes.definitions.notation import key_in_object
from hostler.frontends.kubernetes.definitions.sections import hosts as host_tables
from hostler.frontends.kubernetes.definitions.sections import inventory_key

from .assembly import FLEET, IN_FORCE, PROVIDER, Candidate, Place, Reason, Verdict, worded_in
from .models import Fields, Written
from .permissions import forbidden
from .secrets import SecretData, SecretPlaces
from .tables import Layout, other_sections, table_of_spec

HostPlace = tuple[str, str]
"""A provider's name, and that of a host of its list."""

_REST = "; the rest of it is in force, and what its Node bears stays as it was"
_OF_FLEETS = frozenset({"paused", "deletionPolicy", "secretName"})


@dataclass(frozen=True, slots=True)
class _Entry:
    """A host as an entry of its provider's list, if it has one, and whether its spec is that."""

    table: Raw | None
    verdict: Verdict
    node: HostNodeTable | None


class _Nothing(msgspec.Struct, frozen=True):
    """Has no fields: what a host's object has beside the section of its kind is no setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """All objects of a namespace that are read, by kind, and the Secrets that they name."""

    providers: tuple[Written, ...]
    fleets: tuple[Written, ...]
    hosts: tuple[Written, ...]
    secrets: Mapping[str, SecretData] = field(default_factory=dict[str, SecretData])

    def secret(self, name: str) -> SecretData:
        """Return a Secret by its name; without any, one without a name."""
        return self.secrets.get(name, SecretData(name="")) if name else SecretData(name="")


def secret_names(objects: Iterable[Written]) -> frozenset[str]:
    """Return the Secrets that objects name."""
    return frozenset(name for one in objects if (name := secret_name(one)))


def secret_name(one: Written) -> str:
    """Return the Secret that an object names; empty where it names none."""
    name = one.wanted.get("secretName", "")
    return name if isinstance(name, str) else ""


@dataclass(frozen=True, slots=True)
class _Secrets:
    """The Secret of one object."""

    places: SecretPlaces
    secret: SecretData
    stable: bool = False

    def variable(self, key: str) -> str:
        return self.places.variable(self.secret, key)

    def file(self, key: str) -> str:
        return self.places.file(self.secret, key, stable=self.stable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Makes candidates of objects; `base` has the providers that the file has.

    `allow` is what objects may ask for though it takes rights of the engine. `recorded` are the
    hosts of the records: without one of them a provider does not come into force anew.
    """

    kinds: Kinds
    base: Raw
    places: SecretPlaces
    allow: AllowTable = AllowTable()
    recorded: Collection[HostPlace] = frozenset()

    def of(self, objects: Objects, before: Mapping[Place, Raw]) -> Mapping[Place, Candidate]:
        """Return a candidate for each provider and fleet; `before` are the tables in force."""
        found = dict[Place, Candidate]()
        for one in objects.providers:
            place = Place(PROVIDER, one.metadata.name)
            found[place] = self._provider(one, objects, before.get(place, {}))
        kinds = self._kinds(objects.providers)
        secrets = {one.metadata.name: secret_name(one) for one in objects.providers}
        for one in objects.fleets:
            name = one.wanted.get("provider") or _only(kinds)
            own = secret_name(one) or secrets.get(str(name), "")
            secret = _Secrets(self.places, objects.secret(own), stable=True)
            found[Place(FLEET, one.metadata.name)] = self._fleet(
                one, kinds.get(str(name), ""), secret
            )
        return found

    def _kinds(self, providers: Iterable[Written]) -> dict[str, str]:
        """Return the kind of each provider, of the file and of objects."""
        tables = table(self.base.get(PROVIDER, {}))
        found = {name: str(table(raw).get("kind", name)) for name, raw in tables.items()}
        return {**found, **{p.metadata.name: str(p.wanted.get("kind", "")) for p in providers}}

    def _provider(self, one: Written, objects: Objects, before: Raw) -> Candidate:
        kind = str(one.wanted.get("kind", ""))
        if kind not in self.kinds:
            known = ", ".join(sorted(self.kinds))
            return Candidate(table={}, problems=(f"spec.kind = {kind!r}: expected one of {known}",))
        settings = self.kinds[kind]().settings
        layout = Layout(common=ProviderTable, section=key_in_object(kind), own=settings)
        spec = {key: value for key, value in one.wanted.items() if key != "secretName"}
        secret = _Secrets(self.places, objects.secret(secret_name(one)))
        made, problems = table_of_spec(spec, layout, secret)
        wrong = self._wrong_sections(spec, layout, f"it is of kind {kind}")
        hosts = tuple(h for h in objects.hosts if h.wanted.get("provider") == one.metadata.name)
        listed = inventory_key(settings)
        tell: Callable[[str], str] = layout.place
        entries = dict[str, _Entry]()
        if listed:
            older = {str(entry.get("name")): entry for entry in table_list(before.get(listed))}
            entries = self._hosts(kind, hosts, objects, older)
            if not before:
                problems = (*problems, *self._bereft(one.metadata.name, entries))
            usable = [one.table for one in entries.values() if one.table is not None]
            made = {**made, listed: usable}
            tell = partial(_of_host, layout, listed, tuple(str(one["name"]) for one in usable))
        elif hosts:
            problems = (*problems, f"Hosts name it, and providers of kind {kind} have none")
        return Candidate(
            table=made,
            problems=(*wrong, *problems),
            forbidden=self._forbidden(made, layout),
            tell=tell,
            hosts={name: entry.verdict for name, entry in entries.items()},
            nodes={name: entry.node for name, entry in entries.items() if entry.node is not None},
        )

    def _hosts(
        self, kind: str, hosts: Iterable[Written], objects: Objects, older: Mapping[str, Raw]
    ) -> dict[str, _Entry]:
        """Return hosts as entries of a provider's list; those that are wrong as they were."""
        found = dict[str, _Entry]()
        for one in hosts:
            secret = _Secrets(self.places, objects.secret(secret_name(one)))
            name = one.metadata.name
            found[name] = self._host(one, kind, secret, older.get(name))
        return found

    def _host(self, one: Written, kind: str, secret: _Secrets, older: Raw | None) -> _Entry:
        """Return a host as an entry; its labels and taints are judged apart from the rest."""
        struct = host_tables(self.kinds)[kind]
        layout = Layout(common=HostNodeTable, section=key_in_object(kind), own=struct)
        whole, problems = table_of_spec(one.wanted, layout, secret)
        own = known_keys(HostNodeTable)
        made = {key: value for key, value in whole.items() if key not in own}
        made |= {"name": one.metadata.name}
        node = {key: value for key, value in whole.items() if key in own}
        wrong = self._wrong_sections(one.wanted, layout, f"its provider is of kind {kind}")
        box, _ = self._part(made, struct, layout, (*wrong, *problems))
        rest, as_node = self._part(node, HostNodeTable, layout, ())
        usable = made if box.accepted else older
        stays = usable is not None and not box.accepted
        verdict = _both(replace(box, older=stays), rest)
        return _Entry(usable, verdict, cast("HostNodeTable | None", as_node))

    def _part(
        self, made: Raw, struct: type[object], layout: Layout, problems: tuple[str, ...]
    ) -> tuple[Verdict, object | None]:
        """Judge the keys of one table of a host, and decode them."""
        faults = Faults()
        (decoded,) = decode_table(made, (struct,), "", faults)
        texts = tuple(worded_in(fault, layout.place) for fault in faults.found)
        refused = (worded_in(one, layout.place) for one in forbidden(made, (struct,), self.allow))
        return _verdict((*problems, *texts), tuple(refused)), decoded

    def _bereft(self, provider: str, entries: Mapping[str, _Entry]) -> tuple[str, ...]:
        """Return why a provider that is not in force yet is not run: hosts of its records lack.

        An engine would hold their machines for lost, and start others beside them.
        """
        return tuple(
            f"Host {name} is on record and cannot be in force, so no Host of this Provider is "
            f"until it is mended: {entry.verdict.message}"
            for name, entry in entries.items()
            if entry.table is None and (provider, name) in self.recorded
        )

    def _forbidden(self, made: Raw, layout: Layout) -> tuple[str, ...]:
        """Return what an object says that the installation does not allow."""
        found = forbidden(made, (layout.common, layout.own), self.allow)
        return tuple(worded_in(fault, layout.place) for fault in found)

    def _fleet(self, one: Written, kind: str, secret: _Secrets) -> Candidate:
        spec = {key: value for key, value in one.wanted.items() if key not in _OF_FLEETS}
        if kind not in self.kinds:
            layout = Layout(common=FleetTable, section="", own=_Nothing)
            made, problems = table_of_spec(spec, layout, secret)
            return Candidate(table=made, problems=problems, tell=layout.place)
        layout = Layout(
            common=FleetTable, section=key_in_object(kind), own=self.kinds[kind]().template
        )
        made, problems = table_of_spec(spec, layout, secret)
        wrong = self._wrong_sections(spec, layout, f"its provider is of kind {kind}")
        return Candidate(
            table=made,
            problems=(*wrong, *problems),
            forbidden=self._forbidden(made, layout),
            tell=layout.place,
        )

    def _wrong_sections(self, spec: Fields, layout: Layout, why: str) -> tuple[str, ...]:
        sections = [key_in_object(kind) for kind in self.kinds]
        found = other_sections(spec, sections, layout)
        return tuple(f"spec.{name}: expected spec.{layout.section}: {why}" for name in found)


def _verdict(problems: tuple[str, ...], forbidden: tuple[str, ...]) -> Verdict:
    """Return whether a host can be in force: what is not allowed is told first, and alone."""
    if forbidden:
        return Verdict(reason=Reason.NOT_ALLOWED, message="; ".join(forbidden))
    return Verdict(reason=Reason.INVALID, message="; ".join(problems)) if problems else IN_FORCE


def _both(box: Verdict, node: Verdict) -> Verdict:
    """Return what a host's object is told of its two parts together."""
    if node.accepted:
        return box
    if box.accepted:
        return replace(node, message=f"{node.message}{_REST}")
    return replace(box, message=f"{box.message}; {node.message}")


def _only(kinds: Mapping[str, str]) -> str:
    return next(iter(kinds)) if len(kinds) == 1 else ""


def _of_host(layout: Layout, listed: str, names: tuple[str, ...], path: str) -> str:
    """Return where a key of a provider's table stands, which may be in one of its hosts."""
    number, _, inner = path.removeprefix(f"{listed}[").partition("]")
    if path == listed:
        return "the Hosts that name it"
    if not path.startswith(f"{listed}[") or not number.isdigit() or int(number) >= len(names):
        return layout.place(path)
    where = layout.place(inner.lstrip(".")) if inner else "spec"
    return f"Host {names[int(number)]}: {where}"


def table_list(raw: object) -> tuple[Raw, ...]:
    """Return a list of tables as what it is; anything else as an empty one."""
    entries = cast("list[object]", raw) if isinstance(raw, list) else []
    return tuple(table(entry) for entry in entries if is_table(entry))
