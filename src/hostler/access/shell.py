"""The real shell: one login for each command, for hosts are busy for moments and asked rarely."""

from dataclasses import replace
from datetime import timedelta

from hostler.ports.shell import Denied, Login, Lost, NotReached, Printed, Stranger

CONNECT = timedelta(seconds=5)
CALL = timedelta(seconds=20)
_MOST = 65536
"""Bytes of output that are kept: the end, for a shell may greet before."""


class SshShell:
    """Implements `hostler.ports.shell.Shell` by SSH."""

    def __init__(
        self, connect: timedelta = CONNECT, call: timedelta = CALL, *, lends: bool = True
    ) -> None:
        """Have these times; `lends` what an agent and the user's own files offer, or not."""
        self._connect, self._call, self._lends = connect, call, lends

    async def run(self, login: Login, command: str) -> Printed:
        """Log in, run one command and return the end of what it printed."""
        from .command import Command, output_of  # asyncssh takes a quarter of a second
        from .connection import dial, hang_up, unusable
        from .output import line

        reached = await dial(replace(login, lent=self._lends), self._connect)
        try:
            if reached.connection is None:
                if reached.wrong:
                    raise Stranger(reached.wrong, reached.host_key)
                why = line(reached.error)
                if reached.unusable or reached.denied:
                    raise Denied(unusable(why) if reached.unusable else why)
                raise NotReached(why)
            wanted = Command(text=command, within=self._call)
            ended, output = await output_of(reached.connection, wanted, _MOST)
        finally:
            await hang_up(reached)
        if ended.late:
            raise Lost(f"no answer within {self._call}")
        if ended.status is None:
            raise Lost(line(ended.error or f"ended by the signal {ended.signal}"))
        return Printed(output, reached.host_key, ended.status)
