"""Outfit: is a host prepared as its fleet asks, what is tried next, and when is it given up?

Logins and commands are what the preparer does; here their results are judged: more tries, a reboot,
or another host. A host in use is brought to a changed list in place, and never given up for it; one
that is kept for a list which is at fault (lists.py) is tried again now and then, and not blamed.
"""

from dataclasses import replace
from datetime import datetime

from hostler.domain.hosts import allocation
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.snapshot import Seen
from hostler.domain.model.transition import Step, event, move, wait
from hostler.domain.policy.bootstrap import digest_of
from hostler.domain.policy.remediation import LADDER, Remedy, Trouble, next_remedy, pause_after
from hostler.domain.policy.revisions import ROLLS, next_roll

from . import drain, rollout

REBOOT = "reboot"
"""The fact that a machine's host is to be rebooted, since when."""

TOLD = "prepared"
"""The fact that the story tells of the attempts that began up to then."""


def host_of(machine: Machine, seen: Seen) -> Host | None:
    """Return the record of a machine's host."""
    return seen.hosts.get(machine.host) if machine.host else None


def starting(step: Step, seen: Seen) -> Step:
    """Judge what preparing a host came to: wait, have it rebooted, or give the machine up."""
    host = host_of(step.machine, seen)
    if host is None or not _is_no_news(host, seen):
        step = _told(step, seen)
    machine = step.machine
    if host is None or machine.phase is not Phase.STARTING:
        return step
    trouble = rollout.trouble_of(host, seen.revision)
    if not trouble.failures:
        return step
    if rollout.keeps(host, seen.revision):
        return _kept(step, host, trouble, seen)
    remedy = next_remedy(replace(trouble, strikes=host.strikes), LADDER)
    match remedy.remedy:
        case Remedy.REBOOT if machine.fact(REBOOT) is None:
            told = event("remedy", machine, seen, str(Reason.NOT_PREPARED), f"reboot: {remedy.why}")
            rebooted = machine.with_fact(REBOOT, seen.now)
            step = replace(step, machine=rebooted, events=(*step.events, told), probe=False)
            return wait(step, "reboot", remedy.why)
        case Remedy.REINSTALL | Remedy.QUARANTINE as found:
            at_fault = _blamed(step, host, seen, alone=found is Remedy.QUARANTINE)
            given_up = replace(at_fault, probe=False)
            return move(given_up, Phase.BROKEN, Reason.NOT_PREPARED, seen, remedy.why)
        case _:
            return _in_time(step, trouble, seen)


def _is_no_news(host: Host, seen: Seen) -> bool:
    """Tell whether another failure at a host is no news: its list is at fault, and fails always."""
    return rollout.keeps(host, seen.revision) and host.trouble.failures > LADDER.attempts


def _kept(step: Step, host: Host, trouble: Trouble, seen: Seen) -> Step:
    """Keep a host on which a list failed that is at fault; its tries become rare."""
    used_up = trouble.failures >= LADDER.attempts
    pause = ROLLS.cooldown if used_up else pause_after(trouble.failures, LADDER.pauses)
    last = host.tried.at
    at = last + pause if last is not None and last <= seen.now < last + pause else None
    probes = step.probe and at is None
    said = replace(step, probe=probes, blocker=rollout.condition(seen.revision))
    return wait(said, "prepare", "the list once more, for it may work by now", at)


def start_due(machine: Machine, seen: Seen) -> datetime:
    """Return when a start is overdue: it has its whole time again when its list is another one.

    A host that is kept for its list is kept as long as somebody might hold it.
    """
    timers = seen.fleet.timers
    begun = [machine.since, seen.jumped, seen.revision.anew]
    due = max(at for at in begun if at is not None) + timers.start
    host, broken = host_of(machine, seen), seen.revision.broken
    if broken is None or host is None or not rollout.keeps(host, seen.revision):
        return due
    return max(due, broken + timers.longest_hold)


def overdue(step: Step, seen: Seen) -> tuple[Step, Reason]:
    """Hold a start that took too long against its host, where that failed to be prepared."""
    host = host_of(step.machine, seen)
    if not rollout.is_prepared_by_ssh(seen) or host is None:
        return step, Reason.START_OVERDUE
    if rollout.keeps(host, seen.revision):
        return step, Reason.OUTFIT_BROKEN
    if not rollout.trouble_of(host, seen.revision).failures:
        return step, Reason.START_OVERDUE
    return _blamed(step, host, seen, alone=host.trouble.stranger), Reason.START_OVERDUE


def _blamed(step: Step, host: Host, seen: Seen, *, alone: bool) -> Step:
    """Write down that the host failed, and whether it is left alone, or not even wiped."""
    blamed = allocation.blamed(step, seen)
    machine = blamed.machine
    machine = machine.with_fact(allocation.ALONE, seen.now) if alone else machine
    if rollout.is_suspect(host, seen.revision):
        machine = machine.with_fact(f"{allocation.LISTED} {host.tried.digest}", seen.now)
    if alone and host.trouble.stranger:
        machine = machine.with_fact(allocation.STRANGER, seen.now)
    return replace(blamed, machine=machine)


def _told(step: Step, seen: Seen) -> Step:
    """Tell once of the newest attempt that reached out, with what the commands printed."""
    machine, probed = step.machine, seen.probed.get(step.machine.id)
    told = machine.fact(TOLD)
    if probed is None or probed.ended is None or (told is not None and probed.begun <= told):
        return step
    if probed.passed and not probed.output:
        return step
    kind = "prepared" if probed.passed else "not_prepared"
    text = "\n".join(part for part in (probed.text, probed.output) if part)
    events = (*step.events, event(kind, machine, seen, "", text))
    return replace(step, machine=machine.with_fact(TOLD, probed.begun), events=events)


def _in_time(step: Step, trouble: Trouble, seen: Seen) -> Step:
    """Leave a pause after each attempt, however long that took."""
    probed = seen.probed.get(step.machine.id)
    if probed is None:
        times = trouble.failures
        return wait(step, "prepare", f"preparing its host failed before (in a row: {times})")
    if not step.probe:
        return step
    due = (probed.ended or probed.begun) + pause_after(trouble.failures, LADDER.pauses)
    if seen.now >= due:
        return step
    said = f"preparing its host failed: {probed.text}"
    return wait(replace(step, probe=False), "prepare", said, due)


def running(step: Step, seen: Seen) -> Step:
    """Bring a changed list of commands to a host in use, in place."""
    machine = step.machine
    host = host_of(machine, seen)
    if host is None or machine.phase is not Phase.READY or machine.ending is not None:
        return step
    if host.drift.failures <= ROLLS.attempts:  # what goes on failing is no news
        step = _told(step, seen)
    wanted = digest_of(seen.fleet.probe.commands)
    roll = next_roll(host.drift, wanted, host.applied, seen.now, ROLLS)
    if (roll.due or roll.stuck) and (why := _untold(machine, seen)):
        return wait(step, "prepare", why)
    if roll.due and (found := _asks_first(machine, seen)) is not None:
        return drain.waiting(step, found)
    if roll.due:
        return replace(step, probe=True)
    if not roll.stuck:
        return wait(step, "prepare", roll.why, roll.again) if roll.again else step
    blocker = f"its configuration is not the fleet's: {roll.why}"
    return wait(replace(step, blocker=blocker), "prepare", roll.why, roll.again)


def _asks_first(machine: Machine, seen: Seen) -> drain.Wait | None:
    """Return what bringing a list to a machine in use waits for, since it may be brought."""
    known = seen.revision
    begun = max((at for at in (known.anew, known.worked) if at is not None), default=seen.now)
    return drain.before_roll(machine, begun, seen)


def _untold(machine: Machine, seen: Seen) -> str:
    """Return why a changed list is not brought to this machine now, or an empty string."""
    if machine.held(seen.now):
        return "the changed list: when nobody holds it any more"
    if seen.canaries is None or machine.id in seen.canaries:
        return ""
    if seen.revision.broken is not None:
        return "another list: this one is at fault"
    first = ", ".join(sorted(seen.canaries)) or "another machine"
    return f"the changed list: when it worked on {first}"
