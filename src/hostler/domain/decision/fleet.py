"""The stages that ask about the fleet as a whole, its hosts, and what no record explains."""

from msgspec.structs import replace

from hostler.domain.fleets import adoption, answers, reclaim, requested, scaling
from hostler.domain.hosts import claims, pool, purchasing
from hostler.domain.ids import evolve
from hostler.domain.machines import replacement, rollout
from hostler.domain.model.commands import SaveHost

from .draft import Context, Draft


def grant(draft: Draft, context: Context) -> Draft:
    """What was asked for? The row and the records are as the requests of this cycle leave them.

    What is refused is answered here, and no later stage sees it.
    """
    snapshot = context.snapshot
    granted = answers.granted(snapshot)
    machines = granted.records
    accepted = replace(snapshot, requests=granted.accepted)
    row = evolve(granted.row, revision=snapshot.revision)
    return replace(
        draft,
        row=pool.with_room(row, machines, accepted),
        machines=machines,
        hosts=(*draft.hosts, *(SaveHost(host=host) for host in granted.hosts.values())),
        answers=tuple(granted.answers),
    )


def adopt(draft: Draft, context: Context) -> Draft:
    """What exists already that is to be ours? It gets records of machines and of hosts."""
    snapshot, row = context.snapshot, draft.row
    resources = adoption.adoptable(snapshot)
    records = adoption.records_for(resources, row, snapshot)
    return replace(
        draft,
        answers=adoption.answered(draft.answers, draft.machines, snapshot),
        machines=adoption.brought_up_to_date(draft.machines, snapshot),
        adopted=(*records, *pool.adopted(snapshot, row.serial + len(records))),
        reopened=adoption.reopened(snapshot),
        installations=adoption.adopted_installations(resources, snapshot),
        hosts=(*draft.hosts, *pool.taken_over(resources, snapshot)),
    )


def resize(draft: Draft, context: Context) -> Draft:
    """How many machines are wanted, or which? Some begin, some go, and some are called back."""
    snapshot, row, transitions = context.snapshot, draft.row, draft.transitions
    surge = replacement.surge(transitions, snapshot)
    target = row.desired(snapshot.fleet) + surge - pool.joining(snapshot)
    if snapshot.fleet.renews:
        sizing = scaling.resize(transitions, row, target, snapshot)
    else:
        sizing = requested.resize(transitions, row, snapshot)
        row = requested.counted(row, sizing)
    if broken := rollout.condition(row.revision):
        sizing = replace(sizing, condition=broken)
    transitions, sizing = sizing.transitions, replace(sizing, transitions=())
    return replace(
        draft, row=row, transitions=transitions, target=target, sizing=sizing, due=(sizing.due,)
    )


def replace_outdated(draft: Draft, context: Context) -> Draft:
    """Which machine is too old or outdated? It goes, once another one is ready."""
    transitions, row = replacement.replace_one(
        draft.transitions, draft.row, draft.target, context.snapshot
    )
    return replace(draft, transitions=transitions, row=row)


def assign(draft: Draft, context: Context) -> Draft:
    """Which host does a machine get that waits for one?"""
    snapshot = context.snapshot
    transitions, binds = claims.assign(draft.transitions, snapshot.fleet.account, snapshot)
    return replace(draft, transitions=transitions, binds=binds)


def buy(draft: Draft, context: Context) -> Draft:
    """Which hosts are ordered, and which of those that were bought are given up?"""
    bought = purchasing.buy(draft.transitions, draft.row, context.snapshot, draft.sizing.inserts)
    return replace(
        draft,
        row=bought.row,
        transitions=bought.transitions,
        sizing=evolve(draft.sizing, condition=bought.condition(draft.sizing.condition)),
        hosts=(*draft.hosts, *bought.keeps),
        order=bought.order,
        due=(*draft.due, bought.due),
    )


def pardon(draft: Draft, context: Context) -> Draft:
    """Which hosts were blamed for a setup script that is at fault? Their strikes are taken back."""
    pardons = tuple(rollout.pardons(draft.row.revision, context.snapshot))
    return replace(
        draft,
        hosts=(*draft.hosts, *(pardon.keep for pardon in pardons)),
        events=(*draft.events, *(pardon.event for pardon in pardons)),
    )


def reclaim_orphans(draft: Draft, context: Context) -> Draft:
    """What does no record explain? It is reported, and removed where that may be.

    What this very decision adopts is explained.
    """
    snapshot, adopted = context.snapshot, {machine.id for machine in draft.adopted}
    report = reclaim.orphan_report(snapshot)
    rest = reclaim.without(adopted, snapshot)
    reclaims, report, row = reclaim.reclaims(report, draft.row, rest, context.planner)
    provable = reclaim.provable(snapshot, report)
    soonest = snapshot.now + snapshot.fleet.timers.absence_gap
    due = (*draft.due, *(max(at, soonest) for at in provable.values()))
    return replace(
        draft, row=row, orphan_report=report, reclaims=reclaims, provable=provable, due=due
    )
