"""Outfit: is a host prepared as its fleet asks, what is tried next, and when is it given up?

Logins and commands are what the preparer does; here their results are judged: more tries, a reboot,
or another host. A host in use is brought to a changed list in place, and never given up for it.
"""

from dataclasses import replace

from . import tenancies
from .attempts import Ladder, Remedy, next_remedy, pause_after
from .bootstrap import digest_of
from .drift import Rolls, next_roll
from .fleet import ProbeKind
from .host import Host
from .machine import Machine
from .phases import Phase
from .reasons import Reason
from .seen import Seen
from .step import Step, event, move, wait

REBOOT = "reboot"
"""The fact that a machine's host is to be rebooted, since when."""

TOLD = "prepared"
"""The fact that the story tells of the attempts that began up to then."""

LADDER = Ladder()
ROLLS = Rolls()


def is_prepared_by_ssh(seen: Seen) -> bool:
    """Tell whether this fleet's hosts are logged in to before they are ready."""
    return bool(seen.traits.hosts) and seen.fleet.probe.kind is ProbeKind.SSH


def host_of(machine: Machine, seen: Seen) -> Host | None:
    """Return the record of a machine's host."""
    return seen.hosts.get(machine.host) if machine.host else None


def starting(step: Step, seen: Seen) -> Step:
    """Judge what preparing a host came to: wait, have it rebooted, or give the machine up."""
    step = _told(step, seen)
    machine = step.machine
    host = host_of(machine, seen)
    if host is None or not host.trouble.failures or machine.phase is not Phase.STARTING:
        return step
    remedy = next_remedy(replace(host.trouble, strikes=host.strikes), LADDER)
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
            return _in_time(step, host, seen)


def overdue(step: Step, seen: Seen) -> Step:
    """Hold a start that took too long against its host, where that failed to be prepared."""
    host = host_of(step.machine, seen)
    if not is_prepared_by_ssh(seen) or host is None or not host.trouble.failures:
        return step
    return _blamed(step, host, seen, alone=host.trouble.stranger)


def _blamed(step: Step, host: Host, seen: Seen, *, alone: bool) -> Step:
    """Write down that the host failed, and whether it is left alone, or not even wiped."""
    blamed = tenancies.blamed(step, seen)
    machine = blamed.machine
    machine = machine.with_fact(tenancies.ALONE, seen.now) if alone else machine
    if alone and host.trouble.stranger:
        machine = machine.with_fact(tenancies.STRANGER, seen.now)
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


def _in_time(step: Step, host: Host, seen: Seen) -> Step:
    """Leave a pause after each attempt, however long that took."""
    probed = seen.probed.get(step.machine.id)
    if probed is None:
        times = host.trouble.failures
        return wait(step, "prepare", f"preparing its host failed before (in a row: {times})")
    if not step.probe:
        return step
    due = (probed.ended or probed.begun) + pause_after(host.trouble.failures, LADDER.pauses)
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
    if roll.due:
        return replace(step, probe=True)
    if not roll.stuck:
        return wait(step, "prepare", roll.why, roll.again) if roll.again else step
    blocker = f"its configuration is not the fleet's: {roll.why}"
    return wait(replace(step, blocker=blocker), "prepare", roll.why, roll.again)
