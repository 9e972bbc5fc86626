"""Library: IPMI by python-ipmi, in threads of its own: it waits for each answer."""

# pyright: reportMissingTypeStubs=false
# python-ipmi has types, and does not say so.

import asyncio
import hmac
import re
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

import pyipmi
from pyipmi import errors
from pyipmi.interfaces import rmcpplus

from hostler.domain.model.calls import Refusal
from hostler.ports.http import NoAnswer, NotSent
from hostler.ports.power import PowerAction
from hostler.providers.power.switch import Failed, nonsense, refused

from .controller import NoSuite, Place

T = TypeVar("T")
Session = pyipmi.Ipmi

_POOL = ThreadPoolExecutor(max_workers=32, thread_name_prefix="hostler-ipmi")
"""All controllers of the process share it; one that is silent holds a thread for its patience."""

_OTHER_KEYS = 'python-ipmi makes other keys for it than controllers do: set client = "ipmitool"'
_COMMANDS: dict[PowerAction, Callable[[Session], None]] = {
    PowerAction.ON: lambda session: session.chassis_control_power_up(),
    PowerAction.OFF_SOFT: lambda session: session.chassis_control_soft_shutdown(),
    PowerAction.OFF_HARD: lambda session: session.chassis_control_power_down(),
    PowerAction.CYCLE: lambda session: session.chassis_control_power_cycle(),
}
_ALGORITHMS = frozenset({0x04, 0x05, 0x10, 0x11})
"""Status codes of a session that is refused for its algorithms (IPMI 2.0, table 13-15)."""
_FULL = frozenset({0x01, 0x0B})
_LOGINS = frozenset({0x09, 0x0A, 0x0C, 0x0D, 0x0F})
"""Those for which the login is at fault: the role, its privilege, the name, the password."""
_WRONG = re.compile(r"RAKP message [24]: invalid|user name longer")
"""What python-ipmi says of a login that is wrong; a stray packet raises the same error."""
_BUSY, _PRIVILEGE, _STATE, _LEVEL = 0xC0, 0xD4, 0xD5, 0x81


class _Interface(rmcpplus.RmcpPlus):
    """python-ipmi's own, which has sockets of IPv4 only, with a socket that reaches the place."""

    def reach(self, place: Place) -> None:
        """Open a socket of the place's family, IPv4 where it has both; raises OSError."""
        found = socket.getaddrinfo(place.address, place.port, type=socket.SOCK_DGRAM)
        families = {family for family, *_ in found}
        family = socket.AF_INET if socket.AF_INET in families else socket.AF_INET6
        self._sock = socket.socket(family, socket.SOCK_DGRAM)


class Library:
    """Implements `Client`."""

    def __init__(self, place: Place) -> None:
        self._place = place

    async def command(self, action: PowerAction, suite: int) -> None:
        """Give a chassis control command."""
        given_up = threading.Event()
        try:
            await self._in_thread(lambda: self._commanded(action, suite, given_up))
        finally:
            given_up.set()

    async def is_on(self, suite: int) -> bool:
        """Ask for the chassis status."""
        return await self._in_thread(lambda: self._asked(suite))

    @staticmethod
    async def _in_thread(work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(_POOL, work)

    def _commanded(self, action: PowerAction, suite: int, given_up: threading.Event) -> None:
        """Give a command, unless it is `given_up` by the time there is a session."""
        session = self._opened(suite)
        if given_up.is_set():
            _end(session)
            return
        try:
            _COMMANDS[action](session)
        except errors.CompletionCodeError as error:
            raise _refusal(error) from None
        except Exception as error:  # noqa: BLE001 - it was sent: what comes back says nothing
            raise NoAnswer(f"no answer to the command: {_named(error)}") from None
        finally:
            _end(session)

    def _asked(self, suite: int) -> bool:
        session = self._opened(suite)
        try:
            return bool(session.get_chassis_status().power_on)
        except errors.CompletionCodeError as error:
            raise _refusal(error) from None
        except Exception as error:  # noqa: BLE001 - a stray packet, or none: nobody knows
            raise NoAnswer(f"no answer: {_named(error)}") from None
        finally:
            _end(session)

    def _opened(self, suite: int) -> Session:
        """Return a session; whatever goes wrong before there is one had no effect."""
        place = self._place
        if not speaks(suite):
            raise NoSuite(
                'python-ipmi makes other keys for it than controllers do: client = "ipmitool"'
            )
        interface = _Interface(keep_alive_interval=0, cipher_suite=suite)
        session = pyipmi.create_connection(interface)
        session.session.set_session_type_rmcp(place.address, place.port)
        session.session.set_auth_type_user(place.user, place.password.reveal())
        session.session.set_priv_level(place.privilege)
        session.target = pyipmi.Target(ipmb_address=0x20)
        try:
            interface.reach(place)
            interface.set_timeout(place.patience)
            session.session.establish()
        except Exception as error:  # noqa: BLE001 - any answer of a controller: none of them had an effect
            _end(session)
            raise _unopened(error) from None
        return session


def speaks(suite: int) -> bool:
    """Tell whether python-ipmi makes the keys of a suite as controllers do.

    Those of suite 17 are made of constants of 20 bytes, as of every other (IPMI 2.0, section
    13.32); it takes 32, so that a controller answers nothing that it says in a session.
    """
    known = rmcpplus.CIPHER_SUITES.get(suite)
    if known is None:
        return False
    key = rmcpplus.SessionKeys(known, bytes(20)).k1
    digest = {20: "sha1", 32: "sha256"}[len(key)]
    return key == hmac.digest(bytes(20), b"\x01" * 20, digest)


def _end(session: Session) -> None:
    """End a session, and give its socket back, whatever it answers."""
    with suppress(Exception):  # it is over, and said all that it had to say
        session.session.close()
    with suppress(Exception):
        session.interface.close()


def _unopened(error: Exception) -> Exception:
    """Return what it means that there is no session."""
    if isinstance(error, errors.MessageStatusCodeError):
        return _status(error)
    if isinstance(error, errors.CompletionCodeError) and error.cc == _LEVEL:
        return refused(Refusal.DENIED, "the user has not this privilege")
    if isinstance(error, errors.AuthenticationError) and _WRONG.search(str(error)):
        return refused(Refusal.DENIED, "the user or the password is wrong")
    if isinstance(error, errors.IpmiLongPasswordError):
        return refused(Refusal.DENIED, "the password is longer than IPMI allows: 20 bytes")
    if isinstance(error, errors.NotSupportedError):
        return refused(Refusal.INVALID, str(error))
    return NotSent(f"no session: {_named(error)}")


def _named(error: Exception) -> str:
    return str(error) or type(error).__name__


def _status(error: errors.MessageStatusCodeError) -> Exception:
    """Return what the status code of a session that is refused means."""
    if error.msc in _ALGORITHMS:
        return NoSuite(str(error))
    if error.msc in _FULL:
        return refused(Refusal.BUSY, "it has no session left")
    if error.msc in _LOGINS:
        return refused(Refusal.DENIED, f"the login is refused: {error.msc_desc.lower()}")
    return NotSent(f"no session: {error.msc_desc.lower()}")


def _refusal(error: errors.CompletionCodeError) -> Failed:
    """Return what a completion code of a command means."""
    if error.cc == _BUSY:
        return refused(Refusal.BUSY, "it is busy")
    if error.cc == _PRIVILEGE:
        return refused(Refusal.DENIED, "the user has not the privilege for this")
    if error.cc == _STATE:
        return refused(Refusal.WRONG_STATE, "it cannot do that as it stands")
    return nonsense(f"completion code 0x{error.cc:02x}: {error.cc_desc}")
