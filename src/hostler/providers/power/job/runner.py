"""Runner: one node's Jobs: what is left of old ones is ended first, then one is made and followed.

Everything goes by what the server has: a call after a crash finds the Job of the call before.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from msgspec import Struct

from hostler.domain.errors import ConfigError
from hostler.domain.model.calls import Refusal
from hostler.kubernetes.client import Client
from hostler.kubernetes.errors import AlreadyExists, ApiError, NotFound
from hostler.kubernetes.objects import Key, Metadata, key_of
from hostler.kubernetes.requests import Deletion, Propagation, Selection
from hostler.ports.clock import Clock
from hostler.ports.power import PowerAction, PowerState
from hostler.providers.power.switch import Failed, Reading, nonsense, refused

from .manifest import (
    PURPOSES,
    Bounds,
    Purpose,
    annotations,
    digest_of,
    job_name,
    labels,
    selector,
    spec_of,
)
from .objects import JOBS, PODS, Job, Pod, end_of, is_active, is_ours, is_under_way, owner_of
from .refusals import failed_of
from .template import JobTemplate

_SHARE = 0.8
"""Which share of a call's deadline is waited for; the rest is for the answer to the last look."""
_LOOKS = 20
"""How often it is looked while a call may take; at most every second."""
_AGAIN = timedelta(seconds=10)


class NodeJobs(Struct, frozen=True, kw_only=True):
    """What there is to be run for one node, and where."""

    node: str
    namespace: str
    templates: dict[Purpose, JobTemplate]
    bounds: Bounds


class JobRunner:
    """Runs the Jobs of one node. Implements `Device`."""

    def __init__(self, client: Client, jobs: NodeJobs, clock: Clock) -> None:
        self._client, self._jobs, self._clock = client, jobs, clock

    async def act(self, action: PowerAction) -> None:
        """Run the action's Job; return when it is complete, or under way for as long as we wait.

        It is made only when no other Job of this node, and no Pod of one, may still act. Where it
        fails, nobody knows what it did before.
        """
        purpose, loop = PURPOSES[action], asyncio.get_running_loop()
        until = loop.time() + self._client.deadline.total_seconds() * _SHARE
        try:
            job = await self._cleared(purpose, until)
            if job is None:
                job = await self._create(purpose)
        except ApiError as error:
            raise failed_of(error) from None
        except ConfigError as error:  # a certificate that is none: it is read with the first call
            raise refused(Refusal.INVALID, " ".join(str(error).split())) from None
        await self._follow(job, until)

    async def read(self) -> Reading:
        """Nobody is asked: that a Job succeeded says nothing of power."""
        text = "a Job does not tell how a machine stands"
        return Reading(state=PowerState.UNKNOWN, text=text)

    async def close(self) -> None:
        """Give back the connections."""
        await self._client.session.close()

    async def _cleared(self, purpose: Purpose, until: float) -> Job | None:
        """End whatever else may act on the node; return the Job that is under way for this."""
        loop = asyncio.get_running_loop()
        while True:
            job, others = await self._listed(purpose)
            pods = await self._active_pods(job)
            if not others and not pods:
                return job
            await self._remove(others)
            if loop.time() + self._pause > until:
                raise _in_the_way(others, pods)
            await asyncio.sleep(self._pause)

    async def _listed(self, purpose: Purpose) -> tuple[Job | None, list[Job]]:
        """Return the Job that is under way for this purpose, and all the others of the node."""
        listing = await self._client.list_all(JOBS, self._selection)
        name, now, limit = job_name(purpose, self._jobs.node), self._clock.now(), self._limit
        digest = digest_of(self._jobs.templates[purpose], self._jobs.bounds)
        job, others = None, list[Job]()
        for one in listing.items:
            if one.metadata.name == name and is_under_way(one, digest, now, limit):
                job = one
            elif is_ours(one):
                others.append(one)
        return job, others

    async def _active_pods(self, job: Job | None) -> list[Pod]:
        """Return the Pods of other Jobs of this node that have not ended, removed Jobs' too."""
        listing = await self._client.list_all(PODS, self._selection)
        uid = job.metadata.uid if job is not None else None
        return [pod for pod in listing.items if is_active(pod) and owner_of(pod) != uid]

    async def _remove(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            if job.metadata.deletion_timestamp is None:
                deletion = Deletion(uid=job.metadata.uid, propagation=Propagation.BACKGROUND)
                with suppress(NotFound):
                    await self._client.delete(JOBS, key_of(job), deletion)

    async def _create(self, purpose: Purpose) -> Job:
        """Make the Job; one of its name that does the same, made meanwhile, is as good."""
        node, bounds, now = self._jobs.node, self._jobs.bounds, self._clock.now()
        template = self._jobs.templates[purpose]
        metadata = Metadata(
            name=job_name(purpose, node),
            namespace=self._jobs.namespace,
            labels=labels(purpose, node),
            annotations=annotations(node, template, bounds, now),
        )
        wanted = Job(metadata=metadata, spec=spec_of(purpose, node, template, bounds))
        try:
            return await self._client.create(JOBS, wanted)
        except AlreadyExists:
            found = await self._client.get(JOBS, key_of(wanted))
        if not is_ours(found):
            text = f"there is a Job {key_of(found)} that hostler did not make; remove it"
            raise refused(Refusal.INVALID, text)
        if not is_under_way(found, digest_of(template, bounds), now, self._limit):
            raise refused(Refusal.BUSY, f"another Job {key_of(found)} is there", _AGAIN)
        return found

    async def _follow(self, job: Job, until: float) -> None:
        """Wait for a Job's end, but no longer than until then: it is under way in any case."""
        loop = asyncio.get_running_loop()
        while (end := end_of(job)) is None:
            if loop.time() + self._pause > until:
                return
            await asyncio.sleep(self._pause)
            found = await self._look(key_of(job))
            if found is None:
                return
            if found.metadata.uid != job.metadata.uid:
                raise nonsense(f"the Job {key_of(job)} was replaced by another one")
            job = found
        if end.type == "Failed":
            raise nonsense(f"the Job {key_of(job)} failed: {end.reason}: {end.message}")

    async def _look(self, key: Key) -> Job | None:
        """Return the Job as it stands; None where nobody knows: it was accepted, and goes on."""
        try:
            return await self._client.get(JOBS, key)
        except NotFound:
            raise nonsense(f"the Job {key} was removed before it was finished") from None
        except (ApiError, ConfigError):
            return None

    @property
    def _pause(self) -> float:
        return min(1.0, self._client.deadline.total_seconds() / _LOOKS)

    @property
    def _limit(self) -> timedelta:
        return self._jobs.bounds.limit

    @property
    def _selection(self) -> Selection:
        return Selection(namespace=self._jobs.namespace, labels=selector(self._jobs.node))


def _in_the_way(jobs: Sequence[Job], pods: Sequence[Pod]) -> Failed:
    """Return that an old Job may still act, and which."""
    names = [f"the Job {key_of(job)}" for job in jobs]
    for pod in pods:
        where = f" on {pod.spec.node_name}" if pod.spec and pod.spec.node_name else ""
        names.append(f"the Pod {key_of(pod)}{where}")
    return refused(Refusal.BUSY, f"not before these have ended: {', '.join(names)}", _AGAIN)
