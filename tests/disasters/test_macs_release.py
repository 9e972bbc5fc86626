"""What becomes of a host when its machine goes: released, given up, or left as it is and told."""

from datetime import timedelta
from typing import Literal

import pytest
from msgspec.structs import replace

from hostler.domain.ids import InstallationId
from hostler.domain.model.host import HostCondition, HostOrigin, ReleasePolicy
from hostler.domain.model.phases import Phase
from hostler.lab.scenes.macs import FLEET, MINUTE, POOL, Crash, MacRig, changes, play_macs, stage
from hostler.lab.scenes.servers import Hostler
from hostler.simulators.scaleway.faults.rates import Rule
from hostler.simulators.scaleway.macs import lease
from hostler.simulators.scaleway.state.mac_records import Mac
from hostler.simulators.scaleway.state.options import FLOORS, MacOptions, Options
from hostler.stores.memory import MemoryStore

HOUR = timedelta(hours=1)
End = Literal["released", "retired", "skipped"]
POLICIES = {"none": None, "terminate": ReleasePolicy.TERMINATE, "keep": ReleasePolicy.KEEP}


async def rewritten(
    s: MacRig,
    origin: HostOrigin = HostOrigin.POOL,
    policy: ReleasePolicy | None = None,
    pool: str = POOL,
    *,
    dated: bool = True,
) -> Hostler:
    """Return the next hostler of a ready machine whose host's record says something else now."""
    hostler = s.hostler()
    await s.ready(hostler, 1)
    await hostler.stop()
    s.truth.hostlers.remove(hostler)
    store = hostler.store
    (host,) = await store.hosts()
    until = host.purchase.paid_until if dated else None
    s.mac().deletable = s.mac().deletable if dated else None
    changed = host.with_purchase(origin=origin, policy=policy, paid_until=until).with_ownership(
        pool=pool
    )
    store._tables.hosts[host.id] = changed
    heir = s.hostler(store=store, pool=pool)
    await s.ready(heir, 1)
    return heir


async def ended(s: MacRig, hostler: Hostler, within: timedelta = 2 * HOUR) -> None:
    """Scale to zero, and wait until no machine is recorded and no tie."""
    await hostler.scale(0)

    async def holds() -> bool:
        return not await hostler.machines() and not await hostler.store.bindings()

    await s.until(holds, within)


async def is_released(s: MacRig, hostler: Hostler) -> None:
    await s.all_free(hostler)
    assert s.mac().installs == 3
    assert not s.mac().deletion_scheduled


async def is_retired(s: MacRig, hostler: Hostler) -> None:
    async def scheduled() -> bool:
        return s.mac().deletion_scheduled and stage(s.mac()) == "retiring"

    await s.until(scheduled, HOUR)
    (host,) = await hostler.store.hosts()
    assert host.condition is HostCondition.RETIRING
    assert s.mac().installs == 2, "a host that is given up is not wiped first"


async def is_skipped(s: MacRig, hostler: Hostler) -> None:
    await s.rig.clock.sleep(5 * MINUTE)
    assert stage(s.mac()) == "claimed"
    assert s.mac().installs == 2
    reasons = {entry.event.reason for entry in await hostler.events()}
    assert "release_skipped" in reasons
    (orphan,) = await hostler.store.orphans()
    assert orphan.resource == s.ids[0]
    assert orphan.price > 0


CELLS: tuple[tuple[str, str, str, End], ...] = (
    ("pool", "none", POOL, "released"),
    ("pool", "none", "", "skipped"),
    ("pool", "terminate", POOL, "retired"),
    ("pool", "terminate", "", "retired"),
    ("pool", "keep", POOL, "released"),
    ("pool", "keep", "", "skipped"),
    ("ordered", "none", POOL, "retired"),
    ("ordered", "none", "", "retired"),
    ("ordered", "terminate", POOL, "retired"),
    ("ordered", "terminate", "", "retired"),
    ("ordered", "keep", POOL, "released"),
    ("ordered", "keep", "", "skipped"),
)


@pytest.mark.parametrize(("origin", "policy", "pool", "end"), CELLS)
def test_the_end_of_a_host(origin: str, policy: str, pool: str, end: End) -> None:
    """Each origin with each policy, and with a pool that is known or not."""

    async def scene(s: MacRig) -> None:
        hostler = await rewritten(s, HostOrigin(origin), POLICIES[policy], pool)
        await ended(s, hostler)
        ends = {"released": is_released, "retired": is_retired, "skipped": is_skipped}
        await ends[end](s, hostler)

    play_macs(scene)


def test_a_skipped_release_costs_until_somebody_checks() -> None:
    """One host was billed for 14 days after its release was skipped: here the ledger counts it."""

    async def scene(s: MacRig) -> None:
        hostler = await rewritten(s, pool="")
        await ended(s, hostler)
        await s.rig.clock.sleep(3 * HOUR)
        (orphan,) = await hostler.store.orphans()
        assert orphan.cls == "unrecorded"
        assert "pool_prefix" in orphan.blocked
        await hostler.stop()
        s.truth.hostlers.remove(hostler)
        fleet = replace(FLEET, size=0, reclaim=True)
        await s.all_free(s.hostler(fleet, hostler.store))

    play_macs(scene)


def test_the_pool_of_the_account_serves_a_record_without_one() -> None:
    """A legacy record lacks its pool, and the account's is known: the host is released."""

    async def scene(s: MacRig) -> None:
        hostler = await rewritten(s)
        (host,) = await hostler.store.hosts()
        assert host.ownership.pool == POOL
        hostler.store._tables.hosts[host.id] = host.with_ownership(pool="")
        await ended(s, hostler)
        await is_released(s, hostler)

    play_macs(scene)


@pytest.mark.parametrize("floor", FLOORS)
def test_a_deletion_that_is_refused_until_a_date_is_scheduled(floor: str) -> None:
    """#10922: only one shape of the refusal was known, and a roll waited for three weeks."""

    async def scene(s: MacRig) -> None:
        mac: Mac = s.mac()
        hostler = await rewritten(s, policy=ReleasePolicy.TERMINATE, dated=False)
        await ended(s, hostler)
        await s.rig.clock.sleep(5 * MINUTE)
        asked = changes(s.rig).count("mac.delete")
        assert asked >= 1, "its date was not told: it had to be tried"
        assert mac.deletion_scheduled
        await s.rig.clock.sleep(10 * MINUTE)
        assert changes(s.rig).count("mac.delete") == asked, "refused once, it is not asked again"

    play_macs(scene, options=Options(macs=MacOptions(floor=floor)))


def test_a_date_that_was_told_once_is_kept_to_though_nobody_tells_it_any_more() -> None:
    """A list without dates is no leave to end what is paid for: G9 stands on our record."""

    async def scene(s: MacRig) -> None:
        mac: Mac = s.mac()
        hostler = await rewritten(s, policy=ReleasePolicy.TERMINATE)
        assert mac.deletable is not None
        mac.deletable = None
        await ended(s, hostler)
        await s.rig.clock.sleep(5 * MINUTE)
        assert "mac.delete" not in changes(s.rig)
        assert mac.deletion_scheduled

    play_macs(scene)


def test_a_retired_host_is_deleted_at_its_date_and_touched_no_more() -> None:
    """Its date is told beforehand: no deletion is tried, and the record holds the date."""

    async def scene(s: MacRig) -> None:
        hostler = await rewritten(s, policy=ReleasePolicy.TERMINATE)
        date = s.rig.loop.time() + timedelta(hours=3).total_seconds()
        lease.commit(s.rig.world.cloud, s.mac(), date)
        await ended(s, hostler)
        await is_retired(s, hostler)
        assert "mac.delete" not in changes(s.rig)
        await s.rig.clock.sleep(MINUTE)
        (host,) = await hostler.store.hosts()
        due = s.rig.world.options.epoch + timedelta(seconds=date)
        assert abs((host.purchase.scheduled or due) - due) < timedelta(seconds=2)
        assert host.purchase.scheduled is not None
        await hostler.scale(1)
        asked = len(changes(s.rig))
        await s.rig.clock.sleep(2 * HOUR)
        assert len(changes(s.rig)) == asked, "neither claimed, nor swept, nor asked for again"
        assert not await hostler.store.orphans()
        await s.rig.clock.sleep(2 * HOUR)
        assert not s.macs()
        (host,) = await hostler.store.hosts()
        assert host.condition is HostCondition.ABSENT

    play_macs(scene)


def test_a_monthly_commitment_is_not_renewed_and_networks_are_left_first() -> None:
    async def scene(s: MacRig) -> None:
        mac = s.mac()
        mac.commitment, mac.vpc = "renewed_monthly", "vpc_enabled"
        mac.deletable = s.rig.loop.time() + timedelta(days=21).total_seconds()
        hostler = await rewritten(s, policy=ReleasePolicy.TERMINATE)
        await ended(s, hostler)
        await is_retired(s, hostler)
        assert mac.cancelled
        assert await hostler.ready() == 0

    play_macs(scene)


@pytest.mark.parametrize("effect", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("nth", [1, 2])
def test_a_crash_in_a_retirement_converges(nth: int, effect: bool) -> None:
    async def scene(s: MacRig) -> None:
        hostler = await rewritten(s, policy=ReleasePolicy.TERMINATE)
        crash = Crash(hostler, nth, effect=effect)
        await hostler.scale(0)
        await crash.happened.wait()
        s.truth.hostlers.remove(hostler)
        heir = s.hostler(store=hostler.store)
        await ended(s, heir)
        await is_retired(s, heir)

    play_macs(scene)


@pytest.mark.parametrize("harm", ["reply_lost", "failed_500", "mac_precondition_412", "hung_after"])
@pytest.mark.parametrize("nth", [1, 2])
def test_a_failure_in_a_retirement_converges(nth: int, harm: str) -> None:
    """Struck at its rename, or at the schedule, the host is scheduled all the same."""

    async def scene(s: MacRig) -> None:
        hostler = await rewritten(s, policy=ReleasePolicy.TERMINATE)
        s.rig.world.script(Rule(fault=harm, route="mac.update", after=nth))
        await ended(s, hostler)
        await is_retired(s, hostler)

    play_macs(scene)


def test_a_roll_of_a_whole_fleet_waits_for_no_floor_and_no_wipe() -> None:
    """A deploy once hung for 35 minutes on a host that could not be deleted for weeks.

    Four machines are replaced by four others, inside the paid time of all hosts, in minutes.
    """

    async def scene(s: MacRig) -> None:
        fleet = replace(FLEET, size=8)
        hostler = s.hostler(fleet)
        await s.ready(hostler, 8)
        await hostler.scale(0)
        await s.all_free(hostler)
        await hostler.scale(4)
        await s.ready(hostler, 4)
        olds = {machine.id for machine in await hostler.machines()}
        await hostler.stop()
        s.truth.hostlers.remove(hostler)
        changed = replace(fleet, template="other", replace_outdated=True, surge=4)
        begun = s.rig.loop.time()
        heir = s.hostler(changed, hostler.store)

        async def rolled() -> bool:
            found = await heir.machines()
            new = [m for m in found if m.id not in olds and m.phase is Phase.READY]
            return len(new) == 4 == len(found)

        await s.until(rolled, 6 * HOUR)
        took = s.rig.loop.time() - begun
        assert all((mac.deletable or 0) > s.rig.loop.time() for mac in s.macs()[:4])
        assert took < 10 * 60, f"the roll took {took:.0f} s"

    play_macs(scene, count=8)


def test_a_machine_ends_as_soon_as_its_wipe_is_seen_to_begin() -> None:
    """Whoever asked for the end waits for `reinstalling`, and not for the end of the wipe."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        rule = Rule(fault="mac_stuck_reinstalling", route="mac.reinstall", spell=5400.0)
        s.rig.world.script(rule)
        begun = s.rig.loop.time()
        await ended(s, hostler)
        assert s.rig.loop.time() - begun < 5 * 60
        assert str(s.mac().status) == "reinstalling"
        await s.all_free(hostler, 3 * HOUR)

    play_macs(scene)


def test_an_engine_on_a_shared_store_learns_the_policy_that_another_wrote() -> None:
    """What a person says of a host's end counts from then on, without a restart."""

    async def scene(s: MacRig) -> None:
        store = MemoryStore(InstallationId("shared"), exclusive=False)
        hostler = s.hostler(store=store)
        await s.ready(hostler, 1)
        (host,) = await store.hosts()
        store._tables.hosts[host.id] = replace(
            host.with_purchase(policy=ReleasePolicy.TERMINATE), version=host.version + 1
        )
        await ended(s, hostler)
        await is_retired(s, hostler)

    play_macs(scene)


def test_a_deletion_that_somebody_scheduled_in_the_console_is_not_called_off() -> None:
    """It was, as soon as the host was wiped for the pool: it was billed on, and nobody was told."""

    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        s.mac().deletion_scheduled = True
        await s.rig.clock.sleep(5 * MINUTE)
        await hostler.scale(0)
        await s.all_free(hostler)
        assert s.mac().deletion_scheduled

    play_macs(scene)
