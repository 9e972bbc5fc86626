"""Orphans: the resources that no record explains, what they cost, and how old this answer is."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from msgspec import Struct, field
from msgspec.structs import replace

from hostler.domain.fleets.reclaim import orphan_report, reclaims
from hostler.domain.ids import FleetName, ResourceId, Zone
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan, Snapshot
from hostler.domain.observation import certainty
from hostler.domain.observation.blockers import UNOBSERVED
from hostler.ports.store import Store

from .providers import Providers, incomplete, require_observed
from .wording import rounded

_EXPECTED = frozenset({OrphanClass.PENDING_FRESH, OrphanClass.SCHEDULED})
"""The classes of orphans that go by themselves: they are reported, and nobody has to act."""


class OrphanReport(Struct, frozen=True, kw_only=True):
    """The orphans of some fleets.

    `observed` says that providers were observed for it; `incomplete` are the scopes that could
    not be observed in full, with the error: nothing is said about them.
    """

    orphans: tuple[Orphan, ...]
    observed: bool = False
    incomplete: Mapping[str, str] = field(default_factory=dict[str, str])

    def plus(self, other: "OrphanReport") -> "OrphanReport":
        """Return the report with the orphans of another one."""
        return replace(self, orphans=(*self.orphans, *other.orphans))

    @property
    def price(self) -> float:
        """What they cost together, in euros an hour."""
        return sum(orphan.price for orphan in self.orphans)

    def cost(self, now: datetime) -> float:
        """Return what they have cost together up to now, in euros."""
        return sum(orphan_cost(orphan, now) for orphan in self.orphans)

    @property
    def needs_attention(self) -> bool:
        """Whether there is one among them that does not go by itself.

        What was not there just now is shown; whoever observed once need not wait for another time.
        """
        return any(
            orphan.cls not in _EXPECTED and not (self.observed and orphan.missing)
            for orphan in self.orphans
        )


def orphan_cost(orphan: Orphan, now: datetime) -> float:
    """Return what an orphan has cost up to now: its record is only saved when something changes."""
    hours = (now - (orphan.created or orphan.first)).total_seconds() / 3600
    return max(orphan.cost, orphan.price * hours)


async def recorded_orphans(store: Store, names: Collection[FleetName]) -> OrphanReport:
    """Return the orphans of these fleets as the last engine recorded them."""
    found = {o.resource: o for o in await store.orphans() if o.fleet in names}
    return OrphanReport(orphans=tuple(found.values()))


async def unobserved_fleets(
    store: Store, fleets: tuple[Fleet, ...]
) -> tuple[tuple[FleetName, str], ...]:
    """Return the fleets of which an engine's listings do not show all, and why, or since when.

    The report says nothing of what came since then; of a fleet that no engine has on record it
    says nothing at all.
    """
    rows = {row.name: row for row in await store.fleets()}
    found = ((f.name, _unobserved(rows.get(f.name))) for f in fleets)
    return tuple((name, why) for name, why in found if why)


def _unobserved(row: FleetRow | None) -> str:
    if row is None:
        return "no engine has it on record, so it was never observed"
    return row.condition if UNOBSERVED in row.condition else ""


async def observed_orphans(
    providers: Providers, fleets: tuple[Fleet, ...], beside: tuple[Zone, ...] = ()
) -> OrphanReport:
    """Observe now, and return the orphans of these fleets; nothing is recorded.

    `beside` are zones to be searched too: something of ours may be in one that no fleet uses now.
    Raises ProviderError where an account shows nothing at all.
    """
    found, unseen = dict[ResourceId, Orphan](), dict[str, str]()
    for account in providers.accounts:
        for fleet in account.fleets:
            if fleet in fleets:
                snapshot = _with_unissued(await providers.snapshot(fleet, beside))
                require_observed(snapshot.inventory)
                unseen |= incomplete(snapshot.inventory)
                report = orphan_report(snapshot)
                _, report, _ = reclaims(report, snapshot.row, snapshot, account.provider)
                current = {
                    o.resource: o for o in snapshot.orphans if o.resource not in report.cleared
                }
                found |= current | {o.resource: o for o in report.orphans}
    return OrphanReport(orphans=tuple(found.values()), observed=True, incomplete=unseen)


def _with_unissued(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with what another store made for living machines, as decide() has it."""
    made = (r for machine in snapshot.machines for r in certainty.unissued_of(machine, snapshot))
    return replace(snapshot, unissued=(*snapshot.unissued, *made))


def freshness(report: OrphanReport, quiet: timedelta, *, runs: bool, exists: bool) -> str:
    """Return a phrase that says how old a report is; `quiet` is how often an engine observes.

    `exists` says whether there is a store: without one no engine has ever observed anything.
    """
    if report.observed:
        return "as observed just now"
    if runs:
        often = rounded(quiet)
        return f"as reported by the running engine, which observes at least every {often}"
    if not exists:
        return "no engine has run yet: nothing was observed"
    return "as the last engine left it; no engine is running"
