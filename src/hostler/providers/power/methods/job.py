"""Job: a container of one's own, run by Kubernetes, switches a machine.

That it succeeded says that it ran, and nothing of the machine: another method is asked how it
stands.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from hostler.ports.files import unreadable
from hostler.ports.kind import LOCAL, POSITIVE, Lack, permission, table_of
from hostler.ports.power import Power, PowerAction, PowerCapabilities, PowerOpening
from hostler.providers.power.job.manifest import PURPOSES, Bounds, Purpose
from hostler.providers.power.job.template import JobTemplate
from hostler.providers.power.switch import MethodTable, switch_of

_NODE = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


class JobTable(MethodTable, frozen=True, kw_only=True):
    """A machine that Jobs of a cluster switch."""

    node: Annotated[
        str, Meta(description="the name of its Node, which is in the names of its Jobs")
    ]
    on: Annotated[JobTemplate | None, Meta(description="what switches it on")] = None
    off: Annotated[JobTemplate | None, Meta(description="what shuts it down")] = None
    limit: Annotated[
        timedelta,
        Meta(extra=POSITIVE, description="how long a Job may run before Kubernetes ends it"),
    ] = timedelta(minutes=2)
    keep: Annotated[
        timedelta, Meta(description="how long a finished Job stays, so that it can be read")
    ] = timedelta(hours=1)
    namespace: Annotated[
        str,
        Meta(
            description="the namespace of the Jobs; left out: the context's, or our Pod's",
            extra=permission("namespaces"),
        ),
    ] = ""
    kubeconfig: Annotated[
        str,
        Meta(
            description="the kubeconfig of the cluster; left out: the cluster in which hostler "
            "runs, else the kubeconfig of its user",
            extra=LOCAL,
        ),
    ] = ""
    context: Annotated[
        str, Meta(extra=LOCAL, description="the kubeconfig's context; left out: its current one")
    ] = ""

    def templates(self) -> dict[Purpose, JobTemplate]:
        """Return what there is to run, by what it is for."""
        named = {Purpose.STARTUP: self.on, Purpose.SHUTDOWN: self.off}
        return {purpose: one for purpose, one in named.items() if one is not None}


class Job:
    """Implements `PowerMethod`."""

    settings = JobTable

    def capabilities(self, settings: object) -> PowerCapabilities:
        """Return what there are Jobs for; an effect may come for as long as one of them may run."""
        table = table_of(JobTable, settings)
        actions = (action for action, purpose in PURPOSES.items() if purpose in table.templates())
        return PowerCapabilities(
            actions=frozenset[PowerAction](actions),
            query=False,
            settles=table.limit + table.settles,
            deadline=table.deadline,
        )

    def endpoint(self, settings: object) -> str:
        """Return the node, as its cluster knows it."""
        table = table_of(JobTable, settings)
        return f"job {table.kubeconfig} {table.context} {table.namespace} {table.node}"

    def check(self, settings: object) -> tuple[str, ...]:
        """Return names that Kubernetes would not take, and a method that runs nothing."""
        table = table_of(JobTable, settings)
        found = list[str]()
        if _NODE.fullmatch(table.node) is None:
            found.append("node: expected the name of a Node, such as worker-1")
        if table.namespace and _NAMESPACE.fullmatch(table.namespace) is None:
            found.append("namespace: expected the name of a namespace, such as hostler")
        if not table.templates():
            found.append("on: expected what a Job runs, here or under off")
        for key, one in (("on", table.on), ("off", table.off)):
            found += [f"{key}.{fault}" for fault in (one.faults() if one is not None else ())]
        return tuple(found)

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return whether the kubeconfig that is named can be read here."""
        del environment
        table = table_of(JobTable, settings)
        if not table.kubeconfig:
            return ()
        path = folder / table.kubeconfig
        why = unreadable(path)
        return (Lack(key="kubeconfig", text=f"{path} cannot be read: {why}"),) if why else ()

    def open(self, opening: PowerOpening) -> Power:
        """Return the way by Jobs; ConfigError where there is no cluster to speak to."""
        from hostler.providers.power.job.opening import Wanted, runner_of  # noqa: PLC0415 - a fleet file is read without a client of Kubernetes

        table = table_of(JobTable, opening.settings)
        wanted = Wanted(
            node=table.node,
            templates=table.templates(),
            bounds=Bounds(limit=table.limit, keep=table.keep),
            deadline=table.deadline,
            kubeconfig=table.kubeconfig,
            context=table.context,
            namespace=table.namespace,
        )
        return switch_of(runner_of(wanted, opening), self.capabilities(table), opening)
