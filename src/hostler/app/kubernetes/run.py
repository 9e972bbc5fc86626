"""Run: an engine whose fleets, providers and hosts are objects of a cluster's namespaces."""

import random
import secrets
import signal
from asyncio import TaskGroup
from collections.abc import AsyncGenerator, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

import structlog
from msgspec import Struct

from hostler.app.lending import Own
from hostler.app.nodes import Nodes
from hostler.app.provider_registry import KINDS
from hostler.domain.errors import ConfigError
from hostler.frontends.cli.context import ClusterOptions, Purpose, Services
from hostler.frontends.cli.engine_process import EngineProcess, Signals
from hostler.frontends.kubernetes.clusterapi.bootstrap import BootstrapSecrets
from hostler.frontends.kubernetes.clusterapi.engine import EngineAccess
from hostler.frontends.kubernetes.connecting import Connected, Target, connected
from hostler.frontends.kubernetes.definitions.manifests import manifests
from hostler.frontends.kubernetes.fleets.earlier import (
    behind,
    earlier_tables,
    read_again,
    recorded_places,
)
from hostler.frontends.kubernetes.fleets.events import EventRecorder
from hostler.frontends.kubernetes.fleets.following import Followed
from hostler.frontends.kubernetes.fleets.judging import Base
from hostler.frontends.kubernetes.fleets.reported import Reported
from hostler.frontends.kubernetes.fleets.reporting import Reporter
from hostler.frontends.kubernetes.fleets.source import Source, Surroundings
from hostler.frontends.kubernetes.fleets.writing import Writer
from hostler.frontends.kubernetes.install import DEFINITIONS, definition_of
from hostler.frontends.kubernetes.leading import ALONE, LOOK, Election, Successor, elected
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.secrets import SecretPlaces
from hostler.kubernetes.client import INSTALL
from hostler.kubernetes.election import Candidate
from hostler.kubernetes.errors import Forbidden, NotFound
from hostler.kubernetes.informer import Surroundings as Following
from hostler.kubernetes.objects import Key
from hostler.ports.engine_record import engine_record_of
from hostler.ports.store import Store

from .beside import Beside, alone, base_of
from .cluster_api import cluster_api
from .judging import leaver, opener, readable

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.kubernetes")

_SECRET = timedelta(seconds=8)
"""How long the bootstrap data of a machine may take to be read, in the middle of a call."""


class Process(Struct, frozen=True, kw_only=True):
    """What this process is given: its adapters, which find `variables` in their environment too.

    `bootstraps` is what they read machines' bootstrap data by; `holder` is whose leases these are.
    `lend` hears what stands in the file beside objects, whenever that is another.
    """

    services: Services
    environment: Mapping[str, str]
    variables: MutableMapping[str, str]
    bootstraps: BootstrapSecrets
    holder: str
    lend: Callable[[Own], None]


async def run_in_cluster(options: ClusterOptions, process: Process) -> None:
    """Run until SIGINT or SIGTERM. ConfigError, ApiError or StoreError say why it cannot begin."""
    target = Target(
        kubeconfig=options.kubeconfig,
        context=options.context,
        namespace=next(iter(options.namespaces), None),
    )
    clock, signals = process.services.clock(), Signals()
    with signals.heard(signal.SIGHUP):
        async with connected(target, process.environment, clock) as cluster:
            process.bootstraps.api = cluster.client.within(_SECRET)
            namespaces = Namespaces.of(
                options.namespaces, cluster.namespace, every=options.all_namespaces
            )
            selections = await readable(cluster, namespaces)
            await _compare_definitions(cluster)
            base = base_of(options, cluster.namespace, process.environment)
            around = Following(clock=clock, draw=random.random)
            followed = Followed(cluster.client, around, selections)
            site = _Site(cluster=cluster, namespaces=namespaces, followed=followed)
            await _run(process, site, base, signals)


class _Site(Struct, frozen=True, kw_only=True):
    """The cluster, which of its namespaces are read, and their objects."""

    cluster: Connected
    namespaces: Namespaces
    followed: Followed


async def _run(process: Process, site: _Site, base: Base, signals: Signals) -> None:
    own, services = alone(base), process.services
    cluster, followed = site.cluster, site.followed
    async with (
        services.store(own, Purpose.ENGINE) as store,
        services.metrics(own) as metrics,
        services.frontends(own) as frontends,
        _elected(process, cluster, store) as drawn,
        TaskGroup() as group,
    ):
        await _check_home(store, site.namespaces)
        source = Source(base, _surroundings(process, site, base, store))

        async def catch_up() -> None:
            await read_again(source, followed, store)
            while signals.is_reloading:
                await services.clock().sleep(LOOK)

        successor = Successor(drawn, catch_up, partial(behind, source, store), services.clock())
        election = successor.election
        tasks = [group.create_task(run()) for run in followed.runs()]
        nodes = frontends if isinstance(frontends, Nodes) else Nodes({}, services.clock())
        nodes.by_host = source.node_of
        await followed.synced()
        earlier = await earlier_tables(store, followed, site.namespaces)
        recorded = await recorded_places(store, followed, site.namespaces)
        config = await source.first(earlier, recorded)
        reported = Reported(
            followed=followed,
            source=source,
            store=store,
            clock=services.clock(),
            leads=election.leads,
            with_removed=services.with_removed,
            node=nodes.standing,
            reloads=lambda: signals.is_reloading,
        )
        events = EventRecorder(cluster.client, services.clock(), process.holder)
        reporter = Reporter(reported, Writer(cluster.client, services.clock(), events))
        await reporter.ask_for_pauses()

        async def reload() -> None:
            await reporter.ask_for_pauses()
            signals.ask_to_reload()

        source.on_new = reload
        tasks += [group.create_task(run()) for run in (source.run, reporter.run, successor.run)]
        access = EngineAccess(store, services.clock(), site.namespaces, source.lent)
        async with cluster_api(cluster, access, frontends, election.leads) as served:
            engines = EngineProcess(services, store, metrics, served, signals)
            engines.reads = Beside(base, source, process.lend)
            engines.yields = election.yields
            log.info("following objects", namespaces=str(site.namespaces), cluster=cluster.origin)
            await engines.run(config)
        for task in tasks:
            task.cancel()


def _surroundings(process: Process, site: _Site, base: Base, store: Store) -> Surroundings:
    folder = base.path.parent / f"{base.path.stem}-secrets"
    places = SecretPlaces(folder, process.variables, secrets.token_bytes(32))
    places.clear()

    return Surroundings(
        cluster=site.cluster,
        namespaces=site.namespaces,
        followed=site.followed,
        places=places,
        opens=opener(process.services, store),
        leaves=leaver(process.services, store),
        clock=process.services.clock(),
    )


@asynccontextmanager
async def _elected(process: Process, cluster: Connected, store: Store) -> AsyncGenerator[Election]:
    """Give the election of the process that works, of those with the store."""
    if store.exclusive:
        yield ALONE
        return
    candidate = Candidate(identity=process.holder, namespace=cluster.namespace)
    async with elected(cluster.client, candidate, process.services.clock(), random.random) as found:
        yield found


async def _check_home(store: Store, namespaces: Namespaces) -> None:
    """Raise ConfigError where fleets on record would get other names."""
    record = await engine_record_of(store)
    rows = [str(row.name) for row in await store.fleets()]
    if why := namespaces.moved(record.home if record is not None and rows else "", rows):
        raise ConfigError(why)


async def _compare_definitions(cluster: Connected) -> None:
    """Warn where a definition is of another version of hostler, if we may see it."""
    for manifest in manifests(KINDS):
        wanted = definition_of(manifest)
        try:
            found = await cluster.client.get(DEFINITIONS, Key("", wanted.metadata.name))
        except (Forbidden, NotFound):
            return
        if found.digest != wanted.digest:
            log.warning("kubernetes.other_definitions", name=wanted.metadata.name, cure=INSTALL)
