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
    machine = step.machine
    host = host_of(machine, seen)
    if host is None or not host.trouble.failures or machine.phase is not Phase.STARTING:
        return step
    remedy = next_remedy(replace(host.trouble, strikes=host.strikes), LADDER)
    match remedy.remedy:
        case Remedy.REBOOT if machine.fact(REBOOT) is None:
            told = event("remedy", machine, seen, str(Reason.NOT_PREPARED), remedy.why)
            rebooted = machine.with_fact(REBOOT, seen.now)
            return replace(step, machine=rebooted, events=(*step.events, told))
        case Remedy.REINSTALL | Remedy.QUARANTINE:
            at_fault = tenancies.blamed(step, seen)
            return move(at_fault, Phase.BROKEN, Reason.NOT_PREPARED, seen, remedy.why)
        case _:
            return _in_time(step, host, seen)


def _in_time(step: Step, host: Host, seen: Seen) -> Step:
    """Leave a pause between attempts."""
    probed = seen.probed.get(step.machine.id)
    if probed is None or not step.probe:
        return step
    due = probed.begun + pause_after(host.trouble.failures, LADDER.pauses)
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
    wanted = digest_of(seen.fleet.probe.commands)
    roll = next_roll(host.drift, wanted, host.applied, seen.now, ROLLS)
    if roll.due:
        return replace(step, probe=True)
    if not roll.stuck:
        return wait(step, "prepare", roll.why, roll.again) if roll.again else step
    blocker = f"its configuration is not the fleet's: {roll.why}"
    return wait(replace(step, blocker=blocker), "prepare", roll.why, roll.again)
