"""Shell: the little that is asked of SSH, as a port of this provider's own."""

from typing import Protocol

from .settings import Host


class NotReached(Exception):
    """There was no login: certainly nothing was run."""


class Lost(Exception):
    """The connection went away, or time ran out, after the command was sent: it may have run."""


class Shell(Protocol):
    """Runs commands at hosts."""

    async def run(self, host: Host, command: str) -> str:
        """Log in, run one command and return what it printed; raises NotReached or Lost only."""
        ...

    async def close(self) -> None:
        """Give back what is held; a second time does nothing."""
        ...
