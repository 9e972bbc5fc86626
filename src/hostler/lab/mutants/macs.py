"""Mutants of leased Macs: each must be caught by the simulation of `macs`.

From the incidents of reference/apple-silicon.md 17, and what it names as open in 18.
"""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.policy.purchasing import Limits
from hostler.lab.macs.demands import (
    BUSY,
    CHANGED,
    COMMANDS,
    LATER,
    NETWORKS,
    NOTHING,
    PRICES,
    Demands,
)
from hostler.lab.macs.faults import HOUR, MacScenario
from hostler.lab.scenario.faults import RECORD_REMOVED, Disruption, OperatorAction
from hostler.simulators.scaleway.faults.rates import FaultRates
from hostler.simulators.scaleway.state.options import Stock

from . import mac_mutations
from .mutant import Mutant
from .server_mutations import always, never, only_foreign_is_blocked, unprotected

_MINUTE = 60.0
_ENDS = tuple(
    OperatorAction(at=at * _MINUTE, kind=kind, which=which, home=home)
    for at, kind, which, home in (
        (50, "delete", 0.1, 0),
        (55, "delete", 0.6, 1),
        (110, "scale", 0.0, 0),
        (170, "scale", 0.9, 0),
        (171, "scale", 0.9, 1),
        (240, "delete", 0.9, 0),
        (300, "scale", 0.0, 1),
        (330, "scale", 0.9, 0),
    )
)
_UP_AND_DOWN = (
    OperatorAction(at=50 * _MINUTE, kind="scale", which=0.9),
    OperatorAction(at=120 * _MINUTE, kind="scale", which=0.0),
)
_RETIRES = tuple(OperatorAction(at=at * _MINUTE, kind="retire", which=0.5) for at in (60, 100))
_RETIRE_ALL = tuple(
    OperatorAction(at=(180 + 10 * nth) * _MINUTE, kind="retire", which=nth / 5) for nth in range(5)
)
_ROBBED = tuple(
    Disruption(at=at * _MINUTE, fault=RECORD_REMOVED, who=at, length=5.0) for at in (60, 90)
)
_ALL_ENDED = (
    OperatorAction(at=50 * _MINUTE, kind="scale", which=0.9),
    *(
        OperatorAction(at=120 * _MINUTE + nth, kind="delete", which=(nth + 0.5) / 5)
        for nth in range(5)
    ),
    OperatorAction(at=121 * _MINUTE, kind="scale", which=0.0),
    OperatorAction(at=300 * _MINUTE, kind="scale", which=0.3),
)
_LATER_ONE = (
    OperatorAction(at=60 * _MINUTE, kind="scale", which=0.0),
    OperatorAction(at=240 * _MINUTE, kind="scale", which=0.3),
)
_LATE = {"mac_rename_late": 0.6, "slow": 0.2}


class Alone(Struct, frozen=True, kw_only=True):
    """Makes a scenario in which nothing happens but this.

    `second` is whether another installation shares the pool from the beginning; `demands` is what
    the fleet asks for beside hosts of its pool; `span` is in seconds.
    """

    rates: Mapping[str, float] | None = None
    spells: Mapping[str, tuple[float, float]] | None = None
    disruptions: tuple[Disruption, ...] = ()
    actions: tuple[OperatorAction, ...] = _ENDS
    second: bool = False
    reclaim: bool = False
    floor: str = "412"
    fresh: bool = False
    demands: Demands = NOTHING
    span: float = 7 * HOUR

    def __call__(self, scenario: MacScenario) -> MacScenario:
        """Return the scenario, reduced to this."""
        base = replace(
            scenario.base,
            severity="planted",
            machines=2,
            world=FaultRates(self.rates or {}, self.spells or {}),
            faults=(),
            disruptions=self.disruptions,
            actions=self.actions,
            second=0.0 if self.second else None,
            replicas=1,
            list_lag=0.0,
            reclaim=self.reclaim,
            skews=(0.0, 0.0),
            span=self.span,
        )
        return replace(
            scenario,
            base=base,
            stocks=(Stock(3),),
            pools=("pool-",),
            floor=self.floor,
            fresh=self.fresh,
            demands=self.demands,
            namesakes=False,
            beyond=False,
        )


_MACS = "providers.scaleway.macs"
_ORDERS = Demands(limits=Limits(batch=2, most=5, cap=11.0, price=PRICES["M2-L"]))
_CLEAN = ("domain.decision.view:free_hosts", mac_mutations.all_are_clean)

MUTANTS: Mapping[str, Mutant[MacScenario]] = {
    "single-rename": Mutant(
        summary="a host is claimed by one rename, whoever else does the same",
        puts=((f"{_MACS}.plan.machine_calls:next_calls", mac_mutations.single_rename), _CLEAN),
        scenario=Alone(rates=_LATE, second=True, fresh=True),
        caught=("S5", "S13"),
    ),
    "read-back-is-proof": Mutant(
        summary="a pending tag is believed as soon as it is read back",
        puts=((f"{_MACS}.plan.machine_calls:Way._settled", mac_mutations.read_back), _CLEAN),
        scenario=Alone(rates=_LATE, second=True, fresh=True),
        caught=("S5", "S13"),
        within=12,
    ),
    "dirty-first": Mutant(
        summary="a machine takes the host that is to be taken last, and has it wiped",
        puts=(("domain.decision.view:free_hosts", mac_mutations.worst_first),),
        scenario=Alone(actions=_LATER_ONE),
        caught=("choice",),
    ),
    "pool-given-up": Mutant(
        summary="a host of the pool is given up with its machine, as if it had been ordered",
        puts=(("domain.hosts.allocation:stopping", mac_mutations.each_retires),),
        scenario=Alone(),
        caught=("S11",),
    ),
    "newer-date-is-proof": Mutant(
        summary="whatever is newer than the call is taken for a proof of the wipe",
        puts=(("domain.observation.effects:_has_effect", mac_mutations.newer_is_wiped),),
        scenario=Alone(rates={"mac_reinstall_ignored": 0.6}),
        caught=("S12", "pool"),
    ),
    "wiped-for-ever": Mutant(
        summary="a host whose wipes fail is wiped again, however often they did",
        puts=(("domain.hosts.wiping:wipe_failed", mac_mutations.no_pause),),
        scenario=Alone(rates={"mac_reinstall_fails": 1.0}),
        caught=("S4",),
    ),
    "late-rename": Mutant(
        summary="a host is handed on while a rename of it may still come",
        puts=(("domain.observation.effects:call_state", mac_mutations.lapsed_at_once),),
        scenario=Alone(rates={"effect_delayed": 0.5}, spells={"effect_delayed": (35.0, 55.0)}),
        caught=("S2", "S5"),
        within=12,
    ),
    "pool-name-first": Mutant(
        summary="a host is renamed into the pool, and wiped there",
        puts=(
            (f"{_MACS}.plan.machine_calls:Way.absent", mac_mutations.wiped_by_the_host),
            (f"{_MACS}.plan.host_calls:_wiped", mac_mutations.nothing_waits),
        ),
        scenario=Alone(),
        caught=("pool", "S12"),
    ),
    "any-404-is-gone": Mutant(
        summary="a 404 that names the image is read as: the host is gone",
        puts=(
            (f"{_MACS}.execute:MacCalls._outcome", mac_mutations.any_missing_is_the_host),
            ("domain.observation.outcomes:proof", mac_mutations.answer_is_proof),
        ),
        scenario=Alone(rates={"mac_os_not_found": 0.6}),
        caught=("S12", "pool"),
    ),
    "any-transient-is-fine": Mutant(
        summary="a transient state of any kind is taken for a wipe that is under way",
        puts=(
            (f"{_MACS}.execute:is_reinstalling", mac_mutations.transient_is_fine),
            ("domain.observation.outcomes:proof", mac_mutations.answer_is_proof),
        ),
        scenario=Alone(rates={"mac_transient_409": 0.5}),
        caught=("S12", "pool"),
    ),
    "cached-reclaim": Mutant(
        summary="what old records do not explain is reclaimed, and nothing is read again",
        puts=(
            ("domain.decision.view:orphans", mac_mutations.by_old_records),
            ("domain.fleets.reclaim:blocked", only_foreign_is_blocked),
            (
                "controllers.execute.reclaim:Reclaimer._is_explained",
                mac_mutations.strays_are_old_news,
            ),
            ("controllers.execute.reclaim:_same_host", mac_mutations.same_as_listed),
            ("controllers.execute.sending:pass_gate", mac_mutations.young_and_seen_once),
        ),
        scenario=Alone(reclaim=True),
        caught=("S5", "S1"),
    ),
    "released-untold": Mutant(
        summary="a record that knows no pool is dropped, its host kept, and nobody told",
        puts=(
            ("domain.hosts.claims:taken", mac_mutations.dropped_without_a_pool),
            ("domain.hosts.lifecycle:described", mac_mutations.dropped_without_a_pool),
            (f"{_MACS}.plan.read:MacReader._pool", mac_mutations.without_a_pool),
            ("domain.decision.view:orphans", mac_mutations.untold),
        ),
        scenario=Alone(),
        caught=("S1",),
    ),
    "outside-unreported": Mutant(
        summary="hosts that are in no pool, unfit, or another installation's are shown to nobody",
        puts=(("domain.decision.view:outside", mac_mutations.untold),),
        scenario=Alone(second=True),
        caught=("C1",),
    ),
    "deleted-until-granted": Mutant(
        summary="a deletion that is refused until a date is asked for until it is granted",
        puts=((f"{_MACS}.plan.host_calls:_ended", mac_mutations.delete_until_granted),),
        scenario=Alone(actions=_RETIRES, floor="mixed"),
        caught=("S11",),
    ),
    "dirty-is-clean": Mutant(
        summary="a host that is free is claimed as it is, whoever had it before",
        puts=(_CLEAN,),
        scenario=Alone(),
        caught=("S12",),
    ),
    "order-unremembered": Mutant(
        summary="an order counts only once there is a record of its host",
        puts=(("domain.hosts.delivery:_is_coming", mac_mutations.coming_on_record),),
        scenario=Alone(demands=_ORDERS),
        caught=("S2",),
    ),
    "order-unrecorded": Mutant(
        summary="an order is sent that no row remembers",
        puts=(("domain.hosts.purchasing:buy", mac_mutations.sent_unrecorded),),
        scenario=Alone(demands=_ORDERS),
        caught=("E2",),
    ),
    "lost-is-refused": Mutant(
        summary="an order whose answer was lost is taken off the row, as if it were refused",
        puts=((f"{_MACS}.execute:MacCalls._order", mac_mutations.lost_is_refused),),
        scenario=Alone(rates={"mac_order_lost": 0.7}, demands=_ORDERS),
        caught=("S2", "S4"),
    ),
    "window-ignored": Mutant(
        summary="a host that is free is ended at once, whatever was paid for it",
        puts=(
            ("domain.policy.purchasing:windows_over", mac_mutations.all_are_over),
            (f"{_MACS}.plan.host_calls:_ended", mac_mutations.delete_until_granted),
        ),
        scenario=Alone(demands=_ORDERS),
        caught=("S11",),
    ),
    "given-up-uncounted": Mutant(
        summary="a host that is given up makes room for another while it is still paid for",
        puts=(("domain.hosts.purchasing:is_paid", mac_mutations.given_up_is_gone),),
        scenario=Alone(
            actions=(_UP_AND_DOWN[0], *_RETIRE_ALL),
            demands=Demands(limits=Limits(batch=2, most=1, price=PRICES["M2-L"])),
        ),
        caught=("S2",),
    ),
    "kept-for-ever": Mutant(
        summary="a host that was ordered is never ended, though nobody needs it",
        puts=(("domain.policy.purchasing:windows_over", mac_mutations.none_is_over),),
        scenario=Alone(actions=_UP_AND_DOWN, demands=_ORDERS, span=66 * HOUR),
        caught=("S11",),
    ),
    "busy-unasked": Mutant(
        summary="a host is wiped without asking whether a job runs there",
        puts=(
            ("domain.machines.drain:bars", unprotected),
            ("controllers.execute.evidence:bars", unprotected),
        ),
        scenario=Alone(demands=Demands(commands=COMMANDS[:1], busy=BUSY)),
        caught=("S6",),
    ),
    "any-key": Mutant(
        summary="a pinned host key is opened again without a wipe",
        puts=(("domain.policy.host_keys:_reopened", always),),
        scenario=Alone(
            rates={"mac_ssh_wrong_key": 6.0},
            demands=Demands(commands=COMMANDS, troubles={"command_failed": 0.3}),
        ),
        caught=("host-key",),
    ),
    "login-unproven": Mutant(
        summary="a host that answers is ready, whatever was to run on it",
        puts=(
            ("domain.machines.rollout:is_prepared_by_ssh", never),
            ("controllers.execute.probes:is_prepared_by_ssh", never),
        ),
        scenario=Alone(demands=Demands(commands=COMMANDS)),
        caught=("bootstrap",),
    ),
    "never-taken-back": Mutant(
        summary="hosts without a record are told for ever, though they are to be taken back",
        puts=(("domain.fleets.reclaim:_has_pool", never),),
        scenario=Alone(reclaim=True, disruptions=_ROBBED),
        caught=("L1",),
    ),
    "list-brought-to-all": Mutant(
        summary="a changed list of commands is tried on all machines in use at once",
        puts=(("domain.machines.rollout:canaries", mac_mutations.to_all),),
        scenario=Alone(
            demands=Demands(commands=COMMANDS, later=LATER),
            disruptions=(Disruption(at=45 * _MINUTE, fault=CHANGED),),
        ),
        caught=("rollout",),
    ),
    "vlan-unawaited": Mutant(
        summary="a host is ready before its VLAN is known",
        puts=((f"{_MACS}.plan.read:is_wired", always),),
        scenario=Alone(demands=Demands(networks=NETWORKS)),
        caught=("network",),
    ),
    "networks-kept": Mutant(
        summary="a host goes back to its pool in the networks of its last tenant",
        puts=((f"{_MACS}.plan.host_calls:_out_of_networks", mac_mutations.nothing),),
        scenario=Alone(demands=Demands(networks=NETWORKS)),
        caught=("network",),
    ),
    "proof-dropped": Mutant(
        summary="a clean host that nobody touched is wiped once more",
        puts=(("domain.hosts.claims:doubted", mac_mutations.unproved),),
        scenario=Alone(),
        caught=("S12",),
    ),
    "wiped-once": Mutant(
        summary="a host whose wipe failed while its machine starts is not wiped again",
        puts=((f"{_MACS}.plan.machine_calls:Way._failed", never),),
        scenario=Alone(rates={"mac_reinstall_fails": 1.0}),
        caught=("L2",),
    ),
    "put-back-unproved": Mutant(
        summary="a host that was wiped and put back counts as put there by somebody else",
        puts=(("domain.hosts.wiping:_is_unproved", always),),
        scenario=Alone(),
        caught=("S12",),
    ),
    "pool-first": Mutant(
        summary="a host of the pool is taken while one that is paid for waits",
        puts=(("domain.hosts.free:preference", mac_mutations.pool_first),),
        scenario=Alone(actions=_ALL_ENDED, demands=_ORDERS),
        caught=("choice",),
    ),
    "claim-believed": Mutant(
        summary="a claim that was never answered counts as made",
        puts=(("domain.observation.effects:_has_effect", mac_mutations.believed),),
        scenario=Alone(rates={"hung": 0.2, "failed_500": 0.3}),
        caught=("L2",),
    ),
}
"""Known bugs, by name."""
