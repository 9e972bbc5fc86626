"""Adopting: a HostlerMachine whose machine no record has, and that says which host it is. Pure.

Objects that were imported from an older provider name their host by its providerID. A person says
with an annotation, which has the host's whole name, that it is taken over as it is: nothing is
wiped, and nobody else's host is taken because of a number in an object.
"""

from datetime import timedelta

from hostler.domain.ids import MachineId

from .acts import Adopt, Decision, unready, without_fleet
from .identity import former_host
from .names import ADOPT
from .reasons import ReadyReason
from .standing import View

_SOON = timedelta(seconds=2)
_LATER = timedelta(seconds=30)
_SELDOM = timedelta(minutes=5)


def decide(view: View, machine: MachineId) -> Decision:
    """Return what is done about an object that was ready once, without a record of its machine."""
    host = former_host(view.wants.provider_id)
    if host is None or view.standing.issued:
        text = f"no record has machine {machine}: was this object moved here from another store?"
        if asker := view.standing.asker:
            text = f"{asker} asked for machine {machine}, and has it: delete this copy"
        return unready(view, ReadyReason.MACHINE_UNKNOWN, text, _SELDOM)
    if view.standing.requested:
        text = f"host {host} is being taken over as machine {machine}"
        return unready(view, ReadyReason.PROVISIONING, text, _SOON)
    if lacking := without_fleet(view):
        return lacking
    if view.standing.refused:
        return unready(view, ReadyReason.REFUSED, view.standing.refused, _LATER)
    name = (view.item.metadata.annotations or {}).get(ADOPT, "")
    if not name:
        text = (
            f"host {host} is not ours: annotate this with {ADOPT}=NAME, its whole name, to take it"
        )
        return unready(view, ReadyReason.MACHINE_UNKNOWN, text, _SELDOM)
    return Decision(act=Adopt(machine=machine, host=host, name=name))
