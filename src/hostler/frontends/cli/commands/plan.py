"""Plan: plan and explain observe, decide with the code that acts, and stop."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from msgspec import Struct

from hostler.config.values import Config
from hostler.controllers.plan import Plan, Planned
from hostler.domain.errors import RequestRefused
from hostler.domain.ids import begins_machine_id
from hostler.domain.reporting.hosts import HostStatus
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.options import File, ReadOptions
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Services, open_providers, open_records
from hostler.frontends.cli.render.explanations import host_explanation, machine_explanation
from hostler.frontends.cli.render.plans import plans
from hostler.ports.store import Store
from hostler.queries import documents
from hostler.queries.hosts import explain_hosts
from hostler.queries.lookup import as_far_as_seen, find_host, find_machine, host_named
from hostler.queries.machines import explain_machine
from hostler.queries.power_states import PowerStatus, power_statuses
from hostler.queries.providers import require_observed


class PlanCommands(Struct, frozen=True):
    """The commands that show what would be done, and why."""

    services: Services
    guard: Guard

    def plan(self, file: File, /, *, options: ReadOptions | None = None) -> int:
        """Show the calls that one cycle would make now; nothing is changed."""
        chosen = options or ReadOptions()
        return self.guard(chosen.json, lambda screen: self._plan(file, chosen, screen))

    async def _plan(self, file: Path, options: ReadOptions, screen: Screen) -> int:
        fleets, hosts = list[Plan](), list[Planned]()
        async with (
            open_records(self.services, file, screen) as (config, store),
            open_providers(self.services, config, store) as providers,
        ):
            for fleet in config.chosen(options.fleet):
                with screen.waiting(f"observing {fleet.account}"):
                    fleets.append(await providers.plan(fleet))
            planned = {made.snapshot.fleet.account for made in fleets}
            for account in providers.accounts:
                if account.name in planned:
                    hosts += await providers.plan_hosts(account)
        for made in fleets:
            require_observed(made.snapshot.inventory)
        value = {
            "fleets": [documents.plan(made) for made in fleets],
            "hosts": [documents.host_plan(entry) for entry in hosts],
        }
        screen.show(plans(fleets, hosts, self.services.clock().now()), value)
        return Exit.OK

    def explain(
        self,
        file: File,
        machine: Annotated[
            str,
            Parameter(help="the id of a machine or host, or how it begins; or a host's full name"),
        ],
        /,
        *,
        options: ReadOptions | None = None,
    ) -> int:
        """Explain the state of a machine or host: why, what blocks it, and what happens next."""
        chosen = options or ReadOptions()
        return self.guard(chosen.json, lambda screen: self._explain(file, machine, chosen, screen))

    async def _explain(self, file: Path, name: str, options: ReadOptions, screen: Screen) -> int:
        async with open_records(self.services, file, screen) as (config, store):
            try:
                fleet, machine = await find_machine(store, config.chosen(options.fleet), name)
            except RequestRefused:
                of_machine = begins_machine_id(name) and await find_host(store, name) is None
                if of_machine or not await self._explain_host(config, store, name, screen):
                    raise
                return Exit.OK
            async with open_providers(self.services, config, store) as providers:
                with screen.waiting(f"observing {fleet.account}"):
                    explained = await explain_machine(providers, fleet, machine)
            power = await self._power(config, store, explained.host)
        value = documents.machine_explanation(explained, power)
        screen.show(machine_explanation(explained), value)
        return Exit.OK

    async def _explain_host(self, config: Config, store: Store, name: str, screen: Screen) -> bool:
        """Explain the host of this id or name; False where no provider has any hosts."""
        rows = await store.fleets()
        async with open_providers(self.services, config, store) as providers:
            with screen.waiting("observing the provider"):
                explained, unseen = await explain_hosts(providers, rows)
        if not explained and not unseen:
            return False
        with as_far_as_seen(unseen):
            host = host_named(name, (entry.host for entry in explained))
        found = next(entry for entry in explained if entry.host.id == host.id)
        now = self.services.clock().now()
        power = await self._power(config, store, found.host)
        screen.show(host_explanation(found, now), documents.host_explanation(found, now, power))
        return True

    async def _power(
        self, config: Config, store: Store, host: HostStatus | None
    ) -> PowerStatus | None:
        """Return how a host stands as its power goes; None where that is not ours to switch."""
        if host is None:
            return None
        machines = [m for fleet in config.fleets for m in await store.machines(fleet.name)]
        now = self.services.clock().now()
        return power_statuses((host,), machines, config.fleets, now).get(host.id)
