"""Drainer: one pass of a Node's drain: cordon, evict what may go, say what is still there.

Nothing is remembered but when a refused eviction is tried again: each pass goes by what the server
has, so that a restart, or another replica, goes on where this one ended.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta

import structlog
from msgspec import Struct
from msgspec.structs import replace

from hostler.kubernetes.client import Client
from hostler.kubernetes.errors import ApiError, Conflict, NotFound
from hostler.kubernetes.objects import Key, Metadata, key_of
from hostler.kubernetes.requests import Deletion, Selection, merge_patch
from hostler.ports.clock import Clock

from .evictions import ACCEPTED, Answered, Outcome, outcome_of
from .objects import (
    EVICTIONS,
    NODES,
    PODS,
    DeleteOptions,
    Eviction,
    Node,
    Pod,
    Preconditions,
)
from .standing import CORDONED_BY, Readiness, standing
from .workload import Judged, Rules, Treatment, in_the_way

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler")

PASS = timedelta(seconds=20)
"""How long one pass goes on while Pods end: whoever waits asks again soon."""
_LOOK = timedelta(seconds=1)
_TOGETHER = 10
"""How many evictions are under way at a time."""
_SHOWN = 3
_TRIES = 5


class Drained(Struct, frozen=True, kw_only=True):
    """What one pass came to: whether no Pod that matters is there, and what there is to say."""

    free: bool
    text: str


class Refused(Struct, frozen=True, kw_only=True):
    """What an eviction came to that was refused, and when it is asked for again (loop time)."""

    outcome: Outcome
    not_before: float


class Drainer:
    """Drains Nodes of one cluster."""

    def __init__(self, client: Client, clock: Clock, lasts: timedelta = PASS) -> None:
        self._client, self._clock, self._lasts = client, clock, lasts
        self._refused = dict[str, dict[str, Refused]]()
        self._slots = asyncio.Semaphore(_TOGETHER)

    async def drain(
        self, node: Node, owner: str, rules: Rules, is_wanted: Callable[[], bool] = lambda: True
    ) -> Drained:
        """Cordon a Node for its owner's end and evict its Pods for a while. Raises ApiError.

        It ends at once when its end is wanted no more.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + self._lasts.total_seconds()
        if is_wanted():
            await self.cordon(node, owner)
        while is_wanted():
            found = await self.busy(node, rules)
            self._forget(node, found)
            if not found:
                return Drained(free=True, text="no Pod that matters runs there")
            await self._evict(node, found, rules)
            if loop.time() + _LOOK.total_seconds() > until:
                return Drained(free=False, text=self._text(node, found))
            await asyncio.sleep(_LOOK.total_seconds())
        return Drained(free=False, text="nobody asks for its end any more")

    async def busy(self, node: Node, rules: Rules) -> tuple[Judged, ...]:
        """Return the Pods of a Node that matter; changes nothing. Raises ApiError."""
        selection = Selection(fields=f"spec.nodeName={node.metadata.name}")
        listing = await self._client.list_all(PODS, selection)
        silent = standing(node).readiness is Readiness.SILENT
        return in_the_way(listing.items, rules, self._clock.now(), silent=silent)

    async def cordon(self, node: Node, owner: str) -> None:
        """Let no new Pods come; who cordoned it is written beside it. Raises ApiError.

        A Node that somebody else cordoned stays theirs: it is not uncordoned by us later. One that
        was written since it was read, as kubelets do all the time, is read again.
        """
        for _ in range(_TRIES):
            with suppress(Conflict):
                await self._cordon(node, owner)
                return
            node = await self._client.get(NODES, key_of(node))
        await self._cordon(node, owner)

    async def _cordon(self, node: Node, owner: str) -> None:
        if node.spec is not None and node.spec.unschedulable:
            return
        note = {"annotations": {CORDONED_BY: owner}}
        change = merge_patch({"spec": {"unschedulable": True}}, node.metadata, note)
        await self._client.patch(NODES, key_of(node), change)
        log.info("node cordoned", node=node.metadata.name, machine=owner)

    def _forget(self, node: Node, found: Iterable[Judged]) -> None:
        """Forget what was refused of Pods that are there no more."""
        uids, known = {one.pod.metadata.uid for one in found}, self._refused_of(node)
        there = {uid: refused for uid, refused in known.items() if uid in uids}
        self._refused.pop(node.metadata.name, None)
        if there:
            self._refused[node.metadata.name] = there

    def _refused_of(self, node: Node) -> dict[str, Refused]:
        return self._refused.get(node.metadata.name, {})

    async def _evict(self, node: Node, found: Iterable[Judged], rules: Rules) -> None:
        """Ask for the evictions that are due, a few at a time."""
        now, refused = asyncio.get_running_loop().time(), self._refused_of(node)
        async with asyncio.TaskGroup() as group:
            for one in found:
                known = refused.get(one.pod.metadata.uid)
                due = known is None or known.not_before <= now
                if one.treatment is Treatment.EVICT and due:
                    group.create_task(self._evicted(node, one.pod, rules))

    async def _evicted(self, node: Node, pod: Pod, rules: Rules) -> None:
        async with self._slots:
            outcome = await self._asked(pod, rules)
        uid, refused = pod.metadata.uid, self._refused.setdefault(node.metadata.name, {})
        before = refused.pop(uid, None)
        if outcome.answered in {Answered.ACCEPTED, Answered.GONE}:
            return
        if before is None or before.outcome != outcome:
            log.info("eviction refused", pod=str(key_of(pod)), why=outcome.text)
        not_before = asyncio.get_running_loop().time() + outcome.after.total_seconds()
        refused[uid] = Refused(outcome=outcome, not_before=not_before)

    async def _asked(self, pod: Pod, rules: Rules) -> Outcome:
        """Ask for the eviction of this very Pod, not of one that has its name by now."""
        grace = None if rules.grace is None else round(rules.grace.total_seconds())
        eviction = Eviction(
            api_version="policy/v1",
            kind="Eviction",
            metadata=Metadata(name=pod.metadata.name, namespace=pod.metadata.namespace),
            delete_options=DeleteOptions(
                preconditions=Preconditions(uid=pod.metadata.uid), grace_period_seconds=grace
            ),
        )
        try:
            await self._client.create(EVICTIONS, eviction, "eviction")
        except ApiError as error:
            return outcome_of(error)
        log.info("pod evicted", pod=str(key_of(pod)), node=pod.spec.node_name if pod.spec else "")
        return ACCEPTED

    def _text(self, node: Node, found: tuple[Judged, ...]) -> str:
        """Return what is in the way, in a sentence: the first few Pods, each with its reason."""
        refused, named = self._refused_of(node), list[str]()
        for one in found[:_SHOWN]:
            known = refused.get(one.pod.metadata.uid)
            asked = one.treatment is Treatment.EVICT and known is not None
            named.append(str(replace(one, why=known.outcome.text) if asked and known else one))
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        pods = "1 Pod is" if len(found) == 1 else f"{len(found)} Pods are"
        return f"{pods} still there: {', '.join(named)}{more}"


async def remove(client: Client, node: Node) -> None:
    """Remove a Node whose machine has ended, this very one, as it was read. Raises ApiError.

    One that was written since may have a kubelet that speaks again: it is looked at anew later.
    """
    key, known = Key("", node.metadata.name), node.metadata
    try:
        await client.delete(NODES, key, Deletion(uid=known.uid, version=known.resource_version))
    except (NotFound, Conflict):
        return
    log.info("node removed", node=node.metadata.name)
