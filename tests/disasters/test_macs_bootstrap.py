"""Lists of commands that are at fault themselves: no host is blamed, and no other claimed."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import HostId
from hostler.domain.model.fleet import Fleet, FleetRow, Probe, ProbeKind
from hostler.domain.model.host import Host, HostCondition
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.lab.scenes.mac_ssh import WorldPreparer
from hostler.lab.scenes.macs import FLEET, MINUTE, Crash, MacRig, changes, play_macs, stage
from hostler.lab.scenes.servers import Hostler
from hostler.ports.preparer import Order, Prepared
from hostler.ports.provider import Connection

HOUR = timedelta(hours=1)
ONE, TWO, BAD, SECRET = "echo one", "echo two", "false", "curl -H 'token: hunter2' example.org"


def fleet(*commands: str, size: int = 1, start: timedelta = 3 * HOUR) -> Fleet:
    """Return a fleet whose hosts are logged in to; what is kept is kept for four hours."""
    probe = Probe(kind=ProbeKind.SSH, commands=commands)
    timers = replace(FLEET.timers, start=start, longest_protection=4 * HOUR)
    return replace(FLEET, probe=probe, timers=timers, size=size)


class Picky:
    """Logins as the simulated world has them; `bad` are hosts on which the command BAD fails too.

    What fails everywhere is in `fails`.
    """

    def __init__(self, inner: WorldPreparer, rig: MacRig) -> None:
        self.inner, self._stand = inner, rig
        self.bad, self.fails = set[str](), {BAD, SECRET}
        self.tried = list[str]()

    async def prepare(self, connection: Connection, order: Order) -> Prepared:
        """Log in, and run the commands if the host does not carry them yet."""
        mac = next(mac.id for mac in self._stand.macs() if mac.ip == connection.address)
        self.tried.append(mac)
        failing = self.inner.fake.failing
        failing.clear()
        failing |= self.fails | ({ONE} if mac in self.bad else set[str]())
        return await self.inner.prepare(connection, order)


@dataclass(slots=True)
class Scene:
    """Macs, one engine over them, and what logs in."""

    s: MacRig
    hostler: Hostler
    preparer: Picky
    found: int = 0

    async def restart(self, fleet: Fleet) -> None:
        """Let another engine go on with another fleet file."""
        await self.hostler.stop()
        self.s.truth.hostlers.remove(self.hostler)
        self.hostler = self.s.hostler(fleet, store=self.hostler.store)

    async def row(self) -> FleetRow:
        """Return the fleet's row."""
        return await self.hostler.row()

    async def broken(self, *, holds: bool = True) -> str:
        """Wait until the list is held to be at fault, or no more; return what is said of it."""

        async def found() -> bool:
            rows = await self.hostler.store.fleets()
            return any((row.revision.broken is not None) is holds for row in rows)

        await self.s.until(found, 3 * HOUR)
        self.found = len(self.asked())
        return (await self.row()).condition

    async def ready(self, many: int, within: timedelta) -> None:
        """Wait until so many machines are ready."""
        await self.s.ready(self.hostler, many, within)

    async def tried(self, many: int) -> None:
        """Wait until there were so many tries."""

        async def found() -> bool:
            return len(self.preparer.tried) >= many

        await self.s.until(found, 3 * HOUR)

    async def hosts(self) -> dict[str, Host]:
        """Return the records of hosts."""
        return {str(host.id): host for host in await self.hostler.store.hosts()}

    async def describe(self, kind: str) -> list[str]:
        """Return what the story tells of one kind of event."""
        events = await self.hostler.events()
        return [one.event.detail for one in events if one.event.kind == kind]

    def asked(self) -> list[str]:
        """Return what was asked of the provider that could change anything, but for looks."""
        return changes(self.s.rig)

    async def sleep(self, time: timedelta) -> None:
        """Let time pass."""
        await self.s.rig.clock.sleep(time)

    async def unharmed(self) -> None:
        """Check that no host is blamed, nor rebooted or examined since the fault was found."""
        await self.unblamed()
        assert not {"mac.reboot", "mac_diagnostic.start"} & set(self.asked()[self.found :])

    async def unblamed(self) -> None:
        """Check that no host has a strike, or is set aside."""
        hosts = (await self.hosts()).values()
        assert {host.health.strikes for host in hosts} == {0}
        assert all(host.health.quarantined_until is None for host in hosts)


def play(scene: Callable[[Scene], Awaitable[None]], prepared: Fleet, count: int) -> None:
    """Run a scene over a pool of so many hosts."""

    async def whole(s: MacRig) -> None:
        picky = Picky(WorldPreparer(s.rig.world), s)
        s.rig.preparer = picky
        await scene(Scene(s, s.hostler(prepared), picky))
        assert picky.tried, "nothing was tried"

    play_macs(whole, count)


def test_a_list_that_fails_everywhere_harms_no_host_and_claims_no_other() -> None:
    """In hours: the three hosts that were claimed, and nothing else; all is said of it."""

    async def scene(x: Scene) -> None:
        condition = await x.broken()
        await x.sleep(HOUR)
        condition = (await x.row()).condition
        assert condition.startswith("bootstrap_failed: ")
        assert "command 2 of 2 failed (exit 1)" in condition
        assert sum(mac in condition for mac in x.s.ids) == 3
        assert "hunter2" not in condition
        asked = x.asked()
        await x.sleep(1.5 * HOUR)
        assert x.asked() == asked
        assert len(await x.hosts()) == 3
        await x.unharmed()
        machines = await x.hostler.machines()
        assert {machine.phase for machine in machines} == {Phase.STARTING}
        assert (await x.row()).condition == condition
        tries = len(x.preparer.tried)
        await x.sleep(HOUR)
        assert 3 <= len(x.preparer.tried) - tries <= 6, "each is tried about twice an hour"

    play(scene, fleet(ONE, SECRET, size=3), count=5)


def test_another_list_begins_at_once_on_the_hosts_that_were_kept() -> None:
    async def scene(x: Scene) -> None:
        await x.broken()
        await x.sleep(3.5 * HOUR)
        asked = x.asked()
        await x.restart(fleet(ONE, size=3))
        await x.ready(3, 5 * MINUTE)
        assert x.asked() == asked, "nothing was wiped or claimed for that"
        assert await x.broken(holds=False) == ""
        await x.unharmed()
        await x.hostler.scale(5)
        await x.ready(5, HOUR)

    play(scene, fleet(BAD, size=3), count=5)


def test_another_list_that_fails_too_has_its_whole_time_and_ladder() -> None:
    """Failures of the list before it count neither for the reboot nor for the bound of starts."""

    async def scene(x: Scene) -> None:
        await x.broken()
        await x.sleep(3.5 * HOUR)
        await x.restart(fleet(ONE, BAD, size=2))
        await x.broken()
        await x.sleep(HOUR)
        await x.unharmed()
        condition = (await x.row()).condition
        assert "command 2 of 2" in condition

    play(scene, fleet(BAD, size=2), count=3)


def test_a_list_that_works_again_is_believed_without_anybodys_help() -> None:
    """What its commands fetch was not to be had for a while."""

    async def scene(x: Scene) -> None:
        await x.broken()
        await x.sleep(1.5 * HOUR)
        x.preparer.fails.clear()
        await x.ready(2, 35 * MINUTE)
        assert await x.broken(holds=False) == ""
        await x.unharmed()
        await x.hostler.scale(3)
        await x.ready(3, HOUR)

    play(scene, fleet(BAD, size=2), count=3)


def test_it_is_remembered_over_restarts_and_by_another_replica() -> None:
    async def scene(x: Scene) -> None:
        await x.broken()
        await x.restart(fleet(BAD, size=2))
        other = x.s.hostler(fleet(BAD, size=2), store=x.hostler.store)
        await x.sleep(HOUR / 2)
        asked = x.asked()
        await x.sleep(HOUR)
        await x.hostler.stop()
        await x.sleep(HOUR)
        assert x.asked() == asked
        assert len(await x.hosts()) == 2
        await x.unharmed()
        assert (await x.row()).condition.startswith("bootstrap_failed")
        await other.stop()

    play(scene, fleet(BAD, size=2), count=4)


@pytest.mark.parametrize("nth", [2, 4, 6])
def test_an_engine_that_dies_while_it_claims_finds_the_list_out_all_the_same(nth: int) -> None:
    async def scene(x: Scene) -> None:
        crash = Crash(x.hostler, nth, effect=True)
        await crash.happened.wait()
        x.s.truth.hostlers.remove(x.hostler)
        x.hostler = x.s.hostler(fleet(BAD, size=2), store=x.hostler.store)
        await x.broken()
        await x.sleep(1.5 * HOUR)
        assert len(await x.hosts()) == 2
        await x.unblamed()

    play(scene, fleet(BAD, size=2), count=4)


def test_strikes_that_the_list_gave_are_taken_back_and_told() -> None:
    """On the first host alone nobody can tell; the second one tells."""

    async def scene(x: Scene) -> None:
        await x.broken()
        await x.sleep(HOUR)
        hosts = await x.hosts()
        assert {host.health.strikes for host in hosts.values()} == {0}
        assert len(hosts) == 2
        (detail,) = await x.describe("strikes_taken_back")
        first = x.preparer.tried[0]
        assert detail == f"host {first}: a strike that the list was to blame for"
        assert hosts[first].health.struck == ()
        assert sum(stage(mac) == "claimed" for mac in x.s.macs()) == 1

    play(scene, fleet(BAD), count=3)


def test_a_quarantine_that_the_list_gave_ends_when_its_fault_is_found() -> None:
    """A pool of one host, and another one that comes when the first is set aside."""

    async def scene(x: Scene) -> None:
        async def set_aside() -> bool:
            hosts = (await x.hosts()).values()
            return any(host.condition is HostCondition.QUARANTINED for host in hosts)

        await x.s.until(set_aside, 12 * HOUR)
        (first,) = await x.hosts()
        (second,) = x.s.rig.world.stock_macs(1, "M2-L", FLEET.offers[0].zone, "pool-")
        await x.broken()
        await x.sleep(HOUR)
        hosts = await x.hosts()
        assert hosts[first].condition is HostCondition.FREE
        assert (hosts[first].health.strikes, hosts[second].health.strikes) == (0, 0)
        assert await x.describe("strikes_taken_back") == [
            f"host {first}: 2 strikes that the list was to blame for"
        ]

    play(scene, fleet(BAD), count=1)


def test_in_a_pool_of_one_host_a_list_can_be_held_to_be_at_fault_at_its_first_failure() -> None:
    """With `broken_on = 1`: the host is not struck, and waits for another list."""
    bad = fleet(BAD)

    async def scene(x: Scene) -> None:
        condition = await x.broken()
        assert "command 1 of 1 failed (exit 1) on" in condition
        await x.sleep(3 * HOUR)
        await x.unharmed()
        await x.restart(fleet(ONE))
        await x.ready(1, HOUR)

    play(scene, replace(bad, probe=replace(bad.probe, broken_on=1)), count=1)


def test_a_host_that_a_list_set_aside_serves_a_corrected_one_once_somebody_puts_it_back() -> None:
    """In a pool of one host nothing told whose fault it was: the quarantine goes on by itself."""

    async def scene(x: Scene) -> None:
        async def set_aside() -> bool:
            return any(mac.name.startswith("hostler.quarantined.") for mac in x.s.macs())

        await x.s.until(set_aside, 12 * HOUR)
        await x.restart(fleet(ONE))
        await x.sleep(3 * HOUR)
        assert await x.hostler.ready() == 0
        (host,) = await x.hosts()
        request = Request(
            number=0,
            kind=RequestKind.POOL_ADD,
            fleet=FLEET.name,
            at=x.s.rig.clock.now(),
            actor="scene",
            host=HostId(host),
        )
        await x.hostler.store.request(request)
        await x.ready(1, 2 * HOUR)

    play(scene, fleet(BAD), count=1)


def test_a_fleet_that_shrinks_gives_back_what_was_kept_and_goes_on_to_say_what_is_wrong() -> None:
    """A broken list stays so until it is another one, also where nobody wants any machine."""

    async def scene(x: Scene) -> None:
        condition = await x.broken()
        assert "correct `commands`" in condition
        await x.hostler.scale(0)
        await x.s.all_free(x.hostler)
        await x.unharmed()
        assert ((await x.row()).condition, (await x.row()).desired(x.hostler.fleet)) == (
            condition,
            0,
        )
        await x.restart(fleet(BAD, size=2))
        await x.sleep(HOUR)
        assert (await x.row()).condition == condition
        await x.hostler.scale(2)
        await x.sleep(HOUR)
        assert await x.hostler.machines() == ()
        assert (await x.row()).condition.startswith("bootstrap_failed")
        await x.restart(fleet(ONE, size=2))
        await x.ready(2, HOUR)

    play(scene, fleet(BAD, size=2), count=2)


def test_kept_hosts_are_given_back_unblamed_when_nobody_comes_for_as_long_as_a_hold() -> None:
    async def scene(x: Scene) -> None:
        await x.broken()
        await x.sleep(3.9 * HOUR)
        assert len(await x.hostler.machines()) == 2
        await x.sleep(HOUR)
        assert await x.hostler.machines() == ()
        assert x.s.pooled()
        await x.unharmed()
        moved = [text for text in await x.describe("moved") if "starting>failed" in text]
        assert len(moved) == 2
        assert all("at fault" in text for text in moved)

    play(scene, fleet(BAD, size=2), count=3)


def test_one_bad_host_among_good_ones_is_judged_by_itself() -> None:
    """The list works on the others: the host has its strike, and another one takes its place."""

    async def scene(x: Scene) -> None:
        x.preparer.bad.add(x.s.ids[0])
        await x.ready(3, 3 * HOUR)
        hosts = await x.hosts()
        assert (await x.row()).revision.broken is None
        if x.s.ids[0] in x.preparer.tried:
            assert hosts[x.s.ids[0]].health.strikes == 1
        assert (await x.row()).condition == ""

    play(scene, fleet(ONE, size=3), count=4)


def test_a_list_that_worked_and_fails_on_a_wave_of_hosts_stops_too() -> None:
    """Its mirror is gone: of six hosts that come, none gets ready, and none is blamed."""

    async def scene(x: Scene) -> None:
        await x.ready(2, HOUR)
        x.preparer.fails.add(ONE)
        await x.hostler.scale(8)
        condition = await x.broken()
        assert "it had worked before" in condition
        await x.sleep(1.5 * HOUR)
        await x.unharmed()
        assert len([m for m in await x.hostler.machines() if m.phase is Phase.STARTING]) == 6
        x.preparer.fails.clear()
        await x.ready(8, HOUR)
        assert await x.broken(holds=False) == ""

    play(scene, fleet(ONE, size=2), count=9)


def test_a_changed_list_goes_to_one_machine_first_and_then_to_all() -> None:
    async def scene(x: Scene) -> None:
        await x.ready(3, HOUR)
        x.preparer.inner.fake.pause = 10 * MINUTE
        x.preparer.tried.clear()
        await x.restart(fleet(ONE, TWO, size=3))
        await x.tried(1)
        await x.sleep(9 * MINUTE)
        assert len(x.preparer.tried) == 1
        await x.sleep(2 * MINUTE)
        assert len(set(x.preparer.tried)) == 3
        await x.sleep(HOUR)
        assert len(x.preparer.tried) == 3
        assert {host.bootstrap.applied for host in (await x.hosts()).values()} == {
            x.preparer.inner.orders[-1].wanted
        }

    play(scene, fleet(ONE, size=3), count=3)


def test_a_changed_list_that_fails_on_the_first_machine_stays_away_from_the_others() -> None:
    """When its tries are used up one other machine tells whose fault it is, and that is all."""

    async def scene(x: Scene) -> None:
        await x.ready(4, HOUR)
        asked = x.asked()
        x.preparer.tried.clear()
        await x.restart(fleet(ONE, BAD, size=4))
        await x.tried(5)
        assert len(set(x.preparer.tried)) == 1
        condition = await x.broken()
        assert "command 2 of 2 failed (exit 1)" in condition
        await x.sleep(2 * HOUR)
        assert len(set(x.preparer.tried)) == 2
        assert await x.hostler.ready() == 4
        assert x.asked() == asked
        await x.unharmed()
        x.preparer.tried.clear()
        await x.restart(fleet(ONE, TWO, size=4))
        await x.tried(4)
        assert len(set(x.preparer.tried)) == 4

    play(scene, fleet(ONE, size=4), count=4)


def test_a_machine_that_somebody_holds_is_not_brought_to_a_changed_list() -> None:
    async def scene(x: Scene) -> None:
        await x.ready(2, HOUR)
        first, second = await x.hostler.machines()
        await x.hostler.request(RequestKind.PROTECT, machine=first.id)
        x.preparer.tried.clear()
        await x.restart(fleet(ONE, TWO, size=2))
        await x.sleep(HOUR)
        assert x.preparer.tried == [second.host]

    play(scene, fleet(ONE, size=2), count=2)
