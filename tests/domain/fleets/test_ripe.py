"""Ripe requests: what waits, and what must not overtake it."""

from datetime import datetime

from msgspec.structs import replace

from hostler.domain.decision.ripe import ripe, speaks_against
from hostler.domain.ids import FleetName, HostId
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.resource import Condition
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.testing.scenes.builders import BEGIN, FLEET, MIN, WEB, ZONE
from hostler.testing.scenes.hosts import BOX, account_snapshot, box

OTHER_BOX = HostId("host-2")


def request(number: int, kind: RequestKind, host: HostId) -> Request:
    return Request(number=number, kind=kind, fleet=WEB, at=BEGIN + MIN, actor="ann", host=host)


def answered(*requests: Request) -> list[int]:
    """Return which requests are ripe where the boxes bear names that nobody of ours wrote."""
    boxes = (box("foreign"), box("foreign", host=OTHER_BOX))
    account = account_snapshot(boxes, requests=requests)
    return [one.number for one in ripe(account, WEB)]


def test_what_is_asked_of_a_host_never_overtakes_what_was_asked_of_it_before() -> None:
    retire, add = RequestKind.RETIRE, RequestKind.POOL_ADD
    assert answered(request(2, add, BOX)) == [2]
    assert answered(request(1, retire, BOX)) == []
    assert answered(request(1, retire, BOX), request(2, add, BOX)) == []
    assert answered(request(1, retire, BOX), request(2, add, OTHER_BOX)) == [2]
    assert answered(request(1, add, BOX), request(2, add, BOX)) == [1, 2]


def test_what_was_seen_speaks_against_a_request_only_where_it_is_as_new() -> None:
    retire, cycle, add = RequestKind.RETIRE, RequestKind.CYCLE, RequestKind.POOL_ADD
    off = replace(box("pool"), condition=Condition.OFF)
    assert speaks_against(cycle, off)
    assert not speaks_against(cycle, replace(off, condition=Condition.UP))
    assert speaks_against(retire, box("foreign"))
    assert not speaks_against(retire, off)
    assert not speaks_against(add, box("foreign"))

    def is_ripe(observed: datetime) -> bool:
        account = account_snapshot((off,), requests=(request(1, cycle, BOX),))
        whole = {(ZONE, account.capabilities.host_kind): observed}
        inventory = replace(account.inventory, whole=whole)
        account = replace(account, now=BEGIN + 3 * MIN, inventory=inventory)
        return [found.number for found in ripe(account, WEB)] == [1]

    assert not is_ripe(BEGIN + MIN)
    assert is_ripe(BEGIN + 1.1 * MIN)


def test_a_host_that_a_list_lacks_is_waited_for_as_long_as_lists_may_lag() -> None:
    """Whoever asked has seen it; one list without it refused what had been accepted."""
    asked = request(1, RequestKind.POOL_ADD, HostId("host-3"))

    def is_ripe(listed: datetime) -> bool:
        account = account_snapshot((box("foreign"),), requests=(asked,))
        whole = {(ZONE, account.capabilities.host_kind): listed}
        inventory = replace(account.inventory, whole=whole)
        account = replace(account, now=BEGIN + 5 * MIN, inventory=inventory)
        return [found.number for found in ripe(account, WEB)] == [1]

    delay = account_snapshot(()).capabilities.consistency_delay
    assert not is_ripe(asked.at + delay)
    assert is_ripe(asked.at + 1.1 * delay)


BUILDERS = FleetName("builders")


def test_what_names_a_fleet_that_is_taken_over_waits_until_the_other_one_has_its_machines() -> None:
    asked = Request(number=1, kind=RequestKind.SCALE, fleet=WEB, at=BEGIN, actor="ann", size=2)
    own = replace(asked, number=2, fleet=BUILDERS)
    row = FleetRow(name=BUILDERS, created=BEGIN)
    builders, web = replace(FLEET, name=BUILDERS), replace(FLEET, removed=True)

    def ripe_by(row: FleetRow, *fleets: Fleet) -> list[int]:
        account = account_snapshot((), fleets=fleets, rows={BUILDERS: row}, requests=(asked, own))
        return [one.number for one in ripe(account, BUILDERS)]

    assert ripe_by(row, builders, web) == [2]
    assert ripe_by(replace(row, adopts=WEB), builders, web) == [2]
    assert ripe_by(replace(row, former=(WEB,)), builders) == [1, 2]
    assert ripe_by(replace(row, former=(WEB,)), builders, replace(FLEET)) == [2]


def test_what_is_dated_in_the_future_waits_for_an_observation_and_not_for_its_date() -> None:
    """The clock jumped back by hours: a request about a host that is none had no answer since."""
    asked = request(1, RequestKind.RETIRE, HostId("host-nobody-knows"))
    ahead = replace(asked, at=BEGIN + 300 * MIN)

    def is_ripe(one: Request, steady: datetime) -> bool:
        account = account_snapshot((box("foreign"),), requests=(one,))
        whole = {("zone-1", account.capabilities.host_kind): BEGIN + 2.1 * MIN}
        inventory = replace(account.inventory, whole=whole)
        account = replace(account, now=BEGIN + 3 * MIN, steady=steady, inventory=inventory)
        return [found.number for found in ripe(account, WEB)] == [1]

    assert is_ripe(asked, BEGIN)
    assert is_ripe(ahead, BEGIN)
    assert not is_ripe(ahead, BEGIN + 2.5 * MIN), "nothing was observed since the clock jumped"
