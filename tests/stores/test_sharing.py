"""Records that were decoded share what they repeat."""

from collections.abc import Iterator

from msgspec.structs import replace

from hostler.domain.ids import Epoch
from hostler.domain.model.calls import Shows
from hostler.domain.model.machine import Asked, Machine
from hostler.domain.model.resource import Slot
from hostler.stores.records.documents import MACHINE
from hostler.stores.records.sharing import share
from hostler.testing.conformance.store.records import NOON, machine


def test_machines_of_a_fleet_share_what_they_repeat():
    document = MACHINE.write(_ready())
    one, other = (share(MACHINE.read(document)) for _ in range(2))
    assert one == other == _ready()
    assert one is not other
    for mine, theirs in zip(_repeated(one), _repeated(other), strict=True):
        assert mine is theirs


def _ready() -> Machine:
    """Return a record with something in every place that is shared."""
    asked = Asked(
        kind="server.create",
        slot=Slot("server"),
        attempt=1,
        at=NOON,
        epoch=Epoch(1),
        shows=Shows.RESOURCE,
    )
    known = replace(machine(1, resource="r-1"), reason="the provider says it is up")
    return known.with_asked(asked).with_fact("volume 0 tagged", NOON)


def _repeated(record: Machine) -> Iterator[object]:
    yield from (record.fleet, record.offer, record.reason, record.template, record.spec)
    for place in record.places:
        yield place.slot
        yield place.bound
        yield from (known.id for known in place.known)
        yield from (known.zone for known in place.known)
    for asked in record.asked:
        yield from (asked.kind, asked.slot)
    yield from (fact.name for fact in record.facts)
