"""Learn: the runner's schema found, mapped, compared with its pin, and ready to be served.

The entry point of this room. Whatever goes wrong becomes the text that Init is answered with.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from hostler.domain.errors import ConfigError
from hostler.frontends.fleeting.config.state import base_of
from hostler.frontends.fleeting.contract import Group, Method, State

from .advice import look, refusal, to_paste
from .binary.processes import Processes, ProcFolder
from .cache import CachedSchema, read_cache, write_cache
from .candidates import Found, NoSchema, from_set
from .codec.bind import bind, refusing
from .locations import RUNNER, VARIABLE, Nowhere, chosen, discovered
from .mapping.mapping import ServiceMap, below_exact, map_service
from .mapping.override import NAMED_BY, NOTHING, Override, read_override
from .pin import Pin, compare, read_pin

Now = Callable[[], datetime]


class Learning(Struct, frozen=True, kw_only=True):
    """What learning is given.

    `choice` is the operator's file, "" for none; `search` is the search path; `override`, `pin` and
    `cache` are files that may or may not exist, None for not looking, but those in `named` must;
    `now` tells the time.
    """

    processes: Processes
    now: Now
    choice: str = ""
    search: str | None = None
    override: Path | None = None
    pin: Path | None = None
    cache: Path | None = None
    named: tuple[Path, ...] = ()


class Line(Struct, frozen=True, kw_only=True):
    """One line for the log."""

    level: str
    text: str


def _nothing_to_keep() -> None:
    """Do nothing: there is no place for it, or it is kept already."""


class Learnt(Struct, frozen=True, kw_only=True):
    """What was learnt: the services by name, why one or all are refused, and lines for the log.

    `refusal` is not empty where nothing may be served: it is what Init is to be answered, and
    `proposed` the lines for a schema of which no service is complete. `begun` is called when Init
    was answered: what served is kept then.
    """

    services: tuple[ServiceMap, ...] = ()
    refusals: Mapping[str, str] = field(default_factory=dict[str, str])
    refusal: str = ""
    origin: str = ""
    build_id: str = ""
    proposed: tuple[str, ...] = ()
    log: tuple[Line, ...] = ()
    begun: Callable[[], None] = _nothing_to_keep

    @property
    def served(self) -> tuple[ServiceMap, ...]:
        """The services that are served."""
        return tuple(one for one in self.services if one.name not in self.refusals)

    @property
    def states(self) -> frozenset[State]:
        """The states that the likeliest service offers; Init tells the group its own."""
        return self.served[0].offered if self.served else frozenset()

    def methods(self, group: Group) -> tuple[Method, ...]:
        """Return what the server is given: a whole service on the group, any other refusing."""
        return tuple(method for one in self.services for method in self._methods(one, group))

    def _methods(self, one: ServiceMap, group: Group) -> tuple[Method, ...]:
        if reason := self.refusals.get(one.name):
            return refusing(one.service, reason)
        return bind(one, group, lambda _: self.begun())


def learn(learning: Learning) -> Learnt:
    """Return what can be learnt; never raises for what a machine or an operator may do wrong."""
    try:
        rules = _rules(learning)
    except ConfigError as error:
        return _nothing(str(error))
    if learning.choice:
        place = chosen(Path(learning.choice), rules.override)
    else:
        place = discovered(learning.processes, learning.search, rules.override)
    if isinstance(place, Nowhere):
        return _worse(learning, place, rules)
    warnings = (place.candidate.warning,) if place.candidate.warning else ()
    origin = f"{place.candidate.description} ({place.found.how})"
    path = str(place.candidate.path)
    basis = _Basis(found=place.found, origin=origin, path=path, warnings=warnings, fresh=True)
    return _learnt(learning, basis, rules)


def relearn(learning: Learning, cached: CachedSchema) -> Learnt:
    """Return what can be learnt of a schema that was kept; no pin counts."""
    try:
        rules = _rules(replace(learning, pin=None))
    except ConfigError as error:
        return _nothing(str(error))
    return _again(learning, cached, (), rules)


class _Rules(Struct, frozen=True, kw_only=True):
    """What the operator's files say."""

    override: Override
    pin: Pin | None


class _Basis(Struct, frozen=True, kw_only=True):
    """A schema that was found; `fresh`: in a file of today, so that it may be kept."""

    found: Found
    origin: str
    path: str
    warnings: tuple[str, ...]
    fresh: bool


def _rules(learning: Learning) -> _Rules:
    """Return what the operator's files say; a file that was named must be there."""
    missing = [str(path) for path in learning.named if not path.is_file()]
    if missing:
        raise ConfigError(f"named by the operator, but no file: {', '.join(missing)}")
    return _Rules(
        override=read_override(learning.override) if learning.override else NOTHING,
        pin=read_pin(learning.pin) if learning.pin else None,
    )


def _worse(learning: Learning, place: Nowhere, rules: _Rules) -> Learnt:
    """Return the schema of the last success where no runner can be read, or the whole refusal."""
    path = learning.cache if place.unreadable and not learning.choice else None
    cached = read_cache(path) if path is not None else None
    if cached is None:
        return replace(
            _nothing(_nowhere(place.reasons, learning, place.lines)), proposed=place.lines
        )
    return _again(learning, cached, place.reasons, rules)


def _again(
    learning: Learning, cached: CachedSchema, reasons: Sequence[str], rules: _Rules
) -> Learnt:
    """Return a cached schema as learnt, with its age."""
    try:
        found = from_set(cached.files, rules.override)
    except NoSchema as error:
        reason = f"the cached schema: {error}"
        return replace(
            _nothing(_nowhere((*reasons, reason), learning, error.lines)), proposed=error.lines
        )
    age = timedelta(seconds=int(cached.age(learning.now()).total_seconds()))
    origin = f"the schema cached {age} ago from {cached.origin}"
    warnings = (f"no runner could be read; using {origin}", *reasons) if reasons else ()
    basis = _Basis(found=found, origin=origin, path=RUNNER, warnings=warnings, fresh=False)
    return _learnt(learning, basis, rules)


def _nowhere(reasons: Sequence[str], learning: Learning, lines: Sequence[str]) -> str:
    """Return why there is no schema at all, and the lines that would make one of what is there."""
    cure = (
        f"Where a file is named (by {VARIABLE}, or on the command line) nothing else is tried."
        if learning.choice
        else f"Set {VARIABLE} to the path of the gitlab-runner executable that starts this plugin."
    )
    head = "hostler found no fleeting schema, so that it cannot answer the runner:"
    listed = tuple(f"  - {reason}" for reason in reasons) or ("  - there was nowhere to look",)
    report = "\n".join((head, *listed, cure, look(learning.choice or RUNNER)))
    return f"{report}\n\n{to_paste(_override_file(learning), lines)}" if lines else report


def _nothing(reason: str) -> Learnt:
    return Learnt(refusal=reason, log=(Line(level="error", text=reason),))


def _learnt(learning: Learning, basis: _Basis, rules: _Rules) -> Learnt:
    """Return everything about a schema that was found."""
    services = tuple(map_service(one, rules.override) for one in basis.found.services)
    several = len(services) > 1
    refusals = dict[str, str]()
    lines = [Line(level="info", text=f"the schema was learnt from {basis.origin}")]
    lines += [Line(level="warning", text=text) for text in basis.warnings]
    lines += [Line(level="info", text=note) for note in basis.found.notes]
    for one in services:
        reason, more = _judged(one, rules.pin, learning)
        if not one.whole:
            file = _override_file(learning)
            reason = refusal(one, file, several=several, origin=basis.path)
        lines += more
        if reason:
            refusals[one.name] = reason
            lines.append(Line(level="error", text=reason))
    served = len(refusals) < len(services)
    return Learnt(
        services=services,
        refusals=refusals,
        refusal="" if served else "\n\n".join(refusals.values()),
        origin=basis.origin,
        build_id=basis.found.build_id,
        log=tuple(lines),
        begun=_keeper(learning, basis),
    )


def _override_file(learning: Learning) -> str:
    return str(learning.override) if learning.override else f"a file that {NAMED_BY} names"


def _judged(one: ServiceMap, pin: Pin | None, learning: Learning) -> tuple[str, list[Line]]:
    """Return why a service differs from its pin, or an empty text, with lines for the log."""
    if not one.whole:
        return "", []
    lines = [Line(level="info", text=f"serving {one.name}"), *_lines_of(one)]
    if pin is None:
        return "", lines
    difference = compare(pin, one)
    lines += [Line(level="info", text=f"since it was pinned: {note}") for note in difference.added]
    if not difference.changed:
        return "", lines
    head = f"hostler does not serve {one.name}: the runner's schema is not as it was pinned."
    cure = (
        f"If the runner was changed on purpose, look at it with `hostler fleeting inspect`, then "
        f"pin it anew with `hostler fleeting pin`, or remove {learning.pin}."
    )
    return "\n".join((head, *(f"  - {change}" for change in difference.changed), cure)), []


def _lines_of(one: ServiceMap) -> Iterator[Line]:
    """Go through what is less than sure, and what is left alone."""
    for text in below_exact(one):
        yield Line(level="warning", text=text)
    for call in one.calls.values():
        for side, others in call.extra.items():
            if others:
                names = ", ".join(leaf.name for leaf in others)
                yield Line(level="info", text=f"{call.name}.{side}: not used: {names}")
    if one.service.others:
        yield Line(level="info", text=f"methods not used: {', '.join(one.service.others)}")


def _keeper(learning: Learning, basis: _Basis) -> Callable[[], None]:
    """Return what keeps this schema once it has served; that it cannot be kept is no trouble."""
    path = learning.cache
    if path is None or not basis.fresh:
        return _nothing_to_keep

    def store() -> None:
        schema = CachedSchema(
            origin=basis.origin,
            build_id=basis.found.build_id,
            at=learning.now(),
            files=basis.found.descriptor_set,
        )
        with suppress(OSError):
            write_cache(path, schema)

    return store


PIN = "HOSTLER_FLEETING_PIN"
FOLDER = "schema"
_FILES = {"override": "schema.toml", "pin": "pin.json", "cache": "cache"}


def usual(environment: Mapping[str, str], *, pid: int, root: bool, now: Now) -> Learning:
    """Return what learning is given in the process `pid`; `root`: whether it runs as root."""
    base = base_of(None, environment, root=root)
    places = {key: base / FOLDER / name for key, name in _FILES.items()} if base else {}
    variables = {"override": environment.get(NAMED_BY, ""), "pin": environment.get(PIN, "")}
    named = {key: Path(value) for key, value in variables.items() if value}
    files = {**places, **named}
    return Learning(
        processes=ProcFolder(pid),
        now=now,
        choice=environment.get(VARIABLE, ""),
        search=environment.get("PATH"),
        override=files.get("override"),
        pin=files.get("pin"),
        cache=files.get("cache"),
        named=tuple(named.values()),
    )
