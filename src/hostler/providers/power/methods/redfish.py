"""Redfish: management controllers of servers: one session, one system, its reset action.

Which resets a controller knows differs by vendor and model: they are read before one is asked for.
What stands already is left alone: some controllers take *on* of what is on for an error.
"""

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

from msgspec import Meta, Struct, field

from hostler.domain.model.calls import Refusal
from hostler.ports.http import NoAnswer, NotSent, Response
from hostler.ports.kind import POSITIVE, Lack, table_of
from hostler.ports.power import Power, PowerAction, PowerCapabilities, PowerOpening, PowerState
from hostler.providers.power.switch import Failed, Reading, nonsense, refused, switch_of
from hostler.providers.power.web import (
    Credentials,
    Web,
    WebTable,
    faults,
    missing,
    place_of,
    web_of,
)

_ROOT = "/redfish/v1/"
_SESSIONS = "/redfish/v1/SessionService/Sessions"
_RESETS: Mapping[PowerAction, tuple[str, ...]] = {
    PowerAction.ON: ("On", "ForceOn"),
    PowerAction.OFF_SOFT: ("GracefulShutdown",),
    PowerAction.OFF_HARD: ("ForceOff",),
    PowerAction.CYCLE: ("PowerCycle", "ForceRestart"),
}
"""What each action may be called, the best first. *On* is never a cycle."""
_ENDS: Mapping[PowerAction, PowerState] = {
    PowerAction.ON: PowerState.ON,
    PowerAction.OFF_SOFT: PowerState.OFF,
    PowerAction.OFF_HARD: PowerState.OFF,
}
_STATES = {"On": PowerState.ON, "Off": PowerState.OFF}
"""What is neither is on its way, or nobody knows: *PoweringOn*, *Paused*, null."""
_NO_SESSIONS = frozenset({404, 405, 501})
_FULL = re.compile(
    r"SessionLimit|(maximum|limit)[^.]{0,40}session|session[^.]{0,60}(maximum|limit)", re.IGNORECASE
)
"""What controllers say that have no session left, some of them with a status of wrong requests."""
_NOT_FOUND = 404
_EXPECTS_MATCH = frozenset({412, 428})
_MUCH = 4096
"""Characters of a refusal: the reason stands deep in it."""
_PARTING = 3.0
"""Seconds for the end of a session, when the way is closed."""


class RedfishTable(WebTable, frozen=True, kw_only=True):
    """A management controller that speaks Redfish."""

    system: Annotated[
        str | None,
        Meta(description="the id of the system where it has several; left out: its only one"),
    ] = None
    identity: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(
            description="the UUID or the serial number of the system, as the controller says it: "
            "another one, such as behind an address that was given away, is neither believed nor "
            "switched"
        ),
    ] = None
    deadline: Annotated[
        timedelta, Meta(extra=POSITIVE, description="how long one call may take")
    ] = timedelta(seconds=40)
    settles: Annotated[
        timedelta, Meta(description="how long the effect of a call may come after its answer")
    ] = timedelta(seconds=30)


class Redfish:
    """Implements `PowerMethod`."""

    settings = RedfishTable

    def capabilities(self, settings: object) -> PowerCapabilities:
        """Return that it can do everything, where the controller offers it."""
        table = table_of(RedfishTable, settings)
        return PowerCapabilities(
            actions=frozenset(PowerAction),
            query=True,
            settles=table.settles,
            deadline=table.deadline,
        )

    def endpoint(self, settings: object) -> str:
        """Return the controller, whichever system of it."""
        return f"bmc {place_of(table_of(RedfishTable, settings))}"

    def check(self, settings: object) -> tuple[str, ...]:
        """Return what is wrong with the address or the credentials."""
        return faults(table_of(RedfishTable, settings))

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return which secrets and files are not here."""
        return missing(table_of(RedfishTable, settings), folder, environment)

    def open(self, opening: PowerOpening) -> Power:
        """Return the way to one system."""
        table = table_of(RedfishTable, opening.settings)
        device = Controller(web_of(table, opening), table.system, table.identity)
        return switch_of(device, self.capabilities(table), opening)


class _Link(Struct, frozen=True):
    """A reference."""

    id: str = field(name="@odata.id")


class _Root(Struct, frozen=True):
    """The service's root."""

    Systems: _Link


class _Collection(Struct, frozen=True):
    """The members of a collection."""

    Members: tuple[_Link, ...]


class _Reset(Struct, frozen=True):
    """The reset action of a system, with what it allows, or where that is told."""

    target: str
    allowed: tuple[str, ...] = field(default=(), name="ResetType@Redfish.AllowableValues")
    info: str | None = field(default=None, name="@Redfish.ActionInfo")


class _Actions(Struct, frozen=True):
    """The actions of a system."""

    reset: _Reset | None = field(default=None, name="#ComputerSystem.Reset")


class _System(Struct, frozen=True):
    """A system."""

    PowerState: str | None = None
    UUID: object = None
    SerialNumber: object = None
    Actions: _Actions | None = None
    etag: str | None = field(default=None, name="@odata.etag")


class _Parameter(Struct, frozen=True):
    """One parameter of an action."""

    Name: str
    AllowableValues: tuple[str, ...] | None = None


class _Info(Struct, frozen=True):
    """What an action takes."""

    Parameters: tuple[_Parameter, ...] = ()


class Controller:
    """Speaks to one system of one controller. Implements `Device`."""

    def __init__(self, web: Web, system: str | None, identity: str | None = None) -> None:
        self._web, self._wanted, self._identity = web, system, identity
        self._path: str | None = None
        self._token: str | None = None
        self._session: str | None = None
        self._opening: asyncio.Task[Response] | None = None
        self._basic = False

    async def act(self, action: PowerAction) -> None:
        """Ask for the reset, unless the system stands as it is to stand already."""
        path, system = await self._system()
        if _STATES.get(system.PowerState or "") is _ENDS.get(action, PowerState.UNKNOWN):
            return
        reset = system.Actions.reset if system.Actions is not None else None
        if reset is None:
            raise refused(Refusal.INVALID, "the controller offers no reset of this system")
        allowed = reset.allowed or await self._allowed(reset.info)
        names = _RESETS[action]
        name = next((name for name in names if name in allowed or not allowed), None)
        if name is None:
            text = f"it offers no {' or '.join(names)}, only {', '.join(sorted(allowed))}"
            raise refused(Refusal.INVALID, text)
        body = {"ResetType": name}
        answer = await self._exchange("POST", _path_of(reset.target), body=body)
        if answer.status in _EXPECTS_MATCH and (tag := await self._tag(path, system)):
            match = (("If-Match", tag),)
            answer = await self._exchange("POST", _path_of(reset.target), body=body, headers=match)
        if answer.status // 100 != 2:
            right = "the privilege to reset it" if self._token is not None else ""
            raise self._web.judged(answer, right)

    async def read(self) -> Reading:
        """Ask how the system stands; the chassis may differ for a while, and is not asked."""
        _, system = await self._system()
        state = _STATES.get(system.PowerState or "", PowerState.UNKNOWN)
        return Reading(state=state, text=f"its PowerState is {system.PowerState}")

    async def close(self) -> None:
        """End the session, for a controller has few of them, and give back connections.

        An engine ends meanwhile, or waits to begin: a controller that is silent is left to itself.
        """
        try:
            with suppress(NotSent, NoAnswer, Failed, TimeoutError):
                async with asyncio.timeout(_PARTING):
                    await self._log_out()
        finally:
            if self._opening is not None:
                self._opening.cancel()
                self._opening = None
            await self._web.close()

    async def _system(self) -> tuple[str, _System]:
        """Return the system, and where it is; it is sought again where it is not there any more."""
        known = self._path
        path = self._path = known or await self._found()
        answer = await self._exchange("GET", path)
        if answer.status == _NOT_FOUND:
            self._path = None
            if known is not None:
                return await self._system()
        if answer.status // 100 != 2:
            raise self._web.judged(answer)
        return path, self._identified(self._web.decoded(answer, _System))

    def _identified(self, system: _System) -> _System:
        """Return a system that is the one which is meant; `Failed` for another one."""
        if self._identity is None:
            return system
        known = [str(one) for one in (system.UUID, system.SerialNumber) if one]
        if self._identity.casefold() not in {one.casefold() for one in known}:
            text = self._web.safe(", ".join(known)) or "without UUID and serial number"
            raise refused(Refusal.INVALID, f"it is another machine: {text}, not {self._identity}")
        return system

    async def _found(self) -> str:
        root = self._web.decoded(await self._get(_ROOT), _Root)
        listed = self._web.decoded(await self._get(_path_of(root.Systems.id)), _Collection)
        paths = {member.id.rstrip("/").rpartition("/")[2]: member.id for member in listed.Members}
        if self._wanted is None and len(paths) == 1:
            return _path_of(next(iter(paths.values())))
        if self._wanted in paths:
            return _path_of(paths[self._wanted])
        text = f"it has the systems {', '.join(sorted(paths)) or '(none)'}"
        wanted = f"no {self._wanted}" if self._wanted else "not one alone: name it as `system`"
        raise refused(Refusal.INVALID, f"{text}: {wanted}")

    async def _allowed(self, info: str | None) -> tuple[str, ...]:
        if info is None:
            return ()
        found = self._web.decoded(await self._get(_path_of(info)), _Info)
        values = (one.AllowableValues for one in found.Parameters if one.Name == "ResetType")
        return next((value for value in values if value), ())

    async def _tag(self, path: str, system: _System) -> str | None:
        """Return the version of the system that a controller wants to be named."""
        return (await self._get(path)).header("ETag") or system.etag

    async def _get(self, path: str) -> Response:
        answer = await self._exchange("GET", path)
        if answer.status // 100 != 2:
            raise self._web.judged(answer)
        return answer

    async def _exchange(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> Response:
        """Ask under a session; one that has ended is opened again, once.

        A 401 under a session says that it ended; at its opening, that the credentials are wrong.
        One without a session says the same, unless the controller, which began to answer, has
        sessions by now.
        """
        fresh = await self._log_in()
        sent = (*headers, *self._login())
        answer = await self._web.exchange(method, path, body=body, headers=sent)
        if answer.status != 401 or fresh:
            return answer
        self._token, self._basic = None, False
        if not await self._log_in():
            return answer
        sent = (*headers, *self._login())
        return await self._web.exchange(method, path, body=body, headers=sent)

    def _login(self) -> tuple[tuple[str, str], ...]:
        if self._token is not None:
            return (("X-Auth-Token", self._token),)
        known = self._web.credentials
        return (known.basic(),) if known is not None and self._basic else ()

    async def _log_in(self) -> bool:
        """Open a session where there is none; tell whether one was opened by this very call."""
        known = self._web.credentials
        if known is None or self._token is not None or self._basic:
            return False
        earlier = self._opening is not None
        answer = await self._opened(known)
        if answer.status in _NO_SESSIONS:
            self._basic = True
            return False
        if answer.status in {400, 403} and _FULL.search(self._web.excerpt(answer, _MUCH)):
            raise refused(Refusal.BUSY, f"{answer.status}: it has no session left")
        if answer.status in {400, 401, 403}:
            raise refused(Refusal.DENIED, f"{answer.status}: the credentials are refused")
        if answer.status // 100 != 2:
            raise self._web.judged(answer)
        self._token = answer.header("X-Auth-Token")
        self._session = answer.header("Location")
        if self._token is None:
            raise nonsense("it opened a session, and told no token")
        return not earlier

    async def _opened(self, known: Credentials) -> Response:
        """Ask for a session; whoever gives that up leaves it to the next one.

        Where it is slow, each reading that is given up would leave one behind, and it has few.
        """
        if self._opening is None:
            body = {"UserName": known.user, "Password": known.password.reveal()}
            asked = self._web.exchange("POST", _SESSIONS, body=body)
            self._opening = asyncio.get_running_loop().create_task(asked)
        try:
            answer = await asyncio.shield(self._opening)
        except (NotSent, NoAnswer):
            self._opening = None
            raise
        self._opening = None
        return answer

    async def _log_out(self) -> None:
        """End the session, and one that is being opened."""
        if self._opening is not None:
            await self._log_in()
        token, session = self._token, self._session
        self._token = self._session = None
        if token is not None and session is not None:
            headers = (("X-Auth-Token", token),)
            await self._web.exchange("DELETE", _path_of(session), headers=headers)


def _path_of(link: str) -> str:
    """Return the path of a link, unquoted: some controllers write their own address before it."""
    try:
        return unquote(urlsplit(link).path)
    except ValueError:
        raise nonsense("one of its links is none") from None
