"""A process that saves and tells each answer, until somebody kills it: `writer.py FILE`.

Each line is a machine's id and the version that the store answered with.
"""

import asyncio
import sys
from pathlib import Path

from hostler.domain.model.machine import Machine
from hostler.ports.store import Store
from hostler.stores.sqlite.opening import open_engine
from hostler.testing.conformance.store.records import OPEN, WEB, event, machine, row

COUNT = 8


async def main(path: Path) -> None:
    store = open_engine(path, "written")
    added = await store.add_fleet(row())
    if not await store.machines(WEB):
        await store.save_fleet(added, tuple(machine(n) for n in range(COUNT)), (), OPEN)
    async with asyncio.TaskGroup() as group:
        for one in await store.machines(WEB):
            group.create_task(go_on(store, one))


async def go_on(store: Store, one: Machine) -> None:
    while True:
        one = await store.save_machine(one, (event(one),), OPEN)
        sys.stdout.write(f"{one.id} {one.version}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
