"""Proofs: a host that is taken as clean counts as clean until somebody else touches it.

A proof that is dropped without a cause costs a wipe that nobody needs, and its time, whenever a
machine takes a host.
"""

from dataclasses import dataclass, field

from hostler.domain.ids import HostId, InstallationId
from hostler.domain.model.machine import Machine
from hostler.testing.invariants import Found, Violation
from hostler.testing.time.clock import BEGINNING

from .ground_truth import Change

_CLEAN = "clean"
"""The fact of a machine that its host was proved clean when it took it."""

_PERSON = InstallationId("")


@dataclass(slots=True)
class Proofs:
    """When each host was last renamed or wiped, by whom; `before` is for how long that counts."""

    before: float
    touched: dict[HostId, dict[InstallationId, float]] = field(
        default_factory=dict[HostId, dict[InstallationId, float]]
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
        since = (proved - BEGINNING).total_seconds() - self.before
        others = {who: at for who, at in self.touched.get(after.host, {}).items() if who != own}
        if any(at >= since for at in others.values()):
            return ()
        text = f"host {after.host} counts as unclean, and nobody else touched it"
        return (Violation(invariant="S12", text=text, machine=after.id),)
