"""Bootstrap: is a host prepared as its fleet asks, what is tried next, and when is it given up?

Logins and commands are what the preparer does; here their results are judged: more tries, a reboot,
or another host. A host in use is brought to a changed list in place, and never given up for it; one
that is kept for a list which is at fault (lists.py) is tried again now and then, and not blamed.
"""

from datetime import datetime

from msgspec.structs import replace

from hostler.domain.hosts import allocation
from hostler.domain.model.calls import Refusal
from hostler.domain.model.host import Host, HostCondition
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition, event, move, wait
from hostler.domain.policy.bootstrap import digest_of
from hostler.domain.policy.remediation import LADDER, Remedy, Trouble, next_remedy, pause_after
from hostler.domain.policy.revisions import ROLLS, next_roll

from . import drain, probing, rollout

REBOOT = "reboot"
"""The fact that a machine's host is to be rebooted, since when."""

TOLD = "prepared"
"""The fact that the history tells of the attempts that began up to then."""


def host_of(machine: Machine, snapshot: Snapshot) -> Host | None:
    """Return the record of a machine's host."""
    return snapshot.hosts.get(machine.host) if machine.host else None


def starting(transition: Transition, snapshot: Snapshot) -> Transition:
    """Judge what preparing a host came to: wait, have it rebooted, or give the machine up."""
    host = host_of(transition.machine, snapshot)
    if host is None or not _is_no_news(host, snapshot):
        transition = _with_report(transition, snapshot)
    machine = transition.machine
    if host is None or machine.phase is not Phase.STARTING:
        return transition
    if probing.script_failed(machine, snapshot):
        return _without_data(transition, host.bootstrap.run.text, snapshot)
    return _judged(transition, host, snapshot)


def _judged(transition: Transition, host: Host, snapshot: Snapshot) -> Transition:
    """Judge a host's failures."""
    machine = transition.machine
    trouble = rollout.trouble_of(host, snapshot.revision)
    if not trouble.failures:
        return transition
    if rollout.keeps(host, snapshot.revision):
        return _retry_rarely(transition, host, trouble, snapshot)
    remedy = next_remedy(replace(trouble, strikes=host.health.strikes), LADDER)
    match remedy.remedy:
        case Remedy.REBOOT if machine.fact(REBOOT) is None:
            notice = event(
                "remedy", machine, snapshot, str(Reason.NOT_PREPARED), f"reboot: {remedy.why}"
            )
            rebooted = machine.with_fact(REBOOT, snapshot.now)
            transition = replace(
                transition, machine=rebooted, events=(*transition.events, notice), probe=False
            )
            return wait(transition, "reboot", remedy.why)
        case Remedy.REINSTALL | Remedy.QUARANTINE as found:
            at_fault = _blamed(transition, host, snapshot, alone=found is Remedy.QUARANTINE)
            given_up = replace(at_fault, probe=False)
            return move(given_up, Phase.FAILED, Reason.NOT_PREPARED, snapshot, remedy.why)
        case _:
            return _in_time(transition, trouble, snapshot)


def _without_data(transition: Transition, why: str, snapshot: Snapshot) -> Transition:
    """Give up a machine whose own script failed; neither the host nor the fleet is to blame."""
    refused = replace(transition.machine.with_health(refused=Refusal.BOOTSTRAP), error=why)
    failed = replace(transition, machine=refused, probe=False)
    return move(failed, Phase.FAILED, Reason.BOOTSTRAP_REFUSED, snapshot, why)


def _is_no_news(host: Host, snapshot: Snapshot) -> bool:
    """Tell whether another failure at a host is no news: its list is at fault, and fails always."""
    return rollout.keeps(host, snapshot.revision) and host.health.trouble.failures > LADDER.attempts


def _retry_rarely(
    transition: Transition, host: Host, trouble: Trouble, snapshot: Snapshot
) -> Transition:
    """Keep a host on which a list failed that is at fault; its tries become rare."""
    used_up = trouble.failures >= LADDER.attempts
    pause = ROLLS.cooldown if used_up else pause_after(trouble.failures, LADDER.pauses)
    last = host.bootstrap.tried.at
    at = last + pause if last is not None and last <= snapshot.now < last + pause else None
    probes = transition.probe and at is None
    waiting = replace(transition, probe=probes, blocker=rollout.condition(snapshot.revision))
    return wait(waiting, "prepare", "the list once more, for it may work by now", at)


def start_due(machine: Machine, snapshot: Snapshot) -> datetime:
    """Return when a start is overdue: it has its whole time again when its list is another one.

    So it has when it took its host late: for what it waited before, its host is not to blame. A
    host that is kept for its list is kept as long as somebody might hold it.
    """
    timers, host = snapshot.fleet.timers, host_of(machine, snapshot)
    taken = host.since if host is not None and host.condition is HostCondition.ALLOCATED else None
    taken = None if taken is None else min(taken, machine.since + timers.start)
    begun = [machine.since, taken, snapshot.jumped, snapshot.revision.retry]
    due = max(at for at in begun if at is not None) + timers.start
    broken = snapshot.revision.broken
    if broken is None or host is None or not rollout.keeps(host, snapshot.revision):
        return due
    return max(due, broken + timers.longest_protection)


def overdue(transition: Transition, snapshot: Snapshot) -> tuple[Transition, Reason]:
    """Hold a start that took too long against its host, where that failed to be prepared."""
    host = host_of(transition.machine, snapshot)
    if not rollout.is_prepared_by_ssh(snapshot) or host is None:
        return transition, Reason.START_OVERDUE
    if rollout.keeps(host, snapshot.revision):
        return transition, Reason.BOOTSTRAP_FAILED
    if not rollout.trouble_of(host, snapshot.revision).failures:
        return transition, Reason.START_OVERDUE
    return _blamed(
        transition, host, snapshot, alone=host.health.trouble.stranger
    ), Reason.START_OVERDUE


def _blamed(transition: Transition, host: Host, snapshot: Snapshot, *, alone: bool) -> Transition:
    """Write down that the host failed, and whether it is left alone, or not even wiped."""
    blamed = allocation.blamed(transition, snapshot)
    machine = blamed.machine
    machine = machine.with_fact(allocation.ALONE, snapshot.now) if alone else machine
    if rollout.is_suspect(host, snapshot.revision):
        machine = machine.with_fact(
            f"{allocation.LISTED} {host.bootstrap.tried.digest}", snapshot.now
        )
    if alone and host.health.trouble.stranger:
        machine = machine.with_fact(allocation.STRANGER, snapshot.now)
    return replace(blamed, machine=machine)


def _with_report(transition: Transition, snapshot: Snapshot) -> Transition:
    """Tell once of the newest attempt that reached out, with what the commands printed."""
    machine, probed = transition.machine, snapshot.probed.get(transition.machine.id)
    told_at = machine.fact(TOLD)
    if probed is None or probed.ended is None or (told_at is not None and probed.begun <= told_at):
        return transition
    if probed.passed and not probed.output:
        return transition
    kind = "prepared" if probed.passed else "not_prepared"
    text = "\n".join(resource for resource in (probed.text, probed.output) if resource)
    events = (*transition.events, event(kind, machine, snapshot, "", text))
    return replace(transition, machine=machine.with_fact(TOLD, probed.begun), events=events)


def _in_time(transition: Transition, trouble: Trouble, snapshot: Snapshot) -> Transition:
    """Leave a pause after each attempt, however long that took."""
    probed = snapshot.probed.get(transition.machine.id)
    if probed is None:
        times = trouble.failures
        return wait(transition, "prepare", f"preparing its host failed before (in a row: {times})")
    if not transition.probe:
        return transition
    due = (probed.ended or probed.begun) + pause_after(trouble.failures, LADDER.pauses)
    if snapshot.now >= due:
        return transition
    message = f"preparing its host failed: {probed.text}"
    return wait(replace(transition, probe=False), "prepare", message, due)


def running(transition: Transition, snapshot: Snapshot) -> Transition:
    """Bring a changed setup script to a host in use, in place."""
    machine = transition.machine
    host = host_of(machine, snapshot)
    if host is None or machine.phase is not Phase.READY or machine.deletion is not None:
        return transition
    if host.bootstrap.drift.failures <= ROLLS.attempts:  # what goes on failing is no news
        transition = _with_report(transition, snapshot)
    wanted = digest_of(snapshot.fleet.probe.commands)
    roll = next_roll(host.bootstrap.drift, wanted, host.bootstrap.applied, snapshot.now, ROLLS)
    if (roll.due or roll.stuck) and (why := _untold(machine, snapshot)):
        return wait(transition, "prepare", why)
    if roll.due and (found := _asks_first(machine, snapshot)) is not None:
        return drain.waiting(transition, found)
    if roll.due:
        return replace(transition, probe=True)
    if not roll.stuck:
        return wait(transition, "prepare", roll.why, roll.retry_at) if roll.retry_at else transition
    blocker = f"its configuration is not the fleet's: {roll.why}"
    return wait(replace(transition, blocker=blocker), "prepare", roll.why, roll.retry_at)


def _asks_first(machine: Machine, snapshot: Snapshot) -> drain.Wait | None:
    """Return what bringing a list to a machine in use waits for, since it may be brought."""
    known = snapshot.revision
    begun = max((at for at in (known.retry, known.worked) if at is not None), default=snapshot.now)
    return drain.before_roll(machine, begun, snapshot)


def _untold(machine: Machine, snapshot: Snapshot) -> str:
    """Return why a changed list is not brought to this machine now, or an empty string."""
    if machine.is_protected(snapshot.now):
        return "the changed script: when it is no longer protected"
    if snapshot.canaries is None or machine.id in snapshot.canaries:
        return ""
    if snapshot.revision.broken is not None:
        return "another list: this one is at fault"
    first = ", ".join(sorted(snapshot.canaries)) or "another machine"
    return f"the changed list: when it worked on {first}"
