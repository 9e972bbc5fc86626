"""Probing: a machine that is up is ready when its readiness probe passed, and why that fails."""

import re
from datetime import datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.model.calls import Shows
from hostler.domain.model.fleet import ProbeKind
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.snapshot import Probed, Snapshot
from hostler.domain.model.transition import Transition, event, move, wait
from hostler.domain.policy.bootstrap_data import DataState

_BEGIN = "readiness probe"
_PROBED = "probe"
_UP = frozenset({Phase.STARTING, Phase.READY, Phase.DRAINING})
_NUMBERED = re.compile(r"\S*\d\S*")


def probe(transition: Transition, snapshot: Snapshot) -> Transition:
    """Make a machine that is up ready when its probe passed; ask for a probe where none did.

    Why one failed stands in the record and in the history, once for each reason: a probe that goes
    on failing alike is no news.
    """
    machine = transition.machine
    if snapshot.fleet.probe.kind is ProbeKind.API:
        return move(transition, Phase.READY, Reason.UP, snapshot)
    probed = snapshot.probed.get(machine.id)
    of_this = probed is not None and probed.begun >= _probed_from(machine)
    if probed is not None and probed.passed and of_this and not script_failed(machine, snapshot):
        passed = machine.with_fact(_PROBED, probed.begun)
        if failure_of(machine):
            passed = replace(passed, error="")
        return move(replace(transition, machine=passed), Phase.READY, Reason.PROBE_PASSED, snapshot)
    if probed is not None and not probed.passed and probed.ended is None:
        transition = _failed(transition, probed, snapshot)
    every = snapshot.fleet.timers.probe_every
    due = probed is None or snapshot.now - probed.begun >= every
    at = None if due or probed is None else probed.begun + every
    return wait(replace(transition, probe=due), "probe", _message(transition, snapshot), at)


def script_failed(machine: Machine, snapshot: Snapshot) -> bool:
    """Tell whether a machine's own script failed on its host: a login after that makes none ready.

    One may be under way by then, which has no script to bring any more.
    """
    host = snapshot.hosts.get(machine.host) if machine.host and machine.spec.bootstrap else None
    return host is not None and host.bootstrap.run.of(machine.id).state is DataState.FAILED


def recovered(transition: Transition, snapshot: Snapshot, detail: str = "") -> Transition:
    """Let a machine that is up again be ready: once it answers, where its fleet asks for a probe.

    It may have another disk than before, with nothing on it.
    """
    probed = snapshot.fleet.probe.kind is not ProbeKind.API
    phase = Phase.STARTING if probed else Phase.READY
    return move(transition, phase, Reason.RECOVERED, snapshot, detail)


class Reached(StrEnum):
    """Whether a machine's address answered when it was last probed."""

    REACHABLE = "reachable"
    UNREACHABLE = "unreachable"
    UNKNOWN = "unknown"


class Reachability(Struct, frozen=True, kw_only=True):
    """What the newest probe on record saw: `at` is when one last began that passed, if any did."""

    reached: Reached
    at: datetime | None = None


def reachability(machine: Machine | None) -> Reachability:
    """Return what is on record of probes of what a machine has now; unknown while it is off."""
    if machine is None or machine.phase not in _UP:
        return Reachability(reached=Reached.UNKNOWN)
    passed = machine.fact(_PROBED)
    if failure_of(machine):
        return Reachability(reached=Reached.UNREACHABLE, at=passed)
    if passed is None or machine.phase is Phase.STARTING:
        return Reachability(reached=Reached.UNKNOWN, at=passed)
    return Reachability(reached=Reached.REACHABLE, at=passed)


def _message(transition: Transition, snapshot: Snapshot) -> str:
    """Return what is waited for, and why it failed when it was tried last."""
    return failure_of(transition.machine) or _what(transition.machine, snapshot)


def _what(machine: Machine, snapshot: Snapshot) -> str:
    """Return which probe is meant."""
    return f"{_BEGIN} ({snapshot.fleet.probe.kind}) at {machine.address or 'its address'}"


def failure_of(machine: Machine) -> str:
    """Return why its newest probe failed, as its record has it; empty where none did."""
    return machine.error if machine.error.startswith(_BEGIN) else ""


def _failed(transition: Transition, probed: Probed, snapshot: Snapshot) -> Transition:
    """Write down why a probe failed, where it is another reason than before."""
    machine, kind = transition.machine, snapshot.fleet.probe.kind
    error = f"{_what(machine, snapshot)}: {probed.text}"
    if _NUMBERED.sub("", error) == _NUMBERED.sub("", machine.error):
        return transition
    notice = event("probe_failed", machine, snapshot, str(kind), probed.text)
    return replace(
        transition, machine=replace(machine, error=error), events=(*transition.events, notice)
    )


def _probed_from(machine: Machine) -> datetime:
    """Return from when on a probe is of what the machine has now: its host and disk may be new."""
    retry = (asked.at for asked in machine.asked if asked.shows in {Shows.OWNER_TAG, Shows.WIPE})
    return max((machine.since, *retry))
