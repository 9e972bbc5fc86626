"""Outfitting: what is sent to a host, and what its record keeps of what came of that."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from msgspec.structs import replace

from hostler.controllers.execute.bootstrap import _order
from hostler.domain.ids import HostId
from hostler.domain.model.capabilities import Cleaning, HostCapabilities, Ownership
from hostler.domain.model.fleet import Fleet, Probe, ProbeKind
from hostler.domain.model.host import Host, HostCondition
from hostler.domain.policy.bootstrap import digest_of
from hostler.domain.policy.host_keys import HostKey
from hostler.lab.scenes.mac_ssh import WorldPreparer
from hostler.lab.scenes.macs import FLEET, MINUTE, MacRig, changes, play_macs
from hostler.lab.scenes.servers import Hostler
from hostler.ports.preparer import Order, Prepared
from hostler.ports.provider import Connection
from hostler.testing.scenes.builders import BEGIN
from hostler.testing.scenes.hosts import CAPABILITIES, fleet_snapshot, on_host
from hostler.testing.scenes.hosts import record as host_record

PLAIN, ASKS = "echo one", "sudo -S true"
HOUR = timedelta(hours=1)


class RecordingPreparer:
    """A preparer that answers what it is told to, and else what the simulated world says."""

    def __init__(self, inner: WorldPreparer) -> None:
        self.inner = inner
        self.answers = list[Prepared]()
        self.orders = list[Order]()
        self.connections = list[Connection]()
        self.waits = list[asyncio.Event]()

    async def prepare(self, connection: Connection, order: Order) -> Prepared:
        self.orders.append(order)
        self.connections.append(connection)
        found = await self.inner.prepare(connection, order)
        if self.waits:
            await self.waits.pop(0).wait()
        return self.answers.pop(0) if self.answers else found


def fleet(*commands: str, user: str = "", port: int = 0, size: int = 1) -> Fleet:
    probe = Probe(kind=ProbeKind.SSH, commands=commands, user=user, port=port)
    timers = replace(FLEET.timers, start=5 * HOUR)
    return replace(FLEET, probe=probe, timers=timers, size=size)


def play(
    scene: Callable[[MacRig, Hostler, RecordingPreparer], Awaitable[None]],
    prepared: Fleet,
    count: int = 1,
) -> None:
    async def whole(s: MacRig) -> None:
        preparer = RecordingPreparer(WorldPreparer(s.rig.world))
        s.rig.preparer = preparer
        await scene(s, s.hostler(prepared), preparer)

    play_macs(whole, count)


async def follow(s: MacRig, hostler: Hostler, changed: Fleet) -> Hostler:
    """Let another engine go on with another fleet file."""
    await hostler.stop()
    s.truth.hostlers.remove(hostler)
    return s.hostler(changed, store=hostler.store)


async def record(hostler: Hostler, host: str) -> Host:
    return next(one for one in await hostler.store.hosts() if one.id == HostId(host))


async def tried(s: MacRig, preparer: RecordingPreparer, many: int) -> None:
    async def holds() -> bool:
        return len(preparer.orders) >= many

    await s.until(holds, HOUR)


def test_a_host_that_was_cleaned_without_a_wipe_must_show_the_key_on_record() -> None:
    """Nothing but a reinstallation gives it another one."""
    known = host_record(host_key=HostKey(key="SHA256:ours", at=BEGIN), cleaned=BEGIN + HOUR)
    place = Connection(address="192.0.2.1")
    for cleaning in Cleaning:
        hosts = HostCapabilities(ownership=Ownership.TAGS, cleaning=cleaning)
        described = replace(fleet_snapshot(()), capabilities=replace(CAPABILITIES, hosts=hosts))
        order = _order(on_host(), place, described, known, None)
        assert order.fingerprint == ("" if cleaning is Cleaning.WIPE else "SHA256:ours")


def test_the_password_is_asked_for_only_where_a_command_asks_for_it() -> None:
    async def scene(s: MacRig, hostler: Hostler, preparer: RecordingPreparer) -> None:
        await s.ready(hostler, 1)
        await s.rig.clock.sleep(5 * MINUTE)  # after a wipe it is sealed for a while
        other = await follow(s, hostler, fleet(PLAIN, PLAIN))
        await tried(s, preparer, 2)
        assert preparer.orders[-1].password is None
        heir = await follow(s, other, fleet(PLAIN, ASKS))
        await tried(s, preparer, 3)
        secret = s.mac().password
        password = preparer.orders[-1].password
        assert password is not None
        assert password.reveal() == secret
        assert secret not in repr(preparer.orders[-1])
        await s.ready(heir, 1)
        stored = f"{await heir.events()} {await heir.store.hosts()} {await heir.machines()}"
        assert "sudo -S true" in stored
        assert secret not in stored

    play(scene, fleet(PLAIN))


def test_commands_that_ask_for_a_password_wait_for_it_a_while() -> None:
    """After each wipe it is sealed for a minute or so: no failure of the host's."""

    async def scene(s: MacRig, hostler: Hostler, preparer: RecordingPreparer) -> None:
        await s.ready(hostler, 1)
        s.mac().sealed_until = s.rig.loop.time() + 8 * 60
        other = await follow(s, hostler, fleet(ASKS))
        await s.rig.clock.sleep(7 * MINUTE)
        assert len(preparer.orders) == 1
        await tried(s, preparer, 2)
        assert preparer.orders[-1].password is not None
        assert await other.ready() == 1
        failures = [one.event for one in await other.events() if one.event.kind == "not_prepared"]
        assert failures == []

    play(scene, fleet(PLAIN))


def test_a_password_that_stays_sealed_is_none() -> None:
    async def scene(s: MacRig, hostler: Hostler, preparer: RecordingPreparer) -> None:
        await s.ready(hostler, 1)
        s.mac().sealed_until = s.rig.loop.time() + 1e6
        began = s.rig.loop.time()
        await follow(s, hostler, fleet(ASKS))
        await tried(s, preparer, 2)
        assert s.rig.loop.time() - began > 10 * 60
        assert preparer.orders[-1].password is None

    play(scene, fleet(PLAIN))


def test_the_hosts_own_user_is_meant_unless_the_fleet_names_one() -> None:
    async def scene(s: MacRig, hostler: Hostler, preparer: RecordingPreparer) -> None:
        await s.ready(hostler, 1)
        assert [(one.user, one.port) for one in preparer.orders] == [("", 0)]
        assert [(one.user, one.address) for one in preparer.connections] == [("m1", s.mac().ip)]

    async def named(s: MacRig, hostler: Hostler, preparer: RecordingPreparer) -> None:
        await s.ready(hostler, 1)
        assert [(one.user, one.port) for one in preparer.orders] == [("builder", 2222)]

    play(scene, fleet())
    play(named, fleet(user="builder", port=2222))


def test_a_key_counts_only_with_a_login() -> None:
    """Whoever answered first might be anybody: nothing but a login makes it the host's."""

    async def scene(s: MacRig, hostler: Hostler, preparer: RecordingPreparer) -> None:
        preparer.answers.append(Prepared(fingerprint="SHA256:stranger", error="no login"))
        await tried(s, preparer, 1)
        await asyncio.sleep(5)
        host = await record(hostler, s.ids[0])
        assert (host.bootstrap.host_key, host.health.trouble.failures) == (None, 1)
        await s.ready(hostler, 1)
        assert [one.fingerprint for one in preparer.orders] == ["", ""]
        host = await record(hostler, s.ids[0])
        assert host.bootstrap.host_key is not None
        assert host.bootstrap.host_key.key != "SHA256:stranger"
        assert host.health.trouble.failures == 0

    play(scene, fleet())


def test_the_record_knows_what_the_host_carries() -> None:
    async def scene(s: MacRig, hostler: Hostler, preparer: RecordingPreparer) -> None:
        await s.ready(hostler, 1)
        assert preparer.orders[0].applied == ""
        assert (await record(hostler, s.ids[0])).bootstrap.applied == digest_of((PLAIN,))
        await hostler.scale(0)
        await s.all_free(hostler)
        assert (await record(hostler, s.ids[0])).bootstrap.applied == "", "its disk was wiped"

    play(scene, fleet(PLAIN))


def test_the_provider_is_asked_how_the_host_is_at_the_third_failure_only() -> None:
    async def scene(s: MacRig, hostler: Hostler, preparer: RecordingPreparer) -> None:
        bad = Prepared(login=True, fingerprint="SHA256:a", error="command 1 of 1 failed with 1")
        preparer.answers += [bad] * 4
        for many, asked in ((1, 0), (2, 0), (3, 1), (4, 1)):
            await tried(s, preparer, many)
            await s.rig.clock.sleep(MINUTE / 3)
            assert changes(s.rig).count("mac_diagnostic.start") == asked
        host = await record(hostler, s.ids[0])
        assert (host.health.trouble.failures, host.health.trouble.rebooted) == (4, True)

    play(scene, fleet(PLAIN))


def test_one_machine_is_tried_once_at_a_time_and_others_beside_it() -> None:
    async def scene(s: MacRig, hostler: Hostler, preparer: RecordingPreparer) -> None:
        preparer.waits += [held := asyncio.Event(), asyncio.Event()]
        preparer.waits[1].set()
        await tried(s, preparer, 2)
        await s.rig.clock.sleep(HOUR)
        assert len(preparer.orders) == 2
        assert await hostler.ready() == 1
        held.set()
        await s.ready(hostler, 2)
        assert preparer.inner.overlaps == []
        assert len({one.machine for one in preparer.orders}) == len(preparer.orders) == 2

    play(scene, fleet(PLAIN, size=2), count=2)


def test_what_comes_of_a_try_is_kept_only_while_the_host_is_the_machines() -> None:
    """The machine ends meanwhile: by then its host is wiped, free, and nobody's."""

    async def scene(s: MacRig, hostler: Hostler, preparer: RecordingPreparer) -> None:
        preparer.waits.append(held := asyncio.Event())
        preparer.answers.append(Prepared(login=True, fingerprint="SHA256:a", error="it broke off"))
        await tried(s, preparer, 1)
        await hostler.scale(0)
        await s.all_free(hostler)
        before = await record(hostler, s.ids[0])
        held.set()
        await s.rig.clock.sleep(MINUTE)
        after = await record(hostler, s.ids[0])
        assert after.condition is HostCondition.FREE
        assert (after.bootstrap.host_key, after.health.trouble, after.bootstrap.applied) == (
            None,
            before.health.trouble,
            "",
        )
        assert after.health.trouble.failures == 0

    play(scene, fleet(PLAIN))


def test_a_key_that_was_seen_before_a_wipe_is_not_pinned_after_it() -> None:
    """A key is as old as its try's beginning, for the machine may keep its host over a wipe."""

    async def scene(s: MacRig, hostler: Hostler, preparer: RecordingPreparer) -> None:
        preparer.waits.append(held := asyncio.Event())
        began = s.rig.clock.now()
        await tried(s, preparer, 1)
        await s.rig.clock.sleep(30 * MINUTE)
        held.set()
        await s.ready(hostler, 1)
        host_key = (await record(hostler, s.ids[0])).bootstrap.host_key
        assert host_key is not None
        assert began < host_key.at <= s.rig.clock.now() - 30 * MINUTE

    play(scene, fleet(PLAIN))
