"""Host records: what a host's record tells people, beside what is true of the host.

Its type, its name, whether it is on, and what an hour of it costs, at rest: by then all of that was
observed. How often it went on, with each save: it never becomes less, nor more than is true.
"""

from dataclasses import dataclass, field

from msgspec import Struct

from hostler.domain.ids import HostId
from hostler.domain.model.host import Host
from hostler.testing.invariants import Found, Violation

_CENT = 0.0001


class TrueHost(Struct, frozen=True, kw_only=True):
    """What is true of a host; `on` and `price` are None where nobody can say.

    `switched` says that its provider switches it on and off.
    """

    type: str
    name: str
    price: float | None = None
    on: bool | None = None
    switched: bool = True


def misstated(record: Host, true: TrueHost) -> Found:
    """Return what a record says of a host and is not so, once all is at rest."""
    wrong = _of_host(record, true) or _of_money(record, true)
    text = f"host {record.id} is on record, and {wrong}"
    return (Violation(invariant="L1", text=text, machine=record.machine),) if wrong else ()


def _of_host(record: Host, true: TrueHost) -> str:
    if record.type != true.type:
        return f"its type is {true.type!r}, not {record.type!r}"
    if record.ownership.name != true.name:
        return f"its name is {true.name!r}, not {record.ownership.name!r}"
    if not true.switched and record.power.on is not None:
        return "whether it is on is recorded, and nobody switches it"
    is_wrong = true.on is not None and record.power.on is not true.on
    return f"it is {'on' if true.on else 'off'}, and not known as that" if is_wrong else ""


def _of_money(record: Host, true: TrueHost) -> str:
    price = record.billing.price
    if true.price is None or abs(price - true.price) <= _CENT:
        return ""
    return f"an hour costs {true.price:.4f}, not {price:.4f}"


@dataclass(slots=True)
class Wear:
    """How often each host went on, by its newest record of one store."""

    starts: dict[HostId, int] = field(default_factory=dict[HostId, int])

    def saved(self, record: Host, true: int) -> Found:
        """Judge a record by the one before it, and by how often the host went on in truth."""
        before, after = self.starts.get(record.id, 0), record.power.starts
        self.starts[record.id] = after
        if before <= after <= true:
            return ()
        text = f"host {record.id} went on {true} times; {after} are on record, and {before} were"
        return (Violation(invariant="wear", text=text, machine=record.machine),)
