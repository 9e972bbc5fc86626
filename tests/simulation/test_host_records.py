"""The laws of host records: what they say is true, how often a host went on, and what is proved."""

from collections import Counter
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace

from hostler.domain.ids import AccountName, HostId, InstallationId
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.host import Host, HostCondition, HostGoal, HostOwnership, HostPower
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.domain.policy.billing import Billing
from hostler.lab.checks.holds import HEARD, Holds
from hostler.lab.checks.host_records import TrueHost, Wear, misstated
from hostler.lab.checks.lag import Lag
from hostler.lab.macs.ground_truth import Asked, Change, Fact
from hostler.lab.macs.proofs import Proofs
from hostler.lab.metal.ground_truth import MetalTruth
from hostler.lab.metal.holds import Cycles
from hostler.simulators.scaleway.state.mac_records import MacStatus
from hostler.testing.scenes.builders import FLEET, ZONE, S, machine
from hostler.testing.time.clock import BEGINNING

OURS, THEIRS = InstallationId("i1"), InstallationId("i2")
BOX = HostId("box-1")
RECORD = Host(
    id=BOX,
    account=AccountName("rack"),
    zone=ZONE,
    type="small",
    ownership=HostOwnership(name="box-1"),
    power=HostPower(on=True),
    billing=Billing(price=0.02),
)
HELD = Hold(kind=HoldKind.RESERVED, until=BEGINNING, actor="ann")
TRUE = TrueHost(type="small", name="box-1", price=0.02, on=True)


@pytest.mark.parametrize(
    ("true", "wrong"),
    [
        (TRUE, ""),
        (replace(TRUE, price=None, on=None), ""),
        (replace(TRUE, type="large"), "its type is 'large', not 'small'"),
        (replace(TRUE, name="other"), "its name is 'other', not 'box-1'"),
        (replace(TRUE, on=False), "it is off, and not known as that"),
        (replace(TRUE, price=0.03), "an hour costs 0.0300, not 0.0200"),
        (replace(TRUE, switched=False, on=None), "whether it is on is recorded"),
    ],
)
def test_record_of_a_host_says_what_is_true(true: TrueHost, wrong: str) -> None:
    found = misstated(RECORD, true)
    assert bool(found) == bool(wrong)
    assert all(wrong in one.text and one.invariant == "L1" for one in found)


@pytest.mark.parametrize(
    ("before", "after", "true", "holds"),
    [(0, 1, 1, True), (1, 1, 3, True), (1, 0, 3, False), (0, 2, 1, False), (0, -1, 1, False)],
)
def test_starts_on_record_never_become_less_nor_more_than_are_true(
    before: int, after: int, true: int, *, holds: bool
) -> None:
    def counted(starts: int) -> Host:
        return replace(RECORD, power=HostPower(on=True, starts=starts))

    wear = Wear()
    assert not wear.saved(counted(before), max(before, true))
    assert not wear.saved(counted(before), max(before, true))
    assert (not wear.saved(counted(after), true)) == holds


def test_what_records_do_not_say_may_be_so_for_as_long_as_its_bound() -> None:
    lag, off = Lag({"its box is off": 300.0}), (machine(1), "its box is off")
    assert not lag.check(OURS, [off], 200.0)
    assert not lag.check(THEIRS, [off], 200.0)
    (wrong,) = lag.check(OURS, [off], 101.0)
    assert (wrong.invariant, wrong.machine) == ("L2", machine(1).id)
    assert not lag.check(OURS, [], 10.0)
    assert not lag.check(OURS, [off], 300.0)


def _change(who: InstallationId | None, *, late: bool = False) -> Change:
    asked = Asked(ours=(who,), machine="m", act="update", name="n", begun=0.0) if who else None
    fact = Fact(name="n", named=0.0, cycle=1, status=MacStatus.READY, moved=0.0, used=1)
    return Change(what="renamed", host=BOX, by=asked, before=fact, late=late)


@pytest.mark.parametrize(
    ("change", "at", "holds"),
    [
        (None, 0.0, False),
        (_change(OURS), 650.0, False),
        (_change(THEIRS), 650.0, True),
        (_change(None), 650.0, True),
        (_change(OURS, late=True), 650.0, True),
        (_change(THEIRS), 499.0, False),
    ],
)
def test_what_was_proved_clean_stays_so_until_somebody_else_touches_it(
    change: Change | None, at: float, *, holds: bool
) -> None:
    proofs, taken = Proofs(100.0), BEGINNING + 600 * S
    before = replace(machine(1), host=BOX, phase=Phase.STARTING).with_fact("clean", taken)
    after = before.without_fact("clean")
    if change is not None:
        proofs.changed(change, at)
    assert (not proofs.saved(OURS, before, after)) == holds
    assert not proofs.saved(OURS, before, before)
    assert not proofs.saved(OURS, before, replace(after, host=HostId("box-2")))
    assert not proofs.saved(OURS, after, after)


def _host(wiped: float | None, condition: HostCondition = HostCondition.DIRTY) -> Host:
    at = None if wiped is None else BEGINNING + wiped * S
    return replace(RECORD, condition=condition).with_cleaning(wiped=at)


@pytest.mark.parametrize(
    ("change", "steady", "holds"),
    [
        (None, 0.0, False),
        (_change(OURS), 0.0, False),
        (_change(THEIRS), 0.0, True),
        (_change(None), 0.0, True),
        (None, None, True),
        (None, 601.0, True),
    ],
)
def test_a_wipe_that_was_proved_counts_until_somebody_else_touches_its_host(
    change: Change | None, steady: float | None, *, holds: bool
) -> None:
    proofs, proved = Proofs(100.0), _host(600.0, HostCondition.WIPING)
    if change is not None:
        proofs.changed(change, 650.0)
    for before, after, well in (
        (proved, _host(None), holds),
        (proved, _host(600.0, HostCondition.FREE), True),
        (proved, _host(None, HostCondition.ABSENT), True),
        (_host(600.0, HostCondition.ALLOCATED), _host(None), True),
        (proved, replace(_host(None), hold=HELD), True),
    ):
        proofs.host_saved(OURS, before, steady=steady)
        assert (not proofs.host_saved(OURS, after, steady=steady)) == well, after


@pytest.mark.parametrize(
    ("kind", "there", "fault", "holds"),
    [
        (RequestKind.LIFT, False, "", False),
        (RequestKind.LIFT, True, "", False),
        (RequestKind.LIFT, False, "store_restored", True),
        (RequestKind.HOLD, True, "", False),
        (RequestKind.HOLD, False, "", True),
        (RequestKind.RETIRE, True, "", True),
    ],
)
def test_what_holds_a_host_on_record_can_be_lifted_wherever_it_is(
    kind: RequestKind, fault: str, *, there: bool, holds: bool
) -> None:
    judge = Holds(lambda: 0.0, Counter([fault]))
    judge.asked(Request(number=1, fleet=FLEET.name, kind=kind, host=BOX, actor="ann", at=BEGINNING))
    assert (not judge.refused(1, RECORD, there=there)) == holds
    assert not judge.refused(2, RECORD, there=there)
    assert not judge.refused(1, None, there=there)


@pytest.mark.parametrize(
    ("off", "condition", "strikes", "holds"),
    [
        (None, Condition.UP, 0, False),
        (1000.0 - HEARD - 1, Condition.UP, 0, False),
        (1000.0 - HEARD, Condition.UP, 0, True),
        (1100.0, Condition.UP, 0, True),
        (None, Condition.OFF, 0, True),
        (None, Condition.UP, 1, True),
    ],
)
def test_what_is_to_go_off_and_on_was_off_before_that_is_over(
    off: float | None, condition: Condition, strikes: int, *, holds: bool
) -> None:
    def recorded(cycle: HostGoal | None) -> Host:
        return replace(RECORD.with_health(strikes=strikes), power=HostPower(on=True, cycle=cycle))

    def last(*_: object) -> float | None:
        return off

    def stands(_: object) -> Condition:
        return condition

    truth = SimpleNamespace(now=1000.0, last=last, condition=stands)
    judge = Cycles(cast("MetalTruth", cast("object", truth)))
    assert not judge.saved(recorded(None))
    assert not judge.saved(recorded(HostGoal.OFF))
    truth.now = 1200.0
    assert not judge.saved(recorded(HostGoal.OFF))
    assert (not judge.saved(recorded(None))) == holds
    assert not judge.saved(recorded(None))
