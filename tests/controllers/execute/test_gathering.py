"""Gathering: each question is put to the store once a cycle, and the clock is read last."""

from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from hosts_kit import Site
from msgspec.structs import replace

from hostler.controllers.observe.observer import Observer
from hostler.controllers.observe.snapshot import gather
from hostler.controllers.runtime.settings import Settings
from hostler.domain.decision.view import named, view_of
from hostler.domain.errors import StoreBusy, StoreError, StoreLost
from hostler.domain.ids import FleetName, InstallationId, ResourceId
from hostler.domain.model.capabilities import HostCapabilities, Ownership
from hostler.domain.model.machine import Machine
from hostler.domain.model.resource import Scope
from hostler.domain.model.snapshot import AccountSnapshot
from hostler.ports.store import Identity
from hostler.testing.scenes.builders import FLEET, HOME, ZONE, machine
from hostler.testing.scenes.hosts import BOX, CAPABILITIES, MINE, account_snapshot, box, tenant

pytestmark = pytest.mark.looptime


class Listening:
    """A store that several engines share, and that says what it was asked."""

    exclusive = False

    def __init__(self, store: Any, asked: Callable[[str], None]) -> None:
        self._store, self._asked = store, asked

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        self._asked(name)
        return getattr(self._store, name)


async def opened() -> tuple[Site, list[str]]:
    """Return a site whose host names a machine that does not live, on a store that listens."""
    site = await Site.opened(None, box("pool", holder="m-unheard-of"))
    asked = list[str]()
    site.ports = replace(site.ports, store=Listening(site.rig.store, asked.append))
    return site, asked


async def gathered(site: Site) -> AccountSnapshot:
    """Return what a cycle of the fleet gathers."""
    occasion = replace(await site.occasion(), fleets=(FLEET,))
    return await gather(site.ports, site.state, occasion, site.steady)


async def test_no_query_of_the_store_is_made_twice_for_one_cycle() -> None:
    site, asked = await opened()
    await gathered(site)  # the first one reads what other fleets there are
    assert Counter(asked)["machines"] == len(site.state.account.fleets)
    asked.clear()
    await gathered(site)
    assert {"hosts", "bindings", "machines", "history", "orphans"} <= set(asked)
    assert max(Counter(asked).values()) == 1


def test_history_is_asked_for_whatever_is_still_seen_of_a_machine_on_any_host() -> None:
    """Seed 137000046 of Macs: a person gave a host another name, after its machine had ended.

    What the last listing had shown under the old name counted as issued by another store.
    """
    lent = box("foreign"), tenant(machine=MINE)
    snapshot = account_snapshot(lent, ours=(HOME,))
    assert named(snapshot) == (MINE,)
    assert named(replace(snapshot, ours=(InstallationId("somebody-else"),))) == ()
    assert named(replace(snapshot, machines={MINE: machine(1)})) == ()


async def test_records_that_could_not_be_read_again_are_not_believed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A save that failed has them read again; a disk that fails twice must not end that."""
    site = await Site.opened(None, box("pool", holder="m-unheard-of"))
    await gathered(site)
    site.state.distrust()

    async def fails(fleet: FleetName) -> tuple[()]:
        raise StoreError(f"the records of {fleet} cannot be read")

    with monkeypatch.context() as broken:
        broken.setattr(site.rig.store, "machines", fails)
        with pytest.raises(StoreError):
            await gathered(site)
    read = list[FleetName]()
    machines = site.rig.store.machines

    async def reads(fleet: FleetName) -> tuple[Machine, ...]:
        read.append(fleet)
        return await machines(fleet)

    monkeypatch.setattr(site.rig.store, "machines", reads)
    await gathered(site)
    assert FLEET.name in read


@pytest.mark.parametrize("error", [StoreBusy("locked"), StoreLost("deleted")], ids=repr)
async def test_a_store_that_fails_while_losses_are_proved_fails_as_at_any_other_time(
    error: StoreError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is neither told as a bug of hostler's nor, where the file is gone, overheard."""
    site = await Site.opened(None, box("pool"))
    owned = replace(CAPABILITIES, hosts=HostCapabilities(ownership=Ownership.RECORD))
    monkeypatch.setattr(site.provider, "_capabilities", owned)
    observer = Observer(site.ports, site.state, site.budget, Settings())
    await observer.observe()
    assert site.state.inventory.whole, "nothing else is due"
    site.state.asked = (Scope(ZONE, "server", machine(1).id, (ResourceId(BOX),)),)

    async def fails() -> Identity:
        raise error

    monkeypatch.setattr(site.rig.store, "identity", fails)
    with pytest.raises(type(error)):
        await observer.observe()


async def test_the_clock_is_read_after_every_record() -> None:
    site, _ = await opened()
    begun = site.rig.clock.now()

    async def orphans() -> tuple[()]:
        await site.rig.clock.sleep(timedelta(seconds=3))
        return ()

    site.rig.store.orphans = orphans
    assert (await gathered(site)).now >= begun + timedelta(seconds=3)


async def test_a_host_with_a_call_in_flight_is_free_for_no_fleet() -> None:
    site, _ = await opened()
    free = view_of(await gathered(site), FLEET, site.state.terms(FLEET.name)).free
    assert [host.id for host in free] == [BOX]
    site.state.host_records.moving.add(BOX)
    assert view_of(await gathered(site), FLEET, site.state.terms(FLEET.name)).free == ()
