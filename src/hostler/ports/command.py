"""Command: asks a host that outlives its machines whether something runs there."""

from datetime import timedelta
from typing import Protocol

from msgspec import Struct

from hostler.domain.ids import MachineId

from .provider import Connection


class Question(Struct, frozen=True, kw_only=True):
    """What a host is asked: a shell command, run by `/bin/sh` as `user`, that changes nothing.

    `user` and `port` are the connection's where they are left out. `fingerprint` is the pinned key
    of the host, and is never empty: whoever has no pin cannot ask. `login` bounds the login, and
    `within` the command.
    """

    machine: MachineId
    command: str
    fingerprint: str
    user: str = ""
    port: int = 0
    login: timedelta = timedelta(seconds=15)
    within: timedelta = timedelta(seconds=15)


class Reply(Struct, frozen=True, kw_only=True):
    """The exit status of the command, None where it is not known, and what to say of it.

    `barred` says that what is asked about may not be ended at all, however long that is waited for.
    """

    status: int | None = None
    text: str = ""
    barred: bool = False


class Asker(Protocol):
    """Asks hosts."""

    async def ask(self, connection: Connection, question: Question) -> Reply:
        """Log in and run the command; never raises for what the outside does.

        A host that shows another key than the pinned one is told nothing, not even a login.
        """
        ...
