"""How a HostlerMachine comes to its machine: the rules of the contract, one by one."""

from datetime import timedelta

import msgspec
import pytest
from msgspec.structs import replace
from view_kit import (
    ID,
    METADATA,
    NOW,
    PROVIDER_ID,
    WORKERS,
    cluster,
    condition,
    ending,
    grows,
    item,
    machine,
    owner,
    provisioned,
    ready,
    view,
    with_spec,
)

from hostler.domain.ids import Zone
from hostler.domain.model.calls import Refusal
from hostler.domain.model.machine import Machine, MachineHealth, MachineSpec, Offer
from hostler.domain.model.phases import Phase, Reason
from hostler.frontends.kubernetes.clusterapi.acts import NOTHING, SETTLE, Claim, Grow, Place
from hostler.frontends.kubernetes.clusterapi.bootstrap import BootstrapPlace
from hostler.frontends.kubernetes.clusterapi.decision import decide
from hostler.frontends.kubernetes.clusterapi.identity import next_id
from hostler.frontends.kubernetes.clusterapi.names import FINALIZER, MANAGED_BY, PAUSED
from hostler.frontends.kubernetes.clusterapi.objects import MachineStatus
from hostler.frontends.kubernetes.clusterapi.reasons import TERMINAL, ReadyReason
from hostler.frontends.kubernetes.clusterapi.standing import Standing
from hostler.testing.scenes.builders import BEGIN, OFFER

# ---------------------------------------------------------------- who is left alone


@pytest.mark.parametrize("value", ["", "true", "false"])
def test_an_object_annotated_as_paused_is_left_alone_whatever_the_value(value: str) -> None:
    decision = decide(view(item(annotations={PAUSED: value}, finalizers=())))

    assert decision.act is None
    assert condition(decision, "Paused").status == "True"


def test_an_object_of_a_paused_cluster_is_left_alone() -> None:
    decision = decide(view(item(finalizers=()), cluster=cluster(paused=True)))

    assert decision.act is None
    assert condition(decision, "Paused").reason == "Paused"


def test_a_pause_leaves_what_the_status_says_otherwise() -> None:
    before = provisioned()

    decision = decide(ready(before, cluster=cluster(paused=True)))

    assert decision.status is not None
    assert before.status is not None
    assert decision.status.initialization.provisioned
    assert decision.status.addresses == before.status.addresses
    assert condition(decision).status == "True"


def test_an_object_that_is_no_longer_paused_says_so() -> None:
    paused = decide(view(cluster=cluster(paused=True))).status
    decision = decide(ready(msgspec.structs.replace(provisioned(), status=paused)))

    assert condition(decision, "Paused").status == "False"


def test_an_object_managed_by_somebody_else_is_not_touched() -> None:
    assert decide(view(item(annotations={MANAGED_BY: ""}, finalizers=()))) == NOTHING


def test_nothing_is_done_before_core_has_set_the_owner() -> None:
    assert decide(view(item(finalizers=()), owner=None)) == NOTHING


def test_nothing_is_done_without_a_cluster() -> None:
    assert decide(view(item(finalizers=()), cluster=None)) == NOTHING


# ---------------------------------------------------------------- finalizer and id first


def test_finalizer_and_id_are_written_before_anything_is_asked() -> None:
    new = with_spec(item(finalizers=("somebody/else",)), machine_id="")

    assert decide(view(new)).act == Claim(machine=ID)


def test_a_finalizer_that_somebody_took_off_is_written_again_under_the_same_id() -> None:
    other = next_id(METADATA, "another")

    assert decide(view(with_spec(item(finalizers=()), machine_id=other))).act == Claim(
        machine=other
    )


def test_the_id_follows_from_the_uid_alone() -> None:
    other = msgspec.structs.replace(METADATA, uid="uid-2")

    assert next_id(METADATA) == ID != next_id(other)


def test_an_id_that_is_none_is_replaced() -> None:
    assert decide(view(with_spec(item(), machine_id="w-1"))).act == Claim(machine=ID)


# ---------------------------------------------------------------- what has to come first


def test_a_machine_waits_for_its_clusters_infrastructure() -> None:
    decision = decide(view(cluster=cluster(provisioned=False)))

    assert decision.act is None
    assert condition(decision).reason == ReadyReason.WAITING_FOR_CLUSTER


def test_a_machine_waits_for_its_bootstrap_data() -> None:
    decision = decide(view(bootstrap=None))

    assert decision.act is None
    assert condition(decision).reason == ReadyReason.WAITING_FOR_BOOTSTRAP
    assert decision.again is not None, "nobody watches the Secret: it is looked for again"


def test_a_wait_is_written_only_once_it_lasts() -> None:
    created = NOW - timedelta(seconds=4)
    decision = decide(view(item(creation_timestamp=created), bootstrap=None))

    assert decision.status is None
    assert decision.again == SETTLE - timedelta(seconds=4)


def test_empty_bootstrap_data_leaves_the_setup_to_the_fleet() -> None:
    assert grows(decide(view(bootstrap=BootstrapPlace()))).spec == MachineSpec()


def test_nothing_is_asked_before_the_engine_has_read_its_records() -> None:
    decision = decide(view(standing=Standing(known=False)))

    assert (decision.act, decision.status) == (None, None)
    assert decision.again is not None


# ---------------------------------------------------------------- what is asked


def test_a_machine_is_asked_for_by_its_id_with_what_is_wanted_of_it() -> None:
    wanted = with_spec(item(), type="small", zone="z-1")

    decision = decide(view(wanted))

    assert decision.act == Grow(
        machine=ID,
        spec=MachineSpec(type="small", zone=Zone("z-1"), bootstrap="secret/fleet/data"),
    )


def test_a_failure_domain_of_the_machine_is_obeyed() -> None:
    zones = (replace(OFFER, zone=Zone("z-2")), OFFER)
    standing = Standing(fleet=replace(WORKERS, offers=zones))

    decision = decide(view(standing=standing, owner=owner(failure_domain="z-2")))

    assert grows(decision).spec.failure_domain == "z-2"


def test_a_failure_domain_that_the_fleet_does_not_have_is_an_error() -> None:
    decision = decide(view(owner=owner(failure_domain="mars")))

    assert decision.act is None
    assert condition(decision).reason == ReadyReason.NO_SUCH_OFFER
    assert "mars" in condition(decision).message
    assert "small in z-1" in condition(decision).message


@pytest.mark.parametrize(
    ("standing", "reason"),
    [
        (Standing(), ReadyReason.FLEET_NOT_FOUND),
        (Standing(fleet=replace(WORKERS, removed=True)), ReadyReason.FLEET_NOT_FOUND),
        (Standing(fleet=replace(WORKERS, renews=True)), ReadyReason.FLEET_UNSUITABLE),
        (Standing(fleet=replace(WORKERS, offers=())), ReadyReason.NO_SUCH_OFFER),
        (Standing(fleet=WORKERS, blocker="at most 10"), ReadyReason.NO_CAPACITY),
        (Standing(fleet=WORKERS, refused="no bootstrap data"), ReadyReason.REFUSED),
    ],
)
def test_what_cannot_be_asked_is_told_and_looked_at_again(
    standing: Standing, reason: ReadyReason
) -> None:
    decision = decide(view(standing=standing))

    assert decision.act is None
    assert condition(decision).reason == reason
    assert condition(decision).message
    assert decision.again is not None


def test_what_is_told_is_no_longer_than_the_server_takes() -> None:
    """A refusal may quote what somebody wrote; a status that is too long is refused."""
    decision = decide(view(standing=Standing(fleet=WORKERS, refused="not " + "n" * 200_000)))

    assert condition(decision).message.startswith("not nnn")
    assert len(condition(decision).message) == 32_768


def test_what_was_asked_for_is_not_asked_again() -> None:
    decision = decide(view(standing=Standing(fleet=WORKERS, requested=True)))

    assert decision.act is None
    assert condition(decision).reason == ReadyReason.PROVISIONING


def test_no_second_machine_is_asked_for_where_one_was_ready() -> None:
    """After a move to a store that does not have it, or when its record was removed by force."""
    decision = decide(view(provisioned()))

    assert decision.act is None
    assert condition(decision).reason == ReadyReason.MACHINE_UNKNOWN
    assert decision.status is not None
    assert decision.status.initialization.provisioned


# ---------------------------------------------------------------- what became of it


@pytest.mark.parametrize("phase", [Phase.PENDING, Phase.STARTING])
def test_a_machine_on_its_way_is_not_provisioned(phase: Phase) -> None:
    decision = decide(ready(machine=machine(phase)))

    assert decision.act is None
    assert condition(decision).reason == ReadyReason.PROVISIONING
    assert decision.status is not None
    assert not decision.status.initialization.provisioned


def test_what_holds_up_a_machine_is_told() -> None:
    standing = Standing(
        fleet=WORKERS, machine=machine(Phase.PENDING), condition="the pool has no host that fits"
    )

    assert condition(decide(view(standing=standing))).message == "the pool has no host that fits"


def test_the_provider_id_is_written_before_provisioned() -> None:
    decision = decide(ready())

    assert decision.act == Place(provider_id=PROVIDER_ID)
    assert decision.status is None


def test_a_provider_id_that_another_object_still_has_is_not_written() -> None:
    """Core would drain and delete the Node of the one with the Machine of the other."""
    decision = decide(ready(rival="fleet/w-0"))
    assert decision.act is None
    assert condition(decision).reason == "IdentityTaken"
    assert "fleet/w-0" in condition(decision).message
    assert not decision.status or not decision.status.initialization.provisioned


def test_a_machine_without_a_provider_id_is_not_provisioned() -> None:
    standing = Standing(fleet=WORKERS, machine=machine())

    decision = decide(view(standing=standing))

    assert decision.act is None
    assert condition(decision).status == "False"


def test_a_ready_machine_is_provisioned() -> None:
    status = provisioned().status

    assert status is not None
    assert status.ready
    assert status.initialization.provisioned
    assert status.failure_domain == "z-1"


def test_an_object_that_lost_its_status_gets_it_again_and_asks_for_nothing() -> None:
    """As `clusterctl move` does: only spec and metadata are restored."""
    before = provisioned()

    decision = decide(ready(msgspec.structs.replace(before, status=None)))

    assert decision.act is None
    assert decision.status == before.status


def test_nothing_changes_where_nothing_changed() -> None:
    before = provisioned()

    assert decide(replace(ready(before), now=NOW + timedelta(hours=1))).status == before.status


def test_a_provider_id_is_never_changed() -> None:
    moved = with_spec(provisioned(), provider_id="hostler://test/z-1/another")

    decision = decide(ready(moved))

    assert decision.act is None
    assert condition(decision).reason == ReadyReason.IDENTITY_CHANGED


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (machine(Phase.FAILED), ReadyReason.MACHINE_FAILED),
        (machine(Phase.DRAINING), ReadyReason.MACHINE_ENDING),
        (machine(Phase.STANDBY), ReadyReason.STANDBY),
        (machine(Phase.DELETED), ReadyReason.MACHINE_LOST),
        (ending(Phase.READY), ReadyReason.MACHINE_ENDING),
        (ending(Phase.DELETED), ReadyReason.MACHINE_LOST),
    ],
)
def test_a_provisioned_machine_stays_provisioned_whatever_becomes_of_it(
    record: Machine, reason: ReadyReason
) -> None:
    decision = decide(ready(provisioned(), machine=record))

    assert decision.act is None
    assert condition(decision).reason == reason
    assert condition(decision).status == "False"
    assert decision.status is not None
    assert decision.status.initialization.provisioned
    assert not decision.status.ready


# ---------------------------------------------------------------- again, or never


def test_a_machine_that_came_to_nothing_is_asked_for_again_under_the_next_id() -> None:
    over = machine(Phase.DELETED, reason=str(Reason.NOT_ADMITTED), since=NOW - timedelta(minutes=1))

    decision = decide(ready(machine=over))

    assert decision.act == Claim(machine=next_id(METADATA, ID))
    assert next_id(METADATA, ID) != ID


def test_the_next_one_is_asked_for_after_a_pause() -> None:
    over = machine(Phase.DELETED, since=NOW - timedelta(seconds=10))

    decision = decide(ready(machine=over))

    assert decision.act is None
    assert condition(decision).reason == ReadyReason.RETRYING
    assert decision.again == timedelta(seconds=20)


def test_an_id_that_was_used_up_is_not_asked_for_again() -> None:
    decision = decide(view(standing=Standing(fleet=WORKERS, issued=True)))

    assert decision.act == Claim(machine=next_id(METADATA, ID))


def test_what_was_refused_for_good_is_not_asked_for_again() -> None:
    refused = Refusal.INVALID
    over = machine(Phase.DELETED, health=MachineHealth(refused=refused), error="no such image")

    decision = decide(ready(machine=over))

    assert decision.act is None
    assert condition(decision).reason == ReadyReason.REFUSED
    assert "no such image" in condition(decision).message


def test_reasons_that_waiting_heals_are_not_terminal() -> None:
    transient = {
        ReadyReason.NO_CAPACITY,
        ReadyReason.NO_AVAILABLE_HOST,
        ReadyReason.RETRYING,
        ReadyReason.WAITING_FOR_BOOTSTRAP,
        ReadyReason.MACHINE_FAILED,
    }

    assert not transient & TERMINAL
    assert {ReadyReason.REFUSED, ReadyReason.MACHINE_LOST} <= TERMINAL


def test_the_time_of_a_condition_changes_with_its_status_alone() -> None:
    first = decide(view(bootstrap=None))
    waited = msgspec.structs.replace(item(), status=first.status)

    later = decide(
        replace(view(waited), now=NOW + timedelta(minutes=5), standing=Standing(fleet=None))
    )

    assert condition(later).reason != condition(first).reason
    assert condition(later).last_transition_time == condition(first).last_transition_time
    assert condition(first).last_transition_time == f"{NOW:%Y-%m-%dT%H:%M:%SZ}"


def test_offers_and_finalizers_are_what_these_tests_believe() -> None:
    """So that no test above passes for a reason of its own."""
    assert Offer(type="small", zone=Zone("z-1")) == OFFER
    assert FINALIZER in (item().metadata.finalizers or ())
    assert MachineStatus() != provisioned().status
    assert METADATA.creation_timestamp == BEGIN
