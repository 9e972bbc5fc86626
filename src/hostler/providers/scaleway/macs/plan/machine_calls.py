"""Machine calls: which bring a Mac from where its name and status say it is to a goal. Pure.

Every rename names the name that it expects to find, and is looked up afresh just before. A claim is
believed when its pending owner tag still stands after the consistency delay. At no moment does a
host bear a name that anybody may claim while a wipe since its last use is not proved.
"""

from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.hosts.claims import ADOPTED, CLEAN, clean_name
from hostler.domain.ids import HostId, ResourceId
from hostler.domain.machines import bootstrap
from hostler.domain.model.calls import Argument, Call, Effect, Shows
from hostler.domain.model.host import allocation_of
from hostler.domain.model.machine import RESTED, RETIRE, Asked, CallState, Machine, Origin
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Resource, Slot, Stage
from hostler.domain.observation.effects import came_late, witness_of
from hostler.providers.scaleway.macs.api.images import family_key
from hostler.providers.scaleway.macs.api.networks import missing
from hostler.providers.scaleway.macs.plan.names import STAGES

from .read import SERVER

OWNER_TAG, FREE, REINSTALL, REBOOT = "mac.rename", "mac.free", "mac.reinstall", "mac.reboot"
ORDER, UNSCHEDULE = "mac.order", "mac.unschedule"
ATTACH = "mac.attach"
UNCOMMIT, DETACH, DELETE, SCHEDULE = "mac.uncommit", "mac.detach", "mac.delete", "mac.schedule"

_IN_USE = frozenset({Phase.READY, Phase.DRAINING})
_OPEN_TO_US = STAGES | {Stage.POOL}
"""The stages from which a host that is bound to a machine may be tagged for that machine."""


def tag_kind(stage: Stage) -> str:
    """Return the kind of the call that names a host: each stage is a call of its own."""
    return f"{OWNER_TAG}.{stage}"


def next_calls(  # noqa: PLR0913 - what the port gives, and two settings
    goal: Goal,
    machine: Machine,
    resources: tuple[Resource, ...],
    now: datetime,
    consistency_delay: timedelta,
    *,
    networks: tuple[str, ...] = (),
) -> tuple[Call, ...]:
    """Return the calls that may be made now for a machine; nothing without a host of its own."""
    if machine.host is None:
        return ()
    mine = allocation_of(machine.host, machine.id)
    resource = next((resource for resource in resources if resource.id == mine), None)
    if resource is None:
        claims = goal is Goal.PRESENT and machine.bound(SERVER) is None
        return (_claim(machine),) if claims else ()
    if resource.status == "promised" or not _is_open(machine, resource):
        return ()
    way = Way(machine, resource, now, consistency_delay, networks)
    match goal:
        case Goal.PRESENT:
            return way.present()
        case Goal.STANDBY:
            return way.resting()
        case Goal.ABSENT:
            return way.absent()


def _is_open(machine: Machine, resource: Resource) -> bool:
    """Tell whether a host may be named for this machine: an adopted owner tag is another's no more.

    A claim that took effect too late to be believed is nobody's: all sides stop.
    """
    if resource.owner_tag is not None and came_late(machine, resource.host.stage):
        return False
    adopted = resource.host.stage is Stage.FOREIGN and resource.owner_tag is not None
    return resource.host.stage in _OPEN_TO_US or (adopted and machine.origin is Origin.ADOPTED)


class Way(Struct, frozen=True):
    """One machine's way on the host that it has."""

    machine: Machine
    resource: Resource
    now: datetime
    consistency_delay: timedelta
    networks: tuple[str, ...] = ()

    @property
    def stage(self) -> Stage:
        """The stage that the host's name tells for this machine; NONE where it names another."""
        foreign = self.resource.owner_tag is None or self.resource.host.stage is Stage.FOREIGN
        return Stage.NONE if foreign else self.resource.host.stage

    def present(self) -> tuple[Call, ...]:
        """Claim: pending, settled, wiped unless it was proved clean and is well, claimed."""
        match self.stage:
            case Stage.CLAIMED:
                return self._reboot() or self._attach()
            case Stage.PENDING if not self._settled():
                return ()
            case Stage.PENDING | Stage.RESTED if self._is_unfit():
                return self._wipe(Effect.CHANGE)
            case Stage.PENDING | Stage.RESTED:
                return self._taken() if self.resource.status == "ready" else ()
            case Stage.STANDBY | Stage.RELEASING:
                return ()
            case _:
                return self._again()

    def _taken(self) -> tuple[Call, ...]:
        """Tag the host as in use. Who wiped it while it rested did no harm: that is forgotten."""
        call = _owner_tag(self.machine, self.resource, Stage.CLAIMED)
        rested = self.stage is Stage.RESTED
        return (replace(call, witness=self.resource.host.witness) if rested else call,)

    def _reboot(self) -> tuple[Call, ...]:
        """Reboot once for each time that it was decided, whatever that took."""
        since, last = self.machine.fact(bootstrap.REBOOT), self.machine.last_asked(SERVER, REBOOT)
        if since is None or self.resource.status not in {"ready", "error"}:
            return ()
        if (
            last is not None
            and last.at >= since
            and last.call_state in {CallState.DONE, CallState.OPEN}
        ):
            return ()
        return (replace(expecting(self.resource, REBOOT, SERVER), reboots=True),)

    def _attach(self) -> tuple[Call, ...]:
        """Put the host into the private networks that its fleet asks for, one after the other."""
        lacking = missing(self.networks, self.resource.note("nics"))
        lacking = tuple(network for network in lacking if not self._was_asked(network))
        if not lacking or self.resource.status != "ready":
            return ()
        network = lacking[0]
        return (expecting(self.resource, f"{ATTACH}.{network}", SERVER, ("network", network)),)

    def _was_asked(self, network: str) -> bool:
        """Tell whether observations may still lack what was asked for."""
        asked = self.machine.last_asked(SERVER, f"{ATTACH}.{network}")
        if asked is None or asked.call_state not in {CallState.DONE, CallState.OPEN}:
            return False
        return self.now < (asked.closed or asked.at) + self.consistency_delay

    def _again(self) -> tuple[Call, ...]:
        """Tag a host that is ours by its binding, and lost its name to somebody or a late call.

        One that was in standby may have been used under that name: it is taken as any other host.
        Where the machine is ready it is in use, and whatever was asked for since is over.
        """
        in_use = self.machine.phase in _IN_USE or not self._has_rested()
        used = self.machine.health.was_ready is not None and in_use
        return (_owner_tag(self.machine, self.resource, Stage.CLAIMED if used else Stage.PENDING),)

    def resting(self) -> tuple[Call, ...]:
        """Standby: not for anybody, wiped, and then ours by name."""
        match self.stage:
            case Stage.RESTED | Stage.RELEASING:
                return ()
            case Stage.STANDBY if self._is_wiped():
                return (_owner_tag(self.machine, self.resource, Stage.RESTED),)
            case Stage.STANDBY:
                return self._wipe(Effect.CHANGE)
            case _:
                return (_owner_tag(self.machine, self.resource, Stage.STANDBY),)

    def absent(self) -> tuple[Call, ...]:
        """Release: not for anybody, a wipe that is seen, and on to the host's own record.

        A claim that ends within its consistency delay may be another's by now: that shows once it
        would have.
        """
        if self.stage is Stage.PENDING and not self._settled():
            return ()
        if self.machine.fact(RETIRE) is not None:
            return (_owner_tag(self.machine, self.resource, Stage.RETIRING, Effect.DESTROY),)
        if self.stage is not Stage.RELEASING:
            return (_owner_tag(self.machine, self.resource, Stage.RELEASING, Effect.DESTROY),)
        wipe = self._last_wipe()
        if wipe is not None and wipe.call_state is CallState.DONE and not self._failed(wipe):
            return (_owner_tag(self.machine, self.resource, Stage.WIPING, Effect.DESTROY),)
        return self._wipe(Effect.DESTROY)

    def _has_rested(self) -> bool:
        """Tell whether the machine was in standby, and did not get its host back since."""
        rested = self.machine.fact(RESTED)
        claimed = self.machine.last_asked(SERVER, tag_kind(Stage.CLAIMED))
        if rested is None or claimed is None:
            return rested is not None
        return claimed.at <= rested or claimed.call_state not in {CallState.DONE, CallState.OPEN}

    def _is_clean(self) -> bool:
        """Tell whether the host was proved clean when it was claimed, and is for that claim."""
        clean, rested = self.machine.fact(CLEAN), self.machine.fact(RESTED)
        return clean is not None and (rested is None or rested < clean)

    def _settled(self) -> bool:
        pended = self.machine.last_asked(SERVER, tag_kind(Stage.PENDING))
        if pended is None:
            return True
        return self.now >= (pended.closed or pended.at) + self.consistency_delay

    def _last_wipe(self) -> Asked | None:
        """Return the newest wipe that was asked for since the stage that needs it began."""
        wipe = self.machine.last_asked(SERVER, REINSTALL)
        tagged = self.machine.last_asked(SERVER, tag_kind(Stage(self.stage)))
        if wipe is None or (tagged is not None and wipe.at < tagged.at):
            return None
        return wipe

    def _is_wiped(self) -> bool:
        wipe = self._last_wipe()
        seen = wipe is not None and wipe.call_state is CallState.DONE
        return seen and self.resource.status == "ready"

    def _is_fit(self) -> bool:
        """Tell whether the host was wiped, and to what the machine asked for."""
        return self._is_wiped() and not self._is_other()

    def _is_unfit(self) -> bool:
        """Tell whether a host is to be wiped before it is taken: it may be used, or in error."""
        fit = self.stage is Stage.RESTED or self._is_clean() or self._is_fit()
        return not fit or self.resource.condition is Condition.FAILED

    def _is_astray(self, wipe: Asked) -> bool:
        return (
            self.stage is Stage.PENDING and wipe.call_state is CallState.DONE and self._is_other()
        )

    def _is_other(self) -> bool:
        """Tell whether somebody else's wipe left another system than ours would have."""
        asked, runs = family_key(self.machine.offer.image), self.resource.host.image
        return self.resource.status == "ready" and "" not in {asked, runs} and asked != runs

    def _failed(self, wipe: Asked) -> bool:
        return wipe.call_state is CallState.DONE and self.resource.condition is Condition.FAILED

    def _wipe(self, effect: Effect) -> tuple[Call, ...]:
        """Ask for a wipe, unless one is under way; one that ended in error is asked for again."""
        wipe = self._last_wipe()
        under_way = wipe is not None and wipe.call_state in {CallState.OPEN, CallState.DONE}
        came_to_nothing = wipe is not None and (self._failed(wipe) or self._is_astray(wipe))
        if under_way and not came_to_nothing:
            return ()
        if self.resource.status not in {"ready", "error"}:
            return ()
        family = self.machine.offer.image
        return (reinstall(self.resource, SERVER, self.resource.id, effect, family),)


def expecting(resource: Resource, kind: str, slot: Slot, *args: tuple[str, Argument]) -> Call:
    """Return a call on a host that must still bear the name that it bore; it is made once."""
    return Call(
        kind=kind,
        slot=slot,
        zone=resource.zone,
        effect=Effect.CHANGE,
        target=resource.id,
        once=True,
        shows=Shows.NOTHING,
        args=(("expect", resource.name), *args),
    )


def marking(resource: Resource, stage: Stage, slot: Slot, *args: tuple[str, Argument]) -> Call:
    """Return the rename of a host that must still bear the name that it bore."""
    call = expecting(resource, tag_kind(stage), slot, ("stage", str(stage)), *args)
    return replace(call, shows=Shows.OWNER_TAG, aim=stage)


def _claim(machine: Machine) -> Call:
    """Return the first rename: it makes the allocation. A clean host is clean under one name."""
    return Call(
        kind=tag_kind(Stage.PENDING),
        slot=SERVER,
        zone=machine.offer.zone,
        effect=Effect.MAKE,
        once=True,
        shows=Shows.OWNER_TAG,
        aim=Stage.PENDING,
        args=(
            *_whose(machine),
            ("stage", str(Stage.PENDING)),
            ("expect", clean_name(machine)),
            ("wipes", machine.fact(CLEAN) is None),
        ),
    )


def _owner_tag(
    machine: Machine, resource: Resource, stage: Stage, effect: Effect = Effect.CHANGE
) -> Call:
    call = marking(resource, stage, SERVER, *_whose(machine))
    return replace(call, effect=effect, witness=resource.host.witness or witness_of(machine))


def _whose(machine: Machine) -> tuple[tuple[str, Argument], ...]:
    return (
        ("host", machine.host or HostId("")),
        ("fleet", machine.fleet),
        ("machine", machine.id),
        ("type", machine.offer.type),
        ("family", machine.offer.image),
        ("adopted", machine.fact(ADOPTED) is not None),
    )


def reinstall(
    resource: Resource, slot: Slot, target: ResourceId, effect: Effect, family: str = ""
) -> Call:
    """Return a wipe of a host that must still bear the name that it bore."""
    call = expecting(resource, REINSTALL, slot, ("type", resource.type), ("family", family))
    wipe = replace(call, target=target, effect=effect)
    return replace(wipe, shows=Shows.WIPE, witness=resource.host.witness)
