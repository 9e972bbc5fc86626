"""Source: the configuration that a file and the objects of namespaces say, as it is now.

It is made anew when somebody writes an object, and now and then, for Secrets change too. What an
API server cannot tell for a while stays as it was.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import cast

import structlog
from msgspec import Struct

from hostler.config.decode import Raw, table
from hostler.config.digests import differing, digests
from hostler.config.node_tables import HostNodeTable
from hostler.config.structure import inventory_key
from hostler.config.values import Config
from hostler.domain.errors import ConfigError, HostlerError
from hostler.domain.ids import AccountName, HostId
from hostler.frontends.kubernetes.connecting import Connected
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.assembly import FLEET, PROVIDER, Place
from hostler.frontends.kubernetes.objects.candidates import Objects, secret_keys
from hostler.frontends.kubernetes.objects.host_entries import HostPlace, table_list
from hostler.frontends.kubernetes.objects.models import FLEETS, Written
from hostler.frontends.kubernetes.objects.secrets import (
    SecretData,
    SecretPlaces,
    read_secret_data,
)
from hostler.kubernetes.backoff import Backoff
from hostler.kubernetes.errors import ApiError
from hostler.kubernetes.objects import Key
from hostler.ports.clock import Clock

from .exchange import Verdicts, objections
from .finalized import HeldObjects
from .following import Followed
from .judging import Base, Judge, Judged, Leaves, Nodes, Opens
from .protected import stays

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.kubernetes")

GATHER = timedelta(milliseconds=200)
"""How long further changes are waited for: whoever applies a file writes several objects."""

AGAIN = timedelta(minutes=1)
"""How often Secrets are read again."""


_AFTER_FAILURES = Backoff(first=timedelta(seconds=1), longest=AGAIN)
"""How soon all is read again that could not be."""


class Surroundings(Struct, frozen=True, kw_only=True):
    """Where objects and Secrets are read, where secrets are put, and how accounts are tried.

    `leaves` tells which fleets would be taken away from what they have; `again` is how often
    Secrets are read again.
    """

    cluster: Connected
    namespaces: Namespaces
    followed: Followed
    places: SecretPlaces
    opens: Opens
    leaves: Leaves
    clock: Clock
    again: timedelta = AGAIN


class Source:
    """Has the newest configuration; `on_new` hears of each that differs from the one before.

    Where it cannot, for it raises, it hears of the newest one later.
    """

    def __init__(self, base: Base, surroundings: Surroundings) -> None:
        self._cluster, self._followed = surroundings.cluster, surroundings.followed
        self.namespaces = surroundings.namespaces
        self._places = surroundings.places
        self._clock, self._again = surroundings.clock, surroundings.again
        self._held = HeldObjects(self._followed, self.namespaces)
        self._judge = Judge(
            base=base,
            namespaces=self.namespaces,
            places=self._places,
            opens=surroundings.opens,
            leaves=surroundings.leaves,
        )
        self._judged: Judged | None = None
        self._run: Mapping[Place, Raw] = {}
        self._heard: Mapping[str, str] | None = None
        self._secrets: Mapping[str, SecretData] = {}
        self._making = asyncio.Lock()
        self.on_new: Callable[[], Awaitable[None]] = _nobody

    @property
    def judged(self) -> Judged:
        """Return what is in force; RuntimeError before `first`."""
        if self._judged is None:
            raise RuntimeError("nothing was read yet")
        return self._judged

    def config(self) -> Config:
        """Return the configuration in force."""
        return self.judged.assembly.config

    async def first(
        self, before: Mapping[Place, Raw], recorded: Collection[HostPlace] = ()
    ) -> Config:
        """Wait until everything was read once; `before` are tables that were in force earlier.

        `recorded` are the hosts that were.
        """
        self._judge.before, self._judge.recorded = dict(before), recorded
        await self._followed.synced()
        self._run = self._of_deleted(before)
        await self._make()
        return self.config()

    async def again(self, before: Mapping[Place, Raw], recorded: Collection[HostPlace]) -> None:
        """Begin again, as with `first`, for another process ran these meanwhile.

        No provider is as it was here, for that may lack hosts which the other one took. What is
        otherwise by now `on_new` has heard of when this returns.
        """
        async with self._making:
            stood = self._judge.before.items()
            fleets = {place: one for place, one in stood if place.table == FLEET}
            self._judge.before, self._judge.recorded = {**fleets, **before}, recorded
            self._run = self._of_deleted(before)
            self._held = HeldObjects(self._followed, self.namespaces)
        await self._make()

    def note_run(self, tables: Mapping[Place, Raw]) -> None:
        """Note what engines run of the fleets whose objects were deleted: some stay in force."""
        if tables != self._run:
            self._run = tables
            self._followed.changed.set()

    async def run(self) -> None:
        """Follow the objects for ever, after `first`; what cannot be read stays as it was.

        It is read again soon, for what was written meanwhile is in force nowhere yet.
        """
        failures = 0
        while True:
            await self._wait(_AFTER_FAILURES.pause(failures) if failures else self._again)
            try:
                await self._make()
            except HostlerError as error:
                failures += 1
                log.warning("kubernetes.not_read", error=str(error))
            else:
                failures = 0

    async def _wait(self, longest: timedelta) -> None:
        """Wait until somebody writes an object, or as long as this."""
        try:
            async with asyncio.timeout(longest.total_seconds()):
                await self._followed.changed.wait()
        except TimeoutError:
            return
        await self._clock.sleep(GATHER)

    async def _make(self) -> None:
        async with self._making:
            self._followed.changed.clear()
            objects = await self._objects()
            self._judged = await self._judge.judged(objects, self._nodes())
        for place, verdict in self._judged.assembly.verdicts.items():
            if not verdict.accepted:
                log.warning("kubernetes.refused", object=place.path, why=verdict.message)
        heard, now = self._heard, digests(self.config())
        if heard is not None and differing(heard, now):
            await self.on_new()
        self._heard = now

    def tell_again(self) -> None:
        """Have `on_new` hear of what is in force once more: it could not be run."""
        self._heard = {}

    async def take(self, base: Base) -> Callable[[], None]:
        """Have another file beside the objects; return what undoes that.

        ConfigError names what the file would take from an object that is in force, WrongFile what
        is wrong with it: then all is as it was.
        """
        async with self._making:
            objects = await self._objects()
            stood = self._judged = await self._judge.judged(objects, self._nodes())
            undo, self._judge.base = self._undoing(), base
            try:
                self._judged = await self._judge.judged(objects, self._nodes())
                found = objections(_verdicts(stood), _verdicts(self._judged), self.namespaces)
                if texts := tuple(found):
                    raise ConfigError("; ".join(texts))
            except HostlerError:
                undo()
                raise
        return undo

    def _undoing(self) -> Callable[[], None]:
        """Return what makes all be as it is now; objects that changed meanwhile are read again."""
        judge, judged = self._judge, self._judged
        base, before = judge.base, judge.before

        def undo() -> None:
            judge.base, judge.before, self._judged = base, before, judged
            self._followed.changed.set()

        return undo

    async def forget_secrets(self, run: Config) -> None:
        """Remove what was put into files of Secrets that are others by now.

        Where what is `run` is not what is in force any more, it still needs them: then whoever runs
        the next removes them.
        """
        async with self._making:
            if digests(self.config()).items() <= digests(run).items():
                self._places.forget(frozenset(_texts(self.judged.assembly.tables)))

    def paths(self) -> tuple[str, ...]:
        """Return the paths of the tables in force that are objects."""
        return tuple(place.path for place in self.judged.assembly.tables)

    async def _objects(self) -> Objects:
        """Read what may be in force, and the Secrets that it names."""
        held = self._held.now(self._judge.before, self._judge.recorded)
        fleets = tuple(one for one in held.fleets if not one.ends or self._stays(one))
        keys = sorted(secret_keys((*held.providers, *fleets, *held.hosts)))
        places = {key: self.namespaces.name(key.namespace, key.name) for key in keys}
        self._secrets = {place: await self._secret(key, place) for key, place in places.items()}
        self._held.take(held)
        return Objects(
            providers=held.providers, fleets=fleets, hosts=held.hosts, secrets=self._secrets
        )

    def _stays(self, one: Written) -> bool:
        """Tell whether a deleted Fleet is in force still, as one that no engine has noted yet is.

        Nobody notes what is run while another process leads, and for a moment after a start.
        """
        place = Place(FLEET, self.namespaces.name_of(one.metadata))
        return stays(one, self._run.get(place, self._judge.before.get(place)))

    def _of_deleted(self, tables: Mapping[Place, Raw]) -> Mapping[Place, Raw]:
        """Return the tables of the fleets whose objects were deleted."""
        deleted = (one for one in self._followed.of(FLEETS.kind) if one.ends)
        places = {Place(FLEET, self.namespaces.name_of(one.metadata)) for one in deleted}
        return {place: raw for place, raw in tables.items() if place in places}

    async def _secret(self, key: Key, place: str) -> SecretData:
        """Read a Secret; one about which the server breaks stays as it was, and stops no other.

        Such is one that it cannot decrypt any more.
        """
        try:
            return await read_secret_data(self._cluster.client, key, place)
        except ApiError as error:
            if error.of_all:
                raise
            log.warning("kubernetes.secret_not_read", secret=str(key), error=str(error))
            why = f"the Secret {key.name} cannot be read: {error}"
            unread = SecretData(name=key.name, place=place, problem=why)
            return self._secrets.get(place, unread)

    def lists(self) -> Mapping[str, frozenset[str]]:
        """Return the names of the hosts in force, of each provider that has a list of them."""
        kinds, found = self._judge.base.kinds, dict[str, frozenset[str]]()
        for place, raw in self.judged.assembly.tables.items():
            if place.table == PROVIDER:
                settings = kinds[str(raw.get("kind", place.name))]().settings
                if listed := inventory_key(settings):
                    entries = table_list(raw.get(listed))
                    found[place.name] = frozenset(str(one.get("name")) for one in entries)
        return found

    def lent(self) -> frozenset[str]:
        """Return the fleets of the file of which objects of all namespaces may ask for machines."""
        base = self._judge.base
        return frozenset(base.allow.fleets).intersection(table(base.raw.get("fleet", {})))

    def node_of(self, account: AccountName, host: HostId) -> HostNodeTable | None:
        """Return what the object of a host says of its Node; None without one."""
        return self._nodes().get((str(account), str(host)))

    def _nodes(self) -> Nodes:
        """Return what hosts are as Nodes; nothing before anything was judged."""
        return self._judged.nodes if self._judged is not None else {}


def _verdicts(judged: Judged) -> Verdicts:
    assembly = judged.assembly
    return Verdicts(tables=assembly.tables, verdicts=assembly.verdicts, hosts=judged.hosts)


def _texts(value: object) -> Iterator[str]:
    """Yield all texts in a table."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in cast("Mapping[object, object]", value).values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in cast("Iterable[object]", value):
            yield from _texts(one)


async def _nobody() -> None:
    """Hear nothing."""
