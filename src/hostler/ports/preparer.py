"""Preparer: proves that one can log in to a leased host, and brings it to its configuration."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from msgspec import Struct

from hostler.domain.ids import MachineId
from hostler.domain.policy.bootstrap import Cause, digest_of
from hostler.domain.policy.bootstrap_data import DataState

from .provider import Connection


class Hides(Protocol):
    """A secret text that does not show itself in a repr, a log or an exception."""

    def reveal(self) -> str:
        """Return the text, for the one place that sends it."""
        ...

    def hidden_in(self, text: str) -> str:
        """Return `text` with every occurrence of the secret blotted out."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineData:
    """A script that is for this machine alone; it is run once on the disk that the host has.

    It begins with `#!`. Where it is empty, `problem` says why, and nothing is begun: `state` is
    *waiting* where it may be there later, and *failed* where no host could ever run it. Whoever
    runs it ends it after `within`.
    """

    script: bytes = field(default=b"", repr=False)
    problem: str = ""
    state: DataState = DataState.WAITING
    within: timedelta = timedelta(minutes=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a host is to be prepared for.

    `user` and `port` are the connection's where they are left out. `fingerprint` is the pinned key
    of the host (`SHA256:…`); where it is empty the key that is shown is trusted. `commands` are
    shell commands, run one after the other by `/bin/sh` as `user`; each must be idempotent: it may
    have run before, to its end or not. `applied` is the digest that our record has of the last
    configuration. `data` is what this machine alone is given, once all of them have run; it is left
    out when it has run. `login` bounds each login, and the reading and writing of the host's note;
    `command` bounds each command.
    """

    machine: MachineId
    user: str = ""
    port: int = 0
    fingerprint: str = ""
    commands: tuple[str, ...] = ()
    applied: str = ""
    forced: bool = False
    password: Hides | None = field(default=None, repr=False)
    data: MachineData | None = None
    login: timedelta = timedelta(seconds=15)
    command: timedelta = timedelta(minutes=10)

    @property
    def wanted(self) -> str:
        """The digest of the commands."""
        return digest_of(self.commands)


class Prepared(Struct, frozen=True, kw_only=True):
    """How far it came. No text in it holds the password; each is printable, and bounded.

    `login`: a login was proven. `fingerprint`: the key that the host showed, to be pinned only if
    `login`. `wrong_key`: it was not the pinned one, and nothing was sent, not even a login.
    `cause`: why commands ran, or why none did; None where that was not found out. `ran`: all ran
    now, and succeeded. `applied`: the digest that the host carries now; empty where it carries
    none, a resource, or what is not known. `output`: the last of what the commands printed.
    `error`: empty where all is well, or else a sentence with what to do. `failed`: the number of
    the command that failed, 0 where none did; `ended`: how it ended (`exit 1`), with no word of the
    command. `data`: how far the machine's own script came; None where none was ordered,
    or it was not come to.
    """

    login: bool = False
    fingerprint: str = ""
    wrong_key: bool = False
    cause: Cause | None = None
    ran: bool = False
    applied: str = ""
    output: str = ""
    error: str = ""
    failed: int = 0
    ended: str = ""
    data: DataState | None = None

    @property
    def well(self) -> bool:
        """Whether the host is ready as ordered."""
        return self.login and not self.error


class Preparer(Protocol):
    """Logs in to hosts and prepares them."""

    async def prepare(self, connection: Connection, order: Order) -> Prepared:
        """Log in, and run the commands if the host does not carry them yet.

        Never raises for what the outside does: a connection that breaks is an answer. May be
        repeated after any break: the host's note of a configuration is taken away before its
        first command and written after its last one, and a command that an earlier try left
        running is ended first. With no commands nothing is run at all. The password is sent only
        when `sudo -S` asks for it, once for each command, and only as its input. The machine's own
        script is begun once on a disk, whatever breaks off, and goes on without a connection; no
        text of the answer has a word of it that may be a secret.
        """
        ...
