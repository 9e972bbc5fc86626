"""Host plan: what would be done now for hosts that no machine has, by the code that acts."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.hosts.next_calls import HostPlanner, Times, host_allowed
from hostler.domain.ids import HostId
from hostler.domain.model.calls import Call, Done, Shows
from hostler.domain.model.host import Host
from hostler.domain.model.resource import Condition, Resource
from hostler.domain.model.snapshot import AccountSnapshot, HostTransition
from hostler.domain.model.subject import ask
from hostler.domain.observation.outcomes import apply_outcome
from hostler.domain.observation.ready import Ready
from hostler.ports.hosts import KeepsHosts

from .observe.snapshot import Occasion, gather
from .plan import PLAN, SEE, state_once, tenure_of
from .runtime.settings import Account, Ports, Settings
from .runtime.state import Steadiness

_MOST_CALLS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlanned:
    """What would be done now for one host: the very calls, and what is waited for then."""

    host: HostId
    name: str
    goal: str
    reason: str
    calls: tuple[Call, ...]
    waits: str = ""


async def hosts_once(ports: Ports, account: Account, settings: Settings) -> AccountSnapshot | None:
    """Return what a cycle of an account's hosts would see now; None where it has no hosts."""
    provider = account.provider
    if not isinstance(provider, KeepsHosts) or not provider.capabilities.hosts:
        return None
    state = await state_once(ports, account, account.fleets)
    occasion = Occasion(
        cycle=PLAN,
        tenure=tenure_of(f"account/{account.name}", ports),
        identity=await ports.store.identity(),
        fleets=account.fleets,
    )
    return await gather(ports, state, occasion, Steadiness(ports.clock, settings.jump))


async def plan_hosts(ports: Ports, account: Account, settings: Settings) -> tuple[HostPlanned, ...]:
    """Observe once, decide, and list the calls on hosts; nothing is recorded or sent."""
    snapshot, provider = await hosts_once(ports, account, settings), account.provider
    if snapshot is None or not isinstance(provider, KeepsHosts):
        return ()
    return tuple(planned_hosts(snapshot, provider))


def planned_hosts(snapshot: AccountSnapshot, planner: HostPlanner) -> Iterator[HostPlanned]:
    """Yield what would be done for each host that is on its way somewhere."""
    for transition in decide_hosts(snapshot):
        if transition.goal is not None and transition.resource is not None:
            yield _planned(transition, transition.resource, snapshot, planner)
        elif transition.blocker:
            yield _told(transition, transition.blocker)
        elif transition.unbind is not None:
            yield _told(
                transition, f"its binding to {transition.unbind}, which is deleted, to be removed"
            )


def _told(transition: HostTransition, waits: str) -> HostPlanned:
    host = transition.host
    goal = str(host.goal or "")
    return HostPlanned(
        host=host.id, name=host.name, goal=goal, reason=host.reason, calls=(), waits=waits
    )


def _planned(
    transition: HostTransition, resource: Resource, snapshot: AccountSnapshot, planner: HostPlanner
) -> HostPlanned:
    """Return the calls that would be made if every answer were the expected one."""
    host, calls = transition.host, list[Call]()
    observed_at = snapshot.inventory.observed_at(snapshot.inventory.sightings[resource.id])
    times = Times(observed_at, snapshot.now)
    while transition.goal is not None and len(calls) < _MOST_CALLS:
        found = host_allowed(host, transition.goal, resource, times, planner)
        if not found.calls:
            waits = SEE if calls else _waits(found, host, resource, snapshot)
            return replace(_told(transition, waits), calls=tuple(calls))
        call = found.calls[0]
        calls.append(call)
        host = apply_outcome(
            ask(host, call, snapshot.now, snapshot.epoch), call, Done(), snapshot.now
        )
        resource = _assumed(resource, call)
    return replace(_told(transition, SEE), calls=tuple(calls))


def _assumed(resource: Resource, call: Call) -> Resource:
    """Return the host as a plan assumes it after a call: a rename tells the stage asked for."""
    if call.shows is not Shows.OWNER_TAG:
        return resource
    others = tuple(note for note in resource.notes if note[0] != "stage")
    return replace(resource, name="<its new name>", notes=(("stage", call.aim), *others))


def _waits(found: Ready, host: Host, resource: Resource, snapshot: AccountSnapshot) -> str:
    """Return what a host waits for of which nothing may be asked now."""
    if found.waits and found.at is not None:
        return f"{found.waits} (at {found.at:%H:%M:%S} UTC)"
    if found.waits:
        return found.waits
    if host.quarantined_until is not None and host.quarantined(snapshot.now):
        until = f"{host.quarantined_until:%Y-%m-%d %H:%M} UTC"
        return f"the end of its quarantine at {until} ({host.reason}); then it is wiped again"
    return _stands(host, resource)


def _stands(host: Host, resource: Resource) -> str:
    """Return what a host of which nothing is unsure waits for."""
    if resource.note("scheduled"):
        return f"its deletion at {resource.note('deletable')[:16].replace('T', ' ')} UTC"
    if resource.condition is Condition.WIPING or host.wiping is not None:
        return f"the end of its wipe (now: {resource.status})"
    return f"it is {resource.status}"
