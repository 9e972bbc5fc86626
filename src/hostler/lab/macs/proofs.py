"""Proofs: a host that is clean, or that is taken as clean, counts as that until it is touched.

A proof that is dropped without a cause costs a wipe that nobody needs, and its time, whenever a
machine takes a host.
"""

from dataclasses import dataclass, field
from datetime import datetime

from hostler.domain.ids import HostId, InstallationId, MachineId
from hostler.domain.model.host import Host, HostCondition
from hostler.domain.model.machine import Machine
from hostler.testing.invariants import Found, Violation
from hostler.testing.time.clock import BEGINNING

from .ground_truth import Change

_CLEAN = "clean"
"""The fact of a machine that its host was proved clean when it took it."""

_PERSON = InstallationId("")
_PROVED = frozenset({HostCondition.WIPING, HostCondition.FREE})
"""The conditions of hosts that no machine has and whose wipe may be proved."""


@dataclass(slots=True)
class Proofs:
    """When each host was last renamed or wiped, by whom; `before` is for how long that counts.

    `hosts` are the newest records of the hosts of each installation.
    """

    before: float
    touched: dict[HostId, dict[InstallationId, float]] = field(
        default_factory=dict[HostId, dict[InstallationId, float]]
    )
    hosts: dict[tuple[InstallationId, HostId], Host] = field(
        default_factory=dict[tuple[InstallationId, HostId], Host]
    )

    def changed(self, change: Change, now: float) -> None:
        """Note who touched a host; what came late is nobody's."""
        who = change.by.ours[0] if change.by is not None and not change.late else _PERSON
        self.touched.setdefault(change.host, {})[who] = now

    def saved(self, own: InstallationId, before: Machine | None, after: Machine) -> Found:
        """Judge a record that no longer has the proof it had, of the same host."""
        proved = before.fact(_CLEAN) if before is not None else None
        if before is None or proved is None or after.host is None or after.host != before.host:
            return ()
        if after.fact(_CLEAN) is not None or after.deletion is not None:
            return ()
        return self._dropped(own, after.host, proved, after.id)

    def host_saved(self, own: InstallationId, after: Host, *, steady: float | None) -> Found:
        """Judge the record of a host of its own that no longer has the proof of its wipe.

        `steady` is since when all was well with the host in truth, in seconds; None where it is not
        now, or somebody asked for something of it.
        """
        before = self.hosts.get((own, after.id))
        self.hosts[own, after.id] = after
        proved = before.cleaning.wiped if before and before.condition in _PROVED else None
        if before is None or proved is None or after.cleaning.wiped is not None:
            return ()
        held = before.hold is not None or after.hold is not None
        if held or after.condition is not HostCondition.DIRTY or steady is None:
            return ()
        if steady > (proved - BEGINNING).total_seconds():
            return ()
        return self._dropped(own, after.id, proved, after.machine)

    def _dropped(
        self, own: InstallationId, host: HostId, proved: datetime, machine: MachineId | None
    ) -> Found:
        since = (proved - BEGINNING).total_seconds() - self.before
        others = {who: at for who, at in self.touched.get(host, {}).items() if who != own}
        if any(at >= since for at in others.values()):
            return ()
        text = f"host {host} counts as unclean, and nobody else touched it"
        return (Violation(invariant="S12", text=text, machine=machine),)
