"""Login: one login at one address, for a fleet's setup script or for a question."""

import asyncssh

from hostler.ports.command import Question, Reply
from hostler.ports.preparer import Order, Prepared
from hostler.ports.shell import Login

from . import scripts
from .command import Command, run
from .connection import Line, dial, hang_up, unusable
from .output import Tail, line
from .session import Session


async def prepared(login: Login, order: Order) -> Prepared:
    """Log in and run the setup script that is ordered; never raises for what the outside does."""
    reached = await dial(login, order.login)
    try:
        if reached.connection is None:
            return _not_reached(login, reached, order)
        return await Session(reached.connection, login, order).prepare(reached.host_key)
    finally:
        await hang_up(reached)


async def replied(login: Login, question: Question) -> Reply:
    """Log in and run the question's command; never raises for what the outside does."""
    reached = await dial(login, question.login)
    try:
        if reached.connection is None:
            why = "it shows another key than the pinned one" if reached.wrong else reached.error
            return Reply(text=f"no login at {login} ({line(why)})")
        return await _reply(reached.connection, login, question)
    finally:
        await hang_up(reached)


async def _reply(
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
