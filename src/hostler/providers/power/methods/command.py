"""Command: any program of this computer: a command line for each action, exit statuses to read.

No shell is between: the words are passed as they are. The program sees PATH, HOME, LANG and the
environment variables that are named, and nothing else; secrets come by those.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from hostler.domain.model.calls import Refusal
from hostler.ports.kind import Lack, table_of
from hostler.ports.power import Power, PowerAction, PowerCapabilities, PowerOpening, PowerState
from hostler.ports.programs import killed
from hostler.ports.secret import Secret
from hostler.providers.power.passwords import hidden_in
from hostler.providers.power.programs import NOT_RUN, PASSED, run
from hostler.providers.power.switch import MethodTable, Reading, nonsense, refused, switch_of

_SHOWN = 120
Words = Annotated[
    tuple[str, ...], Meta(description="the program and its words; left out: it cannot")
]


class CommandTable(MethodTable, frozen=True, kw_only=True):
    """Programs that switch a machine."""

    on: Words = ()
    off_soft: Words = ()
    off_hard: Words = ()
    cycle: Words = ()
    query: Annotated[
        tuple[str, ...],
        Meta(description="the program that asks; its exit status says how the machine stands"),
    ] = ()
    status_on: Annotated[int, Meta(ge=0, le=255, description="the exit status of what is on")] = 0
    status_off: Annotated[
        int,
        Meta(
            ge=0,
            le=255,
            description="and that of what is off; not 1, by which most programs say that they "
            "failed",
        ),
    ] = 3
    status_denied: Annotated[
        int, Meta(ge=1, le=255, description="that of wrong credentials (EX_NOPERM)")
    ] = 77
    status_busy: Annotated[
        int, Meta(ge=1, le=255, description="that of what is busy for a moment (EX_TEMPFAIL)")
    ] = 75
    environment: Annotated[
        tuple[str, ...],
        Meta(description="the environment variables that the programs see, such as passwords"),
    ] = ()

    def programs(self) -> dict[PowerAction, tuple[str, ...]]:
        """Return the command lines by their actions."""
        named = {
            PowerAction.ON: self.on,
            PowerAction.OFF_SOFT: self.off_soft,
            PowerAction.OFF_HARD: self.off_hard,
            PowerAction.CYCLE: self.cycle,
        }
        return {action: words for action, words in named.items() if words}


class Command:
    """Implements `PowerMethod`."""

    settings = CommandTable

    def capabilities(self, settings: object) -> PowerCapabilities:
        """Return what there are programs for."""
        table = table_of(CommandTable, settings)
        return PowerCapabilities(
            actions=frozenset(table.programs()),
            query=bool(table.query),
            settles=table.settles,
            deadline=table.deadline,
        )

    def endpoint(self, settings: object) -> str:
        """Return the programs: nobody knows what else they lead to."""
        table = table_of(CommandTable, settings)
        return f"command {sorted(table.programs().values())} {table.query}"

    def check(self, settings: object) -> tuple[str, ...]:
        """Return what has no program, and statuses that mean two things."""
        table = table_of(CommandTable, settings)
        found = list[str]()
        if not table.programs() and not table.query:
            found.append("on: expected a program for at least one action, or for a query")
        refusals = (table.status_denied, table.status_busy)
        statuses = [table.status_on, table.status_off, *refusals]
        if len(set(statuses)) < len(statuses):
            found.append("status_off: expected another status than the others")
        found += [
            f"{key}: expected another status than 126 and 127: by those nothing was run"
            for key, status in (("status_on", table.status_on), ("status_off", table.status_off))
            if status in NOT_RUN
        ]
        return tuple(found)

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return which programs and environment variables are not here."""
        del folder
        table = table_of(CommandTable, settings)
        lines = {str(action): words for action, words in table.programs().items()}
        lines |= {"query": table.query} if table.query else {}
        path = environment.get("PATH")
        found = [
            Lack(key=key, text=f"there is no program {words[0]}")
            for key, words in lines.items()
            if shutil.which(words[0], path=path) is None
        ]
        unset = [name for name in table.environment if name not in environment]
        return (
            *found,
            *(
                Lack(key="environment", text=f"{name} is not set here", environment=True)
                for name in unset
            ),
        )

    def open(self, opening: PowerOpening) -> Power:
        """Return the way by these programs."""
        table = table_of(CommandTable, opening.settings)
        names = (*PASSED, *table.environment)
        known = {name: opening.environment[name] for name in names if name in opening.environment}
        return switch_of(Programs(table, known), self.capabilities(table), opening)


class Programs:
    """Runs the programs of one machine. Implements `Device`."""

    def __init__(self, table: CommandTable, environment: Mapping[str, str]) -> None:
        self._table, self._environment = table, environment
        self._secrets = [Secret(environment.get(name, "")) for name in table.environment]

    async def act(self, action: PowerAction) -> None:
        """Run the action's program: 0 says that it is accepted."""
        status, text = await self._run(self._table.programs()[action])
        if status in NOT_RUN:
            raise refused(Refusal.INVALID, f"it could not be run (exit status {status}): {text}")
        if status != 0:
            by = killed(status)
            ended = f"was {by}" if by else f"ended with the exit status {status}"
            raise nonsense(f"it {ended}: {text}".removesuffix(": "))

    async def read(self) -> Reading:
        """Run the program that asks."""
        status, text = await self._run(self._table.query)
        states = {self._table.status_on: PowerState.ON, self._table.status_off: PowerState.OFF}
        state = states.get(status, PowerState.UNKNOWN)
        ended = killed(status) or f"exit status {status}"
        if state is PowerState.UNKNOWN and not killed(status):
            on, off = states
            ended = f"{ended}, which is neither status_on ({on}) nor status_off ({off})"
        return Reading(state=state, text=f"{ended}: {text}".removesuffix(": "))

    async def close(self) -> None:
        """Nothing is beginning open."""

    async def _run(self, words: tuple[str, ...]) -> tuple[int, str]:
        """Run a program; return its exit status and the beginning of what it output."""
        status, output = await run(words, self._environment)
        if status == self._table.status_denied:
            raise refused(Refusal.DENIED, "the credentials are refused")
        if status == self._table.status_busy:
            raise refused(Refusal.BUSY, f"it is busy: {self._safe(output)}")
        return status, self._safe(output)

    def _safe(self, output: bytes) -> str:
        text = output.decode(errors="replace")
        for secret in self._secrets:
            text = hidden_in(text, secret)
        return " ".join(text.split())[:_SHOWN]
