"""Connect: log in to a machine by SSH, as the file and its newest observation say."""

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from msgspec import Struct

from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.format import clean
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.options import File, Name, ReadOptions
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Services, open_providers, open_records
from hostler.queries.lookup import find_machine
from hostler.queries.reaching import Reach, reach


class ConnectCommand(Struct, frozen=True):
    """The command that leads to a machine."""

    services: Services
    guard: Guard

    def connect(
        self,
        file: File,
        machine: Name,
        /,
        *command: Annotated[
            str,
            Parameter(help="what to run there, behind -- if it has options; default: a shell"),
        ],
        internal: Annotated[
            bool, Parameter(negative=(), help="by its address in the private network")
        ] = False,
        only_print: Annotated[
            bool, Parameter(name="--print", negative=(), help="print the command line, run nothing")
        ] = False,
        options: ReadOptions | None = None,
    ) -> int:
        """Log in to a machine by SSH, or run a command there; with --json only say how."""
        chosen = options or ReadOptions()

        async def work(screen: Screen) -> int:
            way = await self._reach(file, machine, chosen, screen)
            words = way.command(internal=internal, remote=command)
            if chosen.json or only_print:
                screen.show(clean(shlex.join(words)), _document(way, words))
                return Exit.OK
            self.services.become(words)
            return Exit.OK

        return self.guard(chosen.json, work)

    async def _reach(self, file: Path, name: str, options: ReadOptions, screen: Screen) -> Reach:
        async with open_records(self.services, file, screen) as (config, store):
            fleet, machine = await find_machine(store, config.chosen(options.fleet), name)
            async with open_providers(self.services, config, store) as providers:
                with screen.waiting(f"observing {fleet.account}"):
                    return await reach(providers, fleet, machine)


def _document(way: Reach, words: tuple[str, ...]) -> dict[str, object]:
    return {
        "machine": way.machine.id,
        "phase": way.machine.phase,
        "address": way.address,
        "internal": way.internal,
        "port": way.port,
        "user": way.user,
        "keys": [str(key) for key in way.keys],
        "fingerprint": way.fingerprint,
        "command": words,
    }
