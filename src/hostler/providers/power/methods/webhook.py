"""Webhook: any device with an HTTP interface: a request for each action, two expressions to read.

As in MAAS: what answers a query is *on* where one regular expression matches, *off* where the
other does, and unknown where both do, or none.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta, field

from hostler.ports.http import Response
from hostler.ports.kind import Lack, permission, table_of
from hostler.ports.power import Power, PowerAction, PowerCapabilities, PowerOpening, PowerState
from hostler.providers.power.switch import Reading, nonsense, switch_of
from hostler.providers.power.web import Web, WebTable, faults, missing, place_of, web_of

_REQUEST = re.compile(r"(GET|POST|PUT|PATCH|DELETE) (/\S*)")
_SEE_OTHER = frozenset({302, 303})
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""What a header may be called (RFC 9110, section 5.6.2)."""
_READ = 16_384
"""Characters of an answer that the expressions are tried on."""
_WORD = r"""(?im)^(.*[:=])?[ \t"'{{\[]*{}["']?[ \t]*(?![^\r\n,;}}\].])"""
"""The word as all that a line says, or as the value of a name in it, in JSON or plain.

As a word alone it stands in pages that ask to log on, and as the name of a value that is false.
"""
Request = Annotated[
    str | None,
    Meta(description='a method and a path, such as "POST /power/on"; left out: it cannot'),
]


class WebhookTable(WebTable, frozen=True, kw_only=True):
    """A device with an HTTP interface of its own."""

    url: Annotated[
        str,
        Meta(
            min_length=1,
            description="its address, such as http://10.0.0.7",
            extra=permission("webhooks"),
        ),
    ]
    on: Request = None
    off_soft: Request = None
    off_hard: Request = None
    cycle: Request = None
    query: Request = None
    is_on: Annotated[
        str,
        Meta(
            description="the regular expression that is found in an answer of what is on; left "
            "out: a line that is *on*, or a value that is"
        ),
    ] = _WORD.format("on")
    is_off: Annotated[
        str,
        Meta(
            description="the regular expression that is found in an answer of what is off; left "
            "out: a line that is *off*, or a value that is"
        ),
    ] = _WORD.format("off")
    accepted: Annotated[
        str | None,
        Meta(
            description="the regular expression that is found in the answer to an action that is "
            "accepted; left out: any answer with a status of 200 to 299 says so"
        ),
    ] = None
    headers: Annotated[
        dict[str, str], Meta(description="headers that are sent with each request; no secrets")
    ] = field(default_factory=dict[str, str])
    token_header: Annotated[
        str | None,
        Meta(description='the header that carries the password as a token, such as "X-Token"'),
    ] = None

    def requests(self) -> dict[PowerAction, str]:
        """Return the requests by their actions."""
        named = {
            PowerAction.ON: self.on,
            PowerAction.OFF_SOFT: self.off_soft,
            PowerAction.OFF_HARD: self.off_hard,
            PowerAction.CYCLE: self.cycle,
        }
        return {action: request for action, request in named.items() if request is not None}


class Webhook:
    """Implements `PowerMethod`."""

    settings = WebhookTable

    def capabilities(self, settings: object) -> PowerCapabilities:
        """Return what there are requests for."""
        table = table_of(WebhookTable, settings)
        return PowerCapabilities(
            actions=frozenset(table.requests()),
            query=table.query is not None,
            settles=table.settles,
            deadline=table.deadline,
        )

    def endpoint(self, settings: object) -> str:
        """Return the device."""
        return f"webhook {place_of(table_of(WebhookTable, settings))}"

    def check(self, settings: object) -> tuple[str, ...]:
        """Return what is wrong with the address, the requests or the expressions."""
        table = table_of(WebhookTable, settings)
        named = {str(action): text for action, text in table.requests().items()}
        if table.query is not None:
            named["query"] = table.query
        found = [
            f'{key}: expected a method and a path, such as "POST /power/on"'
            for key, text in named.items()
            if _REQUEST.fullmatch(text) is None
        ]
        if not named:
            found.append("on: expected a request for at least one action, or for a query")
        found += [
            f"{key}: expected a regular expression: {why}"
            for key, text in (
                ("is_on", table.is_on),
                ("is_off", table.is_off),
                ("accepted", table.accepted),
            )
            if text is not None and (why := _fault(text))
        ]
        found += [
            f"headers: expected names of letters, digits and -, and values of one line: {name!r}"
            for name, value in table.headers.items()
            if _HEADER.fullmatch(name) is None or not (value.isprintable() and value.isascii())
        ]
        if table.token_header is not None and _HEADER.fullmatch(table.token_header) is None:
            found.append("token_header: expected the name of a header alone, such as X-Token")
        return (*faults(table), *found)

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return which secrets and files are not here."""
        return missing(table_of(WebhookTable, settings), folder, environment)

    def open(self, opening: PowerOpening) -> Power:
        """Return the way to the device."""
        table = table_of(WebhookTable, opening.settings)
        device = WebhookDevice(web_of(table, opening), table)
        return switch_of(device, self.capabilities(table), opening)


def _fault(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        return str(error)
    return ""


class WebhookDevice:
    """Speaks to one device. Implements `Device`."""

    def __init__(self, web: Web, table: WebhookTable) -> None:
        self._web, self._table = web, table
        self._headers = (*table.headers.items(), *self._login())

    def _login(self) -> tuple[tuple[str, str], ...]:
        known, header = self._web.credentials, self._table.token_header
        if known is None:
            return ()
        return ((header, known.password.reveal()),) if header else (known.basic(),)

    async def act(self, action: PowerAction) -> None:
        """Send the action's request, and see from the answer whether it is accepted.

        One that leads elsewhere is how pages answer what they did, or did not: nobody knows.
        """
        answer = await self._exchange(self._table.requests()[action])
        if answer.status in _SEE_OTHER:
            raise nonsense(f"{answer.status}: its answer leads elsewhere, and says nothing")
        text = self._text(answer)
        accepted = self._table.accepted
        if accepted is not None and re.search(accepted, text) is None:
            raise nonsense(f"its answer is none of what is accepted: {self._web.safe(text)!r}")

    async def read(self) -> Reading:
        """Send the request, and try both expressions on its answer."""
        text = self._text(await self._exchange(self._table.query or ""))
        on = re.search(self._table.is_on, text) is not None
        off = re.search(self._table.is_off, text) is not None
        if on is off:
            why = "both expressions match its answer" if on else "no expression matches its answer"
            return Reading(state=PowerState.UNKNOWN, text=why)
        state = PowerState.ON if on else PowerState.OFF
        return Reading(state=state, text=f"its answer says {state}")

    async def close(self) -> None:
        """Give back connections."""
        await self._web.close()

    async def _exchange(self, request: str) -> Response:
        method, _, path = request.partition(" ")
        path, _, query = path.partition("?")
        pairs = tuple((k, v) for k, _, v in (part.partition("=") for part in query.split("&")) if k)
        return await self._web.exchange(method, path, query=pairs, headers=self._headers)

    def _text(self, answer: Response) -> str:
        if answer.status // 100 != 2:
            raise self._web.judged(answer)
        return answer.body.decode(errors="replace")[:_READ]
