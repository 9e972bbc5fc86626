"""Offers: which types and zones may be tried now, and what is remembered of those that failed."""

from datetime import datetime

from msgspec.structs import replace

from hostler.domain.hosts import claims
from hostler.domain.hosts import free as free_
from hostler.domain.machines import failure, rollout
from hostler.domain.model.fleet import Fleet, FleetRow, ProbeKind, Setback, creations_left
from hostler.domain.model.machine import BootstrapFormat, MachineSpec, Offer
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition
from hostler.domain.observation.blockers import world_is_right, zone_is_known

UNBEGUN = 64
"""How many machines may wait for their first answer: more of them would only grow old waiting for
the account's budget, and be given up at their start bound before anything was made for them."""


_NOT_OF_OFFERS = frozenset({Reason.BOOTSTRAP_FAILED, Reason.BOOTSTRAP_REFUSED})
"""Why starts fail that would fail with any offer."""


def choose(
    transitions: tuple[Transition, ...], row: FleetRow, many: int, snapshot: Snapshot
) -> tuple[Offer, ...]:
    """Return offers to begin with: the first open one; one at a time where it failed before."""
    if snapshot.capabilities.hosts:
        return _with_hosts(transitions, row, many, snapshot)
    admitted = _admitted(snapshot)
    for offer in snapshot.fleet.offers:
        setback = row.setback(offer)
        if setback is not None and snapshot.now < setback.until:
            continue
        if not zone_is_known(snapshot, offer):
            continue
        if setback is None:
            return (offer,) * many
        trying = any(
            transition.machine.offer == offer and transition.machine.phase in admitted
            for transition in transitions
        )
        if not trying:
            return (offer,)
    return ()


def fitting(spec: MachineSpec, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with only those offers, and free hosts, that are what was asked for."""
    if all(spec.accepts(offer) for offer in snapshot.fleet.offers):
        return snapshot
    offers = tuple(offer for offer in snapshot.fleet.offers if spec.accepts(offer))
    free = tuple(free for free in snapshot.free if free.offer in offers)
    return replace(snapshot, fleet=replace(snapshot.fleet, offers=offers), free=free)


def unfit(spec: MachineSpec, snapshot: Snapshot) -> str:
    """Return why no machine of this fleet can be what was asked for, or an empty string."""
    if spec.template and not snapshot.capabilities.own_templates:
        return "machines of this provider have no template of their own"
    if problem := bootstrap_problem(spec, snapshot.capabilities, snapshot.fleet):
        return problem
    if any(spec.accepts(offer) for offer in snapshot.fleet.offers):
        return ""
    offered = ", ".join(str(offer) for offer in snapshot.fleet.offers)
    return f"no offer of this fleet is {spec}; it has {offered}"


NO_LOGIN = (
    "a script as bootstrap data is run by SSH, and nobody logs in to the hosts of this fleet: "
    'let it be ready by `probe = "ssh"`'
)

_FORMATS = {
    BootstrapFormat.CLOUD_INIT: "user data for cloud-init",
    BootstrapFormat.SCRIPT: "a shell script, which begins with #!",
}


def bootstrap_problem(spec: MachineSpec, capabilities: Capabilities, fleet: Fleet) -> str:
    """Return why a machine of this fleet cannot have such bootstrap data, or an empty string."""
    if not spec.bootstrap:
        return ""
    if spec.bootstrap_format in capabilities.bootstraps:
        logs_in = capabilities.hosts is None or fleet.probe.kind is ProbeKind.SSH
        return "" if logs_in else NO_LOGIN
    taken = sorted(_FORMATS[one] for one in capabilities.bootstraps)
    if not taken:
        return "machines of this provider have no bootstrap data of their own"
    this = _FORMATS[spec.bootstrap_format]
    return f"machines of this provider have bootstrap data that is {taken[0]}: this is {this}"


def _with_hosts(
    transitions: tuple[Transition, ...], row: FleetRow, many: int, snapshot: Snapshot
) -> tuple[Offer, ...]:
    """Return the offers of hosts that are there; an offer that failed just now is passed by.

    That hosts are sold out is no matter to those that stand: it is orders that wait for a stock.
    """
    failed = {setback.offer for setback in _setbacks(row, snapshot) if not setback.stock}
    chosen = (
        offer
        for offer in claims.offers(len(snapshot.free), transitions, snapshot)
        if zone_is_known(snapshot, offer) and offer not in failed
    )
    return tuple(chosen)[:many]


def _setbacks(row: FleetRow, snapshot: Snapshot) -> list[Setback]:
    """Return what keeps the fleet's offers from being tried now."""
    found = (row.setback(offer) for offer in snapshot.fleet.offers)
    return [setback for setback in found if setback is not None and snapshot.now < setback.until]


def begin_blocked(transitions: tuple[Transition, ...], row: FleetRow, snapshot: Snapshot) -> str:
    """Return why no machine may begin now, or an empty string."""
    if why := world_is_right(snapshot) or rollout.condition(snapshot.revision):
        return why
    if creations_left(snapshot.fleet, row, snapshot.now) == 0:
        return "the bound on creations in an hour is reached"
    return "" if unbegun_left(transitions, snapshot) > 0 else "others wait for their first answer"


def unbegun_left(transitions: tuple[Transition, ...], snapshot: Snapshot) -> int:
    """Return how many more may begin while that many wait for their first answer."""
    phases = _admitted(snapshot)
    waiting = (
        transition.machine.phase in phases
        and not any(place.known for place in transition.machine.places)
        for transition in transitions
    )
    return UNBEGUN - sum(waiting)


def _admitted(snapshot: Snapshot) -> frozenset[Phase]:
    """Return the phases of what was let in and is not up: where names are asked for, they wait."""
    if snapshot.fleet.renews:
        return frozenset({Phase.PENDING, Phase.STARTING})
    return frozenset({Phase.STARTING})


def why_no_offer(
    row: FleetRow, snapshot: Snapshot, beginning: int = 0
) -> tuple[str, datetime | None]:
    """Return why no offer is open beside `beginning` ones, and until when if that is known."""
    blocked = _setbacks(row, snapshot)
    if snapshot.capabilities.hosts:
        due = min((setback.until for setback in blocked), default=None)
        blocked = [setback for setback in blocked if not setback.stock]
        if not blocked and all(zone_is_known(snapshot, offer) for offer in snapshot.fleet.offers):
            return free_.none_free(snapshot, beginning), due
    if not blocked:
        trying = [o for o in snapshot.fleet.offers if row.setback(o)]
        if trying:
            return f"trying {trying[0]} with one machine after it failed", None
        return (
            "no zone of this fleet could be observed whole lately: `hostler check FILE --online`",
            None,
        )
    first = min(blocked, key=lambda s: s.until)
    word = "waiting for stock" if all(s.stock for s in blocked) else "backing off"
    offers = "; ".join(f"{s.offer}: {s.why}" for s in blocked)
    return f"{word} until {first.until:%H:%M:%S} UTC ({offers})", first.until


def in_present(row: FleetRow, snapshot: Snapshot) -> FleetRow:
    """Return the row without pauses longer than any: the clock jumped back since they were set."""
    timers = snapshot.fleet.timers
    last = snapshot.now + max(timers.stock_memory, *timers.tries)
    if all(setback.until <= last for setback in row.setbacks):
        return row
    return replace(row, setbacks=tuple(replace(s, until=min(s.until, last)) for s in row.setbacks))


def remember(transition: Transition, row: FleetRow, snapshot: Snapshot) -> FleetRow:
    """Return the row with what this step teaches of its offer: empty shelves, failures, success."""
    before, machine = transition.before, transition.machine
    if before.phase is Phase.STARTING and before.offer != machine.offer:
        refusal = (
            failure.REFUSALS[before.health.refused] if before.health.refused else Reason.REFUSED
        )
        row = replace(row, creations=(*row.creations, snapshot.now))
        return row.sold_out(
            before.offer, str(refusal), snapshot.now + snapshot.fleet.timers.stock_memory
        )
    if before.phase is not Phase.STARTING or machine.phase is before.phase:
        return row
    if machine.phase is Phase.READY:
        return row.without_setback(machine.offer)
    if machine.reason in {Reason.OUT_OF_STOCK, Reason.QUOTA}:
        until = snapshot.now + snapshot.fleet.timers.stock_memory
        return row.sold_out(machine.offer, machine.reason, until)
    failed = machine.phase in {Phase.FAILED, Phase.STOPPING}
    if machine.deletion is not None or not failed or machine.reason in _NOT_OF_OFFERS:
        return row
    older = row.setback(machine.offer)
    count = _failures(older, snapshot.now)
    tries = snapshot.fleet.timers.tries
    pause = tries[min(count, len(tries)) - 1]
    return row.with_setback(
        Setback(offer=machine.offer, why=machine.reason, until=snapshot.now + pause, count=count)
    )


def _failures(older: Setback | None, now: datetime) -> int:
    """Return how many tries in a row failed; those that were under way together count as one.

    Empty shelves between them take none of them back.
    """
    if older is None:
        return 1
    together = now < older.until and not older.stock
    return max(1, older.count if together else older.count + 1)
