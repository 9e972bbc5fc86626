"""Host: what outlives machines (a Mac, a box in a rack), with goals and memory of its own.

Created servers have none. A leased or owned host is recorded here from its first claim on; which
machine has it is said by the store's bindings alone.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import AccountName, FleetName, HostId, MachineId, ResourceId, Zone, evolve
from hostler.domain.model.resource import Stage
from hostler.domain.policy.billing import Billing
from hostler.domain.policy.bootstrap_data import DataRun
from hostler.domain.policy.host_keys import HostKey
from hostler.domain.policy.remediation import Trouble
from hostler.domain.policy.revisions import Drift, Tried

from .calls import Call
from .hold import Hold, HoldKind
from .machine import Asked, CallState, Offer
from .resource import Resource, Slot

HOST = Slot("host")
"""The slot that a host fills in its own record."""


class HostCondition(StrEnum):
    """How a host stands with us.

    *coming* was ordered and is not delivered yet; *free* is proved clean and can be taken;
    *allocated* is a machine's; *dirty* may hold anybody's disk; *wiping* was seen being wiped;
    *absent* is not there any more.
    """

    COMING = "coming"
    FREE = "free"
    ALLOCATED = "allocated"
    DIRTY = "dirty"
    WIPING = "wiping"
    QUARANTINED = "quarantined"
    RETIRING = "retiring"
    ABSENT = "absent"


AWAY = frozenset({HostCondition.COMING, HostCondition.ABSENT})
"""The conditions of a host that is not there: not yet, or not any more."""


class HostGoal(StrEnum):
    """What is wanted of a host, apart from any machine on it; *pooled* is without a wipe yet."""

    CLEAN = "clean"
    OFF = "off"
    ON = "on"
    RETIRED = "retired"
    POOLED = "pooled"


class HostOrigin(StrEnum):
    """Whose idea the host was: somebody put it into a pool, or we ordered it."""

    POOL = "pool"
    ORDERED = "ordered"


class ReleasePolicy(StrEnum):
    """What somebody said about the host's end: give it up when released, or keep it in the pool."""

    TERMINATE = "terminate"
    KEEP = "keep"


class HostOwnership(Struct, frozen=True, kw_only=True):
    """How the host is marked: its name as last seen, and the prefix of its pool's names.

    `adopted` says that it is taken over from another installation, whose name it may still bear;
    `late` is the machine of which it shows a name that came too late, as long as it does.
    """

    pool: str = ""
    name: str = ""
    adopted: bool = False
    late: MachineId | None = None


class HostPower(Struct, frozen=True, kw_only=True):
    """Whether a host was last seen on, and since when; None where no observation told.

    `started` is when a machine that is deleted by now last asked that it be switched on: it may
    have drawn its current without ever being seen on. `starts` is how often it was seen to go on.
    `begun` is since when it is to go on for its own sake, None where it is not, or is on;
    `exercised` when it last was to because it had been off for long. `cycle` is how far it is on
    being switched off and on: what comes next. `unanswered` is when it was last asked to go off by
    a process that may yet send that.
    """

    on: bool | None = None
    since: datetime | None = None
    started: datetime | None = None
    starts: int = 0
    begun: datetime | None = None
    exercised: datetime | None = None
    cycle: HostGoal | None = None
    unanswered: datetime | None = None


class HostCleaning(Struct, frozen=True, kw_only=True):
    """How far the host is on its way to be clean, by what proves that.

    `wiped` is when it was proved clean, None while its disk may be anybody's; `wiping` is when the
    wipe that is under way was first seen; `cleaned` is when it was last proved clean, whatever
    happened since; `witness` is what changes with a wipe, as last seen; `image` is what it is wiped
    to.
    """

    image: str = ""
    wiped: datetime | None = None
    wiping: datetime | None = None
    cleaned: datetime | None = None
    witness: str = ""


class Purchase(Struct, frozen=True, kw_only=True):
    """On what terms we have the host.

    `order` is the id of the order that brought it, `buyer` the fleet that ordered it; `policy` is
    what somebody said about its end; `paid_until` is until when it is paid for, `renews` that
    another period is going to be; `scheduled` is when the provider will delete it.
    """

    order: MachineId | None = None
    buyer: FleetName | None = None
    origin: HostOrigin = HostOrigin.POOL
    policy: ReleasePolicy | None = None
    delivered: datetime | None = None
    paid_until: datetime | None = None
    scheduled: datetime | None = None
    renews: bool = False


class HostHealth(Struct, frozen=True, kw_only=True):
    """What went wrong with the host.

    `strikes` counts failures in a row, `struck` are the digests of the setup scripts that some of
    them came of; `trouble` is what failed at its machine; `missing` is the beginning of the first
    observation that lacked it. `stranger` while it is left alone because it showed a host key that
    is not its own.
    """

    strikes: int = 0
    struck: tuple[str, ...] = ()
    quarantined_until: datetime | None = None
    trouble: Trouble = Trouble()
    missing: datetime | None = None
    stranger: bool = False


class HostBootstrap(Struct, frozen=True, kw_only=True):
    """What was set up on the host: its SSH host key, and the digest of the script that it carries.

    `drift` is how rolling out a newer script failed; `tried` how the newest run came out.
    `run` is the one of a script that is for its machine alone.
    """

    host_key: HostKey | None = None
    applied: str = ""
    drift: Drift = Drift()
    tried: Tried = Tried()
    run: DataRun = DataRun()


class Host(Struct, frozen=True, kw_only=True):
    """One host: how it stands, what is wanted of it, its open calls, and what is known of it.

    `machine` is the one that has it, or had it last, and `fleet` that machine's; the store's
    bindings alone say who has it. `observed` is the provider's word for how it is.
    """

    id: HostId
    account: AccountName
    zone: Zone
    version: int = 0
    type: str = ""
    condition: HostCondition = HostCondition.DIRTY
    since: datetime | None = None
    reason: str = ""
    goal: HostGoal | None = None
    machine: MachineId | None = None
    fleet: FleetName | None = None
    observed: str = ""
    ownership: HostOwnership = HostOwnership()
    power: HostPower = HostPower()
    cleaning: HostCleaning = HostCleaning()
    purchase: Purchase = Purchase()
    billing: Billing = Billing()
    health: HostHealth = HostHealth()
    bootstrap: HostBootstrap = HostBootstrap()
    hold: Hold | None = None
    asked: tuple[Asked, ...] = ()
    tries: int = 0
    retry_at: datetime | None = None
    retry_since: datetime | None = None
    unknown_since: datetime | None = None
    error: str = ""

    def last_asked(self, kind: str) -> Asked | None:
        """Return the newest *once* call of this kind, or None."""
        return next((asked for asked in self.asked if asked.kind == kind), None)

    def last_call(self, call: Call) -> Asked | None:
        """Return how this *once* call was last asked, or None where it never was."""
        return self.last_asked(call.kind) if call.once else None

    def with_attempt(self, call: Call) -> "Host":
        """Return the record: a host is never made, so that no attempt of its slot is counted."""
        del call
        return self

    def with_asked(self, asked: Asked) -> "Host":
        """Return the record with this call as the newest of its kind."""
        others = tuple(entry for entry in self.asked if entry.kind != asked.kind)
        return replace(self, asked=(*others, asked))

    def with_ownership(self, **changes: object) -> "Host":
        """Return the record with these fields of its ownership."""
        return evolve(self, ownership=evolve(self.ownership, **changes))

    def with_cleaning(self, **changes: object) -> "Host":
        """Return the record with these fields of its cleaning."""
        return evolve(self, cleaning=evolve(self.cleaning, **changes))

    def with_purchase(self, **changes: object) -> "Host":
        """Return the record with these terms."""
        return evolve(self, purchase=evolve(self.purchase, **changes))

    def with_billing(self, **changes: object) -> "Host":
        """Return the record with these fields of its bill."""
        return evolve(self, billing=evolve(self.billing, **changes))

    def with_health(self, **changes: object) -> "Host":
        """Return the record with these fields of its health."""
        return evolve(self, health=evolve(self.health, **changes))

    def with_bootstrap(self, **changes: object) -> "Host":
        """Return the record with these fields of its bootstrap."""
        return evolve(self, bootstrap=evolve(self.bootstrap, **changes))

    def now(self, condition: HostCondition, at: datetime, reason: str = "") -> "Host":
        """Return the record in a condition; staying in it keeps its time."""
        if condition is self.condition:
            return self
        moved = replace(self, condition=condition, since=at, reason=reason or self.reason)
        return moved.with_health(stranger=False) if moved.health.stranger else moved

    def quarantined(self, now: datetime) -> bool:
        """Tell whether the host must be left alone because it failed too often."""
        until = self.health.quarantined_until
        return until is not None and now < until

    def held(self, now: datetime) -> Hold | None:
        """Return what a person wants of it now, if anybody does."""
        return self.hold if self.hold is not None and now < self.hold.until else None

    def held_as(self, now: datetime) -> HoldKind | None:
        """Return the kind of hold that is on it now, if one is."""
        hold = self.held(now)
        return hold.kind if hold is not None else None

    def is_barred(self, now: datetime) -> bool:
        """Tell whether a person wants no further machine on it now."""
        hold = self.held_as(now)
        return hold is not None and hold.bars_machines

    @property
    def was_ours(self) -> bool:
        """Whether a machine of ours had it, or we ordered it; else it may be anybody's.

        That a person asks something of a host makes a record, and does not make it ours.
        """
        return self.machine is not None or self.purchase.order is not None

    @property
    def retires(self) -> bool:
        """Whether the host is given up, and not put into its pool, when a machine lets go of it."""
        if self.purchase.policy is ReleasePolicy.TERMINATE:
            return True
        return (
            self.purchase.origin is HostOrigin.ORDERED
            and self.purchase.policy is not ReleasePolicy.KEEP
        )


CALLED_BACK = timedelta(hours=2)
"""How much paid time a host must have left to be called back from its end."""


def may_come_back(host: Host, now: datetime) -> bool:
    """Tell whether a host that is given up may serve on: it is paid for, and nobody retired it."""
    if (
        host.condition is not HostCondition.RETIRING
        or host.purchase.origin is not HostOrigin.ORDERED
    ):
        return False
    paid = host.purchase.paid_until is not None and host.purchase.paid_until - now >= CALLED_BACK
    return paid and host.purchase.policy is None


def renamed_to_end(asked: Iterable[Asked], since: datetime | None = None) -> Asked | None:
    """Return the rename by which a host is given up, once it was answered well; None until then.

    What was refused or had no effect changed nothing. Nor does the rename of an earlier end say
    anything of one that goes on only `since` then.
    """
    done = (a for a in asked if a.aim == Stage.RETIRING and a.call_state is CallState.DONE)
    return next((a for a in done if since is None or a.at >= since), None)


class Free(Struct, frozen=True, kw_only=True):
    """A host that a machine of an offer may take now: `clean` if nobody used it since its wipe.

    `rank` is its place in the order that its provider prefers: what is lower is taken first.
    """

    resource: Resource
    offer: Offer
    record: Host | None = None
    clean: bool = False
    rank: tuple[float, ...] = ()

    @property
    def id(self) -> HostId:
        """The host's id."""
        return HostId(self.resource.id)


def allocation_of(host: HostId, machine: MachineId) -> ResourceId:
    """Return the id of the resource that a machine's allocation of a host is.

    The allocation is the resource, not the host: a host that is taken again is another resource, so
    that nothing that is asked about one allocation can ever mean the next.
    """
    return ResourceId(f"{host}#{machine}")


def host_of(resource: ResourceId) -> HostId:
    """Return the host of an allocation."""
    return HostId(resource.partition("#")[0])


TENANT = frozenset({Stage.PENDING, Stage.CLAIMED, Stage.STANDBY, Stage.RESTED, Stage.RELEASING})
"""The stages in which the name names a machine that holds the host, or is about to."""


WAITING = frozenset({Stage.PARKED, Stage.ORDERED})
"""The stages in which a host that we pay for waits for its next machine."""


AT_HOME = WAITING | {Stage.POOL}
"""The stages in which a host may be taken, if nothing else speaks against it."""


GIVEN_UP = frozenset({Stage.QUARANTINED, Stage.RETIRING})
"""The stages of hosts that no machine shall have, for a while or for good."""


GIVEN_BACK = GIVEN_UP | {Stage.WIPING}
"""The stages in which a host's name tells of the machine that had it last and gave it back."""


KEPT = WAITING | GIVEN_BACK
"""The stages in which a host is kept without being a machine's."""


OURS = TENANT | {Stage.WIPING, Stage.PARKED}
"""The stages that say that a host is this installation's, and not given up."""


OTHERS = frozenset({Stage.FOREIGN, Stage.OTHER, Stage.UNNAMED})
"""The stages of names that nobody of this installation wrote."""
