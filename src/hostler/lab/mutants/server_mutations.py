"""Mutations: each takes a good function of the program and returns the known wrong one."""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from hostler.domain.ids import MachineId
from hostler.domain.machines.failure import suspected
from hostler.domain.model.calls import Call, Refusal, Refused
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import CallState, Known, Machine, Place
from hostler.domain.model.phases import Reason
from hostler.domain.model.resource import Condition, Observation, OrphanClass, Resource, Slot
from hostler.domain.model.snapshot import Orphan, Snapshot
from hostler.domain.model.transition import Transition
from hostler.domain.policy.gate import Barred, Evidence
from hostler.ports.http import NoAnswer
from hostler.providers.scaleway.common.errors import Failed, Problem
from hostler.providers.scaleway.common.wire import Items
from hostler.providers.scaleway.instances.plan.calls import MAKE_ADDRESS

Function = Callable[..., Any]
"""Any function: what is wrapped here differs in all but that."""


def never(_: Function) -> Function:
    """Answer no, whatever is asked."""

    def no(*_: object) -> bool:
        return False

    return no


def unchanged(_: Function) -> Function:
    """Give back the first thing as it is."""

    def same(thing: object, *_: object) -> object:
        return thing

    return same


def no_call(_: Function) -> Function:
    """Have nothing to do."""

    def none(*_: object, **__: object) -> tuple[Call, ...]:
        return ()

    return none


def always(_: Function) -> Function:
    """Answer yes, whatever is asked."""

    def yes(*_: object) -> bool:
        return True

    return yes


def nothing(_: Function) -> Function:
    """Find nothing to do, whatever is asked."""

    def none(*_: object) -> tuple[object, ...]:
        return ()

    return none


def undone(_: Function) -> Function:
    """Do nothing at all, and say that it is done."""

    async def do(*_: object, **__: object) -> None:
        return None

    return do


def any_is_free(_: Function) -> Function:
    """Take every address of a pool for a free one."""

    def free(_: object, ip: Any, pool: str) -> bool:
        return pool in (ip.tags or ())

    return free


def claimed_is_free(_: Function) -> Function:
    """Take an address of a pool for a free one unless a machine of ours took it."""

    def free(_: object, ip: Any, pool: str) -> bool:
        tags: tuple[str, ...] = ip.tags or ()
        return pool in tags and not any(tag.startswith("hostler-pool=") for tag in tags)

    return free


def unprotected(_: Function) -> Function:
    """Find no protection, whatever is asked."""

    def protection(*_: object) -> str:
        return ""

    return protection


def stopped_is_deleting(good: Function) -> Function:
    """Read both kinds of stopped as being on the way to deletion."""

    def condition(kind: str, status: str) -> Condition:
        stopped = kind == "server" and status.startswith("stopped")
        return Condition.STOPPING if stopped else good(kind, status)

    return condition


def no_rollback(good: Function) -> Function:
    """Call gone what never was ready."""

    def all_gone(machine: Machine, snapshot: Snapshot) -> bool:
        return machine.health.was_ready is None or good(machine, snapshot)

    return all_gone


def first_page_is_all(_: Function) -> Function:
    """End each listing after its first page."""

    def ended(*_: object) -> bool:
        return True

    return ended


def forbidden_is_missing(good: Function) -> Function:
    """Take a 403 for a 404."""

    def is_missing(problem: Problem, target: str) -> bool:
        return problem.status == 403 or good(problem, target)

    return is_missing


def forbidden_is_empty(good: Function) -> Function:
    """Take a 403 to a list for an empty list."""

    async def page(client: Any, paged: Any, number: int, listing: Any) -> Any:
        items = await good(client, paged, number, listing)
        if isinstance(listing.trouble, Failed) and listing.trouble.problem.status == 403:
            listing.error, listing.trouble = "", None
            nothing: list[Any] = []
            return Items(nothing, 0, 0)
        return items

    return page


def only_foreign_is_blocked(_: Function) -> Function:
    """Hold back nothing from being reclaimed but foreign resources."""

    def blocked(orphan: Orphan, _: Snapshot) -> str:
        return "foreign" if orphan.cls is OrphanClass.FOREIGN else ""

    return blocked


def without_check(check: str) -> Callable[[Function], Function]:
    """Leave one check of the gate out; and the second sighting with it."""

    def defect(good: Function) -> Function:
        def pass_gate(evidence: Evidence) -> tuple[Barred, ...]:
            return tuple(bar for bar in good(evidence) if bar.check not in {check, "G4"})

        return pass_gate

    return defect


def believe_the_list(_: Function) -> Function:
    """Take the parts of the decision for those that exist now."""

    async def reread(_: object, command: Any) -> Any:
        return command.resources

    return reread


def one_cycle_old(good: Function) -> Function:
    """Give each cycle the records that the one before should have had."""
    older = dict[int, tuple[FleetRow, tuple[Machine, ...]]]()

    async def records(ports: Any, state: Any, fleet: Any) -> Any:
        newest: tuple[FleetRow, tuple[Machine, ...]] = await good(ports, state, fleet)
        before = older.get(id(state), newest)
        older[id(state)] = newest
        return (newest[0], before[1])

    return records


def save_when_done(good: Function) -> Function:
    """Save a step only when nothing of it is open any more."""

    async def save(self: Any, work: Any, pursuit: Any) -> None:
        if any(asked.call_state is CallState.OPEN for asked in work.subject.asked):
            return
        await good(self, work, pursuit)

    return save


def older_attempts_are_surplus(_: Function) -> Function:
    """Compare the attempts of all slots of a machine with each other."""

    def judged(machine: Machine, resource: Resource) -> Resource:
        newest = max((place.attempt for place in machine.places), default=0)
        mine = resource.owner_tag.attempt if resource.owner_tag else newest
        return replace(resource, surplus=mine < newest)

    return judged


def newest_stays(_: Function) -> Function:
    """Let the newest attempt of a slot stay, whatever is bound."""

    def judged(machine: Machine, resource: Resource) -> Resource:
        place = machine.place(resource.slot)
        newest = max((known.attempt for known in place.known if not known.deleted), default=0)
        mine = next((known.attempt for known in place.known if known.id == resource.id), newest)
        return replace(resource, surplus=mine < newest)

    return judged


def forget_the_answer(_: Function) -> Function:
    """Write nothing down of what a definite answer named."""

    def keep(machine: Machine, *_: object, held: bool) -> Machine:
        del held
        return machine

    return keep


def save_over(_: Function) -> Function:
    """Insert over whatever version and epoch the store holds by now."""

    async def save_fleet(self: Any, row: Any, inserts: Any, events: Any, fence: Any) -> Any:
        async def forced() -> Any:
            rows = {entry.name: entry for entry in await self._store.fleets()}
            leases = {lease.name: lease for lease in await self._store.leases()}
            newest = replace(fence, epoch=leases[fence.lease].epoch)
            over = replace(row, version=rows[row.name].version)
            return await self._store.save_fleet(over, inserts, events, newest)

        def note(saved: Any) -> None:
            self._listener.fleet_saved(saved, inserts, events, fence)

        return await self._write("save_fleet", forced, note)

    return save_fleet


def gone_before_settle(_: Function) -> Function:
    """Call gone what no observation shows, whatever is still open."""

    def all_gone(machine: Machine, snapshot: Snapshot) -> bool:
        if snapshot.inventory.tagged.get(machine.id):
            return False
        return all(known.deleted for place in machine.places for known in place.known)

    return all_gone


def absent_is_gone(_: Function) -> Function:
    """Believe the first list that lacks something."""

    def missed(machine: Machine, place: Place, known: Known, snapshot: Snapshot) -> Known:
        if known.deleted or known.id in snapshot.inventory.sightings:
            return known
        covered = snapshot.inventory.covered(known.zone, place.slot.kind, machine.id)
        if covered is None or covered < known.since:
            return known
        return replace(known, absent=covered, deleted=True)

    return missed


def doubt_nothing(_: Function) -> Function:
    """Believe a loss at first sight."""

    def doubted(transition: Transition, snapshot: Snapshot) -> tuple[Transition, Reason | None]:
        return transition, suspected(transition, snapshot)

    return doubted


def all_tags_are_ours(good: Function) -> Function:
    """Take every tag in the fleet's name for one of ours."""

    def view_of(*args: Any) -> Snapshot:
        snapshot: Snapshot = good(*args)
        owner_tags = {
            resource.owner_tag.installation
            for resource in snapshot.foreign
            if resource.owner_tag is not None
        }
        return replace(
            snapshot,
            ours=(*snapshot.ours, *sorted(owner_tags)),
            foreign=(),
            unexplained=(*snapshot.unexplained, *snapshot.foreign),
        )

    return view_of


def everything_issued(_: Function) -> Function:
    """Take every id for one that our store issued."""

    async def issued(_: object, machines: tuple[MachineId, ...]) -> frozenset[MachineId]:
        return frozenset(machines)

    return issued


def nothing_issued(_: Function) -> Function:
    """Take no id for one that our store issued, unless a record bears it."""

    async def issued(_: object, machines: tuple[MachineId, ...]) -> frozenset[MachineId]:
        del machines
        return frozenset()

    return issued


def removal_is_right(good: Function) -> Function:
    """See nothing wrong in what no record explains once it is being removed."""

    def world_is_right(snapshot: Snapshot) -> str:
        return good(replace(snapshot, removing=()))

    return world_is_right


def unissued_is_right(good: Function) -> Function:
    """See nothing wrong in what our store never issued."""

    def world_is_right(snapshot: Snapshot) -> str:
        return good(replace(snapshot, unissued=()))

    return world_is_right


def nothing_lacking(_: Function) -> Function:
    """Forget what the orphan report has as soon as one list lacks it."""

    def _lacking(_: Snapshot) -> Iterator[Orphan]:
        return iter(())

    return _lacking


def reclaim_unissued(good: Function) -> Function:
    """Reclaim what our store never issued with what no record explains."""

    def groups(current: Any, snapshot: Snapshot) -> Any:
        both = (*snapshot.unexplained, *snapshot.unissued)
        return good(current, replace(snapshot, unexplained=both, unissued=()))

    return groups


def without_address_tags(good: Function) -> Function:
    """Make addresses that do not say whose they are, until somebody notices."""

    def tags(self: Any, call: Any, slot: Slot) -> tuple[str, ...]:
        return () if call.kind == MAKE_ADDRESS else good(self, call, slot)

    return tags


def silence_is_refusal(good: Function) -> Function:
    """Take no answer for a refusal, which may be asked again soon."""

    def outcome_of(trouble: Any, call: Any) -> Any:
        if isinstance(trouble, NoAnswer):
            return Refused(why=Refusal.BUSY, text=str(trouble))
        return good(trouble, call)

    return outcome_of


def remember_nothing(_: Function) -> Function:
    """Forget every failure with its record."""

    def remember(_: Transition, row: FleetRow, __: Snapshot) -> FleetRow:
        return row

    return remember


def all_complete(good: Function) -> Function:
    """Take every listing for one of all."""

    def vanished(inventory: Any, observation: Observation, *rest: Any) -> Any:
        whole = tuple(replace(one, complete=True) for one in observation.observed)
        return good(inventory, replace(observation, observed=whole), *rest)

    return vanished
