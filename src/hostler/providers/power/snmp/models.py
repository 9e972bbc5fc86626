"""Models: where each vendor's power strips have their outlets, and what the numbers there mean.

What is written and what is read differ with several vendors. The numbers are those of OpenStack
Ironic's driver (ironic/drivers/modules/snmp.py, before it was removed), not of the vendors' MIBs.
"""

from collections.abc import Mapping

from msgspec import Struct

from hostler.ports.power import PowerState

Oid = tuple[int, ...]
ENTERPRISES: Oid = (1, 3, 6, 1, 4, 1)
"""Below this every vendor has a number of its own."""


class Model(Struct, frozen=True, kw_only=True):
    """One vendor's outlets, by object ids below `ENTERPRISES`.

    `prefix` begins the sysObjectID of such a strip. `{outlet}` and `{unit}` stand for numbers in
    the other ids. `write_off` is where off is written, if it is elsewhere. What is read and is
    neither `reads_on` nor `reads_off` (on its way, locked) is unknown.
    """

    prefix: str
    write: str
    on: int
    off: int
    reads_on: int
    reads_off: int
    read: str = ""
    write_off: str = ""

    def written(self, outlet: int, unit: int, *, on: bool) -> tuple[Oid, int]:
        """Return what is written to switch an outlet: where, and which number."""
        place = self.write if on else self.write_off or self.write
        return _oid(place, outlet, unit), self.on if on else self.off

    @property
    def counts_units(self) -> bool:
        """Whether it has a place for each strip of a chain; else there is the first one's alone."""
        return "{unit}" in self.write

    def asked(self, outlet: int, unit: int) -> Oid:
        """Return where it is read how an outlet stands."""
        return _oid(self.read or self.write, outlet, unit)

    def state(self, number: int) -> PowerState:
        """Return what a number that was read means."""
        known = {self.reads_on: PowerState.ON, self.reads_off: PowerState.OFF}
        return known.get(number, PowerState.UNKNOWN)


def _oid(text: str, outlet: int = 0, unit: int = 0) -> Oid:
    filled = text.format(outlet=outlet, unit=unit)
    return ENTERPRISES + tuple(int(part) for part in filled.split("."))


MODELS: Mapping[str, Model] = {
    "apc": Model(
        prefix="318.1.1.12",
        write="318.1.1.12.3.3.1.1.4.{outlet}",
        on=1,
        off=2,
        reads_on=1,
        reads_off=2,
    ),
    "apc-masterswitch": Model(
        prefix="318.1.1.4",
        write="318.1.1.4.4.2.1.3.{outlet}",
        on=1,
        off=2,
        reads_on=1,
        reads_off=2,
    ),
    "apc-masterswitch-plus": Model(
        prefix="318.1.1.6",
        write="318.1.1.6.5.1.1.5.{outlet}",
        on=1,
        off=3,
        reads_on=1,
        reads_off=3,
    ),
    "aten": Model(
        prefix="21317",
        write="21317.1.3.2.2.2.2.{outlet}.0",
        on=2,
        off=1,
        reads_on=2,
        reads_off=1,
    ),
    "baytech": Model(
        prefix="4779",
        write="4779.1.3.5.3.1.3.{unit}.{outlet}",
        on=1,
        off=0,
        reads_on=1,
        reads_off=0,
    ),
    "cyberpower": Model(
        prefix="3808",
        write="3808.1.1.3.3.3.1.1.4.{outlet}",
        on=1,
        off=2,
        reads_on=1,
        reads_off=2,
    ),
    "eaton": Model(
        prefix="534",
        write="534.6.6.7.6.6.1.3.{outlet}",
        write_off="534.6.6.7.6.6.1.4.{outlet}",
        on=0,
        off=0,
        read="534.6.6.7.6.6.1.2.{outlet}",
        reads_on=1,
        reads_off=0,
    ),
    "raritan": Model(
        prefix="13742",
        write="13742.6.4.1.2.1.2.1.{outlet}",
        on=1,
        off=0,
        read="13742.6.4.1.2.1.3.1.{outlet}",
        reads_on=7,
        reads_off=8,
    ),
    "servertech-sentry3": Model(
        prefix="1718.3",
        write="1718.3.2.3.1.11.1.1.{outlet}",
        on=1,
        off=2,
        read="1718.3.2.3.1.5.1.1.{outlet}",
        reads_on=1,
        reads_off=0,
    ),
    "servertech-sentry4": Model(
        prefix="1718.4",
        write="1718.4.1.8.5.1.2.1.1.{outlet}",
        on=1,
        off=2,
        read="1718.4.1.8.5.1.1.1.1.{outlet}",
        reads_on=11,
        reads_off=10,
    ),
    "teltronix": Model(
        prefix="23620",
        write="23620.1.2.2.1.4.{outlet}",
        on=2,
        off=1,
        reads_on=2,
        reads_off=1,
    ),
    "vertiv-geist": Model(
        prefix="21239",
        write="21239.5.2.3.5.1.6.{outlet}",
        on=2,
        off=4,
        read="21239.5.2.3.5.1.4.{outlet}",
        reads_on=1,
        reads_off=2,
    ),
}
"""The models by their names in the fleet file."""


def model_of(object_id: Oid, models: Mapping[str, Model] = MODELS) -> str:
    """Return the model whose prefix is the longest that begins a sysObjectID; empty for none."""
    prefixes = {name: _oid(model.prefix) for name, model in models.items()}
    fitting = [name for name, prefix in prefixes.items() if object_id[: len(prefix)] == prefix]
    return max(fitting, key=lambda name: len(prefixes[name]), default="")
