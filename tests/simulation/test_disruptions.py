"""What a simulation's disruptions do to a process: it is stopped, it dies, it goes on."""

import asyncio
from pathlib import Path

from msgspec.structs import replace

from hostler.lab.harness.process import Process
from hostler.lab.scenario.disruptions import Disruptions
from hostler.lab.scenario.faults import Disruption, Size
from hostler.lab.scenario.session import Session
from hostler.lab.servers.environment import ServerEnvironment
from hostler.lab.servers.faults import draw_servers

END = 170


def stops(folder: Path, *struck: tuple[str, float, float]) -> list[tuple[int, int]]:
    """Return when a process stood still and when that ended, by these faults at these times."""
    faults = tuple(Disruption(fault=name, at=at, length=length) for name, at, length in struck)
    scenario = replace(draw_servers(1, Size()), sqlite=False, disruptions=faults, second=None)
    session = Session(ServerEnvironment(scenario), folder)
    process = session.add_process(session.found_home(replicas=1), "a", 0.0)
    still = session.loop.run_until_complete(standing_still(session, process))
    session.loop.close()
    begins = [at for at in still if at - 1 not in still]
    return [(at, next(end for end in range(at, END) if end not in still)) for at in begins]


async def standing_still(session: Session, process: Process) -> list[int]:
    """Return the seconds in whose midst the process stood still."""
    found = list[int]()
    async with asyncio.TaskGroup() as group:
        await process.start(group)
        strikes = group.create_task(Disruptions(session, group).run())
        for second in range(END):
            await asyncio.sleep(second + 0.5 - session.loop.time())
            run = process.incarnation
            if run is not None and run.gate.life.stopped:
                found.append(second)
        await strikes
        await process.end()
    return found


def test_a_process_that_stands_still_is_neither_stopped_twice_nor_woken_early(
    tmp_path: Path,
) -> None:
    """Seed 5020087: a pause within a suspend woke the process, and its timers slept twice."""
    assert stops(tmp_path, ("suspended", 10.0, 100.0), ("paused", 20.0, 30.0)) == [(10, 110)]
    assert stops(tmp_path, ("paused", 10.0, 10.0), ("paused", 30.0, 10.0)) == [
        (10, 20),
        (30, 40),
    ]


def test_what_ends_a_stop_wakes_nothing_that_was_started_since(tmp_path: Path) -> None:
    """Its timers never slept, and a stop of its own has its own end."""
    found = stops(
        tmp_path, ("suspended", 10.0, 100.0), ("crash", 20.0, 5.0), ("paused", 90.0, 60.0)
    )
    assert found == [(10, 20), (90, 150)]
