"""Any record that its types allow comes back as it was; what could not is refused."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hostler.domain.errors import StoreError
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Orphan, Request
from hostler.stores.records.documents import EVENT, FLEET, HOST, MACHINE, ORPHAN, REQUEST
from hostler.stores.records.sharing import share
from hostler.stores.sqlite.documents import microseconds
from hostler.testing.conformance.store.records import machine, orphan

TIMES = st.datetimes(timezones=st.just(UTC))
SPANS = st.timedeltas(timedelta(0), timedelta(days=5000))
TEXT = st.text(max_size=8) | st.sampled_from(["\x00", "'; --", "\u2028", "🐎", "null", "\\u0000"])

for _type, _values in {
    datetime: TIMES,
    timedelta: SPANS,
    str: TEXT,
    float: st.floats(allow_nan=False, allow_infinity=False),
}.items():
    st.register_type_strategy(_type, _values)


@given(st.from_type(Machine))
def test_a_machine_comes_back(record: Machine):
    assert MACHINE.read(MACHINE.write(record)) == record


@given(st.from_type(Machine))
def test_a_machine_that_shares_with_others_is_the_same(record: Machine):
    assert share(MACHINE.read(MACHINE.write(record))) == record


@given(st.from_type(FleetRow))
def test_a_fleets_row_comes_back(record: FleetRow):
    assert FLEET.read(FLEET.write(record)) == record


@given(st.from_type(Host))
def test_a_host_comes_back(record: Host):
    assert HOST.read(HOST.write(record)) == record


@given(st.from_type(Orphan))
def test_an_orphan_comes_back(record: Orphan):
    assert ORPHAN.read(ORPHAN.write(record)) == record


@given(st.from_type(Request))
def test_a_request_comes_back(record: Request):
    assert REQUEST.read(REQUEST.write(record)) == record


@given(st.from_type(Event))
def test_an_event_comes_back(record: Event):
    assert EVENT.read(EVENT.write(record)) == record


@given(TIMES, TIMES)
def test_times_as_numbers_keep_their_order_and_value(one: datetime, other: datetime):
    assert (microseconds(one) < microseconds(other)) == (one < other)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert epoch + timedelta(microseconds=microseconds(one)) == one


def test_a_time_of_another_zone_is_the_same_number():
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert microseconds(noon.astimezone(timezone(timedelta(hours=5)))) == microseconds(noon)


@pytest.mark.parametrize("price", [float("nan"), float("inf"), -float("inf")])
def test_a_price_that_is_no_number_is_refused(price: float):
    with pytest.raises(StoreError, match="Orphan cannot be stored"):
        ORPHAN.write(replace(orphan("p-1"), price=price))


def test_half_a_character_is_refused():
    with pytest.raises(StoreError, match="Machine cannot be stored"):
        MACHINE.write(replace(machine(1), error="\udfff"))


def test_a_record_with_fields_of_a_later_version_can_be_read():
    written = MACHINE.write(machine(1))
    assert MACHINE.read(written.replace("{", '{"later": [1], ', 1)) == machine(1)


def test_a_record_from_before_a_field_was_added_can_be_read():
    written = MACHINE.write(machine(1))
    assert MACHINE.read(written.replace('"stuck":false,', "")) == machine(1)
