"""OperatorAction: something that happens to a resource without a request, if it can."""

from collections.abc import Callable
from random import Random
from typing import Generic, TypeVar

from msgspec import Struct

from .inventory import Cloud
from .record import Record

R = TypeVar("R", bound=Record)


def always(_record: Record) -> bool:
    """Tell that something can happen in every state."""
    return True


class OperatorAction(Struct, Generic[R], frozen=True):
    """What `do` does, for a spell in seconds, to a resource of this kind that is there.

    It happens only `when` the state of the resource allows it; False of `do` says that it could
    not happen after all.
    """

    kind: type[R]
    do: Callable[[Cloud, R, float, Random], bool | None]
    when: Callable[[R], bool] = always

    def happen(self, cloud: Cloud, record: Record, spell: float, rng: Random) -> bool:
        """Let it happen; tell if it could."""
        if not isinstance(record, self.kind) or record.ended is not None or not self.when(record):
            return False
        return self.do(cloud, record, spell, rng) is not False
