"""Every way in which hostler can fail, named once; each error says whether to try again."""

from enum import StrEnum
from typing import cast


class Remedy(StrEnum):
    """What helps against a refusal; each frontend says in its own terms how that is done."""

    LIST_MACHINES = "list the machines"
    LIST_HOSTS = "list the hosts"
    LIST_ORPHANS = "list the orphans"
    SHOW_HISTORY = "show the history"
    RETIRE_HOST = "retire the host by itself"
    GIVE_REASON = "give a reason"
    NAME_FLEET = "name the fleet"
    NAME_INSTALLATION = "name the installation"


class HostlerError(Exception):
    """The root: a sentence for a person, with what to do where something can be done."""

    retryable = False
    remedy: Remedy | None = None


class ConfigError(HostlerError):
    """The fleet file is wrong; the message lists every error with its path and the cure."""

    def __init__(self, text: str = "", remedy: Remedy | None = None) -> None:
        super().__init__(text)
        self.remedy = remedy


class HostRefused(ConfigError):
    """One host of an account's list cannot be opened: `host` is its name there.

    `why` begins with the key of its table that is wrong; the message, with the place in the file.
    """

    def __init__(self, listed: str, host: str, why: str) -> None:
        super().__init__(f"{listed}.{host}.{why}")
        self.host, self.why = host, why


class StoreError(HostlerError):
    """The store could not do what was asked; nothing was written in part."""


class Conflict(StoreError):
    """Somebody saved first: the version that was read is no longer the newest. Observe again."""

    retryable = True


class Fenced(StoreError):
    """A newer epoch holds the lease: this process may record nothing more under it."""


class AlreadyBound(StoreError):
    """The resource or host is bound to another machine already."""


class StoreBusy(StoreError):
    """The store is locked by somebody for the moment, or has no room; observe again later."""

    retryable = True


class StoreMissing(StoreError):
    """There is no store at this place yet, or none whose making is finished."""


class StoreTooOld(StoreError):
    """The store was written by an older hostler: an engine of this one brings it forward."""


class StoreHeld(StoreError):
    """Another engine runs on this store."""


class StoreUnusable(StoreError):
    """The records are gone for this process: an engine ends, for without them nothing may be done.

    No waiting heals it; a person has to.
    """


class StoreTooNew(StoreUnusable):
    """The store was written by a newer hostler; this one must not touch it."""


class StoreDamaged(StoreUnusable):
    """The store's file is not a readable store; it was left as it is."""


class StoreLost(StoreUnusable):
    """The store's file went away under a running engine."""


class ProviderError(HostlerError):
    """The provider could not be asked; failed observations are incomplete, never empty."""

    retryable = True


class UsageError(HostlerError):
    """The command line is not one; nothing was done."""


class RequestRefused(HostlerError):
    """What a frontend asked for cannot be asked for: the message names the limit and the cure."""

    def __init__(self, text: str = "", remedy: Remedy | None = None) -> None:
        super().__init__(text)
        self.remedy = remedy


def first_of(error: BaseException) -> BaseException:
    """Return what went wrong first where tasks, and tasks of theirs, were run together."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("tuple[BaseException, ...]", error.exceptions)[0]
    return error
