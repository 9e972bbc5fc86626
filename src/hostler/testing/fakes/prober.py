"""FakeProber: the prober port, answering by script, at once or after a while."""

import asyncio
from datetime import timedelta

from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import Probe
from hostler.ports.provider import Connection


class FakeProber:
    """Every machine passes, but those that are `unwilling`; an answer takes `pause`."""

    def __init__(self) -> None:
        self.unwilling = set[MachineId]()
        self.all_unwilling = False
        self.pause = timedelta(0)
        self.asked = list[MachineId]()

    async def probe(
        self, machine: MachineId, connection: Connection, probe: Probe
    ) -> tuple[bool, str]:
        """Probe once."""
        del connection, probe
        self.asked.append(machine)
        if self.pause:
            await asyncio.sleep(self.pause.total_seconds())
        passed = not self.all_unwilling and machine not in self.unwilling
        return passed, "ok" if passed else "refused"
