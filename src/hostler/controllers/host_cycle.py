"""Host cycle: one pass over the hosts of an account that no machine has."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import structlog

from hostler.domain.errors import Fenced, StoreError, StoreUnusable
from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.hosts.next_calls import moved_events
from hostler.domain.model.host import Host, HostCondition, HostGoal
from hostler.domain.model.snapshot import AccountSnapshot, HostTransition
from hostler.domain.reporting.hosts import host_statuses
from hostler.ports.metrics import Gauge, Labels

from .execute.evidence import EvidenceMaker
from .execute.host_calls import HostPursuit
from .execute.subject_calls import Caller, Work, not_saved
from .observe.snapshot import Occasion, gather
from .runtime.leases import Tenure
from .runtime.settings import Ports
from .runtime.state import AccountState, Steadiness

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.hosts")

Guard = Callable[[str, Awaitable[None]], Awaitable[None]]


class HostReconciler:
    """Takes the cycles of one account's hosts, where it has any."""

    def __init__(
        self,
        ports: Ports,
        state: AccountState,
        caller: Caller,
        evidence_maker: EvidenceMaker,
        steadiness: Steadiness,
    ) -> None:
        self._ports, self._state = ports, state
        self._caller, self._evidence_maker = caller, evidence_maker
        self._steadiness = steadiness
        self._counted: tuple[object, object, object] = (None, None, None)

    async def reconcile(self, occasion: Occasion, group: asyncio.TaskGroup, guard: Guard) -> bool:
        """Take one cycle of all hosts; tell whether any of them is on its way somewhere."""
        if self._state.keeps is None:
            return False
        snapshot = await gather(self._ports, self._state, occasion, self._steadiness)
        transitions = decide_hosts(snapshot)
        for transition in transitions:
            await self._apply(transition, snapshot, occasion.tenure, group, guard)
        self._count_hosts()
        return any(map(_may_move, transitions)) or bool(self._state.host_records.moving)

    def recount(self) -> None:
        """Note how all hosts stand after the next cycle, whether or not anything changed."""
        self._counted = (None, None, None)

    def _count_hosts(self) -> None:
        """Note how all hosts of the account stand, and until when they are paid."""
        sightings, records = self._state.inventory.sightings, self._state.host_records
        standing = sightings, records.hosts, dict(records.bindings)
        if sightings is self._counted[0] and standing[1:] == self._counted[1:]:
            return
        self._counted = standing
        account = self._state.account
        kind = account.provider.capabilities.host_kind
        seen = [s.resource for s in sightings.values() if s.resource.slot.kind == kind]
        statuses = host_statuses(account.name, records.hosts, records.bindings, seen)
        counts = Counter[Labels]()
        until = dict[Labels, float]()
        for host in (status for status in statuses if status.resource is not None):
            counts[host.zone, host.type, host.state] += 1
            if paid_until := host.facts.paid_until:
                until[host.zone, host.id] = paid_until.timestamp()
        self._ports.metrics.replace(Gauge.HOSTS, counts, account.name)
        self._ports.metrics.replace(Gauge.PAID_UNTIL, until, account.name)

    async def _apply(
        self,
        transition: HostTransition,
        snapshot: AccountSnapshot,
        tenure: Tenure,
        group: asyncio.TaskGroup,
        guard: Guard,
    ) -> None:
        """Save what changed, unbind a machine that is deleted, and start the work."""
        records, host = self._state.host_records, transition.host
        try:
            if transition.changed:
                events = moved_events(transition.before, host, snapshot.cycle, snapshot.now)
                host = await records.keep(self._ports.store, host, tenure.fence, events)
                _log(transition)
            if transition.unbind is not None:
                await records.unbind(self._ports.store, host.id, transition.unbind, tenure.fence)
        except (Fenced, StoreUnusable):
            raise
        except StoreError as error:
            not_saved(error, host=host.id)
            return
        if transition.goal is not None and transition.resource is not None:
            records.moving.add(host.id)
            work = Work(host, (transition.resource,), snapshot.cycle, tenure)
            group.create_task(self._guarded(guard, self._advance(work, transition.goal)))

    @staticmethod
    async def _guarded(guard: Guard, work: Awaitable[None]) -> None:
        await guard("host", work)

    async def _advance(self, work: Work[Host], goal: HostGoal) -> None:
        """Make the calls that may be made now for one host."""
        pursuit = HostPursuit(goal, self._ports, self._state, self._evidence_maker)
        try:
            await self._caller.advance(work, pursuit)
        except StoreUnusable:
            raise
        except StoreError as error:
            not_saved(error, host=work.subject.id)
        finally:
            self._state.host_records.moving.discard(work.subject.id)


def _log(transition: HostTransition) -> None:
    before, host = transition.before, transition.host
    if before.condition is not host.condition or before.goal is not host.goal:
        log.info(
            "host",
            host=host.id,
            machine=host.machine,
            was=before.condition,
            now=host.condition,
            goal=host.goal,
            reason=host.reason,
        )


def _may_move(transition: HostTransition) -> bool:
    """Tell whether an observation may soon show more of a host of which nothing is asked."""
    changed = transition.host.condition is not transition.before.condition
    return changed or transition.host.condition is HostCondition.COMING
