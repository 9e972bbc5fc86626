"""Reading: the objects that an engine runs, as whoever reads or asks beside it finds them.

They are judged as the engine judges them, once. Secrets that they name are read where they may be,
for commands that ask a provider; one that may not be read keeps nothing from being shown.
"""

import asyncio
import random
import secrets
from collections.abc import Mapping, MutableMapping
from datetime import timedelta
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hostler.app.addresses import is_address
from hostler.app.lending import Own, own_in
from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES
from hostler.config.values import Config
from hostler.domain.errors import ConfigError, HostlerError
from hostler.frontends.cli.context import ClusterOptions, Services
from hostler.frontends.kubernetes.connecting import Connected, Target, connected
from hostler.frontends.kubernetes.fleets.earlier import earlier_tables, recorded_places
from hostler.frontends.kubernetes.fleets.following import Followed
from hostler.frontends.kubernetes.fleets.judging import Base
from hostler.frontends.kubernetes.fleets.source import Source, Surroundings
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.secrets import SecretPlaces
from hostler.kubernetes.informer import Surroundings as Following
from hostler.ports.engine_record import EngineRecord
from hostler.ports.store import Store
from hostler.stores.kubernetes.opening import ClusterPlace

from .beside import base_of_file
from .judging import leaver, readable

_PATIENCE = timedelta(seconds=20)
"""How long somebody waits for objects that could be listed just before."""


class Reader(Struct, frozen=True, kw_only=True):
    """Who reads: adapters that find `variables` too, and a folder of its own for Secrets."""

    services: Services
    store: Store
    environment: Mapping[str, str]
    variables: MutableMapping[str, str]
    folder: Path

    @property
    def places(self) -> SecretPlaces:
        """Return where what objects name of Secrets is put."""
        return SecretPlaces(self.folder, self.variables, secrets.token_bytes(32), unread=True)


class Objects(Struct, frozen=True, kw_only=True):
    """A file's values with those of the objects; `own` is what stands in the file itself.

    `cluster` is where they are, and Nodes too; `places` has the words for variables and files that
    came of Secrets.
    """

    config: Config
    own: Own
    cluster: ClusterOptions
    places: SecretPlaces


async def read_objects(config: Config, record: EngineRecord | None, reader: Reader) -> Objects:
    """Return what a file's values and the objects say that its engine runs, by its record.

    Where the objects cannot be read, the values say why. Raises HostlerError where there is no file
    beside them, so that nothing is left to show.
    """
    base, places = _base(config), reader.places
    known = frozenset((record.objects if record is not None else None) or ())
    home = record.home if record is not None else ""
    target = _target(config, home)
    try:
        async with connected(target, reader.environment, reader.services.clock()) as cluster:
            namespaces = _namespaces(home or cluster.namespace, known)
            source = await _read(base, (cluster, namespaces), (reader, places))
        found = _with_known(source, known)
    except HostlerError as error:
        if is_address(config.path):
            raise
        why = f"the objects that the engine runs beside this file cannot be read: {error}"
        found = replace(config, objects=known, unread=why)
    return Objects(
        config=found,
        own=own_in(base.raw),
        cluster=ClusterOptions(kubeconfig=target.kubeconfig, context=target.context),
        places=places,
    )


def _base(config: Config) -> Base:
    """Return the file beside the objects, or one that says where records are and no more."""
    if is_address(config.path):
        raw: dict[str, object] = {"store": str(config.store)}
        return Base(path=config.path, raw=raw, kinds=KINDS, stores=STORES)
    return base_of_file(config.path)


def _target(config: Config, home: str) -> Target:
    """Return the cluster: that in which the records are, or as the environment has it."""
    if config.store.scheme != "kubernetes":
        return Target(namespace=home or None)
    place = ClusterPlace.read(config.store.place)
    return Target(
        kubeconfig=Path(place.kubeconfig) if place.kubeconfig else None,
        context=place.context or None,
        namespace=home or place.namespace or None,
    )


def _namespaces(home: str, known: frozenset[str]) -> Namespaces:
    """Return the home, and the namespaces of which an engine runs objects."""
    alone = Namespaces(home=home)
    others = {alone.namespace_of(path.partition(".")[2]) for path in known} - {home}
    return Namespaces(home=home, others=tuple(sorted(others)))


async def _read(
    base: Base, where: tuple[Connected, Namespaces], by: tuple[Reader, SecretPlaces]
) -> Source:
    """Return what was read once, and judged."""
    (cluster, namespaces), (reader, places) = where, by
    services, store = reader.services, reader.store
    around = Following(clock=services.clock(), draw=random.random)
    followed = Followed(cluster.client, around, await readable(cluster, namespaces))
    surroundings = Surroundings(
        cluster=cluster,
        namespaces=namespaces,
        followed=followed,
        places=places,
        opens=_opened,
        leaves=leaver(services, store),
        clock=services.clock(),
    )
    source = Source(base, surroundings)
    failure: HostlerError | None = None
    async with asyncio.TaskGroup() as group:  # it would wrap what is raised in it
        tasks = [group.create_task(run()) for run in followed.runs()]
        try:
            async with asyncio.timeout(_PATIENCE.total_seconds()):
                await followed.synced()
                earlier = await earlier_tables(store, followed, namespaces)
                await source.first(earlier, await recorded_places(store, followed, namespaces))
        except HostlerError as error:
            failure = error
        except TimeoutError:
            why = f"its API server did not answer within {_PATIENCE.seconds} s"
            failure = ConfigError(f"{cluster.origin}: {why}")
        for task in tasks:
            task.cancel()
    if failure is not None:
        raise failure
    return source


async def _opened(_: Config) -> None:
    """Open no account: a command that needs one opens it, and says what is wrong with it."""


def _with_known(source: Source, known: frozenset[str]) -> Config:
    """Return what is in force, and which objects are not though an engine runs them."""
    verdicts = source.judged.assembly.verdicts
    own = frozenset(source.paths())
    lacking = {
        place.path: verdict.message
        for place, verdict in verdicts.items()
        if place.path in known - own
    }
    why = "; ".join(f"{path}: {message}" for path, message in sorted(lacking.items()))
    unread = f"not shown, though the engine runs them: {why}" if why else ""
    return replace(source.config(), objects=own | lacking.keys(), unread=unread)
