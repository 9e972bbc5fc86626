"""Election: who holds a lease, by Leases of coordination.k8s.io, and with which fencing number.

No clock of another computer is believed. A lease is taken over when its record was not seen to
change for its whole duration on our own clock; and a holder stops believing in it earlier than
that, counted from before its last renewal was sent.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

import msgspec
import structlog
from msgspec import Struct, field

from hostler.ports.clock import Clock

from .backoff import Draw
from .errors import AlreadyExists, ApiError, Conflict, NotFound
from .objects import Key, Metadata, micro_time
from .resources import Resource

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.kubernetes")


class LeaseSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A lease's record; dates are texts, which nobody computes with."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """A Lease."""

    metadata: Metadata
    spec: LeaseSpec = LeaseSpec()


LEASES = Resource(
    group="coordination.k8s.io", version="v1", plural="leases", kind="Lease", model=Lease
)


class Terms(Struct, frozen=True, kw_only=True):
    """How long a lease is, how long its holder believes in it, and how often it is renewed."""

    duration: timedelta = timedelta(seconds=15)
    belief: timedelta = timedelta(seconds=10)
    retry: timedelta = timedelta(seconds=2)

    def __post_init__(self) -> None:
        """Refuse terms under which two may hold a lease at once."""
        if not timedelta(0) < self.retry < self.belief < self.duration:
            raise ValueError("terms of leases: retry < belief < duration, please")

    @property
    def patience(self) -> timedelta:
        """How long one try may take: after one that hung another one comes before belief ends."""
        return (self.belief - self.retry) / 2


class Holding(Struct, frozen=True):
    """A lease that we hold: its fencing number, which grows with each holder; until when (boot)."""

    epoch: int
    until: float


class Leases(Protocol):
    """What an elector needs of a client."""

    async def get(self, resource: Resource[Lease], key: Key) -> Lease:
        """Return a lease."""
        ...

    async def create(self, resource: Resource[Lease], item: Lease) -> Lease:
        """Create one."""
        ...

    async def replace(self, resource: Resource[Lease], item: Lease) -> Lease:
        """Replace the version that was read."""
        ...


class Candidate(Struct, frozen=True, kw_only=True):
    """Who asks for leases, in which namespace, under which terms.

    `identity` belongs to one start of one process: who comes back is somebody else.
    """

    identity: str
    namespace: str
    terms: Terms = field(default=Terms())


@dataclass(slots=True)
class _Seen:
    """A record as it was last seen, since when (boot) it has not changed, and if it is there."""

    spec: LeaseSpec
    since: float
    missing: bool = False


class Elector:
    """Takes, renews and gives back leases by name, each apart from the others."""

    def __init__(self, leases: Leases, candidate: Candidate, clock: Clock, draw: Draw) -> None:
        self._leases, self._candidate = leases, candidate
        self._clock, self._draw = clock, draw
        self._seen: dict[str, _Seen] = {}
        self._held: dict[str, Holding] = {}
        self._epochs: dict[str, int] = {}

    def holding(self, name: str) -> Holding | None:
        """Return what we hold at this moment; asked before every act, for it ends by itself."""
        held = self._held.get(name)
        return held if held is not None and self._clock.boot() < held.until else None

    def is_others(self, name: str) -> bool:
        """Tell whether somebody else was seen to hold it, within its duration on our own clock."""
        seen = self._seen.get(name)
        return seen is not None and not self._may_take(name)

    async def run(self, names: Sequence[str]) -> None:
        """Ask for leases for ever; when cancelled, give back those that are held.

        A try that hangs is given up, as one whose answer was lost: its connection may be dead.
        """
        terms = self._candidate.terms
        try:
            while True:
                for name in names:
                    await self._attempted(name)
                await self._clock.sleep(terms.retry * (1 - self._draw() / 5))
        finally:
            for name in names:
                await self._released(name)

    async def attempt(self, name: str) -> Holding | None:
        """Take or renew a lease if it is ours or free; return what we hold now.

        An ApiError leaves what was believed before, until it ends by itself.
        """
        try:
            lease = await self._leases.get(LEASES, self._key(name))
        except NotFound:
            lease = None
        self._look(name, lease)
        if not self._may_take(name):
            self._held.pop(name, None)
        elif lease is None:
            await self._create(name)
        else:
            await self._write(name, lease)
        return self.holding(name)

    async def release(self, name: str) -> None:
        """Give a lease back, so that nobody waits for its end; we stop believing first."""
        if self._held.pop(name, None) is None:
            return
        lease = await self._leases.get(LEASES, self._key(name))
        if lease.spec.holder_identity != self._candidate.identity:
            return
        spec = LeaseSpec(
            lease_duration_seconds=1,
            renew_time=micro_time(self._clock.now()),
            acquire_time=lease.spec.acquire_time,
            lease_transitions=lease.spec.lease_transitions,
        )
        await self._leases.replace(LEASES, msgspec.structs.replace(lease, spec=spec))

    async def _attempted(self, name: str) -> None:
        before = self.holding(name)
        try:
            async with asyncio.timeout(self._patience):
                await self.attempt(name)
        except (ApiError, TimeoutError) as error:
            log.info("kubernetes.lease_failed", lease=name, error=str(error) or "no answer")
        after = self.holding(name)
        if (before and before.epoch) != (after and after.epoch):
            log.info("kubernetes.lease", lease=name, epoch=after.epoch if after else None)

    async def _released(self, name: str) -> None:
        try:
            async with asyncio.timeout(self._patience):
                await self.release(name)
        except (ApiError, TimeoutError) as error:
            log.info("kubernetes.lease_not_released", lease=name, error=str(error) or "no answer")

    @property
    def _patience(self) -> float:
        return self._candidate.terms.patience.total_seconds()

    def _look(self, name: str, lease: Lease | None) -> None:
        """Note when a record changed; one that was removed may still have a holder who believes."""
        seen, now = self._seen.get(name), self._clock.boot()
        spec = lease.spec if lease is not None else (seen.spec if seen else LeaseSpec())
        if seen is None or seen.spec != spec or seen.missing != (lease is None):
            self._seen[name] = _Seen(spec, now, missing=lease is None)
        self._epochs[name] = max(self._epochs.get(name, 0), spec.lease_transitions or 0)

    def _may_take(self, name: str) -> bool:
        seen = self._seen[name]
        if not seen.spec.holder_identity or seen.spec.holder_identity == self._candidate.identity:
            return True
        own = self._candidate.terms.duration.total_seconds()
        theirs = float(seen.spec.lease_duration_seconds or 0)
        return self._clock.boot() - seen.since >= max(own, theirs)

    async def _create(self, name: str) -> None:
        """Make a lease that is missing; a lease that was removed does not start to count anew."""
        epoch = self._epochs.get(name, 0) + 1
        metadata = Metadata(name=name, namespace=self._candidate.namespace)
        began = self._clock.boot()
        try:
            await self._leases.create(LEASES, Lease(metadata=metadata, spec=self._spec(epoch)))
        except AlreadyExists:
            return
        self._hold(name, epoch, began)

    async def _write(self, name: str, lease: Lease) -> None:
        spec, began = lease.spec, self._clock.boot()
        renewed = spec.holder_identity == self._candidate.identity
        epoch = self._epochs[name] + (0 if renewed else 1)
        acquired = spec.acquire_time if renewed else None
        written = msgspec.structs.replace(lease, spec=self._spec(epoch, acquired))
        try:
            await self._leases.replace(LEASES, written)
        except (Conflict, NotFound):
            self._held.pop(name, None)
            return
        self._hold(name, epoch, began)

    def _hold(self, name: str, epoch: int, began: float) -> None:
        until = began + self._candidate.terms.belief.total_seconds()
        self._held[name] = Holding(epoch, until)
        self._epochs[name] = epoch

    def _spec(self, epoch: int, acquired: str | None = None) -> LeaseSpec:
        now = micro_time(self._clock.now())
        return LeaseSpec(
            holder_identity=self._candidate.identity,
            lease_duration_seconds=int(self._candidate.terms.duration.total_seconds()),
            acquire_time=acquired or now,
            renew_time=now,
            lease_transitions=epoch,
        )

    def _key(self, name: str) -> Key:
        return Key(self._candidate.namespace, name)
