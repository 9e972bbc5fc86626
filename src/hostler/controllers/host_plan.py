"""Host plan: what would be done now for hosts that no machine holds, by the code that acts."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.hosts.next_calls import HostWays, fold_host, host_allowed
from hostler.domain.ids import HostId
from hostler.domain.model.calls import Call, Done, Shows
from hostler.domain.model.host import Host, ask_host
from hostler.domain.model.machine import Fate
from hostler.domain.model.resource import Condition, Part
from hostler.domain.model.snapshot import HostsSeen, HostStep
from hostler.ports.hosts import KeepsHosts

from .execute.host_calls import gather_hosts
from .observe.snapshot import records
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


async def hosts_once(ports: Ports, account: Account, settings: Settings) -> HostsSeen | None:
    """Return what a turn of an account's hosts would see now; None where it has no hosts."""
    provider = account.provider
    if not isinstance(provider, KeepsHosts) or not provider.traits.hosts:
        return None
    state = await state_once(ports, account, account.fleets)
    for fleet in account.fleets:
        await records(ports, state, fleet)
    tenure = tenure_of(f"account/{account.name}", ports)
    return await gather_hosts(ports, state, PLAN, tenure, Steadiness(ports.clock, settings.jump))


async def plan_hosts(ports: Ports, account: Account, settings: Settings) -> tuple[HostPlanned, ...]:
    """Look once, decide, and list the calls on hosts; nothing is recorded or sent."""
    seen, provider = await hosts_once(ports, account, settings), account.provider
    if seen is None or not isinstance(provider, KeepsHosts):
        return ()
    return tuple(planned_hosts(seen, provider))


def planned_hosts(seen: HostsSeen, ways: HostWays) -> Iterator[HostPlanned]:
    """Yield what would be done for each host that is on its way somewhere."""
    for step in decide_hosts(seen):
        if step.goal is not None and step.part is not None:
            yield _planned(step, step.part, seen, ways)
        elif step.loose is not None:
            yield _told(step, f"its tie to {step.loose}, which is gone, to be loosened")


def planned_host(host: HostId, seen: HostsSeen, ways: HostWays) -> HostPlanned | None:
    """Return what would be done for one host; None where it is on its way nowhere."""
    return next((one for one in planned_hosts(seen, ways) if one.host == host), None)


def _told(step: HostStep, waits: str) -> HostPlanned:
    host = step.host
    goal = str(host.goal or "")
    return HostPlanned(
        host=host.id, name=host.name, goal=goal, reason=host.reason, calls=(), waits=waits
    )


def _planned(step: HostStep, part: Part, seen: HostsSeen, ways: HostWays) -> HostPlanned:
    """Return the calls that a step would make if every answer were the expected one."""
    host, calls = step.host, list[Call]()
    shown = seen.view.shown(seen.view.sightings[part.id])
    while step.goal is not None and len(calls) < _MOST_CALLS:
        found = host_allowed(step.goal, host, part, shown, seen.now, ways)
        if not found:
            waits = SEE if calls else _waits(host, part, seen)
            return replace(_told(step, waits), calls=tuple(calls))
        calls.append(found[0])
        host = fold_host(ask_host(host, found[0], seen.now, seen.epoch), found[0], Done(), seen.now)
        part = _assumed(part, found[0])
    return replace(_told(step, SEE), calls=tuple(calls))


def _assumed(part: Part, call: Call) -> Part:
    """Return the host as a plan assumes it after a call: a rename tells the stage asked for."""
    if call.shows is not Shows.MARK:
        return part
    others = tuple(note for note in part.notes if note[0] != "stage")
    return replace(part, name="<its new name>", notes=(("stage", call.aim), *others))


def _waits(host: Host, part: Part, seen: HostsSeen) -> str:
    """Return what a host waits for of which nothing may be asked now."""
    unsure = next((asked for asked in host.asked if asked.fate is Fate.OPEN), None)
    if host.again is not None and host.again > seen.now:
        return f"another try at {host.again:%H:%M:%S} UTC: {host.error}"
    if host.blind is not None and seen.view.shown(seen.view.sightings[part.id]) <= host.blind:
        return "a look: the outcome of the last call is unknown"
    if unsure is not None:
        wipes = unsure.shows is Shows.WIPE
        return "its wipe to be seen" if wipes else f"settling: whether {unsure.kind} had its effect"
    if host.quarantined_until is not None and host.quarantined(seen.now):
        until = f"{host.quarantined_until:%Y-%m-%d %H:%M} UTC"
        return f"the end of its quarantine at {until} ({host.reason}); then it is wiped again"
    return _rests(host, part)


def _rests(host: Host, part: Part) -> str:
    """Return what a host of which nothing is unsure waits for."""
    if part.note("scheduled"):
        return f"its deletion at {part.note('deletable')[:16].replace('T', ' ')} UTC"
    if part.condition is Condition.WIPING or host.wiping is not None:
        return f"the end of its wipe (now: {part.status})"
    return f"it is {part.status}"
