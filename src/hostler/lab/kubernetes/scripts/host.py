"""Hosts: what the disks of boxes know of scripts, and which of them run.

A script goes on when nobody is logged in any more, and ends with its box, or after its bound.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from hostler.domain.ids import HostId, MachineId
from hostler.domain.model.resource import Condition
from hostler.lab.metal.ground_truth import MetalTruth
from hostler.testing.time.clock import BEGINNING

from .scenario import FAILS, KILLED, SLOW, ScriptsScenario

_FOLDER = re.compile(r"/data-(m-[a-z0-9]+)")
_SIZE, _WITHIN = re.compile(r"-eq (\d+)"), re.compile(r"within=(\d+)")
_BOUND = re.compile(r'"\$i" -lt (\d+)')
_GUARD = 'mkdir "$b/begun"'
_SLOW = 2000.0
_FAILED = 3


@dataclass(slots=True)
class Script:
    """One script that was begun on a disk, in true seconds: when it ends by itself, and how."""

    box: HostId
    machine: MachineId
    begun: float
    ends: float
    bound: float
    status: str
    noted: str = ""


class Witness(Protocol):
    """Who hears of each script at the moment when it begins."""

    def begins(self, box: HostId, machine: MachineId) -> None:
        """Hear of one."""
        ...


@dataclass(slots=True)
class Hosts:
    """All disks of the rack."""

    truth: MetalTruth
    scenario: ScriptsScenario
    random: Random
    struck: Callable[[str], None]
    judge: Witness | None = None
    disks: dict[tuple[HostId, MachineId], Script] = field(
        default_factory=dict[tuple[HostId, MachineId], Script]
    )
    calm: bool = False

    def box_at(self, address: str) -> HostId | None:
        """Return the box that answers at an address; None where none does."""
        boxes = self.truth.rack.boxes()
        up = (box for box in boxes if box.condition is Condition.UP and box.address == address)
        return next((HostId(box.id) for box in up), None)

    def strikes(self, fault: str) -> bool:
        """Tell whether a fault strikes now, and count it."""
        rate = 0.0 if self.calm else self.scenario.rates.get(fault, 0.0)
        if not rate or self.random.random() >= rate:
            return False
        self.struck(fault)
        return True

    # ------------------------------------------------------------ what a shell does

    def begin(self, box: HostId, text: str, content: bytes) -> str:
        """Do what a command does that begins a script; return what it prints."""
        (machine,), (size,), (within,) = (
            pattern.findall(text)[:1] for pattern in (_FOLDER, _SIZE, _WITHIN)
        )
        if len(content) != int(size):
            return "it did not arrive whole"
        key = box, MachineId(machine)
        if _GUARD not in text or key not in self.disks:
            if self.judge is not None:
                self.judge.begins(*key)
            self.disks[key] = self._begun(box, MachineId(machine), float(within))
        return "hostler: end"

    def _begun(self, box: HostId, machine: MachineId, within: float) -> Script:
        now, lasts = self.truth.now, self.random.uniform(*self.scenario.lasts)
        status = "0"
        if self.strikes(SLOW):
            lasts = _SLOW
        elif self.strikes(FAILS):
            status = str(_FAILED)
        elif self.strikes(KILLED):
            status = ""
        return Script(box, machine, now, now + lasts, now + within, status)

    def bound_of(self, text: str) -> float:
        """Return for how many seconds a command that follows a script waits for its end."""
        (bound,) = _BOUND.findall(text)[:1]
        return float(bound)

    def word(self, box: HostId, text: str) -> str:
        """Return in the word of a command that follows a script how that stands now."""
        (machine,) = _FOLDER.findall(text)[:1]
        script = self.disks.get((box, MachineId(machine)))
        if script is None:
            return "waiting"
        state = self.state(script)
        if state == "lost":
            script.noted = state = "cut"
        return state if state == "running" else f"ended {state}"

    # ------------------------------------------------------------ what is true

    def state(self, script: Script) -> str:
        """Return how a script stands: *running*, *lost* without a status, or its status."""
        if script.noted:
            return script.noted
        over, off = min(script.ends, script.bound), self._went_off(script)
        if off is not None and off < over:
            return "lost"
        if self.truth.now < over:
            return "running"
        return "late" if script.bound < script.ends else script.status or "lost"

    def is_done(self, box: HostId, machine: MachineId) -> bool:
        """Tell whether a machine's script ran to its end on a box."""
        script = self.disks.get((box, machine))
        return script is not None and self.state(script) == "0"

    def _went_off(self, script: Script) -> float | None:
        """Return when its box first stood otherwise than up since it was begun."""
        for entry in self.truth.rack.log:
            at = (entry.at - BEGINNING).total_seconds()
            if entry.box == script.box and at > script.begun and entry.condition is not _UP:
                return at
        return None


_UP = Condition.UP
