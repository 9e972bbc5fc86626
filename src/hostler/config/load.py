"""Load: read a fleet file, decode it, check what one key says against another."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import cast

from msgspec import Struct, structs
from msgspec.structs import replace

from hostler.controllers.runtime.settings import Settings
from hostler.domain.ids import AccountName, FleetName
from hostler.domain.model.fleet import Caps, Fleet, Probe, Timers, Workload
from hostler.ports.kind import (
    Asked,
    Blueprint,
    Bounded,
    ChecksAccounts,
    ChecksPieces,
    Kind,
    NamesHosts,
    Times,
    Warns,
)
from hostler.ports.loopback import is_loopback

from . import laws
from .decode import Raw, check_pieces, decode_table, is_table, known_keys, table
from .definition import definition_of
from .errors import Fault, Faults, did_you_mean, join
from .frontends import check_node, external_grpc, listen_of
from .node_tables import NodeTable
from .source import read_toml
from .store_url import Stores, StoreUrl, store_url
from .structure import inventory_key
from .tables import EngineTable, FleetTable, MetricsTable, ProviderTable, ReadyTable, TopTable
from .units import format_duration
from .values import AccountConfig, Config, Listen, WrongFile

_SHORTEST_MEMORY, _LONGEST_MEMORY = timedelta(days=1), timedelta(days=36_500)
TABLES = ("provider", "fleet", "engine", "metrics", "frontend")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?", re.ASCII)
_NAMESPACE = r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?_)?"
_WITH_NAMESPACE = re.compile(_NAMESPACE + _NAME.pattern, re.ASCII)
_LONGEST_NAME = 63
A_NAME = "a name of at most 40 lower-case letters, digits and inner dashes (it is put into tags)"

A_SHORT_NAME = "a name that has, together with its namespace's, at most 62 characters (tags)"

Kinds = Mapping[str, Callable[[], Kind]]
"""The kinds of provider by name; each is imported when it is asked for."""


def load(path: Path, kinds: Kinds, stores: Stores, *, partial: bool = False) -> Config:
    """Return what the file says. Raises ConfigError; WrongFile has every fault in the file."""
    raw = read_toml(path)
    reading = Reading(path=path, kinds=kinds, stores=stores, partial=partial)
    config = reading.read(raw)
    if config is None or reading.faults.found:
        raise WrongFile(path, _in_order(reading.faults))
    return config


def _in_order(faults: Faults) -> tuple[Fault, ...]:
    return tuple(dict.fromkeys(faults.found))


class Bought(Struct, frozen=True, kw_only=True):
    """Where a fleet is bought, as far as it could be read."""

    kind: Kind | None = None
    account: AccountConfig | None = None


@dataclass(slots=True, kw_only=True)
class Reading:
    """One reading of one file, gathering faults; `partial` where accounts and fleets may lack.

    `objects` may be among its tables, with the namespace before their names. Unless it is
    `bounded`, fleets may ask for more machines than their provider has.
    `reclaims` is what the file says of fleets that do not say whether they reclaim orphans.
    """

    path: Path
    kinds: Kinds
    stores: Stores
    faults: Faults = field(default_factory=Faults)
    warnings: list[str] = field(default_factory=list[str])
    nodes: dict[FleetName, NodeTable] = field(default_factory=dict[FleetName, NodeTable])
    partial: bool = False
    objects: bool = False
    bounded: bool = True
    reclaims: bool = False

    def read(self, raw: Raw) -> Config | None:
        """Return the file's values, or None where too much of it is wrong to go on."""
        top = self._top(raw)
        self.reclaims = top is not None and top.reclaim
        accounts = self._accounts(raw.get("provider", {}))
        fleets = self._fleets(raw.get("fleet", {}), accounts)
        settings, metrics = self._engine(raw), self._metrics(raw)
        self._check_accounts(accounts, fleets)
        if not self.objects:  # there it would stop a whole rack for the name of one host
            self._check_host_names(accounts)
        self._check_calls(settings, accounts)
        grpc = external_grpc(
            raw.get("frontend", {}), (fleet for fleet, _ in fleets), self.nodes, self.faults
        )
        store = self._store(top)
        if self.faults.found or store is None:
            return None
        return Config(
            path=self.path,
            store=store,
            accounts=tuple(b.account for b in accounts.values() if b.account is not None),
            fleets=tuple(fleet for fleet, _ in fleets),
            templates={fleet.name: template for fleet, template in fleets},
            settings=settings,
            metrics=metrics,
            externalgrpc=grpc,
            nodes=dict(self.nodes),
            warnings=tuple(self.warnings),
            reclaims=self.reclaims,
        )

    def _top(self, raw: Raw) -> TopTable | None:
        own = {key: value for key, value in raw.items() if key not in TABLES}
        (top,) = decode_table(own, (TopTable,), "", self.faults, also=TABLES)
        return cast("TopTable | None", top)

    def _store(self, top: TopTable | None) -> StoreUrl | None:
        named = top.store if top is not None else None
        text = named or f"sqlite:{self.path.stem}.db"
        return store_url(text, self._folder, self.stores, self.faults)

    @property
    def _folder(self) -> Path:
        """Where relative paths begin: the same however the file is named, and from wherever."""
        return self.path.parent.resolve()

    def _tables(self, raw: object, path: str) -> Raw:
        """Return named tables whose names are fit to be used."""
        if not is_table(raw):
            self.faults.add(path, raw, f"tables such as [{path}.NAME]")
        for name in table(raw):
            if not (_WITH_NAMESPACE if self.objects else _NAME).fullmatch(name):
                self.faults.add(join(path, name), None, A_NAME)
            elif len(name) > _LONGEST_NAME:
                self.faults.add(join(path, name), None, A_SHORT_NAME)
        if is_table(raw) and not table(raw) and not self.partial:
            self.faults.add(path, None, f"at least one table [{path}.NAME]; there is none")
        return table(raw)

    def _accounts(self, raw: object) -> dict[str, Bought]:
        tables = self._tables(raw, "provider")
        return {name: self._account(name, entry) for name, entry in tables.items()}

    def _account(self, name: str, raw: object) -> Bought:
        path = join("provider", name)
        if not is_table(raw):
            self.faults.add(path, raw, "a table")
            return Bought()
        word = table(raw).get("kind", name)
        kind = self._kind(word, path, named="kind" in table(raw))
        if kind is None:
            return Bought()
        common, own = decode_table(raw, (ProviderTable, kind.settings), path, self.faults)
        if own is None and isinstance(kind, ChecksPieces):
            check_pieces(kind.pieces(table(raw)), path, self.faults)
        listed = inventory_key(kind.settings)
        if listed and not self.objects and table(raw).get(listed) == []:
            self.faults.add(join(path, listed), None, "at least one entry; it is empty")
            return Bought(kind=kind)
        if common is None or own is None:
            return Bought(kind=kind)
        common = cast("ProviderTable", common)
        account = AccountConfig(
            name=AccountName(name),
            kind=str(word),
            rate=common.rate,
            burst=common.burst,
            settings=own,
        )
        return Bought(kind=kind, account=account)

    def _kind(self, word: object, path: str, *, named: bool) -> Kind | None:
        found = self.kinds.get(word) if isinstance(word, str) else None
        if found is not None:
            return found()
        known = sorted(self.kinds)
        near = did_you_mean(word, known) if isinstance(word, str) else ""
        expected = f"one of {', '.join(known)}"
        if not named:
            expected += " (the table's name is the kind where `kind` is left out)"
        self.faults.add(join(path, "kind"), word, expected, near)
        return None

    def _fleets(self, raw: object, accounts: Mapping[str, Bought]) -> list[tuple[Fleet, object]]:
        tables = self._tables(raw, "fleet")
        read = (self.fleet(name, entry, accounts) for name, entry in tables.items())
        return [entry for entry in read if entry is not None]

    def fleet(
        self, name: str, raw: object, accounts: Mapping[str, Bought]
    ) -> tuple[Fleet, object] | None:
        """Return a fleet and its template by its table; None where that is wrong, with faults."""
        path = join("fleet", name)
        if not is_table(raw):
            self.faults.add(path, raw, "a table")
            return None
        bought = self._bought(table(raw), path, accounts)
        asked, own = self._halves(raw, bought.kind, path)
        blueprint = self._blueprint(bought, own, path)
        if asked is None:
            return None
        made = blueprint or Blueprint(offers=(), digest="")
        account = AccountName("") if bought.account is None else bought.account.name
        fleet = _fleet(FleetName(name), account, asked, made, self._folder)
        fleet = replace(
            fleet,
            timers=_timers(asked, made, table(raw).get("timers")),
            reclaim=self.reclaims if asked.reclaim is None else asked.reclaim,
            definition=definition_of(table(raw), account),
        )
        laws.apply(laws.FLEET, fleet, path, self.faults)
        if asked.node is not None:
            self.nodes[fleet.name] = asked.node
            check_node(asked.node, path, self.faults)
        if bought.account is None or blueprint is None:
            return None
        self._check_bought(bought.kind, bought.account, (fleet, own), path)
        return fleet, own

    def _check_bought(
        self, kind: Kind | None, account: AccountConfig, made: tuple[Fleet, object], path: str
    ) -> None:
        """Note what a fleet asks for beside what its account can do."""
        fleet, own = made
        if self.bounded and isinstance(kind, Bounded):
            for fault in kind.check_places(account.settings, own):
                key, _, expected = fault.partition(": expected ")
                self.faults.note(f"{path}.{key}", expected)
        if isinstance(kind, Warns):
            warnings = kind.warnings(account.settings, own)
            self.warnings += (f"{path}.{warning}" for warning in warnings)
        if isinstance(kind, Times):
            timed = laws.Timed(of=fleet, timing=kind.timing(account.settings))
            laws.apply(laws.FLEET_AND_CALLS, timed, path, self.faults)

    def _halves(
        self, raw: object, kind: Kind | None, path: str
    ) -> tuple[FleetTable | None, object | None]:
        """Return the common half of a fleet's table and the kind's own; None where wrong."""
        if kind is None:
            known = known_keys(FleetTable)
            common = {key: value for key, value in table(raw).items() if key in known}
            (asked,) = decode_table(common, (FleetTable,), path, self.faults)
            return cast("FleetTable | None", asked), None
        asked, own = decode_table(raw, (FleetTable, kind.template), path, self.faults)
        return cast("FleetTable | None", asked), own

    def _bought(self, raw: Raw, path: str, accounts: Mapping[str, Bought]) -> Bought:
        """Return where a fleet is bought: what it names, or the only one; else a fault is noted."""
        named = raw.get("provider")
        if named is None and len(accounts) == 1:
            return next(iter(accounts.values()))
        if isinstance(named, str) and named in accounts:
            return accounts[named]
        if accounts:
            expected = f"one of the providers: {', '.join(accounts)}"
            near = did_you_mean(named, accounts) if isinstance(named, str) else ""
            self.faults.add(join(path, "provider"), named, expected, near)
        return Bought()

    def _blueprint(self, bought: Bought, template: object | None, path: str) -> Blueprint | None:
        kind, account = bought.kind, bought.account
        if kind is None or account is None or template is None:
            return None
        try:
            return kind.blueprint(account.settings, template, self._folder)
        except ValueError as error:
            key, _, expected = str(error).rpartition(": expected ")
            self.faults.note(f"{path}.{key}" if key else path, expected)
            return None

    def _check_accounts(
        self, accounts: Mapping[str, Bought], fleets: Sequence[tuple[Fleet, object]]
    ) -> None:
        """Note what an account's table, and the sizes of its fleets together, cannot be."""
        for name, bought in accounts.items():
            kind, account = bought.kind, bought.account
            if kind is None or account is None:
                continue
            path = join("provider", name)
            if isinstance(kind, ChecksAccounts):
                for fault in kind.check(account.settings):
                    key, _, expected = fault.partition(": expected ")
                    self.faults.note(f"{path}.{key}", expected)
                warnings = kind.warnings_of(account.settings)
                self.warnings += (f"{path}.{warning}" for warning in warnings)
            if self.bounded and isinstance(kind, Bounded):
                asked = {
                    fleet.name: Asked(template=template, machines=laws.needed(fleet))
                    for fleet, template in fleets
                    if fleet.account == account.name
                }
                for fleet, expected in kind.check_sizes(account.settings, asked).items():
                    self.faults.note(f"{join('fleet', fleet)}.size", expected)

    def _check_host_names(self, accounts: Mapping[str, Bought]) -> None:
        """Note hosts of two accounts that have one name: records tell them apart by that alone."""
        known = dict[str, str]()
        for name, bought in accounts.items():
            kind, account = bought.kind, bought.account
            if account is None or not isinstance(kind, NamesHosts):
                continue
            for host in dict.fromkeys(kind.host_names(account.settings)):
                first = known.setdefault(host, name)
                if first != name:
                    expected = f"another name for {host}: a host of provider.{first} has it"
                    self.faults.note(join("provider", name), expected)

    def _check_calls(self, settings: Settings, accounts: Mapping[str, Bought]) -> None:
        """Note where the engine's leases are too short for an account's calls."""
        timings = [
            bought.kind.timing(bought.account.settings)
            for bought in accounts.values()
            if isinstance(bought.kind, Times) and bought.account is not None
        ]
        for timing in sorted(timings, key=lambda timing: timing.deadline)[-1:]:
            timed = laws.Timed(of=settings, timing=timing)
            laws.apply(laws.ENGINE_AND_CALLS, timed, "engine", self.faults)

    def _engine(self, raw: Raw) -> Settings:
        (decoded,) = decode_table(raw.get("engine", {}), (EngineTable,), "engine", self.faults)
        asked = cast("EngineTable", decoded) if decoded is not None else EngineTable()
        if not _SHORTEST_MEMORY <= asked.remember <= _LONGEST_MEMORY:
            span = f"{format_duration(_SHORTEST_MEMORY)} to {format_duration(_LONGEST_MEMORY)}"
            self.faults.add("engine.remember", format_duration(asked.remember), span)
        settings = Settings(**structs.asdict(asked))
        laws.apply(laws.ENGINE, settings, "engine", self.faults)
        return settings

    def _metrics(self, raw: Raw) -> Listen | None:
        if "metrics" not in raw:
            return None
        (decoded,) = decode_table(raw["metrics"], (MetricsTable,), "metrics", self.faults)
        if decoded is None:
            return None
        asked = cast("MetricsTable", decoded)
        listen = listen_of(asked.listen, "metrics.listen", self.faults)
        if not is_loopback(listen.host):
            self.warnings.append(
                "metrics.listen: everybody who reaches this computer reads them: no password is "
                "asked for; 127.0.0.1 keeps them to itself"
            )
        return listen


def _fleet(
    name: FleetName, account: AccountName, asked: FleetTable, made: Blueprint, folder: Path
) -> Fleet:
    return Fleet(
        name=name,
        account=account,
        size=asked.size,
        offers=made.offers,
        template=made.digest,
        maximum=asked.maximum,
        surge=asked.surge,
        reclaim=bool(asked.reclaim),
        replace_outdated=asked.replace_outdated,
        protected=asked.protected,
        renews=asked.renews,
        on_remove=asked.on_remove,
        probe=_probe(asked.ready, folder),
        workload=_workload(asked.node),
        caps=Caps(**structs.asdict(asked.caps)),
    )


def _timers(asked: FleetTable, made: Blueprint, raw: object) -> Timers:
    """Return the file's timers; what it does not set is as the kind's machines are like."""
    timers = Timers(**structs.asdict(asked.timers))
    usual = {
        name: time
        for name, time in made.timers.items()
        if not (is_table(raw) and name in table(raw))
    }
    return replace(timers, **usual)


def _workload(node: NodeTable | None) -> Workload | None:
    """Return whether the machines' cluster is asked before they end."""
    if node is None or node.managed is None:
        return None
    return Workload(waits=node.managed.at_bound == "wait")


def _probe(ready: ReadyTable | None, folder: Path) -> Probe:
    """Return the probe; what is left out is as the machine has it."""
    if ready is None:
        return Probe()
    fields = {key: value for key, value in structs.asdict(ready).items() if value is not None}
    if ready.key is not None:
        fields["key"] = str(folder / Path(ready.key).expanduser())
    return Probe(kind=fields.pop("probe"), **fields)
