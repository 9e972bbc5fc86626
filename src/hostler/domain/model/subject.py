"""Subject: what calls are made for, a machine or a host: its open calls, tries, and pauses.

Both records have `asked`, `tries`, `retry_at`, `retry_since`, `unknown_since` and `error`, and
whatever records, sends or judges a call does so for either.
"""

from datetime import datetime
from typing import TypeVar

from hostler.domain.ids import Epoch

from .calls import Call, Shows
from .host import Host
from .machine import Asked, Machine

Subject = Machine | Host
SubjectT = TypeVar("SubjectT", Machine, Host)


def ask(subject: SubjectT, call: Call, at: datetime, epoch: Epoch) -> SubjectT:
    """Return the record that must be saved before a *once* call is sent."""
    asked = Asked(
        kind=call.kind,
        slot=call.slot,
        attempt=call.attempt,
        at=at,
        epoch=epoch,
        shows=call.shows,
        aim=call.aim,
        witness=call.witness,
        name=str(call.arg("name") or ""),
        identity=f"{subject.id} {at.isoformat()}" if call.shows is Shows.WIPE else "",
    )
    return subject.with_attempt(call).with_asked(asked)
