"""The real preparer: logs in by SSH, and runs a fleet's setup script on a host."""

import asyncssh

from hostler.ports.command import Question, Reply
from hostler.ports.preparer import Order, Prepared
from hostler.ports.provider import Connection
from hostler.ports.shell import Login, pinned

from . import scripts
from .command import Command, run
from .connection import Line, dial, hang_up, unusable
from .output import Tail, line
from .session import Session


class SshPreparer:
    """Prepares hosts by SSH.

    `keys` are private keys, as files hold them; without any, those that the connection names, or
    else of an agent and the user's own files, are tried. A private address is tried where the
    public one does not answer at all.
    """

    def __init__(self, keys: tuple[bytes, ...] = ()) -> None:
        self._keys = keys

    async def prepare(self, connection: Connection, order: Order) -> Prepared:
        """Log in, and run the commands if the host does not carry them yet."""
        found = Prepared(error="the host has no address yet: observe again")
        for address in dict.fromkeys(a for a in (connection.address, connection.internal) if a):
            found = await self._prepare(self._login(address, connection, order), order)
            if found.login or found.fingerprint:
                break
        return found

    async def _prepare(self, login: Login, order: Order) -> Prepared:
        reached = await dial(login, order.login)
        try:
            if reached.connection is None:
                return _not_reached(login, reached, order)
            return await Session(reached.connection, login, order).prepare(reached.host_key)
        finally:
            await hang_up(reached)

    async def ask(self, connection: Connection, question: Question) -> Reply:
        """Log in and run the command; see the port."""
        found = Reply(text="the host has no address yet: observe again")
        for address in dict.fromkeys(a for a in (connection.address, connection.internal) if a):
            found = await self._ask(self._login(address, connection, question), question)
            if found.status is not None:
                break
        return found

    async def _ask(self, login: Login, question: Question) -> Reply:
        reached = await dial(login, question.login)
        try:
            if reached.connection is None:
                why = "it shows another key than the pinned one" if reached.wrong else reached.error
                return Reply(text=f"no login at {login} ({line(why)})")
            return await _replied(reached.connection, login, question)
        finally:
            await hang_up(reached)

    def _login(self, address: str, connection: Connection, order: Order | Question) -> Login:
        return Login(
            address=address,
            port=order.port or connection.port,
            user=order.user or connection.user,
            keys=self._keys or connection.keys,
            check=pinned(order.fingerprint),
        )


async def _replied(
    connection: asyncssh.SSHClientConnection, login: Login, question: Question
) -> Reply:
    """Run the command of a question; the last line that it prints is what is told of it."""
    tail = Tail(None)
    text = scripts.asking(question.command, login.address, question.machine)
    ended = await run(connection, Command(text=text, within=question.within), tail.feed)
    printed = [entry for entry in tail.text().splitlines() if entry.strip()]
    last = f": {line(printed[-1], most=120)}" if printed else ""
    if ended.late:
        return Reply(text=f"`busy` did not end within {question.within.total_seconds():g} s{last}")
    if ended.status is None:
        return Reply(text=f"`busy` was cut off ({line(ended.signal or ended.error)}){last}")
    return Reply(status=ended.status, text=f"`busy` exited with {ended.status}{last}")


def _not_reached(login: Login, reached: Line, order: Order) -> Prepared:
    why = line(reached.error, order.password)
    if reached.wrong:
        error = (
            f"{login} shows the key {reached.host_key}, pinned is {order.fingerprint}, and nothing "
            "was sent: find out whether somebody reinstalled it, or who answers there"
        )
    elif reached.denied:
        error = (
            f"{login} does not accept our key ({why}): register it in the project, and reinstall "
            "the host, for keys are put in then"
        )
    elif reached.unusable:
        error = unusable(why)
    elif reached.host_key:
        error = f"no login at {login}, which answered and then broke off ({why}): try again"
    else:
        error = f"no login at {login} ({why}): see that it is up, and that its port is open to us"
    return Prepared(fingerprint=reached.host_key, wrong_key=bool(reached.wrong), error=error)
