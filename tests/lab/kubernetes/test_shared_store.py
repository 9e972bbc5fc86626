"""A store beside the objects: what was saved counts, whether or not its writer heard of it."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from hostler.domain.ids import HostId
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.kubernetes.errors import Unavailable
from hostler.lab.kubernetes.course import ClusterCourse
from hostler.lab.kubernetes.faults import draw_cluster
from hostler.lab.kubernetes.shared_store import SharedStore
from hostler.lab.kubernetes.unheard import differences, tell
from hostler.lab.mutants.clusterapi import Alone
from hostler.lab.scenario.faults import Size
from hostler.testing.scenes.builders import BEGIN


class Scene(ClusterCourse):
    """Two engines that share a store, as far as a test lets them go."""

    def __init__(self, folder: Path) -> None:
        super().__init__(Alone(engines=2)(draw_cluster(1, Size(days=0.02))), folder)
        self.home = self._found_home()

    @property
    def store(self) -> SharedStore:
        assert self._shared is not None
        return self._shared

    def play(self, scene: "Callable[[Scene], object]") -> None:
        async def go() -> None:
            async with asyncio.TaskGroup() as group:
                process = self.session.add_process(self.home, "a", 0.0)
                await process.start(group)
                await asyncio.sleep(30)
                scene(self)
                await process.end()

        try:
            self.loop.run_until_complete(go())
        finally:
            self.loop.close()


def test_a_store_has_what_its_engine_saved(tmp_path: Path) -> None:
    def scene(here: Scene) -> None:
        assert here.store.tables().fleets
        assert differences(here.home.shadow, here.store.tables()) == ""

    Scene(tmp_path).play(scene)


def test_a_save_that_nobody_heard_of_is_told_to_the_checker(tmp_path: Path) -> None:
    def scene(here: Scene) -> None:
        tables, shadow = here.store.tables(), here.home.shadow
        ((name, row),) = tables.fleets.items()
        assert shadow.rows[name].version == row.version or name not in shadow.rows
        tables.fleets[name] = replace(row, version=row.version + 1, size=3)
        run = here.session.processes[0].incarnation
        assert run is not None
        tell(run.process, tables)
        assert shadow.rows[name].size == 3

    Scene(tmp_path).play(scene)


def test_a_request_that_nobody_heard_of_is_told_to_the_checker(tmp_path: Path) -> None:
    """Who asked it died, or never heard; the engine that reads it passes the host over."""

    def scene(here: Scene) -> None:
        tables, shadow = here.store.tables(), here.home.shadow
        ((name, _),) = tables.fleets.items()
        tables.requests[7] = Request(
            number=7, kind=RequestKind.HOLD, fleet=name, at=BEGIN, actor="ann", host=HostId("a")
        )
        run = here.session.processes[0].incarnation
        assert run is not None
        tell(run.process, tables)
        assert run.process.checker.held(shadow).wanted[7].host == "a"

    Scene(tmp_path).play(scene)


def test_a_record_that_was_lost_is_found_missing(tmp_path: Path) -> None:
    def scene(here: Scene) -> None:
        tables, shadow = here.store.tables(), here.home.shadow
        shadow.bindings[next(iter(tables.hosts))] = "m-nobody"  # pyright: ignore[reportArgumentType] - any id
        assert "bound were" in differences(shadow, tables)

    Scene(tmp_path).play(scene)


def test_an_engine_that_is_cut_off_writes_nothing(tmp_path: Path) -> None:
    here = Scene(tmp_path)

    async def go() -> None:
        async with asyncio.TaskGroup() as group:
            process = here.session.add_process(here.home, "a", 0.0)
            await process.start(group)
            await asyncio.sleep(5)
            run = process.incarnation
            assert run is not None
            here._environment.site.routes.of("a").cut()
            with pytest.raises(Exception, match="No route to host"):
                await run.store.add_fleet(FleetRow(name=here.home.fleets[0].name, created=BEGIN))
            with pytest.raises(Unavailable):
                here._environment.site.routes.of("a").check("GET")
            await process.end()

    try:
        here.loop.run_until_complete(go())
    finally:
        here.loop.close()
