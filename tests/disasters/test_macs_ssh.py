"""Hosts that are logged in to before they are ready: keys, commands, and what goes on failing."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.model.fleet import Fleet, Probe, ProbeKind
from hostler.domain.model.host import Host, HostCondition
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.mac_ssh import WorldPreparer
from hostler.lab.scenes.macs import FLEET, MINUTE, MacRig, changes, play_macs, stage
from hostler.lab.scenes.servers import Hostler
from hostler.simulators.scaleway.faults.rates import Rule
from hostler.simulators.scaleway.state.mac_records import MacStatus

HOUR = timedelta(hours=1)
ONE, TWO, BAD = "echo one", "echo two", "false"


def fleet(*commands: str, start: timedelta = 3 * HOUR) -> Fleet:
    """Return a fleet whose hosts are logged in to."""
    probe = Probe(kind=ProbeKind.SSH, commands=commands)
    return replace(FLEET, probe=probe, timers=replace(FLEET.timers, start=start))


@dataclass(slots=True)
class Scene:
    """Macs, one engine over them, and what logs in."""

    s: MacRig
    hostler: Hostler
    preparer: WorldPreparer

    async def restart(self, fleet: Fleet) -> None:
        """Let another engine go on with another fleet file."""
        await self.hostler.stop()
        self.s.truth.hostlers.remove(self.hostler)
        self.hostler = self.s.hostler(fleet, store=self.hostler.store)

    async def serve(self, fleet: Fleet) -> None:
        """Let the quarantine of the first host be over, and another engine see it."""
        host = await self.host()
        self.hostler.store._tables.hosts[host.id] = host.with_health(
            quarantined_until=self.s.rig.clock.now()
        )
        await self.restart(fleet)

    async def host(self) -> Host:
        """Return the record of the first host."""
        return next(h for h in await self.hostler.store.hosts() if h.id == self.s.ids[0])

    async def machine(self) -> Machine:
        """Return the only machine."""
        (machine,) = await self.hostler.machines()
        return machine

    async def until(self, holds: Callable[[Host], bool], within: timedelta = 3 * HOUR) -> Host:
        """Wait until something holds of the first host's record, and return it."""

        async def found() -> bool:
            return any(holds(h) for h in await self.hostler.store.hosts() if h.id == self.s.ids[0])

        await self.s.until(found, within)
        return await self.host()

    async def tried(self, many: int, within: timedelta = 3 * HOUR) -> None:
        """Wait until there were so many attempts."""

        async def found() -> bool:
            return len(self.preparer.orders) >= many

        await self.s.until(found, within)

    async def describe(self, kind: str) -> list[str]:
        """Return what the story tells of one kind of event."""
        events = await self.hostler.events()
        return [one.event.detail for one in events if one.event.kind == kind]

    def ran(self) -> list[str]:
        """Return what ran on the disk that the first host has now."""
        return self.preparer.disk(self.s.ids[0]).ran

    def asked(self, route: str) -> int:
        """Return how often a change was asked for."""
        return changes(self.s.rig).count(route)


def play(
    scene: Callable[[Scene], Awaitable[None]],
    prepared: Fleet,
    count: int = 1,
    begin: Callable[[Scene], None] = lambda _: None,
) -> None:
    """Run a scene, and check that no machine was ever tried twice at once."""

    async def whole(s: MacRig) -> None:
        preparer = WorldPreparer(s.rig.world)
        s.rig.preparer = preparer
        preparer.fake.failing.add(BAD)
        made = Scene(s, s.hostler(prepared), preparer)
        begin(made)
        await scene(made)
        assert preparer.orders, "nothing was tried"
        assert preparer.overlaps == []

    play_macs(whole, count)


def test_a_machine_is_ready_only_after_a_proven_login() -> None:
    async def scene(x: Scene) -> None:
        mac = x.s.mac()
        await x.tried(3)
        assert await x.hostler.ready() == 0
        assert stage(mac) == "claimed"
        await x.s.ready(x.hostler, 1)
        host = await x.host()
        met = x.s.rig.world.reach(mac.ip)
        assert met is not None
        assert host.bootstrap.host_key is not None
        assert host.bootstrap.host_key.key.startswith(f"SHA256:{met.host_key}")
        assert host.health.trouble.failures == 0

    late = Rule(fault="mac_ssh_late", route="mac.reinstall", spell=5 * 60.0)
    play(scene, fleet(), begin=lambda x: x.s.rig.world.script(late))


def test_commands_run_once_for_each_disk_and_are_told() -> None:
    async def scene(x: Scene) -> None:
        await x.s.ready(x.hostler, 1)
        first = x.ran()
        assert first == [ONE, TWO]
        await x.restart(fleet(ONE, TWO))
        await x.s.rig.clock.sleep(HOUR)
        assert first == [ONE, TWO]
        assert len(x.preparer.orders) == 1
        (detail,) = await x.describe("prepared")
        assert f"$ {ONE}" in detail
        assert f"$ {TWO}" in detail
        await x.hostler.scale(0)
        await x.s.all_free(x.hostler)
        await x.hostler.scale(1)
        await x.s.ready(x.hostler, 1)
        assert x.ran() == [ONE, TWO]
        assert x.ran() is not first
        assert len(x.preparer.orders) == 2

    play(scene, fleet(ONE, TWO))


def test_the_key_is_pinned_anew_only_after_a_recorded_wipe() -> None:
    """Each claim is by another machine; each wipe of ours leaves another key."""

    async def scene(x: Scene) -> None:
        await x.s.ready(x.hostler, 1)
        first = (await x.host()).bootstrap.host_key
        await x.hostler.scale(0)
        await x.s.all_free(x.hostler)
        assert (await x.host()).bootstrap.host_key == first, "only a login pins"
        await x.hostler.scale(1)
        await x.s.ready(x.hostler, 1)
        second = (await x.host()).bootstrap.host_key
        assert first is not None
        assert second is not None
        assert second.key != first.key
        assert second.at > first.at
        assert [order.fingerprint for order in x.preparer.orders] == ["", ""]
        await x.restart(fleet(ONE))
        await x.tried(3)
        assert x.preparer.orders[-1].fingerprint == second.key
        (host,) = await x.hostler.store.hosts()
        assert host.bootstrap.host_key == second

    play(scene, fleet())


def test_a_stranger_is_neither_wiped_nor_rebooted_but_left_alone() -> None:
    """Quarantined after three tries, and not claimed while it is; a day later it is wiped."""

    async def scene(x: Scene) -> None:
        mac = x.s.mac()
        await x.tried(1)
        await x.until(
            lambda host: host.bootstrap.host_key is not None and host.health.trouble.failures == 1
        )
        host_key, installs = (await x.host()).bootstrap.host_key, mac.installs
        mac.porch.wrong_keys = 1000
        host = await x.until(lambda host: host.condition is HostCondition.QUARANTINED)
        assert len(x.preparer.orders) == 3
        assert host.bootstrap.host_key == host_key
        assert host.health.strikes == 1
        assert host.health.quarantined_until is not None
        assert host.health.quarantined_until - x.s.rig.clock.now() > 23 * HOUR
        await x.s.rig.clock.sleep(HOUR)
        assert (stage(mac), mac.installs) == ("quarantined", installs)
        assert x.asked("mac.reboot") == 0
        assert len(x.preparer.orders) == 3
        assert (await x.host()).bootstrap.host_key == host_key
        mac.porch.wrong_keys = 0
        await x.serve(fleet(ONE))
        await x.s.ready(x.hostler, 1)
        assert mac.installs > installs
        again = (await x.host()).bootstrap.host_key
        assert host_key is not None
        assert again is not None
        assert again.key != host_key.key

    play(scene, fleet(BAD))


def test_a_changed_list_reaches_a_machine_in_use_without_its_going_down() -> None:
    async def scene(x: Scene) -> None:
        await x.s.ready(x.hostler, 1)
        before, made = await x.machine(), changes(x.s.rig)
        await x.restart(fleet(ONE, TWO))
        await x.tried(2)
        await x.until(lambda host: host.bootstrap.applied == x.preparer.orders[-1].wanted)
        assert x.ran() == [ONE, ONE, TWO]
        await x.s.rig.clock.sleep(10 * MINUTE)
        machine = await x.machine()
        assert (machine.id, machine.phase, machine.since) == (before.id, Phase.READY, before.since)
        assert changes(x.s.rig) == made
        assert len(x.preparer.orders) == 2
        assert f"$ {TWO}" in (await x.describe("prepared"))[-1]

    play(scene, fleet(ONE))


def test_a_list_that_fails_on_a_machine_in_use_is_retried_told_and_costs_nothing() -> None:
    async def scene(x: Scene) -> None:
        await x.s.ready(x.hostler, 1)
        before, made = await x.machine(), changes(x.s.rig)
        await x.restart(fleet(ONE, BAD))
        began = x.s.rig.loop.time()
        await x.tried(1 + 5)
        # 30 s, 2, 5 and 5 min lie between five attempts, and a cadence of looks of up to 30 s
        assert 12.5 * 60 <= x.s.rig.loop.time() - began <= 16 * 60
        await x.s.rig.clock.sleep(20 * MINUTE)
        assert len(x.preparer.orders) == 1 + 5, "half an hour lies after the fifth"
        await x.s.rig.clock.sleep(3 * HOUR)
        assert 1 + 5 + 5 <= len(x.preparer.orders) <= 1 + 5 + 7
        machine = await x.machine()
        assert (machine.id, machine.phase, machine.since) == (before.id, Phase.READY, before.since)
        assert changes(x.s.rig) == made
        details = await x.describe("not_prepared")
        assert 5 <= len(details) <= 6
        assert "command 2 of 2 failed" in details[0]
        assert f"$ {BAD}" in details[0]
        host = await x.host()
        assert (host.health.strikes, host.health.trouble.failures) == (0, 0)
        await x.restart(fleet(ONE, TWO))
        await x.until(lambda host: host.bootstrap.drift.failures == 0)
        assert x.ran()[-2:] == [ONE, TWO]

    play(scene, fleet(ONE))


def test_failures_climb_to_one_reboot_then_a_wipe_and_then_quarantine() -> None:
    """Both rounds of the host's, with the provider's own look in each, and no call too many."""

    async def scene(x: Scene) -> None:
        mac = x.s.mac()
        await x.tried(3)
        await x.s.rig.clock.sleep(4 * MINUTE)
        assert x.asked("mac_diagnostic.start") == 1
        assert x.asked("mac.reboot") == 1
        asked = [entry.event for entry in await x.hostler.events() if entry.event.kind == "asked"]
        assert [one.reason for one in asked if "reboot" in one.reason] == ["mac.reboot"]
        assert "reboot" in (await x.describe("remedy"))[0]
        first = await x.machine()
        host = await x.until(lambda host: host.health.strikes == 1)
        assert len(x.preparer.orders) == 8
        assert x.asked("mac.reboot") == 1
        assert x.asked("mac_diagnostic.start") == 2
        installs = mac.installs
        host = await x.until(lambda host: host.condition is HostCondition.QUARANTINED)
        assert first.id not in {order.machine for order in x.preparer.orders[8:]}
        assert len(x.preparer.orders) == 16
        assert host.health.strikes == 2
        assert host.health.quarantined_until is not None
        assert mac.installs > installs, "what a failed machine leaves is wiped"
        assert x.asked("mac.reboot") == 2
        await x.s.rig.clock.sleep(HOUR)
        assert len(x.preparer.orders) == 16, "it is not claimed while it is in quarantine"
        assert stage(mac) == "quarantined"
        await x.serve(fleet(BAD))
        host = await x.until(lambda host: host.health.strikes == 3)
        assert len(x.preparer.orders) == 24, "its strikes stayed: one round more is enough"
        assert host.health.quarantined_until is not None
        assert host.health.quarantined_until - x.s.rig.clock.now() > 47 * HOUR

    play(scene, fleet(BAD))


def test_a_reboot_that_is_refused_is_asked_for_again() -> None:
    async def scene(x: Scene) -> None:
        await x.tried(3)
        await x.s.rig.clock.sleep(4 * MINUTE)
        assert x.asked("mac.reboot") == 4
        assert x.s.mac().status in {MacStatus.READY, MacStatus.REBOOTING}
        await x.tried(4)
        host = await x.host()
        assert (host.health.trouble.rebooted, host.health.trouble.failures) == (True, 4)
        await x.until(lambda host: host.health.strikes == 1)
        assert x.asked("mac.reboot") == 4

    refused = Rule(fault="mac_transient_409", route="mac.reboot", count=3)
    play(scene, fleet(BAD), begin=lambda x: x.s.rig.world.script(refused))


@pytest.mark.parametrize("fault", ["reply_lost", "request_lost", "hung_after"])
def test_a_reboot_of_which_nobody_knows_is_asked_for_once_more(fault: str) -> None:
    async def scene(x: Scene) -> None:
        await x.until(lambda host: host.health.strikes == 1)
        assert x.asked("mac.reboot") == 2
        assert len(x.preparer.orders) == 8

    lost = Rule(fault=fault, route="mac.reboot")
    play(scene, fleet(BAD), begin=lambda x: x.s.rig.world.script(lost))


def test_strikes_stay_over_a_release_and_go_with_a_machine_that_got_ready() -> None:
    async def scene(x: Scene) -> None:
        await x.until(lambda host: host.health.strikes == 1)
        began = len(x.preparer.orders)
        await x.tried(began + 2)
        await x.hostler.scale(0)
        await x.s.all_free(x.hostler)
        host = await x.host()
        assert (host.health.strikes, host.health.trouble.failures) == (1, 0), (
            "nobody's fault is no strike"
        )
        x.preparer.fake.failing.clear()
        await x.hostler.scale(1)
        await x.s.ready(x.hostler, 1)
        assert (await x.host()).health.strikes == 1
        await x.hostler.scale(0)
        await x.s.all_free(x.hostler)
        assert (await x.host()).health.strikes == 0

    play(scene, fleet(BAD))


def test_a_start_that_takes_too_long_counts_against_a_host_that_was_not_prepared() -> None:
    """Slow tries reach the fleet's bound before the last rung: that is a strike all the same."""

    async def scene(x: Scene) -> None:
        x.preparer.fake.pause = 6 * MINUTE
        await x.until(lambda host: host.health.strikes == 1)
        assert len(x.preparer.orders) < 8
        events = [entry.event for entry in await x.hostler.events()]
        broken = [one.reason for one in events if ">failed" in one.detail]
        assert broken == ["start_overdue"]
        await x.until(lambda host: host.condition is HostCondition.QUARANTINED)

    play(scene, fleet(BAD, start=45 * MINUTE))


def test_a_machine_that_ends_while_it_is_prepared_leaves_nothing_to_its_heir() -> None:
    """The first try knows a key that is wiped by the time at which it ends."""

    async def scene(x: Scene) -> None:
        x.preparer.fake.pause = 40 * MINUTE
        await x.tried(1)
        await x.hostler.scale(0)
        await x.s.all_free(x.hostler, HOUR)
        assert (await x.host()).bootstrap.host_key is None
        x.preparer.fake.pause = timedelta(0)
        await x.hostler.scale(1)
        await x.s.ready(x.hostler, 1)
        await x.s.rig.clock.sleep(HOUR)
        host = await x.host()
        met = x.s.rig.world.reach(x.s.mac().ip)
        assert met is not None
        assert host.bootstrap.host_key is not None
        assert host.bootstrap.host_key.key.startswith(f"SHA256:{met.host_key}")
        assert x.ran() == [ONE]

    play(scene, fleet(ONE))


def test_another_engine_goes_on_where_one_ended_while_it_prepared() -> None:
    async def scene(x: Scene) -> None:
        x.preparer.fake.pause = 5 * MINUTE
        await x.tried(1)
        await x.s.rig.clock.sleep(MINUTE)
        machine = await x.machine()
        await x.restart(fleet(ONE))
        await x.s.ready(x.hostler, 1)
        assert (await x.machine()).id == machine.id
        assert x.ran() == [ONE]
        assert len(x.preparer.orders) == 2
        host = await x.host()
        assert (host.health.trouble.failures, host.health.strikes) == (0, 0)

    play(scene, fleet(ONE))


def test_a_quarantined_host_is_passed_over_where_another_is_free() -> None:
    """One host's stranger keeps no machine from getting ready elsewhere."""

    async def scene(x: Scene) -> None:
        await x.tried(1)
        await x.s.rig.clock.sleep(MINUTE / 6)
        bad = x.s.mac((await x.machine()).host)
        bad.porch.wrong_keys = 1000
        x.preparer.fake.failing.clear()
        await x.s.ready(x.hostler, 1)
        assert (await x.machine()).host != bad.id
        assert stage(bad) == "quarantined"

    play(scene, fleet(BAD), count=2)


def test_a_machine_that_rested_is_prepared_anew_on_its_wiped_disk() -> None:
    """The wipe is the machine's own, and nothing but its record tells of it."""

    async def scene(x: Scene) -> None:
        await x.s.ready(x.hostler, 1)
        before, first = await x.machine(), (await x.host()).bootstrap.host_key
        await x.hostler.request(RequestKind.STANDBY, machine=before.id)

        async def rests() -> bool:
            return (await x.machine()).phase is Phase.STANDBY

        await x.s.until(rests, HOUR)
        await x.hostler.request(RequestKind.WAKE, machine=before.id)
        await x.s.ready(x.hostler, 1)
        assert (await x.machine()).id == before.id
        assert x.ran() == [ONE]
        second = (await x.host()).bootstrap.host_key
        assert first is not None
        assert second is not None
        assert first.key != second.key
        assert len(x.preparer.orders) == 2

    play(scene, fleet(ONE))


def test_a_stranger_at_the_address_of_a_machine_in_use_changes_nothing() -> None:
    async def scene(x: Scene) -> None:
        await x.s.ready(x.hostler, 1)
        before, made, host_key = (
            await x.machine(),
            changes(x.s.rig),
            (await x.host()).bootstrap.host_key,
        )
        x.s.mac().porch.wrong_keys = 1000
        await x.restart(fleet(ONE, TWO))
        await x.tried(1 + 7)
        machine, host = await x.machine(), await x.host()
        assert (machine.id, machine.phase, machine.since) == (before.id, Phase.READY, before.since)
        assert changes(x.s.rig) == made
        assert (host.bootstrap.host_key, host.health.strikes) == (host_key, 0)
        x.s.mac().porch.wrong_keys = 0
        await x.until(lambda host: host.bootstrap.drift.failures == 0)
        assert x.ran()[-2:] == [ONE, TWO]

    play(scene, fleet(ONE))
