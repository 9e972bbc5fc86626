"""Strategies: records with any value that their types allow, kept small."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from hostler.domain.commands import Event
from hostler.domain.fleet import FleetRow
from hostler.domain.host import Host
from hostler.domain.machine import Machine
from hostler.domain.seen import Suspect, Wish

TIMES = st.datetimes(
    min_value=datetime(1971, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=datetime(2200, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    timezones=st.just(UTC),
)
TEXT = st.text(max_size=8) | st.sampled_from(["\x00", "'; --", "\u2028", "🐎", "null", "\\u0000"])
NUMBERS = st.integers(0, 2**53)

st.register_type_strategy(datetime, TIMES)
st.register_type_strategy(timedelta, st.timedeltas(timedelta(0), timedelta(days=5000)))
st.register_type_strategy(str, TEXT)
st.register_type_strategy(int, NUMBERS)
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))

MACHINES = st.from_type(Machine)
ROWS = st.from_type(FleetRow)
HOSTS = st.from_type(Host)
SUSPECTS = st.from_type(Suspect)
WISHES = st.from_type(Wish)
EVENTS = st.from_type(Event)
