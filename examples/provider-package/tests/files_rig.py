"""The rig of the toy cloud: what the kit may do to it, past the provider's code."""

import re
import shutil
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from hostler.domain.ids import FleetName, InstallationId, MachineId, ResourceId
from hostler.domain.model.machine import Offer
from hostler.domain.model.resource import OwnerTag
from hostler.ports.clock import Clock
from hostler.ports.provider import Provider
from hostler.testing.conformance.provider.rig import Ability, Fault, Rig, Thing
from hostler.testing.time.clock import RigClock
from hostler_provider_files.cloud import Busy, Cloud, CloudError, Item
from hostler_provider_files.provider import ZONE, FilesProvider

T = TypeVar("T")
Make = Callable[[Cloud, InstallationId, Clock], Provider]
KEY = "sesame-open-7731"


class ShakyCloud(Cloud):
    """The toy cloud, with weather."""

    def __init__(self, folder: Path, key: str, now: Callable[[], datetime]) -> None:
        super().__init__(folder, key, now)
        self.fault: Fault | None = None
        self.refused: str | None = None
        self.failing = 0
        self.dead = False

    def change(self, item: str, act: Callable[[], T]) -> T:
        """Do it as the weather lets it be done."""
        fault, self.fault = self.fault, None
        if self.dead or fault is Fault.BEFORE:
            raise CloudError("connection reset")
        if fault is Fault.BUSY or (item and item == self.refused):
            raise Busy("busy: asked to come again")
        answer = act()
        if fault is not None:
            raise CloudError("connection reset" if fault is Fault.AFTER else "unreadable answer")
        return answer

    def server(self, name: str) -> Item:
        """Return one server, if anything answers."""
        self._alive()
        return super().server(name)

    def servers(self, number: int) -> tuple[Item, ...]:
        """Return one page, unless it is to fail."""
        self._alive()
        if self.failing and number >= self.failing:
            raise CloudError(f"page {number}: 502 Bad Gateway")
        return super().servers(number)

    def addresses(self, number: int) -> tuple[Item, ...]:
        """Return one page, if anything answers."""
        self._alive()
        return super().addresses(number)

    def _alive(self) -> None:
        if self.dead:
            raise CloudError("no route to host")


class FilesRig:
    """One toy cloud in a folder of its own."""

    installation = InstallationId("kitkit")
    fleet = FleetName("web")
    offer = Offer(type="folder", zone=ZONE)
    page = Cloud.page
    secrets = (KEY,)
    words = ("off", "booting", "on")
    lacks: Mapping[Ability, str] = {}

    def __init__(self, folder: Path, make: Make) -> None:
        self._make = make
        self.clock = RigClock()
        self.folder = folder
        self.cloud = ShakyCloud(folder, KEY, self.clock.now)

    async def open(self) -> Provider:
        """Return a fresh provider."""
        return self._make(self.cloud, self.installation, self.clock)

    async def things(self) -> tuple[Thing, ...]:
        """Read the folder."""
        owner_tags = {f.parent.name: f.read_text() for f in self.folder.glob("servers/*/tags")}
        owner_tags |= {f.name: f.read_text() for f in self.folder.glob("addresses/*")}
        return tuple(
            Thing(id=name, machine=_machine(text)) for name, text in sorted(owner_tags.items())
        )

    async def wait(self, time: timedelta) -> None:
        """Let time pass; the cloud's time is the clock's."""
        self.clock.pass_by(time)

    async def strike(self, fault: Fault) -> None:
        """Arm the cloud."""
        self.cloud.fault = fault

    async def say(self, resource: ResourceId, word: str) -> None:
        """Write the word into the server's state."""
        await self.wait(timedelta(seconds=10))
        future = (self.clock.now() + timedelta(days=9)).isoformat()
        text = f"booting {future}" if word == "booting" else word
        (self.folder / "servers" / resource / "state").write_text(text)

    async def remove(self, resource: ResourceId) -> None:
        """Remove the server's folder."""
        shutil.rmtree(self.folder / "servers" / resource)

    async def plant(self, owner_tag: OwnerTag) -> ResourceId:
        """Make a server's folder by hand."""
        name = f"srv-planted-{len(list(self.folder.glob('servers/*'))):03}"
        folder = self.folder / "servers" / name
        folder.mkdir()
        (folder / "state").write_text("off")
        (folder / "address").write_text("")
        (folder / "tags").write_text(
            f"hostler={owner_tag.installation} fleet={owner_tag.fleet} machine={owner_tag.machine} "
            f"attempt={owner_tag.attempt}"
        )
        return ResourceId(name)

    async def fail_page(self, number: int) -> None:
        """Let this page of servers and all later ones fail."""
        self.cloud.failing = number

    async def refuse(self, resource: ResourceId | None) -> None:
        """Refuse to change this resource."""
        self.cloud.refused = resource

    async def die(self) -> None:
        """Answer nothing more."""
        self.cloud.dead = True


def _machine(tags: str) -> MachineId | None:
    found = re.search(r"machine=(\S+)", tags)
    return MachineId(found[1]) if found else None


@asynccontextmanager
async def files_world(make: Make = FilesProvider) -> AsyncGenerator[Rig]:
    """Yield a rig whose providers are made so, and clear its folder away."""
    folder = Path(tempfile.mkdtemp(prefix="files-cloud-"))
    try:
        yield FilesRig(folder, make)
    finally:
        shutil.rmtree(folder)
