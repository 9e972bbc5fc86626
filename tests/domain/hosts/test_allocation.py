"""The end of a machine on a host that outlives it: released, given up, or left and told."""

from datetime import timedelta
from typing import Literal

import pytest
from msgspec.structs import replace

from hostler.domain.hosts.allocation import CLAIMED_TWICE, HAD, STRANGER, stopping, watched
from hostler.domain.machines.failure import suspected
from hostler.domain.machines.lifecycle import follow
from hostler.domain.model.calls import Shows
from hostler.domain.model.host import HostOrigin, ReleasePolicy
from hostler.domain.model.machine import RESTED, RETIRE, CallState, Machine
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import Resource, Stage
from hostler.domain.model.transition import Transition
from hostler.testing.scenes.builders import BEGIN, FLEET
from hostler.testing.scenes.hosts import BOX, MINE, call, fleet_snapshot, on_host, record, tenant

End = Literal["release", "retire", "skip"]
NONE, TERMINATE, KEEP = None, ReleasePolicy.TERMINATE, ReleasePolicy.KEEP
POOL, ORDERED = HostOrigin.POOL, HostOrigin.ORDERED


def ended(resource: Resource | None, **fields: object) -> Transition:
    """Return what becomes of a machine that has begun to stop, on a host with these fields."""
    machine = on_host(Phase.STOPPING)
    host = record(**fields)
    resources = () if resource is None else (resource,)
    snapshot = fleet_snapshot((machine,), resources, hosts=(host,), bindings={MINE: BOX})
    return stopping(Transition(before=machine, machine=machine, resources=resources), snapshot)


@pytest.mark.parametrize(
    ("origin", "policy", "pool", "end"),
    [
        (POOL, NONE, "pool-", "release"),
        (POOL, NONE, "", "skip"),
        (POOL, TERMINATE, "pool-", "retire"),
        (POOL, TERMINATE, "", "retire"),
        (POOL, KEEP, "pool-", "release"),
        (POOL, KEEP, "", "skip"),
        (ORDERED, NONE, "pool-", "retire"),
        (ORDERED, NONE, "", "retire"),
        (ORDERED, TERMINATE, "pool-", "retire"),
        (ORDERED, TERMINATE, "", "retire"),
        (ORDERED, KEEP, "pool-", "release"),
        (ORDERED, KEEP, "", "skip"),
    ],
)
def test_the_end_of_an_allocation_by_origin_policy_and_pool(
    origin: HostOrigin, policy: ReleasePolicy | None, pool: str, end: End
) -> None:
    transition = ended(tenant(pool=""), origin=origin, policy=policy, pool=pool)
    machine = transition.machine
    assert (machine.fact(RETIRE) is not None) is (end == "retire")
    skipped = (machine.phase, machine.reason) == (Phase.DELETED, Reason.RELEASE_SKIPPED)
    assert skipped is (end == "skip")
    assert (machine.phase is Phase.STOPPING) is (end != "skip")
    kinds = {event.kind for event in transition.events}
    assert ("release_skipped" in kinds) is (end == "skip")


def test_the_pool_that_the_observation_tells_serves_a_record_without_one() -> None:
    assert ended(tenant(pool="pool-"), pool="").machine.phase is Phase.STOPPING


@pytest.mark.parametrize("stage", ["other", "unnamed", "foreign"])
def test_a_host_that_bears_somebody_elses_name_is_left_to_them(stage: str) -> None:
    transition = ended(tenant(stage, owned=False))
    assert (transition.machine.phase, transition.machine.reason) == (
        Phase.DELETED,
        Reason.HOST_TAKEN,
    )
    assert transition.events[0].detail == BOX


@pytest.mark.parametrize("stage", ["pool", "pending", "claimed", "releasing", "standby", "rested"])
def test_a_host_that_is_ours_by_name_or_by_binding_is_released(stage: str) -> None:
    assert ended(tenant(stage)).machine.phase is Phase.STOPPING


def test_nothing_is_settled_before_the_host_is_seen_and_its_calls_are_sure() -> None:
    assert ended(None, pool="").machine.phase is Phase.STOPPING
    promised = replace(tenant("other", owned=False), status="promised")
    assert ended(promised).machine.phase is Phase.STOPPING
    machine = on_host(Phase.STOPPING, asked=(call("mark", CallState.OPEN, shows=Shows.OWNER_TAG),))
    resource = tenant("other", owned=False)
    snapshot = fleet_snapshot((machine,), (resource,), hosts=(record(),), bindings={MINE: BOX})
    transition = stopping(
        Transition(before=machine, machine=machine, resources=(resource,)), snapshot
    )
    assert transition.machine is machine


def test_a_machine_without_a_host_comes_to_its_end_by_itself() -> None:
    machine = on_host(Phase.STOPPING, host=None, places=())
    transition = stopping(
        Transition(before=machine, machine=machine, resources=()), fleet_snapshot((machine,))
    )
    assert transition.machine is machine


def watching(resource: Resource, machine: Machine) -> Machine:
    """Return the record after a look that shows its host so."""
    snapshot = fleet_snapshot((machine,), (resource,), hosts=(record(),), bindings={MINE: BOX})
    return watched(
        Transition(before=machine, machine=machine, resources=(resource,)), snapshot
    ).machine


def test_that_another_installation_had_the_host_is_kept_until_the_name_is_its_machines_again() -> (
    None
):
    foreign = tenant("foreign", owned=False, tagged=Stage.CLAIMED)
    had = watching(foreign, on_host())
    assert had.fact(HAD) is not None
    assert watching(foreign, had).fact(HAD) == had.fact(HAD)
    assert watching(tenant("pool", owned=False), had).fact(HAD) is not None
    assert watching(tenant("claimed"), had).fact(HAD) is None


@pytest.mark.parametrize(
    ("resource", "ready"),
    [
        (tenant("foreign", owned=False, tagged=Stage.WIPING), True),
        (tenant("foreign", owned=False), True),
        (tenant("other", owned=False), True),
        (tenant("foreign", owned=False, tagged=Stage.CLAIMED), False),
    ],
)
def test_no_other_name_says_that_another_installations_machine_used_the_host(
    resource: Resource, *, ready: bool
) -> None:
    """Nor is anything kept of a host that its machine was never ready on."""
    machine = on_host() if ready else on_host(Phase.STARTING, was_ready=None)
    assert watching(resource, machine).fact(HAD) is None


IN_POOL = tenant("pool", owned=False)
LAST = BEGIN - timedelta(minutes=1)


@pytest.mark.parametrize(
    ("machine", "resource", "lost"),
    [
        (on_host().with_fact(HAD, BEGIN), IN_POOL, Reason.HOST_USED),
        (on_host().with_fact(HAD, BEGIN), tenant("other", owned=False), None),
        (on_host().with_fact(HAD, BEGIN), tenant("claimed"), None),
        (on_host(), IN_POOL, None),
        (on_host(Phase.STANDBY).with_fact(RESTED, BEGIN), IN_POOL, Reason.HOST_USED),
        (on_host(Phase.STARTING).with_fact(RESTED, BEGIN), IN_POOL, Reason.HOST_USED),
        (on_host(Phase.STANDBY).with_fact(RESTED, BEGIN), tenant("rested"), None),
        (on_host(asked=(call("mark", CallState.DONE),)).with_fact(RESTED, LAST), IN_POOL, None),
    ],
)
def test_a_host_in_the_pool_is_its_machines_only_while_nobody_else_can_have_used_it(
    machine: Machine, resource: Resource, lost: Reason | None
) -> None:
    snapshot = fleet_snapshot((machine,), (resource,), hosts=(record(),), bindings={MINE: BOX})
    assert (
        suspected(Transition(before=machine, machine=machine, resources=(resource,)), snapshot)
        is lost
    )


def test_a_stranger_is_left_alone_unless_it_is_given_up() -> None:
    """Another key than its own answers there: nobody knows whose disk a wipe would empty."""
    machine = on_host(Phase.STOPPING).with_fact(STRANGER, BEGIN)

    def end(of: Machine) -> Machine:
        resource = tenant("claimed")
        snapshot = fleet_snapshot((of,), (resource,), hosts=(record(),), bindings={MINE: BOX})
        return stopping(Transition(before=of, machine=of, resources=(resource,)), snapshot).machine

    assert (end(machine).phase, end(machine).reason) == (Phase.DELETED, Reason.NOT_PREPARED)
    assert end(machine.with_fact(RETIRE, BEGIN)).phase is Phase.STOPPING


def test_that_a_host_is_claimed_twice_is_noted_once_and_as_long_as_it_lasts() -> None:
    twice = watching(tenant("other", owned=False), on_host())
    assert twice.fact(CLAIMED_TWICE) == BEGIN
    assert watching(tenant("other", owned=False), twice) == twice
    assert watching(tenant("claimed"), twice).fact(CLAIMED_TWICE) is None


def test_a_machine_gives_its_host_back_before_its_start_is_tried_again() -> None:
    """It held the host and asked for it each minute, while that bore the name of its own release.

    What it asked for says nothing of the next host that it takes, which may be the same.
    """
    released = call("mac.rename.wiping", CallState.DONE, aim=Stage.WIPING)
    failed = on_host(Phase.STOPPING, was_ready=None, asked=(released,))
    failed = replace(
        failed,
        places=tuple(
            replace(place, known=tuple(replace(known, deleted=True) for known in place.known))
            for place in failed.places
        ),
    )
    snapshot = fleet_snapshot((failed,), hosts=(record(),), bindings={MINE: BOX})
    snapshot = replace(snapshot, fleet=replace(FLEET, renews=False))
    again = follow(failed, snapshot, wave=False)
    assert (again.machine.phase, again.machine.reason) == (Phase.PENDING, Reason.MADE_AGAIN)
    assert (again.machine.host, again.machine.asked) == (None, ())
    assert again.before.host == BOX, "by which the host is unbound"
    assert not {event.reason for event in again.events} & {Reason.HOST_LOST}
