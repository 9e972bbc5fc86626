"""Records in memory: what a machine claims for itself, and what a durable store could keep."""

from typing import TypeVar

import msgspec

from hostler.domain.errors import StoreError
from hostler.domain.ids import ResourceId
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Orphan, Request

RecordT = TypeVar("RecordT", bound=FleetRow | Machine | Host | Orphan | Request | Event)


def claims(machine: Machine) -> tuple[ResourceId, ...]:
    """Return the ids that no other living machine may have; what is deleted claims nothing."""
    if machine.phase is Phase.DELETED:
        return ()
    deleted = {known.id for place in machine.places for known in place.known if known.deleted}
    bound = (place.bound for place in machine.places if place.bound is not None)
    ids = (*machine.ids(), *(resource for resource in bound if resource not in deleted))
    return tuple(dict.fromkeys(ids))


def storable(record: RecordT) -> RecordT:
    """Return the record if it could be written and read back as it is, else raise StoreError."""
    try:
        same = msgspec.json.decode(msgspec.json.encode(record), type=type(record)) == record
    except (msgspec.MsgspecError, UnicodeEncodeError) as error:
        raise StoreError(f"a record cannot be stored: {error}") from error
    if not same:
        raise StoreError("a record cannot be stored: it would not read back as it is")
    return record
