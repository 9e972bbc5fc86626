"""Mac scenes: a fleet over a stocked pool, and what must hold in every second of a scene.

The truth is read from the simulated world and from names as plain text, past the provider's code,
so that a misunderstanding cannot be on both sides.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

from msgspec.structs import replace

from hostler.domain.ids import AccountName, FleetName, HostId, MachineId
from hostler.domain.model.fleet import Fleet, Timers
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.phases import Phase
from hostler.ports.http import HttpRequest, Response
from hostler.simulators.scaleway.state.mac_records import Mac, MacStatus
from hostler.simulators.scaleway.state.options import Options
from hostler.stores.memory import MemoryStore

from .servers import ZONE, Hostler, NotAtRest, Rig, play

MINUTE = timedelta(minutes=1)
POOL = "pool-"
MACS = FleetName("macs")
FLEET = Fleet(
    name=MACS,
    account=AccountName("main"),
    size=1,
    offers=(Offer("M2-L", ZONE, "Tahoe"),),
    timers=Timers(start=45 * MINUTE, stop=45 * MINUTE),
)
OTHERS = replace(FLEET, name=FleetName("others"))
"""A fleet of another installation: under one name, each would stop the other's claims."""
CLAIM = ("mac.update", "mac.reinstall", "mac.update")
"""The routes of a claim of a host that anybody may have used: pending, wiped, claimed."""
RELEASE = ("mac.update", "mac.reinstall", "mac.update", "mac.update")
"""The routes of a release: releasing, wiped, the host's own, back in the pool."""
CHANGES = frozenset({"POST", "PATCH", "PUT", "DELETE"})
ORDINARY = Options()


def words(mac: Mac) -> list[str]:
    """Return the words of a name of a hostler's, or none for any other name."""
    return mac.name.split(".") if mac.name.startswith("hostler.") else []


def stage(mac: Mac) -> str:
    """Return what a name of a hostler's says is being done with the host, or an empty string."""
    return words(mac)[1] if words(mac) else ""


@dataclass(slots=True)
class GroundTruth:
    """What really happened to the hosts of a scene, second by second, and what must never.

    `used` is how often a disk had been written when somebody last had the host: whoever gets it
    next must find it written anew. A host that a person touched (`by_hand`) may stand in the pool
    unwiped, but nobody may get it so; names that a person gave (`named_by_hand`) tell nothing.
    `wrong` is what was found.
    """

    rig: Rig
    used: dict[str, int] = field(default_factory=dict[str, int])
    holder: dict[str, str] = field(default_factory=dict[str, str])
    by_hand: set[str] = field(default_factory=set[str])
    named_by_hand: dict[str, str] = field(default_factory=dict[str, str])
    hostlers: list[Hostler] = field(default_factory=list[Hostler])
    wrong: list[str] = field(default_factory=list[str])

    async def watch(self) -> None:
        """Look every second until cancelled."""
        while True:
            for mac in self.rig.world.cloud.macs:
                self.check(mac)
            await self._records()
            await asyncio.sleep(1)

    def check(self, mac: Mac) -> None:
        """Check one host: nobody gets a disk that somebody else used, nor does the pool."""
        at = f"{self.rig.loop.time():.0f} s: {mac.name}"
        if stage(mac) == "claimed" and self.named_by_hand.get(mac.id) != mac.name:
            owner = ".".join(words(mac)[3:-2])  # whoever adopts a machine takes it as it is
            if self.holder.get(mac.id) != owner:
                if mac.installs <= self.used.get(mac.id, 1):
                    self.wrong.append(f"{at} got a disk that somebody used")
                self.holder[mac.id] = owner
            self.used[mac.id] = mac.installs
        pooled = mac.name.startswith(POOL) or stage(mac) == "parked"
        held = mac.id in self.holder and mac.id not in self.by_hand
        if pooled and held and mac.status is MacStatus.READY and mac.installs <= self.used[mac.id]:
            self.wrong.append(f"{at} is free with a disk that somebody used")

    async def _records(self) -> None:
        """Check that no two ready machines have one host."""
        found = dict[HostId, MachineId]()
        for machine in await self.ready():
            host = machine.host or HostId("")
            if found.setdefault(host, machine.id) != machine.id:
                self.wrong.append(f"{found[host]} and {machine.id} both have {host}")

    async def ready(self) -> list[Machine]:
        """Return the ready machines of all hostlers, each once."""
        stores = {id(hostler.store): hostler for hostler in self.hostlers}.values()
        return [m for one in stores for m in await one.machines() if m.phase is Phase.READY]


@dataclass(slots=True)
class MacRig:
    """A stand with a stocked pool; `ids` are its hosts."""

    rig: Rig
    ids: list[str]
    truth: GroundTruth

    def hostler(
        self, fleet: Fleet = FLEET, store: MemoryStore | None = None, pool: str = POOL
    ) -> Hostler:
        """Start an engine that is watched."""
        made = self.rig.mac_hostler(fleet, store, pool)
        self.truth.hostlers.append(made)
        return made

    def macs(self) -> list[Mac]:
        """Return the hosts as they really are."""
        return list(self.rig.world.cloud.macs)

    def mac(self, mac: str | None = None) -> Mac:
        """Return one host as it really is, by default the first."""
        return self.rig.world.console.mac(mac or self.ids[0])

    def rename(self, mac: str, name: str) -> None:
        """Rename a host as a person does."""
        self.truth.by_hand.add(mac)
        self.truth.named_by_hand[mac] = name
        self.rig.world.console.rename(mac, name)

    async def until(self, what: Callable[[], Awaitable[bool]], within: timedelta) -> None:
        """Wait until something holds, looking every second; raise NotAtRest where it does not."""
        end = self.rig.loop.time() + within.total_seconds()
        while not await what():
            if self.rig.loop.time() >= end:
                raise NotAtRest(await self.describe())
            await asyncio.sleep(1)

    async def ready(self, hostler: Hostler, size: int, within: timedelta = 60 * MINUTE) -> None:
        """Wait until just so many machines are recorded, all of them ready."""

        async def holds() -> bool:
            return len(await hostler.machines()) == size == await hostler.ready()

        await self.until(holds, within)

    async def one(self) -> Hostler:
        """Return a hostler whose one machine is ready."""
        hostler = self.hostler()
        await self.ready(hostler, 1)
        return hostler

    async def all_free(self, hostler: Hostler, within: timedelta = 90 * MINUTE) -> None:
        """Wait until no machine is recorded, every tie is loose, and all hosts are in the pool."""

        async def holds() -> bool:
            known = {host.condition for host in await hosts(hostler)}
            used = await hostler.machines() or await hostler.store.bindings()
            return not used and self.pooled() and known <= {"free", "absent"}

        await self.until(holds, within)

    def pooled(self) -> bool:
        """Tell whether all hosts are ready under names of the pool."""
        macs = self.macs()
        return all(m.name.startswith(POOL) and m.status is MacStatus.READY for m in macs)

    async def describe(self) -> str:
        """Return how everything stands, for a failure's message."""
        macs = [(mac.name, str(mac.status), mac.installs) for mac in self.macs()]
        lines = [f"at {self.rig.loop.time():.0f} s: {macs}"]
        for hostler in self.truth.hostlers:
            found = await hostler.machines()
            lines += [f"{m.id} {m.phase} {m.reason} {m.host} {m.error}" for m in found]
            lines += [f"{h.id} {h.condition} {h.goal} {h.error}" for h in await hosts(hostler)]
        return "\n".join(lines)


async def hosts(hostler: Hostler) -> tuple[Host, ...]:
    """Return the records of hosts."""
    return await hostler.store.hosts()


def play_macs(
    scene: Callable[[MacRig], Awaitable[None]], count: int = 1, options: Options = ORDINARY
) -> None:
    """Run a scene over a pool of Macs; raise AssertionError where a rule was ever broken."""
    wrong = list[str]()

    async def whole(rig: Rig) -> None:
        ids = rig.world.stock_macs(count, "M2-L", ZONE, POOL)
        truth = GroundTruth(rig, wrong=wrong)
        watch = rig.group.create_task(truth.watch())
        await scene(MacRig(rig, ids, truth))
        watch.cancel()

    play(whole, options)
    if wrong:
        raise AssertionError("\n".join(wrong))


class Crash:
    """Ends an engine hard at its n-th change: before it is sent, or after its effect.

    Nothing is given back: what it held stays protected until it runs out.
    """

    def __init__(self, hostler: Hostler, nth: int, *, effect: bool) -> None:
        self._hostler, self._left, self._effect = hostler, nth, effect
        self._send, self.happened = hostler.wire.send, asyncio.Event()
        hostler.wire.send = self._carry

    async def _carry(self, request: HttpRequest, deadline: timedelta) -> Response:
        if request.method in CHANGES:
            self._left -= 1
        if self._left == 0 and request.method in CHANGES:
            if self._effect:
                await self._send(request, deadline)
            self._die()
            await asyncio.sleep(deadline.total_seconds())
        return await self._send(request, deadline)

    def _die(self) -> None:
        store = self._hostler.store
        dropped, store.drop_lease = store.drop_lease, _keep_lease
        self._hostler.task.cancel()
        self._hostler.task.add_done_callback(lambda _: setattr(store, "drop_lease", dropped))
        self.happened.set()


async def _keep_lease(lease: object) -> None:
    """Give nothing back: who dies hard cannot."""


def changes(rig: Rig, source: str = "") -> list[str]:
    """Return the routes of what was asked that could change anything, in order."""
    return [
        line.key
        for line in rig.world.journal
        if line.method in CHANGES and source in {"", line.source}
    ]
