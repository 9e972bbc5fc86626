"""Account observation: what a provider shows, with what only our records can add to it.

The one way to observe an account, for a cycle and for a plan: the provider is told which host keys
are on record where observing is a login, and allocations are added where nothing but our records
says which machine has which host.
"""

from hostler.controllers.runtime.settings import Ports
from hostler.controllers.runtime.state import AccountState
from hostler.domain.hosts.host_keys import expected_keys
from hostler.domain.model.resource import Observation, Scope
from hostler.domain.observation.allocations import Allocations, scopes_of_hosts
from hostler.domain.observation.ownership import Owners
from hostler.domain.observation.recognition import is_unnamed, recognize
from hostler.ports.hosts import ExpectsHostKeys

from .snapshot import records


async def observe_account(
    ports: Ports, state: AccountState, scopes: tuple[Scope, ...]
) -> Observation:
    """Observe these scopes: the provider first, then the records that belong to what it shows."""
    provider, host_records = state.account.provider, state.host_records
    if isinstance(provider, ExpectsHostKeys):
        await host_records.refresh(ports.store)
        provider.expect_host_keys(expected_keys(host_records.hosts, provider.capabilities))
    asked = scopes_of_hosts(scopes, provider.capabilities)
    observation = await provider.observe(asked)
    if asked is scopes:
        return await _recognized(ports, state, observation)
    return (await _allocations(ports, state)).observed(scopes, observation)


async def _recognized(ports: Ports, state: AccountState, observation: Observation) -> Observation:
    """Return an observation with the ids of what machines took; records are read where none is."""
    if not any(map(is_unnamed, observation.resources)):  # as of most
        return observation
    fleets = state.account.fleets
    for fleet in fleets:
        if fleet.name not in state.rows:
            await records(ports, state, fleet)
    return recognize(observation, Owners(m for fleet in fleets for m in state.living(fleet.name)))


async def _allocations(ports: Ports, state: AccountState) -> Allocations:
    """Return what the records say by now of who has which host."""
    fleets, store = state.account.fleets, ports.store
    await state.host_records.refresh(store)
    for fleet in fleets:
        await records(ports, state, fleet)
    return Allocations(
        capabilities=state.account.provider.capabilities,
        installation=(await store.identity()).ours[0],
        bindings=state.host_records.bindings,
        machines={m.id: m for fleet in fleets for m in state.living(fleet.name)},
    )
