"""Assembly: what a file and the objects of namespaces say together, each object judged by itself.

An object that is wrong stops no other. What was in force for it before stays in force, so that a
slip of the pen ends nothing; where nothing was, it is as if it were not there.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from hostler.config.decode import Raw, table
from hostler.config.errors import Fault
from hostler.config.load import Kinds, Reading
from hostler.config.node_tables import HostNodeTable
from hostler.config.store_url import Stores
from hostler.config.values import Config, WrongFile
from hostler.frontends.kubernetes.namespaces import Namespaces

PROVIDER, FLEET = "provider", "fleet"
NO_PROVIDER = "spec.provider: expected a Provider that is in force; there is none"


class Place(Struct, frozen=True):
    """Which table: `provider` or `fleet`, and its name as the engine has it."""

    table: str
    name: str

    @property
    def path(self) -> str:
        """Return it as faults have it."""
        return f"{self.table}.{self.name}"


class Reason(StrEnum):
    """Why an object is in force, or is not."""

    ACCEPTED = "Accepted"
    INVALID = "Invalid"
    NOT_ALLOWED = "NotAllowed"
    NAME_TAKEN = "NameTaken"
    NOT_OPENED = "NotOpened"


class Verdict(Struct, frozen=True, kw_only=True):
    """Whether the newest spec of an object is in force; if not, whether an older one is."""

    reason: Reason
    message: str = ""
    older: bool = False

    @property
    def accepted(self) -> bool:
        """Whether the spec is in force."""
        return self.reason is Reason.ACCEPTED


IN_FORCE = Verdict(reason=Reason.ACCEPTED, message="in force")


class Candidate(Struct, frozen=True, kw_only=True):
    """An object read as a table; `problems` are what is wrong with it before it is decoded.

    `forbidden` is what it says that the installation does not allow. `tell` returns where in the
    object a key of the table stands. `hosts` has the hosts of a provider, each with whether it can
    be in force: one that cannot stops no other; `nodes` what they are as Nodes.
    """

    table: Raw
    problems: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    tell: Callable[[str], str] = str
    hosts: Mapping[str, Verdict] = field(default_factory=dict[str, Verdict])
    nodes: Mapping[str, HostNodeTable] = field(default_factory=dict[str, HostNodeTable])


class Assembly(Struct, frozen=True, kw_only=True):
    """What is in force: a configuration, its tables, and what is to be written on each object."""

    config: Config
    tables: Mapping[Place, Raw]
    verdicts: Mapping[Place, Verdict]


class Assembler(Struct, kw_only=True):
    """Puts a file's tables and those of objects together; `base` is right by itself."""

    namespaces: Namespaces
    path: Path
    base: Raw
    kinds: Kinds
    stores: Stores
    force: dict[Place, Raw] = field(default_factory=dict[Place, Raw])
    verdicts: dict[Place, Verdict] = field(default_factory=dict[Place, Verdict])

    def assemble(
        self, candidates: Mapping[Place, Candidate], before: Mapping[Place, Raw]
    ) -> Assembly:
        """Return what is in force; `before` are the tables that were.

        Providers come first, for fleets are read with their providers. WrongFile where the file
        itself is wrong.
        """
        ordered = sorted(candidates, key=lambda place: (place.table != PROVIDER, place.name))
        for place in ordered:
            self._judge(place, candidates[place], before.get(place))
        config = self._together(candidates, before)
        return Assembly(config=config, tables=dict(self.force), verdicts=dict(self.verdicts))

    def refuse(self, place: Place, verdict: Verdict) -> None:
        """Judge an object beforehand: it is not in force."""
        self.verdicts[place] = verdict

    def _judge(self, place: Place, candidate: Candidate, before: Raw | None) -> None:
        if place in self.verdicts:
            faults: tuple[str, ...] = (self.verdicts[place].message,)
        elif place.name in table(self.base.get(place.table, {})):
            text = f"the file {self.path.name} has a {place.table} of this name"
            self.verdicts[place] = Verdict(reason=Reason.NAME_TAKEN, message=text)
            return
        elif candidate.forbidden:
            faults = candidate.forbidden
            self.verdicts[place] = Verdict(reason=Reason.NOT_ALLOWED)
        else:
            faults = candidate.problems or self._faults(place, candidate)
        if not faults:
            self.force[place] = candidate.table
            self.verdicts[place] = IN_FORCE
            return
        self._fall_back(place, before, "; ".join(faults))

    def _fall_back(self, place: Place, before: Raw | None, why: str) -> None:
        """Have what was in force before stay so, where it still can be."""
        earlier = self.verdicts.get(place)
        reason = earlier.reason if earlier and not earlier.accepted else Reason.INVALID
        self.force.pop(place, None)
        stays = before is not None and self._is_right(place, before)
        if stays and before is not None:
            self.force[place] = before
        self.verdicts[place] = Verdict(reason=reason, message=why, older=stays)

    def _is_right(self, place: Place, table: Raw) -> bool:
        """Tell whether a table can stay in force: hosts that left since are no fault of it."""
        reading, config = self._alone(place, table, bounded=False)
        return not reading.faults.found and config is not None and _has(config, place)

    def _faults(self, place: Place, candidate: Candidate) -> tuple[str, ...]:
        reading, config = self._alone(place, candidate.table)
        found = reading.faults.found
        if not found and config is not None and not _has(config, place):
            return (NO_PROVIDER,)
        return tuple(dict.fromkeys(worded(fault, place, candidate.tell) for fault in found))

    def _alone(
        self, place: Place, own: Raw, *, bounded: bool = True
    ) -> tuple[Reading, Config | None]:
        """Return the reading of a table with the providers of its namespace that are in force.

        Those of the file are of the home namespace.
        """
        namespace = self.namespaces.namespace_of(place.name)
        providers = {
            other: raw
            for other, raw in self.force.items()
            if other.table == PROVIDER and self.namespaces.namespace_of(other.name) == namespace
        }
        without = {FLEET, "frontend"}
        if not self.namespaces.is_home(namespace):
            without.add(PROVIDER)
        bare = {key: value for key, value in self.base.items() if key not in without}
        return self._read(bare, {**providers, place: own}, bounded=bounded)

    def _together(
        self, candidates: Mapping[Place, Candidate], before: Mapping[Place, Raw]
    ) -> Config:
        """Return all that is in force as one; what does not go together with the others goes."""
        while True:
            reading, config = self._read(_with_providers(self.base), self.force)
            if config is not None and not reading.faults.found:
                return config
            blamed = dict(self._blamed(reading.faults.found))
            place = self._newest(blamed, before)
            if self._stands(place, before):
                reading, config = self._read(_with_providers(self.base), self.force, bounded=False)
                if config is not None:
                    return config
            if place is None:
                raise WrongFile(self.path, tuple(dict.fromkeys(reading.faults.found)))
            why = _why(place, blamed, candidates)
            older = before.get(place)
            self._fall_back(place, None if older == self.force[place] else older, why)

    def _stands(self, place: Place | None, before: Mapping[Place, Raw]) -> bool:
        """Tell whether no fleet that was written anew is to give way.

        Then what asks for too many machines was right before: a provider has fewer hosts since.
        """
        return place is None or place.table != FLEET or self.force[place] == before.get(place)

    def _newest(self, blamed: Mapping[Place, Fault], before: Mapping[Place, Raw]) -> Place | None:
        """Return what is to give way: what changed, even where the fault is in what was there."""
        changed = [place for place, raw in self.force.items() if raw != before.get(place)]
        providers = {self.force[place].get(PROVIDER) for place in blamed}
        ranked = (
            [place for place in changed if place in blamed],
            [place for place in changed if self.force[place].get(PROVIDER) in providers],
            changed if blamed else [],
            list(blamed),
        )
        return next((places[-1] for places in ranked if places), None)

    def _blamed(self, faults: Sequence[Fault]) -> list[tuple[Place, Fault]]:
        return [
            (place, fault)
            for fault in faults
            for place in self.force
            if fault.path == place.path or fault.path.startswith((f"{place.path}.",))
        ]

    def _read(
        self, base: Raw, tables: Mapping[Place, Raw], *, bounded: bool = True
    ) -> tuple[Reading, Config | None]:
        raw = dict(base)
        for name in (PROVIDER, FLEET):
            own = {place.name: one for place, one in tables.items() if place.table == name}
            raw[name] = {**table(raw.get(name, {})), **own}
        reading = Reading(
            path=self.path,
            kinds=self.kinds,
            stores=self.stores,
            partial=True,
            objects=True,
            bounded=bounded,
        )
        return reading, reading.read(raw)


def _with_providers(base: Raw) -> Raw:
    """Return a file's tables with the provider of each fleet: beside objects there are others."""
    names, fleets = tuple(table(base.get(PROVIDER, {}))), table(base.get(FLEET, {}))
    if len(names) != 1:
        return base
    named = {name: {PROVIDER: names[0], **table(raw)} for name, raw in fleets.items()}
    return {**base, FLEET: named}


def _why(place: Place, blamed: Mapping[Place, Fault], candidates: Mapping[Place, Candidate]) -> str:
    """Return why an object gives way: its own fault, or that of one that was there before."""
    if place in blamed:
        return worded(blamed[place], place, candidates[place].tell)
    other, fault = next(iter(blamed.items()))
    return f"beside it {other.path} cannot be: {worded(fault, other, candidates[other].tell)}"


def _has(config: Config, place: Place) -> bool:
    """Tell whether a table came into a configuration: a fleet without a provider does not."""
    return place.table != FLEET or config.known(place.name) is not None


def worded(fault: Fault, place: Place, tell: Callable[[str], str]) -> str:
    """Return a fault in a line, with the place in the object where that is about it."""
    if not fault.path.startswith(place.path):
        return worded_in(fault, str)
    return worded_in(replace(fault, path=fault.path.removeprefix(place.path).lstrip(".")), tell)


def worded_in(fault: Fault, tell: Callable[[str], str]) -> str:
    """Return a fault in a line: where, what stands there, what should, and the cure."""
    where = tell(fault.path)
    found = f"{where} = {fault.value}" if fault.value else where
    cure = f" ({fault.hint})" if fault.hint else ""
    return f"{found}: expected {fault.expected}{cure}"
