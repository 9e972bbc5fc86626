"""Provision: how a HostlerMachine comes to its machine, and how that one stands. Pure.

A Machine of Cluster API never goes back from provisioned, and never changes its providerID. So a
machine that was ready once and is lost stays lost here: whoever owns the Machine replaces it.
"""

from datetime import timedelta

from hostler.domain.fleets.offers import NO_LOGIN, bootstrap_problem
from hostler.domain.ids import MachineId
from hostler.domain.machines.failure import REFUSALS
from hostler.domain.model.calls import Refusal
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase, Reason, sentence

from . import adopting
from .acts import Claim, Decision, Grow, Place, unready, waiting, without_fleet
from .conditions import READY, condition, merged, paused
from .identity import is_same_host, next_id
from .objects import Condition, Initialization, MachineStatus
from .reasons import ReadyReason
from .standing import View

_SOON = timedelta(seconds=2)
_LATER = timedelta(seconds=30)
_SELDOM = timedelta(minutes=5)
_PAUSE = timedelta(seconds=30)
"""How long after a machine came to nothing another one is asked for."""

_NO_HOST = frozenset({str(Reason.NO_AVAILABLE_HOST), str(Reason.OUT_OF_STOCK)})


def decide(view: View) -> Decision:
    """Return what is done next for an object that has its Machine and its Cluster."""
    machine, standing = view.id, view.standing
    if not view.holds or machine is None:
        return Decision(act=Claim(machine=machine or next_id(view.item.metadata)))
    if not standing.known:
        return Decision(again=_SOON)
    if standing.machine is not None:
        return _recorded(view, standing.machine)
    if view.wants.provider_id:
        return adopting.decide(view, machine)
    if standing.requested:
        return unready(view, ReadyReason.PROVISIONING, _coming_text(view), _LATER)
    return _unrecorded(view, machine)


# ---------------------------------------------------------------- not on record


def _unrecorded(view: View, machine: MachineId) -> Decision:
    """Ask for the machine, where nothing is in the way of it."""
    if view.standing.issued:
        return _again(view)
    held = _held(view) or _unsuitable(view) or _blocked(view)
    return held or Decision(act=Grow(machine=machine, spec=view.spec))


def _held(view: View) -> Decision | None:
    """Return what has to be done by others before a machine is asked for."""
    cluster = view.cluster.status if view.cluster is not None else None
    if cluster is None or not cluster.initialization.infrastructure_provisioned:
        return waiting(view, ReadyReason.WAITING_FOR_CLUSTER, "the cluster is not provisioned yet")
    if view.bootstrap is None:
        text = "the bootstrap provider has not made the data yet"
        return waiting(view, ReadyReason.WAITING_FOR_BOOTSTRAP, text, _LATER)
    if view.bootstrap.reason is not None:
        return unready(view, view.bootstrap.reason, view.bootstrap.problem, _LATER)
    return None


def _unsuitable(view: View) -> Decision | None:
    """Return why this fleet can never have such a machine."""
    fleet, name = view.standing.fleet, view.wants.fleet_name
    if fleet is None or fleet.removed or fleet.renews:
        return without_fleet(view)
    capabilities = view.standing.capabilities
    if capabilities is not None and (why := bootstrap_problem(view.spec, capabilities, fleet)):
        text = f"fleet {name}: {why}; with empty data its own setup makes the machine join"
        foreign = bool(capabilities.bootstraps) and why != NO_LOGIN
        reason = ReadyReason.BOOTSTRAP_UNSUPPORTED if foreign else ReadyReason.FLEET_UNSUITABLE
        return unready(view, reason, text, _LATER)
    if any(view.spec.accepts(offer) for offer in fleet.offers):
        return None
    offered = ", ".join(str(offer) for offer in fleet.offers) or "none"
    text = f"no offer of fleet {name} is {view.spec}; it has {offered}"
    return unready(view, ReadyReason.NO_SUCH_OFFER, text, _LATER)


def _blocked(view: View) -> Decision | None:
    """Return why the engine accepts no such machine for now."""
    standing = view.standing
    if standing.refused:
        return unready(view, ReadyReason.REFUSED, standing.refused, _LATER)
    if standing.blocker:
        return unready(view, ReadyReason.NO_CAPACITY, standing.blocker, _LATER)
    return None


def _coming_text(view: View) -> str:
    return f"machine {view.id} of fleet {view.wants.fleet_name} is being made"


def _again(view: View) -> Decision:
    """Take the next id: what stood under this one came to nothing."""
    return Decision(act=Claim(machine=next_id(view.item.metadata, view.wants.machine_id)))


# ---------------------------------------------------------------- on record


def _recorded(view: View, machine: Machine) -> Decision:
    was_ready = bool(view.wants.provider_id)
    if machine.phase is Phase.READY and machine.deletion is None:
        return _ready(view, machine)
    if machine.phase is Phase.DELETED or machine.deletion is not None:
        return _ended(view, machine) if was_ready else _came_to_nothing(view, machine)
    return _troubled(view, machine) if was_ready else _coming(view, machine)


def _ready(view: View, machine: Machine) -> Decision:
    before, provider_id = view.wants.provider_id, view.standing.provider_id
    if not before:
        return _placed(view, machine)
    if provider_id and provider_id != before and not is_same_host(before, provider_id):
        text = f"machine {machine.id} has providerID {provider_id} by now"
        return unready(view, ReadyReason.IDENTITY_CHANGED, text, _LATER)
    changes = (paused(holds=False), condition(READY, ReadyReason.PROVISIONED, holds=True))
    return Decision(status=_provisioned(view, machine, changes))


def _placed(view: View, machine: Machine) -> Decision:
    """Write the providerID, unless another object has it still.

    A host outlives its machines. Core finds a Machine's Node by this id, and drains and deletes it
    with the Machine: the new one's Node would go with the old Machine.
    """
    provider_id = view.standing.provider_id
    if not provider_id:
        return _coming(view, machine)
    if view.rival:
        text = f"{view.rival} lost this host and has its providerID still: delete its Machine"
        return unready(view, ReadyReason.IDENTITY_TAKEN, text, _LATER)
    return Decision(act=Place(provider_id=provider_id))


def _provisioned(view: View, machine: Machine, changes: tuple[Condition, ...]) -> MachineStatus:
    """Return the status of a machine that is there, as it was ready once."""
    ready = any(change.type == READY and change.status == "True" for change in changes)
    return MachineStatus(
        ready=ready,
        initialization=Initialization(provisioned=True),
        addresses=view.standing.addresses or view.status.addresses,
        failure_domain=str(machine.offer.zone) or view.status.failure_domain,
        conditions=merged(view.status.conditions, changes, view.now),
    )


def _coming(view: View, machine: Machine) -> Decision:
    """Return that a machine is being made, and what holds it up."""
    reason, text = _held_up(view, machine)
    soon = machine.phase is Phase.READY  # its providerID is still to be observed
    return unready(view, reason, text, _SOON if soon else _LATER)


def _held_up(view: View, machine: Machine) -> tuple[ReadyReason, str]:
    """Return what a machine on its way waits for, and that in a sentence."""
    text, bootstrap = _coming_text(view), view.bootstrap
    if view.needs_bootstrap and bootstrap is None:
        text = f"machine {machine.id} is not started: its bootstrap data is not there any more"
        return ReadyReason.BOOTSTRAP_MISSING, text
    if bootstrap is not None and bootstrap.reason is not None:
        return bootstrap.reason, bootstrap.problem
    if machine.health.refused is Refusal.BOOTSTRAP:
        return ReadyReason.BOOTSTRAP_FAILED, _why_refused(view, machine)
    if machine.phase in {Phase.STOPPING, Phase.FAILED}:
        return ReadyReason.RETRYING, _trouble(machine)
    if machine.phase is Phase.PENDING and view.standing.condition:
        text = view.standing.condition
    if machine.reason in _NO_HOST:
        return ReadyReason.NO_AVAILABLE_HOST, text
    if machine.host is not None and machine.spec.bootstrap and machine.error:
        text = f"{text}: {machine.error}"
    waits = machine.phase is Phase.PENDING and view.standing.condition
    return ReadyReason.NO_CAPACITY if waits else ReadyReason.PROVISIONING, text


def _came_to_nothing(view: View, machine: Machine) -> Decision:
    """Ask for another one after a pause, unless this one was refused for good."""
    if machine.health.refused is Refusal.BOOTSTRAP:
        return unready(view, ReadyReason.BOOTSTRAP_FAILED, _why_refused(view, machine), _SELDOM)
    if machine.phase is not Phase.DELETED:
        return unready(view, ReadyReason.RETRYING, _trouble(machine), _LATER)
    if machine.health.refused is not None or machine.reason == Reason.REFUSED:
        return unready(view, ReadyReason.REFUSED, _why_refused(view, machine), _SELDOM)
    left = _PAUSE - (view.now - machine.since)
    if left > timedelta(0):
        return unready(view, ReadyReason.RETRYING, _trouble(machine), left)
    return _again(view)


def _why_refused(view: View, machine: Machine) -> str:
    """Return why a machine was refused for good; its clean-up took the words off its record."""
    if machine.error or machine.health.refused is None:
        return _trouble(machine)
    if words := view.standing.words:
        return f"machine {machine.id} is {machine.phase}: {words}"
    why = sentence(REFUSALS[machine.health.refused])
    return f"machine {machine.id} was refused: {why}; `hostler history {machine.id}` has more"


def _troubled(view: View, machine: Machine) -> Decision:
    """Return how a machine stands that was ready and is not."""
    reason = {
        Phase.STANDBY: ReadyReason.STANDBY,
        Phase.STARTING: ReadyReason.PROVISIONING,
        Phase.FAILED: ReadyReason.MACHINE_FAILED,
    }.get(machine.phase, ReadyReason.MACHINE_ENDING)
    change = condition(READY, reason, _trouble(machine), holds=False)
    status = _provisioned(view, machine, (paused(holds=False), change))
    return Decision(status=status, again=_LATER)


def _ended(view: View, machine: Machine) -> Decision:
    over = machine.phase is Phase.DELETED
    reason = ReadyReason.MACHINE_LOST if over else ReadyReason.MACHINE_ENDING
    change = condition(READY, reason, _trouble(machine), holds=False)
    status = _provisioned(view, machine, (paused(holds=False), change))
    return Decision(status=status, again=_SELDOM if over else _LATER)


def _trouble(machine: Machine) -> str:
    """Return what became of a machine, in a sentence that stands still as long as that is so."""
    asked = machine.deletion
    if asked is not None:
        return f"machine {machine.id}: its end was requested by {asked.actor}"
    why = machine.error or sentence(machine.reason)
    return f"machine {machine.id} is {machine.phase}: {why}".removesuffix(": ")
