"""Calls: methods answered by their handlers, and how many calls run now.

A handler's refusal reaches the operator as a Go plugin's error would: status UNKNOWN with its text.
Anything else that it raises is our own fault: it is logged whole, answered in short, and the plugin
lives on, for nobody would start it again.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from google.protobuf.message import Message
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from hostler.frontends.fleeting.contract import Refused
from hostler.frontends.fleeting.served import Method

from .exchange import Exchange
from .hostlog import HostLog


class Calls:
    """Counts calls, so that a signal can wait for them."""

    def __init__(self, log: HostLog) -> None:
        self._log = log
        self.running = 0
        self.begun = 0

    @contextmanager
    def counted(self) -> Generator[None]:
        """Count a call for as long as the block lasts."""
        self.begun += 1
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1

    async def answer(self, method: Method, exchange: Exchange) -> None:
        """Answer a call of this method."""
        await exchange.answer(await self._replies(method, await exchange.request()))

    async def _replies(self, method: Method, request: bytes) -> Sequence[bytes]:
        try:
            replies = await method.handle(method.request.FromString(request))
            return _encoded(method, replies)
        except Refused as refused:
            self._log.event("debug", "a call was refused", method=method.path, why=str(refused))
            raise GRPCError(Status.UNKNOWN, str(refused) or "refused") from refused
        except GRPCError:
            raise
        except (Exception, SystemExit) as error:
            self._log.failure("this is a bug in hostler: a call failed", error, method=method.path)
            text = f"this is a bug in hostler: {type(error).__name__} in {method.path}"
            raise GRPCError(Status.INTERNAL, text) from error


def _encoded(method: Method, replies: Sequence[Message]) -> Sequence[bytes]:
    if not method.streams and len(replies) != 1:
        raise ValueError(f"{len(replies)} replies to a method that has one")
    return [reply.SerializeToString() for reply in replies]
