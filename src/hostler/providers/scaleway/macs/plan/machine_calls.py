"""Ways: the pure half: which calls bring a Mac from where its name and status say it is to a goal.

Every rename names the name that it expects to find, and is looked up afresh just before. A claim is
believed when its pending mark still stands after settle. At no moment does a host bear a name that
anybody may claim while a wipe since its last use is not proved.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hostler.domain.hosts.claims import ADOPTED, CLEAN, clean_name
from hostler.domain.ids import HostId, PartId
from hostler.domain.machines import bootstrap
from hostler.domain.model.calls import Argument, Call, Effect, Shows
from hostler.domain.model.host import tenancy
from hostler.domain.model.machine import RESTED, RETIRE, Asked, Fate, Machine, Origin
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Part, Slot
from hostler.domain.observation.effects import came_late, witness_of
from hostler.providers.scaleway.macs.api.images import family_key
from hostler.providers.scaleway.macs.api.networks import missing

from .names import Stage
from .read import SERVER

MARK, FREE, REINSTALL, REBOOT = "mac.mark", "mac.free", "mac.reinstall", "mac.reboot"
ORDER, UNSCHEDULE = "mac.order", "mac.unschedule"
ATTACH = "mac.attach"
UNCOMMIT, DETACH, DELETE, SCHEDULE = "mac.uncommit", "mac.detach", "mac.delete", "mac.schedule"

STAGES = frozenset(str(stage) for stage in Stage)
_IN_USE = frozenset({Phase.READY, Phase.DRAINING})
_OPEN_TO_US = STAGES | {"pool"}
"""The stages from which a host that is a machine's by its tie may be marked for that machine."""


def mark_kind(stage: Stage) -> str:
    """Return the kind of the call that marks a host: each stage is a call of its own."""
    return f"{MARK}.{stage}"


def next_calls(  # noqa: PLR0913 - what the port gives, and two settings
    goal: Goal,
    machine: Machine,
    parts: tuple[Part, ...],
    now: datetime,
    settle: timedelta,
    *,
    networks: tuple[str, ...] = (),
) -> tuple[Call, ...]:
    """Return the calls that may be made now for a machine; nothing without a host of its own."""
    if machine.host is None:
        return ()
    mine = tenancy(machine.host, machine.id)
    part = next((part for part in parts if part.id == mine), None)
    if part is None:
        claims = goal is Goal.PRESENT and machine.bound(SERVER) is None
        return (_claim(machine),) if claims else ()
    if part.status == "promised" or not _is_open(machine, part):
        return ()
    way = Way(machine, part, now, settle, networks)
    match goal:
        case Goal.PRESENT:
            return way.present()
        case Goal.RESTING:
            return way.resting()
        case Goal.ABSENT:
            return way.absent()


def _is_open(machine: Machine, part: Part) -> bool:
    """Tell whether a host may be named for this machine: an adopted mark is another's no more.

    A claim that took effect too late to be believed is nobody's: all hold.
    """
    if part.mark is not None and came_late(machine, part.note("stage")):
        return False
    adopted = part.note("stage") == "foreign" and part.mark is not None
    return part.note("stage") in _OPEN_TO_US or (adopted and machine.origin is Origin.ADOPTED)


@dataclass(frozen=True, slots=True)
class Way:
    """One machine's way on the host that it has."""

    machine: Machine
    part: Part
    now: datetime
    settle: timedelta
    networks: tuple[str, ...] = ()

    @property
    def stage(self) -> str:
        """The stage that the host's name tells for this machine; empty where it names another."""
        foreign = self.part.mark is None or self.part.note("stage") == "foreign"
        return "" if foreign else self.part.note("stage")

    def present(self) -> tuple[Call, ...]:
        """Claim: pending, settled, wiped unless it was proved clean, claimed."""
        match self.stage:
            case Stage.CLAIMED:
                return self._reboot() or self._attach()
            case Stage.PENDING if not self._settled():
                return ()
            case Stage.PENDING if not (self._is_clean() or self._is_fit()):
                return self._wipe(Effect.CHANGE)
            case Stage.PENDING | Stage.RESTED:
                return self._taken() if self.part.status == "ready" else ()
            case Stage.RESTING | Stage.RELEASING:
                return ()
            case _:
                return self._again()

    def _taken(self) -> tuple[Call, ...]:
        """Mark the host as in use. Who wiped it while it rested did no harm: that is forgotten."""
        call = _mark(self.machine, self.part, Stage.CLAIMED)
        rested = self.stage == Stage.RESTED
        return (replace(call, witness=self.part.note("witness")) if rested else call,)

    def _reboot(self) -> tuple[Call, ...]:
        """Reboot once for each time that it was decided, whatever that took."""
        since, last = self.machine.fact(bootstrap.REBOOT), self.machine.last_asked(SERVER, REBOOT)
        if since is None or self.part.status not in {"ready", "error"}:
            return ()
        if last is not None and last.at >= since and last.fate in {Fate.DONE, Fate.OPEN}:
            return ()
        return (expecting(self.part, REBOOT, SERVER),)

    def _attach(self) -> tuple[Call, ...]:
        """Put the host into the private networks that its fleet asks for, one after the other."""
        lacking = missing(self.networks, self.part.note("nics"))
        lacking = tuple(network for network in lacking if not self._was_asked(network))
        if not lacking or self.part.status != "ready":
            return ()
        network = lacking[0]
        return (expecting(self.part, f"{ATTACH}.{network}", SERVER, ("network", network)),)

    def _was_asked(self, network: str) -> bool:
        """Tell whether looks may still lack what was asked for."""
        asked = self.machine.last_asked(SERVER, f"{ATTACH}.{network}")
        if asked is None or asked.fate not in {Fate.DONE, Fate.OPEN}:
            return False
        return self.now < (asked.closed or asked.at) + self.settle

    def _again(self) -> tuple[Call, ...]:
        """Mark a host that is ours by its tie, and lost its name to somebody or a late call.

        One that rested may have been used under that name: it is taken as any other host. Where the
        machine is ready it is in use, and whatever was asked for since is over.
        """
        in_use = self.machine.phase in _IN_USE or not self._has_rested()
        used = self.machine.was_ready is not None and in_use
        return (_mark(self.machine, self.part, Stage.CLAIMED if used else Stage.PENDING),)

    def resting(self) -> tuple[Call, ...]:
        """Rest: not for anybody, wiped, and then ours by name."""
        match self.stage:
            case Stage.RESTED | Stage.RELEASING:
                return ()
            case Stage.RESTING if self._is_wiped():
                return (_mark(self.machine, self.part, Stage.RESTED),)
            case Stage.RESTING:
                return self._wipe(Effect.CHANGE)
            case _:
                return (_mark(self.machine, self.part, Stage.RESTING),)

    def absent(self) -> tuple[Call, ...]:
        """Release: not for anybody, a wipe that is seen, and on to the host's own record.

        A claim that ends before it settled may be another's by now: that shows once it would have.
        """
        if self.stage == Stage.PENDING and not self._settled():
            return ()
        if self.machine.fact(RETIRE) is not None:
            return (_mark(self.machine, self.part, Stage.RETIRING, Effect.DESTROY),)
        if self.stage != Stage.RELEASING:
            return (_mark(self.machine, self.part, Stage.RELEASING, Effect.DESTROY),)
        wipe = self._last_wipe()
        if wipe is not None and wipe.fate is Fate.DONE and not self._failed(wipe):
            return (_mark(self.machine, self.part, Stage.WIPING, Effect.DESTROY),)
        return self._wipe(Effect.DESTROY)

    def _has_rested(self) -> bool:
        """Tell whether the machine rested, and did not get its host back since."""
        rested = self.machine.fact(RESTED)
        claimed = self.machine.last_asked(SERVER, mark_kind(Stage.CLAIMED))
        if rested is None or claimed is None:
            return rested is not None
        return claimed.at <= rested or claimed.fate not in {Fate.DONE, Fate.OPEN}

    def _is_clean(self) -> bool:
        """Tell whether the host was proved clean when it was claimed, and is for that claim."""
        clean, rested = self.machine.fact(CLEAN), self.machine.fact(RESTED)
        return clean is not None and (rested is None or rested < clean)

    def _settled(self) -> bool:
        pended = self.machine.last_asked(SERVER, mark_kind(Stage.PENDING))
        if pended is None:
            return True
        return self.now >= (pended.closed or pended.at) + self.settle

    def _last_wipe(self) -> Asked | None:
        """Return the newest wipe that was asked for since the stage that needs it began."""
        wipe = self.machine.last_asked(SERVER, REINSTALL)
        marked = self.machine.last_asked(SERVER, mark_kind(Stage(self.stage)))
        if wipe is None or (marked is not None and wipe.at < marked.at):
            return None
        return wipe

    def _is_wiped(self) -> bool:
        wipe = self._last_wipe()
        seen = wipe is not None and wipe.fate is Fate.DONE
        return seen and self.part.status == "ready"

    def _is_fit(self) -> bool:
        """Tell whether the host was wiped, and to what the machine asked for."""
        return self._is_wiped() and not self._is_other()

    def _is_astray(self, wipe: Asked) -> bool:
        return self.stage == Stage.PENDING and wipe.fate is Fate.DONE and self._is_other()

    def _is_other(self) -> bool:
        """Tell whether somebody else's wipe left another system than ours would have."""
        asked, runs = family_key(self.machine.offer.image), self.part.note("family")
        return self.part.status == "ready" and "" not in {asked, runs} and asked != runs

    def _failed(self, wipe: Asked) -> bool:
        return wipe.fate is Fate.DONE and self.part.condition is Condition.FAILED

    def _wipe(self, effect: Effect) -> tuple[Call, ...]:
        """Ask for a wipe, unless one is under way; one that ended in error is asked for again."""
        wipe = self._last_wipe()
        under_way = wipe is not None and wipe.fate in {Fate.OPEN, Fate.DONE}
        again = wipe is not None and (self._failed(wipe) or self._is_astray(wipe))
        if under_way and not again:
            return ()
        if self.part.status not in {"ready", "error"}:
            return ()
        family = self.machine.offer.image
        return (reinstall(self.part, SERVER, self.part.id, effect, family),)


def expecting(part: Part, kind: str, slot: Slot, *args: tuple[str, Argument]) -> Call:
    """Return a call on a host that must still bear the name that it bore; it is made once."""
    return Call(
        kind=kind,
        slot=slot,
        zone=part.zone,
        effect=Effect.CHANGE,
        target=part.id,
        once=True,
        shows=Shows.NOTHING,
        args=(("expect", part.name), *args),
    )


def marking(part: Part, stage: Stage, slot: Slot, *args: tuple[str, Argument]) -> Call:
    """Return the rename of a host that must still bear the name that it bore."""
    call = expecting(part, mark_kind(stage), slot, ("stage", str(stage)), *args)
    return replace(call, shows=Shows.MARK, aim=str(stage))


def _claim(machine: Machine) -> Call:
    """Return the first rename: it makes the tenancy. A host that is clean is so under one name."""
    return Call(
        kind=mark_kind(Stage.PENDING),
        slot=SERVER,
        zone=machine.offer.zone,
        effect=Effect.MAKE,
        once=True,
        shows=Shows.MARK,
        aim=str(Stage.PENDING),
        args=(
            *_whose(machine),
            ("stage", str(Stage.PENDING)),
            ("expect", clean_name(machine)),
            ("wipes", machine.fact(CLEAN) is None),
        ),
    )


def _mark(machine: Machine, part: Part, stage: Stage, effect: Effect = Effect.CHANGE) -> Call:
    call = marking(part, stage, SERVER, *_whose(machine))
    return replace(call, effect=effect, witness=part.note("witness") or witness_of(machine))


def _whose(machine: Machine) -> tuple[tuple[str, Argument], ...]:
    return (
        ("host", machine.host or HostId("")),
        ("fleet", machine.fleet),
        ("machine", machine.id),
        ("type", machine.offer.type),
        ("family", machine.offer.image),
        ("adopted", machine.fact(ADOPTED) is not None),
    )


def reinstall(part: Part, slot: Slot, target: PartId, effect: Effect, family: str = "") -> Call:
    """Return a wipe of a host that must still bear the name that it bore."""
    call = expecting(part, REINSTALL, slot, ("type", part.note("type")), ("family", family))
    wipe = replace(call, target=target, effect=effect)
    return replace(wipe, shows=Shows.WIPE, witness=part.note("witness"))
