"""Host capabilities: what is true of a provider's hosts, each part a value that decisions read.

DESIGN.md section 3.1 has the table of what differs between leased hosts, owned metal and hosts that
are reached by SSH. A host that does not fit needs another value here, never its provider's name.
"""

from datetime import timedelta
from enum import StrEnum

from msgspec import Struct


class Ownership(StrEnum):
    """How a host says whose it is.

    TAGS: an owner tag is written on it and read back whole, in one call. NAMES: only a name can be
    written, step by step, and others of the account may write one too. RECORD: nothing can be
    written; our store's binding alone says who has it, and no call claims it.
    """

    TAGS = "tags"
    NAMES = "names"
    RECORD = "record"


class Cleaning(StrEnum):
    """How a host that a machine has used becomes clean, so that the next one may have it.

    WIPE: a reinstallation that was seen. COMMAND: a command on it that is seen to have ended well.
    POWER_CYCLE: it was seen off since. TRUSTED: it is clean as it is left.
    """

    WIPE = "wipe"
    COMMAND = "command"
    POWER_CYCLE = "power-cycle"
    TRUSTED = "trusted"


class Preference(StrEnum):
    """Which of the hosts that fit a machine takes first.

    ON: one that is on. COST: the cheapest. LONGEST_OFF: the one that rested longest. WEAR: the one
    that was started least often.
    """

    ON = "on"
    COST = "cost"
    LONGEST_OFF = "longest-off"
    WEAR = "wear"


class PowerLimits(Struct, frozen=True, kw_only=True):
    """How often a host may be switched, where its power is ours to decide.

    It stays on for `least_on` and off for `least_off` at least, counted from when an observation
    first showed it so; of the hosts of a zone `parallel_starts` may be starting at a time, and one
    begins `start_gap` after the other at the earliest: both keep the fuse from blowing.

    Of the free ones of a zone and type, `stay_on` stay on. One that is off for `exercise` is
    switched on, and stays on for `exercise_time`. One that is to go on for any of this, and was not
    seen on within `start`, is quarantined. `prefer` says which free host a machine takes first.
    """

    least_on: timedelta = timedelta(0)
    least_off: timedelta = timedelta(0)
    parallel_starts: int = 1000
    start_gap: timedelta = timedelta(0)
    stay_on: int = 0
    exercise: timedelta | None = None
    exercise_time: timedelta = timedelta(minutes=10)
    start: timedelta = timedelta(minutes=15)
    prefer: tuple[Preference, ...] = ()


class HostCapabilities(Struct, frozen=True, kw_only=True):
    """What is true of a provider's hosts.

    `kind` is the kind of the resources that are hosts; `paid_period` is the least time that a host
    is paid for once it was ordered, None where hosts are not bought; `power` is how often a host
    may be switched, None where its power is not ours to decide.
    """

    kind: str = "host"
    ownership: Ownership = Ownership.RECORD
    cleaning: Cleaning = Cleaning.TRUSTED
    paid_period: timedelta | None = None
    power: PowerLimits | None = None

    @property
    def needs_pool(self) -> bool:
        """Whether a host must be given a name of its pool before anybody may take it again."""
        return self.ownership is Ownership.NAMES

    @property
    def trusts_new(self) -> bool:
        """Whether a host that was never used by us is clean as its owner lists it."""
        return self.cleaning is not Cleaning.WIPE
