"""Host entries: the Hosts of a provider as entries of its list, each judged by itself. Pure.

One that is wrong stops no other: it stays as it was in force before, or is left out.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import cast

from msgspec import Struct, field
from msgspec.structs import replace

from hostler.config.cluster_tables import AllowTable
from hostler.config.decode import Raw, decode_table, is_table, known_keys, table
from hostler.config.errors import Fault, Faults
from hostler.config.load import Kinds
from hostler.config.node_tables import HostNodeTable
from hostler.frontends.kubernetes.definitions.notation import key_in_object
from hostler.frontends.kubernetes.definitions.sections import hosts as host_tables
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.ports.kind import ChecksAccounts

from .assembly import IN_FORCE, Reason, Verdict, worded_in
from .models import Written
from .permissions import forbidden
from .reach import Reach
from .tables import Layout, PlacesSecrets, table_of_spec, wrong_sections

HostPlace = tuple[str, str]
"""A provider's name, and that of a host of its list, as the engine has them."""

_REST = "; the rest of it is in force, and what its Node bears stays as it was"


class Entry(Struct, frozen=True, kw_only=True):
    """A host as an entry of its provider's list, if it has one, and whether its spec is that."""

    table: Raw | None
    verdict: Verdict
    node: HostNodeTable | None


class Listing(Struct, frozen=True, kw_only=True):
    """The list of a provider: its name and kind, the list's key, and its other keys in `own`.

    `before` are the entries that are in force.
    """

    provider: str
    kind: str
    key: str
    own: Raw
    before: tuple[Raw, ...]


class Entries(Struct, frozen=True, kw_only=True):
    """Makes entries of Hosts; `refused` are those that could not be opened, with the reason."""

    namespaces: Namespaces
    kinds: Kinds
    reach: Reach
    secret: Callable[[Written], PlacesSecrets]
    refused: Mapping[HostPlace, str] = field(default_factory=dict[HostPlace, str])

    def of(self, listing: Listing, hosts: Iterable[Written]) -> Mapping[str, Entry]:
        """Return the entry of each host by its name; those that are wrong as they were."""
        before = {str(entry.get("name")): entry for entry in listing.before}
        found = dict[str, Entry]()
        for one in hosts:
            name = self.namespaces.name_of(one.metadata)
            found[name] = self._entry(one, listing, before.get(name))
        layout = self._layout(listing.kind)
        for name, faults in self._checked(listing, found).items():
            texts = tuple(worded_in(fault, layout.place) for fault in faults)
            found[name] = _fallen_back(found[name], _verdict(texts, ()), before.get(name))
        return found

    def _entry(self, one: Written, listing: Listing, older: Raw | None) -> Entry:
        """Return a host as an entry; its labels and taints are judged apart from the rest."""
        layout, allow = self._layout(listing.kind), self.reach.allowed(one)
        whole, problems = table_of_spec(one.wanted, layout, self.secret(one))
        name, own = self.namespaces.name_of(one.metadata), known_keys(HostNodeTable)
        made = {key: value for key, value in whole.items() if key not in own}
        made = self.reach.with_job(one, {**made, "name": name})
        node = {key: value for key, value in whole.items() if key in own}
        why = f"its provider is of kind {listing.kind}"
        wrong = wrong_sections(self.kinds, one.wanted, layout, why)
        box, _ = _part(made, layout.own, layout, (*wrong, *problems), allow)
        if (listing.provider, name) in self.refused and box.accepted:
            box = _not_opened(self.refused[listing.provider, name], layout)
        rest, as_node = _part(node, HostNodeTable, layout, (), allow)
        entry = Entry(
            table=made, verdict=_both(box, rest), node=cast("HostNodeTable | None", as_node)
        )
        if box.accepted:
            return entry
        return _fallen_back(entry, _both(replace(box, older=older is not None), rest), older)

    def _checked(
        self, listing: Listing, entries: Mapping[str, Entry]
    ) -> Mapping[str, tuple[Fault, ...]]:
        """Return what the kind finds wrong with entries that their types allow, by their names."""
        kind = self.kinds[listing.kind]()
        usable = {name: one.table for name, one in entries.items() if one.table is not None}
        raw = {**listing.own, listing.key: [*usable.values()]}
        (settings,) = decode_table(raw, (kind.settings,), "", Faults())
        if settings is None or not isinstance(kind, ChecksAccounts):
            return {}
        found = dict[str, tuple[Fault, ...]]()
        for text in kind.check(settings):
            path, _, expected = text.partition(": expected ")
            name = _named(path, listing.key, usable)
            if name:
                inner = path.removeprefix(f"{listing.key}.{name}").lstrip(".")
                fault = Fault(path=inner, value="", expected=expected)
                found[name] = (*found.get(name, ()), fault)
        return found

    def _layout(self, kind: str) -> Layout:
        own = host_tables(self.kinds)[kind]
        return Layout(common=HostNodeTable, section=key_in_object(kind), own=own)


def table_list(raw: object) -> tuple[Raw, ...]:
    """Return a list of tables as what it is; anything else as an empty one."""
    entries = cast("list[object]", raw) if isinstance(raw, list) else []
    return tuple(table(entry) for entry in entries if is_table(entry))


def _named(path: str, key: str, names: Iterable[str]) -> str:
    """Return the entry that a path of the whole table is about; empty where it is about none."""
    about = (n for n in names if path == f"{key}.{n}" or path.startswith(f"{key}.{n}."))
    return max(about, key=len, default="")


def _part(
    made: Raw,
    struct: type[object],
    layout: Layout,
    problems: tuple[str, ...],
    allow: AllowTable,
) -> tuple[Verdict, object | None]:
    """Judge the keys of one table of a host, and decode them."""
    faults = Faults()
    (decoded,) = decode_table(made, (struct,), "", faults)
    texts = tuple(worded_in(fault, layout.place) for fault in faults.found)
    refused = (worded_in(one, layout.place) for one in forbidden(made, (struct,), allow))
    return _verdict((*problems, *texts), tuple(refused)), decoded


def _verdict(problems: tuple[str, ...], forbidden: tuple[str, ...]) -> Verdict:
    """Return whether a host can be in force: what is not allowed is told first, and alone."""
    if forbidden:
        return Verdict(reason=Reason.NOT_ALLOWED, message="; ".join(forbidden))
    return Verdict(reason=Reason.INVALID, message="; ".join(problems)) if problems else IN_FORCE


def _not_opened(why: str, layout: Layout) -> Verdict:
    path, colon, text = why.partition(": ")
    return Verdict(reason=Reason.NOT_OPENED, message=f"{layout.place(path)}{colon}{text}")


def _both(box: Verdict, node: Verdict) -> Verdict:
    """Return what a host's object is told of its two parts together."""
    if node.accepted:
        return box
    if box.accepted:
        return replace(node, message=f"{node.message}{_REST}")
    return replace(box, message=f"{box.message}; {node.message}")


def _fallen_back(entry: Entry, verdict: Verdict, older: Raw | None) -> Entry:
    """Return a wrong entry as it was before, or without a table where it was not in force."""
    return replace(entry, table=older, verdict=replace(verdict, older=older is not None))
