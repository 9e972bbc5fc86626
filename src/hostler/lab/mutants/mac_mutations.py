"""Mutations: each takes a good function of the program and returns the known wrong one.

From the incidents and the defects that are still open in reference/apple-silicon.md (17 and 18).
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Shows, Unknown
from hostler.domain.model.host import HostCondition
from hostler.domain.model.machine import RETIRE, Asked, CallState
from hostler.domain.model.resource import Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot, Snapshot
from hostler.domain.model.transition import Transition
from hostler.providers.scaleway.common.errors import Failed, Problem
from hostler.providers.scaleway.macs.plan import host_calls, machine_calls

from .server_mutations import Function

_WAYS: Mapping[str, Any] = {**vars(machine_calls), **vars(host_calls)}
"""The good functions, as far as a wrong one calls them at a wrong moment."""


def all_are_clean(good: Function) -> Function:
    """Call every free host clean."""

    def free_hosts(*args: Any) -> tuple[Any, ...]:
        return tuple(replace(free, clean=True) for free in good(*args))

    return free_hosts


def worst_first(good: Function) -> Function:
    """Offer last the free host that is to be taken first."""

    def free_hosts(*args: Any) -> tuple[Any, ...]:
        return tuple(reversed(good(*args)))

    return free_hosts


def pool_first(good: Function) -> Function:
    """Prefer a host of the pool to one that is paid for anyway."""

    def preference(free: Any) -> tuple[Any, ...]:
        clean, strikes, pool, *rest = good(free)
        return (clean, strikes, not pool, *rest)

    return preference


def believed(good: Function) -> Function:
    """Take a name that was asked for as given."""

    def has_effect(asked: Asked, resource: Resource) -> bool:
        return asked.shows is Shows.OWNER_TAG or bool(good(asked, resource))

    return has_effect


def each_retires(good: Function) -> Function:
    """Give up the host of each machine that ends, whoever brought it."""

    def stopping(transition: Any, snapshot: Any) -> Any:
        machine = transition.machine.with_fact(RETIRE, snapshot.now)
        return good(replace(transition, machine=machine), snapshot)

    return stopping


def read_back(_: Function) -> Function:
    """Take a pending tag for settled as soon as another observation shows it."""

    def settled(self: Any) -> bool:
        pended = self.machine.last_asked(self.resource.slot, machine_calls.tag_kind(Stage.PENDING))
        return pended is None or self.now > (pended.closed or pended.at)

    return settled


def single_rename(good: Function) -> Function:
    """Claim with one rename: the first one gives the name of a claim."""

    def next_calls(*args: Any, **named: Any) -> tuple[Call, ...]:
        return tuple(_at_once(call) for call in good(*args, **named))

    return next_calls


def _at_once(call: Call) -> Call:
    if call.effect is not Effect.MAKE:
        return call
    args = tuple(arg for arg in call.args if arg[0] != "stage")
    claimed = Stage.CLAIMED
    return replace(
        call,
        kind=machine_calls.tag_kind(claimed),
        aim=str(claimed),
        args=(*args, ("stage", str(claimed))),
    )


def newer_is_wiped(good: Function) -> Function:
    """Take anything newer than the call for a proof of the wipe, as a newer date is."""

    def has_effect(asked: Asked, resource: Resource) -> bool:
        return asked.shows is Shows.WIPE or good(asked, resource)

    return has_effect


def lapsed_at_once(good: Function) -> Function:
    """Believe the first observation that does not show an effect: it will never come."""

    def call_state(
        asked: Asked, resource: Resource | None, observed_at: datetime | None, sure: datetime
    ) -> CallState:
        found: CallState = good(asked, resource, observed_at, sure)
        newer = observed_at is not None and observed_at > asked.at
        return CallState.LAPSED if found is CallState.OPEN and newer else found

    return call_state


def nothing_waits(good: Function) -> Function:
    """Say that no host waits for its wipe: it is put into the pool, and wiped there."""

    def wiped(host: Any, resource: Resource) -> tuple[Call, ...]:
        if resource.host.stage is Stage.WIPING:
            return (_WAYS["_free"](host, resource),)
        return good(host, resource)

    return wiped


def wiped_by_the_host(_: Function) -> Function:
    """Let a machine go from its host before anything is wiped."""

    def absent(self: Any) -> tuple[Call, ...]:
        stage = Stage.WIPING if self.stage is Stage.RELEASING else Stage.RELEASING
        return (_WAYS["_owner_tag"](self.machine, self.resource, stage, Effect.DESTROY),)

    return absent


def any_missing_is_the_host(good: Function) -> Function:
    """Take every 404 for the host's, whatever it names: then there is nothing to be wiped."""

    def outcome(self: Any, trouble: Exception, call: Call, host: str) -> Outcome:
        wipes = call.kind == machine_calls.REINSTALL
        if wipes and isinstance(trouble, Failed) and trouble.problem.missing:
            return Done()
        return good(self, trouble, call, host)

    return outcome


def transient_is_fine(_: Function) -> Function:
    """Take every transient state for a wipe that is under way."""

    def is_reinstalling(problem: Problem) -> bool:
        return problem.type == "transient_state"

    return is_reinstalling


def answer_is_proof(_: Function) -> Function:
    """Take a good answer to a reinstallation for the wipe itself."""

    def proof(call: Call) -> CallState:
        del call
        return CallState.DONE

    return proof


def untold(_: Function) -> Function:
    """Tell of no host that no record explains."""

    def orphans(*_: object) -> Iterator[Resource]:
        return iter(())

    return orphans


def without_a_pool(good: Function) -> Function:
    """Know of no pool of a host that is in use, as a record does that is older than pools."""

    def pool(self: Any, text: str, name: Any) -> str:
        return good(self, text, name) if name is None else ""

    return pool


def dropped_without_a_pool(good: Function) -> Function:
    """Keep in no record which pool a host came from."""

    def without_pool(*args: Any) -> Any:
        return good(*args).with_ownership(pool="")

    return without_pool


def delete_until_granted(_: Function) -> Function:
    """Delete again and again, and never ask for a deletion at the date."""

    def ended(host: Any, resource: Resource, now: datetime) -> tuple[Call, ...]:
        del host, now
        return (_WAYS["_plain"](machine_calls.DELETE, resource),)

    return ended


def strays_are_old_news(_: Function) -> Function:
    """Reclaim what was seen, as it was seen: nothing is read again."""

    async def is_explained(*_: object) -> bool:
        return False

    return is_explained


def by_old_records(good: Function) -> Function:
    """Explain what was just seen by the records of the cycle before."""
    older = dict[str, dict[str, Any]]()

    def orphans(account: AccountSnapshot) -> Iterator[Resource]:
        kind = account.capabilities.host_kind
        records = ("hosts", "bindings", "machines", "past")
        now = {name: dict(getattr(account, name)) for name in records}
        before, older[kind] = older.get(kind, now), now
        return good(replace(account, **before))

    return orphans


def same_as_listed(_: Function) -> Function:
    """Call every host the one that was decided on."""

    def same(*_: object) -> bool:
        return True

    return same


def young_and_seen_once(good: Function) -> Function:
    """Reclaim what was seen once, however young."""

    def pass_gate(evidence: Any) -> Any:
        return tuple(bar for bar in good(evidence) if bar.check not in {"G3", "G4"})

    return pass_gate


def coming_on_record(_: Function) -> Function:
    """Count an order only once a record of its host exists."""

    def is_coming(order: Any, seen: Any) -> bool:
        found = (host for host in seen.hosts.values() if host.purchase.order == order.id)
        return any(host.condition is HostCondition.COMING for host in found)

    return is_coming


def lost_is_refused(good: Function) -> Function:
    """Take an order whose answer was lost for one that was refused."""

    async def order(*args: Any) -> Outcome:
        outcome: Outcome = await good(*args)
        if isinstance(outcome, Unknown):
            return Refused(why=Refusal.STOCK, text=outcome.text)
        return outcome

    return order


def sent_unrecorded(good: Function) -> Function:
    """Send orders that are on no row."""

    def buy(steps: Any, row: Any, seen: Any, inserts: Any) -> Any:
        bought = good(steps, row, seen, inserts)
        named = {order.id for order in bought.order.orders} if bought.order else set[str]()
        unnamed = tuple(order for order in bought.row.orders if order.id not in named)
        return replace(bought, row=replace(bought.row, orders=unnamed))

    return buy


def all_are_over(_: Function) -> Function:
    """End every host on which nobody is, whatever is paid for."""

    def over(situation: Any) -> list[Any]:
        return [host for host in situation.hosts if host.free_from is not None]

    return over


def given_up_is_gone(good: Function) -> Function:
    """Count no host that is given up, though it stands."""

    def is_paid(host: Any) -> bool:
        return bool(good(host)) and host.condition is not HostCondition.RETIRING

    return is_paid


def none_is_over(_: Function) -> Function:
    """Keep every host that was ever ordered."""

    def over(_: Any) -> list[Any]:
        return []

    return over


def to_all(_: Function) -> Function:
    """Bring a changed list to all machines in use at once."""

    def canaries(*_: Any) -> None:
        return None

    return canaries


def nothing(_: Function) -> Function:
    """Find nothing to call."""

    def calls(*_: Any) -> tuple[Any, ...]:
        return ()

    return calls


def no_pause(_: Function) -> Function:
    """Leave no host alone, however often its wipes failed."""

    def none(*_: object) -> None:
        return None

    return none


def unproved(_: Function) -> Function:
    """Take no host for clean any more once its machine has it."""

    def doubted(transition: Transition, snapshot: Snapshot) -> Transition:
        del snapshot
        return replace(transition, machine=transition.machine.without_fact("clean"))

    return doubted
