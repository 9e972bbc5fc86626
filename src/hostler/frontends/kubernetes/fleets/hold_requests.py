"""Hold requests: what the engine refused is not asked for again at once, and why it is, is told."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from msgspec import Struct

from hostler.domain.ids import HostId
from hostler.domain.model.hold import HoldKind
from hostler.domain.model.snapshot import Request
from hostler.kubernetes.backoff import Backoff
from hostler.ports.clock import Clock
from hostler.ports.store import Store
from hostler.requests.recording import Accepted, record, refusals

_AGAIN = Backoff(first=timedelta(seconds=5), longest=timedelta(minutes=10))
"""How long after a refusal the same is asked for again: the host may be another by then."""


class _Made(Struct, frozen=True):
    """A request for a host: its number, what it asks for, and the newest event before it."""

    number: int
    kind: HoldKind | None
    after: int


class _Refused(Struct, frozen=True):
    """What was refused, how often in a row, why, and until when it is not asked for (boot)."""

    kind: HoldKind | None
    times: int
    text: str
    until: float


@dataclass(slots=True)
class HoldRequests:
    """Asks for holds on hosts, None being the end of one; StoreError goes through."""

    store: Store
    clock: Clock
    _made: dict[HostId, _Made] = field(default_factory=dict[HostId, _Made])
    _refused: dict[HostId, _Refused] = field(default_factory=dict[HostId, _Refused])

    def retain(self, hosts: Collection[HostId]) -> None:
        """Forget what was asked of all other hosts."""
        for known in (self._made, self._refused):
            for host in known.keys() - set(hosts):
                known.pop(host)

    async def ask(self, accepted: Accepted) -> None:
        """Record a request about a host."""
        after = await self.store.newest_event()
        (request,) = await record(self.store, (accepted,))
        if request.host is not None:
            self._made[request.host] = _Made(request.number, request.hold, after)

    async def refusal(
        self, host: HostId, kind: HoldKind | None, waiting: Iterable[Request]
    ) -> tuple[str, bool]:
        """Return why this was refused last, and whether it may be asked for again by now.

        `waiting` are the requests that no engine took yet. The text is empty where it was not.
        """
        made = self._made.get(host)
        if made is not None and all(request.number != made.number for request in waiting):
            del self._made[host]
            found = await refusals(self.store, made.after, {made.number})
            self._note(host, made.kind, found.get(made.number, ""))
        refused = self._refused.get(host)
        if refused is None or refused.kind is not kind:
            return "", True
        return refused.text, refused.until <= self.clock.boot()

    def _note(self, host: HostId, kind: HoldKind | None, text: str) -> None:
        before = self._refused.pop(host, None)
        if text:
            times = 1 + (before.times if before is not None and before.kind is kind else 0)
            until = self.clock.boot() + _AGAIN.pause(times).total_seconds()
            self._refused[host] = _Refused(kind, times, text, until)
