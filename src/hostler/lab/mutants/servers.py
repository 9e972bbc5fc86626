"""Mutants of created servers: each must be caught by the simulation of `instances`."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from hostler.lab.scenario.faults import (
    RECORD_REMOVED,
    STORE_COPIED,
    STORE_RESTORED,
    Disruption,
    OperatorAction,
    Scenario,
)
from hostler.lab.scenario.file_faults import FLEET_CHANGED, FLEET_ENDS
from hostler.lab.servers.address_pool import ATTACHED, CLAIMED
from hostler.simulators.scaleway.faults.rates import FaultRates as WorldFaultRates
from hostler.simulators.scaleway.faults.rates import Rule

from . import server_mutations
from .mutant import Mutant

_MINUTE = 60.0


def _alone(
    *disruptions: Disruption,
    spells: Mapping[str, tuple[float, float]] | None = None,
    rates: Mapping[str, float] | None = None,
    **fields: Any,
) -> Callable[[Scenario], Scenario]:
    """Return how to make a scenario in which nothing happens but this."""

    def made(scenario: Scenario) -> Scenario:
        plain = replace(
            scenario,
            severity="planted",
            machines=max(3, scenario.machines),
            world=WorldFaultRates(rates or {}, spells or {}),
            faults=(),
            disruptions=disruptions,
            actions=(),
            second=None,
            span=40 * _MINUTE,
        )
        return replace(plain, **fields)

    return made


_CALM = _alone()
_LOST = _alone(rates={"reply_lost": 0.15, "request_lost": 0.1})
_LATE = _alone(rates={"effect_delayed": 0.3}, spells={"effect_delayed": (62.0, 110.0)})
_SCALES = tuple(
    OperatorAction(at=at * _MINUTE, kind="scale", which=which)
    for at, which in ((2, 0.2), (5, 0.9), (9, 0.3), (13, 0.95), (18, 0.1), (23, 0.9))
)

_FORBIDDEN = tuple(
    Rule(fault="forbidden_for_rate_limit", after=after, count=120) for after in (250, 600)
)
_PAUSES = tuple(
    Disruption(at=at * _MINUTE - 5, fault="paused", skip=0, length=200.0, port="save_fleet")
    for at in (2, 9, 18)
)

_UNSEEN = tuple(
    Rule(fault="html_5xx", route="ip.list", after=after, count=100) for after in (12, 220, 440)
)
"""Three times addresses cannot be listed for some minutes."""

_JOBS = (
    OperatorAction(at=4 * _MINUTE, kind="protect", length=1200.0),
    OperatorAction(at=6 * _MINUTE, kind="delete"),
)
"""A job runs on the eldest machine when somebody asks for its end."""

_RESTORED = (
    Disruption(at=_MINUTE, fault=STORE_COPIED),
    Disruption(at=14 * _MINUTE, fault=STORE_RESTORED, length=5.0),
)
_ROBBED = tuple(
    Disruption(at=at * _MINUTE, fault=RECORD_REMOVED, who=at, length=5.0) for at in (5, 15, 25)
)
_GROWS = tuple(
    OperatorAction(at=at * _MINUTE, kind="scale", which=0.95) for at in (3, 12, 18, 24, 30)
)
_CLAIMS = tuple(Disruption(at=2.0 + n, fault=(CLAIMED, ATTACHED)[n % 2]) for n in range(4))
_WITHOUT_SCOPE_AND_WORLD = tuple(
    (f"{module}:pass_gate", server_mutations.without_check(check))
    for module in ("domain.policy.gate", "controllers.execute.sending")
    for check in ("G1", "G8")
)

MUTANTS: Mapping[str, Mutant[Scenario]] = {
    "stopped-is-deleting": Mutant(
        summary="a server that is stopped is read as being deleted",
        puts=(
            (
                "providers.scaleway.instances.observe.read:condition",
                server_mutations.stopped_is_deleting,
            ),
        ),
        scenario=_alone(rates={"guest_poweroff": 3.0}),
        caught=("L1", "L2"),
    ),
    "removed-fleet-stays": Mutant(
        summary="a fleet that left the file goes on as if it stood there, though it was to end",
        puts=(("domain.fleets.answers:by_file", server_mutations.unchanged),),
        scenario=_alone(Disruption(at=600, fault=FLEET_ENDS)),
        caught=("L1",),
    ),
    "outdated-stays": Mutant(
        summary="machines of an older template stay, though the file has them replaced",
        puts=(("domain.machines.replacement:_replaces", server_mutations.never),),
        scenario=_alone(Disruption(at=600, fault=FLEET_CHANGED)),
        caught=("L1",),
    ),
    "no-rollback": Mutant(
        summary="what was made of a machine that never became ready is left behind",
        puts=(("domain.machines.lifecycle:all_gone", server_mutations.no_rollback),),
        scenario=_alone(rates={"out_of_stock_start": 0.5, "start_falls_back": 0.5}),
        caught=("S7",),
    ),
    "page-2-forgotten": Mutant(
        summary="only the first page of a list is read",
        puts=(("providers.scaleway.common.pages:_ended", server_mutations.first_page_is_all),),
        scenario=_alone(rates={"reply_lost": 0.2}, crowd=130),
        caught=("L1", "S1", "S3"),
    ),
    "failed-listing-believed": Mutant(
        summary="a listing that failed proves that what it lacks is not there",
        puts=(("domain.model.inventory:_vanished", server_mutations.all_complete),),
        scenario=_alone(rates={"html_5xx": 0.2}),
        caught=("look first",),
    ),
    "forbidden-is-gone": Mutant(
        summary="a 403 is read as: it is not there",
        puts=(
            ("providers.scaleway.common.errors:is_missing", server_mutations.forbidden_is_missing),
            (
                "providers.scaleway.instances.observe.scan:is_missing",
                server_mutations.forbidden_is_missing,
            ),
            ("providers.scaleway.common.pages:_page", server_mutations.forbidden_is_empty),
        ),
        scenario=_alone(scripts=_FORBIDDEN),
        caught=("S5",),
    ),
    "blind-retry": Mutant(
        summary="a creation is tried again at once after a timeout",
        puts=(("domain.machines.next_calls:unsure", server_mutations.never),),
        scenario=_LOST,
        caught=("S2",),
    ),
    "reclaim-without-age": Mutant(
        summary="what no record explains is reclaimed however young it is",
        puts=(
            ("domain.fleets.reclaim:blocked", server_mutations.only_foreign_is_blocked),
            ("domain.policy.gate:pass_gate", server_mutations.without_check("G3")),
            ("controllers.execute.sending:pass_gate", server_mutations.without_check("G3")),
        ),
        scenario=_alone(Disruption(at=300, fault="resource_without_record"), reclaim=True),
        caught=("S5",),
    ),
    "reclaim-on-stale-list": Mutant(
        summary="a reclaim reads nothing again before it acts",
        puts=(
            ("controllers.execute.reclaim:Reclaimer._reread", server_mutations.believe_the_list),
        ),
        scenario=_alone(Disruption(at=300, fault="resource_without_record"), reclaim=True),
        caught=("S5",),
    ),
    "records-first": Mutant(
        summary="records are looked at before the provider",
        puts=(("controllers.observe.snapshot:records", server_mutations.one_cycle_old),),
        scenario=_alone(actions=_SCALES),
        caught=("S2",),
    ),
    "memory-only": Mutant(
        summary="what was asked is held in memory, and saved when it is done",
        puts=(("controllers.execute.subject_calls:Caller._save", server_mutations.save_when_done),),
        scenario=_CALM,
        caught=("S2",),
    ),
    "one-attempt-number": Mutant(
        summary="all parts of a machine share one number of attempts; older ones are surplus",
        puts=(
            ("domain.observation.certainty:_judged", server_mutations.older_attempts_are_surplus),
        ),
        scenario=_alone(rates={"request_lost": 0.2, "hung": 0.1}),
        caught=("S5",),
    ),
    "bound-is-surplus": Mutant(
        summary="the newest id of a slot stays, although an older one is bound",
        puts=(("domain.observation.certainty:_judged", server_mutations.newest_stays),),
        scenario=_LATE,
        caught=(
            "S5",
            "L1",
        ),
        within=10,
    ),
    "answer-forgotten": Mutant(
        summary="an id is forgotten until a list shows it",
        puts=(("domain.observation.outcomes:_keep", server_mutations.forget_the_answer),),
        scenario=_alone(
            rates={"transient_409": 0.4, "locked_423": 0.2, "html_5xx": 0.1}, list_lag=60.0
        ),
        caught=("S2",),
    ),
    "rows-without-fleet": Mutant(
        summary="machines are inserted whatever the fleet's row says by now",
        puts=(("lab.harness.gated_store:GatedStore.save_fleet", server_mutations.save_over),),
        scenario=_alone(
            *_PAUSES,
            replicas=2,
            actions=_SCALES,
        ),
        caught=("S8",),
        within=20,
    ),
    "gone-too-early": Mutant(
        summary="a machine is gone while a call for it is still unsure",
        puts=(("domain.machines.lifecycle:all_gone", server_mutations.gone_before_settle),),
        scenario=_alone(rates={"request_lost": 0.2, "reply_lost": 0.1}, actions=_SCALES),
        caught=("S7",),
    ),
    "empty-list-believed": Mutant(
        summary="what one list lacks is not there",
        puts=(
            ("domain.observation.absence:_missed", server_mutations.absent_is_gone),
            ("domain.machines.failure:doubted", server_mutations.doubt_nothing),
        ),
        scenario=_alone(rates={"empty_list": 0.01}),
        caught=("S5",),
    ),
    "lost-store-reclaimed": Mutant(
        summary="what carries another installation's tag is taken for leftovers of ours",
        puts=(
            ("controllers.cycle:view_of", server_mutations.all_tags_are_ours),
            ("lab.harness.gated_store:GatedStore.issued", server_mutations.everything_issued),
            ("providers.scaleway.instances.provider:Instances._touchable", server_mutations.always),
        ),
        scenario=_alone(Disruption(at=400, fault="store_lost"), reclaim=True, replicas=1),
        caught=("S5",),
    ),
    "address-untagged": Mutant(
        summary="an address is made without its owner tag",
        puts=(
            (
                "providers.scaleway.instances.execute:InstanceCalls._tags",
                server_mutations.without_address_tags,
            ),
        ),
        scenario=_LOST,
        caught=("S1",),
    ),
    "taken-from-another": Mutant(
        summary="an address of a pool is taken though it is another machine's",
        puts=(
            (
                "providers.scaleway.instances.address_pool:Pool._free",
                server_mutations.any_is_free,
            ),
        ),
        scenario=_alone(actions=_GROWS, address_pool=8),
        caught=("S5", "S13"),
    ),
    "claimed-is-free": Mutant(
        summary="an address of a pool is taken though another system claims it, or uses it",
        puts=(
            (
                "providers.scaleway.instances.address_pool:Pool._free",
                server_mutations.claimed_is_free,
            ),
        ),
        scenario=_alone(*_CLAIMS, actions=_GROWS, address_pool=14),
        caught=("S5",),
    ),
    "pool-address-deleted": Mutant(
        summary="an address that was taken from a pool is deleted",
        puts=(("providers.scaleway.instances.plan.delete:pooled", server_mutations.never),),
        scenario=_alone(actions=_SCALES, address_pool=8),
        caught=("L1", "S9"),
    ),
    "told-nothing": Mutant(
        summary="servers are started that were told nothing for their first boot",
        puts=(("providers.scaleway.instances.plan.create:_tell", server_mutations.nothing),),
        scenario=_CALM,
        caught=("L1",),
    ),
    "not-joined": Mutant(
        summary="servers are started that are in none of the networks that were asked for",
        puts=(("providers.scaleway.instances.plan.create:_join", server_mutations.nothing),),
        scenario=_alone(network=True),
        caught=("L1",),
    ),
    "drift-left": Mutant(
        summary="an address that a person takes off its server stays off",
        puts=(("providers.scaleway.instances.plan.create:drifts", server_mutations.nothing),),
        scenario=_alone(rates={"address_detached_by_hand": 3.0}),
        caught=("L1",),
    ),
    "silence-is-refusal": Mutant(
        summary="a change that nobody answered is taken for refused, and asked for again",
        puts=(
            (
                "providers.scaleway.instances.execute:outcome_of",
                server_mutations.silence_is_refusal,
            ),
        ),
        scenario=_LOST,
        caught=("S2",),
    ),
    "begun-uncounted": Mutant(
        summary="machines are begun where nobody knows how many there are",
        puts=(
            ("domain.fleets.scaling:zone_is_known", server_mutations.always),
            ("domain.fleets.offers:zone_is_known", server_mutations.always),
        ),
        scenario=_alone(scripts=_UNSEEN, actions=_SCALES),
        caught=("S3",),
    ),
    "reclaimed-uncounted": Mutant(
        summary="what no record explains is reclaimed where nobody knows how many there are",
        puts=(("domain.fleets.reclaim:scope_is_known", server_mutations.always),),
        scenario=_alone(
            Disruption(at=30, fault="resource_without_record"),
            reclaim=True,
            crowd=130,
            scripts=(Rule(fault="pages_shuffled", route="ip.list", after=30, count=400),),
        ),
        caught=("S3",),
    ),
    "protection-forgotten": Mutant(
        summary="what a person protects, because a job runs on it, is ended as anything else is",
        puts=(
            ("domain.machines.repair:protection", server_mutations.unprotected),
            ("domain.policy.gate:pass_gate", server_mutations.without_check("G5")),
            ("controllers.execute.sending:pass_gate", server_mutations.without_check("G5")),
        ),
        scenario=_alone(actions=_JOBS),
        caught=("S6",),
    ),
    "back-off-forgotten": Mutant(
        summary="what failed is tried again at once by a new record",
        puts=(("domain.fleets.offers:remember", server_mutations.remember_nothing),),
        scenario=_alone(rates={"start_falls_back": 0.9}),
        caught=("S4",),
    ),
    "newer-ids-are-ours": Mutant(
        summary="what a newer copy of the store made is taken for leftovers of ours",
        puts=(("lab.harness.gated_store:GatedStore.issued", server_mutations.everything_issued),),
        scenario=_alone(*_RESTORED, actions=_GROWS, reclaim=True, replicas=1),
        caught=("S5",),
    ),
    "unissued-reclaimed": Mutant(
        summary="what our store never issued is reported as that, and reclaimed",
        puts=(
            ("domain.fleets.reclaim:blocked", server_mutations.only_foreign_is_blocked),
            ("domain.fleets.reclaim:_groups", server_mutations.reclaim_unissued),
            *_WITHOUT_SCOPE_AND_WORLD,
        ),
        scenario=_alone(*_RESTORED, actions=_GROWS, reclaim=True, replicas=1),
        caught=("S5",),
    ),
    "removed-is-unissued": Mutant(
        summary="ids whose records somebody removed are taken for those of a newer store",
        puts=(("lab.harness.gated_store:GatedStore.issued", server_mutations.nothing_issued),),
        scenario=_alone(*_ROBBED, replicas=1),
        caught=("S5",),
    ),
    "made-beside-removal": Mutant(
        summary="a machine is made while what no record explains is being removed",
        puts=tuple(
            (f"{module}:world_is_right", server_mutations.removal_is_right)
            for module in (
                "controllers.cycle",
                "domain.fleets.offers",
                "domain.fleets.scaling",
                "domain.machines.next_calls",
            )
        ),
        scenario=_alone(_ROBBED[0], rates={"slow": 0.9}, reclaim=True, replicas=1),
        caught=("S2",),
    ),
    "bought-while-lists-are-empty": Mutant(
        summary="servers are made as soon as one list lacks what no record explains",
        puts=(("domain.observation.blockers:_lacking", server_mutations.nothing_lacking),),
        scenario=_alone(*_ROBBED, rates={"empty_list": 0.05}, actions=_GROWS, replicas=1),
        caught=("S2",),
    ),
    "bought-beside-unissued": Mutant(
        summary="servers are made beside those that our store never issued",
        puts=tuple(
            (f"{module}:world_is_right", server_mutations.unissued_is_right)
            for module in (
                "controllers.cycle",
                "domain.fleets.offers",
                "domain.fleets.scaling",
                "domain.machines.next_calls",
            )
        ),
        scenario=_alone(*_RESTORED, actions=_GROWS, replicas=1),
        caught=("S2", "S5"),
    ),
    "server-stays-off": Mutant(
        summary="a server that is made is never switched on",
        puts=(("providers.scaleway.instances.plan.create:_power_on", server_mutations.no_call),),
        scenario=_alone(),
        caught=("L2",),
    ),
    "server-stays": Mutant(
        summary="a server whose machine ends is left as it is",
        puts=(("providers.scaleway.instances.provider:clear", server_mutations.no_call),),
        scenario=_alone(actions=_SCALES),
        caught=("L2",),
    ),
}
"""Known bugs, by name."""
